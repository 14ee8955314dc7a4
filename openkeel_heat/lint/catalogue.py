# SPDX-License-Identifier: Apache-2.0
"""What is known of resource types: schemata of their properties and attributes.

The types of this release are in ``types.json``, which ``tools/lint_types``
writes; a type's entry becomes objects when it is first asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from openkeel_heat.template import constraints as constr

INTEGER, STRING, NUMBER, BOOLEAN, MAP, LIST, ANY = constr.Schema.TYPES

#: a constraint that only a name stands for
CUSTOM = constr.CustomConstraint


@dataclasses.dataclass(frozen=True)
class Support:
    """Whether something should still be used."""

    status: str = "SUPPORTED"
    since: str | None = None

    def words(self) -> str:
        since = " since version %s" % self.since if self.since else ""
        return {"DEPRECATED": "is deprecated%s", "HIDDEN": "is obsolete%s", "UNSUPPORTED": "is not supported%s"}.get(
            self.status, "%s"
        ) % since


SUPPORTED = Support()


@dataclasses.dataclass(frozen=True)
class Prop:
    """The schema of a property, or of the elements of a list."""

    type: str
    required: bool = False
    implemented: bool = True
    #: texts and lists are taken in the place of maps, comma delimited texts in that of lists
    conversion: bool = False
    constraints: tuple[constr.Constraint, ...] = ()
    schema: Mapping[str, Prop] | None = None
    element: Prop | None = None
    support: Support = SUPPORTED
    #: the property that took the place of this one
    use: str | None = None

    @functools.cached_property
    def checker(self) -> constr.Schema:
        """What constraints want to know of the type."""
        return constr.Schema(self.type)


@dataclasses.dataclass(frozen=True)
class Attribute:
    """The schema of an attribute."""

    type: str | None = None
    support: Support = SUPPORTED


@dataclasses.dataclass(frozen=True)
class ResourceType:
    """What a resource type takes and gives."""

    name: str
    properties: Mapping[str, Prop] = dataclasses.field(default_factory=dict)
    attributes: Mapping[str, Attribute] = dataclasses.field(default_factory=dict)
    update_policy: Mapping[str, Prop] = dataclasses.field(default_factory=dict)
    support: Support = SUPPORTED
    #: nothing is known of properties and attributes
    opaque: bool = False
    #: has more attributes than the schema says
    dynamic_attributes: bool = False
    #: all attributes of such names exist, too
    attribute_prefixes: tuple[str, ...] = ()
    is_template: bool = False


def _support(entry: Mapping[str, Any]) -> Support:
    return Support(entry["status"], entry.get("since")) if "status" in entry else SUPPORTED


def _constraint(entry: Mapping[str, Any]) -> constr.Constraint:
    ((kind, value),) = entry.items()
    if kind == "range":
        return constr.Range(*value)
    if kind == "length":
        return constr.Length(*value)
    if kind == "allowed":
        return constr.AllowedValues(value)
    if kind == "pattern":
        return constr.AllowedPattern(value)
    return constr.CustomConstraint(value)


def _prop(entry: Mapping[str, Any]) -> Prop:
    return Prop(
        entry["type"],
        entry.get("required", False),
        entry.get("implemented", True),
        entry.get("conversion", False),
        tuple(_constraint(item) for item in entry.get("constraints", ())),
        _props(entry["schema"]) if "schema" in entry else None,
        _prop(entry["element"]) if "element" in entry else None,
        _support(entry),
        entry.get("use"),
    )


def _props(entries: Mapping[str, Any]) -> dict[str, Prop]:
    return {name: _prop(entry) for name, entry in entries.items()}


class Packaged(Mapping[str, ResourceType]):
    """The types of this release."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._entries: Mapping[str, Any] = data["types"]
        self._made: dict[str, ResourceType] = {}
        self.aliases: dict[str, str] = data["aliases"]
        self.constraints: list[str] = data["constraints"]

    def __getitem__(self, name: str) -> ResourceType:
        if name not in self._made:
            entry = self._entries[name]
            self._made[name] = ResourceType(
                name,
                _props(entry["properties"]),
                {key: Attribute(item.get("type"), _support(item)) for key, item in entry["attributes"].items()},
                _props(entry.get("update_policy", {})),
                _support(entry),
                entry.get("opaque", False),
                entry.get("dynamic_attributes", False),
            )
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@functools.lru_cache(maxsize=1)
def packaged() -> Packaged:
    """The types of this release, read once."""
    return Packaged(json.loads(resources.files("openkeel_heat.lint").joinpath("types.json").read_text("utf-8")))


# types that are classes of Python, of plug-ins


def _prop_of_class(schema: Any) -> Prop:
    inner = getattr(schema, "schema", None)
    element = nested = None
    if isinstance(inner, constr.AnyIndexDict):
        element = _prop_of_class(inner.value)
    elif inner:
        nested = {name: _prop_of_class(item) for name, item in inner.items()}
    return Prop(
        schema.type,
        schema.required,
        getattr(schema, "implemented", True),
        getattr(schema, "allow_conversion", False),
        tuple(schema.constraints or ()),
        nested,
        element,
        _support_of_class(schema),
    )


def _support_of_class(owner: Any) -> Support:
    status = getattr(owner, "support_status", None)
    if status is None or status.status in (None, "SUPPORTED", "UNKNOWN"):
        return SUPPORTED
    return Support(status.status, status.version)


def of_class(name: str, cls: Any) -> ResourceType:
    """The type that a class of a plug-in makes."""
    attributes = {**getattr(cls, "base_attributes_schema", {}), **(cls.attributes_schema or {})}
    base = next((item for item in cls.__mro__ if item.__name__ == "Resource"), cls)
    return ResourceType(
        name,
        {key: _prop_of_class(item) for key, item in (cls.properties_schema or {}).items()},
        {key: Attribute(getattr(item, "type", None), _support_of_class(item)) for key, item in attributes.items()},
        {key: _prop_of_class(item) for key, item in (cls.update_policy_schema or {}).items()},
        _support_of_class(cls),
        dynamic_attributes=cls.get_attribute is not getattr(base, "get_attribute", None),
    )


class PluginTypes(dict[str, ResourceType]):
    """The types of plug-ins by name, and the names of the constraints that come with them."""

    def __init__(self) -> None:
        super().__init__()
        self.constraints: set[str] = set()


def of_plugins(directories: Iterable[str]) -> PluginTypes:
    """The types of the modules below directories of plug-ins."""
    from openkeel_heat.resources.kit import declarations, plugin_modules, properties

    found = PluginTypes()
    for module in plugin_modules.load_all(directories):
        for name, cls in declarations.types_of(module).items():
            cls.properties_schema = properties.schemata(cls.properties_schema or {})
            found[name] = of_class(name, cls)
        found.constraints |= set(plugin_modules.mapping_of(module, "constraint_mapping"))
    return found


# types that are templates

_PARAMETER_TYPES = {
    "string": STRING,
    "number": NUMBER,
    "comma_delimited_list": LIST,
    "json": MAP,
    "boolean": BOOLEAN,
    "String": STRING,
    "Number": NUMBER,
    "CommaDelimitedList": LIST,
    "Json": MAP,
    "Boolean": BOOLEAN,
}


def of_template(name: str, template: Any, param_defaults: Mapping[str, Any]) -> ResourceType:
    """The type that a template makes: parameters are properties, outputs attributes."""
    properties: dict[str, Prop] = {}
    for key, schema in template.param_schemata(param_defaults).items():
        kind = _PARAMETER_TYPES.get(schema.type, ANY)
        properties[key] = Prop(
            kind, schema.required, conversion=kind in (MAP, LIST), constraints=tuple(schema.constraints)
        )
    outputs = template.t.get(template.OUTPUTS)
    attributes = {key: Attribute() for key in (outputs if isinstance(outputs, Mapping) else {})}
    attributes["show"] = Attribute(MAP)
    return ResourceType(name, properties, attributes, attribute_prefixes=("resource.",), is_template=True)
