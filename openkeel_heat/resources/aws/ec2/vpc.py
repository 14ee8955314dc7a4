# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::VPC: a network, and a router of the same name that its subnets are connected by."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import tags
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.kit import constraints
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import BUSY, with_status

NETWORKS, ROUTERS = "/v2.0/networks", "/v2.0/routers"


class VPC(UnshownResource):
    """A private network."""

    PROPERTIES = (CIDR_BLOCK, INSTANCE_TENANCY, TAGS) = ("CidrBlock", "InstanceTenancy", "Tags")

    properties_schema = {
        CIDR_BLOCK: Schema(Schema.STRING, _("Addresses of the network, as a CIDR block.")),
        INSTANCE_TENANCY: Schema(
            Schema.STRING,
            _("Whether instances have hosts of their own."),
            default="default",
            constraints=[constraints.AllowedValues(["default", "dedicated"])],
            implemented=False,
        ),
        TAGS: tags.schema(_("Tags of the network."), implemented=False),
    }

    default_client_name = "neutron"

    api_object = with_status("networks", "network")
    not_sent = PROPERTIES

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        router = router_by_name(self.api, self.physical_resource_name())
        if router is None:
            router = self.api.post(ROUTERS, json={"router": {"name": self.physical_resource_name()}})["router"]
        return router["status"] not in BUSY and self.is_ready(router)

    def handle_delete(self) -> Any:
        if self.has_object() and (router := self._router()) is not None:
            with self.client_plugin().ignore_not_found:
                self.api.delete("%s/%s" % (ROUTERS, router["id"]))
        return super().handle_delete()

    def _router(self) -> dict[str, Any] | None:
        """The router, also after somebody has deleted the network."""
        name = self.physical_resource_name()
        with self.client_plugin().ignore_not_found:
            name = self.shown()["name"]
        return router_by_name(self.api, name)


def router_by_name(api: Any, name: Any) -> dict[str, Any] | None:
    """The only router of that name. Another's network of the same name would make it a guess."""
    found = api.list(ROUTERS, "routers", {"name": name})
    if len(found) > 1:
        raise exception.Error(_("Multiple routers found with name %s") % name)
    return dict(found[0]) if found else None


def router_for_vpc(api: Any, network_id: str) -> dict[str, Any] | None:
    """The router that connects a network; networks that were made by hand may have none."""
    network = api.show("%s/%s" % (NETWORKS, network_id), "network", params={"fields": "name"})
    return router_by_name(api, network["name"])


def connect(api: Any, router_id: str, subnet_id: str) -> None:
    """Connect a subnet with a router. That it is connected already is what the service calls a bad request."""
    path = "%s/%s/add_router_interface" % (ROUTERS, router_id)
    try:
        api.put(path, json={"subnet_id": subnet_id})
    except Exception as ex:
        if getattr(ex, "status", None) != 400 or not _is_connected(api, router_id, subnet_id):
            raise


def _is_connected(api: Any, router_id: str, subnet_id: str) -> bool:
    wanted = {"device_id": router_id, "fixed_ips": "subnet_id=%s" % subnet_id, "fields": "id"}
    return bool(api.list("/v2.0/ports", "ports", wanted))


def disconnect(plugin: Any, router_id: str, subnet_id: str) -> None:
    with plugin.ignore_not_found:
        plugin.api.put("%s/%s/remove_router_interface" % (ROUTERS, router_id), json={"subnet_id": subnet_id})


def set_gateway(api: Any, router_id: str, network_id: str | None) -> None:
    """Connect a router with an external network, or (None) with none."""
    gateway = {"network_id": network_id} if network_id else {}
    api.put("%s/%s" % (ROUTERS, router_id), json={"router": {"external_gateway_info": gateway}})


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::EC2::VPC": VPC}
