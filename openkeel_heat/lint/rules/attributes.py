# SPDX-License-Identifier: Apache-2.0
"""Rules on attributes of resources."""

from __future__ import annotations

from collections.abc import Iterator

from openkeel_heat.lint.calls import Reference
from openkeel_heat.lint.catalogue import Attribute, ResourceType
from openkeel_heat.lint.finding import ERROR, WARNING, Hit
from openkeel_heat.lint.rules.table import rule
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint


def _referred(subject: Subject) -> Iterator[tuple[Reference, ResourceType, Attribute | None]]:
    for reference in subject.references:
        if not isinstance(reference.attribute, str) or reference.name is None:
            continue
        definition = subject.by_name.get(reference.name)
        if definition is None or definition.type is None or definition.type.opaque:
            continue
        yield reference, definition.type, definition.type.attributes.get(reference.attribute)


def _path(reference: Reference) -> tuple[object, ...]:
    return (*reference.path[:-1], 1)


@rule("unknown-attribute", ERROR, "The type of the resource has no such attribute.")
def unknown_attribute(subject: Subject) -> Iterator[Hit]:
    for reference, known, attribute in _referred(subject):
        if attribute is not None or known.dynamic_attributes:
            continue
        if reference.attribute.startswith(known.attribute_prefixes):
            continue
        yield Hit(
            _path(reference),
            'resource "%s" of type %s has no attribute "%s"%s'
            % (reference.name, known.name, reference.attribute, hint(reference.attribute, known.attributes)),
        )


def _of_status(subject: Subject, status: str) -> Iterator[Hit]:
    for reference, known, attribute in _referred(subject):
        if attribute is not None and attribute.support.status == status:
            yield Hit(
                _path(reference),
                'attribute "%s" of %s %s' % (reference.attribute, known.name, attribute.support.words()),
            )


@rule("deprecated-attribute", WARNING, "An attribute is deprecated.")
def deprecated_attribute(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "DEPRECATED")


@rule("hidden-attribute", WARNING, "An attribute is obsolete.")
def hidden_attribute(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "HIDDEN")


@rule("unsupported-attribute", WARNING, "An attribute is not supported by the project.")
def unsupported_attribute(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "UNSUPPORTED")
