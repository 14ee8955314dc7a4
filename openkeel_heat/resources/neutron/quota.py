# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::Quota: limits of a project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron import declare
from openkeel_heat.resources.neutron.connection import Connection


class NeutronQuota(Connection):
    """Limits of a project in the network service.

    By default only administrators set them; there should be one such resource for each project.
    """

    required_service_extension = "quotas"

    support_status = declare.since("8.0.0")

    PROPERTIES = (
        PROJECT,
        SUBNET,
        NETWORK,
        FLOATINGIP,
        SECURITY_GROUP_RULE,
        SECURITY_GROUP,
        ROUTER,
        PORT,
        SUBNETPOOL,
        RBAC_POLICY,
    ) = (
        "project",
        "subnet",
        "network",
        "floatingip",
        "security_group_rule",
        "security_group",
        "router",
        "port",
        "subnetpool",
        "rbac_policy",
    )

    properties_schema = {
        PROJECT: properties.Schema(
            properties.Schema.STRING,
            _("Project, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("keystone.project")],
        ),
        SUBNET: properties.Schema(
            properties.Schema.INTEGER,
            _("Most subnets of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
        ),
        NETWORK: properties.Schema(
            properties.Schema.INTEGER,
            _("Most networks of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
        ),
        FLOATINGIP: properties.Schema(
            properties.Schema.INTEGER,
            _("Most floating IPs of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
        ),
        SECURITY_GROUP_RULE: properties.Schema(
            properties.Schema.INTEGER,
            _("Most rules of security groups of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
        ),
        SECURITY_GROUP: properties.Schema(
            properties.Schema.INTEGER,
            _("Most security groups of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
        ),
        ROUTER: properties.Schema(
            properties.Schema.INTEGER,
            _("Most routers of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
        ),
        PORT: properties.Schema(
            properties.Schema.INTEGER,
            _("Most ports of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
        ),
        SUBNETPOOL: properties.Schema(
            properties.Schema.INTEGER,
            _("Most subnet pools of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
            support_status=declare.since("12.0.0"),
        ),
        RBAC_POLICY: properties.Schema(
            properties.Schema.INTEGER,
            _("Most RBAC policies of the project; -1: no limit."),
            update_allowed=True,
            constraints=[constraints.Range(min=-1)],
            support_status=declare.since("12.0.0"),
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        return [
            TranslationRule(
                props,
                TranslationRule.RESOLVE,
                [self.PROJECT],
                client_plugin=self.client_plugin("keystone"),
                finder="get_project_id",
            )
        ]

    def validate(self) -> Any:
        super().validate()
        if not any(self.properties[name] is not None for name in self.PROPERTIES if name != self.PROJECT):
            raise exceptions.PropertyUnspecifiedError(*sorted(set(self.PROPERTIES) - {self.PROJECT}))
        return None

    repeatable_create = repeatable_update = True

    def handle_create(self) -> None:
        self._set_quota(self.properties)
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        self._set_quota(json_snippet.properties(self.properties_schema, self.context), self.properties[self.PROJECT])

    def _path(self, project: str | None = None) -> str:
        return f"/v2.0/quotas/{project or self.properties[self.PROJECT]}"

    def _set_quota(self, props: Mapping[str, Any], project: str | None = None) -> None:
        limits = {key: value for key, value in props.items() if key != self.PROJECT and value is not None}
        self.api.put(self._path(project), json={"quota": limits})

    def disconnect(self) -> None:
        """Give the project the limits that all have."""
        self.api.delete(self._path())

    def identity(self) -> tuple[Any, ...]:
        return (self.properties[self.PROJECT],)

    def look(self) -> Any:
        return self.api.show(self._path(), "quota")


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::Quota": NeutronQuota}
