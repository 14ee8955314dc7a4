# SPDX-License-Identifier: Apache-2.0
"""Talking to one engine: is it alive, and does it stop what it is doing to a stack."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from openkeel_heat.rpc import methods
from openkeel_heat.rpc.client import Client


class EngineListenerClient(Client):
    topic = methods.LISTENER

    def __init__(self, engine_id: str) -> None:
        super().__init__(server=engine_id)

    def is_alive(self, ctxt: Any) -> bool:
        """Whether the engine answers in time; no answer is a no."""
        import oslo_messaging

        try:
            return bool(self.call(ctxt, ("listening", {}), timeout=cfg.CONF.engine_life_check_timeout))
        except oslo_messaging.MessagingTimeout:
            return False

    def send(self, ctxt: Any, stack_identity: Any, message: str) -> None:
        """Have the engine cancel its work on a stack (one of ``methods.THREAD_MESSAGES``)."""
        arguments = {"stack_identity": stack_identity, "message": message}
        self.call(ctxt, ("send", arguments), timeout=cfg.CONF.engine_life_check_timeout)

    def stop_stack(self, ctxt: Any, stack_identity: Any) -> None:
        """Have the engine stop all its work on a stack; returns when it has."""
        self.call(ctxt, ("stop_stack", {"stack_identity": stack_identity}), timeout=methods.STOP_STACK_TIMEOUT)


def engine_alive(context: Any, engine_id: str) -> bool:
    return EngineListenerClient(engine_id).is_alive(context)
