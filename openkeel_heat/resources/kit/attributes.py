# SPDX-License-Identifier: Apache-2.0
"""Attributes of resources: schema, cached look-up, output sections of generated templates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oslo_log import log as logging
from oslo_utils import strutils

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints as constr, support

LOG = logging.getLogger(__name__)

BASE_ATTRIBUTES = (SHOW_ATTR,) = ("show",)

# In a set of referenced attributes: all of them.
ALL_ATTRIBUTES = "*"


class Schema(constr.Schema):
    """Description, type and cache mode of one attribute."""

    KEYS = (DESCRIPTION, TYPE) = ("description", "type")  # type: ignore[assignment]

    CACHE_MODES = (CACHE_LOCAL, CACHE_NONE) = ("cache_local", "cache_none")

    TYPES = (UNKNOWN, STRING, MAP, LIST, INTEGER, BOOLEAN) = (  # type: ignore[assignment]
        None,
        "String",
        "Map",
        "List",
        "Integer",
        "Boolean",
    )

    def __init__(
        self,
        description: str | None = None,
        support_status: support.SupportStatus = support.PLAIN,
        cache_mode: str = CACHE_LOCAL,
        type: str | None = UNKNOWN,
    ) -> None:
        super().__init__(type, description)
        self.support_status = support_status
        self.cache_mode = cache_mode
        self.validate()

    def __getitem__(self, key: str) -> Any:
        if key == self.DESCRIPTION and self.description is not None:
            return self.description
        if key == self.TYPE and self.type is not None:
            return self.type.lower()
        raise KeyError(key)

    @classmethod
    def from_attribute(cls, schema_dict: Schema) -> Schema:
        assert isinstance(schema_dict, cls), "Old attribute schema is not supported"
        return schema_dict


def schemata(schema: Mapping[str, Schema]) -> dict[str, Schema]:
    return {name: Schema.from_attribute(entry) for name, entry in schema.items()}


class Attribute:
    """One named attribute."""

    def __init__(self, attr_name: str, schema: Schema) -> None:
        self.name = attr_name
        self.schema = Schema.from_attribute(schema)

    def support_status(self) -> support.SupportStatus:
        return self.schema.support_status

    def as_output(self, resource_name: str, template_type: str = "cfn") -> dict[str, Any]:
        """The output of a generated template that shows this attribute."""
        if template_type == "hot":
            return {"value": {"get_attr": [resource_name, self.name]}, "description": self.schema.description}
        return {"Value": {"Fn::GetAtt": [resource_name, self.name]}, "Description": self.schema.description}


def _stack_id_output(resource_name: str, template_type: str = "cfn") -> dict[str, Any]:
    if template_type == "hot":
        return {"value": {"get_resource": resource_name}}
    return {"Value": {"Ref": resource_name}}


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_boolean(value: Any) -> bool:
    try:
        strutils.bool_from_string(value, strict=True)
    except ValueError:
        return False
    return True


_TYPE_TESTS: dict[str | None, Callable[[Any], bool]] = {
    Schema.STRING: lambda value: isinstance(value, str),
    Schema.LIST: _is_list,
    Schema.MAP: lambda value: isinstance(value, Mapping),
    Schema.INTEGER: lambda value: isinstance(value, int),
    Schema.BOOLEAN: _is_boolean,
}


class Attributes(Mapping[str, Any]):
    """The attributes of one resource. Values are asked of the plugin once and kept.

    ``cached_attrs`` is what is stored with the resource; attributes of cache mode
    ``cache_none`` never enter it.
    """

    def __init__(self, res_name: str, schema: Mapping[str, Schema], resolver: Callable[[str], Any]) -> None:
        assert ALL_ATTRIBUTES not in schema, "Invalid attribute name '%s'" % ALL_ATTRIBUTES
        self._resource_name = res_name
        self._resolver = resolver
        self._resolved_values: dict[str, Any] = {}
        self._has_new_resolved = False
        self.set_schema(schema)

    def reset_resolved_values(self) -> None:
        self._has_new_resolved = bool(self._resolved_values)
        self._resolved_values = {}

    def set_schema(self, schema: Mapping[str, Schema]) -> None:
        self._attributes = self._make_attributes(schema)

    def get_cache_mode(self, attribute_name: str) -> str:
        attribute = self._attributes.get(attribute_name)
        return Schema.CACHE_LOCAL if attribute is None else attribute.schema.cache_mode

    @staticmethod
    def _make_attributes(schema: Mapping[str, Schema]) -> dict[str, Attribute]:
        return {name: Attribute(name, entry) for name, entry in schema.items()}

    @staticmethod
    def as_outputs(resource_name: str, resource_class: Any, template_type: str = "cfn") -> dict[str, Any]:
        """The outputs section of a template generated from a type."""
        schema = {
            name: entry
            for name, entry in schemata(resource_class.attributes_schema).items()
            if entry.support_status.status != support.HIDDEN
        }
        schema.update(resource_class.base_attributes_schema)
        outputs = {
            name: Attribute(name, entry).as_output(resource_name, template_type) for name, entry in schema.items()
        }
        outputs["OS::stack_id"] = _stack_id_output(resource_name, template_type)
        return outputs

    @staticmethod
    def schema_from_outputs(json_snippet: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Schema]:
        """Attributes for the outputs of a template in its CFN form."""
        return {name: Schema(entry.get("Description")) for name, entry in (json_snippet or {}).items()}

    def _validate_type(self, attrib: Attribute, value: Any) -> None:
        test = _TYPE_TESTS.get(attrib.schema.type)
        if test is not None and not test(value):
            LOG.warning(
                "Attribute %(name)s is not of type %(att_type)s", {"name": attrib.name, "att_type": attrib.schema.type}
            )

    @property
    def cached_attrs(self) -> dict[str, Any]:
        return self._resolved_values

    @cached_attrs.setter
    def cached_attrs(self, values: dict[str, Any] | None) -> None:
        self._resolved_values = {} if values is None else values
        self._has_new_resolved = False

    def set_cached_attr(self, key: str, value: Any) -> None:
        self._resolved_values[key] = value
        self._has_new_resolved = True

    def has_new_cached_attrs(self) -> bool:
        """Whether the cache differs from what was set as ``cached_attrs``."""
        return self._has_new_resolved

    def __getitem__(self, key: str) -> Any:
        attrib = self._attributes.get(key)
        if attrib is None:
            raise KeyError(_("%(resource)s: Invalid attribute %(key)s") % {"resource": self._resource_name, "key": key})
        if attrib.schema.cache_mode == Schema.CACHE_NONE:
            return self._resolver(key)
        if key in self._resolved_values:
            return self._resolved_values[key]
        value = self._resolver(key)
        # None may become a value later, so it is not kept.
        if value is not None:
            self._validate_type(attrib, value)
            self.set_cached_attr(key, value)
        return value

    def __len__(self) -> int:
        return len(self._attributes)

    def __contains__(self, key: object) -> bool:
        return key in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __repr__(self) -> str:
        return "Attributes for %s: %s" % (self._resource_name, ", ".join(self))


def select_from_attribute(attribute_value: Any, path: Sequence[Any]) -> Any:
    """Walk into a value along ``path``; None where the path leads nowhere."""

    def component(collection: Any, key: Any) -> Any:
        if not isinstance(collection, (Mapping, Sequence)):
            raise TypeError(_("Can't traverse attribute path"))
        if not isinstance(key, (str, int)):
            raise TypeError(_("Path components in attributes must be strings"))
        return collection[key]  # type: ignore[index]

    try:
        return functools.reduce(component, path, attribute_value)
    except (KeyError, IndexError, TypeError):
        return None
