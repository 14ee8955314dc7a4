# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::Project."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource, domain_property, shown
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneProject(KeystoneResource):
    """A project, which owns things in the cloud."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="2015.1")
    entity = "projects"
    api_object = ApiObject("/projects", "project", update_method="PATCH")
    renamed = {"domain": "domain_id", "parent": "parent_id"}

    PROPERTIES = (
        NAME,
        DOMAIN,
        DESCRIPTION,
        ENABLED,
        PARENT,
        TAGS,
    ) = (
        "name",
        "domain",
        "description",
        "enabled",
        "parent",
        "tags",
    )
    ATTRIBUTES = (
        NAME_ATTR,
        PARENT_ATTR,
        DOMAIN_ATTR,
        ENABLED_ATTR,
        IS_DOMAIN_ATTR,
    ) = (
        "name",
        "parent_id",
        "domain_id",
        "enabled",
        "is_domain",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the project."), update_allowed=True),
        DOMAIN: domain_property(_("Domain of the project, by id or name.")),
        DESCRIPTION: properties.Schema(
            properties.Schema.STRING, _("What the project is for."), default="", update_allowed=True
        ),
        ENABLED: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the project can be used."), default=True, update_allowed=True
        ),
        PARENT: properties.Schema(
            properties.Schema.STRING,
            _("Project above it, by id or name."),
            constraints=[constraints.CustomConstraint("keystone.project")],
            support_status=support.SupportStatus(version="6.0.0"),
        ),
        TAGS: properties.Schema(
            properties.Schema.LIST,
            _("Labels to find projects by."),
            default=[],
            update_allowed=True,
            support_status=support.SupportStatus(version="10.0.0"),
        ),
    }

    finders = {DOMAIN: "get_domain_id", PARENT: "get_project_id"}

    attributes_schema = {
        NAME_ATTR: shown(_("Name of the project."), attributes.Schema.STRING, since="10.0.0"),
        PARENT_ATTR: shown(_("Id of the project, or the domain, above it."), attributes.Schema.STRING, since="10.0.0"),
        DOMAIN_ATTR: shown(_("Id of the domain."), attributes.Schema.STRING, since="10.0.0"),
        ENABLED_ATTR: shown(_("Whether the project can be used."), attributes.Schema.BOOLEAN, since="10.0.0"),
        IS_DOMAIN_ATTR: shown(_("Whether the project acts as a domain."), attributes.Schema.BOOLEAN, since="10.0.0"),
    }

    def parse_live_resource_data(self, resource_properties: properties.Properties, resource_data: Any) -> Any:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        asked = resource_properties.get(self.TAGS)
        if sorted(found.get(self.TAGS) or ()) == sorted(asked or ()):
            # The service has them in an order of its own.
            found[self.TAGS] = asked
        return found

    def handle_delete(self) -> Any:
        if self.resource_id is not None:
            self._delete_default_security_group()
        return super().handle_delete()

    def _delete_default_security_group(self) -> None:
        """The network service makes one for each project that it hears of, and keeps it when the project goes."""
        plugin = self.client_plugin("neutron")
        if plugin is None or not plugin.does_endpoint_exist(service_type=plugin.NETWORK, service_name="neutron"):
            return
        params = {"project_id": self.resource_id, "name": "default", "fields": "id"}
        for group in plugin.api.list("/v2.0/security-groups", "security_groups", params=params):
            with plugin.ignore_not_found:
                plugin.api.delete(f"/v2.0/security-groups/{group['id']}")


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::Project": KeystoneProject}
