# SPDX-License-Identifier: Apache-2.0
"""OS::Cinder::Volume: what it is made of, what of it changes in place, what a deletion leaves."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from openkeel_heat.clients import rest
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.resuming import resume_action
from tests.fixtures.fake_cinder import FakeAttachments, FakeCinder
from tests.unit.conftest import Option
from tests.unit.resources.cinder.conftest import World
from tests.unit.resources.fakes import Driver, drive

VOLUME = "OS::Cinder::Volume"


# create ------------------------------------------------------------------------------------------


def test_a_new_volume_is_asked_for_in_one_request(world: World, cinder: FakeCinder) -> None:
    volume = world.create(
        VOLUME, size=3, description="d", metadata={"k": "v"}, volume_type="fast", scheduler_hints={"near": "x"}
    )
    (body,) = cinder.bodies("POST", "/volumes")
    assert body == {
        "volume": {
            "name": volume.physical_resource_name(),
            "description": "d",
            "size": 3,
            "metadata": {"k": "v"},
            "volume_type": "fast",
        },
        "OS-SCH-HNT:scheduler_hints": {"near": "x"},
    }
    assert cinder.changes() == ["POST /volumes"]
    assert volume.data() == {"volume_type": "fast"}, "what Heat keeps, too"


@pytest.mark.parametrize(
    ("props", "field"),
    [
        ({"snapshot_id": "s"}, {"snapshot_id": "s"}),
        ({"source_volid": "v"}, {"source_volid": "v"}),
        ({"availability_zone": "az", "size": 1}, {"availability_zone": "az", "size": 1}),
    ],
)
def test_what_a_volume_is_made_of(
    world: World, cinder: FakeCinder, props: dict[str, Any], field: dict[str, Any]
) -> None:
    cinder.snapshots.add("s")
    cinder.volumes.add("v")
    world.create(VOLUME, **props)
    body = cinder.bodies("POST", "/volumes")[0]["volume"]
    assert field.items() <= body.items() and "imageRef" not in body


def test_hints_tell_the_stack_where_the_site_wants_them(world: World, cinder: FakeCinder, option: Option) -> None:
    option("stack_scheduler_hints", True)
    volume = world.make(VOLUME, size=1)
    volume.stack.path_in_stack = lambda: [(None, "outer"), ("member", "inner")]
    drive(lifecycle.create(volume), volume)
    hints = cinder.bodies("POST", "/volumes")[0]["OS-SCH-HNT:scheduler_hints"]
    assert hints == {
        "heat_root_stack_id": volume.stack.id,
        "heat_stack_id": volume.stack.id,
        "heat_stack_name": volume.stack.name,
        "heat_path_in_stack": ["outer", "member,inner"],
        "heat_resource_name": "r",
        "heat_resource_uuid": volume.uuid,
    }


def test_of_a_backup(world: World, cinder: FakeCinder) -> None:
    cinder.backups.add("b")
    volume = world.create(VOLUME, backup_id="b", description="mine")
    assert cinder.bodies("POST", "/backups/b/restore") == [
        {"restore": {"volume_id": None, "name": volume.physical_resource_name()}}
    ]
    made = cinder.volumes.objects[volume.resource_id]
    assert (made["name"], made["description"]) == (volume.physical_resource_name(), "mine")


@pytest.mark.parametrize("flag", [True, False])
def test_access_mode_is_set_once_the_volume_is_available(world: World, cinder: FakeCinder, flag: bool) -> None:
    volume = world.create(VOLUME, size=1, read_only=flag)
    assert cinder.volumes.objects[volume.resource_id]["metadata"] == {"readonly": str(flag)}


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("error", 'ResourceInError: resources.r: Went to status error due to "Unknown"'),
        ("odd", 'ResourceUnknownStatus: resources.r: Volume create failed - Unknown status odd due to "Unknown"'),
    ],
)
def test_a_volume_that_fails(world: World, cinder: FakeCinder, option: Option, state: str, reason: str) -> None:
    option("action_retry_limit", 0)
    cinder.volumes.states = ["creating", state]
    volume = world.make(VOLUME, size=1)
    assert world.fails(lifecycle.create(volume), volume) == reason


def test_a_restore_whose_answer_is_lost_finds_its_volume(world: World, cinder: FakeCinder) -> None:
    cinder.backups.add("b")
    cinder.fault("POST", "/backups/b/restore", cut=True, after=True)
    volume = world.create(VOLUME, backup_id="b")
    assert list(cinder.volumes.objects) == [volume.resource_id]


def test_a_quota_that_is_exceeded_is_told(world: World, cinder: FakeCinder) -> None:
    cinder.fault("POST", "/volumes", status=413, message="VolumeLimitExceeded", kind="overLimit")
    volume = world.make(VOLUME, size=1)
    reason = world.fails(lifecycle.create(volume), volume)
    assert reason == "OverLimit: resources.r: VolumeLimitExceeded (HTTP 413)"
    assert world.delete(volume).short[-1] == "DELETE_COMPLETE" and cinder.count("DELETE") == 0


# validation --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("props", "message"),
    [
        (
            {},
            'one and only one of "source_volid", "snapshot_id" must be specified, but currently specified options: []',
        ),
        ({"image": "i"}, "but currently specified options: ['image']"),
        ({"snapshot_id": "s", "source_volid": "v"}, "specified options: ['snapshot_id', 'source_volid']"),
        (
            {"size": 1, "snapshot_id": "s", "source_volid": "v"},
            'If "size" is provided, only one of "image", "imageRef"',
        ),
        ({"size": 0}, "0 is out of range"),
        ({"size": 1, "snapshot_id": "absent"}, "The VolumeSnapshot (absent) could not be found."),
        ({"size": 1, "volume_type": "absent"}, "The VolumeType (absent) could not be found."),
        ({"backup_id": "absent"}, "The Volume backup (absent) could not be found."),
    ],
)
def test_refused(world: World, cinder: FakeCinder, props: dict[str, Any], message: str) -> None:
    cinder.snapshots.add("s")
    cinder.volumes.add("v")
    if "image" in props:
        world.cloud.clients._plugins["glance"] = _Glance()
    assert message in world.invalid(VOLUME, **props)


class _Glance:
    """An image service in which every name is the id of an image."""

    def find_image_by_name_or_id(self, name: str) -> str:
        return f"id-of-{name}"


def test_an_image_is_found_by_name(world: World, cinder: FakeCinder) -> None:
    world.cloud.clients._plugins["glance"] = _Glance()
    world.create(VOLUME, size=1, image="cirros")
    assert cinder.bodies("POST", "/volumes")[0]["volume"]["imageRef"] == "id-of-cirros"


def test_the_former_name_of_image(world: World, cinder: FakeCinder) -> None:
    world.cloud.clients._plugins["glance"] = _Glance()
    world.create(VOLUME, size=1, imageRef="i")
    assert cinder.bodies("POST", "/volumes")[0]["volume"]["imageRef"] == "id-of-i"


@pytest.mark.parametrize(("enabled", "valid"), [(True, True), (False, False)])
def test_deletion_policy_snapshot_needs_backups(world: World, option: Option, enabled: bool, valid: bool) -> None:
    from openkeel_heat.common import exceptions
    from openkeel_heat.resources.cinder.volume import CinderVolume

    option("backups_enabled", enabled, "volumes")
    if valid:
        CinderVolume.validate_deletion_policy("Snapshot")
        return
    with pytest.raises(exceptions.StackValidationFailed, match="volume backup service is not enabled"):
        CinderVolume.validate_deletion_policy("Snapshot")


# attributes --------------------------------------------------------------------------------------


def test_attributes_have_the_forms_of_heat(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=2, name="n", metadata={"k": "v"})
    asked = len(cinder.requests)
    values = {name: volume.FnGetAtt(name) for name in volume.attributes_schema}
    assert {name: values[name] for name in ("size", "metadata", "metadata_values", "display_name", "snapshot_id")} == {
        "size": "2",
        "metadata": json.dumps({"k": "v"}),
        "metadata_values": {"k": "v"},
        "display_name": "n",
        "snapshot_id": "None",
    }
    assert (values["attachments"], values["attachments_list"], values["multiattach"]) == ("[]", [], "False")
    assert len(cinder.requests) - asked <= 1, "sixteen attributes are one request"


# update ------------------------------------------------------------------------------------------


def test_name_description_metadata_and_type(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1, name="a", metadata={"k": "v"})
    before = len(cinder.changes())
    world.update(volume, size=1, name="b", description="d", metadata={"n": "w"}, volume_type="fast")
    path = f"/volumes/{volume.resource_id}"
    assert cinder.changes()[before:] == [f"PUT {path}", f"PUT {path}/metadata", f"POST {path}/action"]
    made = cinder.volumes.objects[volume.resource_id]
    assert (made["name"], made["description"], made["volume_type"]) == ("b", "d", "fast")
    assert made["metadata"] == {"n": "w"} and volume.data()["volume_type"] == "fast"


def test_no_longer_given(world: World, cinder: FakeCinder) -> None:
    """27.0.1 leaves the volume as it was."""
    volume = world.create(VOLUME, size=1, name="a", description="d", read_only=True)
    world.update(volume, size=1)
    made = cinder.volumes.objects[volume.resource_id]
    assert (made["name"], made["description"]) == (volume.physical_resource_name(), None)
    assert made["metadata"] == {"readonly": "False"}


@pytest.mark.parametrize(
    ("change", "reason"), [({"volume_type": "fast"}, "Volume retype failed"), ({"size": 2}, "Volume resize failed")]
)
def test_what_cinder_gives_up_is_told(world: World, cinder: FakeCinder, change: dict[str, Any], reason: str) -> None:
    """No back end has room for it: the volume is then as it was before, which 27.0.1 takes for a success."""
    volume = world.create(VOLUME, size=1, volume_type="plain")
    cinder.full = True
    after = world.definition(volume, **{"size": 1, "volume_type": "plain", **change})
    told = world.fails(lifecycle.update(volume, after), volume)
    assert told == f'ResourceUnknownStatus: resources.r: {reason} - Unknown status available due to "Unknown"'
    assert volume.data()["volume_type"] == "plain"


def test_a_type_by_its_id_that_an_old_service_tells_by_its_name(world: World, cinder: FakeCinder) -> None:
    fast = next(one["id"] for one in cinder.types.objects.values() if one["name"] == "fast")
    cinder.microversion = "3.62"
    volume = world.create(VOLUME, size=1)
    assert world.update(volume, size=1, volume_type=fast).short[-1] == "UPDATE_COMPLETE"
    assert cinder.volumes.objects[volume.resource_id]["volume_type"] == "fast"


def test_growing(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1)
    assert world.update(volume, size=4).short[-1] == "UPDATE_COMPLETE"
    assert cinder.volumes.objects[volume.resource_id]["size"] == 4
    assert volume.resource_id in cinder.volumes.objects


def test_shrinking_is_refused_before_anything_is_done(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=4)
    before = cinder.changes()
    reason = world.fails(lifecycle.update(volume, world.definition(volume, size=1, name="new")), volume)
    assert reason == "NotSupported: resources.r: Shrinking volume is not supported." and cinder.changes() == before


def in_use(world: World, cinder: FakeCinder, nova: FakeAttachments, *servers: str, **props: Any) -> Any:
    """A volume that servers have."""
    volume = world.create(VOLUME, **props)
    made = cinder.volumes.objects[volume.resource_id]
    made["status"] = "in-use"
    made["attachments"] = [
        {"id": made["id"], "volume_id": made["id"], "server_id": server, "device": "/dev/vdc"} for server in servers
    ]
    return volume


@pytest.mark.parametrize(("microversion", "moves"), [("3.71", 0), ("3.41", 2)])
def test_growing_in_use(world: World, cinder: FakeCinder, nova: FakeAttachments, microversion: str, moves: int) -> None:
    cinder.microversion = microversion
    volume = in_use(world, cinder, nova, "server", size=1)
    assert world.update(volume, size=2).short[-1] == "UPDATE_COMPLETE"
    assert len(nova.changes()) == moves
    assert nova.has("server", volume.resource_id) and cinder.volumes.objects[volume.resource_id]["size"] == 2


def test_access_mode_in_use(world: World, cinder: FakeCinder, nova: FakeAttachments) -> None:
    volume = in_use(world, cinder, nova, "server", size=1)
    assert world.update(volume, size=1, read_only=True).short[-1] == "UPDATE_COMPLETE"
    made = cinder.volumes.objects[volume.resource_id]
    assert made["metadata"] == {"readonly": "True"} and made["status"] == "in-use"
    attached = {"volumeAttachment": {"volumeId": made["id"], "device": "/dev/vdc"}}
    assert nova.bodies("POST") == [attached], "at the same device"
    assert "attach_again" not in volume.data()


def test_a_backup_is_restored_and_the_volume_grown_and_given_back(
    world: World, cinder: FakeCinder, nova: FakeAttachments
) -> None:
    cinder.backups.add("b")
    volume = in_use(world, cinder, nova, "server", size=1)
    assert world.update(volume, size=2, backup_id="b").short[-1] == "UPDATE_COMPLETE"
    assert cinder.bodies("POST", "/backups/b/restore") == [{"restore": {"volume_id": volume.resource_id, "name": None}}]
    made = cinder.volumes.objects[volume.resource_id]
    assert (made["size"], made["status"]) == (2, "in-use") and nova.has("server", volume.resource_id)


def test_a_failed_update_does_not_forget_whose_volume_it_was(
    world: World, cinder: FakeCinder, nova: FakeAttachments
) -> None:
    cinder.backups.add("b")
    volume = in_use(world, cinder, nova, "server", size=1)
    cinder.fault("POST", "/backups/b/restore", status=400, message="Backup is broken.")
    reason = world.fails(lifecycle.update(volume, world.definition(volume, size=1, backup_id="b")), volume)
    told = f"Failed to restore volume {volume.resource_id} from backup b - Backup is broken. (HTTP 400)"
    assert reason == f"Error: resources.r: {told}"
    assert not nova.has("server", volume.resource_id)
    assert world.update(volume, size=1, name="another").short[-1] == "UPDATE_COMPLETE"
    assert nova.has("server", volume.resource_id)


def test_a_volume_that_somebody_removed_is_told_in_the_words_of_the_service(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1)
    cinder.volumes.objects.clear()
    reason = world.fails(lifecycle.update(volume, world.definition(volume, size=1, name="another")), volume)
    assert re.fullmatch(rf"NotFound: resources.r: .*{volume.resource_id}.* \(HTTP 404\).*", reason)


class Died(BaseException):
    """The engine is no more."""


@pytest.mark.parametrize("request_number", range(7))
@pytest.mark.parametrize("carried_out", [False, True])
def test_an_engine_that_dies_in_an_update(
    world: World,
    cinder: FakeCinder,
    nova: FakeAttachments,
    monkeypatch: pytest.MonkeyPatch,
    request_number: int,
    carried_out: bool,
) -> None:
    """Another one ends the update, whatever the first has done of it."""
    cinder.microversion = "3.41"
    volume = in_use(world, cinder, nova, "server", size=1)
    after = world.definition(volume, size=2, name="new", metadata={"k": "v"}, volume_type="fast", read_only=True)
    send, numbers = rest.RestClient.send, iter(range(100))

    def dies(client: Any, method: str, path: str, **more: Any) -> Any:
        last = method != "GET" and next(numbers) == request_number
        if last and not carried_out:
            raise Died
        reply = send(client, method, path, **more)
        if last:
            raise Died
        return reply

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(rest.RestClient, "send", dies)
        Driver(lifecycle.update(volume, after), volume).run()
    volume.record.action, volume.record.status = "UPDATE", "IN_PROGRESS"
    assert drive(resume_action(volume, after), volume).short[-1] == "UPDATE_COMPLETE"
    made = cinder.volumes.objects[volume.resource_id]
    assert (made["size"], made["name"], made["volume_type"]) == (2, "new", "fast")
    assert made["metadata"] == {"readonly": "True", "k": "v"} and nova.has("server", volume.resource_id)
    assert "attach_again" not in volume.data()


@pytest.mark.parametrize(
    ("state", "replaced"), [("error", True), ("deleting", True), ("available", False), ("error_extending", False)]
)
def test_whether_a_failed_volume_is_replaced(world: World, cinder: FakeCinder, state: str, replaced: bool) -> None:
    volume = world.create(VOLUME, size=1)
    cinder.volumes.objects[volume.resource_id]["status"] = state
    assert volume.needs_replace_failed() is replaced
    cinder.volumes.objects.clear()
    assert volume.needs_replace_failed() is True


# what there is -----------------------------------------------------------------------------------


def test_live_state(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1, metadata={"k": "v"})
    made = cinder.volumes.objects[volume.resource_id]
    made.update(size=5, description="changed", metadata={"k": "w", "readonly": "True"}, volume_type="fast")
    assert volume.get_live_state(volume.properties) == {
        "size": 5,
        "description": "changed",
        "metadata": {"k": "w"},
        "read_only": True,
        "volume_type": "fast",
    }


def test_what_cinder_says_by_itself_is_no_change(world: World, cinder: FakeCinder, option: Option) -> None:
    """The access mode among the metadata, that of the attachment, and a size that was not asked for."""
    option("observe_on_update", True)
    cinder.snapshots.add("s", size=3)
    volume = world.create(VOLUME, snapshot_id="s", metadata={"k": "v"}, read_only=True)
    cinder.volumes.objects[volume.resource_id]["metadata"]["attached_mode"] = "ro"
    assert world.update(volume, snapshot_id="s", metadata={"k": "v"}, read_only=True).short == []
    plain = world.create(VOLUME, snapshot_id="s")
    cinder.volumes.objects[plain.resource_id].update(size=3, metadata={"readonly": "False"})
    assert world.update(plain, snapshot_id="s").short == []
    cinder.volumes.objects[plain.resource_id]["metadata"] = {"readonly": "True"}
    world.update(plain, snapshot_id="s")
    assert cinder.volumes.objects[plain.resource_id]["metadata"] == {"readonly": "False"}


@pytest.mark.parametrize(("state", "good"), [("available", True), ("in-use", True), ("error", False)])
def test_check(world: World, cinder: FakeCinder, state: str, good: bool) -> None:
    volume = world.create(VOLUME, size=1)
    cinder.volumes.objects[volume.resource_id]["status"] = state
    if good:
        assert drive(lifecycle.check(volume), volume).short[-1] == "CHECK_COMPLETE"
    else:
        reason = world.fails(lifecycle.check(volume), volume)
        assert reason == "Error: resources.r: 'status': expected '['available', 'in-use']', got 'error'"


# delete ------------------------------------------------------------------------------------------


def test_deletion_waits_until_it_is_gone(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1)
    world.delete(volume)
    assert cinder.volumes.objects == {} and cinder.changes()[1:] == [f"DELETE /volumes/{volume.resource_id}"]


def test_a_volume_in_use_is_not_deleted(world: World, cinder: FakeCinder, nova: FakeAttachments) -> None:
    volume = in_use(world, cinder, nova, "server", size=1)
    assert world.fails(lifecycle.delete(volume), volume) == "Error: resources.r: Volume in use"


def test_a_volume_on_its_way_from_a_server_is_waited_for(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1)
    cinder.pass_through(cinder.volumes.objects[volume.resource_id], "detaching", "detaching", "available")
    assert world.delete(volume).short[-1] == "DELETE_COMPLETE" and cinder.volumes.objects == {}


def test_a_deletion_that_fails(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1)
    cinder.volumes.deleting = ["deleting", "error_deleting"]
    reason = world.fails(lifecycle.delete(volume), volume)
    assert reason == 'ResourceInError: resources.r: Went to status error_deleting due to "delete"'


def with_policy_snapshot(world: World) -> Any:
    template = {"type": VOLUME, "properties": {"size": 1}, "deletion_policy": "Snapshot"}
    volume = world.cloud.stack({"heat_template_version": "2016-10-14", "resources": {"r": template}})["r"]
    drive(lifecycle.create(volume), volume)
    return volume


def test_deletion_policy_snapshot_leaves_a_backup(world: World, cinder: FakeCinder) -> None:
    volume = with_policy_snapshot(world)
    world.delete(volume)
    (backup,) = cinder.backups.objects.values()
    assert backup["volume_id"] == volume.resource_id and backup["status"] == "available"
    assert cinder.volumes.objects == {}


def test_a_backup_that_fails_keeps_the_volume(world: World, cinder: FakeCinder) -> None:
    cinder.backups.states = ["creating", "error"]
    volume = with_policy_snapshot(world)
    reason = world.fails(lifecycle.delete(volume), volume)
    assert reason.startswith("ResourceUnknownStatus: resources.r: Volume backup failed - Unknown status error")
    assert list(cinder.volumes.objects) == [volume.resource_id]


@pytest.mark.parametrize("action", ["CREATE", "UPDATE"])
def test_no_backup_of_what_failed(world: World, cinder: FakeCinder, action: str) -> None:
    volume = with_policy_snapshot(world)
    volume.record.action, volume.record.status = action, "FAILED"
    world.delete(volume)
    assert cinder.backups.objects == {} and cinder.volumes.objects == {}


def test_an_engine_that_dies_during_the_backup(world: World, cinder: FakeCinder) -> None:
    """The next one waits for that backup: it makes no second one."""
    volume = with_policy_snapshot(world)
    driver = Driver(lifecycle.delete(volume), volume).run(until=lifecycle.Pause)
    driver.generator.close()
    drive(resume_action(volume), volume)
    assert len(cinder.backups.objects) == 1 and cinder.volumes.objects == {}


# snapshot and restore ----------------------------------------------------------------------------


def test_snapshot_and_its_deletion(world: World, cinder: FakeCinder, nova: FakeAttachments) -> None:
    volume = in_use(world, cinder, nova, "server", size=1)
    drive(lifecycle.snapshot(volume, "snap"), volume)
    data = volume.stack.store.snapshots["snap"]
    backup_id = data["resource_data"]["backup_id"]
    assert cinder.bodies("POST", "/backups") == [{"backup": {"volume_id": volume.resource_id, "force": True}}]
    drive(lifecycle.delete_snapshot(volume, data), volume)
    assert backup_id not in cinder.backups.objects
    drive(lifecycle.delete_snapshot(volume, data), volume)


def test_a_snapshot_that_fails_says_why(world: World, cinder: FakeCinder) -> None:
    cinder.backups.states = ["creating", "error"]
    cinder.backups.defaults["fail_reason"] = "no space"
    volume = world.create(VOLUME, size=1)
    assert world.fails(lifecycle.snapshot(volume, "snap"), volume) == "Error: resources.r: no space"


def test_restoring_a_snapshot_restores_the_backup(world: World, cinder: FakeCinder) -> None:
    volume = world.create(VOLUME, size=1, source_volid=cinder.volumes.add()["id"])
    restored = volume.handle_restore(volume.t, {"resource_data": {"backup_id": "b"}})
    assert dict(restored.properties(volume.properties_schema, volume.context).data) == {"size": 1, "backup_id": "b"}
