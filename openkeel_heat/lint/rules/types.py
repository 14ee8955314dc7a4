# SPDX-License-Identifier: Apache-2.0
"""Rules on the types of resources."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

from openkeel_heat.lint.finding import ERROR, WARNING, Hit, Path
from openkeel_heat.lint.registry import Found, is_template_name, local_path, templates_in
from openkeel_heat.lint.rules.circles import Graph, circles
from openkeel_heat.lint.rules.table import rule
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint


def _named_types(subject: Subject) -> Iterator[tuple[Path, str, Any]]:
    """Every place that names a type: path, type, name of the resource."""
    for definition in subject.definitions:
        if isinstance(definition.type_name, str) and definition.type_name:
            yield (*definition.path, subject.type_key(definition)), definition.type_name, definition.name
        if definition.type_name == "OS::Heat::ResourceChain":
            key = subject.properties_key(definition)
            properties = definition.data.get(key)
            members = properties.get("resources") if isinstance(properties, dict) else None
            for index, member in enumerate(members if isinstance(members, list) else ()):
                if isinstance(member, str) and member:
                    yield (*definition.path, key, "resources", index), member, None


def _found(subject: Subject) -> Iterator[tuple[Path, str, Found]]:
    for path, name, resource_name in _named_types(subject):
        yield path, name, subject.registry.find(name, resource_name)


@rule("unknown-type", ERROR, "There is no such resource type.")
def unknown_type(subject: Subject) -> Iterator[Hit]:
    for path, name, found in _found(subject):
        if found.lost is not None:
            yield Hit(path, 'there is no resource type "%s": %s' % (name, found.lost))
        elif found.type is None and found.problem is None:
            yield Hit(path, 'there is no resource type "%s"%s' % (name, hint(name, subject.registry.names())))


@rule("unreadable-template", ERROR, "A resource type is a template that cannot be read or is not sound.")
def unreadable_template(subject: Subject) -> Iterator[Hit]:
    for path, _name, found in _found(subject):
        if found.problem is not None:
            yield Hit(path, "the template of this type cannot be used: %s" % found.problem)


@rule("recursive-template", ERROR, "A template leads to itself: there would be stacks in stacks without end.")
def recursive_template(subject: Subject) -> Iterator[Hit]:
    places: dict[str | None, Path] = {}
    for place, name, _resource in _named_types(subject):
        if is_template_name(name):
            places.setdefault(local_path(name, subject.folder), place)
    inner = [path for path in templates_in(subject.data, subject.folder) if path in places]
    graph = {os.path.normpath(subject.document.name): inner}
    waiting = list(inner)
    while waiting:
        path = waiting.pop()
        if path not in graph:
            graph[path] = subject.registry.inner_templates(path)
            waiting += graph[path]
    for circle in circles(graph):
        nearest = min(inner, key=lambda path: _distance(graph, path, circle))
        words = " -> ".join([*circle, circle[0]])
        yield Hit(places[nearest], "the template of this type leads to itself: %s" % words)


def _distance(graph: Graph, start: str, ends: Sequence[str]) -> float:
    """How many steps it is from a node to one of others."""
    steps = {start: 0}
    for node in (queue := [start]):
        if node in ends:
            return steps[node]
        for target in graph[node]:
            if target not in steps:
                steps[target] = steps[node] + 1
                queue.append(target)
    return math.inf


@rule("renamed-type", WARNING, "A resource type has got another name.")
def renamed_type(subject: Subject) -> Iterator[Hit]:
    for path, name, found in _found(subject):
        if found.alias_of is not None:
            yield Hit(path, 'resource type "%s" is now "%s"' % (name, found.alias_of))


def _of_status(subject: Subject, status: str) -> Iterator[Hit]:
    for path, name, found in _found(subject):
        if found.type is not None and found.type.support.status == status:
            yield Hit(path, 'resource type "%s" %s' % (name, found.type.support.words()))


@rule("deprecated-type", WARNING, "A resource type is deprecated.")
def deprecated_type(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "DEPRECATED")


@rule("hidden-type", WARNING, "A resource type is obsolete: it is accepted, but is not offered any more.")
def hidden_type(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "HIDDEN")


@rule("unsupported-type", WARNING, "A resource type is not supported by the project.")
def unsupported_type(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "UNSUPPORTED")
