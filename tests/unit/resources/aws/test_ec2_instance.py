# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::Instance on a compute and a network service in this process; AWS::EC2::Volume on a volume service."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import neutron as neutron_client, polling, rest
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.nova import resizing
from tests.fixtures.fake_cinder import FakeAttachments, FakeCinder
from tests.fixtures.fake_neutron import FakeNeutron
from tests.fixtures.fake_nova import FakeImages, FakeNova
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option
from tests.unit.resources.cinder.conftest import World
from tests.unit.resources.fakes import drive

INSTANCE = "AWS::EC2::Instance"


@pytest.fixture
def neutron() -> Iterator[FakeNeutron]:
    neutron_client.forget_recent()
    with FakeNeutron() as running:
        net = running.networks.add("net", name="private")
        for name, cidr in (("first", "10.0.1.0/24"), ("second", "10.0.2.0/24")):
            running.subnets.add(name, network_id=net["id"], cidr=cidr, gateway_ip=cidr.replace("0/24", "1"))
        for name in ("p", "q"):
            address = {"subnet_id": "first", "ip_address": f"10.0.1.{ord(name)}"}
            running.ports.add(name, network_id="net", fixed_ips=[address], mac_address=f"fa:16:3e:00:00:{ord(name):x}")
        yield running


@pytest.fixture
def cinder() -> Iterator[FakeCinder]:
    with FakeCinder() as running:
        yield running


@pytest.fixture
def nova(neutron: FakeNeutron) -> Iterator[FakeNova]:
    with FakeImages() as images, FakeNova(neutron, images) as running:
        images.add("cirros", id="image-id")
        yield running


@pytest.fixture
def world(
    option: Option, neutron: FakeNeutron, nova: FakeNova, cinder: FakeCinder, monkeypatch: pytest.MonkeyPatch
) -> World:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(polling, "SPACING", 0.0)
    option("heat_metadata_server_url", "http://127.0.0.1:8000")
    return World(FakeCloud(network=neutron, compute=nova, image=nova.images, volumev3=cinder))


def given(**props: Any) -> dict[str, Any]:
    return {"ImageId": "cirros", "InstanceType": "small", **props}


def server_of(nova: FakeNova, instance: Any) -> dict[str, Any]:
    return nova.servers.objects[instance.resource_id]


def test_what_is_asked_for(world: World, nova: FakeNova) -> None:
    hints = [{"Key": "near", "Value": "a"}, {"Key": "near", "Value": "b"}, {"Key": "far", "Value": "c"}]
    instance = world.create(
        INSTANCE,
        **given(
            NetworkInterfaces=[
                {"NetworkInterfaceId": "q", "DeviceIndex": 1},
                {"NetworkInterfaceId": "p", "DeviceIndex": 0},
            ],
            Tags=[{"Key": "k", "Value": "v"}],
            NovaSchedulerHints=hints,
            UserData="text",
        ),
    )
    (body,) = nova.bodies("POST", "/servers")
    assert body["os:scheduler_hints"] == {"near": ["a", "b"], "far": "c"}
    server = body["server"]
    assert (server["name"], server["imageRef"], server["flavorRef"], server["metadata"], server["networks"]) == (
        instance.physical_resource_name(),
        "image-id",
        "1",
        {"k": "v"},
        [{"port": "p"}, {"port": "q"}],
    )
    assert b"text" in base64.b64decode(server["user_data"])
    assert instance.FnGetAtt("show") is None and instance.FnGetAtt("PrivateIp") == "10.0.1.112"


def test_without_a_network_the_service_chooses(world: World, nova: FakeNova) -> None:
    world.create(INSTANCE, **given(SecurityGroups=["default"]))
    server = nova.bodies("POST", "/servers")[0]["server"]
    assert server["networks"] == "auto" and server["security_groups"] == [{"name": "default"}]


def test_a_port_of_its_own_goes_after_it(world: World, nova: FakeNova, neutron: FakeNeutron) -> None:
    instance = world.create(INSTANCE, **given(SubnetId="first", SecurityGroupIds=["default"]))
    port_id = instance.data()["port_id"]
    port = neutron.ports.objects[port_id]
    assert port["fixed_ips"][0]["subnet_id"] == "first" and port["security_groups"] == [neutron.default_group["id"]]
    world.update(instance, **given(SubnetId="second", SecurityGroupIds=["default"]))
    assert port_id not in neutron.ports.objects
    there = neutron.ports.objects[instance.data()["port_id"]]
    assert there["fixed_ips"][0]["subnet_id"] == "second" and there["device_id"] == instance.resource_id
    world.delete(instance)
    assert nova.servers.objects == {} and set(neutron.ports.objects) == {"p", "q"}


def test_a_failed_creation_leaves_no_port(world: World, nova: FakeNova, neutron: FakeNeutron) -> None:
    nova.fault("POST", "/servers", status=403, message="Quota exceeded")
    instance = world.make(INSTANCE, **given(SubnetId="first"))
    assert "Quota exceeded" in world.fails(lifecycle.create(instance), instance)
    world.delete(instance)
    assert set(neutron.ports.objects) == {"p", "q"}


def test_a_server_whose_answer_is_lost(world: World, nova: FakeNova) -> None:
    nova.fault("POST", "/servers", cut=True, after=True)
    instance = world.create(INSTANCE, **given(NetworkInterfaces=["p"]))
    assert list(nova.servers.objects) == [instance.resource_id]


def test_updates(world: World, nova: FakeNova, neutron: FakeNeutron) -> None:
    instance = world.create(INSTANCE, **given(NetworkInterfaces=["p"]))
    world.update(instance, **given(InstanceType="large", Tags=[{"Key": "k", "Value": "v"}], NetworkInterfaces=["q"]))
    server = server_of(nova, instance)
    assert server["flavor"]["original_name"] == "large" and server["metadata"] == {"k": "v"}
    devices = {name: neutron.ports.objects[name]["device_id"] for name in ("p", "q")}
    assert devices == {"p": "", "q": instance.resource_id}


@pytest.fixture
def with_volumes(world: World, nova: FakeNova, cinder: FakeCinder) -> FakeAttachments:
    """Servers that take volumes, too."""
    attachments = FakeAttachments(cinder)
    nova.routes += attachments.routes
    return attachments


def test_what_the_template_gives_it_goes_to_the_replacement_and_comes_back(
    world: World, nova: FakeNova, cinder: FakeCinder, neutron: FakeNeutron, with_volumes: FakeAttachments
) -> None:
    """27.0.1 fails: the interface and the volume are still in use."""
    cinder.volumes.add("v", size=1, status="available")
    has = {"NetworkInterfaces": ["p"], "Volumes": [{"VolumeId": "v", "Device": "/dev/vdb"}]}
    instance = world.create(INSTANCE, **given(**has))
    with pytest.raises(exceptions.UpdateReplace):
        drive(lifecycle.update(instance, world.definition(instance, **given(**has, UserData="new"))), instance)
    other = world.create(INSTANCE, **given(**has, UserData="new"))
    assert neutron.ports.objects["p"]["device_id"] == other.resource_id
    assert with_volumes.has(other.resource_id, "v")
    stack = instance.stack
    stack.action, stack.status, instance.record.replaced_by = "ROLLBACK", "IN_PROGRESS", 99
    stack.replacements[99] = other
    world.update(instance, **given(**has))
    assert neutron.ports.objects["p"]["device_id"] == instance.resource_id
    assert with_volumes.has(instance.resource_id, "v")


def test_of_a_broken_instance_nothing_can_be_taken(world: World, nova: FakeNova) -> None:
    instance = world.create(INSTANCE, **given(NetworkInterfaces=["p"]))
    server_of(nova, instance)["status"] = "ERROR"
    changes = nova.changes()
    assert instance.check_prepare_for_replace_complete(instance.prepare_for_replace())
    nova.servers.objects.clear()
    assert instance.check_prepare_for_replace_complete(instance.prepare_for_replace()) and nova.changes() == changes


def test_a_resize_takes_all_ways_that_one_of_a_server_may_take(
    world: World, nova: FakeNova, monkeypatch: pytest.MonkeyPatch
) -> None:
    """27.0.1 fails, or waits until the time of the stack is over."""
    instance = world.create(INSTANCE, **given())
    nova.fault("POST", ".*/action", cut=True, after=True)
    world.update(instance, **given(InstanceType="large"))
    assert server_of(nova, instance)["flavor"] == {"original_name": "large"}

    def confirmed_by_the_cloud(server: dict[str, Any], arguments: Any) -> None:
        server["flavor"] = {"original_name": "small"}
        nova._go(server, "RESIZE", "SHUTOFF")

    monkeypatch.setattr(nova, "_do_resize", confirmed_by_the_cloud)
    world.update(instance, **given(InstanceType="small"))
    assert instance.state == ("UPDATE", "COMPLETE") and server_of(nova, instance)["status"] == "SHUTOFF"
    monkeypatch.setattr(nova, "_do_resize", lambda server, arguments: None)
    monkeypatch.setattr(resizing, "RESIZE_BEGINS_WITHIN", 0.0)
    after = world.definition(instance, **given(InstanceType="large"))
    assert "Resizing to '2' failed, status 'SHUTOFF'" in world.fails(lifecycle.update(instance, after), instance)


def test_suspend_resume_and_check(world: World, nova: FakeNova) -> None:
    instance = world.create(INSTANCE, **given(NetworkInterfaces=["p"]))
    assert drive(lifecycle.suspend(instance), instance).short[-1] == "SUSPEND_COMPLETE"
    assert server_of(nova, instance)["status"] == "SUSPENDED"
    assert drive(lifecycle.resume(instance), instance).short[-1] == "RESUME_COMPLETE"
    assert drive(lifecycle.check(instance), instance).short[-1] == "CHECK_COMPLETE"


def test_a_server_that_fails_says_why(world: World, nova: FakeNova, option: Option) -> None:
    option("action_retry_limit", 0)
    instance = world.make(INSTANCE, **given(NetworkInterfaces=["p"]))
    instance.record.action = "CREATE"  # only then it has a name
    nova.breaks.append(instance.physical_resource_name())
    instance.record.action = "INIT"
    assert "Message: No valid host was found., Code: 500" in world.fails(lifecycle.create(instance), instance)


@pytest.mark.parametrize(
    ("props", "message"),
    [
        ({"SecurityGroups": ["a"], "NetworkInterfaces": ["p"]}, "SecurityGroups/SecurityGroupIds, NetworkInterfaces"),
        ({"BlockDeviceMappings": [{"DeviceName": "vdb"}]}, "Ebs is missing, this is required"),
        ({"BlockDeviceMappings": [{"DeviceName": "vdb", "Ebs": {"VolumeSize": "1"}}]}, "SnapshotId is missing"),
    ],
)
def test_refused(world: World, props: dict[str, Any], message: str) -> None:
    assert message in world.invalid(INSTANCE, **given(**props))


# volumes -----------------------------------------------------------------------------------------


def test_a_volume_never_changes(world: World, cinder: FakeCinder) -> None:
    tags = [{"Key": "k", "Value": "v"}]
    volume = world.create("AWS::EC2::Volume", AvailabilityZone="nova", Size="2", Tags=tags)
    name = volume.physical_resource_name()
    body = {"name": name, "description": name, "size": 2, "availability_zone": "nova", "metadata": {"k": "v"}}
    assert cinder.bodies("POST", "/volumes") == [{"volume": body}] and volume.FnGetAtt("show") is None
    after = world.definition(volume, AvailabilityZone="nova", Size="3", Tags=tags)
    assert "Update to properties Size of r (AWS::EC2::Volume)" in world.fails(lifecycle.update(volume, after), volume)
    world.delete(volume)
    assert cinder.volumes.objects == {}


def test_a_volume_of_a_backup(world: World, cinder: FakeCinder) -> None:
    cinder.backups.add("b")
    volume = world.create("AWS::EC2::Volume", AvailabilityZone="nova", SnapshotId="b")
    assert cinder.volumes.objects[volume.resource_id]["description"] == volume.physical_resource_name()
    with pytest.raises(exceptions.HeatException):
        world.make("AWS::EC2::Volume", AvailabilityZone="nova", SnapshotId="absent").validate()
