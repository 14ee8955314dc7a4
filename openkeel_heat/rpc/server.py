# SPDX-License-Identifier: Apache-2.0
"""The server's side: endpoints take a :class:`~openkeel_heat.common.context.RequestContext` and answer plain data.

An endpoint is an object with a ``target`` (its version) and one method per row of the table. ``@request_context`` marks
those whose errors of our vocabulary are answers and not accidents: they go to the caller without being logged. Any
other error is logged with its traceback and goes to the caller by its class name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import oslo_messaging
from oslo_messaging.rpc import dispatcher

from openkeel_heat.common import exceptions
from openkeel_heat.rpc import methods


def request_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an endpoint method as one whose ``HeatException`` errors are expected."""

    @functools.wraps(function)
    def wrapped(self: Any, ctxt: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, ctxt, *args, **kwargs)
        except exceptions.HeatException:
            raise dispatcher.ExpectedException() from None

    return wrapped


def target_of(topic: str) -> oslo_messaging.Target:
    """The ``target`` attribute of an endpoint of *topic*."""
    version = methods.TOPICS[topic].version
    return oslo_messaging.Target(version=version) if version else oslo_messaging.Target()
