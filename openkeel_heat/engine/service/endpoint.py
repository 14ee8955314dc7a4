# SPDX-License-Identifier: Apache-2.0
"""What the endpoints share: the running engine, and how a refusal leaves a method.

Errors of the vocabulary are expected: the dispatcher sends them to the caller without a traceback in the log.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oslo_messaging.rpc.dispatcher import ExpectedException

from openkeel_heat.common import exceptions
from openkeel_heat.engine.operations.runtime import Runtime
from openkeel_heat.template import limits
from openkeel_heat.template.sandbox import SandboxError


class Endpoints:
    """Base of the modules of endpoints. ``runtime`` is the engine that serves them."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime


def endpoint(method: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an RPC method."""

    @functools.wraps(method)
    def call(self: Endpoints, context: Any, **arguments: Any) -> Any:
        try:
            with limits.request():
                return method(self, context, **arguments)
        except SandboxError as error:
            # of a library that the caller need not have
            try:
                raise exceptions.StackValidationFailed(message=str(error)) from None
            except exceptions.HeatException:
                raise ExpectedException() from None
        except exceptions.HeatException:
            raise ExpectedException() from None  # keeps the error that is being handled

    call.rpc_endpoint = True  # type: ignore[attr-defined]
    return call
