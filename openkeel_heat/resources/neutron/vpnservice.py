# SPDX-License-Identifier: Apache-2.0
"""The end of VPN connections, and the connections: OS::Neutron::VPNService and OS::Neutron::IPsecSiteConnection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron.pending import PendingResource, with_pending
from openkeel_heat.resources.neutron.rules import find, replace


class VPNService(PendingResource):
    """The end of VPN connections on a router, for one of its subnets.

    It is carried out with the first connection only, so one that waits for that is whole.
    """

    required_service_extension = "vpnaas"
    entity = "vpnservice"
    api_object = with_pending("vpn/vpnservices", "vpnservice", ready=("ACTIVE", "PENDING_CREATE"), busy=())
    renamed = {"subnet": "subnet_id", "router": "router_id"}
    # The former names, whose values the present ones have taken over.
    not_sent = ("subnet_id", "router_id")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        ADMIN_STATE_UP,
        SUBNET_ID,
        SUBNET,
        ROUTER_ID,
        ROUTER,
    ) = (
        "name",
        "description",
        "admin_state_up",
        "subnet_id",
        "subnet",
        "router_id",
        "router",
    )
    ATTRIBUTES = (
        ADMIN_STATE_UP_ATTR,
        DESCRIPTION_ATTR,
        NAME_ATTR,
        ROUTER_ID_ATTR,
        STATUS,
        SUBNET_ID_ATTR,
        TENANT_ID,
    ) = (
        "admin_state_up",
        "description",
        "name",
        "router_id",
        "status",
        "subnet_id",
        "tenant_id",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the service."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the service is for."), update_allowed=True),
        ADMIN_STATE_UP: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the service is meant to work."), default=True, update_allowed=True
        ),
        SUBNET_ID: properties.Schema(
            properties.Schema.STRING,
            _("Id of the subnet."),
            constraints=[constraints.CustomConstraint("neutron.subnet")],
            support_status=support.SupportStatus(
                status=support.HIDDEN,
                message=_("Give the property subnet."),
                version="5.0.0",
                previous_status=support.SupportStatus(status=support.DEPRECATED, version="2014.2"),
            ),
        ),
        SUBNET: properties.Schema(
            properties.Schema.STRING,
            _("Subnet that the other end reaches, by id or name."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.subnet")],
            support_status=support.SupportStatus(version="2014.2"),
        ),
        ROUTER_ID: properties.Schema(
            properties.Schema.STRING,
            _("Id of the router."),
            constraints=[constraints.CustomConstraint("neutron.router")],
            support_status=support.SupportStatus(
                status=support.HIDDEN,
                version="6.0.0",
                previous_status=support.SupportStatus(
                    status=support.DEPRECATED,
                    message=_("Give the property router."),
                    version="2015.1",
                    previous_status=support.SupportStatus(version="2013.2"),
                ),
            ),
        ),
        ROUTER: properties.Schema(
            properties.Schema.STRING,
            _("Router that is the end of the connections, by id or name."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.router")],
            support_status=support.SupportStatus(version="2015.1"),
        ),
    }

    attributes_schema = {
        ADMIN_STATE_UP_ATTR: attributes.Schema(
            _("Whether the service is meant to work."), type=attributes.Schema.STRING
        ),
        DESCRIPTION_ATTR: attributes.Schema(_("What the service is for."), type=attributes.Schema.STRING),
        NAME_ATTR: attributes.Schema(_("Name of the service."), type=attributes.Schema.STRING),
        ROUTER_ID_ATTR: attributes.Schema(_("Id of the router."), type=attributes.Schema.STRING),
        STATUS: attributes.Schema(_("State of the service."), type=attributes.Schema.STRING),
        SUBNET_ID_ATTR: attributes.Schema(_("Id of the subnet."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns the service."), type=attributes.Schema.STRING),
    }

    def translation_rules(self, props: Any) -> list[TranslationRule]:
        return [
            replace(props, self.SUBNET_ID, self.SUBNET),
            find(self, props, "subnet", self.SUBNET),
            replace(props, self.ROUTER_ID, self.ROUTER),
            find(self, props, "router", self.ROUTER),
        ]


class IPsecSiteConnection(PendingResource):
    """An IPsec connection between a VPN service and another site."""

    required_service_extension = "vpnaas"
    entity = "ipsec_site_connection"
    api_object = with_pending("vpn/ipsec-site-connections", "ipsec_site_connection")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        PEER_ADDRESS,
        PEER_ID,
        PEER_CIDRS,
        MTU,
        DPD,
        PSK,
        INITIATOR,
        ADMIN_STATE_UP,
        IKEPOLICY_ID,
        IPSECPOLICY_ID,
        VPNSERVICE_ID,
    ) = (
        "name",
        "description",
        "peer_address",
        "peer_id",
        "peer_cidrs",
        "mtu",
        "dpd",
        "psk",
        "initiator",
        "admin_state_up",
        "ikepolicy_id",
        "ipsecpolicy_id",
        "vpnservice_id",
    )
    _DPD_KEYS = (DPD_ACTIONS, DPD_INTERVAL, DPD_TIMEOUT) = ("actions", "interval", "timeout")
    ATTRIBUTES = (
        ADMIN_STATE_UP_ATTR,
        AUTH_MODE,
        DESCRIPTION_ATTR,
        DPD_ATTR,
        IKEPOLICY_ID_ATTR,
        INITIATOR_ATTR,
        IPSECPOLICY_ID_ATTR,
        MTU_ATTR,
        NAME_ATTR,
        PEER_ADDRESS_ATTR,
        PEER_CIDRS_ATTR,
        PEER_ID_ATTR,
        PSK_ATTR,
        ROUTE_MODE,
        STATUS,
        TENANT_ID,
        VPNSERVICE_ID_ATTR,
    ) = (
        "admin_state_up",
        "auth_mode",
        "description",
        "dpd",
        "ikepolicy_id",
        "initiator",
        "ipsecpolicy_id",
        "mtu",
        "name",
        "peer_address",
        "peer_cidrs",
        "peer_id",
        "psk",
        "route_mode",
        "status",
        "tenant_id",
        "vpnservice_id",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the connection."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the connection is for."), update_allowed=True),
        PEER_ADDRESS: properties.Schema(
            properties.Schema.STRING,
            _("Public address (IPv4, IPv6) or full name of the router at the other site."),
            required=True,
        ),
        PEER_ID: properties.Schema(
            properties.Schema.STRING, _("Identity by which the router at the other site is known."), required=True
        ),
        PEER_CIDRS: properties.Schema(
            properties.Schema.LIST,
            _("Networks at the other site, as CIDR."),
            required=True,
            schema=properties.Schema(properties.Schema.STRING, constraints=[constraints.CustomConstraint("net_cidr")]),
        ),
        MTU: properties.Schema(
            properties.Schema.INTEGER, _("Largest packet of the connection in bytes."), default=1500
        ),
        DPD: properties.Schema(
            properties.Schema.MAP,
            _("How a dead peer is detected."),
            schema={
                DPD_ACTIONS: properties.Schema(
                    properties.Schema.STRING,
                    _("What is done about a dead peer."),
                    default="hold",
                    constraints=[
                        constraints.AllowedValues(["clear", "disabled", "hold", "restart", "restart-by-peer"])
                    ],
                ),
                DPD_INTERVAL: properties.Schema(
                    properties.Schema.INTEGER, _("Seconds between two probes."), default=30
                ),
                DPD_TIMEOUT: properties.Schema(
                    properties.Schema.INTEGER,
                    _("Seconds without an answer after which the peer counts as dead."),
                    default=120,
                ),
            },
        ),
        PSK: properties.Schema(properties.Schema.STRING, _("Secret that both ends share."), required=True),
        INITIATOR: properties.Schema(
            properties.Schema.STRING,
            _("Whether this end may open the connection or waits for the other."),
            default="bi-directional",
            constraints=[constraints.AllowedValues(["bi-directional", "response-only"])],
        ),
        ADMIN_STATE_UP: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the connection is meant to work."), default=True, update_allowed=True
        ),
        IKEPOLICY_ID: properties.Schema(properties.Schema.STRING, _("Id of the IKE policy."), required=True),
        IPSECPOLICY_ID: properties.Schema(properties.Schema.STRING, _("Id of the IPsec policy."), required=True),
        VPNSERVICE_ID: properties.Schema(
            properties.Schema.STRING, _("Id of the VPN service at this end."), required=True
        ),
    }

    attributes_schema = {
        ADMIN_STATE_UP_ATTR: attributes.Schema(
            _("Whether the connection is meant to work."), type=attributes.Schema.STRING
        ),
        AUTH_MODE: attributes.Schema(_("How the ends authenticate."), type=attributes.Schema.STRING),
        DESCRIPTION_ATTR: attributes.Schema(_("What the connection is for."), type=attributes.Schema.STRING),
        DPD_ATTR: attributes.Schema(_("How a dead peer is detected."), type=attributes.Schema.MAP),
        IKEPOLICY_ID_ATTR: attributes.Schema(_("Id of the IKE policy."), type=attributes.Schema.STRING),
        INITIATOR_ATTR: attributes.Schema(
            _("Whether this end may open the connection."), type=attributes.Schema.STRING
        ),
        IPSECPOLICY_ID_ATTR: attributes.Schema(_("Id of the IPsec policy."), type=attributes.Schema.STRING),
        MTU_ATTR: attributes.Schema(_("Largest packet in bytes."), type=attributes.Schema.STRING),
        NAME_ATTR: attributes.Schema(_("Name of the connection."), type=attributes.Schema.STRING),
        PEER_ADDRESS_ATTR: attributes.Schema(
            _("Address or name of the router at the other site."), type=attributes.Schema.STRING
        ),
        PEER_CIDRS_ATTR: attributes.Schema(_("Networks at the other site."), type=attributes.Schema.LIST),
        PEER_ID_ATTR: attributes.Schema(_("Identity of the router at the other site."), type=attributes.Schema.STRING),
        PSK_ATTR: attributes.Schema(_("Secret that both ends share."), type=attributes.Schema.STRING),
        ROUTE_MODE: attributes.Schema(_("How routes to the other site are found."), type=attributes.Schema.STRING),
        STATUS: attributes.Schema(_("State of the connection."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns the connection."), type=attributes.Schema.STRING),
        VPNSERVICE_ID_ATTR: attributes.Schema(_("Id of the VPN service at this end."), type=attributes.Schema.STRING),
    }

    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        found = super().fields(props)
        if found.get(self.DPD):
            # The service has another word for one of them.
            found[self.DPD] = {
                "action" if key == self.DPD_ACTIONS else key: value for key, value in found[self.DPD].items()
            }
        return found


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::VPNService": VPNService,
        "OS::Neutron::IPsecSiteConnection": IPsecSiteConnection,
    }
