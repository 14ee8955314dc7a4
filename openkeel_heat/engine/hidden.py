# SPDX-License-Identifier: Apache-2.0
"""Values of a stack's hidden parameters, kept out of what people read: reasons, events, errors, answers, logs.

Functions of the template, plug-ins and services get the values. Outputs show what the author of the template wants
them to show, and an export has all that an adoption needs; everything else that is told of a stack passes through its
:class:`Hidden`, which puts asterisks in the place of the values, also where they are part of a text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.common import exceptions, log_mask

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack

MASK = log_mask.MASK

#: Shorter ones are parts of ordinary words and numbers.
_MIN_TEXT, _MIN_NUMBER = 4, 6
_ORDINARY = frozenset(("true", "false", "null", "none"))
#: Sections of an environment with values of parameters.
_WITH_VALUES = ("parameters", "parameter_defaults")
#: Keys of resource data with something that opens doors.
_SECRET_KEYS = ("password", "secret", "token", "signed_url", "private_key", "access_key", "put_url", "credential")


class Hidden:
    """The hidden parameters of one stack: their names, and the texts of their values."""

    __slots__ = ("names", "texts")

    def __init__(self, names: frozenset[str] = frozenset(), texts: frozenset[str] = frozenset()) -> None:
        self.names = names
        #: Longest first: one may be a part of another.
        self.texts = sorted(texts, key=len, reverse=True)
        log_mask.conceal(self.texts)

    def __bool__(self) -> bool:
        return bool(self.texts)

    def text(self, text: Any) -> Any:
        if not self.texts or text is None:
            return text
        text = str(text)
        for value in self.texts:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def data(self, value: Any) -> Any:
        """The same data with asterisks in its texts and numbers."""
        if not self.texts:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.data(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and str(value) in self.texts:
            return MASK
        return value

    def properties(self, properties: Mapping[str, Any], snippet: Any) -> dict[str, Any]:
        """Properties as an event kept them. Those that the template makes of hidden parameters are not shown at all:
        their values may be older than those known now."""
        snippet = snippet if isinstance(snippet, Mapping) else {}
        return {
            name: MASK if value is not None and self._refers(snippet.get(name)) else self.data(value)
            for name, value in properties.items()
        }

    def _refers(self, snippet: Any) -> bool:
        """Whether a part of a template names one of the parameters."""
        if isinstance(snippet, Mapping):
            for key, item in snippet.items():
                if key in ("get_param", "Ref"):
                    name = item[0] if isinstance(item, list) and item else item
                    if isinstance(name, str) and name in self.names:
                        return True
                if self._refers(item):
                    return True
            return False
        return isinstance(snippet, list) and any(map(self._refers, snippet))


NOTHING = Hidden()


def of_parameters(parameters: Any) -> Hidden:
    names: set[str] = set()
    texts: set[str] = set()
    for name, param in parameters.params.items():
        if not param.hidden():
            continue
        names.add(name)
        for value in (param.user_value, param.default() if param.has_default() else None):
            texts.update(_texts_of(value))
        with contextlib.suppress(Exception):  # a value that is none of its type
            texts.update(_texts_of(param.value()))
    return Hidden(frozenset(names), frozenset(texts)) if names else NOTHING


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts_of(item)
    elif isinstance(value, str):
        value = value.strip()
        if len(value) >= _MIN_TEXT and value.lower() not in _ORDINARY and not _is_short_number(value):
            yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and not _is_short_number(str(value)):
        yield str(value)


def _is_short_number(text: str) -> bool:
    return len(text) < _MIN_NUMBER and text.replace(".", "", 1).lstrip("-").isdigit()


def of(stack: Stack | None) -> Hidden:
    """What is hidden of a stack; nothing where its template was not loaded."""
    definition = getattr(stack, "_defn", None)
    if definition is None:
        return NOTHING
    shared = definition.shared
    if shared.hidden is None:
        shared.hidden = of_parameters(shared.parameters)
    found: Hidden = shared.hidden
    return found


def of_resource(resource: Any) -> Hidden:
    """The same for what is told of a resource, which may be as a former template had it."""
    stack = resource.stack
    found = of(stack)
    if found.names:
        for former in {resource.record.current_template_id, stack.prev_raw_template_id} - {None, stack.t.id}:
            with contextlib.suppress(exceptions.HeatException):  # that template is gone
                before = of(stack.for_template(former))
                found = Hidden(found.names | before.names, frozenset([*found.texts, *before.texts]))
    return found


@contextlib.contextmanager
def in_errors(stack: Stack) -> Iterator[None]:
    """Errors of the vocabulary that leave the block do not tell what is hidden."""
    try:
        yield
    except exceptions.HeatException as error:
        found = of(stack)
        if found.text(error.message) == error.message:
            raise
        # what crosses the bus is the arguments
        error.__dict__.update(
            {name: found.data(value) for name, value in error.__dict__.items() if isinstance(value, (str, dict))}
        )
        raise error from None


def environment(given: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """An environment without the values of hidden parameters."""
    shown = dict(given)
    for section in _WITH_VALUES:
        if isinstance(shown.get(section), Mapping):
            shown[section] = {name: MASK if name in names else value for name, value in shown[section].items()}
    return shown


def snapshot(data: Any) -> Any:
    """The data of a snapshot as people see it: without the values of hidden parameters, keys and passwords."""
    from openkeel_heat.db import maintenance

    if not isinstance(data, Mapping):
        return data
    names = maintenance.hidden_parameters(data.get("template"))
    given = data.get("environment") or {}
    texts: set[str] = set()
    for section in _WITH_VALUES:
        for name, value in (given.get(section) or {}).items():
            if name in names:
                texts.update(_texts_of(value))
    resources = {name: _resource(one) for name, one in (data.get("resources") or {}).items()}
    hidden = Hidden(frozenset(names), frozenset(texts))
    shown = {**data, "environment": environment(given, frozenset(names))}
    return {**shown, "resources": hidden.data(resources)} if resources else shown


def _resource(one: Any) -> Any:
    """A resource in a snapshot: its data and its metadata without what is a secret by its name."""
    if not isinstance(one, Mapping):
        return one
    return {
        key: _without_secrets(value) if key in ("resource_data", "metadata") else value for key, value in one.items()
    }


def _without_secrets(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: MASK
        if isinstance(item, str) and item and any(part in str(key) for part in _SECRET_KEYS)
        else _without_secrets(item)
        for key, item in value.items()
    }
