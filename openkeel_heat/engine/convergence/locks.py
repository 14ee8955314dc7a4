# SPDX-License-Identifier: Apache-2.0
"""Who holds a resource, and is that engine alive?

The lock of a resource is its ``engine_id``, taken and given back by writes that compare ``engine_id`` and
``atomic_key`` (``db/nodes.py``). An engine is dead when it has removed its row in ``service``, or when it does not
answer the ``listening`` probe twice. A dead engine's lock is taken over by comparing what was read; an engine that was
only slow finds at its next write that the row is not its own any more, and writes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

ALIVE_SECONDS = 5.0  # for that long an answer holds
DEAD_SECONDS = 15.0  # so does its absence: it may have been asleep


class Liveness:
    """Remembers which engines answered. ``probe(engine_id)``: the ``listening`` call."""

    def __init__(self, engine_id: str, probe: Callable[[str], bool] | None = None) -> None:
        self._engine_id = engine_id
        self._probe = probe or _listening
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._known: dict[str, tuple[float, bool]] = {}

    def is_alive(self, engine_id: str) -> bool:
        """Takes up to two time-outs of the probe."""
        if engine_id == self._engine_id:
            return True
        with self._lock:
            asking = self._asking.setdefault(engine_id, threading.Lock())
        with asking:
            known = self._known.get(engine_id)
            now = time.monotonic()
            if known is not None and now - known[0] < (ALIVE_SECONDS if known[1] else DEAD_SECONDS):
                return known[1]
            alive = not self._gone(engine_id) and (self._ask(engine_id) or self._ask(engine_id))
            with self._lock:
                self._known[engine_id] = (time.monotonic(), alive)
                for other, (when, _alive) in list(self._known.items()):
                    if now - when > 60 * DEAD_SECONDS:
                        del self._known[other]
                        self._asking.pop(other, None)
            if not alive:
                LOG.warning("Engine %s is dead", engine_id)
            return alive

    @staticmethod
    def _gone(engine_id: str) -> bool:
        """Has the engine said good-bye?"""
        from openkeel_heat.db import recovery

        return recovery.said_goodbye(engine_id)

    def _ask(self, engine_id: str) -> bool:
        try:
            return bool(self._probe(engine_id))
        except Exception as exc:
            LOG.warning("Engine %s could not be asked: %s", engine_id, exc)
            return True  # not its fault


def _listening(engine_id: str) -> bool:
    from openkeel_heat.common import context
    from openkeel_heat.rpc.listener_client import EngineListenerClient

    return EngineListenerClient(engine_id).is_alive(context.get_admin_context())
