# SPDX-License-Identifier: Apache-2.0
"""Rules on function calls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from openkeel_heat.lint.calls import functions_of_all_versions
from openkeel_heat.lint.finding import ERROR, WARNING, Hit
from openkeel_heat.lint.registry import local_path
from openkeel_heat.lint.rules.table import rule, shown
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint, nearest
from openkeel_heat.template.functions import references, strings
from openkeel_heat.template.nodes import Invalid
from openkeel_heat.template.versions import HOT_RELEASES

#: names that nobody gives to anything but a function
_TELLING = ("Fn::", "get_", "str_", "list_", "map_")


_CFN_FORMATS = {"2012-12-12": "HeatTemplateFormatVersion", "2010-09-09": "AWSTemplateFormatVersion"}

_DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")

#: what to use in HOT in the place of functions of CFN
_INSTEAD = {
    "Ref": "get_param or get_resource",
    "Fn::GetAtt": "get_attr",
    "Fn::Join": "list_join",
    "Fn::Split": "str_split",
    "Fn::Replace": "str_replace",
    "Fn::If": "if",
    "Fn::ResourceFacade": "resource_facade",
    "Fn::Base64": "the text itself",
    "Fn::Select": "a path in get_attr or get_param",
    "Fn::Equals": "equals",
    "Fn::Not": "not",
    "Fn::And": "and",
    "Fn::Or": "or",
}


def _is_hot(subject: Subject) -> bool:
    return bool(subject.template.version[0] == "heat_template_version")


def _instead(name: str, subject: Subject) -> str:
    known = {**subject.calls.functions, **subject.calls.condition_functions}
    if not _is_hot(subject) or name not in _INSTEAD:
        return ""
    if " " not in _INSTEAD[name] and _INSTEAD[name] not in known:
        return ""
    return "; use %s" % _INSTEAD[name]


def _version(subject: Subject) -> str:
    """The date of the version, which may be given by the name of a release."""
    version = subject.template.version[1]
    return str(HOT_RELEASES.get(version, version))


def _versions(name: str, subject: Subject) -> list[str]:
    """The versions of the same format that have a function."""
    return sorted(
        version
        for version in functions_of_all_versions().get(name, ())
        if (version not in _CFN_FORMATS) == _is_hot(subject)
    )


def _availability(name: str, subject: Subject) -> str:
    versions, version = _versions(name, subject), _version(subject)
    if version in versions:
        return "works in conditions only"
    words = "does not exist in %s %s" % subject.template.version
    if not versions:
        return words + _instead(name, subject)
    if not _is_hot(subject):
        return "%s, only in %s" % (words, _CFN_FORMATS[versions[0]])
    later = [item for item in versions if item > version]
    return words + (", only since %s" % later[0] if later else ", only until %s" % versions[-1])


def _known_to_schema(subject: Subject) -> set[tuple[Any, ...]]:
    """Paths of the maps whose keys a schema knows."""
    return {container.path for container in subject.places.containers}


@rule("unavailable-function", ERROR, "A function does not exist in this version of the language, only in others.")
def unavailable_function(subject: Subject) -> Iterator[Hit]:
    data_keys = _known_to_schema(subject)
    for path, name, _place in subject.calls.single_keys:
        if name in subject.calls.functions or path in data_keys or name not in functions_of_all_versions():
            continue
        if not name.startswith(_TELLING) and not _looks_like_call(name, path, subject):
            continue
        yield Hit((*path, name), 'function "%s" %s' % (name, _availability(name, subject)), at_key=True)


def _looks_like_call(name: str, path: tuple[Any, ...], subject: Subject) -> bool:
    value: Any = subject.data
    for part in (*path, name):
        value = value[part]
    if name in ("if", "equals", "and", "or", "contains", "filter", "digest", "Ref"):
        return isinstance(value, str if name == "Ref" else list)
    return isinstance(value, dict) and bool({"template", "expression", "host"} & set(value))


@rule("unknown-function", WARNING, "Something looks like a function call, but there is no such function.")
def unknown_function(subject: Subject) -> Iterator[Hit]:
    data_keys = _known_to_schema(subject)
    known = [name for name, function in subject.calls.functions.items() if function is not references.Removed]
    for path, name, place in subject.calls.single_keys:
        if path in data_keys or name in functions_of_all_versions() or not name.startswith(_TELLING):
            continue
        found = nearest(name, subject.calls.condition_functions if place.in_condition else known)
        if found is not None or name.startswith("Fn::"):
            yield Hit(
                (*path, name),
                'there is no function "%s"%s' % (name, '; did you mean "%s"?' % found if found else ""),
                at_key=True,
            )


@rule("removed-function", ERROR, "A function has been removed from the language before this version.")
def removed_function(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.of_kind(references.Removed):
        versions = _versions(call.name, subject)
        last = "; the last version that has it is %s" % versions[-1] if versions else ""
        yield Hit(
            call.args_path,
            'function "%s" was removed from the language%s%s' % (call.name, last, _instead(call.name, subject)),
            at_key=True,
        )


@rule("deprecated-function", WARNING, "A function was removed from later versions of the language.")
def deprecated_function(subject: Subject) -> Iterator[Hit]:
    if not _is_hot(subject):
        return
    for call in subject.calls.calls:
        if call.name.startswith("Fn::") or call.name == "Ref":
            if not call.is_a(references.Removed):
                yield Hit(
                    call.args_path,
                    'function "%s" does not exist in later versions of the language%s'
                    % (call.name, _instead(call.name, subject)),
                    at_key=True,
                )


@rule("misplaced-function", ERROR, "A function is used where it is not allowed.")
def misplaced_function(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.of_kind(Invalid):
        yield Hit(call.args_path, 'function "%s" is not allowed in conditions' % call.name, at_key=True)


@rule("function-arguments", ERROR, "A function cannot work with the arguments it has.")
def function_arguments(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.calls:
        if call.error is not None and not call.is_a(Invalid, references.Removed):
            message = call.error
            if call.is_a(strings.Digest) and isinstance(call.args, list) and call.error.startswith("Algorithm"):
                # the language lists all that the computer has
                message = "there is no digest algorithm %s%s" % (
                    shown(call.args[0]),
                    hint(call.args[0], _DIGESTS, "; use one of " + ", ".join(_DIGESTS)),
                )
            yield Hit(call.args_path, message, at_key=True)


@rule("missing-file", ERROR, "A file that get_file names is not there.")
def missing_file(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.of_kind(references.GetFile):
        if not isinstance(call.args, str):
            continue
        path = local_path(call.args, subject.folder)
        if path is not None and not os.path.exists(path):
            yield Hit(call.args_path, 'there is no file "%s"' % call.args)
