# SPDX-License-Identifier: Apache-2.0
"""The right name that a wrong one comes nearest to.

Looking for it costs more than anything else that the linter does: after many
names nothing is suggested any more.
"""

from __future__ import annotations

import contextlib
import contextvars
import difflib
from collections.abc import Iterable, Iterator
from typing import Any

#: names that may be compared for all the wrong ones of a template
MOST_COMPARED = 1_000_000

_left: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar("left", default=None)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Everything within is one template."""
    token = _left.set([MOST_COMPARED])
    try:
        yield
    finally:
        _left.reset(token)


def _may_compare(count: int) -> bool:
    left = _left.get()
    if left is None:
        return True
    left[0] -= count
    return left[0] >= 0


def _plain(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


def nearest(name: Any, candidates: Iterable[Any]) -> str | None:
    """The candidate that was probably meant, or None."""
    if not isinstance(name, str):
        return None
    names = [candidate for candidate in candidates if isinstance(candidate, str)]
    plain = _plain(name)
    if not plain or not _may_compare(len(names)):
        return None
    for candidate in names:
        if _plain(candidate) == plain:
            return candidate
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.72)
    if found:
        return found[0]
    lower = {candidate.lower(): candidate for candidate in reversed(names)}
    found = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.72)
    return lower[found[0]] if found else None


def hint(name: Any, candidates: Iterable[Any], otherwise: str = "") -> str:
    """The end of a message: what was probably meant, or something else to say."""
    found = nearest(name, candidates)
    return '; did you mean "%s"?' % found if found else otherwise
