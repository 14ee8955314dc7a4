# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::ResourceChain: resources of several types with the same properties, one after the other."""

from __future__ import annotations

from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, groups, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.stack_resource import StackResource

LOG = logging.getLogger(__name__)


class ResourceChain(StackResource):
    """One resource for each type of a list, all with the same properties.

    Each depends on the one before it in the list unless they are ``concurrent``.
    """

    support_status = support.SupportStatus(version="6.0.0")

    PROPERTIES = (RESOURCES, CONCURRENT, RESOURCE_PROPERTIES) = ("resources", "concurrent", "resource_properties")

    ATTRIBUTES = (REFS, ATTR_ATTRIBUTES) = ("refs", "attributes")

    properties_schema = {
        RESOURCES: properties.Schema(
            properties.Schema.LIST,
            _("Types of the resources, or names that the environment maps to types."),
            required=True,
            update_allowed=True,
        ),
        CONCURRENT: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the resources need not wait for each other."), default=False
        ),
        RESOURCE_PROPERTIES: properties.Schema(properties.Schema.MAP, _("Properties of each of the resources.")),
    }

    attributes_schema = {
        REFS: attributes.Schema(_("References of the resources, as a list."), type=attributes.Schema.LIST),
        ATTR_ATTRIBUTES: attributes.Schema(
            _("With the name of an attribute: its values by the names of the resources."), type=attributes.Schema.MAP
        ),
    }

    def validate_nested_stack(self) -> None:
        for resource_type in self.properties[self.RESOURCES]:
            try:
                self.stack.env.get_class_to_instantiate(resource_type)
            except exception.EntityNotFound:
                LOG.debug("%s may be a template", resource_type)
        super().validate_nested_stack()

    @staticmethod
    def _resource_names(resource_types: list[str]) -> list[str]:
        return [str(index) for index, _type in enumerate(resource_types)]

    def child_template(self) -> dict[str, Any]:
        kinds = self.properties[self.RESOURCES]
        names = self._resource_names(kinds)
        in_turn = not self.properties[self.CONCURRENT]
        members = [
            (name, self._member(kind, names[index - 1] if in_turn and index else None))
            for index, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ]
        return groups.make_template(members, self._nested_outputs(names))

    def _member(self, resource_type: str, depends_on: str | None) -> dict[str, Any]:
        snippet: dict[str, Any] = {"type": resource_type}
        props = self.properties[self.RESOURCE_PROPERTIES]
        if props is not None:
            snippet["properties"] = props
        if depends_on is not None:
            snippet["depends_on"] = [depends_on]
        return snippet

    def child_params(self) -> dict[str, Any]:
        return {}

    def _attribute_output_name(self, *attr_path: Any) -> str:
        return ", ".join(str(part) for part in attr_path)

    def _nested_outputs(self, names: list[str]) -> dict[str, Any]:
        outputs: dict[str, Any] = {}
        for attr in self.referenced_attrs():
            key, path = (attr, []) if isinstance(attr, str) else (attr[0], list(attr[1:]))
            value = self._nested_output_value(key, path, names)
            if value is not None:
                outputs[self._attribute_output_name(key, *path)] = value
        return outputs

    def _nested_output_value(self, key: str, path: list[Any], names: list[str]) -> Any:
        if key.startswith("resource."):
            _prefix, member, *rest = key.split(".", 2)
            if member not in names:
                return None
            rest += path
            return {"get_attr": [member, *rest]} if rest else {"get_resource": member}
        if key == self.REFS:
            return [{"get_resource": name} for name in names]
        if key == self.ATTR_ATTRIBUTES:
            return {name: {"get_attr": [name, *path]} for name in names} if path else None
        return [{"get_attr": [name, key, *path]} for name in names]

    def handle_create(self) -> Any:
        return self.create_with_template(self.child_template())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> Any:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        return self.update_with_template(self.child_template())

    def get_attribute(self, key: str, *path: Any) -> Any:
        if key == self.ATTR_ATTRIBUTES and not path:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
        try:
            value = self.get_output(self._attribute_output_name(key, *path))
        except (exception.NotFound, exception.TemplateOutputError) as ex:
            LOG.debug("Falling back to grouputils due to %s", ex)
        else:
            return attributes.select_from_attribute(value, path) if key == self.REFS else value
        return self._attribute_from_members(key, *path)

    def _attribute_from_members(self, key: str, *path: Any) -> Any:
        names = self._resource_names(self.properties[self.RESOURCES])
        if key.startswith("resource."):
            member = key.split(".", 2)[1]
            if member not in names:
                raise exception.NotFound(
                    _("Member '%(mem)s' not found in group resource '%(grp)s'.") % {"mem": member, "grp": self.name}
                )
            return groups.get_nested_attrs(self, key, False, *path)
        if key == self.REFS:
            values = [groups.get_rsrc_id(self, key, False, name) for name in names]
            return attributes.select_from_attribute(values, path)
        if key == self.ATTR_ATTRIBUTES:
            return {name: groups.get_rsrc_attr(self, key, False, name, *path) for name in names}
        return [groups.get_rsrc_attr(self, key, False, name, key, *path) for name in names]


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::ResourceChain": ResourceChain}
