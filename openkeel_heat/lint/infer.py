# SPDX-License-Identifier: Apache-2.0
"""Of which type a value will be, as far as the template tells."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.lint.calls import as_call, functions_of_all_versions
from openkeel_heat.lint.catalogue import ANY, BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, Prop
from openkeel_heat.lint.finding import Path
from openkeel_heat.template.functions import collections, conditions, references, strings

if TYPE_CHECKING:
    from openkeel_heat.lint.subject import Subject

_PARAMETERS = {"string": STRING, "number": NUMBER, "boolean": BOOLEAN, "comma_delimited_list": LIST, "json": "json"}
_RESULTS: tuple[tuple[Any, str], ...] = (
    (
        (
            strings.Replace,
            strings.Join,
            strings.JoinMultiple,
            strings.Digest,
            strings.MakeURL,
            strings.Base64,
            references.GetFile,
            references.GetResource,
        ),
        STRING,
    ),
    ((collections.ListConcat, collections.Repeat, collections.Filter, strings.CfnSplit, references.GetAZs), LIST),
    ((collections.MapMerge, collections.MapReplace, collections.MemberListToMap), MAP),
    ((conditions.Equals, conditions.Contains), BOOLEAN),
)


@dataclasses.dataclass(frozen=True)
class Guess:
    """What is known of a value."""

    #: a property type, ``json`` for whatever JSON a parameter may hold, Any if unknown
    type: str
    #: how to speak of it
    words: str = ""
    #: the value is in the template
    literal: bool = False
    value: Any = None
    #: only what a type declares, which may not be the whole truth
    declared: bool = False


UNKNOWN = Guess(ANY)


def literal(value: Any, words: str = "") -> Guess:
    if isinstance(value, bool):
        kind = BOOLEAN
    elif isinstance(value, int):
        kind = INTEGER
    elif isinstance(value, float):
        kind = NUMBER
    elif isinstance(value, str):
        kind = STRING
    elif isinstance(value, Mapping):
        kind = MAP
    elif isinstance(value, list):
        kind = LIST
    else:
        kind = ANY
    return Guess(kind, words or _shown(value), True, value)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list):
        return "a list"
    text = "true" if value is True else "false" if value is False else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def guess(value: Any, path: Path, subject: Subject) -> Guess:
    """The type of a raw value of the template."""
    calls = subject.calls
    call = as_call(value, calls.functions)
    if call is None:
        # what is meant to be a call is for the rules on functions
        return UNKNOWN if as_call(value, functions_of_all_versions()) else literal(value)
    name, args = call
    if path in calls.constants:
        return literal(calls.constants[path], "the result of %s, %s," % (name, _shown(calls.constants[path])))
    function = calls.functions[name]
    if function is references.Ref:
        if isinstance(args, str) and args not in subject.resources:
            return _parameter(args, subject)
        return Guess(STRING, "the reference to a resource")
    if not isinstance(function, type):
        return UNKNOWN
    if issubclass(function, references.GetParam):
        return _parameter(args, subject) if isinstance(args, str) else UNKNOWN
    if issubclass(function, references.GetAttThenSelect):
        return _attribute(args, subject)
    if issubclass(function, strings.StrSplit) and isinstance(args, list):
        return Guess(STRING if len(args) > 2 else LIST, "the result of %s" % name)
    for kinds, kind in _RESULTS:
        if issubclass(function, kinds):
            return Guess(kind, "the result of %s" % name)
    return UNKNOWN


def _parameter(name: str, subject: Subject) -> Guess:
    if name in subject.pseudo_parameters:
        return Guess(STRING, 'parameter "%s"' % name)
    schema = subject.schemata.get(name)
    if schema is None:
        return UNKNOWN
    kind = {
        "String": "string",
        "Number": "number",
        "Boolean": "boolean",
        "CommaDelimitedList": "comma_delimited_list",
        "Json": "json",
    }.get(schema.type, schema.type)
    return Guess(_PARAMETERS.get(kind, ANY), 'parameter "%s" (%s)' % (name, schema.type))


def _attribute(args: Any, subject: Subject) -> Guess:
    if not isinstance(args, list) or len(args) < 2 or not all(isinstance(arg, str) for arg in args[:2]):
        return UNKNOWN
    if len(args) > 2:
        return UNKNOWN
    definition = subject.by_name.get(args[0])
    if definition is None or definition.type is None:
        return UNKNOWN
    attribute = definition.type.attributes.get(args[1])
    if attribute is None or attribute.type is None:
        return UNKNOWN
    return Guess(
        attribute.type, 'attribute "%s" of resource "%s" (%s)' % (args[1], args[0], attribute.type), declared=True
    )


def mismatch(found: Guess, prop: Prop) -> str | None:
    """Why a value cannot be that of a property, or None."""
    if found.type == ANY or prop.type == ANY or (found.literal and found.value is None):
        return None
    if found.literal:
        return _literal_mismatch(found, prop)
    scalar = found.type in (STRING, INTEGER, NUMBER, BOOLEAN)
    if prop.type == LIST:
        wrong = found.type == MAP or (scalar and not (prop.conversion and found.type == STRING))
    elif prop.type == MAP:
        wrong = (scalar and not (prop.conversion and found.type == STRING)) or (
            found.type == LIST and not prop.conversion
        )
    elif prop.type == BOOLEAN:
        wrong = found.type in (LIST, MAP, "json", NUMBER, INTEGER)
    else:
        wrong = found.type in (LIST, MAP, "json")
    return "%s cannot be %s" % (found.words, _article(prop.type)) if wrong else None


def _article(kind: str) -> str:
    return {INTEGER: "an integer"}.get(kind, "a " + kind.lower())


def _literal_mismatch(found: Guess, prop: Prop) -> str | None:
    value, kind = found.value, found.type
    if prop.type == STRING:
        fits = kind in (STRING, INTEGER, BOOLEAN)
    elif prop.type == INTEGER:
        fits = (
            kind in (INTEGER, BOOLEAN)
            or (kind == NUMBER and math.isfinite(value))
            or (kind == STRING and _parses(int, value))
        )
    elif prop.type == NUMBER:
        fits = kind in (INTEGER, NUMBER, BOOLEAN) or (kind == STRING and _parses(prop.checker.str_to_num, value))
    elif prop.type == BOOLEAN:
        fits = kind == BOOLEAN or (kind == STRING and value.lower() in ("true", "false"))
    elif prop.type == LIST:
        fits = kind == LIST or (prop.conversion and kind == STRING)
    else:
        fits = kind == MAP or (prop.conversion and kind in (STRING, LIST))
    if fits:
        return None
    words = "%s is not %s" % (found.words, _article(prop.type))
    if prop.type == STRING and kind == NUMBER:
        words += "; put it in quotes"
    return words


def _parses(kind: Any, value: str) -> bool:
    try:
        kind(value)
    except (ValueError, OverflowError):
        return False
    return True


def converted(value: Any, prop: Prop) -> Any:
    """A literal that fits, in the form in which constraints look at it."""
    if prop.type == STRING:
        return value if isinstance(value, str) else str(value)
    if prop.type == INTEGER:
        return int(value)
    if prop.type == NUMBER:
        return prop.checker.str_to_num(value)
    if prop.type == BOOLEAN:
        return value if isinstance(value, bool) else value.lower() == "true"
    if prop.type == LIST and isinstance(value, str):
        return [item.strip() for item in value.split(",")]
    return value
