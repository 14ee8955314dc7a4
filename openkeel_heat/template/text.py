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

from openkeel_heat.common import exceptions as exception, strict_json
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits as bounds, yaml_reader

VERSION_KEYS = ("HeatTemplateFormatVersion", "heat_template_version", "AWSTemplateFormatVersion")

ENVIRONMENT_SECTIONS = (
    PARAMETERS,
    RESOURCE_REGISTRY,
    PARAMETER_DEFAULTS,
    ENCRYPTED_PARAM_NAMES,
    EVENT_SINKS,
    PARAMETER_MERGE_STRATEGIES,
) = (
    "parameters",
    "resource_registry",
    "parameter_defaults",
    "encrypted_param_names",
    "event_sinks",
    "parameter_merge_strategies",
)

#: errors beyond so many characters are told in the words of the parser in C: the other one is fifty times slower
_SLOWLY_READ = 50_000
_NO_BRACKETS = bytes(set(range(256)) - set(b'{}[]"'))


def _mark_with_snippet(text: str, mark: Any) -> Any:
    if mark is None:
        return None
    pointer = sum(len(line) + 1 for line in text.split("\n")[: mark.line]) + mark.column
    return yaml.Mark(mark.name, mark.index, mark.line, mark.column, text + "\0", pointer)


def _read_yaml(text: str, limits: bounds.Limits) -> Any:
    """The data of a YAML text; errors have the piece of text they are about, as the pure Python parser words them."""
    try:
        return yaml_reader.load(text, limits)
    except RecursionError:
        raise bounds.too_deep() from None
    except ConstructorError as exc:
        exc.context_mark = _mark_with_snippet(text, exc.context_mark)
        exc.problem_mark = _mark_with_snippet(text, exc.problem_mark)
        raise
    except yaml.reader.ReaderError:
        yaml.reader.Reader(text)  # raises what the other parser says of a character that YAML does not have
        raise
    except yaml.MarkedYAMLError as exc:
        error = exc
    mark = error.problem_mark or error.context_mark
    # the two parsers differ in what they take, which nearly always is a pair of surrogates
    strange = error.problem is not None and "Unicode character escape" in error.problem
    if strange or mark is None or mark.index < _SLOWLY_READ:
        start = text if strange else text[: _SLOWLY_READ + 10_000]
        try:
            yaml.compose(start, Loader=yaml.SafeLoader)
            if start == text:
                return yaml_reader.load(text, limits, lenient=True)
        except yaml.MarkedYAMLError as exc:
            if start == text or exc.problem_mark is None or exc.problem_mark.index < _SLOWLY_READ:
                raise
        except RecursionError:
            pass
    error.problem_mark = _mark_with_snippet(text, mark)
    error.context_mark = None
    raise error


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
    raise bounds.too_deep()


def _may_be_deep(text: str, limit: int) -> bool:
    """Whether a JSON text may be nested deeper than the limit; a few passes over it, all of them in C.

    What is left of the text are the brackets outside of strings.  A pass takes away every innermost pair, and with
    it one level, sometimes two.
    """
    raw = text.encode("utf-8", "surrogatepass")
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    raw = raw.translate(None, _NO_BRACKETS).replace(b'""', b"")
    if b'"' in raw:
        raw = b"".join(raw.split(b'"')[::2])
    for _pass in range(limit // 2):
        if not raw:
            return False
        raw = raw.replace(b"{}", b"").replace(b"[]", b"")
    return bool(raw)


def load_json(text: str, limit: int | None = None) -> Any:
    """The value of a JSON text that is not nested too deeply.

    ValueError is raised for what is no JSON, :class:`~.strict_json.NotPortable` for what only Python would take.
    """
    try:
        data = strict_json.loads(text)
    except RecursionError:
        raise bounds.too_deep() from None
    if isinstance(data, (dict, list)):
        allowed = bounds.current().max_nesting if limit is None else limit
        if _may_be_deep(text, allowed):
            check_nesting(data, allowed)
    return data


def check_size(text: str, limit: int | None = None) -> None:
    """Refuse a text that is longer than the limit."""
    allowed = bounds.current().max_template_size if limit is None else limit
    if len(text) > allowed:
        raise exception.RequestLimitExceeded(
            message=_("Template size (%(actual_len)s bytes) exceeds maximum allowed size (%(limit)s bytes).")
            % {"actual_len": len(text), "limit": allowed}
        )


def _parse_error(url: str | None, error: Any) -> str:
    return _("Error parsing template %(tmpl)s %(yea)s") % {"tmpl": url or "[root stack]", "yea": error}


def _refuse_duplicates(text: str, url: str | None) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen = set()
        for key, _value in pairs:
            if key in seen:
                raise ValueError(_parse_error(url, _('found duplicate key "%s"') % key))
            seen.add(key)

    json.loads(text, object_pairs_hook=unique)


def simple_parse(text: str | bytes, url: str | None = None, limits: bounds.Limits | None = None) -> dict[Any, Any]:
    """Parse a text without looking for a version key."""
    limits = limits or bounds.current()
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if not isinstance(text, str):
        raise ValueError(_("The template is not a JSON object or YAML mapping."))
    data: Any
    try:
        data = load_json(text, limits.max_nesting)
    except strict_json.NotPortable as exc:
        raise ValueError(_parse_error(url, exc)) from None
    except ValueError:
        try:
            data = _read_yaml(text, limits)
        except yaml.YAMLError as exc:
            raise ValueError(_parse_error(url, exc)) from None
        if data is None:
            data = {}
    else:
        if limits.refuse_duplicate_keys and isinstance(data, dict):
            _refuse_duplicates(text, url)
    if not isinstance(data, dict):
        raise ValueError(_("The template is not a JSON object or YAML mapping."))
    return data


def parse(text: str, url: str | None = None, limits: bounds.Limits | None = None) -> dict[Any, Any]:
    """Parse the text of a template; it must have one of the version keys."""
    limits = limits or bounds.current()
    check_size(text if isinstance(text, str) else str(text), limits.max_template_size)
    data = simple_parse(text, url, limits)
    if not any(key in data for key in VERSION_KEYS):
        raise ValueError(_("Template format version not found."))
    return data


def parse_environment(text: str | None, limits: bounds.Limits | None = None) -> dict[str, Any]:
    """Parse the text of an environment and check its section names."""
    limits = limits or bounds.current()
    if text is None:
        return {}
    if not isinstance(text, str):
        raise ValueError(_("The environment is not a valid YAML mapping data type."))
    try:
        env = _read_yaml(text, limits)
    except yaml.YAMLError as exc:
        raise ValueError(str(exc)) from None
    if env is None:
        env = {}
    if not isinstance(env, dict):
        raise ValueError(_("The environment is not a valid YAML mapping data type."))
    return validate_environment(env)


def validate_environment(env: dict[str, Any]) -> dict[str, Any]:
    """Refuse unknown and empty sections, and what should be a list and is none."""
    for section, content in env.items():
        if section not in ENVIRONMENT_SECTIONS:
            raise ValueError(_('environment has wrong section "%s"') % section)
        if content is None:
            raise ValueError(_('environment has empty section "%s"') % section)
        if section in (ENCRYPTED_PARAM_NAMES, EVENT_SINKS) and content and not isinstance(content, list):
            raise ValueError(_('environment section "%s" is not a list') % section)
    return env


def default_for_missing(env: dict[str, Any]) -> None:
    """Add an empty value for each section that is absent, in place."""
    for section in ENVIRONMENT_SECTIONS:
        if section not in env and section != PARAMETER_MERGE_STRATEGIES:
            env[section] = [] if section in (ENCRYPTED_PARAM_NAMES, EVENT_SINKS) else {}


def convert_json_to_yaml(text: str) -> str:
    """A CFN template in JSON as YAML with Heat's version key."""
    data = json.loads(text)
    out = {"HeatTemplateFormatVersion": "2012-12-12"}
    out.update((k, v) for k, v in data.items() if k != "AWSTemplateFormatVersion")
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(out, Dumper=dumper)
