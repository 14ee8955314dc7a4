# SPDX-License-Identifier: Apache-2.0
"""From the text of a template or an environment to plain data.

JSON is tried first, then YAML.  Dates stay strings.  What a client may send is
bounded in three ways: the length of the text, the depth of nesting and the
size after all YAML aliases are expanded.

YAML is read by :mod:`.yaml_reader`.
"""

from __future__ import annotations

import json
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits as bounds, yaml_reader

VERSION_KEYS = ('HeatTemplateFormatVersion', 'heat_template_version', 'AWSTemplateFormatVersion')

ENVIRONMENT_SECTIONS = (
    PARAMETERS, RESOURCE_REGISTRY, PARAMETER_DEFAULTS, ENCRYPTED_PARAM_NAMES, EVENT_SINKS, PARAMETER_MERGE_STRATEGIES,
) = (
    'parameters', 'resource_registry', 'parameter_defaults', 'encrypted_param_names', 'event_sinks',
    'parameter_merge_strategies',
)

_NO_BRACKETS = bytes(set(range(256)) - set(b'{}[]"'))


def _mark_with_snippet(text: str, mark: Any) -> Any:
    if mark is None:
        return None
    pointer = sum(len(line) + 1 for line in text.split('\n')[:mark.line]) + mark.column
    return yaml.Mark(mark.name, mark.index, mark.line, mark.column, text + '\0', pointer)


def _yaml_error(text: str, error: yaml.YAMLError) -> str:
    """The error with the piece of text it is about, as the pure Python parser words it."""
    if isinstance(error, ConstructorError):
        error.context_mark = _mark_with_snippet(text, error.context_mark)
        error.problem_mark = _mark_with_snippet(text, error.problem_mark)
        return str(error)
    try:
        yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as exc:
        return str(exc)
    except RecursionError:
        pass
    return str(error)


def check_nesting(value: dict[Any, Any] | list[Any], limit: int | None = None) -> None:
    """Refuse JSON data nested deeper than the limit (for templates that arrive as objects)."""
    allowed = bounds.current().max_nesting if limit is None else limit
    level = [value]
    for _depth in range(allowed):
        below: list[Any] = []
        for item in level:
            parts = item.values() if type(item) is dict else item
            below += [part for part in parts if type(part) is dict or type(part) is list]
        if not below:
            return
        level = below
    raise exception.RequestLimitExceeded(message=_('Template is nested too deeply.'))


def _may_be_deep(text: str, limit: int) -> bool:
    """Whether a JSON text may be nested deeper than the limit; a few passes over it, all of them in C.

    What is left of the text are the brackets outside of strings.  A pass takes away every innermost pair, and with
    it one level, sometimes two.
    """
    raw = text.encode('utf-8', 'surrogatepass')
    if b'\\' in raw:
        raw = raw.replace(b'\\\\', b'').replace(b'\\"', b'')
    raw = raw.translate(None, _NO_BRACKETS).replace(b'""', b'')
    if b'"' in raw:
        raw = b''.join(raw.split(b'"')[::2])
    for _pass in range(limit // 2):
        if not raw:
            return False
        raw = raw.replace(b'{}', b'').replace(b'[]', b'')
    return bool(raw)


def check_size(text: str, limit: int | None = None) -> None:
    """Refuse a text that is longer than the limit."""
    allowed = bounds.current().max_template_size if limit is None else limit
    if len(text) > allowed:
        raise exception.RequestLimitExceeded(
            message=_('Template size (%(actual_len)s bytes) exceeds maximum allowed size (%(limit)s bytes).')
            % {'actual_len': len(text), 'limit': allowed})


def _too_deep() -> Exception:
    return exception.RequestLimitExceeded(message=_('Template is nested too deeply.'))


def simple_parse(text: str | bytes, url: str | None = None, limits: bounds.Limits | None = None) -> dict[Any, Any]:
    """Parse a text without looking for a version key."""
    limits = limits or bounds.current()
    if isinstance(text, bytes):
        text = text.decode('utf-8')
    data: Any
    try:
        data = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        try:
            data = yaml_reader.load(text, limits)
        except RecursionError:
            raise _too_deep() from None
        except yaml.YAMLError as exc:
            raise ValueError(_('Error parsing template %(tmpl)s %(yea)s')
                             % {'tmpl': url or '[root stack]', 'yea': _yaml_error(text, exc)}) from None
        if data is None:
            data = {}
    else:
        if isinstance(data, (dict, list)) and _may_be_deep(text, limits.max_nesting):
            check_nesting(data, limits.max_nesting)
    if not isinstance(data, dict):
        raise ValueError(_('The template is not a JSON object or YAML mapping.'))
    return data


def parse(text: str, url: str | None = None, limits: bounds.Limits | None = None) -> dict[Any, Any]:
    """Parse the text of a template; it must have one of the version keys."""
    limits = limits or bounds.current()
    check_size(text if isinstance(text, str) else str(text), limits.max_template_size)
    data = simple_parse(text, url, limits)
    if not any(key in data for key in VERSION_KEYS):
        raise ValueError(_('Template format version not found.'))
    return data


def parse_environment(text: str | None, limits: bounds.Limits | None = None) -> dict[str, Any]:
    """Parse the text of an environment and check its section names."""
    limits = limits or bounds.current()
    if text is None:
        return {}
    try:
        env = yaml_reader.load(text, limits)
    except RecursionError:
        raise _too_deep() from None
    except yaml.YAMLError as exc:
        raise ValueError(_yaml_error(text, exc)) from None
    if env is None:
        env = {}
    if not isinstance(env, dict):
        raise ValueError(_('The environment is not a valid YAML mapping data type.'))
    return validate_environment(env)


def validate_environment(env: dict[str, Any]) -> dict[str, Any]:
    """Refuse unknown and empty sections."""
    for section, content in env.items():
        if section not in ENVIRONMENT_SECTIONS:
            raise ValueError(_('environment has wrong section "%s"') % section)
        if content is None:
            raise ValueError(_('environment has empty section "%s"') % section)
    return env


def default_for_missing(env: dict[str, Any]) -> None:
    """Add an empty value for each section that is absent, in place."""
    for section in ENVIRONMENT_SECTIONS:
        if section not in env and section != PARAMETER_MERGE_STRATEGIES:
            env[section] = [] if section in (ENCRYPTED_PARAM_NAMES, EVENT_SINKS) else {}


def convert_json_to_yaml(text: str) -> str:
    """A CFN template in JSON as YAML with Heat's version key."""
    data = json.loads(text)
    out = {'HeatTemplateFormatVersion': '2012-12-12'}
    out.update((k, v) for k, v in data.items() if k != 'AWSTemplateFormatVersion')
    dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
    return yaml.dump(out, Dumper=dumper)
