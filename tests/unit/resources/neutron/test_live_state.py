# SPDX-License-Identifier: Apache-2.0
"""With observe_on_update the service is asked how things are: what is as it was asked for is not changed."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.resources.kit import lifecycle
from tests.unit.conftest import Option
from tests.unit.resources.fakes import drive
from tests.unit.resources.neutron.conftest import World

SUBNET = {"network": "net", "cidr": "10.9.0.0/24"}
SUBPORT = {"port": "sub", "segmentation_type": "vlan", "segmentation_id": 7}
ROUTE = {"destination": "192.0.2.0/24", "nexthop": "10.9.0.9"}

#: each case: type and properties
AS_ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "a gateway that the service chose": ("Subnet", {**SUBNET, "gateway_ip": "auto", "tags": ["b", "a"]}),
    "no gateway": ("Subnet", {**SUBNET, "gateway_ip": ""}),
    "routes": ("Subnet", {**SUBNET, "host_routes": [ROUTE], "value_specs": {"more": "of it"}}),
    "a scope by its name": ("SubnetPool", {"prefixes": ["10.0.0.0/8"], "address_scope": "scope"}),
    "a policy by its name": ("Net", {"qos_policy": "policy", "port_security_enabled": False}),
    "subports": ("Trunk", {"port": "parent", "sub_ports": [SUBPORT]}),
    "a gateway of a router": ("Router", {"external_gateway_info": {"network": "net"}}),
    "rules": ("SecurityGroup", {"rules": [{"protocol": "tcp"}]}),
    "a rule of a policy": ("QoSBandwidthLimitRule", {"policy": "policy", "max_kbps": 10}),
    "nothing but a network": ("FloatingIP", {"floating_network": "net"}),
    "a segment": ("Segment", {"network": "net", "network_type": "vlan", "physical_network": "p", "segmentation_id": 3}),
    "a right": (
        "RBACPolicy",
        {"object_type": "network", "object_id": "net", "target_tenant": "t", "action": "access_as_shared"},
    ),
}


@pytest.fixture
def objects(world: World, option: Option) -> World:
    """What the properties refer to."""
    neutron = world.neutron
    net = neutron.networks.add(name="net")["id"]
    for name in ("parent", "sub", "other"):
        neutron.ports.add(name=name, network_id=net, fixed_ips=[], security_groups=[])
    neutron.scopes.add(name="scope")
    neutron.policies.add(name="policy")
    option("observe_on_update", True)
    return world


def updated(world: World, resource: Any, **props: Any) -> list[tuple[str, Any]]:
    """What an update to these properties sends."""
    world.sent()
    after = world.stack({"r": {"type": resource.type(), "properties": props}}).defn.resource_definition("r")
    drive(lifecycle.update(resource, after), resource)
    return world.sent()


@pytest.mark.parametrize("case", AS_ASKED)
def test_what_is_as_it_was_asked_for(objects: World, case: str) -> None:
    kind, props = AS_ASKED[case]
    resource = objects.create(kind, **props)
    assert updated(objects, resource, **props) == []


def test_a_gateway_that_the_service_chose_leaves_other_changes_alone(objects: World) -> None:
    """Heat takes its address for another value than ``auto``, to which no subnet can be changed."""
    subnet = objects.create("Subnet", **SUBNET, gateway_ip="auto")
    [(_request, body)] = updated(objects, subnet, **SUBNET, gateway_ip="auto", enable_dhcp=False)
    assert body == {"subnet": {"enable_dhcp": False}}


def test_a_subport_that_somebody_took_away_comes_back(objects: World) -> None:
    """Heat cannot read what the service has as what the template has: the update fails."""
    trunk = objects.create("Trunk", port="parent", sub_ports=[SUBPORT])
    [sub] = objects.neutron.trunks.objects[trunk.resource_id].pop("sub_ports")
    objects.neutron.trunks.objects[trunk.resource_id]["sub_ports"] = []
    [(request, body)] = updated(objects, trunk, port="parent", sub_ports=[SUBPORT])
    assert request.endswith("/add_subports") and body == {"sub_ports": [sub]}


def test_a_subport_that_somebody_added_goes(objects: World) -> None:
    trunk = objects.create("Trunk", port="parent", sub_ports=[SUBPORT])
    foreign = next(one["id"] for one in objects.neutron.ports.objects.values() if one["name"] == "other")
    objects.neutron.trunks.objects[trunk.resource_id]["sub_ports"].append(
        {"port_id": foreign, "segmentation_type": "vlan", "segmentation_id": 8}
    )
    [(request, body)] = updated(objects, trunk, port="parent", sub_ports=[SUBPORT])
    assert request.endswith("/remove_subports") and body == {"sub_ports": [{"port_id": foreign}]}


def test_another_scope_of_a_pool_is_set_right(objects: World) -> None:
    pool = objects.create("SubnetPool", prefixes=["10.0.0.0/8"], address_scope="scope")
    right = objects.neutron.pools.objects[pool.resource_id]["address_scope_id"]
    objects.neutron.pools.objects[pool.resource_id]["address_scope_id"] = objects.neutron.scopes.add(name="s")["id"]
    [(_request, body)] = updated(objects, pool, prefixes=["10.0.0.0/8"], address_scope="scope")
    assert body == {"subnetpool": {"address_scope_id": right}}
