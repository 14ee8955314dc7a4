# SPDX-License-Identifier: Apache-2.0
"""Handing nodes of a traversal to whichever engine has room."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openkeel_heat.rpc import methods
from openkeel_heat.rpc.client import Client, _with_table


@_with_table(methods.WORKER_METHODS)
class WorkerClient(Client):
    """All messages are casts; ``cancel_check_resource`` goes to one engine, the others to any."""

    topic = methods.WORKER

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def cancel_check_resource(self, ctxt: Any, stack_id: str, engine_id: str) -> None:
        """Tell the engine *engine_id* to stop its work on a stack."""
        method = methods.WORKER_METHODS["cancel_check_resource"]
        Client.cast(_Directed(engine_id), ctxt, (method.name, method.message(stack_id)), version=method.version)


class _Directed(Client):
    topic = methods.WORKER
