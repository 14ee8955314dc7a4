# SPDX-License-Identifier: Apache-2.0
"""Regular expressions that users write.

Most cost next to nothing and are matched where they stand.  The number of ways
in which one can match a text is bounded from above by its structure; where the
bound is high the match is done by a helper process, which is killed when it
takes too long (:mod:`.sandbox`).
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Sequence
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.template import sandbox

#: ways that are tried in this process; a few hundredths of a second
_AFFORDABLE = 1_000_000
_LONGEST_PATTERN = 10_000
#: of the time that a yaql expression may take
_SHARE = 0.25

try:
    _parser: Any = importlib.import_module("re._parser")
except ImportError:  # Python before 3.11
    _parser = importlib.import_module("sre_parse")

_ONE_WAY = frozenset(("LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY", "RANGE", "AT", "FAILURE"))
_REPEATS = frozenset(("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"))


class BadPattern(ValueError):
    """What is no regular expression."""


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """The expression; BadPattern if it is none."""
    if len(pattern) > _LONGEST_PATTERN:
        raise BadPattern(_("The pattern is longer than %d characters") % _LONGEST_PATTERN)
    try:
        return re.compile(pattern)
    except (re.error, OverflowError) as exc:
        raise BadPattern(str(exc)) from None
    except RecursionError:
        raise BadPattern(_("The pattern is nested too deeply")) from None


@functools.lru_cache(maxsize=256)
def _parsed(pattern: str) -> Any:
    return _parser.parse(pattern)


def _ways(items: Any, length: int) -> float:
    """An upper bound of the number of ways to match a sequence of nodes on a text of this length."""
    total = 1.0
    for operation, argument in items:
        total *= _ways_of(str(operation), argument, length)
        if total > _AFFORDABLE:
            break
    return total


def _ways_of(operation: str, argument: Any, length: int) -> float:
    if operation in _ONE_WAY:
        return 1
    if operation in _REPEATS:
        low, high, body = argument
        low, high = min(int(low), length), min(int(high), length)
        inner = _ways(body, length)
        if inner <= 1:
            return high - low + 1
        return float("inf") if high > 64 else float(inner ** (high + 1))
    if operation == "SUBPATTERN":
        return _ways(argument[-1], length)
    if operation == "BRANCH":
        return sum(_ways(branch, length) for branch in argument[1])
    if operation in ("ASSERT", "ASSERT_NOT"):
        return 1 + _ways(argument[1], length)
    if operation == "ATOMIC_GROUP":
        return _ways(argument, length)
    # references back and conditional groups
    return float("inf")


def _is_affordable(pattern: str, longest: int) -> bool:
    return _ways(_parsed(pattern), longest) + longest <= _AFFORDABLE


def match_ends(pattern: str, texts: Sequence[str]) -> list[int | None]:
    """Where the match at the beginning of each text ends, None where there is none.

    :raises ValueError: it is no regular expression, or takes too long
    """
    match = compiled(pattern).match
    if not texts or _is_affordable(pattern, max(map(len, texts))):
        return [None if (found := match(text)) is None else found.end() for text in texts]
    shown = pattern if len(pattern) <= 100 else pattern[:100] + "..."
    ends: list[int | None] = sandbox.run(
        _('Matching the pattern "%s"') % shown, "match", pattern, list(texts), share=_SHARE
    )
    return ends


def matches_whole(pattern: str, text: str) -> bool:
    """Whether the match at the beginning of a text goes to its end."""
    return match_ends(pattern, [text])[0] == len(text)
