# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::User."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource, domain_property, shown
from openkeel_heat.resources.keystone.role_assignments import RoleAssignments
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneUser(RoleAssignments, KeystoneResource):
    """A user of a domain."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="2015.1")
    entity = "users"
    api_object = ApiObject("/users", "user", update_method="PATCH")
    renamed = {"domain": "domain_id", "default_project": "default_project_id"}
    not_sent = ("groups", "roles")
    repeatable_update = True

    PROPERTIES = (
        NAME,
        DOMAIN,
        DESCRIPTION,
        ENABLED,
        EMAIL,
        PASSWORD,
        DEFAULT_PROJECT,
        GROUPS,
    ) = (
        "name",
        "domain",
        "description",
        "enabled",
        "email",
        "password",
        "default_project",
        "groups",
    )
    ATTRIBUTES = (
        NAME_ATTR,
        DEFAULT_PROJECT_ATTR,
        DOMAIN_ATTR,
        ENABLED_ATTR,
        PASSWORD_EXPIRES_AT_ATTR,
    ) = (
        "name",
        "default_project_id",
        "domain_id",
        "enabled",
        "password_expires_at",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the user."), update_allowed=True),
        DOMAIN: domain_property(_("Domain of the user, by id or name.")),
        DESCRIPTION: properties.Schema(
            properties.Schema.STRING, _("Who the user is."), default="", update_allowed=True
        ),
        ENABLED: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the user can log in."), default=True, update_allowed=True
        ),
        EMAIL: properties.Schema(properties.Schema.STRING, _("Address of the user."), update_allowed=True),
        PASSWORD: properties.Schema(properties.Schema.STRING, _("Password of the user."), update_allowed=True),
        DEFAULT_PROJECT: properties.Schema(
            properties.Schema.STRING,
            _("Project that tokens are for when none is asked for, by id or name."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("keystone.project")],
        ),
        GROUPS: properties.Schema(
            properties.Schema.LIST,
            _("Groups that the user is in."),
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.STRING,
                _("A group, by id or name."),
                constraints=[constraints.CustomConstraint("keystone.group")],
            ),
        ),
        **RoleAssignments.mixin_properties_schema,
    }

    finders = {DOMAIN: "get_domain_id", DEFAULT_PROJECT: "get_project_id", GROUPS: "get_group_id"}

    attributes_schema = {
        NAME_ATTR: shown(_("Name of the user."), attributes.Schema.STRING, since="9.0.0"),
        DEFAULT_PROJECT_ATTR: shown(_("Id of the default project."), attributes.Schema.STRING, since="9.0.0"),
        DOMAIN_ATTR: shown(_("Id of the domain."), attributes.Schema.STRING, since="9.0.0"),
        ENABLED_ATTR: shown(_("Whether the user can log in."), attributes.Schema.BOOLEAN, since="9.0.0"),
        PASSWORD_EXPIRES_AT_ATTR: shown(_("When the password expires."), attributes.Schema.STRING, since="9.0.0"),
    }

    def validate(self) -> None:
        super().validate()
        self.validate_assignment_properties()

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        # There may be a password in it.
        answer = self.api.request(method, path, json=None if body is None else self._envelope(body), log=False)
        return self._unwrap(answer)

    # groups and roles -------------------------------------------------
    def _membership(self, group: str) -> str:
        return f"/groups/{group}/users/{self.resource_id}"

    def _join(self, groups: set[str]) -> None:
        for group in sorted(groups):
            self.api.put(self._membership(group))

    def _leave(self, groups: set[str]) -> None:
        for group in sorted(groups):
            with self.client_plugin().ignore_not_found:
                self.api.delete(self._membership(group))

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        self._join(set(self.properties[self.GROUPS] or ()))
        self.give(self.object_path(), self.grants(self.properties[self.ROLES]))
        return True

    def update_body(self, prop_diff: dict[str, Any]) -> dict[str, Any]:
        body = super().update_body(prop_diff)
        if body.get(self.PASSWORD) is None:
            # Nobody is locked out because a template does not tell the password any more.
            body.pop(self.PASSWORD, None)
        return body

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        answer = super().handle_update(json_snippet, tmpl_diff, prop_diff)
        if self.GROUPS in prop_diff:
            before, after = set(self.properties[self.GROUPS] or ()), set(prop_diff[self.GROUPS] or ())
            self._join(after - before)
            self._leave(before - after)
        if self.ROLES in prop_diff:
            self.change_grants(self.object_path(), prop_diff[self.ROLES])
        return answer

    def parse_live_resource_data(self, resource_properties: properties.Properties, resource_data: Any) -> Any:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        if asked := resource_properties.get(self.GROUPS):
            there = {group["id"] for group in self.api.list(f"{self.object_path()}/groups", "groups")}
            found[self.GROUPS] = [group for group in asked if group in there]
        return {**found, **self.live_assignments("user", resource_properties)}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::User": KeystoneUser}
