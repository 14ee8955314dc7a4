# SPDX-License-Identifier: Apache-2.0
"""Rules on properties: their names, and what their values may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openkeel_heat.lint import custom, infer
from openkeel_heat.lint.calls import contains_call
from openkeel_heat.lint.catalogue import CUSTOM
from openkeel_heat.lint.finding import ERROR, WARNING, Hit, path_text
from openkeel_heat.lint.places import Container, Place
from openkeel_heat.lint.rules.table import rule, shown
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint


def _where(container: Container) -> str:
    inside = path_text(container.path[len(container.owner.path) + 1 :])
    return "%s of %s" % (inside, container.owner.type_name) if inside else str(container.owner.type_name)


@rule("unknown-property", ERROR, "The type of the resource has no such property.")
def unknown_property(subject: Subject) -> Iterator[Hit]:
    for container in subject.places.containers:
        for key in container.data:
            if key not in container.schemas:
                yield Hit(
                    (*container.path, key),
                    "%s has no property %s%s" % (_where(container), shown(key), hint(key, container.schemas)),
                    at_key=True,
                )


@rule("missing-property", ERROR, "A property that must be given is not.")
def missing_property(subject: Subject) -> Iterator[Hit]:
    for container in subject.places.containers:
        if subject.is_external(container.owner):
            continue
        given = {prop.use for key, prop in container.schemas.items() if key in container.data}
        for key, prop in container.schemas.items():
            if prop.required and key not in container.data and key not in given:
                path = container.path if container.data else container.owner.path
                known = container.owner.type
                other = ", or parameter_defaults that give it" if known is not None and known.is_template else ""
                yield Hit(path, '%s needs property "%s"%s' % (_where(container), key, other), at_key=True)


def _given(subject: Subject) -> Iterator[tuple[Container, Any, Any]]:
    for container in subject.places.containers:
        for key in container.data:
            prop = container.schemas.get(key)
            if prop is not None:
                yield container, key, prop


@rule("unimplemented-property", ERROR, "A property is there in name only; giving it is refused.")
def unimplemented_property(subject: Subject) -> Iterator[Hit]:
    for container, key, prop in _given(subject):
        if not prop.implemented:
            yield Hit((*container.path, key), 'property "%s" is not implemented' % key, at_key=True)


def _of_status(subject: Subject, status: str) -> Iterator[Hit]:
    for container, key, prop in _given(subject):
        if prop.support.status == status:
            instead = '; use "%s"' % prop.use if prop.use else ""
            yield Hit((*container.path, key), 'property "%s" %s%s' % (key, prop.support.words(), instead), at_key=True)


@rule("deprecated-property", WARNING, "A property is deprecated.")
def deprecated_property(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "DEPRECATED")


@rule("hidden-property", WARNING, "A property is obsolete: it is accepted, but is not offered any more.")
def hidden_property(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "HIDDEN")


@rule("unsupported-property", WARNING, "A property is not supported by the project.")
def unsupported_property(subject: Subject) -> Iterator[Hit]:
    return _of_status(subject, "UNSUPPORTED")


def _is_filled_in(place: Place) -> bool:
    """Whether a group puts a number into the text before it is used."""
    placeholder = place.owner.placeholder
    return placeholder is not None and isinstance(place.value, str) and placeholder in place.value


@rule(
    "property-type",
    ERROR,
    "A value is of another type than its property; a warning where only the declared type of an attribute says so.",
)
def property_type(subject: Subject) -> Iterator[Hit]:
    for place in subject.places.places:
        found = infer.guess(place.value, place.path, subject)
        problem = None if _is_filled_in(place) else infer.mismatch(found, place.prop)
        if problem is not None:
            yield Hit(
                place.path, 'property "%s": %s' % (place.name, problem), severity=WARNING if found.declared else None
            )


def _literals(subject: Subject) -> Iterator[tuple[Place, Any]]:
    """Places with values that stand in the template and fit their type."""
    for place in subject.places.places:
        found = infer.guess(place.value, place.path, subject)
        if found.literal and found.value is not None and not _is_filled_in(place):
            if infer.mismatch(found, place.prop) is None:
                yield place, infer.converted(found.value, place.prop)


@rule("property-constraint", ERROR, "A value is outside of what its property allows.")
def property_constraint(subject: Subject) -> Iterator[Hit]:
    for place, value in _literals(subject):
        if not place.prop.constraints:
            continue
        if isinstance(value, (list, dict)) and contains_call(value, subject.calls.functions):
            continue
        for constraint in place.prop.constraints:
            if isinstance(constraint, CUSTOM):
                problem = custom.problem(constraint.name, value) if isinstance(value, str) and value else None
            else:
                try:
                    constraint.validate(value, place.prop.checker)
                    problem = None
                except (ValueError, TypeError) as exc:
                    problem = str(exc)
            if problem is not None:
                yield Hit(place.path, 'property "%s": %s' % (place.name, " ".join(problem.split())))
                break
