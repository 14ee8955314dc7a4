# SPDX-License-Identifier: Apache-2.0
"""What one operation of a stack asks once.

A hundred ports of one network have the same network checked and looked up a hundred times, each by a context of its
own; but all of these belong to the request that began the operation. :func:`once` remembers an answer for that
request, for a minute at most: the next request asks anew, so nobody sees what is old. Errors are not remembered. Who
wants what another is just asking for waits for that answer.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

SECONDS = 60.0
LIMIT = 20_000
#: Seconds that one waits for the answer to another.
PATIENCE = 20.0


class _Process:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self.asking: dict[Hashable, _Asking] = {}

    def answer(self, key: Hashable) -> Any:
        until, value = self.known.get(key, (0.0, None))
        return value if until > time.monotonic() else None


class _Asking:
    """Somebody asks; *over* when there is an answer or an error."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.over = threading.Event()


_process = _Process()


def reset() -> None:
    """Forget everything."""
    global _process
    _process = _Process()


os.register_at_fork(after_in_child=reset)


def once(context: Any, key: Hashable, make: Callable[[], Any]) -> Any:
    """The answer under *key* in the operation of *context*: made, or remembered if it was not None."""
    request = getattr(context, "request_id", None)
    if not request:
        return make()
    return shared((request, getattr(context, "project_id", None), getattr(context, "user_id", None), key), make)


def shared(whole: Hashable, make: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """The answer under *whole* for all that this process does in so many seconds."""
    process = _process
    own = _Asking()
    with process.lock:
        value = process.answer(whole)
        if value is not None:
            return value
        other = process.asking.setdefault(whole, own)
    if other is not own and other.thread != own.thread:
        other.over.wait(PATIENCE)
        with process.lock:
            value = process.answer(whole)
        if value is not None:
            return value
    try:
        value = make()
        if value is not None:
            _remember(process, whole, value, seconds)
    finally:
        if other is own:
            with process.lock:
                process.asking.pop(whole, None)
            own.over.set()
    return value


def _remember(process: _Process, key: Hashable, value: Any, seconds: float) -> None:
    with process.lock:
        process.known[key] = (time.monotonic() + seconds, value)
        process.known.move_to_end(key)
        while len(process.known) > LIMIT:
            process.known.popitem(last=False)
