# SPDX-License-Identifier: Apache-2.0
"""Rules on conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.lint.calls import CONDITION, as_call, functions_of_all_versions
from openkeel_heat.lint.finding import ERROR, WARNING, Hit
from openkeel_heat.lint.rules.circles import circles
from openkeel_heat.lint.rules.table import rule
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint


@rule("unknown-condition", ERROR, "There is no condition of the name that is referred to.")
def unknown_condition(subject: Subject) -> Iterator[Hit]:
    for reference in subject.references:
        if reference.kind == CONDITION and reference.name not in subject.conditions:
            yield Hit(
                reference.path,
                'there is no condition "%s"%s' % (reference.name, hint(reference.name, subject.conditions)),
            )


@rule("unused-condition", WARNING, "Nothing uses a condition.")
def unused_condition(subject: Subject) -> Iterator[Hit]:
    used = {
        reference.name
        for reference in subject.references
        if reference.kind == CONDITION and (reference.owner.kind, reference.owner.name) != ("condition", reference.name)
    }
    for name in subject.conditions:
        if name not in used:
            yield Hit((subject.template.CONDITIONS, name), 'nothing uses condition "%s"' % name, at_key=True)


@rule("invalid-condition", ERROR, "A condition is neither a boolean nor a function that gives one.")
def invalid_condition(subject: Subject) -> Iterator[Hit]:
    functions = subject.calls.condition_functions
    for name, value in subject.conditions.items():
        if isinstance(value, bool) or as_call(value, functions):
            continue
        if as_call(value, functions_of_all_versions()):
            # in another version, which another rule says
            continue
        words = 'condition "%s" must be a boolean or one of the functions %s' % (
            name,
            ", ".join(sorted(subject.template.condition_functions)),
        )
        yield Hit((subject.template.CONDITIONS, name), words + _function_hint(value, subject))


def _function_hint(value: Any, subject: Subject) -> str:
    if isinstance(value, Mapping) and len(value) == 1:
        return hint(next(iter(value)), subject.template.condition_functions)
    return ""


@rule("circular-condition", ERROR, "Conditions are defined by each other.")
def circular_condition(subject: Subject) -> Iterator[Hit]:
    edges: dict[Any, dict[Any, Any]] = {name: {} for name in subject.conditions}
    for reference in subject.references:
        if reference.kind == CONDITION and reference.owner.kind == "condition" and reference.name in edges:
            edges[reference.owner.name].setdefault(reference.name, reference.path)
    for circle in circles({name: list(targets) for name, targets in edges.items()}):
        target = circle[1] if len(circle) > 1 else circle[0]
        yield Hit(
            edges[circle[0]][target],
            "conditions are defined by each other: %s" % " -> ".join(map(str, [*circle, circle[0]])),
        )
