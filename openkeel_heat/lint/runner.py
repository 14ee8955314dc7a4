# SPDX-License-Identifier: Apache-2.0
"""Files in, findings out."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.lint import catalogue, rules, suggest
from openkeel_heat.lint.document import Document, SyntaxProblem
from openkeel_heat.lint.finding import ERROR, Finding, Hit, path_text
from openkeel_heat.lint.registry import Registry, template_of
from openkeel_heat.lint.subject import EnvironmentFile, Subject
from openkeel_heat.lint.suggest import hint
from openkeel_heat.template import limits, text as text_module
from openkeel_heat.template.template import template_classes

#: stands for the standard input where a file is named
STDIN = "-"
#: bytes of a file that might still be a template; a device that never ends is not read to its end
MAX_SIZE = 1 << 26


class CannotRead(Exception):
    """A file that was asked for cannot be read."""


def read(name: str) -> str:
    """The text of a file, or of the standard input; CannotRead if there is none."""
    if "://" in name and not os.path.exists(name):
        raise CannotRead("%s: a URL is not read; give the file" % name)
    try:
        if name == STDIN:
            content = sys.stdin.buffer.read(MAX_SIZE + 1)
        else:
            with open(name, "rb") as file:
                content = file.read(MAX_SIZE + 1)
        if len(content) > MAX_SIZE:
            raise CannotRead("%s: larger than any template" % name)
        return content.decode("utf-8")
    except OSError as exc:
        raise CannotRead("%s: %s" % (name, exc.strerror)) from None
    except UnicodeDecodeError as exc:
        raise CannotRead("%s: not a text in UTF-8 (%s)" % (name, exc.reason)) from None


def lint(
    template: str,
    environments: Sequence[str] = (),
    disabled: Collection[str] = (),
    plugin_types: catalogue.PluginTypes | None = None,
) -> list[Finding]:
    """All findings on the file of a template with those of its environments, in order of place."""
    findings: list[Finding] = []
    text = read(template)
    envs = [env for env in (_environment(name, findings) for name in environments) if env is not None]
    subject = _subject(template, text, envs, plugin_types, findings)
    if subject is not None:
        # what expressions and patterns may take is for all of a template, as in a request to the service
        with limits.request(), suggest.bounded():
            findings.extend(_apply(subject, envs, disabled))
    order = {name: index for index, name in enumerate((template, *environments))}
    findings.sort(key=lambda finding: (order[finding.file], finding.sort_key()))
    return _once(finding for finding in findings if finding.rule not in disabled)


def _apply(subject: Subject, envs: Iterable[EnvironmentFile], disabled: Collection[str]) -> Iterator[Finding]:
    for rule in rules.TEMPLATE_RULES.values():
        if rule.id not in disabled and rule.check is not None:
            yield from _located(subject.document, rule, rule.check(subject))
    for env in envs:
        for rule in rules.ENVIRONMENT_RULES.values():
            if rule.id not in disabled and rule.check is not None:
                yield from _located(env.document, rule, rule.check(subject, env))


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once: what an alias repeats has several paths but one place."""
    return list({finding.sort_key(): finding for finding in reversed(list(findings))}.values())[::-1]


def _located(document: Document, rule: rules.Rule, hits: Iterable[Hit]) -> Iterator[Finding]:
    for hit in hits:
        position = hit.position or document.locate(hit.path, hit.at_key)
        yield Finding(
            document.name,
            position.line,
            position.column,
            rule.id,
            hit.severity or rule.severity,
            hit.message,
            path_text(hit.path),
        )


def _document(name: str, text: str, findings: list[Finding]) -> Document | None:
    try:
        return Document(name, text)
    except SyntaxProblem as exc:
        findings.append(Finding(name, exc.position.line, exc.position.column, "syntax", ERROR, str(exc), ""))
        return None


def _environment(name: str, findings: list[Finding]) -> EnvironmentFile | None:
    document = _document(name, read(name), findings)
    if document is None:
        return None
    data: Any = {} if document.data is None else document.data
    if not isinstance(data, Mapping):
        findings.append(Finding(name, 1, 1, "syntax", ERROR, "an environment must be a map", ""))
        return None
    return EnvironmentFile(document, data)


def _subject(
    name: str,
    text: str,
    envs: Sequence[EnvironmentFile],
    plugin_types: catalogue.PluginTypes | None,
    findings: list[Finding],
) -> Subject | None:
    document = _document(name, text, findings)
    if document is None:
        return None
    if not isinstance(document.data, dict):
        findings.append(Finding(name, 1, 1, "syntax", ERROR, "a template must be a map", ""))
        return None
    try:
        template = template_of(document.data)
    except (exception.HeatException, TypeError, AttributeError) as exc:
        findings.append(_version_finding(document, exc))
        return None
    registry = Registry(os.path.dirname(name), plugin_types)
    for env in envs:
        registry.add_environment(env.data, env.folder)
    return Subject(document, template, list(envs), registry)


def _version_finding(document: Document, error: Exception) -> Finding:
    """Why a text is no template of a version that is known."""
    given = [key for key in text_module.VERSION_KEYS if key in document.data]
    key = given[0] if given else None
    version = document.data.get(key)
    if key is None and set(document.data) <= set(text_module.ENVIRONMENT_SECTIONS):
        message = "this looks like an environment, not a template; give it with -e"
    elif key is None:
        message = "the template has no version; it needs one of the keys %s" % ", ".join(text_module.VERSION_KEYS)
    elif len(given) > 1:
        message = "the template has more than one version: %s" % ", ".join(given)
    elif not isinstance(version, str):
        message = "the version must be a string"
    elif (key, version) in template_classes():
        message = str(error)
    else:
        known = sorted(value for name, value in template_classes() if name == key)
        message = 'there is no %s "%s"%s' % (key, version, hint(version, known, "; versions are " + ", ".join(known)))
    position = document.locate((key,) if key else ())
    return Finding(document.name, position.line, position.column, "template-version", ERROR, message, key or "")
