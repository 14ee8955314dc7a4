# SPDX-License-Identifier: Apache-2.0
"""Firewalls of the first FWaaS API, their policies and rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status
from openkeel_heat.resources.neutron.pending import PendingResource, with_pending

ANY = "any"


class Firewall(PendingResource):
    """A firewall of the first FWaaS API: the policy it enforces and whether it is up."""

    required_service_extension = "fwaas"
    entity = "firewall"
    api_object = with_pending("fw/firewalls", "firewall", ready=("ACTIVE", "INACTIVE"))

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        ADMIN_STATE_UP,
        FIREWALL_POLICY_ID,
        VALUE_SPECS,
        SHARED,
    ) = (
        "name",
        "description",
        "admin_state_up",
        "firewall_policy_id",
        "value_specs",
        "shared",
    )
    ATTRIBUTES = (
        NAME_ATTR,
        DESCRIPTION_ATTR,
        ADMIN_STATE_UP_ATTR,
        FIREWALL_POLICY_ID_ATTR,
        SHARED_ATTR,
        STATUS,
        TENANT_ID,
    ) = (
        "name",
        "description",
        "admin_state_up",
        "firewall_policy_id",
        "shared",
        "status",
        "tenant_id",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the firewall."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the firewall is for."), update_allowed=True),
        ADMIN_STATE_UP: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the firewall works; one that is down lets nothing through."),
            default=True,
            update_allowed=True,
        ),
        FIREWALL_POLICY_ID: properties.Schema(
            properties.Schema.STRING,
            _("Id of the policy that the firewall enforces."),
            required=True,
            update_allowed=True,
        ),
        VALUE_SPECS: properties.Schema(
            properties.Schema.MAP,
            _("More fields for the request, which the plug-in of the cloud knows."),
            default={},
            update_allowed=True,
            support_status=support.SupportStatus(version="5.0.0"),
        ),
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether all projects may use the firewall; by default only administrators may set it."),
            update_allowed=True,
            support_status=support.SupportStatus(
                status=support.UNSUPPORTED,
                message=_("The service has no such field."),
                version="6.0.0",
                previous_status=support.SupportStatus(version="2015.1"),
            ),
        ),
    }

    attributes_schema = {
        NAME_ATTR: attributes.Schema(_("Name of the firewall."), type=attributes.Schema.STRING),
        DESCRIPTION_ATTR: attributes.Schema(_("What the firewall is for."), type=attributes.Schema.STRING),
        ADMIN_STATE_UP_ATTR: attributes.Schema(
            _("Whether the firewall is meant to work."), type=attributes.Schema.STRING
        ),
        FIREWALL_POLICY_ID_ATTR: attributes.Schema(_("Id of the policy it enforces."), type=attributes.Schema.STRING),
        SHARED_ATTR: attributes.Schema(
            _("Whether all projects may use it."),
            support_status=support.SupportStatus(
                status=support.UNSUPPORTED, message=_("The service has no such field."), version="6.0.0"
            ),
            type=attributes.Schema.STRING,
        ),
        STATUS: attributes.Schema(_("State of the firewall."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns the firewall."), type=attributes.Schema.STRING),
    }

    def _resolve_attribute(self, name: str) -> Any:
        if name == self.SHARED_ATTR:
            return "This attribute is currently unsupported in neutron firewall resource."
        return super()._resolve_attribute(name)

    def parse_live_resource_data(
        self, resource_properties: properties.Properties, resource_data: Any
    ) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        found.pop(self.SHARED, None)
        return found


class FirewallPolicy(NeutronResource):
    """Rules of a firewall, in the order in which they are tried."""

    required_service_extension = "fwaas"
    entity = "firewall_policy"
    api_object = without_status("fw/firewall_policies", "firewall_policy", "firewall_policies")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        SHARED,
        AUDITED,
        FIREWALL_RULES,
    ) = (
        "name",
        "description",
        "shared",
        "audited",
        "firewall_rules",
    )
    ATTRIBUTES = (
        NAME_ATTR,
        DESCRIPTION_ATTR,
        FIREWALL_RULES_ATTR,
        SHARED_ATTR,
        AUDITED_ATTR,
        TENANT_ID,
    ) = (
        "name",
        "description",
        "firewall_rules",
        "shared",
        "audited",
        "tenant_id",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the policy."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the policy is for."), update_allowed=True),
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether all projects may use the policy."),
            default=False,
            update_allowed=True,
        ),
        AUDITED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the policy was audited; a change of it or of its rules takes that back."),
            default=False,
            update_allowed=True,
        ),
        FIREWALL_RULES: properties.Schema(
            properties.Schema.LIST, _("Ids of the rules, first tried first."), update_allowed=True
        ),
    }

    attributes_schema = {
        NAME_ATTR: attributes.Schema(_("Name of the policy."), type=attributes.Schema.STRING),
        DESCRIPTION_ATTR: attributes.Schema(_("What the policy is for."), type=attributes.Schema.STRING),
        FIREWALL_RULES_ATTR: attributes.Schema(_("Ids of the rules in their order."), type=attributes.Schema.LIST),
        SHARED_ATTR: attributes.Schema(_("Whether all projects may use it."), type=attributes.Schema.STRING),
        AUDITED_ATTR: attributes.Schema(_("Whether it counts as audited."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns the policy."), type=attributes.Schema.STRING),
    }


class FirewallRule(NeutronResource):
    """What a packet must look like, and whether it may pass then."""

    required_service_extension = "fwaas"
    entity = "firewall_rule"
    api_object = without_status("fw/firewall_rules", "firewall_rule")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        SHARED,
        PROTOCOL,
        IP_VERSION,
        SOURCE_IP_ADDRESS,
        DESTINATION_IP_ADDRESS,
        SOURCE_PORT,
        DESTINATION_PORT,
        ACTION,
        ENABLED,
    ) = (
        "name",
        "description",
        "shared",
        "protocol",
        "ip_version",
        "source_ip_address",
        "destination_ip_address",
        "source_port",
        "destination_port",
        "action",
        "enabled",
    )
    ATTRIBUTES = (
        NAME_ATTR,
        DESCRIPTION_ATTR,
        FIREWALL_POLICY_ID,
        SHARED_ATTR,
        PROTOCOL_ATTR,
        IP_VERSION_ATTR,
        SOURCE_IP_ADDRESS_ATTR,
        DESTINATION_IP_ADDRESS_ATTR,
        SOURCE_PORT_ATTR,
        DESTINATION_PORT_ATTR,
        ACTION_ATTR,
        ENABLED_ATTR,
        POSITION,
        TENANT_ID,
    ) = (
        "name",
        "description",
        "firewall_policy_id",
        "shared",
        "protocol",
        "ip_version",
        "source_ip_address",
        "destination_ip_address",
        "source_port",
        "destination_port",
        "action",
        "enabled",
        "position",
        "tenant_id",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the rule."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the rule is for."), update_allowed=True),
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether all projects may use the rule."), default=False, update_allowed=True
        ),
        PROTOCOL: properties.Schema(
            properties.Schema.STRING,
            _("Protocol of the packets."),
            default=ANY,
            update_allowed=True,
            constraints=[constraints.AllowedValues(["tcp", "udp", "icmp", ANY])],
        ),
        IP_VERSION: properties.Schema(
            properties.Schema.STRING,
            _("Version of IP."),
            default="4",
            update_allowed=True,
            constraints=[constraints.AllowedValues(["4", "6"])],
        ),
        SOURCE_IP_ADDRESS: properties.Schema(
            properties.Schema.STRING,
            _("Address or network that packets come from."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("net_cidr")],
        ),
        DESTINATION_IP_ADDRESS: properties.Schema(
            properties.Schema.STRING,
            _("Address or network that packets go to."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("net_cidr")],
        ),
        SOURCE_PORT: properties.Schema(
            properties.Schema.STRING, _("Port, or range of ports, that packets come from."), update_allowed=True
        ),
        DESTINATION_PORT: properties.Schema(
            properties.Schema.STRING, _("Port, or range of ports, that packets go to."), update_allowed=True
        ),
        ACTION: properties.Schema(
            properties.Schema.STRING,
            _("What becomes of matching packets."),
            default="deny",
            update_allowed=True,
            constraints=[constraints.AllowedValues(["allow", "deny"])],
        ),
        ENABLED: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the rule counts."), default=True, update_allowed=True
        ),
    }

    attributes_schema = {
        NAME_ATTR: attributes.Schema(_("Name of the rule."), type=attributes.Schema.STRING),
        DESCRIPTION_ATTR: attributes.Schema(_("What the rule is for."), type=attributes.Schema.STRING),
        FIREWALL_POLICY_ID: attributes.Schema(_("Policy that has the rule."), type=attributes.Schema.STRING),
        SHARED_ATTR: attributes.Schema(_("Whether all projects may use it."), type=attributes.Schema.STRING),
        PROTOCOL_ATTR: attributes.Schema(_("Protocol of the packets."), type=attributes.Schema.STRING),
        IP_VERSION_ATTR: attributes.Schema(_("Version of IP."), type=attributes.Schema.STRING),
        SOURCE_IP_ADDRESS_ATTR: attributes.Schema(_("Where packets come from."), type=attributes.Schema.STRING),
        DESTINATION_IP_ADDRESS_ATTR: attributes.Schema(_("Where packets go to."), type=attributes.Schema.STRING),
        SOURCE_PORT_ATTR: attributes.Schema(_("Port or ports that packets come from."), type=attributes.Schema.STRING),
        DESTINATION_PORT_ATTR: attributes.Schema(_("Port or ports that packets go to."), type=attributes.Schema.STRING),
        ACTION_ATTR: attributes.Schema(_("What becomes of matching packets."), type=attributes.Schema.STRING),
        ENABLED_ATTR: attributes.Schema(_("Whether the rule counts."), type=attributes.Schema.STRING),
        POSITION: attributes.Schema(_("Place of the rule in its policy."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns the rule."), type=attributes.Schema.STRING),
    }

    # The service knows no protocol "any", but none.

    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        found = super().fields(props)
        if found.get(self.PROTOCOL) == ANY:
            found[self.PROTOCOL] = None
        return found

    def parse_live_resource_data(
        self, resource_properties: properties.Properties, resource_data: Any
    ) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        if self.PROTOCOL in found and found[self.PROTOCOL] is None:
            found[self.PROTOCOL] = ANY
        return self.drift(resource_properties, found)


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::Firewall": Firewall,
        "OS::Neutron::FirewallPolicy": FirewallPolicy,
        "OS::Neutron::FirewallRule": FirewallRule,
    }
