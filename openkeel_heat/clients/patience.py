# SPDX-License-Identifier: Apache-2.0
"""Who waits when a service says "later": the thread, or the life cycle of a resource.

A request of an API or of a validation has nobody who could come back, so a client sleeps in it for a moment. The life
cycle of a resource can: what it calls inside :func:`may_pause` gets the error at once, with ``again_in`` seconds on
it, holds no thread meanwhile, and the handler is called again::

    with patience.may_pause():
        done = resource.check_create_complete(data)      # may raise; seconds = patience.asked_pause(error)
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Iterator

_can_pause: contextvars.ContextVar[bool] = contextvars.ContextVar("can_pause", default=False)


class ComeBack(Exception):
    """Nothing is wrong: there is nothing to see for ``again_in`` seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"come back in {seconds:.2f} s")
        self.again_in = seconds


@contextlib.contextmanager
def may_pause(can: bool = True) -> Iterator[None]:
    """What is called in here can be called again after a pause."""
    token = _can_pause.set(can)
    try:
        yield
    finally:
        _can_pause.reset(token)


def can_pause() -> bool:
    return _can_pause.get()


def wait(seconds: float, error: Exception) -> None:
    """Return after *seconds*; or raise *error*, for who can come back."""
    if can_pause():
        error.again_in = seconds  # type: ignore[attr-defined]
        raise error
    time.sleep(seconds)


def asked_pause(error: BaseException) -> float | None:
    """The seconds after which what met *error* is worth doing again, None if it is not."""
    seconds: float | None = getattr(error, "again_in", None)
    return seconds
