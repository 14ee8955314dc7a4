# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::ProviderNet: a network that is mapped to a physical one."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare
from openkeel_heat.resources.neutron.net import Net


class ProviderNet(Net):
    """A network that is mapped to a given physical network. By default only administrators make one."""

    required_service_extension = "provider"

    support_status = declare.since("2014.1")

    renamed = {
        "network_type": "provider:network_type",
        "physical_network": "provider:physical_network",
        "segmentation_id": "provider:segmentation_id",
        "router_external": "router:external",
    }

    not_sent = ("tags",)

    PROPERTIES = (  # type: ignore[assignment]
        NAME,
        PROVIDER_NETWORK_TYPE,
        PROVIDER_PHYSICAL_NETWORK,
        PROVIDER_SEGMENTATION_ID,
        ADMIN_STATE_UP,
        SHARED,
        PORT_SECURITY_ENABLED,
        ROUTER_EXTERNAL,
        DNS_DOMAIN,
        AVAILABILITY_ZONE_HINTS,
        TAGS,
        TENANT_ID,
    ) = (
        "name",
        "network_type",
        "physical_network",
        "segmentation_id",
        "admin_state_up",
        "shared",
        "port_security_enabled",
        "router_external",
        "dns_domain",
        "availability_zone_hints",
        "tags",
        "tenant_id",
    )

    ATTRIBUTES = (STATUS, SUBNETS, SEGMENTS) = (  # type: ignore[assignment]
        "status",
        "subnets",
        "segments",
    )

    NETWORK_TYPES = (LOCAL, VLAN, VXLAN, GRE, GENEVE, FLAT) = ("local", "vlan", "vxlan", "gre", "geneve", "flat")

    properties_schema = {
        NAME: declare.NAME,
        PROVIDER_NETWORK_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("How the network is realised."),
            required=True,
            update_allowed=True,
            constraints=[constraints.AllowedValues(NETWORK_TYPES)],
        ),
        PROVIDER_PHYSICAL_NETWORK: properties.Schema(
            properties.Schema.STRING, _("Physical network that it is mapped to."), update_allowed=True
        ),
        PROVIDER_SEGMENTATION_ID: properties.Schema(
            properties.Schema.STRING, _("Segment of the physical network, for example the VLAN."), update_allowed=True
        ),
        ADMIN_STATE_UP: declare.ADMIN_STATE_UP,
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether all projects may use it. By default only administrators may say so."),
            update_allowed=True,
            default=True,
        ),
        PORT_SECURITY_ENABLED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether ports filter traffic by security groups and address pairs."),
            update_allowed=True,
            support_status=declare.since("8.0.0"),
        ),
        ROUTER_EXTERNAL: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether routers may use it as their gateway."),
            update_allowed=True,
            default=False,
            support_status=declare.since("6.0.0"),
        ),
        TAGS: declare.tags("12.0.0"),
        DNS_DOMAIN: properties.Schema(
            properties.Schema.STRING,
            _("DNS domain, with its final dot."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("dns_domain")],
            support_status=declare.since("15.0.0"),
        ),
        AVAILABILITY_ZONE_HINTS: properties.Schema(
            properties.Schema.LIST,
            _("Availability zones that are preferred for it."),
            update_allowed=True,
            support_status=declare.since("19.0.0"),
        ),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING,
            _("Project that owns it. Only administrators give another than their own."),
            support_status=declare.since("24.0.0"),
        ),
    }

    attributes_schema = {
        STATUS: attributes.Schema(_("State of the object in the service."), type=attributes.Schema.STRING),
        SUBNETS: attributes.Schema(_("Ids of the subnets of the network."), type=attributes.Schema.LIST),
        SEGMENTS: attributes.Schema(
            _("Segments of the network."), type=attributes.Schema.LIST, support_status=declare.since("16.0.0")
        ),
    }

    def translation_rules(self, properties: Any) -> list[Any]:
        return super().translation_rules(properties)

    def validate(self) -> Any:
        super().validate()
        network_type = self.properties[self.PROVIDER_NETWORK_TYPE]
        if self.properties[self.PROVIDER_SEGMENTATION_ID] and network_type in (self.LOCAL, self.FLAT):
            raise exceptions.StackValidationFailed(
                message=_("segmentation_id not allowed for network types: local, flat")
            )
        if self.properties[self.PROVIDER_PHYSICAL_NETWORK] and network_type not in (self.VLAN, self.FLAT):
            raise exceptions.StackValidationFailed(
                message=_("physical_network not allowed for network types: vxlan, gre, geneve, flat")
            )
        return None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::ProviderNet": ProviderNet}
