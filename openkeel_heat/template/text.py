# SPDX-License-Identifier: Apache-2.0
"""From the text of a template or an environment to plain data.

JSON is tried first, then YAML.  Dates stay strings.  What a client may send is
bounded in three ways: the length of the text, the depth of nesting and the
size after all YAML aliases are expanded.

The YAML constructor here replaces the one of PyYAML for speed (templates are
mostly plain maps, lists and strings) and because it can count while it builds.
It accepts what ``SafeLoader`` accepts, except for tags that make values JSON
cannot hold (sets, binary data).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits as bounds

VERSION_KEYS = ('HeatTemplateFormatVersion', 'heat_template_version', 'AWSTemplateFormatVersion')

ENVIRONMENT_SECTIONS = (
    PARAMETERS, RESOURCE_REGISTRY, PARAMETER_DEFAULTS, ENCRYPTED_PARAM_NAMES, EVENT_SINKS, PARAMETER_MERGE_STRATEGIES,
) = (
    'parameters', 'resource_registry', 'parameter_defaults', 'encrypted_param_names', 'event_sinks',
    'parameter_merge_strategies',
)

_BaseLoader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_TAG = 'tag:yaml.org,2002:'
_STR, _TIMESTAMP, _MERGE, _VALUE = (_TAG + t for t in ('str', 'timestamp', 'merge', 'value'))
_BRACKET = re.compile(r'[\[\]{}]')
_PLAIN = (_STR, _TIMESTAMP, _VALUE)


class _Loader(_BaseLoader):
    """CSafeLoader with a memory of how plain scalars resolve."""

    def __init__(self, stream: str, limits: bounds.Limits) -> None:
        super().__init__(stream)
        self._limits = limits
        self._tags: dict[str, str] = {}
        self._built: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()
        self._size = 0

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode and implicit[0]:
            tag = self._tags.get(value)
            if tag is None:
                tag = self._tags[value] = super().resolve(kind, value, implicit)
            return tag
        return super().resolve(kind, value, implicit)

    def data(self) -> Any:
        node = self.get_single_node()
        return None if node is None else self._build(node, 0)

    def _build(self, node: Any, depth: int) -> Any:
        key = id(node)
        if key in self._built:
            self._grow(self._sizes[key])
            return self._built[key]
        before = self._size
        value: Any
        if isinstance(node, yaml.ScalarNode):
            self._grow(1 + len(node.value))
            value = self._scalar(node)
        else:
            if depth >= self._limits.max_nesting:
                raise exception.RequestLimitExceeded(message=_('Template is nested too deeply.'))
            if key in self._open:
                raise ConstructorError(None, None, 'found unconstructable recursive node', node.start_mark)
            self._grow(1)
            self._open.add(key)
            if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + 'seq':
                value = [self._build(child, depth + 1) for child in node.value]
            elif isinstance(node, yaml.MappingNode) and node.tag == _TAG + 'map':
                value = self._map(node, depth + 1)
            else:
                raise self._unknown(node)
            self._open.discard(key)
        self._built[key] = value
        self._sizes[key] = self._size - before
        return value

    def _scalar(self, node: Any) -> Any:
        tag = node.tag
        if tag in _PLAIN:
            return node.value
        if tag == _TAG + 'bool':
            return self.construct_yaml_bool(node)
        if tag == _TAG + 'int':
            return self.construct_yaml_int(node)
        if tag == _TAG + 'float':
            return self.construct_yaml_float(node)
        if tag == _TAG + 'null':
            return None
        if tag == _MERGE:
            return node.value
        raise self._unknown(node)

    def _map(self, node: Any, depth: int) -> dict[Any, Any]:
        merged: dict[Any, Any] = {}
        own: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                self._merge(merged, node, value_node, depth)
                continue
            key = self._build(key_node, depth)
            try:
                own[key] = self._build(value_node, depth)
            except TypeError:
                raise ConstructorError('while constructing a mapping', node.start_mark, 'found unhashable key',
                                       key_node.start_mark) from None
        if not merged:
            return own
        merged.update(own)
        return merged

    def _merge(self, target: dict[Any, Any], node: Any, source: Any, depth: int) -> None:
        sources = list(reversed(source.value)) if isinstance(source, yaml.SequenceNode) else [source]
        for item in sources:
            if not isinstance(item, yaml.MappingNode):
                raise ConstructorError('while constructing a mapping', node.start_mark,
                                       'expected a mapping or list of mappings for merging, but found %s' % item.id,
                                       item.start_mark)
            target.update(self._build(item, depth))

    def _unknown(self, node: Any) -> ConstructorError:
        return ConstructorError(None, None, 'could not determine a constructor for the tag %r' % node.tag,
                                node.start_mark)

    def _grow(self, count: int) -> None:
        self._size += count
        if self._size > self._limits.max_expanded_size:
            raise exception.RequestLimitExceeded(
                message=_('Template expands to more than %s characters.') % self._limits.max_expanded_size)


def _guard_depth(text: str, limit: int) -> None:
    """Keep deep nesting away from the composer, whose recursion in C ends in a crash.

    A cheap look decides whether the text can be nested that deep at all (each
    level of a block costs a column, each level of a flow a bracket); only then
    the events of the parser, which does not recurse, are counted.
    """
    suspect = re.search(r'^[ \t?:\-]{%d}' % limit, text, re.MULTILINE) is not None
    if not suspect and text.count('[') + text.count('{') > limit:
        depth = 0
        for match in _BRACKET.finditer(text):
            depth += 1 if match.group() in '[{' else -1
            if depth > limit:
                suspect = True
                break
            if depth < 0:
                depth = 0
    if not suspect:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_BaseLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > limit:
                raise exception.RequestLimitExceeded(message=_('Template is nested too deeply.'))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _load_yaml(text: str, limits: bounds.Limits) -> Any:
    _guard_depth(text, limits.max_nesting)
    loader = _Loader(text, limits)
    try:
        return loader.data()
    finally:
        loader.dispose()


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


def check_nesting(value: Any, limit: int | None = None) -> None:
    """Refuse data nested deeper than the limit (for templates that arrive as objects)."""
    allowed = bounds.current().max_nesting if limit is None else limit
    level = [value]
    for _depth in range(allowed + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, Mapping):
                below.extend(v for v in item.values() if isinstance(v, (dict, list)))
            elif isinstance(item, list):
                below.extend(v for v in item if isinstance(v, (dict, list)))
        if not below:
            return
        level = below
    raise exception.RequestLimitExceeded(message=_('Template is nested too deeply.'))


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
            data = _load_yaml(text, limits)
        except RecursionError:
            raise _too_deep() from None
        except yaml.YAMLError as exc:
            raise ValueError(_('Error parsing template %(tmpl)s %(yea)s')
                             % {'tmpl': url or '[root stack]', 'yea': _yaml_error(text, exc)}) from None
        if data is None:
            data = {}
    else:
        if text.count('{') + text.count('[') > limits.max_nesting:
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
        env = _load_yaml(text, limits)
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
