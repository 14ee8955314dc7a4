# SPDX-License-Identifier: Apache-2.0
"""Flavors, key pairs, server groups, host aggregates, quotas, and the floating IPs of old."""

from __future__ import annotations

import re
from typing import Any

import pytest

from openkeel_heat.clients.keystone import KeystoneClientPlugin
from openkeel_heat.common import exceptions
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.resources.kit import lifecycle
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive
from tests.unit.resources.nova.conftest import World


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of projects and users are their ids."""
    for finder in ("get_project_id", "get_user_id"):
        monkeypatch.setattr(KeystoneClientPlugin, finder, lambda self, name, domain=None: name)


# --- flavors


def test_a_flavor(world: World) -> None:
    flavor = world.create("OS::Nova::Flavor", ram=1, vcpus=2, extra_specs={"a": "b"})
    assert world.last("/flavors") == {"flavor": {
        "name": flavor.physical_resource_name(), "ram": 1, "vcpus": 2, "disk": 0, "swap": 0, "rxtx_factor": 1.0,
        "OS-FLV-EXT-DATA:ephemeral": 0, "os-flavor-access:is_public": True}}  # fmt: skip
    assert flavor.FnGetAtt("extra_specs") == {"a": "b"} and flavor.FnGetAtt("is_public") is True
    world.update(flavor, ram=1, vcpus=2, extra_specs={"c": "d"})
    assert world.nova.specs[flavor.resource_id] == {"c": "d"}
    world.delete(flavor)
    assert flavor.resource_id not in world.nova.flavors.objects
    world.delete(flavor)


def test_a_private_flavor(world: World) -> None:
    alone = world.create("OS::Nova::Flavor", ram=1, vcpus=2, is_public=False, flavorid="auto", name="n")
    assert world.nova.access[alone.resource_id] == {"project"} and "id" not in world.last("/flavors")["flavor"]
    shared = world.create("OS::Nova::Flavor", ram=1, vcpus=2, is_public=False, tenants=["p1", "p2"], flavorid="9")
    assert shared.resource_id == "9" and world.nova.access["9"] == {"p1", "p2"}
    world.update(shared, ram=1, vcpus=2, is_public=False, tenants=["p2", "p3"], flavorid="9")
    assert world.nova.access["9"] == {"p2", "p3"}


def test_another_size_is_another_flavor(world: World) -> None:
    with pytest.raises(UpdateReplace):
        world.update(world.create("OS::Nova::Flavor", ram=1, vcpus=2), ram=2, vcpus=2)


def test_extra_specs_are_observed(world: World, option: Option) -> None:
    option("observe_on_update", True)
    flavor = world.create("OS::Nova::Flavor", ram=1, vcpus=2, extra_specs={"a": "b"})
    world.nova.specs[flavor.resource_id] = {"evil": "1"}
    world.update(flavor, ram=1, vcpus=2, extra_specs={"a": "b"})
    assert world.nova.specs[flavor.resource_id] == {"a": "b"}


def test_extra_specs_that_nobody_asked_for_stay(world: World, option: Option) -> None:
    option("observe_on_update", True)
    flavor = world.create("OS::Nova::Flavor", ram=1, vcpus=2)
    world.nova.specs[flavor.resource_id] = {"hw:cpu_policy": "dedicated"}
    assert world.update(flavor, ram=1, vcpus=2).short == []


def test_a_flavor_whose_answer_was_lost(world: World) -> None:
    world.nova.fault("POST", "/flavors", cut=True, after=True)
    flavor = world.create("OS::Nova::Flavor", ram=1, vcpus=2)
    assert len(world.nova.flavors.objects) == 3 and flavor.resource_id in world.nova.flavors.objects


def test_a_flavor_that_was_made_half_is_made_whole(world: World) -> None:
    """A second of its name is refused."""
    props = {"name": "n", "ram": 1, "vcpus": 2, "extra_specs": {"a": "b"}, "is_public": False, "tenants": ["p2", "p1"]}
    world.nova.fault("POST", "/flavors/.*/os-extra_specs", status=400, message="bad spec")
    flavor = world.make("OS::Nova::Flavor", **props)
    with pytest.raises(exceptions.ResourceFailure, match="bad spec"):
        drive(lifecycle.create(flavor), flavor)
    made = flavor.resource_id
    assert world.nova.access.get(made, set()) == set()
    world.update(flavor, **props)
    assert (flavor.state, flavor.resource_id) == (("UPDATE", "COMPLETE"), made)
    assert (world.nova.specs[made], world.nova.access[made]) == ({"a": "b"}, {"p1", "p2"})
    assert world.update(flavor, **props).short == []


# --- key pairs


KEY = "ssh-rsa AAAA me@home"


def test_a_key_pair(world: World) -> None:
    pair = world.create("OS::Nova::KeyPair", name="k", public_key=KEY, type="ssh", user="somebody")
    assert world.last("/os-keypairs") == {
        "keypair": {"name": "k", "public_key": KEY, "type": "ssh", "user_id": "somebody"}
    }
    assert pair.FnGetRefId() == "k" and pair.FnGetAtt("public_key") == KEY and pair.FnGetAtt("private_key") == ""
    drive(lifecycle.check(pair), pair)
    assert world.nova.requests[-1].query == {"user_id": ["somebody"]}
    with pytest.raises(UpdateReplace):
        world.update(pair, name="k", public_key="ssh-rsa BBBB", user="somebody")
    assert "k" not in world.nova.keys.objects, "its replacement has the same name"
    world.delete(pair)


def test_another_key_of_the_same_name(world: World) -> None:
    """The deletion of the one that was replaced goes by the name, too: in 27.0.1 no key is left."""
    kind = "OS::Nova::KeyPair"
    old = world.create(kind, name="k", public_key="ssh-rsa AAAA")
    new = world.replace(old, name="k", public_key="ssh-rsa BBBB")
    assert world.nova.keys.objects["k"]["public_key"] == "ssh-rsa BBBB"
    world.delete(new)
    assert world.nova.keys.objects == {}


def test_a_rollback_to_the_key_of_before(world: World) -> None:
    """It had to make room for the other one, which is then deleted."""
    old = world.create("OS::Nova::KeyPair", name="k", public_key="ssh-rsa AAAA")
    old.prepare_for_replace()
    new = world.create("OS::Nova::KeyPair", name="k", public_key="ssh-rsa BBBB")
    new.stack.others, old.stack.others = [old], [new]
    old.restore_prev_rsrc()
    world.delete(new)
    assert world.nova.keys.objects["k"]["public_key"] == "ssh-rsa AAAA"


def test_a_key_pair_that_an_old_service_makes(world: World) -> None:
    world.nova.newest = "2.91"
    kept = world.create("OS::Nova::KeyPair", name="k", save_private_key=True)
    assert kept.FnGetAtt("private_key") == "very secret" and kept.FnGetAtt("public_key") == "ssh-rsa made"
    assert ("data", "private_key", "very secret", True) in kept.stack.store.writes
    assert world.create("OS::Nova::KeyPair", name="l").FnGetAtt("private_key") == ""


def test_refused_key_pairs(world: World) -> None:
    def refusal(**props: Any) -> str:
        with pytest.raises(exceptions.StackValidationFailed) as refused:
            world.make("OS::Nova::KeyPair", **props).validate()
        return str(refused.value)

    assert refusal(name="k") == "The public_key property is required by the nova API version currently used."


def test_a_key_pair_whose_answer_was_lost(world: World) -> None:
    """It is ours if it has the very key; another's of the same name is refused as ever."""
    world.nova.fault("POST", "/os-keypairs", cut=True, after=True)
    assert world.create("OS::Nova::KeyPair", name="k", public_key=KEY).resource_id == "k"
    pair = world.make("OS::Nova::KeyPair", name="k", public_key="ssh-rsa BBBB")
    assert pair.find_physical() is None


# --- server groups


def test_a_server_group(world: World) -> None:
    group = world.create("OS::Nova::ServerGroup", policies=["anti-affinity"], rules={"max_server_per_host": 3})
    assert world.last("/os-server-groups") == {
        "server_group": {
            "name": group.physical_resource_name(),
            "policy": "anti-affinity",
            "rules": {"max_server_per_host": 3},
        }
    }
    assert not group.needs_replace_failed()
    world.delete(group)
    assert group.needs_replace_failed()
    assert world.create("OS::Nova::ServerGroup", name="n").physical_resource_name() == "n"


def test_a_server_group_of_an_old_service(world: World) -> None:
    world.nova.newest = "2.14"
    world.create("OS::Nova::ServerGroup", name="n")
    assert world.last("/os-server-groups") == {"server_group": {"name": "n", "policies": ["anti-affinity"]}}
    for props, what in (
        ({"policies": ["soft-affinity"]}, "soft policies"), ({"rules": {"max_server_per_host": 1}}, "rules"),
    ):  # fmt: skip
        with pytest.raises(exceptions.StackValidationFailed, match=f"Required microversion for {what} not supported."):
            world.make("OS::Nova::ServerGroup", **props).validate()


# --- host aggregates


def test_a_host_aggregate(world: World) -> None:
    kind = "OS::Nova::HostAggregate"
    aggregate = world.create(kind, name="a", availability_zone="z", hosts=["host-1"], metadata={"x": "1", "y": "2"})
    shown = world.nova.aggregates.objects[aggregate.resource_id]
    assert (shown["name"], shown["availability_zone"], shown["hosts"], shown["metadata"]) == (
        "a", "z", ["host-1"], {"x": "1", "y": "2"})  # fmt: skip
    world.update(aggregate, name="b", availability_zone="z", hosts=["host-2"], metadata={"y": "3"})
    shown = world.nova.aggregates.objects[aggregate.resource_id]
    assert (shown["name"], shown["hosts"], shown["metadata"]) == ("b", ["host-2"], {"y": "3"})
    world.sent()
    world.delete(aggregate)
    path = f"/os-aggregates/{aggregate.resource_id}"
    assert world.sent() == [f"POST {path}/action", f"DELETE {path}"], "hosts first"


@pytest.mark.parametrize("hosts", [None, ["host-2", "host-1"]])
def test_hosts_that_nobody_asked_for_stay(world: World, option: Option, hosts: list[str] | None) -> None:
    """27.0.1 takes from the aggregate what an administrator put there; and the order of hosts is nobody's."""
    option("observe_on_update", True)
    props = {"name": "a", **({"hosts": hosts} if hosts else {})}
    aggregate = world.create("OS::Nova::HostAggregate", **props)
    shown = world.nova.aggregates.objects[aggregate.resource_id]
    shown.update(hosts=["host-1", "host-2"], availability_zone="z", metadata={"availability_zone": "z"})
    world.sent()
    assert world.update(aggregate, **props).short == [] and world.sent() == []


def test_a_host_that_is_not_there(world: World) -> None:
    resource = world.make("OS::Nova::HostAggregate", name="a", hosts=["nowhere"])
    with pytest.raises(exceptions.StackValidationFailed, match="No hypervisor matching 'nowhere' could be found."):
        resource.validate()


REFUSED = "Cannot add host to aggregate 1. Reason: One or more hosts already in availability zone(s) ['y']."


@pytest.mark.parametrize(("status", "words"), [(404, "Compute host host-1 could not be found."), (409, REFUSED)])
def test_a_host_that_nova_refuses_fails_the_aggregate(world: World, status: int, words: str) -> None:
    """The constraint is content with a part of a name, and nobody else knows of zones."""
    aggregate = world.create("OS::Nova::HostAggregate", name="a", availability_zone="z")
    world.nova.fault("POST", "/os-aggregates/.*", status=status, message=words)
    with pytest.raises(exceptions.ResourceFailure, match=re.escape(words)):
        world.update(aggregate, name="a", availability_zone="z", hosts=["host-1"])
    assert aggregate.state == ("UPDATE", "FAILED")


def test_a_host_that_an_update_cut_short_has_added_is_there(world: World) -> None:
    aggregate = world.create("OS::Nova::HostAggregate", name="a")
    world.nova.fault("POST", "/os-aggregates/.*", status=409, message="host-1 already exists.", after=True)
    world.update(aggregate, name="a", hosts=["host-1", "host-2"])
    assert sorted(world.nova.aggregates.objects[aggregate.resource_id]["hosts"]) == ["host-1", "host-2"]


# --- quotas


@pytest.mark.parametrize(("limits", "version"), [
    ({"cores": 5, "key_pairs": -1}, "2.96"),
    ({"cores": 5, "injected_files": 2}, "2.56"),
    ({"fixed_ips": 5, "injected_files": 2}, "2.35"),
])  # fmt: skip
def test_a_quota(world: World, limits: dict[str, int], version: str) -> None:
    """With the newest version of the API that knows all of them."""
    quota = world.create("OS::Nova::Quota", project="p", **limits)
    assert world.nova.quotas == {"p": limits}
    request = next(one for one in world.nova.requests if one.method == "PUT")
    assert request.microversion == version
    assert quota.resource_id == quota.physical_resource_name() and quota.FnGetAtt("show")["id"] == "p"
    world.update(quota, project="p", cores=7)
    assert world.nova.quotas["p"]["cores"] == 7
    world.delete(quota)
    assert world.nova.quotas == {}


def test_limits_of_a_project_outlive_the_quota_that_was_replaced(world: World) -> None:
    """27.0.1 gives the project the default limits when it deletes the one that had failed."""
    old = world.create("OS::Nova::Quota", project="p", ram=512)
    old.record.status = "FAILED"
    world.replace(old, project="p", ram=1024)
    assert world.nova.quotas == {"p": {"ram": 1024}}


def test_limits_that_nobody_asked_for_are_no_change(world: World, option: Option) -> None:
    option("observe_on_update", True)
    quota = world.create("OS::Nova::Quota", project="p", ram=512)
    assert world.update(quota, project="p", ram=512).short == []
    world.nova.quotas["p"]["ram"] = 1
    world.update(quota, project="p", ram=512)
    assert world.nova.quotas["p"]["ram"] == 512


def test_a_quota_of_nothing(world: World) -> None:
    with pytest.raises(exceptions.PropertyUnspecifiedError, match="At least one of the following properties"):
        world.make("OS::Nova::Quota", project="p").validate()


# --- floating IPs


def test_a_floating_ip(world: World) -> None:
    outside = world.neutron.networks.add(name="outside", **{"router:external": True})
    for props in ({}, {"pool": "outside"}):
        ip = world.create("OS::Nova::FloatingIP", **props)
        assert ip.FnGetAtt("pool") == outside["id"] and ip.FnGetAtt("ip").startswith("172.24.0.")
        assert ip.FnGetAtt("show") is None, "so those two are what the API tells of it"
        world.delete(ip)
    assert not world.neutron.floatingips.objects
    world.neutron.networks.add(name="outside2", **{"router:external": True})
    resource = world.make("OS::Nova::FloatingIP")
    with pytest.raises(exceptions.ResourceFailure, match="Expected 1 external network, found 2"):
        Driver(lifecycle.create(resource), resource).run()


def test_an_association(world: World) -> None:
    for name in ("f1", "f2"):
        world.neutron.floatingips.add(name, port_id=None, fixed_ip_address=None)
    server = world.server()
    (port,) = world.shown(server)["_ports"]
    floating = world.neutron.floatingips.objects
    association = world.create("OS::Nova::FloatingIPAssociation", server_id=server.resource_id, floating_ip="f1")
    assert (floating["f1"]["port_id"], floating["f1"]["fixed_ip_address"]) == (port, "10.0.0.1")
    assert association.FnGetRefId() == association.physical_resource_name()
    world.update(association, server_id=server.resource_id, floating_ip="f2")
    assert (floating["f1"]["port_id"], floating["f2"]["port_id"]) == (None, port)
    world.delete(association)
    assert floating["f2"]["port_id"] is None


def test_an_association_that_replaces_the_same_one_stays(world: World) -> None:
    """In 27.0.1 the address is nobody's after the one that had failed is deleted."""
    floating = world.neutron.floatingips.add("f1", port_id=None, fixed_ip_address=None)
    props = {"server_id": world.server().resource_id, "floating_ip": "f1"}
    old = world.create("OS::Nova::FloatingIPAssociation", **props)
    old.record.status = "FAILED"
    new = world.replace(old, **props)
    assert floating["port_id"] is not None
    world.delete(new)
    assert floating["port_id"] is None
