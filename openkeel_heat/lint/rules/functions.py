# SPDX-License-Identifier: Apache-2.0
"""Rules on function calls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from openkeel_heat.lint.calls import functions_of_all_versions
from openkeel_heat.lint.finding import ERROR, WARNING, Hit
from openkeel_heat.lint.registry import local_path
from openkeel_heat.lint.rules.base import rule
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import nearest
from openkeel_heat.template.functions import references
from openkeel_heat.template.nodes import Invalid

#: names that nobody gives to anything but a function
_TELLING = ('Fn::', 'get_', 'str_', 'list_', 'map_')


def _versions(name: str, subject: Subject) -> list[str]:
    """The versions of the same format that have a function."""
    is_date = subject.template.version[0] == 'heat_template_version'
    return sorted(version for version in functions_of_all_versions().get(name, ())
                  if (version not in ('2012-12-12', '2010-09-09')) == is_date)


def _known_to_schema(subject: Subject) -> set[tuple[Any, ...]]:
    """Paths of the maps whose keys a schema knows."""
    return {container.path for container in subject.places.containers}


@rule('unavailable-function', ERROR, 'A function does not exist in this version of the language, only in others.')
def unavailable_function(subject: Subject) -> Iterator[Hit]:
    data_keys = _known_to_schema(subject)
    for path, name, _place in subject.calls.single_keys:
        if name in subject.calls.functions or path in data_keys or name not in functions_of_all_versions():
            continue
        if not name.startswith(_TELLING) and not _looks_like_call(name, path, subject):
            continue
        versions = _versions(name, subject)
        if subject.template.version[1] in versions:
            yield Hit((*path, name), 'function "%s" works in conditions only' % name, at_key=True)
        elif versions:
            later = [version for version in versions if version > subject.template.version[1]]
            words = 'since version %s' % later[0] if later else 'until version %s' % versions[-1]
            yield Hit((*path, name), 'function "%s" does not exist in version %s, only %s' % (
                name, subject.template.version[1], words), at_key=True)
        else:
            yield Hit((*path, name), 'function "%s" does not exist in %s' % (name, subject.template.version[0]),
                      at_key=True)


def _looks_like_call(name: str, path: tuple[Any, ...], subject: Subject) -> bool:
    value: Any = subject.data
    for part in (*path, name):
        value = value[part]
    if name in ('if', 'equals', 'and', 'or', 'contains', 'filter', 'digest', 'Ref'):
        return isinstance(value, str if name == 'Ref' else list)
    return isinstance(value, dict) and bool({'template', 'expression', 'host'} & set(value))


@rule('unknown-function', WARNING, 'Something looks like a function call, but there is no such function.')
def unknown_function(subject: Subject) -> Iterator[Hit]:
    data_keys = _known_to_schema(subject)
    known = set(subject.calls.functions)
    for path, name, place in subject.calls.single_keys:
        if path in data_keys or name in functions_of_all_versions() or not name.startswith(_TELLING):
            continue
        found = nearest(name, subject.calls.condition_functions if place.in_condition else known)
        if found is not None or name.startswith('Fn::'):
            yield Hit((*path, name), 'there is no function "%s"%s' % (
                name, '; did you mean "%s"?' % found if found else ''), at_key=True)


@rule('removed-function', ERROR, 'A function has been removed from the language before this version.')
def removed_function(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.of_kind(references.Removed):
        yield Hit(call.args_path, 'function "%s" was removed from the language; its last version was %s' % (
            call.name, _versions(call.name, subject)[-1]), at_key=True)


@rule('deprecated-function', WARNING, 'A function was removed from later versions of the language.')
def deprecated_function(subject: Subject) -> Iterator[Hit]:
    if subject.template.version[0] != 'heat_template_version':
        return
    for call in subject.calls.calls:
        if call.name.startswith('Fn::') or call.name == 'Ref':
            if not call.is_a(references.Removed):
                yield Hit(call.args_path, 'function "%s" does not exist in later versions of the language'
                          % call.name, at_key=True)


@rule('misplaced-function', ERROR, 'A function is used where it is not allowed.')
def misplaced_function(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.of_kind(Invalid):
        yield Hit(call.args_path, 'function "%s" is not allowed in conditions' % call.name, at_key=True)


@rule('function-arguments', ERROR, 'A function cannot work with the arguments it has.')
def function_arguments(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.calls:
        if call.error is not None and not call.is_a(Invalid, references.Removed):
            yield Hit(call.args_path, ' '.join(call.error.split()), at_key=True)


@rule('missing-file', ERROR, 'A file that get_file names is not there.')
def missing_file(subject: Subject) -> Iterator[Hit]:
    for call in subject.calls.of_kind(references.GetFile):
        if not isinstance(call.args, str):
            continue
        path = local_path(call.args, subject.folder)
        if path is not None and not os.path.exists(path):
            yield Hit(call.args_path, 'there is no file "%s"' % call.args)


