# SPDX-License-Identifier: Apache-2.0
"""Roles of users and groups: OS::Keystone::UserRoleAssignment, OS::Keystone::GroupRoleAssignment, and the property
``roles`` that users and groups have themselves.

A grant is one role in one place, a project or a domain. What the template says is turned into grants by ids, so that
one and the same grant told by name before and by id after is no change. Granting twice does no harm, nor does taking
back what nobody has: after a failure all of it may be done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.succession import others_that_stay


class Grant(NamedTuple):
    role: str
    #: "projects" or "domains"
    places: str
    place: str

    def path(self, who: str) -> str:
        """*who*: the path of a user or group."""
        return f"/{self.places}/{self.place}{who}/roles/{self.role}"


class RoleAssignments(Resource):
    """Mixed into types that have ``roles``."""

    ROLES = "roles"

    _ROLES_MAPPING_PROPERTIES = (ROLE, DOMAIN, PROJECT) = ("role", "domain", "project")

    mixin_properties_schema = {
        ROLES: properties.Schema(
            properties.Schema.LIST,
            _("Roles to grant, each in a project or a domain."),
            schema=properties.Schema(
                properties.Schema.MAP,
                _("One role in one place."),
                schema={
                    ROLE: properties.Schema(
                        properties.Schema.STRING,
                        _("Role, by id or name."),
                        required=True,
                        constraints=[constraints.CustomConstraint("keystone.role")],
                    ),
                    PROJECT: properties.Schema(
                        properties.Schema.STRING,
                        _("Project in which it is granted, by id or name."),
                        constraints=[constraints.CustomConstraint("keystone.project")],
                    ),
                    DOMAIN: properties.Schema(
                        properties.Schema.STRING,
                        _("Domain in which it is granted, by id or name."),
                        constraints=[constraints.CustomConstraint("keystone.domain")],
                    ),
                },
            ),
            update_allowed=True,
        )
    }

    def validate_assignment_properties(self) -> None:
        """Each role needs one place."""
        for assignment in self.properties[self.ROLES] or ():
            project, domain = assignment.get(self.PROJECT), assignment.get(self.DOMAIN)
            if project is not None and domain is not None:
                raise exceptions.ResourcePropertyConflict(self.PROJECT, self.DOMAIN)
            if project is None and domain is None:
                raise exceptions.StackValidationFailed(
                    message=_("Either project or domain must be specified for role %s") % assignment.get(self.ROLE)
                )

    # grants -----------------------------------------------------------
    def _grant(self, assignment: Mapping[str, Any]) -> Grant:
        plugin = self.client_plugin()
        role = plugin.get_role_id(assignment[self.ROLE])
        project = assignment.get(self.PROJECT)
        if project:
            return Grant(role, "projects", plugin.get_project_id(project))
        return Grant(role, "domains", plugin.get_domain_id(assignment.get(self.DOMAIN)))

    def grants(self, assignments: Iterable[Mapping[str, Any]] | None) -> set[Grant]:
        return {self._grant(assignment) for assignment in assignments or ()}

    def grants_left(self, assignments: Iterable[Mapping[str, Any]] | None) -> set[Grant]:
        """Those of grants made before that can still be there: without a role or its place there is no grant."""
        found = set()
        for assignment in assignments or ():
            with self.client_plugin().ignore_not_found:
                found.add(self._grant(assignment))
        return found

    def give(self, who: str, grants: Iterable[Grant]) -> None:
        for grant in sorted(grants):
            self.client_plugin().api.put(grant.path(who))

    def take(self, who: str, grants: Iterable[Grant]) -> None:
        for grant in sorted(grants):
            with self.client_plugin().ignore_not_found:
                self.client_plugin().api.delete(grant.path(who))

    def change_grants(self, who: str, assignments: Iterable[Mapping[str, Any]] | None) -> None:
        """From the grants of the properties, which are those of before, to other ones."""
        before, after = self.grants_left(self.properties[self.ROLES]), self.grants(assignments)
        self.give(who, after - before)
        self.take(who, before - after)

    def live_assignments(self, kind: str, asked: properties.Properties) -> dict[str, Any]:
        """Those of the roles that were asked for which the service knows of; *kind* is "user" or "group".

        What else somebody granted, an assignment of the same stack perhaps, is not this resource's.
        """
        if not asked.get(self.ROLES):
            return {}
        there = self._live_grants(kind)
        left = [one for one in asked[self.ROLES] if self.grants_left([one]) & there]
        if len(left) == len(asked[self.ROLES]):
            return {self.ROLES: asked[self.ROLES]}
        return {self.ROLES: [{key: value for key, value in one.items() if value is not None} for one in left]}

    def _live_grants(self, kind: str) -> set[Grant]:
        found = set()
        params = {f"{kind}.id": self.resource_id}
        for entry in self.client_plugin().api.list("/role_assignments", "role_assignments", params=params):
            scope = entry.get("scope") or {}
            if "OS-INHERIT:inherited_to" in scope or not (entry.get("role") or {}).get("id"):
                continue  # nothing that this type grants
            for place in ("project", "domain"):
                if place in scope:
                    found.add(Grant(entry["role"]["id"], f"{place}s", scope[place]["id"]))
        return found


class _Assignment(RoleAssignments):
    """Roles of somebody whom this resource does not make: it has no object of its own, so no id."""

    default_client_name = "keystone"
    support_status = support.SupportStatus(message=NEEDS_V3, version="5.0.0")
    repeatable_create = True
    repeatable_update = True

    #: Property with the user or group.
    somebody = ""

    def validate(self) -> None:
        super().validate()
        self.validate_assignment_properties()

    def _who(self, name: str) -> str:
        raise NotImplementedError

    def _who_left(self) -> str | None:
        """Who has the roles now, if there is such a one any more."""
        with self.client_plugin().ignore_not_found:
            return self._who(self.properties[self.somebody])
        return None

    def handle_create(self) -> None:
        self.give(self._who(self.properties[self.somebody]), self.grants(self.properties[self.ROLES]))

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        if self.somebody not in prop_diff:
            if self.ROLES in prop_diff:
                self.change_grants(self._who(self.properties[self.somebody]), prop_diff[self.ROLES])
            return
        before, roles = self._who_left(), prop_diff.get(self.ROLES, self.properties[self.ROLES])
        after = self._who(prop_diff[self.somebody])
        if after == before:
            self.change_grants(after, roles)
            return
        self.give(after, self.grants(roles))
        if before is not None:
            self.take(before, self.grants_left(self.properties[self.ROLES]))

    def handle_delete(self) -> None:
        who = self._who_left()
        if who is None:
            return
        others = (other for other in others_that_stay(self) if other._who_left() == who)
        kept = {grant for other in others for grant in other.grants_left(other.properties[self.ROLES])}
        self.take(who, self.grants_left(self.properties[self.ROLES]) - kept)


class KeystoneUserRoleAssignment(_Assignment):
    """Roles of a user that something else made."""

    PROPERTIES = (USER,) = ("user",)

    properties_schema = {
        USER: properties.Schema(
            properties.Schema.STRING,
            _("The user, by id or name."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("keystone.user")],
        ),
        **RoleAssignments.mixin_properties_schema,
    }

    somebody = USER

    def _who(self, name: str) -> str:
        return f"/users/{self.client_plugin().get_user_id(name)}"


class KeystoneGroupRoleAssignment(_Assignment):
    """Roles of a group that something else made."""

    PROPERTIES = (GROUP,) = ("group",)

    properties_schema = {
        GROUP: properties.Schema(
            properties.Schema.STRING,
            _("The group, by id or name."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("keystone.group")],
        ),
        **RoleAssignments.mixin_properties_schema,
    }

    somebody = GROUP

    def _who(self, name: str) -> str:
        return f"/groups/{self.client_plugin().get_group_id(name)}"


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Keystone::UserRoleAssignment": KeystoneUserRoleAssignment,
        "OS::Keystone::GroupRoleAssignment": KeystoneGroupRoleAssignment,
    }
