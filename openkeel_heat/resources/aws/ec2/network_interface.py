# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::NetworkInterface: a port."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import tags
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.kit import attributes, constraints
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import without_status


class NetworkInterface(UnshownResource):
    """An interface of an instance, with an address of a subnet."""

    PROPERTIES = (DESCRIPTION, GROUP_SET, PRIVATE_IP_ADDRESS, SOURCE_DEST_CHECK, SUBNET_ID, TAGS) = (
        "Description",
        "GroupSet",
        "PrivateIpAddress",
        "SourceDestCheck",
        "SubnetId",
        "Tags",
    )

    ATTRIBUTES = (PRIVATE_IP_ADDRESS_ATTR,) = ("PrivateIpAddress",)

    properties_schema = {
        DESCRIPTION: Schema(Schema.STRING, _("Description of the interface.")),
        GROUP_SET: Schema(Schema.LIST, _("Names or ids of its security groups."), update_allowed=True),
        PRIVATE_IP_ADDRESS: Schema(Schema.STRING, _("Its address; any of the subnet unless given.")),
        SOURCE_DEST_CHECK: Schema(
            Schema.BOOLEAN, _("Whether only traffic with its own address passes."), implemented=False
        ),
        SUBNET_ID: Schema(
            Schema.STRING,
            _("Reference to the subnet."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.subnet")],
        ),
        TAGS: tags.schema(_("Tags of the interface."), implemented=False),
    }

    attributes_schema = {
        PRIVATE_IP_ADDRESS_ATTR: attributes.Schema(_("Its address."), type=attributes.Schema.STRING),
    }

    default_client_name = "neutron"

    api_object = without_status("ports", "port")
    not_sent = PROPERTIES

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        subnet_id = props[self.SUBNET_ID]
        fixed_ip = {"subnet_id": subnet_id}
        if props.get(self.PRIVATE_IP_ADDRESS):
            fixed_ip["ip_address"] = props[self.PRIVATE_IP_ADDRESS]
        plugin = self.client_plugin()
        body = {
            **super().create_body(props),
            "admin_state_up": True,
            "network_id": plugin.network_id_from_subnet_id(subnet_id),
            "fixed_ips": [fixed_ip],
        }
        # An empty list is a port without groups, none at all one with the default group.
        if self.GROUP_SET in props:
            body["security_groups"] = plugin.get_secgroup_uuids(props[self.GROUP_SET])
        return body

    def update_body(self, prop_diff: dict[str, Any]) -> dict[str, Any]:
        groups = prop_diff[self.GROUP_SET]
        return {"security_groups": self.client_plugin().get_secgroup_uuids(["default"] if groups is None else groups)}

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        fixed_ips = self.shown_recently()["fixed_ips"]
        return fixed_ips[0]["ip_address"] if fixed_ips else None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::EC2::NetworkInterface": NetworkInterface}
