# SPDX-License-Identifier: Apache-2.0
"""Outputs of a stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import nodes

FIELDS = (VALUE, DESCRIPTION) = ("Value", "Description")


class OutputDefinition:
    """A definition of an output, independent of the format of the template."""

    def __init__(self, name: str, value: Any, description: Any = None) -> None:
        self.name = name
        self._value = value
        self._description = description
        self._resolved_value: Any = None
        self._deps: set[str] | None = None

    def validate(self) -> None:
        """Validate the functions of the value."""
        nodes.validate(self._value, VALUE)

    def required_resource_names(self) -> set[str]:
        """Names of the resources whose data the value needs."""
        if self._deps is None:
            try:
                self._deps = set(nodes.dependencies(self._value))
            except (exception.InvalidTemplateAttribute, exception.InvalidTemplateReference):
                # an output that cannot work does not hold anything up
                self._deps = set()
        return self._deps

    def all_dep_attrs(self) -> Iterator[tuple[Any, Any]]:
        """(resource name, attribute) pairs that the value refers to."""
        return nodes.all_dep_attrs(self._value)

    def dep_attrs(self, resource_name: str, load_all: bool = False) -> Iterator[Any]:
        """Attributes of a resource that the value refers to."""
        return nodes.dep_attrs(self._value, resource_name)

    def get_value(self) -> Any:
        """The value, resolved once."""
        if self._resolved_value is None:
            self._resolved_value = nodes.resolve(self._value)
        return self._resolved_value

    def description(self) -> str:
        return "No description given" if self._description is None else str(self._description)

    def render_hot(self) -> dict[str, Any]:
        """The output as raw HOT."""
        out = {} if self._description is None else {"description": self._description}
        out["value"] = nodes.copy_plain(nodes.render(self._value))
        return out
