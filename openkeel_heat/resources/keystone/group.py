# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::Group."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource, domain_property
from openkeel_heat.resources.keystone.role_assignments import RoleAssignments
from openkeel_heat.resources.kit import properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneGroup(RoleAssignments, KeystoneResource):
    """A group of users of a domain, who share roles."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="2015.1")
    entity = "groups"
    api_object = ApiObject("/groups", "group", update_method="PATCH")
    renamed = {"domain": "domain_id"}
    not_sent = ("roles",)
    repeatable_update = True

    PROPERTIES = (NAME, DOMAIN, DESCRIPTION) = ("name", "domain", "description")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the group."), update_allowed=True),
        DOMAIN: domain_property(_("Domain of the group, by id or name.")),
        DESCRIPTION: properties.Schema(
            properties.Schema.STRING, _("What the group is for."), default="", update_allowed=True
        ),
        **RoleAssignments.mixin_properties_schema,
    }

    finders = {DOMAIN: "get_domain_id"}

    def validate(self) -> None:
        super().validate()
        self.validate_assignment_properties()

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        self.give(self.object_path(), self.grants(self.properties[self.ROLES]))
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        answer = super().handle_update(json_snippet, tmpl_diff, prop_diff)
        if self.ROLES in prop_diff:
            self.change_grants(self.object_path(), prop_diff[self.ROLES])
        return answer

    def parse_live_resource_data(self, resource_properties: properties.Properties, resource_data: Any) -> Any:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        return {**found, **self.live_assignments("group", resource_properties)}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::Group": KeystoneGroup}
