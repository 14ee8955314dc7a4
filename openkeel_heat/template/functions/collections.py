# SPDX-License-Identifier: Apache-2.0
"""Functions that make lists and maps, or pick from them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits, text
from openkeel_heat.template.nodes import FunctionNode, is_function, is_sequence, resolve

#: what an item costs beside its characters: one that is passed on, and one that is made
_ITEM = 8
_MADE = 128
#: characters that one replacement may make before they are counted
_LARGE = 1 << 16

_MEMBER = re.compile(r"\.member\.([0-9]+)\.(.*)")


class MapMerge(FunctionNode):
    """``map_merge: [map, map, ...]``."""

    def result(self, scope: Any) -> dict[Any, Any]:
        args = resolve(self.args, scope)
        if not isinstance(args, Sequence):
            raise TypeError(
                _('Incorrect arguments to "%(fn_name)s" should be: %(example)s')
                % {
                    "fn_name": self.fn_name,
                    "example": _('"%s" : [ { "key1": "val1" }, { "key2": "val2" } ]') % self.fn_name,
                }
            )
        merged: dict[Any, Any] = {}
        for item in args:
            if item is None:
                continue
            if not isinstance(item, Mapping):
                raise TypeError(
                    _("Incorrect arguments: Items to merge must be maps. {} is type {} instead of a dict").format(
                        repr(item)[:200], type(item)
                    )
                )
            limits.charge(self.fn_name, _ITEM * len(item))
            merged.update(item)
            limits.check_items(self.fn_name, len(merged))
        return merged


class MapReplace(FunctionNode):
    """``map_replace: [map, {keys: ..., values: ...}]``."""

    def _usage(self, wording: str) -> str:
        example = _('"%s" : [ { "key1": "val1" }, {"keys": {"key1": "key2"}, "values": {"val1": "val2"}}]')
        return wording % {"fn_name": self.fn_name, "example": example % self.fn_name}

    def _map(self, value: Any) -> Mapping[Any, Any]:
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return value
        raise TypeError(
            self._usage(
                _('Incorrect arguments: to "%(fn_name)s", arguments must be a list of maps. Example:  %(example)s')
            )
        )

    def result(self, scope: Any) -> dict[Any, Any]:
        args = resolve(self.args, scope)
        usage = _('Incorrect arguments to "%(fn_name)s" should be: %(example)s')
        if isinstance(args, Mapping):
            # a map has no first item
            args.pop(0)  # type: ignore[attr-defined]
        if not isinstance(args, list):
            raise TypeError(self._usage(usage))
        maps = [self._map(arg) for arg in args[:2]]
        if len(args) != 2:
            raise TypeError(self._usage(usage))
        source, replacements = maps
        if any(key not in ("keys", "values") for key in replacements):
            raise ValueError(self._usage(usage))
        keys = self._map(replacements.get("keys", {}))
        values = self._map(replacements.get("values", {}))
        limits.charge(self.fn_name, _ITEM * len(source))
        out: dict[Any, Any] = {}
        for old_key, old_value in source.items():
            key = keys.get(old_key)
            if key is None:
                key = old_key
            elif key in source and key != old_key:
                raise ValueError(_("key replacement %s collides with a key in the input map") % key)
            elif key in out:
                raise ValueError(_("key replacement %s collides with a key in the output map") % key)
            try:
                out[key] = values.get(old_value, old_value)
            except TypeError:
                out[key] = old_value
        return out


class ListConcat(FunctionNode):
    """``list_concat: [list, list, ...]``."""

    unique = False

    def result(self, scope: Any) -> list[Any]:
        args = resolve(self.args, scope)
        if not is_sequence(args):
            raise TypeError(
                _('Incorrect arguments to "%(fn_name)s" should be: %(example)s')
                % {
                    "fn_name": self.fn_name,
                    "example": _('"%s" : [ [ <value 1>, <value 2> ], [ <value 3>, <value 4> ] ]') % self.fn_name,
                }
            )
        joined: list[Any] = []
        for item in args:
            if item is None:
                continue
            if not is_sequence(item):
                raise TypeError(
                    _(
                        "Incorrect arguments: Items to concat must be lists. %(args)s contains an item "
                        "that is not a list: %(item)s"
                    )
                    % {"item": json.dumps(item), "args": json.dumps(args)}
                )
            limits.charge(self.fn_name, _ITEM * len(item))
            joined.extend(item)
            limits.check_items(self.fn_name, len(joined))
        if not self.unique:
            return joined
        return self._without_repeats(joined)

    def _without_repeats(self, items: Iterable[Any]) -> list[Any]:
        seen = _Seen(self.fn_name)
        out = []
        for item in items:
            if item not in seen:
                seen.add(item)
                out.append(item)
        return out


class ListConcatUnique(ListConcat):
    """``list_concat_unique``: each value once."""

    unique = True


class _Seen:
    """A set that also takes maps and lists; those it compares one by one, which is charged."""

    def __init__(self, fn_name: str, items: Iterable[Any] = ()) -> None:
        self._fn_name = fn_name
        self._hashable: set[Any] = set()
        self._others: list[Any] = []
        for item in items:
            self.add(item)

    def add(self, item: Any) -> None:
        try:
            self._hashable.add(item)
        except TypeError:
            self._others.append(item)

    def __contains__(self, item: object) -> bool:
        try:
            return item in self._hashable
        except TypeError:
            limits.charge(self._fn_name, _ITEM * len(self._others))
            return item in self._others


class Filter(FunctionNode):
    """``filter: [values to leave out, list]``."""

    def check(self) -> None:
        if not is_sequence(self.args):
            raise TypeError(_('Argument to "%s" must be a list') % self.fn_name)
        if len(self.args) != 2:
            raise ValueError(
                _('"%(fn)s" expected 2 arguments of the form [values, sequence] but got %(len)d arguments instead')
                % {"fn": self.fn_name, "len": len(self.args)}
            )
        self._values, self._sequence = self.args

    def result(self, scope: Any) -> Any:
        sequence = resolve(self._sequence, scope)
        if not sequence:
            return sequence
        if not isinstance(sequence, list):
            raise TypeError(_('"%s" only works with lists') % self.fn_name)
        values = resolve(self._values, scope)
        if not values:
            return sequence
        if not isinstance(values, list):
            raise TypeError(_('"%(fn)s" filters a list of values') % {"fn": self.fn_name})
        limits.charge(self.fn_name, len(values) + len(sequence))
        unwanted = _Seen(self.fn_name, values)
        return [item for item in sequence if item not in unwanted]


class Repeat(FunctionNode):
    """``repeat: {template: ..., for_each: {placeholder: list}}``."""

    def check(self) -> None:
        self._permute: Any = True
        self._parse_args()

    def _parse_args(self) -> None:
        if not isinstance(self.args, Mapping):
            raise TypeError(_('Arguments to "%s" must be a map') % self.fn_name)
        try:
            self._for_each = self.args["for_each"]
            self._template = self.args["template"]
        except KeyError:
            example = """repeat:
              template: This is %var%
              for_each:
                %var%: ['a', 'b', 'c']"""
            raise KeyError(_('"repeat" syntax should be %s') % example) from None

    def validate_args(self, scope: Any) -> None:
        super().validate_args(scope)
        if not (is_function(self._for_each) or isinstance(self._for_each, Mapping)):
            raise TypeError(_('The "for_each" argument to "%s" must contain a map') % self.fn_name)

    def _check_values(self, values: Any) -> None:
        if not is_sequence(values):
            raise TypeError(_('The values of the "for_each" argument to "%s" must be lists') % self.fn_name)

    def result(self, scope: Any) -> list[Any]:
        for_each = resolve(self._for_each, scope)
        keys, lists = zip(*for_each.items(), strict=True)
        values = []
        for value in lists:
            if value is not None:
                self._check_values(value)
            values.append(value or [])
        given = [len(value) for value in lists if value is not None]
        if not self._permute and len(set(given)) > 1:
            raise ValueError(
                _("For %s, the length of for_each values should be equal if no nested loop.") % self.fn_name
            )
        template = resolve(self._template, scope)
        return list(self._rounds(keys, values, template))

    def _rounds(self, keys: tuple[Any, ...], values: list[Any], template: Any) -> Iterator[Any]:
        rounds: Iterable[Any] = itertools.product(*values) if self._permute else zip(*values, strict=False)
        for count, round_values in enumerate(rounds, 1):
            limits.check_items(self.fn_name, count)
            out, size = _substitute(keys, round_values, template, self.fn_name)
            limits.charge(self.fn_name, size)
            yield out


def _substitute(keys: tuple[Any, ...], values: tuple[Any, ...], template: Any, fn_name: str) -> tuple[Any, int]:
    """A copy of the template with the placeholders replaced, and its rough size."""
    if isinstance(template, str):
        for key, value in zip(keys, values, strict=True):
            if isinstance(value, str) and (len(template) + 1) * len(value) > _LARGE:
                limits.charge(fn_name, template.count(key) * len(value))
            template = template.replace(key, value)
        return template, len(template) + _MADE
    size = _MADE
    if isinstance(template, Sequence):
        out_list = []
        for item in template:
            new, grown = _substitute(keys, values, item, fn_name)
            out_list.append(new)
            size += grown
        return out_list, size
    if isinstance(template, Mapping):
        out_map = {}
        for key, value in template.items():
            new_key, key_size = _substitute(keys, values, key, fn_name)
            new, grown = _substitute(keys, values, value, fn_name)
            out_map[new_key] = new
            size += key_size + grown
        return out_map, size
    return template, size


class RepeatWithMap(Repeat):
    """``repeat`` over lists or over the keys of maps."""

    def _check_values(self, values: Any) -> None:
        if not (isinstance(values, Mapping) or is_sequence(values)):
            raise TypeError(_('The values of the "for_each" argument to "%s" must be lists or maps') % self.fn_name)


class RepeatWithNestedLoop(RepeatWithMap):
    """``repeat`` with ``permutations: false`` to walk the lists side by side."""

    def _parse_args(self) -> None:
        super()._parse_args()
        self._permute = self.args.get("permutations", True)
        if not isinstance(self._permute, bool):
            raise TypeError(_('"permutations" should be boolean type for %s function.') % self.fn_name)

    def _check_values(self, values: Any) -> None:
        if self._permute:
            super()._check_values(values)
        else:
            Repeat._check_values(self, values)


class Select(FunctionNode):
    """``Fn::Select: [index, list or map]``."""

    def check(self) -> None:
        try:
            self._lookup, self._strings = self.args
        except ValueError:
            raise ValueError(_('Arguments to "%s" must be of the form [index, collection]') % self.fn_name) from None

    def result(self, scope: Any) -> Any:
        index = resolve(self._lookup, scope)
        source = resolve(self._strings, scope)
        if source == "":
            # what other functions give for a value that is not there yet
            return ""
        if isinstance(source, str):
            limits.charge_read(self.fn_name, 2 * len(source))
            try:
                source = text.load_json(source)
            except ValueError as exc:
                raise ValueError(_('"%(fn_name)s": %(err)s') % {"fn_name": self.fn_name, "err": exc}) from None
        if isinstance(source, Mapping):
            if not isinstance(index, str):
                raise TypeError(_('Index to "%s" must be a string') % self.fn_name)
            return source.get(index, "")
        try:
            index = int(index)
        except (ValueError, TypeError):
            pass
        if is_sequence(source):
            if not isinstance(index, int):
                raise TypeError(_('Index to "%s" must be an integer') % self.fn_name)
            try:
                return source[index]
            except IndexError:
                return ""
        if source is None:
            return ""
        raise TypeError(_("Arguments to %s not fully resolved") % self.fn_name)


class MemberListToMap(FunctionNode):
    """``Fn::MemberListToMap: [key name, value name, [".member.0.Name=..."]]``."""

    def check(self) -> None:
        try:
            self._key_name, self._value_name, self._list = self.args
        except ValueError:
            correct = """
            {'Fn::MemberListToMap': ['Name', 'Value',
                                     ['.member.0.Name=key',
                                      '.member.0.Value=door']]}
            """
            raise TypeError(_('Wrong Arguments try: "%s"') % correct) from None
        if not isinstance(self._key_name, str):
            raise TypeError(_("%s Key Name must be a string") % self.fn_name)
        if not isinstance(self._value_name, str):
            raise TypeError(_("%s Value Name must be a string") % self.fn_name)

    def result(self, scope: Any) -> dict[Any, Any]:
        members = resolve(self._list, scope)
        if not isinstance(members, Iterable):
            raise TypeError(_("Member list must be a list"))
        pairs: list[list[str]] = []
        for item in members:
            if not isinstance(item, str):
                raise TypeError(_("Member list items must be strings"))
            pairs.append(item.split("=", 1))
            limits.charge(self.fn_name, len(item))
        return _member_pairs(dict(pairs), self._key_name, self._value_name)


def _member_pairs(params: dict[str, str], key_name: str, value_name: str) -> dict[Any, Any]:
    """Collect ``.member.<number>.<name>`` keys and join those of equal number."""
    members: dict[int, dict[str, str]] = {}
    for name, value in params.items():
        match = _MEMBER.match(name)
        if match:
            members.setdefault(int(match.group(1)), {})[match.group(2)] = value
    return {
        members[index][key_name]: members[index][value_name]
        for index in sorted(members)
        if key_name in members[index] and value_name in members[index]
    }
