# SPDX-License-Identifier: Apache-2.0
"""One engine: RPC servers, scheduler, convergence, heartbeat; started, stopped and drained as a whole."""
from __future__ import annotations

from typing import Any


class Engine:
    """A heat-engine. Several may live in one process (each with its own id).

    ``engine = Engine(conf); engine.start(); …; engine.stop()``. ``stop(graceful=True)`` takes no more messages, lets
    short work finish, releases what waits (another engine goes on with it), ends all threads; ``wait()`` returns
    when that is done. ``engine.convergence``, ``engine.scheduler``, ``engine.engine_id`` are what operations need.
    """

    engine_id: str
    scheduler: Any
    convergence: Any

    def __init__(self, conf: Any, engine_id: str | None = None) -> None:
        raise NotImplementedError

    def start(self) -> None:
        """Heartbeat row, RPC servers (``engine``, ``engine_worker``, ``heat-engine-listener``), recovery."""

    def stop(self, graceful: bool = True) -> None:
        """Stop taking work; drain."""

    def wait(self) -> None:
        """Until ``stop`` has finished."""

    def reset(self) -> None:
        """SIGHUP: configuration was read again."""
