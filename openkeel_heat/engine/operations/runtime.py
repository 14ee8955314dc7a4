# SPDX-License-Identifier: Apache-2.0
"""What operations need from the engine that runs them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from typing import Any, Protocol

from openkeel_heat.engine.convergence.interfaces import ConvergenceApi


class Runtime(Protocol):
    """The running engine (``engine/server.py``)."""

    engine_id: str
    convergence: ConvergenceApi

    def run_later(self, key: Hashable, function: Callable[..., Any], *args: Any) -> None:
        """Run a function soon, on one of the engine's threads; its errors are logged. Work of one key is in order."""

    def run_task(self, generator: Generator[Any, Any, Any]) -> None:
        """Go on with a generator whenever a pause that it yields is over; its errors are logged."""


_current: list[Runtime] = []


def register(runtime: Runtime) -> None:
    """This engine serves the calls that resources of this process make (nested stacks, signals)."""
    _current.append(runtime)


def unregister(runtime: Runtime) -> None:
    if runtime in _current:
        _current.remove(runtime)


def current() -> Runtime | None:
    """An engine running in this process, if there is one."""
    return _current[-1] if _current else None
