# SPDX-License-Identifier: Apache-2.0
"""A server from its creation to its deletion, against Nova, Neutron and Glance in this process."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from openkeel_heat.common import clock, exceptions
from openkeel_heat.engine import edges
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.resuming import resume_action
from openkeel_heat.resources.nova import server_validation
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive, hot
from tests.unit.resources.nova.conftest import World


def ports_of(world: World, resource: Any) -> list[str]:
    return list(world.shown(resource)["_ports"])


def data(resource: Any, key: str) -> list[str]:
    return [port["id"] for port in json.loads(resource.data().get(key) or "[]")]


def failed(driver: Driver) -> str:
    with pytest.raises(exceptions.ResourceFailure) as failure:
        driver.run()
    return str(failure.value)


# --- creation


def test_the_request(world: World) -> None:
    server = world.server(
        name="web", key_name=None, availability_zone="nova", config_drive=True, admin_pass="pass",
        diskConfig="MANUAL", metadata={"a": 1, "b": "text"}, tags=["t"], scheduler_hints={"group": "g"},
        user_data="#!/bin/sh", security_groups=["default"],
        networks=[{"network": "net", "fixed_ip": "10.0.0.9", "tag": "front"}],
    )  # fmt: skip
    assert server.FnGetRefId() == server.resource_id
    assert world.last("/servers") == {
        "server": {
            "name": "web", "flavorRef": "1", "imageRef": world.image, "availability_zone": "nova",
            "config_drive": True, "adminPass": "pass", "OS-DCF:diskConfig": "MANUAL", "tags": ["t"],
            "metadata": {"a": "1", "b": "text"}, "security_groups": [{"name": "default"}],
            "user_data": base64.b64encode(b"#!/bin/sh").decode(),
            "networks": [{"uuid": world.net, "fixed_ip": "10.0.0.9", "tag": "front"}],
        },
        "os:scheduler_hints": {"group": "g"},
    }  # fmt: skip


def test_a_server_of_which_little_is_said(world: World) -> None:
    """It has a name of its own, and a network that Nova chooses."""
    server = world.create("OS::Nova::Server", flavor="small", image="cirros", user_data_format="RAW")
    assert world.last("/servers") == {
        "server": {
            "name": server.physical_resource_name(),
            "flavorRef": "1",
            "imageRef": world.image,
            "networks": "auto",
        }
    }


def test_hints_about_the_stack(world: World, option: Option) -> None:
    option("stack_scheduler_hints", True)
    resource = world.make("OS::Nova::Server", **world.server_props(scheduler_hints={"mine": "1"}))
    resource.stack.path_in_stack = lambda: [(None, "st"), ("group", "st-group")]
    drive(lifecycle.create(resource), resource)
    assert world.last("/servers")["os:scheduler_hints"] == {
        "mine": "1", "heat_root_stack_id": resource.stack.id, "heat_stack_id": resource.stack.id,
        "heat_stack_name": "st", "heat_path_in_stack": ["st", "group,st-group"], "heat_resource_name": "r",
        "heat_resource_uuid": resource.uuid}  # fmt: skip


def test_internal_and_external_ports(world: World) -> None:
    """One of each kind; what the resource makes it deletes, but not before the server is gone."""
    world.neutron.floatingips.add("fip", floating_network_id=world.net, floating_ip_address="172.24.0.9")
    given = world.port("given")
    other = world.network("other", "10.1.0.0/24")
    server = world.server(networks=[
        {"network": world.net},
        {"subnet": "subnet-of-other", "floating_ip": "fip"},
        {"port": given},
    ])  # fmt: skip
    internal = data(server, "internal_ports")
    assert len(internal) == 1 and sorted(data(server, "external_ports")) == sorted(
        set(ports_of(world, server)) - set(internal)
    )
    made = world.neutron.ports.objects[internal[0]]
    assert (made["name"], made["network_id"], made["fixed_ips"][0]["subnet_id"]) == (
        "r-port-1",
        other,
        world.subnet(other),
    )
    assert world.neutron.floatingips.objects["fip"]["port_id"] == internal[0]
    world.sent()
    world.delete(server)
    assert world.sent() == [f"DELETE /servers/{server.resource_id}", f"DELETE /v2.0/ports/{internal[0]}"]
    assert list(world.neutron.ports.objects) == [given]


def test_extra_properties_of_an_internal_port(world: World) -> None:
    world.neutron.policies.add("policy-id", name="gold")
    world.server(networks=[{"network": world.net, "fixed_ip": "10.0.0.7", "port_extra_properties": {
        "qos_policy": "gold", "allowed_address_pairs": [{"ip_address": "10.0.0.99"}],
        "value_specs": {"binding:profile": {"x": 1}}}}], security_groups=["default"])  # fmt: skip
    body = world.neutron.bodies("POST", "/v2.0/ports")[0]["port"]
    assert {key: value for key, value in body.items() if key != "description"} == {
        "name": "r-port-0", "network_id": world.net, "fixed_ips": [{"ip_address": "10.0.0.7"}],
        "security_groups": [world.neutron.default_group["id"]], "qos_policy_id": "policy-id",
        "allowed_address_pairs": [{"ip_address": "10.0.0.99"}], "binding:profile": {"x": 1},
        "admin_state_up": True, "binding:vnic_type": "normal"}  # fmt: skip


def test_a_port_without_addresses(world: World) -> None:
    world.server(networks=[{"network": world.net, "port_extra_properties": {"no_fixed_ips": True}}])
    assert world.neutron.bodies("POST", "/v2.0/ports")[0]["port"]["fixed_ips"] == []


def test_a_subnet_of_another_network(world: World) -> None:
    other = world.network("other", "10.1.0.0/24")
    resource = world.make(
        "OS::Nova::Server", **world.server_props(networks=[{"network": world.net, "subnet": "subnet-of-other"}])
    )
    assert failed(Driver(lifecycle.create(resource), resource)).endswith(
        f"Specified subnet {world.subnet(other)} does not belongs to network {world.net}."
    )


def test_no_interface_is_asked_for_where_all_ports_are_known(world: World) -> None:
    server = world.server(networks=[{"port": world.port("given")}, {"subnet": "subnet-of-net"}])
    assert data(server, "external_ports") == ["given"]
    assert world.nova.count("GET", ".*os-interface") == 0


def test_tags_of_an_old_service(world: World) -> None:
    world.nova.newest = "2.50"
    server = world.server(tags=["a"])
    assert "tags" not in world.last("/servers")["server"] and world.shown(server)["tags"] == ["a"]


# --- faults


def test_an_error_of_nova_is_told_and_tried_again(world: World, option: Option) -> None:
    """The broken server and its internal port go before there is another."""
    option("action_retry_limit", 1)
    world.nova.breaks.append("web")
    server = world.server(name="web", networks=[{"subnet": "subnet-of-net"}])
    changes = [one.split("/")[0] + one.split("/")[1].split("-")[0] for one in world.nova.changes()]
    assert changes == ["POST servers", "DELETE servers", "POST servers"]
    assert len(world.neutron.ports.objects) == 1 == len(data(server, "internal_ports"))


def test_the_fault_is_in_the_reason(world: World, option: Option) -> None:
    option("action_retry_limit", 0)
    world.nova.breaks.append("web")
    resource = world.make("OS::Nova::Server", **world.server_props(name="web"))
    assert failed(Driver(lifecycle.create(resource), resource)) == (
        'ResourceInError: resources.r: Went to status ERROR due to "Message: No valid host was found., Code: 500"'
    )
    assert resource.needs_replace_failed()


def test_a_quota(world: World) -> None:
    """The reason is what novaclient would say; the port that was made for it is deleted with the resource."""
    world.nova.fault("POST", "/servers", status=403, message="Quota exceeded for cores: Requested 1")
    resource = world.make("OS::Nova::Server", **world.server_props(networks=[{"subnet": "subnet-of-net"}]))
    assert failed(Driver(lifecycle.create(resource), resource)).startswith(
        "Forbidden: resources.r: Quota exceeded for cores: Requested 1 (HTTP 403)"
    )
    assert len(world.neutron.ports.objects) == 1
    world.delete(resource)
    assert not world.neutron.ports.objects


@pytest.mark.parametrize("name", ["web", None])
def test_the_answer_to_the_creation_is_lost(world: World, name: str | None) -> None:
    """The server is found by its name; no second one is made."""
    world.nova.fault("POST", "/servers", cut=True, after=True)
    server = world.make("OS::Nova::Server", **world.server_props(**({"name": name} if name else {})))
    server.record.created_at = clock.utcnow()
    drive(lifecycle.create(server), server)
    assert list(world.nova.servers.objects) == [server.resource_id]
    assert "perhaps_created" not in server.data()


def test_the_answer_to_the_creation_of_a_port_is_lost(world: World) -> None:
    world.neutron.fault("POST", "/v2.0/ports", cut=True, after=True)
    server = world.server(networks=[{"subnet": "subnet-of-net"}])
    assert data(server, "internal_ports") == list(world.neutron.ports.objects) == ports_of(world, server)


def test_nova_is_busy(world: World) -> None:
    """What was made for the server is not made again with its repeated request."""
    world.nova.fault("POST", "/servers", status=503, times=3)
    world.server(networks=[{"subnet": "subnet-of-net"}])
    assert world.nova.count("POST", "/servers") == 4 and world.neutron.count("POST", "/v2.0/ports") == 1


def test_an_engine_dies_before_it_knows_the_server(world: World) -> None:
    """Another one finds the server, and the port of which nobody noted the id."""
    resource = world.make("OS::Nova::Server", **world.server_props(networks=[{"subnet": "subnet-of-net"}]))
    world.nova.fault("POST", "/servers", status=403)
    with pytest.raises(exceptions.ResourceFailure):
        drive(lifecycle.create(resource), resource)
    resource.record.status = "IN_PROGRESS"
    resource.data_delete("internal_ports")
    resource._made_ports.clear()
    drive(resume_action(resource), resource)
    assert resource.state == ("CREATE", "COMPLETE")
    assert data(resource, "internal_ports") == list(world.neutron.ports.objects) == ports_of(world, resource)


def test_removed_behind_our_back(world: World) -> None:
    server = world.server()
    del world.nova.servers.objects[server.resource_id]
    server._seen = None
    assert server.needs_replace_failed() and server.FnGetAtt("networks") == ""
    with pytest.raises(exceptions.ResourceFailure, match="could not be found"):
        drive(lifecycle.check(server), server)
    world.delete(server)


# --- the other actions


def test_check_suspend_resume(world: World) -> None:
    server = world.server()
    drive(lifecycle.check(server), server)
    drive(lifecycle.suspend(server), server)
    assert world.shown(server)["status"] == "SUSPENDED" and server.state == ("SUSPEND", "COMPLETE")
    with pytest.raises(exceptions.ResourceFailure, match="'status': expected 'ACTIVE', got 'SUSPENDED'"):
        drive(lifecycle.check(server), server)
    server.record.action, server.record.status = "SUSPEND", "COMPLETE"
    drive(lifecycle.resume(server), server)
    assert world.shown(server)["status"] == "ACTIVE" and server.state == ("RESUME", "COMPLETE")
    world.sent()
    drive(lifecycle.resume(server), server)
    assert world.sent() == []  # it is where resuming leads to


def test_a_snapshot(world: World) -> None:
    server = world.server()
    drive(lifecycle.snapshot(server), server)
    kept = server.stack.store.snapshots["traversal"]
    image = kept["resource_data"]["snapshot_image_id"]
    assert world.images.images[image]["name"] == server.physical_resource_name()
    restored = server.handle_restore(server.t, kept)
    assert restored.properties(server.properties_schema, server.context).data["image"] == image
    drive(lifecycle.delete_snapshot(server, kept), server)
    assert image not in world.images.images
    drive(lifecycle.delete_snapshot(server, kept), server)  # it is gone already


def test_an_engine_that_dies_during_the_snapshot(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one waits for that image; the next snapshot of the stack has one of its own."""
    server = world.server()
    first = server.handle_snapshot()
    assert server.handle_snapshot() == first
    monkeypatch.setattr(server.stack, "current_traversal", "another")
    assert server.handle_snapshot() != first


def test_an_image_of_the_server_that_goes(world: World) -> None:
    resource = world.stack("OS::Nova::Server", world.server_props(), deletion_policy="Snapshot")["r"]
    drive(lifecycle.create(resource), resource)
    before = set(world.images.images)
    world.delete(resource)
    assert len(set(world.images.images) - before) == 1 and not world.nova.servers.objects


def test_adoption(world: World) -> None:
    there = world.server()
    resource = world.make("OS::Nova::Server", **world.server_props())
    drive(lifecycle.adopt(resource, {"resource_id": there.resource_id, "resource_data": {}, "metadata": {}}), resource)
    assert resource.state == ("ADOPT", "COMPLETE") and resource.resource_id == there.resource_id


def test_an_external_server_is_not_deleted(world: World) -> None:
    there = world.server()
    resource = world.stack("OS::Nova::Server", world.server_props(), external_id=there.resource_id)["r"]
    drive(lifecycle.create(resource), resource)
    assert resource.state == ("CHECK", "COMPLETE") and resource.resource_id == there.resource_id
    assert list(world.nova.servers.objects) == [there.resource_id]


# --- attributes


def test_attributes(world: World) -> None:
    world.neutron.floatingips.add(
        "fip", floating_network_id=world.net, floating_ip_address="172.24.0.9", port_id=None, fixed_ip_address=None
    )
    server = world.server(name="web", tags=["a"])
    (port_id,) = ports_of(world, server)
    world.neutron.floatingips.objects["fip"].update(port_id=port_id, fixed_ip_address="10.0.0.1")
    assert server.FnGetAtt("name") == "web" and server.FnGetAtt("tags") == ["a"]
    assert server.FnGetAtt("networks") == {"net": ["10.0.0.1"], world.net: ["10.0.0.1"]}
    assert server.FnGetAtt("first_address") == "10.0.0.1" and server.FnGetAtt("instance_name") == "instance-1"
    mac = world.neutron.ports.objects[port_id]["mac_address"]
    network, subnet = world.neutron.networks.objects[world.net], world.neutron.subnets.objects[world.subnet(world.net)]
    common = {"version": [4], "OS-EXT-IPS-MAC:mac_addr": mac}
    expected = [
        # 27.0.1 has no port here: an association with the port of the first address then fails in its update.
        {**common, "addr": "172.24.0.9", "OS-EXT-IPS:type": "floating", "port": port_id},
        {**common, "addr": "10.0.0.1", "OS-EXT-IPS:type": "fixed", "port": port_id, "subnets": [subnet],
         "network": network},
    ]  # fmt: skip
    assert server.FnGetAtt("addresses") == {"net": expected, world.net: expected}
    assert server.FnGetAtt("show")["status"] == "ACTIVE"


def test_only_attributes_of_the_schema_are_promised_before_the_server_is_made(world: World) -> None:
    """By that a template is refused which asks for another."""
    asked = [{"get_attr": ["server", name]} for name in ("name", "console_urls", "status")]
    asking = {"type": "OS::Heat::Value", "properties": {"value": asked}}
    server = {"type": "OS::Nova::Server", "properties": world.server_props()}
    stack = world.cloud.stack(hot({"server": server, "asking": asking}))
    assert set(stack["server"].node_data().attribute_names()) == {"name", "console_urls"}


def test_consoles(world: World) -> None:
    """Only the one that is meant is asked for; what cannot be had is said in its place."""
    server = world.server()
    assert server.FnGetAtt("console_urls", "novnc") == "http://console/vnc/novnc"
    assert server.FnGetAtt("console_urls", "novnc") == "http://console/vnc/novnc"
    assert world.nova.count("POST", ".*remote-consoles") == 1
    assert server.FnGetAtt("console_urls", "telepathy") == 'Unsupported console_type "telepathy"'
    urls = server.FnGetAtt("console_urls")
    assert urls["webmks"] == "http://console/mks/webmks"
    assert urls["serial"] == "Cannot get console url: Unavailable console type serial. (HTTP 400)"


# --- software config


def test_user_data_of_a_software_config(world: World) -> None:
    resource = world.make("OS::Nova::Server", **world.server_props(user_data="00000000-0000-4000-8000-000000000009"))
    resource.stack.software.create_config(resource, {"id": "00000000-0000-4000-8000-000000000009", "config": "#!x"})
    drive(lifecycle.create(resource), resource)
    assert base64.b64decode(world.last("/servers")["server"]["user_data"]) == b"#!x"
    other = world.server(user_data="00000000-0000-4000-8000-000000000008")
    assert other.state == ("CREATE", "COMPLETE")
    assert base64.b64decode(world.last("/servers")["server"]["user_data"]) == b"00000000-0000-4000-8000-000000000008"


# --- validation


REFUSED: dict[str, dict[str, Any]] = {
    "Neither image nor bootable volume is specified for instance r": {"image": None},
    "Multiple bootable sources for instance r.": {"block_device_mapping_v2": [{"volume_id": "v"}]},
    "Cannot define the following properties at the same time: block_device_mapping, block_device_mapping_v2.": {
        "block_device_mapping": [{"device_name": "vda", "volume_id": "v"}],
        "block_device_mapping_v2": [{"swap_size": 1}]},
    "Either volume_id or snapshot_id must be specified for device mapping vdb": {
        "block_device_mapping": [{"device_name": "vdb"}]},
    "Cannot define the following properties at the same time: volume_id, snapshot_id.": {
        "block_device_mapping": [{"device_name": "vdb", "volume_id": "v", "snapshot_id": "s"}]},
    "Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must be specified.": {
        "block_device_mapping_v2": [{"device_name": "vdb"}]},
    "Cannot define the following properties at the same time: volume_id, snapshot_id, image, swap_size, "
    "ephemeral_size, ephemeral_format.": {"block_device_mapping_v2": [{"swap_size": 1, "ephemeral_size": 1}]},
    "Cannot define the following properties at the same time: security_groups, networks/port.": {
        "security_groups": ["default"], "networks": [{"port": "given"}]},
    "Instance metadata must not contain greater than 3 entries.  This is the maximum number allowed by your service "
    "provider": {"metadata": {"a": 1, "b": 2, "c": 3, "d": 4}},
    "Cannot use the personality parameter as nova no longer supports it. Use user_data instead.": {
        "personality": {"/a": "b"}},
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(world: World, message: str) -> None:
    world.port("given")
    resource = world.make("OS::Nova::Server", **world.server_props(**REFUSED[message]))
    with pytest.raises((exceptions.StackValidationFailed, exceptions.ResourcePropertyConflict)) as refused:
        server_validation.validate(resource)
    assert str(refused.value) == message


@pytest.mark.parametrize(("image", "message"), [
    ({"min_ram": 9999}, "requires 9999 minimum ram. Flavor small has only 512."),
    ({"min_disk": 99}, "requires 99 GB minimum disk space. Flavor small has only 1 GB."),
    ({"status": "queued"}, "Image status is required to be active not queued."),
])  # fmt: skip
def test_an_image_that_does_not_fit(world: World, image: dict[str, Any], message: str) -> None:
    world.images.add("odd", **image)
    resource = world.make("OS::Nova::Server", **world.server_props(image="odd"))
    with pytest.raises(exceptions.StackValidationFailed) as refused:
        resource.validate()
    assert str(refused.value).endswith(message)


def test_files_of_an_old_service(world: World) -> None:
    world.nova.newest = "2.50"
    for files, message in (
        ({"/a": "12345678901"}, 'The contents of personality file "/a" is larger than the maximum allowed personality '
                                "file size (10 bytes)."),
        ({"/a": "", "/b": ""}, "The personality property may not contain greater than 1 entries."),
    ):  # fmt: skip
        resource = world.make("OS::Nova::Server", **world.server_props(personality=files))
        with pytest.raises(exceptions.StackValidationFailed) as refused:
            resource.validate()
        assert str(refused.value) == message
    world.server(personality={"/a": "text"})
    assert world.last("/servers")["server"]["personality"] == [
        {"path": "/a", "contents": base64.b64encode(b"text").decode()}
    ]


def test_an_old_service_cannot_do_all(world: World) -> None:
    world.nova.newest = "2.20"
    for props, named in (
        ({"networks": [{"allocate_network": "auto"}]}, "allocate_network"),
        ({"networks": [{"network": world.net, "tag": "t"}]}, "tag"),
        ({"tags": ["t"]}, "tags"),
        ({"image": None, "block_device_mapping_v2": [{"image": world.image, "volume_type": "t"}]}, "volume_type"),
    ):
        resource = world.make("OS::Nova::Server", **world.server_props(**props))
        with pytest.raises(exceptions.StackValidationFailed) as refused:
            server_validation.validate(resource)
        assert str(refused.value).startswith(f'Cannot use "{named}" property')


# --- what it needs


def test_subnets_come_first(world: World) -> None:
    """Those of its networks; all where it cannot be told which."""
    resources = {
        "net": {"type": "OS::Neutron::Net"},
        "mine": {"type": "OS::Neutron::Subnet", "properties": {
            "network": {"get_resource": "net"}, "cidr": "10.9.0.0/24"}},
        "other": {"type": "OS::Neutron::Subnet", "properties": {"network": world.net, "cidr": "10.8.0.0/24"}},
        "named": {"type": "OS::Nova::Server", "properties": {
            "flavor": "small", "image": "cirros", "networks": [{"network": {"get_resource": "net"}}]}},
        "unknown": {"type": "OS::Nova::Server", "properties": {
            "flavor": "small", "image": "cirros", "networks": [{"port": "p"}]}},
    }  # fmt: skip
    stack = world.cloud.stack(hot(resources))
    stack.resources = {name: stack[name] for name in stack}
    graph = edges.dependencies(stack)
    assert set(graph.requires("named")) == {"net", "mine"}
    assert set(graph.requires("unknown")) == {"mine", "other"}
