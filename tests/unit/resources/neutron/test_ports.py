# SPDX-License-Identifier: Apache-2.0
"""Ports: addresses, groups, what the hypervisor writes into them, and how one makes room for another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openkeel_heat.common.exceptions import InvalidTemplateAttribute, UpdateReplace
from openkeel_heat.resources.kit import lifecycle
from tests.unit.conftest import Option
from tests.unit.resources.fakes import drive
from tests.unit.resources.neutron.conftest import World

Port = dict[str, Any]


@pytest.fixture
def net(world: World) -> str:
    """A network with a subnet."""
    made = world.neutron.networks.add(name="net")
    world.neutron.subnets.add(
        "00000000-0000-4000-8000-000000000001",
        name="sub",
        network_id=made["id"],
        cidr="10.0.0.0/24",
        gateway_ip="10.0.0.1",
    )
    return str(made["id"])


def port_of(world: World, resource: Any) -> Port:
    return world.neutron.ports.objects[resource.resource_id]


def addresses(port: Port) -> list[str]:
    return [entry["ip_address"] for entry in port["fixed_ips"]]


# making -------------------------------------------------------------------------------------------


def test_a_port_is_made_with_one_request(world: World, net: str) -> None:
    world.create("Port", network=net)
    requests = [str(one) for one in world.neutron.requests]
    assert requests == ["GET /v2.0/networks", "POST /v2.0/ports"]


def test_ports_of_one_network_ask_for_it_once(world: World, net: str) -> None:
    for _number in range(5):
        world.create("Port", network=net)
    assert len(world.neutron.requests) == 1 + 5


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, None),
        ({"fixed_ips": []}, None),
        ({"no_fixed_ips": True}, []),
        ({"fixed_ips": [{"subnet": "sub"}]}, [{"subnet_id": "00000000-0000-4000-8000-000000000001"}]),
        ({"fixed_ips": [{"subnet_id": "sub"}]}, [{"subnet_id": "00000000-0000-4000-8000-000000000001"}]),
        ({"fixed_ips": [{"ip_address": "10.0.0.9"}]}, [{"ip_address": "10.0.0.9"}]),
    ],
)
def test_addresses(world: World, net: str, given: dict[str, Any], sent: Any) -> None:
    """An empty list asks for an address as nothing does; to have none takes a word of its own."""
    world.create("Port", network=net, **given)
    assert world.neutron.bodies("POST")[-1]["port"].get("fixed_ips") == sent


def test_what_the_service_chose_is_noted_as_heat_notes_it(world: World, net: str) -> None:
    port = world.create("Port", network=net)
    assert port.data() == {"port_security_enabled": "1", "binding:vnic_type": "normal"}


def test_addresses_and_no_addresses(world: World, net: str) -> None:
    with pytest.raises(
        Exception, match="Cannot define the following properties at the same time: fixed_ips, no_fixed_ips"
    ):
        world.make("Port", network=net, fixed_ips=[{"subnet": "sub"}], no_fixed_ips=True).validate()


# changing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "sent"),
    [
        ({"port_security_enabled": False}, {}, None),
        ({"propagate_uplink_status": True}, {"name": "n"}, {"name": "n"}),
        ({"dns_name": "host"}, {}, {"dns_name": ""}),
        ({"fixed_ips": [{"subnet": "sub"}]}, {}, {}),
        ({}, {"no_fixed_ips": True}, {"fixed_ips": []}),
    ],
)
def test_what_is_sent_for_a_change(
    world: World, net: str, before: dict[str, Any], after: dict[str, Any], sent: dict[str, Any] | None
) -> None:
    port = world.create("Port", network=net, **before)
    world.sent()
    world.update(port, network=net, **after)
    assert [body["port"] for _request, body in world.sent()] == ([sent] if sent else [])


PROFILE = "binding:profile"


@pytest.mark.parametrize(
    ("before", "hypervisor", "after", "now"),
    [
        ({"a": 1}, {"pci_slot": "0:1"}, {"a": 2}, {"a": 2, "pci_slot": "0:1"}),
        ({"a": 1}, {"pci_slot": "0:1"}, {"a": 1, "b": 1}, {"a": 1, "b": 1, "pci_slot": "0:1"}),
        ({"a": 1, "b": 1}, {"pci_slot": "0:1"}, {"a": 1, "b": None}, {"a": 1, "pci_slot": "0:1"}),
        ({"a": 1}, {"a": "its own"}, {"a": 1, "b": 1}, {"a": "its own", "b": 1}),
        ({"a": 1}, {"pci_slot": "0:1"}, None, {"a": 1, "pci_slot": "0:1"}),
    ],
)
def test_the_profile_keeps_what_the_hypervisor_wrote(
    world: World,
    net: str,
    before: dict[str, Any],
    hypervisor: dict[str, Any],
    after: dict[str, Any] | None,
    now: dict[str, Any],
) -> None:
    port = world.create("Port", network=net, value_specs={PROFILE: before})
    port_of(world, port)[PROFILE].update(hypervisor)
    world.update(port, network=net, value_specs={PROFILE: after})
    assert port_of(world, port)[PROFILE] == now


# what there is ------------------------------------------------------------------------------------


def test_attributes(world: World, net: str) -> None:
    port = world.create("Port", network=net, fixed_ips=[{"subnet": "sub", "ip_address": "10.0.0.7"}])
    world.asked()
    assert port.FnGetAtt("fixed_ips", 0, "ip_address") == "10.0.0.7"
    assert port.FnGetAtt("network_id") == net
    assert port.FnGetAtt("network")["name"] == "net"
    assert [subnet["name"] for subnet in port.FnGetAtt("subnets")] == ["sub"]
    assert port.FnGetAtt("show")["id"] == port.resource_id
    assert world.asked() == [f"/networks/{net}", "/subnets", f"/ports/{port.resource_id}"], (
        "what was seen at its creation is not asked for again"
    )


def test_an_attribute_of_an_extension_that_is_missing_is_none_of_the_port(world: World, net: str) -> None:
    """Whoever needs it fails and is told why; null that the service shows is a value."""
    port = world.create("Port", network=net)
    with pytest.raises(InvalidTemplateAttribute, match=r"The Referenced Attribute \(r dns_assignment\) is incorrect."):
        port.FnGetAtt("dns_assignment")
    port = world.create("Port", network=net, value_specs={"dns_assignment": None})
    assert port.FnGetAtt("dns_assignment") is None


GIVEN = {
    "fixed_ips": [{"subnet": "sub"}],
    "security_groups": ["group"],
    "qos_policy": "policy",
    "allowed_address_pairs": [{"ip_address": "10.0.0.9"}],
}


@pytest.mark.parametrize(
    ("live", "repaired"),
    [
        ({}, None),
        ({"description": "by somebody", "tags": ["x"], "dns_name": "x", "port_security_enabled": False}, None),
        ({"admin_state_up": False}, {"admin_state_up": True}),
        ({"security_groups": []}, {"security_groups": ["(group)"]}),
        ({"qos_policy_id": None}, {"qos_policy_id": "(policy)"}),
        ({"fixed_ips": []}, {"fixed_ips": [{"subnet_id": "00000000-0000-4000-8000-000000000001"}]}),
        ({"allowed_address_pairs": []}, {"allowed_address_pairs": [{"ip_address": "10.0.0.9"}]}),
    ],
)
def test_drift_is_what_is_not_as_asked_for(
    world: World, net: str, option: Option, live: dict[str, Any], repaired: dict[str, Any] | None
) -> None:
    """With observe_on_update; names are as good as the ids of what they name."""
    group = world.neutron.groups.add(name="group")["id"]
    policy = world.neutron.policies.add(name="policy")["id"]
    port = world.create("Port", network=net, **GIVEN)
    port_of(world, port)["allowed_address_pairs"] = [{"ip_address": "10.0.0.9", "mac_address": "fa:16:3e:00:00:01"}]
    port_of(world, port).update(live)
    world.sent()
    option("observe_on_update", True)
    after = world.stack({"r": {"type": "OS::Neutron::Port", "properties": {"network": net, **GIVEN}}})
    drive(lifecycle.update(port, after.defn.resource_definition("r")), port)
    words = {group: "(group)", policy: "(policy)"}
    told = json.loads(
        "".join(json.dumps([body["port"] for _request, body in world.sent()]))
        .replace(group, words[group])
        .replace(policy, words[policy])
    )
    assert told == ([repaired] if repaired else [])


# making room --------------------------------------------------------------------------------------


def replaced(world: World, net: str) -> tuple[Any, Any]:
    """A port that has freed its addresses, and its replacement that has got them."""
    wanted = [{"subnet": "sub", "ip_address": "10.0.0.7"}]
    old = world.create("Port", network=net, fixed_ips=wanted)
    old.prepare_for_replace()
    new = world.create("Port", network=net, fixed_ips=wanted)
    old.record.replaced_by = 99
    old.stack.replacements[99] = new
    return old, new


def test_a_port_frees_its_addresses_for_its_replacement(world: World, net: str) -> None:
    old, new = replaced(world, net)
    assert addresses(port_of(world, old)) == []
    assert addresses(port_of(world, new)) == ["10.0.0.7"]
    assert json.loads(old.data()["port_fip"]) == [
        {"subnet_id": "00000000-0000-4000-8000-000000000001", "ip_address": "10.0.0.7"}
    ]


def test_a_rollback_gives_them_back(world: World, net: str) -> None:
    old, new = replaced(world, net)
    old.restore_prev_rsrc(convergence=True)
    assert addresses(port_of(world, old)) == ["10.0.0.7"]
    assert addresses(port_of(world, new)) == []


def test_a_replacement_that_is_gone_keeps_nothing(world: World, net: str) -> None:
    old, new = replaced(world, net)
    world.delete(new)
    old.restore_prev_rsrc(convergence=True)
    assert addresses(port_of(world, old)) == ["10.0.0.7"]


def test_addresses_freed_by_an_engine_that_died_are_not_forgotten(world: World, net: str) -> None:
    old = world.create("Port", network=net, fixed_ips=[{"subnet": "sub", "ip_address": "10.0.0.7"}])
    for _engine in range(2):
        old.prepare_for_replace()
    old.restore_prev_rsrc(convergence=True)
    assert addresses(port_of(world, old)) == ["10.0.0.7"]


def test_a_port_with_a_floating_ip_keeps_its_addresses(world: World, net: str) -> None:
    """The service does not let them go; a replacement that does not insist on them is made all the same."""
    old = world.create("Port", network=net)
    before = addresses(port_of(world, old))
    world.neutron.fault(
        "PUT",
        ".*/ports/.*",
        status=400,
        kind="BadRequest",
        message="its original fixed_ip has been associated to a floating ip",
    )
    old.prepare_for_replace()
    assert addresses(port_of(world, old)) == before and "port_fip" not in old.data()
    assert addresses(port_of(world, world.create("Port", network=net))) != before


def test_a_port_that_is_gone_has_nothing_to_free(world: World, net: str) -> None:
    old = world.create("Port", network=net)
    world.neutron.ports.objects.clear()
    old.prepare_for_replace()
    never_made = world.make("Port", network=net)
    never_made.prepare_for_replace()
    assert world.neutron.count("PUT") == 0


def test_replace_always(world: World, net: str) -> None:
    port = world.create("Port", network=net)
    after = world.stack(
        {"r": {"type": "OS::Neutron::Port", "properties": {"network": net, "replacement_policy": "REPLACE_ALWAYS"}}}
    ).defn.resource_definition("r")
    with pytest.raises(UpdateReplace):
        drive(lifecycle.update(port, after), port)
    assert addresses(port_of(world, port)) == []


@pytest.mark.parametrize(("status", "replace"), [("ERROR", True), ("ACTIVE", False), ("DOWN", False), (None, True)])
def test_a_failed_port_is_replaced_only_if_it_is_broken(
    world: World, net: str, status: str | None, replace: bool
) -> None:
    port = world.create("Port", network=net)
    if status is None:
        world.neutron.ports.objects.clear()
    else:
        port_of(world, port)["status"] = status
    assert port.needs_replace_failed() == replace
    assert world.make("Port", network=net).needs_replace_failed()
