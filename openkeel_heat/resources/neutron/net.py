# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::Net: a network."""

from __future__ import annotations

from typing import Any, ClassVar

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron import declare
from openkeel_heat.resources.neutron.neutron import NeutronResource, with_status


class Net(NeutronResource):
    """A network: an isolated layer-2 domain, owned by one project unless it is shared."""

    entity = "network"

    api_object = with_status("networks", "network")

    renamed = {"qos_policy": "qos_policy_id"}

    not_sent: ClassVar[tuple[str, ...]] = ("tags", "dhcp_agent_ids")

    PROPERTIES = (
        NAME,
        VALUE_SPECS,
        ADMIN_STATE_UP,
        TENANT_ID,
        SHARED,
        DHCP_AGENT_IDS,
        PORT_SECURITY_ENABLED,
        QOS_POLICY,
        DNS_DOMAIN,
        AVAILABILITY_ZONE_HINTS,
        TAGS,
    ) = (
        "name",
        "value_specs",
        "admin_state_up",
        "tenant_id",
        "shared",
        "dhcp_agent_ids",
        "port_security_enabled",
        "qos_policy",
        "dns_domain",
        "availability_zone_hints",
        "tags",
    )

    ATTRIBUTES = (
        STATUS,
        NAME_ATTR,
        SUBNETS,
        ADMIN_STATE_UP_ATTR,
        TENANT_ID_ATTR,
        PORT_SECURITY_ENABLED_ATTR,
        MTU_ATTR,
        QOS_POLICY_ATTR,
        L2_ADJACENCY,
        SEGMENTS,
    ) = (
        "status",
        "name",
        "subnets",
        "admin_state_up",
        "tenant_id",
        "port_security_enabled",
        "mtu",
        "qos_policy_id",
        "l2_adjacency",
        "segments",
    )

    properties_schema = {
        NAME: declare.NAME,
        VALUE_SPECS: declare.VALUE_SPECS,
        ADMIN_STATE_UP: declare.ADMIN_STATE_UP,
        TENANT_ID: properties.Schema(
            properties.Schema.STRING, _("Project that owns it. Only administrators give another than their own.")
        ),
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether all projects may use it. By default only administrators may say so."),
            update_allowed=True,
            default=False,
        ),
        DHCP_AGENT_IDS: properties.Schema(
            properties.Schema.LIST,
            _("DHCP agents that serve the network. By default only administrators may choose them."),
            update_allowed=True,
        ),
        PORT_SECURITY_ENABLED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether ports filter traffic by security groups and address pairs."),
            update_allowed=True,
            support_status=declare.since("5.0.0"),
        ),
        QOS_POLICY: properties.Schema(
            properties.Schema.STRING,
            _("Name or id of the QoS policy."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("neutron.qos_policy")],
            support_status=declare.since("6.0.0"),
        ),
        DNS_DOMAIN: properties.Schema(
            properties.Schema.STRING,
            _("DNS domain, with its final dot."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("dns_domain")],
            support_status=declare.since("7.0.0"),
        ),
        AVAILABILITY_ZONE_HINTS: properties.Schema(
            properties.Schema.LIST,
            _("Availability zones that are preferred for it."),
            support_status=declare.since("19.0.0"),
        ),
        TAGS: declare.tags("9.0.0"),
    }

    attributes_schema = {
        STATUS: attributes.Schema(_("State of the object in the service."), type=attributes.Schema.STRING),
        NAME_ATTR: attributes.Schema(_("Name of the object."), type=attributes.Schema.STRING),
        SUBNETS: attributes.Schema(_("Ids of the subnets of the network."), type=attributes.Schema.LIST),
        ADMIN_STATE_UP_ATTR: attributes.Schema(_("Whether it is administratively up."), type=attributes.Schema.STRING),
        TENANT_ID_ATTR: attributes.Schema(_("Project that owns it."), type=attributes.Schema.STRING),
        PORT_SECURITY_ENABLED_ATTR: attributes.Schema(
            _("Whether port security is on."), type=attributes.Schema.BOOLEAN, support_status=declare.since("5.0.0")
        ),
        MTU_ATTR: attributes.Schema(
            _("Largest size of a transmission unit on the network, in bytes."),
            type=attributes.Schema.INTEGER,
            support_status=declare.since("5.0.0"),
        ),
        QOS_POLICY_ATTR: attributes.Schema(
            _("Id of the QoS policy."), type=attributes.Schema.STRING, support_status=declare.since("6.0.0")
        ),
        L2_ADJACENCY: attributes.Schema(
            _("Whether everything on the network is connected on layer 2."),
            type=attributes.Schema.BOOLEAN,
            support_status=declare.since("9.0.0"),
        ),
        SEGMENTS: attributes.Schema(
            _("Segments of the network."), type=attributes.Schema.LIST, support_status=declare.since("11.0.0")
        ),
    }

    def translation_rules(self, properties: Any) -> list[Any]:
        return [
            TranslationRule(
                properties,
                TranslationRule.RESOLVE,
                [self.QOS_POLICY],
                client_plugin=self.client_plugin(),
                finder="get_qos_policy_id",
            )
        ]

    # the agents that serve it
    def make_parts(self, props: dict[str, Any]) -> None:
        if props.get(self.DHCP_AGENT_IDS):
            self._replace_dhcp_agents(props[self.DHCP_AGENT_IDS])
        super().make_parts(props)

    def change_parts(self, prop_diff: dict[str, Any]) -> None:
        if self.DHCP_AGENT_IDS in prop_diff:
            self._replace_dhcp_agents(prop_diff.pop(self.DHCP_AGENT_IDS) or [])
        super().change_parts(prop_diff)

    def _dhcp_agents(self) -> list[str]:
        return [agent["id"] for agent in self.api.list(f"{self.object_path()}/dhcp-agents", "agents")]

    def _replace_dhcp_agents(self, dhcp_agent_ids: list[str]) -> None:
        there = set(self._dhcp_agents())
        for agent in sorted(set(dhcp_agent_ids) - there):
            try:
                self.api.post(f"/v2.0/agents/{agent}/dhcp-networks", json={"network_id": self.resource_id})
            except Exception as error:
                # The agent got the network meanwhile.
                if not self.client_plugin().is_conflict(error):
                    raise
        for agent in sorted(there - set(dhcp_agent_ids)):
            with self.client_plugin().ignore_conflict_and_not_found:
                self.api.delete(f"/v2.0/agents/{agent}/dhcp-networks/{self.resource_id}")

    # what there is
    def parse_live_resource_data(self, resource_properties: Any, resource_data: Any) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        # A network can be shared by an RBAC policy, too.
        found.pop(self.SHARED, None)
        if resource_properties.get(self.DHCP_AGENT_IDS) is not None:
            try:
                agents = self._dhcp_agents()
            except Exception as error:
                if not self.client_plugin().is_forbidden(error):
                    raise
            else:
                found[self.DHCP_AGENT_IDS] = agents
        return self.drift(resource_properties, found)

    def _resolve_attribute(self, name: str) -> Any:
        if name == self.SEGMENTS and self.resource_id is not None:
            segments = self.api.list("/v2.0/segments", "segments", params={"network_id": self.resource_id})
            # The segment that came with the network has no name.
            return sorted(segments, key=lambda segment: segment["name"] is not None)
        return super()._resolve_attribute(name)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::Net": Net}
