# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::InternetGateway and AWS::EC2::VPCGatewayAttachment.

A gateway is nothing by itself: to attach it connects the route tables of a VPC with the external network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import tags, vpc
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.succession import is_anothers
from openkeel_heat.resources.neutron import implicit

ROUTE_TABLE, VPC_OF_TABLE = "AWS::EC2::RouteTable", "VpcId"


def external_network_id(api: Any) -> str:
    """The one network that leads outside: EC2 does not tell several apart."""
    found = api.list(vpc.NETWORKS, "networks", {"router:external": "True"})
    if len(found) != 1:
        raise exception.Error(_("Expected 1 external network, found %d") % len(found))
    return str(found[0]["id"])


class InternetGateway(Resource):
    """A way out of VPCs."""

    PROPERTIES = (TAGS,) = ("Tags",)

    properties_schema = {TAGS: tags.schema(_("Tags of the gateway."), implemented=False)}

    repeatable_create = True

    def handle_create(self) -> None:
        self.resource_id_set(self.physical_resource_name())

    def handle_delete(self) -> None:
        """There is nothing to delete."""


class VPCGatewayAttachment(Resource):
    """A gateway of a VPC: all route tables of it in the stack lead outside."""

    PROPERTIES = (VPC_ID, INTERNET_GATEWAY_ID, VPN_GATEWAY_ID) = ("VpcId", "InternetGatewayId", "VpnGatewayId")

    properties_schema = {
        VPC_ID: Schema(Schema.STRING, _("Reference to the VPC."), required=True),
        INTERNET_GATEWAY_ID: Schema(Schema.STRING, _("Reference to the internet gateway.")),
        VPN_GATEWAY_ID: Schema(Schema.STRING, _("Reference to a VPN gateway."), implemented=False),
    }

    default_client_name = "neutron"

    repeatable_create = True

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        implicit.need(deps, self, ROUTE_TABLE, implicit.read(self, self.VPC_ID), VPC_OF_TABLE)

    def _routers(self) -> Iterator[str]:
        """The routers of the route tables."""
        for name, definition in self.stack.defn.resource_definitions().items():
            if not self._is_route_table(name, definition.resource_type):
                continue
            table = self.stack.stored_resource(name)
            if table.resource_id and self._vpc_of(table) == self.properties[self.VPC_ID]:
                yield table.resource_id

    def _is_route_table(self, name: str, resource_type: str) -> bool:
        if resource_type == ROUTE_TABLE:
            return True
        try:
            info = self.stack.env.get_resource_info(resource_type, name)
        except exception.EntityNotFound:
            return False
        return bool(info.name == ROUTE_TABLE)

    @staticmethod
    def _vpc_of(table: Any) -> Any:
        stored = table.record.stored_properties
        return (table.properties if stored is None else stored).get(VPC_OF_TABLE)

    def handle_create(self) -> None:
        api = self.client_plugin().api
        network_id = external_network_id(api)
        for router_id in self._routers():
            vpc.set_gateway(api, router_id, network_id)

    def handle_delete(self) -> None:
        if is_anothers(self, lambda attachment: attachment.properties[self.VPC_ID]):
            return
        plugin = self.client_plugin()
        for router_id in self._routers():
            with plugin.ignore_not_found:
                vpc.set_gateway(plugin.api, router_id, None)


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "AWS::EC2::InternetGateway": InternetGateway,
        "AWS::EC2::VPCGatewayAttachment": VPCGatewayAttachment,
    }
