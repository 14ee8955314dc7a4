# SPDX-License-Identifier: Apache-2.0
"""Rules on the frame of a template: sections, and the keys of what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.lint.calls import as_call, functions_of_all_versions
from openkeel_heat.lint.finding import ERROR, WARNING, Hit
from openkeel_heat.lint.rules.table import rule, shown
from openkeel_heat.lint.subject import Subject
from openkeel_heat.lint.suggest import hint
from openkeel_heat.template.parameter_groups import PARAMETER_GROUPS
from openkeel_heat.template.scope import LONGEST_NAME


@rule("duplicate-key", WARNING, "A key stands twice in one map; only the last one counts.")
def duplicate_key(subject: Subject) -> Iterator[Hit]:
    for key, position, first in subject.document.repeated_keys():
        yield Hit(
            (),
            'key "%s" stands in line %d already, and only the last one counts' % (key, first.line),
            position=position,
        )


def _sections(subject: Subject) -> list[str]:
    return [name for name in subject.template.SECTIONS if not name.startswith("__")]


@rule("unknown-section", ERROR, "The template has a section that its version does not know.")
def unknown_section(subject: Subject) -> Iterator[Hit]:
    known = _sections(subject)
    for name in subject.data:
        if name not in known:
            yield Hit(
                (name,),
                "there is no section %s in %s%s" % (shown(name), " ".join(subject.template.version), hint(name, known)),
                at_key=True,
            )


@rule("invalid-section", ERROR, "A section, or an entry of one, is not of the form it must have.")
def invalid_section(subject: Subject) -> Iterator[Hit]:
    tmpl = subject.template
    for section in (tmpl.PARAMETERS, tmpl.RESOURCES, tmpl.OUTPUTS, tmpl.CONDITIONS, tmpl.MAPPINGS):
        content = subject.data.get(section) if section is not None else None
        if content is None:
            continue
        if not isinstance(content, Mapping):
            yield Hit((section,), 'section "%s" must be a map' % section)
        elif section != tmpl.CONDITIONS:
            for name, entry in content.items():
                if not isinstance(entry, Mapping) and not (entry is None and section in (tmpl.RESOURCES, tmpl.OUTPUTS)):
                    yield Hit((section, name), '%s in "%s" must be a map' % (shown(name), section))


@rule("no-resources", WARNING, "The template has no resources.")
def no_resources(subject: Subject) -> Iterator[Hit]:
    if not subject.data.get(subject.template.RESOURCES):
        yield Hit((subject.template.RESOURCES,), "the template has no resources", at_key=True)


@rule("unknown-key", ERROR, "A resource, output or parameter group has a key that means nothing.")
def unknown_key(subject: Subject) -> Iterator[Hit]:
    tmpl = subject.template
    for section, content, known in (
        (tmpl.RESOURCES, subject.resources, _resource_keys(tmpl)),
        (tmpl.OUTPUTS, subject.outputs, tmpl.OUTPUT_KEYS),
    ):
        for name, entry in content.items():
            for key in entry if isinstance(entry, Mapping) else ():
                if key not in known:
                    yield Hit(
                        (section, name, key),
                        "%s is no key of %s%s"
                        % (shown(key), "a resource" if section == tmpl.RESOURCES else "an output", hint(key, known)),
                        at_key=True,
                    )


def _resource_keys(tmpl: Any) -> tuple[str, ...]:
    return tuple(tmpl.RESOURCE_KEYS)


@rule("missing-key", ERROR, "A resource has no type, or an output no value.")
def missing_key(subject: Subject) -> Iterator[Hit]:
    tmpl = subject.template
    for section, content, key, kind in (
        (tmpl.RESOURCES, subject.resources, tmpl.RES_TYPE, "resource"),
        (tmpl.OUTPUTS, subject.outputs, tmpl.OUTPUT_VALUE, "output"),
    ):
        for name, entry in content.items():
            if entry is None or (isinstance(entry, Mapping) and key not in entry):
                yield Hit((section, name), '%s "%s" has no "%s"' % (kind, name, key), at_key=True)


@rule("invalid-value", ERROR, "A name or a key of a resource has a value of the wrong form, or an unknown one.")
def invalid_value(subject: Subject) -> Iterator[Hit]:
    tmpl = subject.template
    for name, entry in subject.resources.items():
        problem = _name_problem(name)
        if problem is not None:
            yield Hit((tmpl.RESOURCES, name), "the name of a resource must be %s" % problem, at_key=True)
        if not isinstance(entry, Mapping):
            continue
        for key, kinds, words in (
            (tmpl.RES_TYPE, str, "a string"),
            (tmpl.RES_DESCRIPTION, str, "a string"),
            (tmpl.RES_PROPERTIES, Mapping, "a map"),
            (tmpl.RES_METADATA, Mapping, "a map"),
            (tmpl.RES_UPDATE_POLICY, Mapping, "a map"),
            (tmpl.RES_DEPENDS_ON, (str, list), "a name or a list"),
        ):
            if key in entry and not isinstance(entry[key], kinds):
                yield Hit((tmpl.RESOURCES, name, key), '"%s" of resource "%s" must be %s' % (key, name, words))
        depends = entry.get(tmpl.RES_DEPENDS_ON)
        for index, item in enumerate(depends if isinstance(depends, list) else ()):
            if not isinstance(item, str):
                yield Hit(
                    (tmpl.RESOURCES, name, tmpl.RES_DEPENDS_ON, index),
                    '"%s" of resource "%s" must be a list of names' % (tmpl.RES_DEPENDS_ON, name),
                )
        yield from _wrong_names(subject, name, entry)
        definition = subject.by_name.get(name)
        takes_some = definition is not None and definition.type is not None and definition.type.properties
        if takes_some and as_call(entry.get(tmpl.RES_PROPERTIES), subject.calls.functions) is not None:
            yield Hit(
                (tmpl.RESOURCES, name, tmpl.RES_PROPERTIES),
                '"%s" of resource "%s" must be a map; a function cannot give all of them' % (tmpl.RES_PROPERTIES, name),
            )
        policy = entry.get(tmpl.RES_DELETION_POLICY)
        if isinstance(policy, str) and policy not in tmpl.deletion_policies:
            yield Hit(
                (tmpl.RESOURCES, name, tmpl.RES_DELETION_POLICY),
                'there is no deletion policy "%s"%s' % (policy, hint(policy, tmpl.deletion_policies)),
            )


def _name_problem(name: Any) -> str | None:
    """What a resource cannot be called."""
    if not isinstance(name, str):
        return "a string"
    if "/" in name or "\0" in name:
        return 'without "%s"' % ("/" if "/" in name else "\\0")
    return "no longer than %d characters" % LONGEST_NAME if len(name) > LONGEST_NAME else None


def _wrong_names(subject: Subject, name: Any, entry: Mapping[Any, Any]) -> Iterator[Hit]:
    """What must be a name or a function that gives one, and is neither."""
    tmpl = subject.template
    for key, kinds, words in (
        (tmpl.RES_DELETION_POLICY, str, "a string"),
        (tmpl.RES_EXTERNAL_ID, str, "a string"),
        (tmpl.RES_CONDITION, (str, bool), "the name of a condition, a boolean"),
    ):
        if key is None or key not in entry or isinstance(entry[key], kinds):
            continue
        # a function of another version is for another rule
        if as_call(entry[key], functions_of_all_versions()) is None and as_call(entry[key], tmpl.functions) is None:
            yield Hit(
                (tmpl.RESOURCES, name, key), '"%s" of resource "%s" must be %s or a function' % (key, name, words)
            )


@rule("duplicate-name", ERROR, "A resource has the name of a parameter.")
def duplicate_name(subject: Subject) -> Iterator[Hit]:
    for name in subject.resources:
        if name in subject.parameters or name in subject.pseudo_parameters:
            yield Hit((subject.template.RESOURCES, name), "%s is a parameter, too" % shown(name), at_key=True)


@rule("invalid-parameter-group", ERROR, "A group of parameters is not well formed, or names no parameter.")
def invalid_parameter_group(subject: Subject) -> Iterator[Hit]:
    groups = subject.data.get(PARAMETER_GROUPS)
    if groups is None or PARAMETER_GROUPS not in subject.template.SECTIONS:
        return
    if not isinstance(groups, list):
        yield Hit((PARAMETER_GROUPS,), 'section "%s" must be a list' % PARAMETER_GROUPS)
        return
    seen: dict[Any, int] = {}
    for index, group in enumerate(groups):
        names = group.get("parameters") if isinstance(group, Mapping) else None
        if not isinstance(names, list):
            yield Hit((PARAMETER_GROUPS, index), 'a parameter group must have a list "parameters"')
            continue
        for place, name in enumerate(names):
            path = (PARAMETER_GROUPS, index, "parameters", place)
            if not isinstance(name, str) or name not in subject.parameters:
                yield Hit(path, "there is no parameter %s%s" % (shown(name), hint(name, subject.parameters)))
            elif name in seen:
                yield Hit(path, 'parameter "%s" is in a group already' % name)
            else:
                seen[name] = index
