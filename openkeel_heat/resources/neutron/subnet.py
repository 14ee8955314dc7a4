# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::Subnet: a block of addresses on a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_utils import netutils

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron import declare, rules
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status


class Subnet(NeutronResource):
    """A block of addresses on a network, and what its ports are told by DHCP."""

    entity = "subnet"

    api_object = without_status("subnets", "subnet")

    renamed = {"network": "network_id", "subnetpool": "subnetpool_id", "segment": "segment_id"}

    PROPERTIES = (
        NETWORK_ID,
        NETWORK,
        SUBNETPOOL,
        PREFIXLEN,
        CIDR,
        VALUE_SPECS,
        NAME,
        IP_VERSION,
        DNS_NAMESERVERS,
        GATEWAY_IP,
        ENABLE_DHCP,
        ALLOCATION_POOLS,
        TENANT_ID,
        HOST_ROUTES,
        IPV6_RA_MODE,
        IPV6_ADDRESS_MODE,
        SEGMENT,
        TAGS,
    ) = (
        "network_id",
        "network",
        "subnetpool",
        "prefixlen",
        "cidr",
        "value_specs",
        "name",
        "ip_version",
        "dns_nameservers",
        "gateway_ip",
        "enable_dhcp",
        "allocation_pools",
        "tenant_id",
        "host_routes",
        "ipv6_ra_mode",
        "ipv6_address_mode",
        "segment",
        "tags",
    )

    _ALLOCATION_POOL_KEYS = (ALLOCATION_POOL_START, ALLOCATION_POOL_END) = ("start", "end")

    _HOST_ROUTES_KEYS = (ROUTE_DESTINATION, ROUTE_NEXTHOP) = ("destination", "nexthop")

    _IPV6_DHCP_MODES = (DHCPV6_STATEFUL, DHCPV6_STATELESS, SLAAC) = ("dhcpv6-stateful", "dhcpv6-stateless", "slaac")

    ATTRIBUTES = (
        NAME_ATTR,
        NETWORK_ID_ATTR,
        TENANT_ID_ATTR,
        ALLOCATION_POOLS_ATTR,
        GATEWAY_IP_ATTR,
        HOST_ROUTES_ATTR,
        IP_VERSION_ATTR,
        CIDR_ATTR,
        DNS_NAMESERVERS_ATTR,
        ENABLE_DHCP_ATTR,
    ) = (
        "name",
        "network_id",
        "tenant_id",
        "allocation_pools",
        "gateway_ip",
        "host_routes",
        "ip_version",
        "cidr",
        "dns_nameservers",
        "enable_dhcp",
    )

    properties_schema = {
        NETWORK_ID: declare.renamed(NETWORK, hidden="5.0.0", deprecated="2014.2", constraint="neutron.network"),
        NETWORK: properties.Schema(
            properties.Schema.STRING,
            _("Network, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.network")],
            support_status=declare.since("2014.2"),
        ),
        SUBNETPOOL: properties.Schema(
            properties.Schema.STRING,
            _("Pool that the block is taken from, by name or id."),
            constraints=[constraints.CustomConstraint("neutron.subnetpool")],
            support_status=declare.since("6.0.0"),
        ),
        PREFIXLEN: properties.Schema(
            properties.Schema.INTEGER,
            _("Length of the prefix to take from the pool."),
            constraints=[constraints.Range(min=0)],
            support_status=declare.since("6.0.0"),
        ),
        CIDR: properties.Schema(
            properties.Schema.STRING,
            _("The block in CIDR notation."),
            constraints=[constraints.CustomConstraint("net_cidr")],
        ),
        VALUE_SPECS: declare.VALUE_SPECS,
        NAME: declare.NAME,
        IP_VERSION: properties.Schema(
            properties.Schema.INTEGER,
            _("Version of the Internet protocol, 4 or 6."),
            default=4,
            constraints=[constraints.AllowedValues([4, 6])],
        ),
        DNS_NAMESERVERS: properties.Schema(
            properties.Schema.LIST, _("Addresses of DNS servers."), update_allowed=True, default=[]
        ),
        GATEWAY_IP: properties.Schema(
            properties.Schema.STRING,
            _(
                'Address of the gateway. Empty or null: there is none; "auto" or not given at creation: the '
                "service takes the first address. Taken out of the template later, the gateway is removed."
            ),
            update_allowed=True,
        ),
        ENABLE_DHCP: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether addresses are given out by DHCP."), update_allowed=True, default=True
        ),
        ALLOCATION_POOLS: properties.Schema(
            properties.Schema.LIST,
            _("Ranges that addresses of ports are taken from."),
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    ALLOCATION_POOL_START: properties.Schema(
                        properties.Schema.STRING,
                        _("First address."),
                        required=True,
                        constraints=[constraints.CustomConstraint("ip_addr")],
                    ),
                    ALLOCATION_POOL_END: properties.Schema(
                        properties.Schema.STRING,
                        _("Last address."),
                        required=True,
                        constraints=[constraints.CustomConstraint("ip_addr")],
                    ),
                },
            ),
        ),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING, _("Project that owns it. Only administrators give another than their own.")
        ),
        HOST_ROUTES: properties.Schema(
            properties.Schema.LIST,
            _("Routes that hosts on the subnet are told."),
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    ROUTE_DESTINATION: properties.Schema(
                        properties.Schema.STRING,
                        _("Destination of the route in CIDR notation."),
                        required=True,
                        constraints=[constraints.CustomConstraint("net_cidr")],
                    ),
                    ROUTE_NEXTHOP: properties.Schema(
                        properties.Schema.STRING,
                        _("Address that traffic for the destination goes to."),
                        required=True,
                        constraints=[constraints.CustomConstraint("ip_addr")],
                    ),
                },
            ),
        ),
        IPV6_RA_MODE: properties.Schema(
            properties.Schema.STRING,
            _("Mode of router advertisements."),
            constraints=[constraints.AllowedValues(_IPV6_DHCP_MODES)],
            support_status=declare.since("2015.1"),
        ),
        IPV6_ADDRESS_MODE: properties.Schema(
            properties.Schema.STRING,
            _("How ports get their addresses."),
            constraints=[constraints.AllowedValues(_IPV6_DHCP_MODES)],
            support_status=declare.since("2015.1"),
        ),
        SEGMENT: properties.Schema(
            properties.Schema.STRING,
            _("Segment of the network that the subnet belongs to, by name or id."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("neutron.segment")],
            support_status=support.SupportStatus(
                message=_("Can be changed since version 11.0.0."),
                version="11.0.0",
                previous_status=declare.since("9.0.0"),
            ),
        ),
        TAGS: declare.tags("9.0.0"),
    }

    attributes_schema = {
        NAME_ATTR: attributes.Schema(_("Name of the object."), type=attributes.Schema.STRING),
        NETWORK_ID_ATTR: attributes.Schema(_("Network of the subnet."), type=attributes.Schema.STRING),
        TENANT_ID_ATTR: attributes.Schema(_("Project that owns it."), type=attributes.Schema.STRING),
        ALLOCATION_POOLS_ATTR: attributes.Schema(
            _("Ranges that addresses are taken from."), type=attributes.Schema.LIST
        ),
        GATEWAY_IP_ATTR: attributes.Schema(_("Address of the gateway."), type=attributes.Schema.STRING),
        HOST_ROUTES_ATTR: attributes.Schema(_("Routes that hosts are told."), type=attributes.Schema.LIST),
        IP_VERSION_ATTR: attributes.Schema(_("Version of the Internet protocol."), type=attributes.Schema.STRING),
        CIDR_ATTR: attributes.Schema(_("The block in CIDR notation."), type=attributes.Schema.STRING),
        DNS_NAMESERVERS_ATTR: attributes.Schema(_("Addresses of DNS servers."), type=attributes.Schema.LIST),
        ENABLE_DHCP_ATTR: attributes.Schema(
            _("Whether addresses are given out by DHCP."), type=attributes.Schema.STRING
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        plugin = self.client_plugin()
        return [
            rules.replace(props, self.NETWORK_ID, self.NETWORK),
            rules.find(self, props, plugin.RES_TYPE_NETWORK, self.NETWORK),
            rules.find(self, props, plugin.RES_TYPE_SUBNET_POOL, self.SUBNETPOOL),
            TranslationRule(
                props,
                TranslationRule.RESOLVE,
                [self.SEGMENT],
                client_plugin=self.client_plugin("openstack"),
                finder="find_network_segment",
            ),
        ]

    def validate(self) -> Any:
        super().validate()
        props = self.properties
        pool, prefixlen, cidr = props[self.SUBNETPOOL], props[self.PREFIXLEN], props[self.CIDR]
        if pool is not None and cidr:
            raise exceptions.ResourcePropertyConflict(self.SUBNETPOOL, self.CIDR)
        if pool is None and not cidr:
            raise exceptions.PropertyUnspecifiedError(self.SUBNETPOOL, self.CIDR)
        if prefixlen and cidr:
            raise exceptions.ResourcePropertyConflict(self.PREFIXLEN, self.CIDR)
        wrong = self._wrong_modes() or self._wrong_gateway()
        if wrong:
            raise exceptions.StackValidationFailed(message=wrong)
        return None

    def _wrong_modes(self) -> str | None:
        ra_mode, address_mode = self.properties[self.IPV6_RA_MODE], self.properties[self.IPV6_ADDRESS_MODE]
        if self.properties[self.IP_VERSION] == 4 and (ra_mode or address_mode):
            return _("ipv6_ra_mode and ipv6_address_mode are not supported for ipv4.")
        if ra_mode and address_mode and ra_mode != address_mode:
            return _("When both ipv6_ra_mode and ipv6_address_mode are set, they must be equal.")
        return None

    def _wrong_gateway(self) -> str | None:
        gateway = self.properties.get(self.GATEWAY_IP)
        if not gateway or gateway in ("~", "auto") or netutils.is_valid_ip(gateway):
            return None
        return _('Gateway IP address "%s" is in invalid format.') % gateway

    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        body = super().fields(props)
        if body.get(self.GATEWAY_IP) == "":
            # null in the template; to the service that is a subnet without a gateway
            body[self.GATEWAY_IP] = None
        elif body.get(self.GATEWAY_IP) == "auto":
            del body[self.GATEWAY_IP]
        return body

    def change_parts(self, prop_diff: dict[str, Any]) -> None:
        """What is refused is refused before anything is changed."""
        if prop_diff.get(self.GATEWAY_IP) == "auto":
            raise exceptions.ResourceActionNotSupported(
                action=_(
                    'The value "auto" for gateway_ip cannot be used to update an existing subnet. It is only '
                    "supported during subnet creation."
                )
            )
        if self.SEGMENT in prop_diff and self.properties[self.SEGMENT] is not None:
            raise exceptions.ResourceActionNotSupported(
                action=_(
                    "Updating the subnet segment assciation only allowed when the current segment_id is None. "
                    "The subnet is currently associated with segment. In this state update"
                )
            )
        super().change_parts(prop_diff)

    def update_body(self, prop_diff: dict[str, Any]) -> dict[str, Any]:
        body = super().update_body(prop_diff)
        if self.ALLOCATION_POOLS in body and body[self.ALLOCATION_POOLS] is None:
            body[self.ALLOCATION_POOLS] = []
        return body

    def parse_live_resource_data(self, resource_properties: Any, resource_data: Any) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        if resource_properties.get(self.GATEWAY_IP) == "auto":
            # Whatever the service chose is right.
            found.pop(self.GATEWAY_IP, None)
        return found


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::Subnet": Subnet}
