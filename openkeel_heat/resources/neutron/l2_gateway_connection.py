# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::L2GatewayConnection."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status


class L2GatewayConnection(NeutronResource):
    """Joins a network with an L2 gateway on one segment."""

    support_status = support.SupportStatus(version="12.0.0")
    required_service_extension = "l2-gateway-connection"
    entity = "l2_gateway_connection"
    api_object = without_status("l2-gateway-connections", "l2_gateway_connection", name="")

    PROPERTIES = (L2_GATEWAY_ID, NETWORK_ID, SEGMENTATION_ID) = ("l2_gateway_id", "network_id", "segmentation_id")

    properties_schema = {
        L2_GATEWAY_ID: properties.Schema(properties.Schema.STRING, _("Id of the gateway."), required=True),
        NETWORK_ID: properties.Schema(
            properties.Schema.STRING,
            _("Id of the network."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.network")],
        ),
        SEGMENTATION_ID: properties.Schema(properties.Schema.STRING, _("Segment (VLAN) at the gateway's interfaces.")),
    }


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::L2GatewayConnection": L2GatewayConnection,
    }
