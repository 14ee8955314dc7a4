# SPDX-License-Identifier: Apache-2.0
"""The properties of resources beside their schemata.

A walk goes down values and schemata together, through both branches of
``if``; what other functions make is not known and ends it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.lint.calls import as_call
from openkeel_heat.lint.catalogue import LIST, MAP, Prop, ResourceType
from openkeel_heat.lint.finding import Path
from openkeel_heat.template.functions import conditions


@dataclasses.dataclass(frozen=True)
class Definition:
    """A resource, or the definition of a resource inside the properties of a group."""

    name: Any
    path: Path
    data: Mapping[str, Any]
    type_name: Any
    #: None: the type is not known
    type: ResourceType | None
    #: what the group puts a number for in each text
    placeholder: str | None = None


@dataclasses.dataclass(frozen=True)
class Container:
    """A map whose keys are properties."""

    path: Path
    data: Mapping[Any, Any]
    schemas: Mapping[str, Prop]
    owner: Definition


@dataclasses.dataclass(frozen=True)
class Place:
    """A value and its schema."""

    path: Path
    value: Any
    prop: Prop
    owner: Definition
    #: the property that the value is, or is in the list of
    name: str


class Places:
    """All containers and places below the properties of definitions."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self.containers: list[Container] = []
        self.places: list[Place] = []

    def add(self, data: Any, path: Path, schemas: Mapping[str, Prop], owner: Definition) -> None:
        """Walk down one map of properties."""
        for value, where in self.branches(data, path):
            if not isinstance(value, Mapping) or as_call(value, self._functions):
                continue
            self.containers.append(Container(where, value, schemas, owner))
            for key, item in value.items():
                if key in schemas:
                    self._value(item, (*where, key), schemas[key], owner, key)

    def _value(self, data: Any, path: Path, prop: Prop, owner: Definition, name: str) -> None:
        for value, where in self.branches(data, path):
            self.places.append(Place(where, value, prop, owner, name))
            if as_call(value, self._functions):
                continue
            if prop.type == MAP and prop.schema and isinstance(value, Mapping):
                self.add(value, where, prop.schema, owner)
            elif prop.type == LIST and prop.element is not None and isinstance(value, list):
                for index, item in enumerate(value):
                    self._value(item, (*where, index), prop.element, owner, name)

    def branches(self, value: Any, path: Path) -> Iterator[tuple[Any, Path]]:
        """The value, or what it may be if it is an ``if``."""
        call = as_call(value, self._functions)
        if call is None or not _is_if(self._functions[call[0]]):
            yield value, path
            return
        name, args = call
        if isinstance(args, list):
            for index in range(1, min(len(args), 3)):
                yield from self.branches(args[index], (*path, name, index))


def _is_if(function: Any) -> bool:
    return isinstance(function, type) and issubclass(function, conditions.If)
