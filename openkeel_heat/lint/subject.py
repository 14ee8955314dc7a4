# SPDX-License-Identifier: Apache-2.0
"""What rules look at: one template with its environments."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.lint import catalogue, registry as registries
from openkeel_heat.lint.calls import Calls, Owner, Reference
from openkeel_heat.lint.document import Document
from openkeel_heat.lint.finding import Path
from openkeel_heat.lint.places import Definition, Places

#: properties that hold the definition of a resource: (property, key of the placeholder, its default)
_EMBEDDED = {
    "OS::Heat::ResourceGroup": ("resource_def", "index_var", "%index%"),
    "OS::Heat::AutoScalingGroup": ("resource", None, "%index%"),
}

#: what OS::Heat::Value takes by what its property "type" says
_VALUES = {
    "string": catalogue.STRING,
    "number": catalogue.NUMBER,
    "comma_delimited_list": catalogue.LIST,
    "json": catalogue.MAP,
    "boolean": catalogue.BOOLEAN,
}


@dataclasses.dataclass(frozen=True)
class EnvironmentFile:
    """An environment file that could be read."""

    document: Document
    data: Mapping[str, Any]

    @property
    def folder(self) -> str:
        return os.path.dirname(self.document.name)

    def section(self, name: str) -> Mapping[Any, Any]:
        content = self.data.get(name)
        return content if isinstance(content, Mapping) else {}


def _value_of(known: catalogue.ResourceType, properties: Any) -> catalogue.ResourceType:
    """The type OS::Heat::Value as one resource has it."""
    wanted = properties.get("type") if isinstance(properties, Mapping) else None
    if not isinstance(wanted, str) or wanted not in _VALUES:
        return known
    value = dataclasses.replace(known.properties["value"], type=_VALUES[wanted])
    return dataclasses.replace(known, properties={**known.properties, "value": value})


class Subject:
    """A template as the rules see it."""

    def __init__(
        self, document: Document, template: Any, environments: list[EnvironmentFile], registry: registries.Registry
    ) -> None:
        self.document = document
        self.data: Mapping[str, Any] = document.data
        self.template = template
        self.environments = environments
        self.registry = registry

    @property
    def folder(self) -> str:
        return os.path.dirname(self.document.name)

    def section(self, name: str | None) -> Mapping[Any, Any]:
        """A section that is a map; empty if it is missing or something else."""
        content = self.data.get(name) if name is not None else None
        return content if isinstance(content, Mapping) else {}

    @property
    def parameters(self) -> Mapping[Any, Any]:
        return self.section(self.template.PARAMETERS)

    @property
    def resources(self) -> Mapping[Any, Any]:
        return self.section(self.template.RESOURCES)

    @property
    def outputs(self) -> Mapping[Any, Any]:
        return self.section(self.template.OUTPUTS)

    @property
    def conditions(self) -> Mapping[Any, Any]:
        return self.section(self.template.CONDITIONS)

    @property
    def pseudo_parameters(self) -> tuple[str, ...]:
        return tuple(self.template.parameters_class.PSEUDO_PARAMETERS)

    @functools.cached_property
    def schemata(self) -> dict[str, Any]:
        """Schemata of the parameters that have a sound one."""
        found = {}
        for name, entry in self.parameters.items():
            try:
                found[name] = self.template.param_schema_class.from_dict(name, entry)
            except Exception:
                # rules on parameters tell what is wrong with it
                continue
        return found

    # resources

    @functools.cached_property
    def definitions(self) -> list[Definition]:
        """Resources, each followed by the definitions inside of it."""
        tmpl = self.template
        found = []
        for name, data in self.resources.items():
            if isinstance(data, Mapping):
                top = self._definition(name, (tmpl.RESOURCES, name), data, tmpl.RES_TYPE)
                found.append(top)
                found.extend(self._embedded(top))
        return found

    def _definition(
        self, name: Any, path: Path, data: Mapping[str, Any], type_key: str, placeholder: str | None = None
    ) -> Definition:
        type_name = data.get(type_key)
        known = self.registry.find(type_name, name).type if isinstance(type_name, str) and type_name else None
        if known is not None and known.name == "OS::Heat::Value":
            known = _value_of(known, data.get("properties" if placeholder else self.template.RES_PROPERTIES))
        return Definition(name, path, data, type_name, known, placeholder)

    def _embedded(self, outer: Definition) -> Iterator[Definition]:
        where = _EMBEDDED.get(outer.type_name) if isinstance(outer.type_name, str) else None
        properties_key = "properties" if outer.placeholder else self.template.RES_PROPERTIES
        properties = outer.data.get(properties_key)
        if where is None or not isinstance(properties, Mapping):
            return
        key, placeholder_key, placeholder = where
        if placeholder_key is not None and isinstance(properties.get(placeholder_key), str):
            placeholder = properties[placeholder_key]
        inner = properties.get(key)
        if isinstance(inner, Mapping) and isinstance(inner.get("type"), str):
            found = self._definition(None, (*outer.path, properties_key, key), inner, "type", placeholder)
            yield found
            yield from self._embedded(found)

    def type_key(self, definition: Definition) -> str:
        return "type" if definition.placeholder else str(self.template.RES_TYPE)

    def properties_key(self, definition: Definition) -> str:
        return "properties" if definition.placeholder else str(self.template.RES_PROPERTIES)

    def is_external(self, definition: Definition) -> bool:
        """Whether the resource is one that exists already, so that it needs no properties."""
        key = self.template.RES_EXTERNAL_ID
        return key is not None and not definition.placeholder and definition.data.get(key) is not None

    @functools.cached_property
    def by_name(self) -> dict[Any, Definition]:
        """The resources themselves."""
        return {definition.name: definition for definition in self.definitions if definition.placeholder is None}

    @functools.cached_property
    def places(self) -> Places:
        """Properties and update policies beside their schemata."""
        found = Places(self.template.functions)
        for definition in self.definitions:
            known = definition.type
            if known is None or known.opaque:
                continue
            key = self.properties_key(definition)
            found.add(definition.data.get(key) or {}, (*definition.path, key), known.properties, definition)
            policy = self.template.RES_UPDATE_POLICY
            if known.update_policy and not definition.placeholder and definition.data.get(policy):
                found.add(definition.data[policy], (*definition.path, policy), known.update_policy, definition)
        return found

    # calls

    @functools.cached_property
    def calls(self) -> Calls:
        """All function calls and references."""
        tmpl = self.template
        found = Calls(tmpl)
        for name, condition in self.conditions.items():
            if not isinstance(condition, str):
                found.condition(condition, (tmpl.CONDITIONS, name), Owner("condition", name))
        for name, data in self.resources.items():
            if isinstance(data, Mapping):
                self._calls_of_resource(found, name, data)
        for name, data in self.outputs.items():
            if not isinstance(data, Mapping):
                continue
            owner = Owner("output", name)
            path = (tmpl.OUTPUTS, name)
            found.values(data.get(tmpl.OUTPUT_VALUE), (*path, tmpl.OUTPUT_VALUE), owner)
            if tmpl.OUTPUT_CONDITION is not None and tmpl.OUTPUT_CONDITION in data:
                found.condition(data[tmpl.OUTPUT_CONDITION], (*path, tmpl.OUTPUT_CONDITION), owner)
        return found

    def _calls_of_resource(self, found: Calls, name: Any, data: Mapping[str, Any]) -> None:
        tmpl = self.template
        path = (tmpl.RESOURCES, name)
        orders, other = Owner("resource", name, orders=True), Owner("resource", name)
        for key in (tmpl.RES_PROPERTIES, tmpl.RES_METADATA):
            found.values(data.get(key), (*path, key), orders)
        for key in (tmpl.RES_DELETION_POLICY, tmpl.RES_UPDATE_POLICY, tmpl.RES_EXTERNAL_ID):
            if key is not None:
                found.values(data.get(key), (*path, key), other)
        found.depends_on(data.get(tmpl.RES_DEPENDS_ON), (*path, tmpl.RES_DEPENDS_ON), orders)
        if tmpl.RES_CONDITION is not None and tmpl.RES_CONDITION in data:
            found.condition(data[tmpl.RES_CONDITION], (*path, tmpl.RES_CONDITION), other)

    @property
    def references(self) -> list[Reference]:
        return self.calls.references
