# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::Subnet: a subnet that the router of its VPC connects."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import tags, vpc
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.kit import attributes
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import without_status


class Subnet(UnshownResource):
    """A range of addresses in a VPC."""

    PROPERTIES = (AVAILABILITY_ZONE, CIDR_BLOCK, VPC_ID, TAGS) = ("AvailabilityZone", "CidrBlock", "VpcId", "Tags")

    ATTRIBUTES = (AVAILABILITY_ZONE,)

    properties_schema = {
        AVAILABILITY_ZONE: Schema(Schema.STRING, _("Availability zone of the subnet.")),
        CIDR_BLOCK: Schema(Schema.STRING, _("Addresses of the subnet, as a CIDR block."), required=True),
        VPC_ID: Schema(Schema.STRING, _("Reference to the VPC."), required=True),
        TAGS: tags.schema(_("Tags of the subnet."), implemented=False),
    }

    attributes_schema = {
        AVAILABILITY_ZONE: attributes.Schema(_("Availability zone of the subnet."), type=attributes.Schema.STRING),
    }

    default_client_name = "neutron"

    api_object = without_status("subnets", "subnet")
    not_sent = (AVAILABILITY_ZONE, TAGS)
    renamed = {VPC_ID: "network_id", CIDR_BLOCK: "cidr"}

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        return {**super().create_body(props), "ip_version": 4}

    def _router(self) -> dict[str, Any] | None:
        return vpc.router_for_vpc(self.api, self.properties[self.VPC_ID])

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        if (router := self._router()) is not None:
            vpc.connect(self.api, router["id"], str(self.resource_id))
        return True

    def handle_delete(self) -> Any:
        if self.has_object():
            with self.client_plugin().ignore_not_found:
                if (router := self._router()) is not None:
                    vpc.disconnect(self.client_plugin(), router["id"], str(self.resource_id))
        return super().handle_delete()

    def _resolve_attribute(self, name: str) -> Any:
        return self.properties[self.AVAILABILITY_ZONE]


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::EC2::Subnet": Subnet}
