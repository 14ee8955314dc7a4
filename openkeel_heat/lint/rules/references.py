# SPDX-License-Identifier: Apache-2.0
"""Rules on references between the parts of a template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.lint.calls import ANY, PARAMETER, RESOURCE
from openkeel_heat.lint.finding import ERROR, WARNING, Hit
from openkeel_heat.lint.rules.circles import circles
from openkeel_heat.lint.rules.table import rule, shown
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint
from openkeel_heat.template.functions import references


def parameter_names(subject: Subject) -> dict[Any, None]:
    return dict.fromkeys((*subject.parameters, *subject.pseudo_parameters))


@rule("unknown-parameter", ERROR, "There is no parameter of the name that is referred to.")
def unknown_parameter(subject: Subject) -> Iterator[Hit]:
    names = parameter_names(subject)
    for reference in subject.references:
        if reference.kind == PARAMETER and reference.name is not None and reference.name not in names:
            yield Hit(reference.path, 'there is no parameter "%s"%s' % (reference.name, hint(reference.name, names)))


@rule("unknown-resource", ERROR, "There is no resource of the name that is referred to.")
def unknown_resource(subject: Subject) -> Iterator[Hit]:
    for reference in subject.references:
        if reference.kind == RESOURCE and reference.name is not None and reference.name not in subject.resources:
            yield Hit(
                reference.path,
                'there is no resource "%s"%s' % (reference.name, hint(reference.name, subject.resources)),
            )


@rule("unknown-reference", ERROR, "There is neither a parameter nor a resource of the name that Ref gives.")
def unknown_reference(subject: Subject) -> Iterator[Hit]:
    names = {**parameter_names(subject), **dict.fromkeys(subject.resources)}
    for reference in subject.references:
        if reference.kind == ANY and reference.name is not None and reference.name not in names:
            yield Hit(
                reference.path,
                'there is neither a parameter nor a resource "%s"%s' % (reference.name, hint(reference.name, names)),
            )


@rule("unknown-mapping", ERROR, "Fn::FindInMap names a mapping, or a key of one, that does not exist.")
def unknown_mapping(subject: Subject) -> Iterator[Hit]:
    mappings = subject.section(subject.template.MAPPINGS)
    for call in subject.calls.of_kind(references.FindInMap):
        if not isinstance(call.args, list) or len(call.args) != 3 or not isinstance(call.args[0], str):
            continue
        name, key, field = call.args
        if name not in mappings:
            yield Hit((*call.args_path, 0), 'there is no mapping "%s"%s' % (name, hint(name, mappings)))
        elif isinstance(key, str) and isinstance(mappings[name], Mapping) and key not in mappings[name]:
            yield Hit(
                (*call.args_path, 1), 'mapping "%s" has no key %s%s' % (name, shown(key), hint(key, mappings[name]))
            )
        elif isinstance(key, str) and isinstance(field, str) and isinstance(mappings[name], Mapping):
            entry = mappings[name][key]
            if isinstance(entry, Mapping) and field not in entry:
                yield Hit(
                    (*call.args_path, 2),
                    'key %s of mapping "%s" has no %s%s' % (shown(key), name, shown(field), hint(field, entry)),
                )


@rule("circular-dependency", ERROR, 'Resources wait for each other; a warning where an "if" may break the circle.')
def circular_dependency(subject: Subject) -> Iterator[Hit]:
    edges: dict[Any, dict[Any, tuple[Any, bool]]] = {name: {} for name in subject.resources}
    for reference in subject.references:
        owner, name = reference.owner, reference.name
        if owner.kind != "resource" or not owner.orders or reference.kind not in (RESOURCE, ANY) or name not in edges:
            continue
        known = edges[owner.name].get(name)
        if known is None or (known[1] and not reference.conditional):
            edges[owner.name][name] = (reference.path, reference.conditional)
    for circle in circles({name: list(targets) for name, targets in edges.items()}):
        steps = list(zip(circle, [*circle[1:], circle[0]], strict=True))
        path = edges[steps[0][0]][steps[0][1]][0]
        loose = any(edges[source][target][1] for source, target in steps)
        words = (
            'resource "%s" waits for itself' % circle[0]
            if len(circle) == 1
            else ("resources wait for each other: %s" % " -> ".join(map(str, [*circle, circle[0]])))
        )
        yield Hit(path, words, severity=WARNING if loose else None)
