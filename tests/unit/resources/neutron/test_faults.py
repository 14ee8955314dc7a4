# SPDX-License-Identifier: Apache-2.0
"""Answers that are lost, services that are busy, and engines that die: nothing is made twice or left behind."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.common.exceptions import ResourceFailure, UpdateReplace
from openkeel_heat.resources.kit import lifecycle, rest as kit
from openkeel_heat.resources.kit.resuming import resume_action
from tests.fixtures.rest_server import Collection
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive
from tests.unit.resources.neutron import test_requests as lives
from tests.unit.resources.neutron.conftest import World
from tests.unit.resources.neutron.test_requests import LIVES, PORT, REFERENCES, ROUTER, SUBNET, objects

__all__ = ["objects"]

#: Those that are objects: of a creation without an answer they find their own.
OBJECTS = [kind for kind in LIVES if kind not in REFERENCES]


def made_by(world: World, kind: str) -> list[dict[str, Any]]:
    """The objects that a creation of this kind makes, whatever the number."""
    path = "/v2.0/" + LIVES[kind][1][0][0].removeprefix("POST /")
    neutron = world.neutron
    everything: list[Collection] = [*neutron.collections, *neutron.forwardings.values(), *neutron.qos_rules.values()]
    known = {value for value in vars(lives).values() if isinstance(value, str)}
    return [
        one
        for collection in everything
        for one in collection.objects.values()
        if (collection.path == path or path.endswith(f"/{collection.keys}"))
        and one["id"] not in known
        and one is not neutron.default_group
        and one.get("created_at")
    ]


@pytest.mark.parametrize("kind", OBJECTS)
def test_a_creation_without_an_answer(objects: World, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit, "LOOK_PAUSE", 0.01)
    creation = LIVES[kind][1][0][0].replace("POST ", "/v2.0")
    objects.neutron.fault("POST", creation, cut=True, after=True)
    resource = objects.create(kind, **LIVES[kind][0])
    assert [one["id"] for one in made_by(objects, kind)] == [resource.resource_id]
    assert objects.neutron.count("POST", creation) == 1
    objects.delete(resource)
    assert made_by(objects, kind) == []


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_engine_dies_before_it_could_note_the_id(objects: World, kind: str) -> None:
    resource = objects.create(kind, **LIVES[kind][0])
    resource.record.action, resource.record.status, resource.record.nova_instance = "CREATE", "IN_PROGRESS", None
    heir = objects.stack({"r": {"type": f"OS::Neutron::{kind}", "properties": LIVES[kind][0]}})["r"]
    heir.load_record(resource.record)
    objects.sent()
    drive(resume_action(heir), heir)
    assert heir.state == ("CREATE", "COMPLETE")
    assert len(made_by(objects, kind)) == 1
    creation = LIVES[kind][1][0][0]
    assert [request for request, _body in objects.sent() if request == creation] == []


@pytest.mark.parametrize("kind", LIVES)
def test_a_busy_service_is_asked_again(objects: World, kind: str) -> None:
    """Each request once refused: all is done once, and nothing twice."""
    before, creation, after, update, deletion = LIVES[kind]
    busy = [objects.neutron.fault(method, ".*", status=503, message="busy") for method in ("POST", "PUT")]
    resource = objects.create(kind, **before)
    assert [one.times for one in busy].count(0) >= 1
    refused = 2 - sum(one.times for one in busy)
    assert len(objects.sent()) == len(creation) + refused
    if after:
        objects.neutron.fault("PUT", ".*", status=503, message="busy")
        objects.update(resource, **after)
    objects.neutron.fault("DELETE", ".*", status=429, headers={"Retry-After": "0"})
    objects.delete(resource)


def test_tags_of_an_interrupted_creation(objects: World) -> None:
    """The object was made and known when the engine died; its tags were not."""
    resource = objects.create("Net", tags=["a"])
    network = objects.neutron.networks.objects[resource.resource_id]
    network["tags"] = []
    resource.record.action, resource.record.status = "CREATE", "IN_PROGRESS"
    heir = objects.stack({"r": {"type": "OS::Neutron::Net", "properties": {"tags": ["a"]}}})["r"]
    heir.load_record(resource.record)
    drive(resume_action(heir), heir)
    assert heir.state == ("CREATE", "COMPLETE") and network["tags"] == ["a"]


def test_an_object_in_place_of_one_that_failed(objects: World, option: Option, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets its tags as well."""
    monkeypatch.setattr(lifecycle.clock, "backoff", lambda *args, **more: 0)
    networks = objects.neutron.networks
    make = networks.create
    monkeypatch.setattr(networks, "create", lambda request: _first_in_error(networks, make(request)))
    resource = objects.create("Net", tags=["a"])
    (network,) = [one for one in networks.objects.values() if one["id"] != lives.NET]
    assert network["id"] == resource.resource_id and network["tags"] == ["a"]
    assert objects.neutron.count("POST") == 2


def _first_in_error(networks: Collection, made: tuple[int, Any]) -> tuple[int, Any]:
    if len(networks.objects) == 2 and not hasattr(networks, "failed_once"):
        networks.failed_once = True  # type: ignore[attr-defined]
        made[1]["network"]["status"] = "ERROR"
    return made


def test_an_interface_that_is_another_stacks(objects: World) -> None:
    """One that was there before is not taken for our own."""
    objects.neutron.ports.add(
        network_id=lives.NET,
        device_id=ROUTER,
        device_owner="network:router_interface",
        created_at="2020-01-01T00:00:00Z",
        security_groups=[],
        fixed_ips=[{"subnet_id": SUBNET, "ip_address": "10.0.0.1"}],
    )
    resource = objects.make("RouterInterface", router=ROUTER, subnet=SUBNET)
    with pytest.raises(Exception, match="Router already has a port on subnet"):
        drive(lifecycle.create(resource), resource)
    assert resource.resource_id is None


def test_an_interface_whose_answer_was_lost(objects: World) -> None:
    objects.neutron.fault("PUT", ".*add_router_interface", cut=True, after=True)
    resource = objects.create("RouterInterface", router=ROUTER, subnet=SUBNET)
    assert resource.resource_id == f"{ROUTER}:subnet_id={SUBNET}"
    objects.delete(resource)
    assert not [port for port in objects.neutron.ports.objects.values() if port["device_id"] == ROUTER]


class Stopped(BaseException):
    """Somebody does not want it any more."""


def interfaces(world: World) -> list[str]:
    return [port["id"] for port in world.neutron.ports.objects.values() if port["device_id"] == ROUTER]


def test_an_interface_whose_creation_is_stopped_before_it_could_ask_again(objects: World) -> None:
    """It may be there, so who deletes the resource looks for it."""
    objects.neutron.fault("PUT", ".*add_router_interface", cut=True, after=True)
    resource = objects.make("RouterInterface", router=ROUTER, subnet=SUBNET)
    driver = Driver(lifecycle.create(resource), resource).run(until=lifecycle.Pause)
    driver.throw(Stopped())
    with pytest.raises(Stopped):
        driver.run()
    assert resource.state == ("CREATE", "FAILED") and resource.resource_id is None and len(interfaces(objects)) == 1
    objects.delete(resource)
    assert interfaces(objects) == []


def test_an_interface_over_which_the_service_broke_down(objects: World) -> None:
    objects.neutron.fault("PUT", ".*add_router_interface", after=True, status=500)
    resource = objects.make("RouterInterface", router=ROUTER, subnet=SUBNET)
    with pytest.raises(ResourceFailure):
        drive(lifecycle.create(resource), resource)
    assert len(interfaces(objects)) == 1
    objects.delete(resource)
    assert interfaces(objects) == []


def test_an_interface_that_may_be_there_is_not_in_the_way_of_its_replacement(objects: World) -> None:
    objects.neutron.fault("PUT", ".*add_router_interface", after=True, status=500)
    resource = objects.make("RouterInterface", router=ROUTER, subnet=SUBNET)
    with pytest.raises(ResourceFailure):
        drive(lifecycle.create(resource), resource)
    with pytest.raises(UpdateReplace):
        objects.update(resource, router=ROUTER, subnet=SUBNET)
    assert interfaces(objects) == []


def test_a_port_that_may_be_there_frees_its_address_for_its_replacement(objects: World) -> None:
    objects.neutron.fault("POST", ".*/ports", after=True, status=500)
    there = set(objects.neutron.ports.objects)
    resource = objects.make("Port", network="net")
    with pytest.raises(ResourceFailure):
        drive(lifecycle.create(resource), resource)
    with pytest.raises(UpdateReplace):
        objects.update(resource, network="net")
    (made,) = set(objects.neutron.ports.objects) - there
    assert objects.neutron.ports.objects[made]["fixed_ips"] == []


def test_an_association_over_which_the_service_broke_down(objects: World) -> None:
    objects.neutron.fault("PUT", ".*/floatingips/.*", after=True, status=500)
    resource = objects.make("FloatingIPAssociation", floatingip_id=lives.FIP, port_id=PORT)
    floating_ip = objects.neutron.floatingips.objects[lives.FIP]
    with pytest.raises(ResourceFailure):
        drive(lifecycle.create(resource), resource)
    assert floating_ip["port_id"] == PORT
    objects.delete(resource)
    assert floating_ip["port_id"] is None


@pytest.mark.parametrize(
    ("kind", "properties", "field"),
    [
        ("RouterGateway", {"router_id": ROUTER, "network": lives.NET}, "external_gateway_info"),
        ("ExtraRoute", {"router_id": ROUTER, "destination": "10.9.0.0/24", "nexthop": "10.0.0.9"}, "routes"),
    ],
)
def test_a_change_of_a_router_over_which_the_service_broke_down(
    objects: World, kind: str, properties: dict[str, Any], field: str
) -> None:
    router = objects.neutron.routers.objects[ROUTER]
    before = router[field]
    objects.neutron.fault("PUT", ".*/routers/.*", after=True, status=500)
    resource = objects.make(kind, **properties)
    with pytest.raises(ResourceFailure):
        drive(lifecycle.create(resource), resource)
    assert resource.resource_id is None and router[field] != before
    with pytest.raises(UpdateReplace):
        objects.update(resource, **properties)
    assert not router[field], "it is not in the way of its replacement"
    objects.delete(objects.create(kind, **properties))
    objects.delete(resource)
    assert not router[field]


def test_a_route_of_somebody_else_stays(objects: World) -> None:
    routes = [{"destination": "10.9.0.0/24", "nexthop": "10.0.0.9"}]
    objects.neutron.routers.objects[ROUTER]["routes"] = routes
    resource = objects.make("ExtraRoute", router_id=ROUTER, **routes[0])
    with pytest.raises(ResourceFailure, match="duplicates"):
        drive(lifecycle.create(resource), resource)
    objects.delete(resource)
    assert objects.neutron.routers.objects[ROUTER]["routes"] == routes


def test_ids_of_interfaces_of_old_times(objects: World) -> None:
    resource = objects.create("RouterInterface", router=ROUTER, subnet=SUBNET)
    resource.record.nova_instance = f"{ROUTER}:{SUBNET}"
    objects.sent()
    objects.delete(resource)
    assert objects.sent() == [(f"PUT /routers/{ROUTER}/remove_router_interface", {"subnet_id": SUBNET})]


@pytest.mark.parametrize(
    ("kind", "properties", "request_", "conflict"),
    [
        ("Net", {}, "DELETE", "NetworkInUse"),
        ("RouterInterface", {"router": ROUTER, "subnet": SUBNET}, "PUT", "RouterInterfaceInUseByFloatingIP"),
    ],
)
def test_a_deletion_that_comes_too_early_is_tried_again(
    objects: World, kind: str, properties: dict[str, Any], request_: str, conflict: str
) -> None:
    resource = objects.create(kind, **properties)
    objects.neutron.fault(request_, ".*", times=2, status=409, kind=conflict, message="still used")
    objects.delete(resource)


def test_a_quota_that_is_used_up_is_not_tried_again(objects: World) -> None:
    objects.neutron.fault("POST", ".*/ports", status=409, kind="OverQuota", message="Quota exceeded for: ['port'].")
    resource = objects.make("Port", network="net")
    with pytest.raises(Exception, match=r"OverQuotaClient: resources.r: Quota exceeded for: \['port'\]."):
        drive(lifecycle.create(resource), resource)
    assert resource.state == ("CREATE", "FAILED")
    assert objects.neutron.count("POST") == 1


def test_an_extension_that_is_missing(objects: World) -> None:
    objects.neutron.extensions.discard("trunk")
    with pytest.raises(Exception, match="Required extension trunk in neutron service is not available"):
        objects.make("Trunk", port=PORT).validate()


def test_routes_of_another_stack_are_not_taken(objects: World) -> None:
    route = {"destination": "10.7.0.0/24", "nexthop": "10.0.0.5"}
    router = objects.neutron.routers.objects[ROUTER]
    router["routes"] = [route]
    for kind, properties, text in (
        ("ExtraRoute", {"router_id": ROUTER, **route}, "Route duplicates an existing"),
        (
            "ExtraRouteSet",
            {"router": ROUTER, "routes": [route]},
            f"The physical resource for \\({ROUTER},10.7.0.0/24=10.0.0.5\\) exists",
        ),
    ):
        resource = objects.make(kind, **properties)
        with pytest.raises(Exception, match=text):
            drive(lifecycle.create(resource), resource)
        drive(lifecycle.delete(resource), resource)
    assert router["routes"] == [route]


@pytest.mark.parametrize("kind", [kind for kind in REFERENCES if kind != "ExtraRouteSet"])
def test_a_connection_in_place_of_the_same_one_stays(objects: World, kind: str) -> None:
    """It was gone, and is made anew; then the resource that is replaced is deleted."""
    properties = LIVES[kind][0]
    old = objects.create(kind, **properties)
    drive(lifecycle.delete(old), old)
    old.record.action, old.record.status = "CHECK", "FAILED"
    new = objects.create(kind, **properties)
    old.record.replaced_by, old.stack.replacements[99] = 99, new
    objects.sent()
    objects.delete(old)
    assert objects.sent() == [] and objects.check(new) == ""
    objects.delete(new)
    assert objects.check(new) != ""


@pytest.mark.parametrize("kind", REFERENCES)
def test_a_connection_that_is_marked_unhealthy_but_is_there_is_made_anew(objects: World, kind: str) -> None:
    properties = LIVES[kind][0]
    old = objects.create(kind, **properties)
    old.record.action, old.record.status = "CHECK", "FAILED"
    after = objects.stack({"r": {"type": old.type(), "properties": properties}}).defn.resource_definition("r")
    with pytest.raises(UpdateReplace):
        drive(lifecycle.update(old, after), old)
    new = objects.create(kind, **properties)
    old.record.replaced_by, old.stack.replacements[99] = 99, new
    objects.delete(old)
    assert objects.check(new) == ""


def test_a_gateway_to_another_network_stays(objects: World) -> None:
    old = objects.create("RouterGateway", router_id=ROUTER, network=lives.NET)
    other = objects.neutron.networks.add(name="other")["id"]
    new = objects.create("RouterGateway", router_id=ROUTER, network="other")
    old.record.replaced_by, old.stack.replacements[99] = 99, new
    objects.delete(old)
    assert objects.neutron.routers.objects[ROUTER]["external_gateway_info"] == {"network_id": other}


ROUTES = [{"destination": f"10.{net}.0.0/24", "nexthop": "10.0.0.5"} for net in (5, 6, 7)]


def test_an_engine_dies_while_routes_are_changed(objects: World) -> None:
    """What it has added is not taken for a route of somebody else."""
    resource = objects.create("ExtraRouteSet", router=ROUTER, routes=ROUTES[:2])
    after = objects.stack({"r": {"type": resource.type(), "properties": {"router": ROUTER, "routes": ROUTES[1:]}}})
    resource.frozen_definition()
    resource.handle_update(None, None, {"routes": ROUTES[1:]})
    resource.record.action, resource.record.status = "UPDATE", "IN_PROGRESS"
    drive(resume_action(resource, after.defn.resource_definition("r")), resource)
    assert resource.state == ("UPDATE", "COMPLETE")
    assert objects.neutron.routers.objects[ROUTER]["routes"] == ROUTES[1:]


def test_routes_that_are_refused_are_not_removed_later(objects: World) -> None:
    objects.neutron.fault("PUT", ".*add_extraroutes", status=400, kind="RoutesInvalid", message="not connected")
    resource = objects.make("ExtraRouteSet", router=ROUTER, routes=ROUTES)
    with pytest.raises(Exception, match="not connected"):
        drive(lifecycle.create(resource), resource)
    assert resource.resource_id is None and resource.needs_replace_failed()
    objects.sent()
    objects.delete(resource)
    assert objects.sent() == []


def test_a_floating_ip_that_went_to_another_port_stays_there(objects: World) -> None:
    resource = objects.create("FloatingIPAssociation", floatingip_id=lives.FIP, port_id=PORT)
    objects.neutron.floatingips.objects[lives.FIP]["port_id"] = lives.OTHER
    objects.delete(resource)
    assert objects.neutron.floatingips.objects[lives.FIP]["port_id"] == lives.OTHER


def test_names_are_looked_for_as_long_as_the_service_says_later(world: World) -> None:
    """When properties are checked, too: nothing is wrong with them."""
    world.neutron.networks.add(name="net")
    world.neutron.fault("GET", "/v2.0/networks", times=8, status=503)
    port = world.create("Port", network="net")
    assert len(world.neutron.ports.objects) == 1
    world.neutron.groups.add("g", name="g")
    world.neutron.fault("GET", "/v2.0/security-groups", times=8, status=503)
    world.update(port, network="net", security_groups=["g"])
    assert world.neutron.ports.objects[port.resource_id]["security_groups"] == ["g"]
