# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::RouteTable and AWS::EC2::SubnetRouteTableAssociation.

A route table is a router beside that of the VPC; a subnet associated with it is connected by it instead.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import tags, vpc
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.kit import constraints, support
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.succession import as_it_was_made, others_that_stay
from openkeel_heat.resources.neutron.neutron import with_status


class RouteTable(UnshownResource):
    """A router that subnets can have in place of their VPC's."""

    support_status = support.SupportStatus(version="2014.1")

    PROPERTIES = (VPC_ID, TAGS) = ("VpcId", "Tags")

    properties_schema = {
        VPC_ID: Schema(Schema.STRING, _("Reference to the VPC."), required=True),
        TAGS: tags.schema(_("Tags of the route table."), implemented=False),
    }

    default_client_name = "neutron"

    api_object = with_status("routers", "router")
    not_sent = PROPERTIES

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        default = vpc.router_for_vpc(self.api, self.properties[self.VPC_ID])
        gateway = (default or {}).get("external_gateway_info")
        if gateway:
            vpc.set_gateway(self.api, str(self.resource_id), gateway["network_id"])
        return True


class SubnetRouteTableAssociation(Resource):
    """A subnet connected by a route table."""

    PROPERTIES = (ROUTE_TABLE_ID, SUBNET_ID) = ("RouteTableId", "SubnetId")

    properties_schema = {
        ROUTE_TABLE_ID: Schema(Schema.STRING, _("Reference to the route table."), required=True),
        SUBNET_ID: Schema(
            Schema.STRING,
            _("Reference to the subnet."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.subnet")],
        ),
    }

    default_client_name = "neutron"

    # Subnets are disconnected and connected: that it was done already is no error.
    repeatable_create = True

    def _move(self, from_router: str | None, to_router: str | None) -> None:
        plugin, subnet_id = self.client_plugin(), self.properties[self.SUBNET_ID]
        if from_router:
            vpc.disconnect(plugin, from_router, subnet_id)
        if to_router:
            vpc.connect(plugin.api, to_router, subnet_id)

    def _default_router(self) -> str | None:
        """The router of the subnet's VPC, if there is one (still)."""
        plugin = self.client_plugin()
        with plugin.ignore_not_found:
            network_id = plugin.network_id_from_subnet_id(self.properties[self.SUBNET_ID])
            router = vpc.router_for_vpc(plugin.api, network_id)
            return None if router is None else str(router["id"])
        return None

    def handle_create(self) -> None:
        self._move(self._default_router(), self.properties[self.ROUTE_TABLE_ID])

    def handle_delete(self) -> None:
        """The router of the VPC has the subnet again, unless another association has it now."""
        tables = {
            other.properties[self.ROUTE_TABLE_ID]
            for other in others_that_stay(self)
            if other.properties[self.SUBNET_ID] == self.properties[self.SUBNET_ID]
        }
        with self.client_plugin().ignore_not_found:
            if self.properties[self.ROUTE_TABLE_ID] not in tables:
                self._move(self.properties[self.ROUTE_TABLE_ID], None)
            if not tables:
                self._move(None, self._default_router())

    # A subnet has one router with the address of its gateway.
    def prepare_for_replace(self) -> None:
        with as_it_was_made(self):
            self._move(self.properties[self.ROUTE_TABLE_ID], None)

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        for other in others_that_stay(self, half_made=True):
            other.prepare_for_replace()
        with as_it_was_made(self):
            self.handle_create()


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "AWS::EC2::RouteTable": RouteTable,
        "AWS::EC2::SubnetRouteTableAssociation": SubnetRouteTableAssociation,
    }
