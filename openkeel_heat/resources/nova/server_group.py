# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::ServerGroup."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.nova.nova import NovaResource

SOFT_POLICIES_SINCE, RULES_SINCE = "2.15", "2.64"

Schema = properties.Schema


class ServerGroup(NovaResource):
    """Servers that are to be on the same host, or each on another one."""

    support_status = support.SupportStatus(version="2014.2")
    entity = "server_groups"
    api_object = ApiObject("/os-server-groups", "server_group")

    PROPERTIES = (NAME, POLICIES, RULES) = ("name", "policies", "rules")

    MAX_SERVER_PER_HOST = "max_server_per_host"

    properties_schema = {
        NAME: Schema(Schema.STRING, _("Name of the group.")),
        POLICIES: Schema(
            Schema.LIST,
            _("The policy of the group, as the one member of a list."),
            default=["anti-affinity"],
            constraints=[
                constraints.AllowedValues(["anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"])
            ],
            schema=Schema(Schema.STRING),
        ),
        RULES: Schema(
            Schema.MAP,
            _("Rules that go with the policy."),
            support_status=support.SupportStatus(version="17.0.0"),
            schema={
                MAX_SERVER_PER_HOST: Schema(
                    Schema.NUMBER,
                    _("With the policy anti-affinity: the number of servers of the group that may be on one host."),
                )
            },
        ),
    }

    def validate(self) -> None:
        super().validate()
        supported = self.client_plugin().is_version_supported
        soft = any(policy.startswith("soft-") for policy in self.properties[self.POLICIES])
        if soft and not supported(SOFT_POLICIES_SINCE):
            raise exception.StackValidationFailed(message=_("Required microversion for soft policies not supported."))
        if self.properties[self.RULES] and not supported(RULES_SINCE):
            raise exception.StackValidationFailed(message=_("Required microversion for rules not supported."))

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {"name": self.physical_resource_name()}
        policies = self.properties[self.POLICIES]
        if not self.client_plugin().is_version_supported(RULES_SINCE):
            return {**body, "policies": policies}
        body["policy"] = policies[0]
        limit = (self.properties[self.RULES] or {}).get(self.MAX_SERVER_PER_HOST)
        if limit is not None:
            body["rules"] = {self.MAX_SERVER_PER_HOST: int(limit)}
        return body

    def needs_replace_failed(self) -> bool:
        """A group that is there is good; there are no others."""
        if not self.resource_id:
            return True
        with self.client_plugin().ignore_not_found:
            self._show_resource()
            return False
        return True

    def physical_resource_name(self) -> str | None:
        return self.properties[self.NAME] or super().physical_resource_name()


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Nova::ServerGroup": ServerGroup}
