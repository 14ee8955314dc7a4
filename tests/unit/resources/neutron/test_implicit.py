# SPDX-License-Identifier: Apache-2.0
"""Edges between objects of the network service that no template names."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from openkeel_heat.engine import edges
from openkeel_heat.engine.stack import Stack
from openkeel_heat.template import Template
from openkeel_heat.template.environment import Environment
from tests.unit.resources.fakes import hot
from tests.unit.resources.neutron.conftest import World

VECTORS = json.loads((pathlib.Path(__file__).parents[3] / "contract" / "data" / "graph-vectors.json").read_text())[
    "vectors"
]


def own(name: str) -> dict[str, str]:
    return {"get_resource": name}


def neutron(kind: str, /, **props: Any) -> dict[str, Any]:
    return {"type": f"OS::Neutron::{kind}", "properties": props}


def stack_of(world: World, template: dict[str, Any]) -> Stack:
    return Stack(world.cloud.context, "st", Template.load(template, env=Environment({})))


def implicit(world: World, **resources: dict[str, Any]) -> set[tuple[str, str]]:
    """The edges that types add to those of the template."""
    stack = stack_of(world, hot(resources))
    explicit = set(edges.dependencies(stack, explicit_only=True).edges())
    return {(one, other) for one, other in set(edges.dependencies(stack).edges()) - explicit if other is not None}


@pytest.mark.parametrize("vector", [
    pytest.param(vector, id=vector["label"]) for vector in VECTORS
    if "edges_with_implicit" in vector and "OS::Neutron" in json.dumps(vector["template"])
    and "OS::Nova" not in json.dumps(vector["template"])])  # fmt: skip
def test_as_heat_has_them(world: World, vector: dict[str, Any]) -> None:
    found = edges.dependencies(stack_of(world, vector["template"]))
    assert sorted(found.edges(), key=repr) == sorted(map(tuple, vector["edges_with_implicit"]), key=repr)
    assert {name: sorted(found.required_by(name)) for name in vector["resources"]} == vector["required_by"]


NET = {"net": neutron("Net"), "sub": neutron("Subnet", network=own("net"), cidr="10.0.0.0/24")}
OTHER = {"other": neutron("Net"), "elsewhere": neutron("Subnet", network=own("other"), cidr="10.1.0.0/24")}
ROUTER = {"router": neutron("Router"), "ri": neutron("RouterInterface", router=own("router"), subnet=own("sub"))}


def test_a_port_waits_for_the_subnets_of_its_network_only(world: World) -> None:
    assert implicit(world, **NET, **OTHER, port=neutron("Port", network=own("net"))) == {("port", "sub")}


def test_networks_that_a_stack_does_not_have_are_the_same_by_their_names(world: World) -> None:
    found = implicit(
        world,
        sub=neutron("Subnet", network="private", cidr="10.0.0.0/24"),
        port=neutron("Port", network_id="private"),
        stranger=neutron("Port", network="public"),
    )
    assert found == {("port", "sub")}


@pytest.mark.parametrize(
    ("fixed_ips", "waits"), [(None, True), ([{"subnet": own("sub")}], True), ([{"subnet": own("elsewhere")}], False)]
)
def test_a_floating_ip_waits_for_the_interface_on_the_subnet_of_its_port(
    world: World, fixed_ips: Any, waits: bool
) -> None:
    """Also when the port does not say which subnet of its network it is on: Heat looks for that too late."""
    given = {} if fixed_ips is None else {"fixed_ips": fixed_ips}
    found = implicit(
        world,
        **NET,
        **OTHER,
        **ROUTER,
        port=neutron("Port", network=own("net"), **given),
        fip=neutron("FloatingIP", floating_network="public", port_id=own("port")),
    )
    assert (("fip", "ri") in found) == waits


def test_an_interface_on_a_port_may_be_any_ports_way_out(world: World) -> None:
    found = implicit(
        world,
        **NET,
        mine=neutron("Port", network=own("net")),
        router=neutron("Router"),
        ri=neutron("RouterInterface", router=own("router"), port=own("mine")),
        port=neutron("Port", network=own("net")),
        fa=neutron("FloatingIPAssociation", floatingip_id="f", port_id=own("port")),
    )
    assert ("fa", "ri") in found


@pytest.mark.parametrize(("network", "waits"), [("here", True), ("there", False)])
def test_subnets_of_others_are_looked_up(world: World, network: str, waits: bool) -> None:
    net = world.neutron.networks.add(name="here")
    world.neutron.networks.add(name="there")
    world.neutron.subnets.add(name="theirs", network_id=net["id"], cidr="10.0.0.0/24", gateway_ip="10.0.0.1")
    found = implicit(
        world,
        ri=neutron("RouterInterface", router="r", subnet="theirs"),
        port=neutron("Port", network=network),
        fip=neutron("FloatingIP", floating_network="public", port_id=own("port")),
    )
    assert (("fip", "ri") in found) == waits


def test_what_cannot_be_looked_up_makes_no_edge(world: World) -> None:
    found = implicit(
        world,
        ri=neutron("RouterInterface", router="r", subnet="nobody's"),
        port=neutron("Port", network="nobody's either"),
        fip=neutron("FloatingIP", floating_network="public", port_id=own("port")),
    )
    assert ("fip", "ri") not in found


def test_a_floating_ip_waits_for_the_gateway_of_a_router(world: World) -> None:
    found = implicit(
        world,
        router=neutron("Router", external_gateway_info={"network": "public"}),
        another=neutron("Router", external_gateway_info={"network": "else"}),
        plain=neutron("Router"),
        fip=neutron("FloatingIP", floating_network="public"),
    )
    assert found == {("fip", "router")}


@pytest.mark.parametrize("wrong", [{"network": ["not", "a", "name"]}, {"network": "a", "network_id": "b"}, {}])
def test_unreadable_properties_are_left_to_validation(world: World, wrong: dict[str, Any]) -> None:
    assert implicit(world, **NET, port=neutron("Port", **wrong)) == set()


def test_properties_are_read_once_for_a_graph(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of n ports costs n readings, not n times n."""
    from openkeel_heat.resources.neutron.subnet import Subnet

    asked = []
    has_interface = Subnet.has_interface
    monkeypatch.setattr(Subnet, "has_interface", lambda self, name: asked.append(name) or has_interface(self, name))
    ports = {f"port{number}": neutron("Port", network=own("net")) for number in range(20)}
    assert len(implicit(world, **NET, **ports)) == 20
    assert len(asked) == 1


def test_plugins_see_resources_in_the_graph(world: World) -> None:
    """``deps.graph()[self]`` is how plugins written for Heat look at what they require."""
    stack = stack_of(world, hot({**NET, "port": neutron("Port", network=own("net"))}))
    view = edges._PluginView(edges.dependencies(stack), stack)
    port = stack["port"]
    assert {one.name for one in view.graph()[port]} == {"net", "sub"}
    assert {one.name for one in view.requires(port)} == {"net", "sub"}
