# SPDX-License-Identifier: Apache-2.0
"""The form of a rule, and the table that rules enter themselves in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from openkeel_heat.lint.finding import Hit

Check = Callable[..., Iterator[Hit]]


@dataclasses.dataclass(frozen=True)
class Rule:
    """One thing that can be wrong."""

    id: str
    severity: str
    #: one sentence on what is wrong where it hits
    summary: str
    #: from a subject (and an environment file, for rules on these) to hits; None: the runner finds it
    check: Check | None


TEMPLATE_RULES: dict[str, Rule] = {}
ENVIRONMENT_RULES: dict[str, Rule] = {}


def rule(id: str, severity: str, summary: str) -> Callable[[Check], Check]:
    """Enter a function of a subject into the table."""
    return _entering(TEMPLATE_RULES, id, severity, summary)


def environment_rule(id: str, severity: str, summary: str) -> Callable[[Check], Check]:
    """Enter a function of a subject and one of its environment files into the table."""
    return _entering(ENVIRONMENT_RULES, id, severity, summary)


def _entering(table: dict[str, Rule], id: str, severity: str, summary: str) -> Callable[[Check], Check]:
    def enter(check: Check) -> Check:
        table[id] = Rule(id, severity, summary, check)
        return check

    return enter


def shown(value: Any) -> str:
    """A name for a message."""
    return '"%s"' % value if isinstance(value, str) else repr(value)
