# SPDX-License-Identifier: Apache-2.0
"""Rules on parameters: their schemata, their defaults, and whether anything uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.lint import custom
from openkeel_heat.lint.calls import ANY, PARAMETER
from openkeel_heat.lint.catalogue import CUSTOM
from openkeel_heat.lint.finding import ERROR, WARNING, Hit
from openkeel_heat.lint.rules.table import rule, shown
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint
from openkeel_heat.template import parameters


@rule("unused-parameter", WARNING, "Nothing uses a parameter.")
def unused_parameter(subject: Subject) -> Iterator[Hit]:
    used = set()
    for reference in subject.references:
        if reference.kind in (PARAMETER, ANY):
            if reference.name is None:
                # a function decides which one it is
                return
            used.add(reference.name)
    for name in subject.parameters:
        if name not in used:
            yield Hit((subject.template.PARAMETERS, name), 'nothing uses parameter "%s"' % name, at_key=True)


def _specific(subject: Subject, name: Any, entry: Mapping[Any, Any]) -> Iterator[Hit]:
    """What can be said with the exact place."""
    path = (subject.template.PARAMETERS, name)
    schema = subject.template.param_schema_class
    keys = schema.PARAMETER_KEYS
    for key in entry:
        if key not in keys:
            yield Hit((*path, key), "%s is no key of a parameter%s" % (shown(key), hint(key, keys)), at_key=True)
    type_key = "type" if "type" in keys else "Type"
    if type_key not in entry:
        yield Hit(path, 'parameter "%s" has no "%s"' % (name, type_key), at_key=True)
    elif entry[type_key] not in schema.TYPES:
        types = "; types are " + ", ".join(schema.TYPES)
        yield Hit(
            (*path, type_key),
            "there is no parameter type %s%s" % (shown(entry[type_key]), hint(entry[type_key], schema.TYPES, types)),
        )


@rule("invalid-parameter", ERROR, "The definition of a parameter is not sound.")
def invalid_parameter(subject: Subject) -> Iterator[Hit]:
    for name, entry in subject.parameters.items():
        if not isinstance(entry, Mapping):
            continue
        hits = list(_specific(subject, name, entry))
        yield from hits
        if hits:
            continue
        path = (subject.template.PARAMETERS, name)
        try:
            schema = subject.template.param_schema_class.from_dict(name, entry)
            schema.default = None
            schema.validate()
        except Exception as exc:
            yield Hit(path, 'parameter "%s": %s' % (name, exc), at_key=True)


def value_problem(name: Any, schema: Any, value: Any) -> str | None:
    """Why a value cannot be that of a parameter; None if it can."""
    whole = schema.constraints
    schema.constraints = [item for item in whole if not isinstance(item, CUSTOM)]
    default, schema.default = schema.default, None
    try:
        parameter = parameters.Parameter(name, schema, value)
        parameter.validate()
        converted = parameter.value()
    except Exception as exc:
        return _without_prefix(str(exc), name)
    finally:
        schema.constraints, schema.default = whole, default
    for item in whole:
        if isinstance(item, CUSTOM) and isinstance(item.name, str) and isinstance(converted, str) and converted:
            problem = custom.problem(item.name, converted)
            if problem is not None:
                return " ".join(problem.split())
    return None


def _without_prefix(message: str, name: Any) -> str:
    prefix = "Parameter '%s' is invalid: " % name
    return message[len(prefix) :] if message.startswith(prefix) else message


@rule("invalid-default", ERROR, "The default of a parameter is not a value that the parameter may have.")
def invalid_default(subject: Subject) -> Iterator[Hit]:
    for name, schema in subject.schemata.items():
        if schema.default is None:
            continue
        problem = value_problem(name, schema, schema.default)
        if problem is not None:
            yield Hit(
                (subject.template.PARAMETERS, name, subject.template.PARAM_DEFAULT),
                'the default of parameter "%s" is not valid: %s' % (name, problem),
            )


@rule("unknown-constraint", WARNING, "A parameter has a custom constraint that this release does not know.")
def unknown_constraint(subject: Subject) -> Iterator[Hit]:
    known = subject.registry.constraint_names()
    for name, entry in subject.parameters.items():
        items = entry.get("constraints") if isinstance(entry, Mapping) else None
        for index, item in enumerate(items if isinstance(items, list) else ()):
            wanted = item.get("custom_constraint") if isinstance(item, Mapping) else None
            if wanted is not None and wanted not in known:
                yield Hit(
                    (subject.template.PARAMETERS, name, "constraints", index, "custom_constraint"),
                    "there is no constraint %s%s" % (shown(wanted), hint(wanted, known)),
                )
