# SPDX-License-Identifier: Apache-2.0
"""What one operation of a stack asks once.

A hundred ports of one network have the same network checked and looked up a hundred times, each by a context of its
own; but all of these belong to the request that began the operation. :func:`once` remembers an answer for that
request, for a minute at most: the next request asks anew, so nobody sees what is old. Errors are not remembered.
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


class _Process:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()


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
    whole = (request, getattr(context, "project_id", None), getattr(context, "user_id", None), key)
    process = _process
    with process.lock:
        until, value = process.known.get(whole, (0.0, None))
    if until > time.monotonic():
        return value
    value = make()
    if value is not None:
        with process.lock:
            process.known[whole] = (time.monotonic() + SECONDS, value)
            process.known.move_to_end(whole)
            while len(process.known) > LIMIT:
                process.known.popitem(last=False)
    return value
