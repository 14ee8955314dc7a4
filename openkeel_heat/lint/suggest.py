# SPDX-License-Identifier: Apache-2.0
"""The right name that a wrong one comes nearest to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


def _plain(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


def nearest(name: Any, candidates: Iterable[Any]) -> str | None:
    """The candidate that was probably meant, or None."""
    if not isinstance(name, str):
        return None
    names = [candidate for candidate in candidates if isinstance(candidate, str)]
    plain = _plain(name)
    if not plain:
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
