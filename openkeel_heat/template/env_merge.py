# SPDX-License-Identifier: Apache-2.0
"""Merging of ``environment_files`` into what was sent with a stack.

Files come in order and later ones win, unless a file asks for another
strategy: ``merge`` joins strings, lists, numbers and maps, ``deep_merge``
does the same inside of maps.  A file may come many times; what that makes is
charged like what functions make.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits, text

ALLOWED_PARAM_MERGE_STRATEGIES = (OVERWRITE, MERGE, DEEP_MERGE) = ("overwrite", "merge", "deep_merge")


#: how what is merged is named where it is too much, and what an item of it costs
_CHARGED, _ITEM = "environment_files", 8

_LISTS = (text.ENCRYPTED_PARAM_NAMES, text.EVENT_SINKS)


def get_param_merge_strategy(
    merge_strategies: Mapping[str, str] | None, param_key: str, available_strategies: Mapping[str, str] | None = None
) -> str:
    """The strategy for a parameter: by its name, by what an earlier file said, or the default."""
    if merge_strategies is None:
        return OVERWRITE
    default = merge_strategies.get("default", OVERWRITE)
    strategy = merge_strategies.get(param_key, (available_strategies or {}).get(param_key, default))
    return strategy if strategy in ALLOWED_PARAM_MERGE_STRATEGIES else default


def merge_list(old: Any, new: Any) -> Any:
    """Join lists, or comma delimited texts, or one of each."""
    if not old:
        return new
    if isinstance(old, str) and isinstance(new, str):
        return _joined(old + ",", new)
    merged = _as_list(old) + _as_list(new)
    limits.charge(_CHARGED, _ITEM * len(merged))
    return merged


def _joined(old: str, new: str) -> str:
    limits.charge(_CHARGED, len(old) + len(new))
    return old + new


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return value.split(",") if value else []
    if not isinstance(value, list):
        raise _invalid(_('"%s" is not a list') % (value,))
    return value


def merge_map(old: Any, new: Any, deep_merge: bool = False) -> Any:
    """Put the items of one map, but those that are None, into another."""
    if not old:
        return new
    for one in (old, new):
        if not isinstance(one, Mapping):
            raise _invalid(_('"%s" is not a map') % (one,))
    limits.charge(_CHARGED, _ITEM * (len(old) + len(new)))
    merged = dict(old)
    for key, value in new.items():
        if value is None:
            continue
        present = merged.get(key)
        if not deep_merge or not present:
            merged[key] = value
        elif isinstance(value, Mapping) and isinstance(present, Mapping):
            merged[key] = merge_map(present, value, deep_merge)
        elif isinstance(value, str) and isinstance(present, str):
            merged[key] = _joined(present, value)
        elif isinstance(value, list) and isinstance(present, (list, str)):
            merged[key] = merge_list(present, value)
        else:
            merged[key] = value
    return merged


def parse_param(value: Any, schema: Any) -> Any:
    """A parameter in a form that can be merged."""
    if isinstance(value, str):
        limits.charge(_CHARGED, len(value))
    try:
        if schema.type == schema.MAP:
            if isinstance(value, str) and value:
                return text.load_json(value)
            return value
        if schema.type == schema.NUMBER:
            return schema.str_to_num(value)
    except (ValueError, TypeError, exception.RequestLimitExceeded) as exc:
        raise _invalid(exc) from None
    return value


def _invalid(why: object) -> exception.HeatException:
    return exception.StackValidationFailed(message=_("Invalid parameter in environment %s.") % why)


def _merge_values(key: str, old: Any, new: Any, schema: Any, deep_merge: bool) -> Any:
    new = parse_param(new, schema)
    if old is None:
        return new
    old = parse_param(old, schema)
    if schema.type == schema.MAP:
        return merge_map(old, new, deep_merge)
    if schema.type == schema.LIST:
        return merge_list(old, new)
    if schema.type == schema.STRING:
        return _joined(str(old), str(new))
    if schema.type == schema.NUMBER:
        return parse_param(old + new, schema)
    raise exception.InvalidMergeStrategyForParam(strategy=MERGE, param=key)


def merge_parameters(
    old: dict[str, Any],
    new: Mapping[str, Any],
    param_schemata: Mapping[str, Any],
    strategies_in_file: Mapping[str, str] | None,
    available_strategies: dict[str, str],
    env_file: str,
) -> dict[str, Any]:
    """The parameters of one more file merged into those so far."""
    for key, value in new.items():
        if key in param_schemata and value is not None:
            strategy = get_param_merge_strategy(strategies_in_file, key, available_strategies)
            if available_strategies.setdefault(key, strategy) != strategy:
                raise exception.ConflictingMergeStrategyForParam(strategy=strategy, param=key, env_file=env_file)
    limits.charge(_CHARGED, _ITEM * (len(old) + len(new)))
    if not old:
        return dict(new)
    merged = dict(old)
    for key, value in new.items():
        if key in param_schemata and value is not None:
            strategy = available_strategies[key]
            if strategy in (MERGE, DEEP_MERGE):
                merged[key] = _merge_values(key, merged.get(key), value, param_schemata[key], strategy == DEEP_MERGE)
            else:
                merged[key] = value
    return merged


def _parse_file(files: Mapping[str, str], filename: str) -> dict[str, Any]:
    if filename not in files:
        raise exception.StackValidationFailed(message=_('The environment file "%s" is not among the files') % filename)
    try:
        env = text.parse_environment(files[filename])
        for section, content in env.items():
            if content and not isinstance(content, list if section in _LISTS else dict):
                raise ValueError(_('environment section "%s" is not a mapping') % section)
        return env
    except ValueError as exc:
        raise exception.StackValidationFailed(
            message=_('Environment file "%(name)s" not in valid format: %(error)s') % {"name": filename, "error": exc}
        ) from None


def merge_environments(
    environment_files: Iterable[str] | None,
    files: Mapping[str, str],
    params: dict[str, Any],
    param_schemata: Mapping[str, Any],
) -> None:
    """Merge environment files, given by their names among the files, into ``params`` in place."""
    available_strategies: dict[str, str] = {}
    parsed: dict[str, dict[str, Any]] = {}
    for filename in environment_files or ():
        env = parsed.get(filename)
        if env is None:
            env = parsed[filename] = _parse_file(files, filename)
        strategies = env.get(text.PARAMETER_MERGE_STRATEGIES) or {}
        for section, content in env.items():
            if not content or section == text.PARAMETER_MERGE_STRATEGIES:
                continue
            if section in (text.PARAMETERS, text.PARAMETER_DEFAULTS):
                params[section] = merge_parameters(
                    params.get(section) or {}, content, param_schemata, strategies, available_strategies, filename
                )
            elif isinstance(content, list):
                params[section] = merge_list(params.get(section), copy.deepcopy(content))
            else:
                params[section] = merge_map(params.get(section), content)
