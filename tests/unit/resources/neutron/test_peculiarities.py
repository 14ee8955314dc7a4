# SPDX-License-Identifier: Apache-2.0
"""What single types do beyond the life that all have: gateways of subnets, agents, subports, validation."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import lifecycle
from tests.unit.conftest import Option
from tests.unit.resources.fakes import drive, hot
from tests.unit.resources.neutron.conftest import World


@pytest.fixture
def net(world: World) -> str:
    return str(world.neutron.networks.add(name="net")["id"])


def refused_update(world: World, resource: Any, /, **props: Any) -> str:
    after = world.stack({"r": {"type": resource.type(), "properties": props}}).defn.resource_definition("r")
    with pytest.raises(Exception) as refusal:
        drive(lifecycle.update(resource, after), resource)
    return str(refusal.value)


# subnets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, "(nothing)"),
        ({"gateway_ip": "auto"}, "(nothing)"),
        ({"gateway_ip": ""}, None),
        ({"gateway_ip": None}, None),
        ({"gateway_ip": "10.0.0.5"}, "10.0.0.5"),
    ],
)
def test_gateways(world: World, net: str, given: dict[str, Any], sent: Any) -> None:
    world.create("Subnet", network=net, cidr="10.0.0.0/24", **given)
    assert world.neutron.bodies("POST")[0]["subnet"].get("gateway_ip", "(nothing)") == sent


def test_a_gateway_is_taken_away(world: World, net: str) -> None:
    subnet = world.create("Subnet", network=net, cidr="10.0.0.0/24", gateway_ip="10.0.0.5")
    world.update(subnet, network=net, cidr="10.0.0.0/24")
    assert world.neutron.bodies("PUT") == [{"subnet": {"gateway_ip": None}}]
    assert 'The value "auto" for gateway_ip cannot be used to update' in refused_update(
        world, subnet, network=net, cidr="10.0.0.0/24", gateway_ip="auto", tags=["t"]
    )
    assert world.neutron.count("PUT") == 1, "what is refused is refused before anything is changed"


def test_a_segment_is_given_once(world: World, net: str) -> None:
    segments = [world.neutron.segments.add(name=name, network_id=net)["id"] for name in "ab"]
    subnet = world.create("Subnet", network=net, cidr="10.0.0.0/24")
    world.update(subnet, network=net, cidr="10.0.0.0/24", segment="a")
    assert world.neutron.bodies("PUT") == [{"subnet": {"segment_id": segments[0]}}]
    assert "only allowed when the current segment_id is None" in refused_update(
        world, subnet, network=net, cidr="10.0.0.0/24", segment="b", tags=["t"]
    )
    assert world.neutron.count("PUT") == 1


def test_a_pool_only_grows(world: World) -> None:
    pool = world.create("SubnetPool", prefixes=["10.0.0.0/16", "10.1.0.0/16"])
    text = refused_update(world, pool, prefixes=["10.0.0.0/16"], tags=["t"])
    assert "should be superset of existing value" in text and pool.state == ("UPDATE", "FAILED")
    assert world.neutron.count("PUT") == 0


# networks and routers -----------------------------------------------------------------------------


def test_segments_of_a_network(world: World, net: str) -> None:
    """The one that came with it has no name, and is the first."""
    network = world.create("Net")
    for name in ("b", None, "a"):
        world.neutron.segments.add(name=name, network_id=network.resource_id)
    world.neutron.segments.add(name="foreign", network_id=net)
    assert [segment["name"] for segment in network.FnGetAtt("segments")] == [None, "b", "a"]


@pytest.mark.parametrize(
    ("live", "given", "repaired"), [(["a"], None, []), (["a"], ["a"], []), (["b"], ["a"], ["POST", "DELETE"])]
)
def test_agents_that_nobody_asked_for_stay(
    world: World, option: Option, live: list[str], given: Any, repaired: list[str]
) -> None:
    props = {} if given is None else {"dhcp_agent_ids": given}
    network = world.create("Net", **props)
    world.neutron.dhcp_agents.clear()
    world.neutron.dhcp_agents.update({agent: {network.resource_id} for agent in live})
    option("observe_on_update", True)
    world.sent()
    after = world.stack({"r": {"type": "OS::Neutron::Net", "properties": props}}).defn.resource_definition("r")
    drive(lifecycle.update(network, after), network)
    assert [request.split()[0] for request, _body in world.sent()] == repaired


def test_who_may_not_see_agents_sees_no_drift(world: World, option: Option) -> None:
    network = world.create("Net", dhcp_agent_ids=["a"])
    option("observe_on_update", True)
    world.neutron.fault("GET", ".*/dhcp-agents", times=9, status=403, kind="PolicyNotAuthorized")
    after = world.stack({"r": {"type": "OS::Neutron::Net", "properties": {"dhcp_agent_ids": ["a"]}}})
    world.sent()
    drive(lifecycle.update(network, after.defn.resource_definition("r")), network)
    assert world.sent() == []


@pytest.mark.parametrize(
    ("gateway", "repaired"),
    [
        ({"network_id": "(net)", "enable_snat": True, "external_fixed_ips": [{"subnet_id": "s"}]}, False),
        (None, True),
        ({"network_id": "other", "enable_snat": True, "external_fixed_ips": []}, True),
    ],
)
def test_drift_of_a_gateway(world: World, net: str, option: Option, gateway: Any, repaired: bool) -> None:
    props = {"external_gateway_info": {"network": "net"}}
    router = world.create("Router", **props)
    live = gateway and {**gateway, "network_id": gateway["network_id"].replace("(net)", net)}
    world.neutron.routers.objects[router.resource_id]["external_gateway_info"] = live
    option("observe_on_update", True)
    world.sent()
    after = world.stack({"r": {"type": "OS::Neutron::Router", "properties": props}}).defn.resource_definition("r")
    drive(lifecycle.update(router, after), router)
    assert [body for _request, body in world.sent()] == (
        [{"router": {"external_gateway_info": {"network_id": net}}}] if repaired else []
    )


@pytest.mark.parametrize("status", ["ERROR", "DEGRADED", "ALLOCATING"])
def test_what_state_a_router_is_in_is_nothing_to_its_update(world: World, status: str) -> None:
    """It would fail, and the next update would replace the router with all that is connected to it."""
    router = world.create("Router")
    world.neutron.routers.objects[router.resource_id]["status"] = status
    world.update(router, name="n")
    assert world.neutron.routers.objects[router.resource_id]["name"] == "n"


def test_the_only_agent_by_its_former_name(world: World) -> None:
    router = world.create("Router", l3_agent_id="agent")
    assert world.neutron.l3_agents == {"agent": {router.resource_id}}


def test_a_providers_network_keeps_what_the_service_chose(world: World, option: Option) -> None:
    """Heat replaces it each time: the project and the zones that nobody gave are no drift."""
    props = {"network_type": "vlan", "physical_network": "p", "segmentation_id": "101"}
    network = world.create("ProviderNet", **props)
    world.neutron.networks.objects[network.resource_id].update(
        {"provider:segmentation_id": 101, "availability_zone_hints": [], "tenant_id": "project"}
    )
    option("observe_on_update", True)
    world.sent()
    after = world.stack({"r": {"type": "OS::Neutron::ProviderNet", "properties": props}})
    drive(lifecycle.update(network, after.defn.resource_definition("r")), network)
    assert world.sent() == []
    world.neutron.networks.objects[network.resource_id]["provider:segmentation_id"] = 102
    drive(lifecycle.update(network, after.defn.resource_definition("r")), network)
    assert [body for _request, body in world.sent()] == [{"network": {"provider:segmentation_id": "101"}}]


# quotas and gateways ------------------------------------------------------------------------------


def test_limits_are_given_back(world: World) -> None:
    """Heat deletes limits of a project that has the name of the resource: there is none, and they stay."""
    world.cloud.clients._plugins["keystone"] = _Keystone()
    quota = world.create("Quota", project="name", port=5, network=2)
    assert world.neutron.quotas == {"project-id": {"port": 5, "network": 2}}
    world.update(quota, project="name", port=6)
    assert world.neutron.quotas["project-id"]["port"] == 6
    assert world.check(quota) == ""
    world.delete(quota)
    assert world.neutron.quotas == {}


class _Keystone:
    def get_project_id(self, name: str) -> str:
        return {"name": "project-id"}.get(name, name)

    def is_not_found(self, error: Exception) -> bool:
        return False


def test_devices_of_a_gateway_cannot_be_changed_so_it_is_made_anew(world: World, net: str) -> None:
    connections = [{"network": "net", "segmentation_type": "vlan", "segmentation_id": 7}]
    gateway = world.create("NetworkGateway", devices=[{"id": "d", "interface_name": "e"}], connections=connections)
    before = gateway.resource_id
    world.update(gateway, devices=[{"id": "other", "interface_name": "e"}], connections=connections)
    assert gateway.resource_id != before
    assert list(world.neutron.gateways.objects) == [gateway.resource_id]
    assert world.neutron.gateways.objects[gateway.resource_id]["connected"] == [
        {"network_id": net, "segmentation_type": "vlan", "segmentation_id": 7}
    ]


# plugins of others --------------------------------------------------------------------------------


class _Client:
    """What such a plugin calls of the Python client of the service."""

    def __init__(self) -> None:
        self.things: dict[str, dict[str, Any]] = {}
        self.tags: dict[str, Any] = {}

    def create_thing(self, body: dict[str, Any]) -> dict[str, Any]:
        self.things["t1"] = {"id": "t1", "status": "BUILD", **body["thing"]}
        return {"thing": self.things["t1"]}

    def show_thing(self, id_: str) -> dict[str, Any]:
        if id_ not in self.things:
            raise exceptions.NotFound("no thing")
        return {"thing": self.things[id_]}

    def update_thing(self, id_: str, body: dict[str, Any]) -> None:
        self.things[id_].update(body["thing"])

    def delete_thing(self, id_: str) -> None:
        del self.things[id_]

    def replace_tag(self, plural: str, id_: str, body: dict[str, Any]) -> None:
        self.tags[f"{plural}/{id_}"] = body["tags"]


def test_a_plugin_written_for_heat(
    world: World, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Its own handlers, the helpers of the base class, and the service's Python client."""
    from heat.engine import properties  # type: ignore[import-not-found]
    from heat.engine.resources.openstack.neutron import neutron  # type: ignore[import-not-found]

    from openkeel_heat.resources.kit import registry

    class Thing(neutron.NeutronResource):  # type: ignore[misc]
        entity = "thing"
        VALUE_SPECS = "value_specs"
        properties_schema = {
            "name": properties.Schema("String", update_allowed=True),
            "size": properties.Schema("Integer", update_allowed=True),
            "value_specs": properties.Schema("Map", default={}, update_allowed=True),
        }

        def handle_create(self) -> None:
            props = self.prepare_properties(self.properties, self.physical_resource_name())
            self.resource_id_set(self.client().create_thing({"thing": props})["thing"]["id"])
            self.set_tags(["a"])

        def check_create_complete(self, *args: Any) -> bool:
            return bool(self.is_built(self._show_resource()))

        def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
            self.prepare_update_properties(prop_diff)
            self.client().update_thing(self.resource_id, {"thing": prop_diff})

        def handle_delete(self) -> bool:
            self.client().delete_thing(self.resource_id)
            return True

    request.addfinalizer(registry.reset)
    registry.global_env().register_class("OS::Neutron::Thing", Thing)
    client = _Client()
    plugin = world.cloud.plugin("neutron")
    monkeypatch.setattr(plugin, "client", lambda version=None: client)
    monkeypatch.setattr(plugin, "is_not_found", lambda error: isinstance(error, exceptions.NotFound))
    thing = world.make("Thing", size=1, value_specs={"more": 2})
    life = lifecycle.create(thing)
    while not client.things:
        next(life)
    client.things["t1"]["status"] = "ACTIVE"
    drive(life, thing)
    made = client.things["t1"]
    assert (made["size"], made["more"], made["name"]) == (1, 2, thing.physical_resource_name())
    assert client.tags == {"things/t1": ["a"]}
    assert thing.FnGetAtt("show")["id"] == "t1" and not thing.needs_replace_failed()
    world.update(thing, size=2, value_specs={"more": 3})
    assert (made["size"], made["more"]) == (2, 3)
    world.delete(thing)
    assert client.things == {}


def test_fields_that_are_properties_are_not_given_as_value_specs(world: World) -> None:
    stack = world.cloud.stack(hot({"r": {"type": "OS::Neutron::Net", "properties": {"value_specs": {"name": "n"}}}}))
    assert stack["r"].validate() == "name not allowed in value_specs"
