# SPDX-License-Identifier: Apache-2.0
"""Rules on environment files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.lint.finding import ERROR, WARNING, Hit, Path
from openkeel_heat.lint.registry import is_template_name, local_path
from openkeel_heat.lint.rules.parameters import value_problem
from openkeel_heat.lint.rules.table import environment_rule, shown
from openkeel_heat.lint.subject import EnvironmentFile, Subject
from openkeel_heat.lint.suggest import hint
from openkeel_heat.template import env_merge, registry, text


@environment_rule("environment-section", ERROR, "An environment file has an unknown section, or one of the wrong form.")
def environment_section(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    lists = (text.ENCRYPTED_PARAM_NAMES, text.EVENT_SINKS)
    for name, content in env.data.items():
        if name not in text.ENVIRONMENT_SECTIONS:
            yield Hit(
                (name,),
                "there is no section %s in an environment%s" % (shown(name), hint(name, text.ENVIRONMENT_SECTIONS)),
                at_key=True,
            )
        elif content is None:
            yield Hit((name,), 'section "%s" is empty' % name, at_key=True)
        elif not isinstance(content, list if name in lists else Mapping):
            yield Hit((name,), 'section "%s" must be a %s' % (name, "list" if name in lists else "map"))
        elif name == text.EVENT_SINKS:
            for index, sink in enumerate(content):
                if not isinstance(sink, Mapping) or not isinstance(sink.get("type"), str):
                    yield Hit((name, index), 'an event sink must be a map with a "type"')


@environment_rule(
    "environment-unknown-parameter", ERROR, "An environment file gives a parameter that the template does not have."
)
def environment_unknown_parameter(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    for name in env.section(text.PARAMETERS):
        if name not in subject.parameters:
            yield Hit(
                (text.PARAMETERS, name),
                "the template has no parameter %s%s" % (shown(name), hint(name, subject.parameters)),
                at_key=True,
            )
    names = env.data.get(text.ENCRYPTED_PARAM_NAMES)
    for index, name in enumerate(names if isinstance(names, list) else ()):
        if not isinstance(name, str) or name not in subject.parameters:
            yield Hit(
                (text.ENCRYPTED_PARAM_NAMES, index),
                "the template has no parameter %s%s" % (shown(name), hint(name, subject.parameters)),
            )


@environment_rule(
    "environment-invalid-parameter", ERROR, "An environment file gives a parameter a value that it may not have."
)
def environment_invalid_parameter(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    for section in (text.PARAMETERS, text.PARAMETER_DEFAULTS):
        for name, value in env.section(section).items():
            schema = subject.schemata.get(name)
            if schema is None or value is None:
                continue
            problem = value_problem(name, schema, value)
            if problem is not None:
                yield Hit((section, name), 'the value of parameter "%s" is not valid: %s' % (name, problem))


@environment_rule("environment-merge-strategy", ERROR, "An environment file names an unknown merge strategy.")
def environment_merge_strategy(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    known = env_merge.ALLOWED_PARAM_MERGE_STRATEGIES
    for name, strategy in env.section(text.PARAMETER_MERGE_STRATEGIES).items():
        if strategy not in known:
            yield Hit(
                (text.PARAMETER_MERGE_STRATEGIES, name),
                "there is no merge strategy %s%s" % (shown(strategy), hint(strategy, known)),
            )


#: entries of the registry that are no types, and what they may be
_KINDS = {"hooks": registry.HOOK_TYPES, "restricted_actions": registry.RESTRICTED_ACTIONS}


def _entries(entries: Mapping[Any, Any], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    for key, value in entries.items():
        if isinstance(value, Mapping) and key not in _KINDS and not str(key).endswith("*"):
            yield from _entries(value, (*path, key))
        else:
            yield (*path, key), key, value


def _registry(env: EnvironmentFile) -> Iterator[tuple[Path, Any, Any]]:
    entries = env.section(text.RESOURCE_REGISTRY)
    if isinstance(entries, Mapping):
        yield from _entries(entries, (text.RESOURCE_REGISTRY,))


@environment_rule("registry-missing-file", ERROR, "A type is mapped to a template that is not there.")
def registry_missing_file(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    base = env.section(text.RESOURCE_REGISTRY).get("base_url")
    folder = (local_path(base, env.folder) or env.folder) if isinstance(base, str) else env.folder
    for path, _key, value in _registry(env):
        if is_template_name(value):
            file = local_path(value, folder)
            if file is not None and not os.path.exists(file):
                yield Hit(path, 'there is no file "%s"' % value)


@environment_rule("registry-unknown-type", WARNING, "A type is mapped to one that does not exist.")
def registry_unknown_type(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    for path, key, value in _registry(env):
        if key in (*_KINDS, "base_url", "resources") or is_template_name(value) or not isinstance(value, str):
            continue
        found = None if "*" in value or path[1:-1] == ("resources",) else subject.registry.find(value)
        if found is not None and found.lost is not None:
            yield Hit(path, 'there is no resource type "%s": %s' % (value, found.lost))
        elif found is not None and found.type is None:
            yield Hit(path, 'there is no resource type "%s"%s' % (value, hint(value, subject.registry.names())))


@environment_rule("registry-invalid-entry", ERROR, "An entry of the registry is neither a type nor a map of types.")
def registry_invalid_entry(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    for path, key, value in _registry(env):
        if not isinstance(key, str):
            yield Hit(path, "the name %s must be a string" % shown(key), at_key=True)
        elif key in (*_KINDS, "base_url") or value is None:
            continue
        elif path[1:] == ("resources",):
            yield Hit(path, "%s must be a map" % shown(key))
        elif not isinstance(value, str):
            yield Hit(path, "%s must be mapped to the name of a type or template" % shown(key))
        elif path[1:-1] == ("resources",):
            # it is passed over
            yield Hit(path, "%s must be a map" % shown(key), severity=WARNING)


@environment_rule("registry-invalid-hook", ERROR, "A hook or restricted action does not exist.")
def registry_invalid_hook(subject: Subject, env: EnvironmentFile) -> Iterator[Hit]:
    for path, key, value in _registry(env):
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if key in _KINDS and item not in _KINDS[key]:
                yield Hit(
                    (*path, index) if isinstance(value, list) else path,
                    "there is no %s %s%s"
                    % ("hook" if key == "hooks" else "restricted action", shown(item), hint(item, _KINDS[key])),
                )
