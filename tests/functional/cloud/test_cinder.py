# SPDX-License-Identifier: Apache-2.0
"""The types of OS::Cinder on a real Cinder, side by side with Heat 27.0.1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.comparison import Both, Pair
from tests.fixtures.polling import until

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]

#: What Cinder tells of volumes that differ by themselves.
VOLUME_ATTRIBUTES = (
    "availability_zone", "size", "snapshot_id", "display_name", "display_description", "volume_type", "metadata",
    "source_volid", "status", "bootable", "metadata_values", "encrypted", "attachments_list", "multiattach",
)  # fmt: skip


def template(resources: dict[str, Any], outputs: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs or {}}


def volume(**props: Any) -> dict[str, Any]:
    return {"type": "OS::Cinder::Volume", "properties": {"size": 1, **props}}


def outputs_of(name: str) -> dict[str, Any]:
    return {f"{name}_{one}": {"value": {"get_attr": [name, one]}} for one in VOLUME_ATTRIBUTES}


def test_a_volume_through_its_updates(both: Both) -> None:
    def stack(**props: Any) -> dict[str, Any]:
        return template({"v": volume(**props)}, outputs_of("v"))

    pair = both.create(stack(description="one", metadata={"k": "v"})).compare()
    ids = [one.resource("v")["physical_resource_id"] for one in pair.stacks]
    pair.update(stack(name="named", description="two", metadata={"k": "w", "n": "x"}, size=2)).compare()
    pair.update(stack(name="named", description="two", metadata={}, size=2, read_only=True)).compare()
    pair.action("check", "CHECK_COMPLETE").compare()
    pair.action("suspend", "SUSPEND_COMPLETE").compare()
    pair.action("resume", "RESUME_COMPLETE").compare()
    assert [one.resource("v")["physical_resource_id"] for one in pair.stacks] == ids, "all in place"
    pair.update(stack(name="named", description="two", metadata={}, size=1, read_only=True), wait="UPDATE_FAILED")
    pair.compare()
    pair.delete()


def test_volumes_of_volumes_images_and_backups(both: Both) -> None:
    resources = {
        "source": volume(name="source"),
        "copy": {"type": "OS::Cinder::Volume", "properties": {"source_volid": {"get_resource": "source"}}},
        "of_image": volume(image="cirros"),
    }
    pair = both.create(template(resources, {**outputs_of("copy"), **outputs_of("of_image")})).compare()
    pair.delete()


NETWORK = {
    "net": {"type": "OS::Neutron::Net"},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.77.0.0/24", "enable_dhcp": False},
    },
}


def server() -> dict[str, Any]:
    return {
        "type": "OS::Nova::Server",
        "depends_on": "subnet",
        "properties": {
            "image": "cirros",
            "flavor": "m1.tiny",
            "networks": [{"network": {"get_resource": "net"}}],
        },
    }


def attachment(instance: str, of: str = "v", **props: Any) -> dict[str, Any]:
    where = {"instance_uuid": {"get_resource": instance}, "volume_id": {"get_resource": of}}
    return {"type": "OS::Cinder::VolumeAttachment", "properties": {**where, **props}}


def test_a_volume_that_servers_have(both: Both) -> None:
    """Grown and set read-only in use, moved to another server, exchanged for another volume."""

    def stack(at: dict[str, Any], **props: Any) -> dict[str, Any]:
        resources = {**NETWORK, "one": server(), "two": server(), "v": volume(**props), "w": volume(), "at": at}
        shown = {name: value for name, value in outputs_of("v").items() if name != "v_attachments_list"}
        return template(resources, shown)

    # Nova shows what it knows at the moment of asking; a server has other tests.
    # An attachment has the id of its volume.
    ignored = {"one.*", "two.*", "v.attachments*", "w.attachments*", "v.id", "w.id"}
    pair = both.create(stack(attachment("one"))).compare(ignored)
    pair.update(stack(attachment("one"), size=2)).compare(ignored)
    pair.update(stack(attachment("one"), size=2, read_only=True)).compare(ignored)
    pair.update(stack(attachment("two", mountpoint="/dev/vdd"), size=2, read_only=True)).compare(ignored)
    pair.update(stack(attachment("two", of="w"), size=2, read_only=True)).compare(ignored)
    for one in pair.stacks:
        (where,) = one.resource("w")["attributes"]["attachments"]
        assert where["server_id"] == one.resource("two")["physical_resource_id"]
        assert one.resource("v")["attributes"]["attachments"] == []
    pair.delete()


@pytest.fixture(scope="module")
def backups(service: Any) -> None:
    """Skips where the test bed makes no backups: its Cinder is of before it could, and has to be started anew."""
    made = service.call("POST", "volumev3", "/volumes", {"volume": {"size": 1, "name": "probe"}})["volume"]
    path = f"/volumes/{made['id']}"
    until(lambda: service.get("volumev3", path)["volume"]["status"] == "available", "a volume for the probe", 30)
    backup = service.call("POST", "volumev3", "/backups", {"backup": {"volume_id": made["id"]}})["backup"]["id"]
    try:
        until(lambda: service.get("volumev3", f"/backups/{backup}")["backup"]["status"] != "creating", "a backup", 20)
        works = service.get("volumev3", f"/backups/{backup}")["backup"]["status"] == "available"
    except AssertionError:
        works = False
    if not works:
        headers = {"OpenStack-API-Version": "volume 3.0"}
        reset = {"os-reset_status": {"status": "error"}}
        service.send("POST", "volumev3", f"/backups/{backup}/action", reset, **headers)
        service.send("POST", "volumev3", f"{path}/action", {"os-reset_status": {"status": "available"}}, **headers)
    service.send("DELETE", "volumev3", f"/backups/{backup}")
    service.send("DELETE", "volumev3", path)
    if not works:
        pytest.skip("the Cinder of the test bed makes no backups: testbed up cinder starts it with the means to")


@pytest.mark.usefixtures("backups")
def test_snapshot_and_restore(both: Both) -> None:
    pair = both.create(template({"v": volume(description="before")}))
    snapshots = []
    for one in pair.stacks:
        reply = one.api.send("POST", f"{one.path}/snapshots", {"name": "s"})
        snapshots.append(reply.json()["id"])
    pair.wait("SNAPSHOT_COMPLETE").compare()
    pair.update(template({"v": volume(description="after", metadata={"k": "v"})}))
    for one, snapshot in zip(pair.stacks, snapshots, strict=True):
        one.api.send("POST", f"{one.path}/snapshots/{snapshot}/restore")
    pair.wait("RESTORE_COMPLETE").compare()
    for one, snapshot in zip(pair.stacks, snapshots, strict=True):
        one.api.send("DELETE", f"{one.path}/snapshots/{snapshot}")
    pair.delete()


@pytest.mark.usefixtures("backups")
def test_deletion_policy_snapshot(both: Both, service: Any, tenant: Any) -> None:
    before = {one["id"] for one in service.get("volumev3", "/backups")["backups"]}
    pair = both.create(template({"v": {**volume(), "deletion_policy": "Snapshot"}}))
    volumes = {one.resource("v")["physical_resource_id"] for one in pair.stacks}
    pair.delete()
    left = [
        one
        for one in service.get("volumev3", "/backups/detail")["backups"]
        if one["id"] not in before and one["volume_id"] in volumes
    ]
    assert [one["status"] for one in left] == ["available"] * 2
    # Cinder keeps with a restored volume what it knows of the backup.
    ignored = {"r.metadata*"}
    into = both.create(template({"r": volume(description="d")}))
    # Each stack restores a backup of its own: Cinder refuses one that is being restored.
    for stack, backup in zip(into.stacks, left, strict=True):
        stack.update(template({"r": volume(description="d", backup_id=backup["id"])}))
    into.compare(ignored).delete()
    anew = [
        template({"r": {"type": "OS::Cinder::Volume", "properties": {"backup_id": one["id"], "description": "d"}}})
        for one in left
    ]
    pair = Pair(both.ours.create(anew[0], wait=False), both.theirs.create(anew[1], wait=False), anew[0])
    both.pairs.append(pair)
    pair.wait("CREATE_COMPLETE").compare(ignored).delete()
    for one in left:
        service.call("DELETE", "volumev3", f"/backups/{one['id']}")


def test_types_of_administrators(both_as_admin: Both) -> None:
    def stack(**props: Any) -> dict[str, Any]:
        qos = props.pop("qos", {"k": "v"})
        limits = props.pop("limits", {"volumes": 50})
        bits = props.pop("bits", 256)
        return template(
            {
                "type": {"type": "OS::Cinder::VolumeType", "properties": {"name": {"get_resource": "word"}, **props}},
                "word": {"type": "OS::Heat::RandomString", "properties": {"length": 20}},
                "encryption": {
                    "type": "OS::Cinder::EncryptedVolumeType",
                    "properties": {
                        "volume_type": {"get_resource": "type"},
                        "provider": "luks",
                        "cipher": "aes-xts-plain64",
                        "key_size": bits,
                    },
                },
                "qos": {"type": "OS::Cinder::QoSSpecs", "properties": {"specs": qos}},
                "given": {
                    "type": "OS::Cinder::QoSAssociation",
                    "properties": {
                        "qos_specs": {"get_resource": "qos"},
                        "volume_types": [{"get_resource": "type"}],
                    },
                },
                "project": {"type": "OS::Keystone::Project"},
                "quota": {
                    "type": "OS::Cinder::Quota",
                    "properties": {"project": {"get_resource": "project"}, **limits},
                },
            }
        )

    # Heat shows the quota of a project that has the physical name of the resource for its id: there is none.
    ignored = {"word.*", "type.name", "encryption.encryption_id", "quota.*", "project.*"}
    pair = both_as_admin.create(stack(metadata={"a": "b"}, description="d")).compare(ignored)
    changed = stack(
        metadata={"c": "d"}, description="e", qos={"n": "w"}, limits={"volumes": 60, "backups": -1}, bits=512
    )
    pair.update(changed).compare(ignored)
    private = stack(metadata={"c": "d"}, is_public=False, projects=["demo"], qos={"n": "w"}, limits={"volumes": 60})
    # Heat leaves the description that is no longer given.
    pair.update(private).compare(ignored | {"type.description"})
    pair.action("check", "CHECK_COMPLETE").compare(ignored | {"type.description"})
    pair.delete()


def test_retype(both_as_admin: Both) -> None:
    def stack(of: str) -> dict[str, Any]:
        def kind(name: str) -> dict[str, Any]:
            return {"type": "OS::Cinder::VolumeType", "properties": {"name": {"get_resource": name}}}

        word = {"type": "OS::Heat::RandomString", "properties": {"length": 20}}
        resources = {"a": word, "b": word, "type_a": kind("a"), "type_b": kind("b")}
        return template({**resources, "v": volume(volume_type={"get_resource": of})})

    pair = both_as_admin.create(stack("type_a"))
    pair.update(stack("type_b"))
    for one in pair.stacks:
        assert one.resource("v")["attributes"]["volume_type_id"] == one.resource("type_b")["physical_resource_id"]
    pair.delete()


@pytest.mark.parametrize(
    "props",
    [
        {"size": None, "image": "cirros"},
        {"source_volid": "absent"},
        {"volume_type": "absent"},
        {"image": "absent"},
        {"image": "cirros", "imageRef": "x"},
        {"size": 0},
    ],
)
def test_refusals(both: Both, props: dict[str, Any]) -> None:
    given = {name: value for name, value in {"size": 1, **props}.items() if value is not None}
    both.refused(template({"v": {"type": "OS::Cinder::Volume", "properties": given}}))
