# SPDX-License-Identifier: Apache-2.0
"""Updates of a server: in place, anew, cut short; and ports that go to a replacement and come back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.resuming import resume_action
from openkeel_heat.resources.nova import resizing, server_ports
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive
from tests.unit.resources.nova.conftest import World


def updated(world: World, resource: Any, **props: Any) -> list[str]:
    """The requests of an update in place, without ids."""
    world.sent()
    world.update(resource, **props)
    assert resource.state == ("UPDATE", "COMPLETE")
    return [one.replace(f"/servers/{resource.resource_id}", "server") for one in world.sent()]


def replaced(world: World, resource: Any, **props: Any) -> list[str]:
    world.sent()
    with pytest.raises(UpdateReplace):
        world.update(resource, **props)
    return [one.replace(f"/servers/{resource.resource_id}", "server") for one in world.sent()]


def actions(world: World) -> list[Any]:
    return world.nova.bodies("POST", ".*/action")


def data(resource: Any, key: str) -> list[str]:
    return [port["id"] for port in json.loads(resource.data().get(key) or "[]")]


# --- what is done at once


def test_name_metadata_tags_password(world: World) -> None:
    server = world.server(name="a", metadata={"x": "1", "y": "2"}, tags=["t"])
    assert updated(world, server, name="b", metadata={"y": [3]}, tags=["u"], admin_pass="new") == [
        "PUT server/metadata", "PUT server/tags", "PUT server", "POST server/action"]  # fmt: skip
    shown = world.shown(server)
    assert (shown["name"], shown["metadata"], shown["tags"]) == ("b", {"y": "[3]"}, ["u"])
    assert world.nova.passwords == ["new"]


@pytest.mark.parametrize(
    "changed",
    [{"name": "b"}, {"metadata": {"x": "2"}}, {"admin_pass": "new"}, {"networks": [{"allocate_network": "none"}]}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_server_that_somebody_removed(world: World, changed: dict[str, Any]) -> None:
    server = world.server(name="a")
    world.nova.servers.objects.clear()
    with pytest.raises(exceptions.ResourceFailure) as caught:
        world.update(server, **{"name": "a", **changed})
    told = f"The Server ({server.resource_id}) could not be found."
    assert str(caught.value) == f"EntityNotFound: resources.r: {told}"


def test_no_longer_given(world: World) -> None:
    server = world.server(name="a", metadata={"x": "1"}, tags=["t"], admin_pass="old")
    updated(world, server)
    shown = world.shown(server)
    assert (shown["name"], shown["metadata"], shown["tags"]) == (server.physical_resource_name(), {}, [])
    assert world.nova.passwords == []


# --- resize


def test_a_resize_is_confirmed(world: World) -> None:
    server = world.server()
    assert updated(world, server, flavor="large") == ["POST server/action"] * 2
    assert actions(world) == [{"resize": {"flavorRef": "2"}}, {"confirmResize": None}]
    assert world.shown(server)["flavor"] == {"original_name": "large"}


def test_a_cloud_that_confirms_by_itself(world: World) -> None:
    server = world.server()
    real = world.nova._do_resize

    def resize(shown: Any, arguments: Any) -> None:
        real(shown, arguments)
        shown["flavor"] = {"original_name": "large"}
        world.nova._go(shown, "RESIZE", "ACTIVE")

    world.nova._do_resize = resize  # type: ignore[method-assign]
    assert updated(world, server, flavor="large") == ["POST server/action"]


def test_a_resize_that_never_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resizing, "RESIZE_BEGINS_WITHIN", 0.0)
    server = world.server()
    world.nova.resizes = False
    with pytest.raises(exceptions.ResourceFailure, match="Resizing to '2' failed, status 'ACTIVE'"):
        world.update(server, flavor="large")


def test_the_answer_to_a_resize_is_lost(world: World) -> None:
    server = world.server()
    world.nova.fault("POST", ".*/action", cut=True, after=True)
    assert updated(world, server, flavor="large") == ["POST server/action"] * 2


# --- rebuild


def test_a_rebuild(world: World) -> None:
    server = world.server(metadata={"a": "1"})
    image = world.images.add("other")
    updated(world, server, image="other", metadata={"a": "2"}, admin_pass="p",
            image_update_policy="REBUILD_PRESERVE_EPHEMERAL")  # fmt: skip
    assert actions(world) == [
        {"rebuild": {"imageRef": image, "preserve_ephemeral": True, "adminPass": "p", "metadata": {"a": "2"}}}
    ]


def test_new_user_data_by_a_rebuild(world: World) -> None:
    server = world.server(user_data="old", user_data_update_policy="REBUILD")
    updated(world, server, user_data="new", user_data_update_policy="REBUILD")
    assert actions(world) == [{"rebuild": {"imageRef": world.image, "user_data": "bmV3"}}]


def test_user_data_that_are_ignored(world: World) -> None:
    server = world.server(user_data="old", user_data_update_policy="IGNORE")
    assert updated(world, server, user_data="new", user_data_update_policy="IGNORE") == []


def test_passwords_and_private_keys_are_in_no_log(world: World, debug_log: pytest.LogCaptureFixture) -> None:
    world.nova.newest = "2.91"
    world.images.add("other")
    server = world.server(admin_pass="very-secret-1")
    world.update(server, admin_pass="very-secret-2")
    world.update(server, admin_pass="very-secret-2", image="other")
    key = world.create("OS::Nova::KeyPair", name="k", save_private_key=True)
    assert world.nova.passwords == ["very-secret-2"] and key.FnGetAtt("private_key")
    assert "very-secret" not in debug_log.text and key.FnGetAtt("private_key") not in debug_log.text


def test_a_rebuild_that_fails(world: World) -> None:
    server = world.server()
    world.images.add("other")
    real = world.nova._do_rebuild

    def rebuild(shown: Any, arguments: Any) -> None:
        real(shown, arguments)
        world.nova._go(shown, "REBUILD", "ERROR")

    world.nova._do_rebuild = rebuild  # type: ignore[method-assign]
    with pytest.raises(exceptions.ResourceFailure, match="Rebuilding server failed, status 'ERROR'"):
        world.update(server, image="other")
    assert server.needs_replace_failed()


# --- anew


@pytest.mark.parametrize("change", [
    {"flavor": "large", "flavor_update_policy": "REPLACE"},
    {"image": "other", "image_update_policy": "REPLACE"},
    {"user_data": "new"},
    {"availability_zone": "moon"},
    {"block_device_mapping_v2": [{"swap_size": 1}]},
])  # fmt: skip
def test_replaced(world: World, change: dict[str, Any]) -> None:
    """And its ports are free for the server that takes its place."""
    world.images.add("other")
    world.port("given")
    nets = [{"port": "given"}, {"subnet": "subnet-of-net"}]
    server = world.server(networks=nets)
    (internal,) = data(server, "internal_ports")
    assert replaced(world, server, networks=nets, **change) == [
        f"DELETE server/os-interface/{internal}", "DELETE server/os-interface/given"]  # fmt: skip
    assert world.shown(server)["_ports"] == [] and internal in world.neutron.ports.objects


def test_a_failed_server_that_is_in_order_is_updated(world: World) -> None:
    server = world.server()
    server.record.status = "FAILED"
    assert updated(world, server, name="n") == ["PUT server"]


def test_a_broken_server_is_replaced(world: World) -> None:
    """Its internal ports are deleted: its replacement makes the same."""
    server = world.server(networks=[{"subnet": "subnet-of-net"}])
    (internal,) = data(server, "internal_ports")
    server.record.status = "FAILED"
    world.shown(server)["status"] = "ERROR"
    assert replaced(world, server, name="n") == [f"DELETE /v2.0/ports/{internal}"]


def test_a_port_that_does_not_come_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_ports, "patience_with_interfaces", lambda: 0.0)
    server = world.server(networks=[{"port": world.port("given")}])
    world.nova.clings.add("given")
    with pytest.raises(exceptions.ResourceFailure, match="Failed to detach interface"):
        world.update(server, networks=[{"port": "given"}], user_data="new")


@pytest.mark.parametrize("action", ["ROLLBACK", "UPDATE"])
def test_ports_come_back(world: World, action: str) -> None:
    """Of the replacement that was given them; what Nova had made is made anew.

    The members of a group are in a stack of their own, which is updated when the one around it is rolled back.
    """
    world.port("given")
    nets = [{"network": world.net}, {"port": "given"}, {"subnet": "subnet-of-net"}]
    server = world.server(networks=nets)
    (internal,) = data(server, "internal_ports")
    replaced(world, server, networks=nets, user_data="new")
    other = world.make("OS::Nova::Server", **world.server_props(networks=[{"port": "given"}], user_data="new"))
    drive(lifecycle.create(other), other)
    stack = server.stack
    stack.action, stack.status = action, "IN_PROGRESS"
    server.record.replaced_by = 99
    stack.replacements[99] = other
    world.update(server, networks=nets)
    present = world.shown(server)["_ports"]
    assert {internal, "given"} < set(present) and len(present) == 3
    assert sorted(data(server, "external_ports")) == sorted(set(present) - {internal})
    assert world.shown(other)["_ports"] == [] and server.replaced_by is None


def own_address(world: World, resource: Any) -> tuple[list[str], str | None]:
    """The addresses of the internal port of a server, and where the floating IP leads to, if that is its port."""
    (port,) = data(resource, "internal_ports")
    led = world.neutron.floatingips.objects["fip"]["port_id"]
    addresses = [ip["ip_address"] for ip in world.neutron.ports.objects[port]["fixed_ips"]]
    return addresses, "its own" if led == port else led


def test_the_port_of_a_broken_server_goes_to_the_replacement(world: World) -> None:
    """27.0.1 fails: Nova takes nothing from a broken server, so its port is in use."""
    world.port("given")
    nets = [{"port": "given"}]
    server = world.server(networks=nets)
    world.shown(server)["status"] = "ERROR"
    server.record.status = "FAILED"
    assert replaced(world, server, networks=nets) == ["PUT /v2.0/ports/given"]
    other = world.server(networks=nets)
    assert world.neutron.ports.objects["given"]["device_id"] == other.resource_id
    # What has another server already is left to it.
    server.prepare_for_replace()
    assert world.neutron.ports.objects["given"]["device_id"] == other.resource_id


@pytest.mark.parametrize("fixed_ip", [{"fixed_ip": "10.0.0.77"}, {}], ids=["named", "not named"])
def test_an_address_goes_to_the_replacement_and_comes_back(world: World, fixed_ip: dict[str, str]) -> None:
    """27.0.1 fails if it is named, as the port of the server that is replaced still has it. Floating IPs get lost."""
    world.neutron.floatingips.add("fip", floating_ip_address="172.24.0.5", port_id=None)
    nets = [{"subnet": "subnet-of-net", "floating_ip": "fip", **fixed_ip}]
    server = world.server(networks=nets)
    before = own_address(world, server)
    assert before[1] == "its own" and before[0] == [fixed_ip.get("fixed_ip", before[0][0])]
    replaced(world, server, networks=nets, user_data="new")
    other = world.make("OS::Nova::Server", **world.server_props(networks=nets, user_data="new"))
    drive(lifecycle.create(other), other)
    assert own_address(world, other)[1] == "its own" and (not fixed_ip or own_address(world, other) == before)
    stack = server.stack
    stack.action, stack.status, server.record.replaced_by = "ROLLBACK", "IN_PROGRESS", 99
    stack.replacements[99] = other
    world.update(server, networks=nets)
    assert own_address(world, server) == before
    world.delete(other)
    world.delete(server)
    assert world.neutron.ports.objects == {}


def test_an_address_that_the_port_of_a_failed_replacement_has(world: World) -> None:
    """Its server could not be made, but its port was."""
    nets = [{"subnet": "subnet-of-net", "fixed_ip": "10.0.0.77"}]
    server = world.server(networks=nets)
    replaced(world, server, networks=nets, user_data="new")
    other = world.make("OS::Nova::Server", **world.server_props(networks=nets, user_data="new"))
    world.nova.fault("POST", "/servers", status=403, message="Quota exceeded")
    with pytest.raises(exceptions.ResourceFailure):
        drive(lifecycle.create(other), other)
    stack = server.stack
    stack.action, stack.status, server.record.replaced_by = "ROLLBACK", "IN_PROGRESS", 99
    stack.replacements[99] = other
    world.update(server, networks=nets)
    (port,) = world.shown(server)["_ports"]
    assert [ip["ip_address"] for ip in world.neutron.ports.objects[port]["fixed_ips"]] == ["10.0.0.77"]


# --- networks


def test_interfaces_go_and_come(world: World) -> None:
    """First those that go; an internal port only when the server knows that it has gone."""
    other = world.network("other", "10.1.0.0/24")
    world.port("given")
    server = world.server(networks=[{"subnet": "subnet-of-net"}, {"network": other}])
    (internal,) = data(server, "internal_ports")
    last = {"subnet": "subnet-of-net", "fixed_ip": "10.0.0.77"}
    assert updated(world, server, networks=[{"network": other}, {"port": "given"}, last]) == [
        f"DELETE server/os-interface/{internal}", "POST server/os-interface", "POST server/os-interface",
        f"DELETE /v2.0/ports/{internal}", "POST /v2.0/ports"]  # fmt: skip
    new = data(server, "internal_ports")
    present = world.shown(server)["_ports"]
    assert len(present) == 3 and set(data(server, "external_ports")) == set(present) - set(new)
    assert len(new) == 1 and new != [internal]


def test_an_address_tag_and_groups_of_a_port_that_nova_makes(world: World) -> None:
    server = world.server(networks=[{"network": world.net}], security_groups=["default"])
    updated(world, server, security_groups=["default"],
            networks=[{"network": world.net, "fixed_ip": "10.0.0.66", "tag": "t"}])  # fmt: skip
    assert world.nova.bodies("POST", ".*/os-interface") == [
        {"interfaceAttachment": {"net_id": world.net, "fixed_ips": [{"ip_address": "10.0.0.66"}], "tag": "t"}}
    ]
    (port,) = world.shown(server)["_ports"]
    assert world.neutron.ports.objects[port]["security_groups"] == [world.neutron.default_group["id"]]


def test_properties_of_an_internal_port(world: World) -> None:
    def nets(**extra: Any) -> list[Any]:
        return [{"network": world.net, "port_extra_properties": extra}]

    world.neutron.policies.add("policy-id", name="gold")
    server = world.server(networks=nets(qos_policy="gold", allowed_address_pairs=[{"ip_address": "10.0.0.9"}]))
    (port,) = data(server, "internal_ports")
    assert updated(world, server, networks=nets(admin_state_up=False)) == [f"PUT /v2.0/ports/{port}"]
    assert world.neutron.bodies("PUT", f"/v2.0/ports/{port}") == [
        {"port": {"admin_state_up": False, "qos_policy_id": None, "allowed_address_pairs": []}}
    ]
    assert updated(world, server, networks=nets(mac_address="fa:16:3e:00:00:01"))[0] == (
        f"DELETE server/os-interface/{port}"
    )


def test_another_floating_ip(world: World) -> None:
    """The interface stays as it is."""
    for name in ("f1", "f2"):
        world.neutron.floatingips.add(name, port_id=None)
    server = world.server(networks=[{"subnet": "subnet-of-net", "floating_ip": "f1"}])
    (port,) = data(server, "internal_ports")
    assert updated(world, server, networks=[{"subnet": "subnet-of-net", "floating_ip": "f2"}]) == [
        "PUT /v2.0/floatingips/f1", "PUT /v2.0/floatingips/f2"]  # fmt: skip
    floating = world.neutron.floatingips.objects
    assert (floating["f1"]["port_id"], floating["f2"]["port_id"]) == (None, port)
    updated(world, server, networks=[{"network": world.net}])
    assert floating["f2"]["port_id"] is None


def test_from_and_to_networks_that_are_not_named(world: World) -> None:
    server = world.server(networks=[{"allocate_network": "none"}])
    assert world.shown(server)["_ports"] == []
    updated(world, server, networks=[{"allocate_network": "auto"}])
    (auto,) = world.shown(server)["_ports"]
    assert data(server, "external_ports") == [auto]
    updated(world, server, networks=[{"subnet": "subnet-of-net"}])
    assert world.shown(server)["_ports"] == data(server, "internal_ports")
    updated(world, server, networks=[])
    (any_,) = world.shown(server)["_ports"]
    assert data(server, "external_ports") == [any_] and data(server, "internal_ports") == []


def test_auto_with_several_networks(world: World) -> None:
    world.network("other", "10.1.0.0/24")
    server = world.server()
    for network in world.neutron.networks.objects.values():
        network["tenant_id"] = "project"
    with pytest.raises(exceptions.ResourceFailure, match="Multiple possible networks found"):
        world.update(server, networks=[{"allocate_network": "auto"}])


# --- cut short


@pytest.mark.parametrize("refused", ["/v2.0/ports", ".*/os-interface", ".*/action"])
def test_an_update_goes_on_after_the_death_of_its_engine(world: World, refused: str) -> None:
    """What it has done is not done again, whatever it was doing; nothing is left behind."""
    world.port("given")
    server = world.server(networks=[{"network": world.net}])
    wanted = world.server_props(flavor="large", networks=[
        {"network": world.net}, {"subnet": "subnet-of-net"}, {"port": "given"}])  # fmt: skip
    after = world.stack("OS::Nova::Server", wanted).defn.resource_definition("r")
    for service in (world.nova, world.neutron):
        service.fault("POST", refused, status=403)
    with pytest.raises(exceptions.ResourceFailure):
        drive(lifecycle.update(server, after), server)
    server.record.status = "IN_PROGRESS"
    for service in (world.nova, world.neutron):
        service.faults.clear()
    again = world.stack("OS::Nova::Server", wanted).defn.resource_definition("r")
    driver = Driver(resume_action(server, again), server).run()
    assert driver.done and server.state == ("UPDATE", "COMPLETE")
    present = world.shown(server)["_ports"]
    assert len(present) == 3 and set(world.neutron.ports.objects) == set(present)
    assert len(data(server, "internal_ports")) == 1
    assert world.shown(server)["flavor"] == {"original_name": "large"}


# --- live state


def test_what_was_changed_behind_our_back_is_changed_back(world: World, option: Option) -> None:
    option("observe_on_update", True)
    server = world.server(name="web", metadata={"a": [1]}, tags=["t"])
    world.sent()
    world.update(server, name="web", metadata={"a": [1]}, tags=["t"])
    assert world.sent() == []
    shown = world.shown(server)
    shown.update(name="evil", metadata={"a": "2"}, tags=[], flavor={"original_name": "large"})
    world.nova._plug(shown, None, world.net, None)
    updated(world, server, name="web", metadata={"a": [1]}, tags=["t"])
    shown = world.shown(server)
    assert (shown["name"], shown["metadata"], shown["tags"], shown["flavor"]) == (
        "web", {"a": "[1]"}, ["t"], {"original_name": "small"})  # fmt: skip
    assert len(shown["_ports"]) == 1


def test_a_server_that_is_gone_is_replaced(world: World, option: Option) -> None:
    option("observe_on_update", True)
    server = world.server()
    del world.nova.servers.objects[server.resource_id]
    replaced(world, server, name="n")
