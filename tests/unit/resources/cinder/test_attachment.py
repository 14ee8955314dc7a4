# SPDX-License-Identifier: Apache-2.0
"""OS::Cinder::VolumeAttachment: given, moved, taken away, and what becomes of it when answers are lost."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.clients import rest
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.resuming import resume_action
from tests.fixtures.fake_cinder import FakeAttachments, FakeCinder
from tests.unit.resources.cinder.conftest import World
from tests.unit.resources.fakes import Driver, drive

ATTACHMENT = "OS::Cinder::VolumeAttachment"


@pytest.fixture
def volume(cinder: FakeCinder) -> str:
    return str(cinder.volumes.add("v")["id"])


def attached(world: World, server: str = "one", volume: str = "v", **props: Any) -> Any:
    return world.create(ATTACHMENT, instance_uuid=server, volume_id=volume, **props)


def test_a_life(world: World, cinder: FakeCinder, nova: FakeAttachments, volume: str) -> None:
    made = attached(world, mountpoint="/dev/vdd")
    assert made.resource_id == volume and nova.has("one", volume)
    assert nova.bodies("POST") == [{"volumeAttachment": {"volumeId": volume, "device": "/dev/vdd"}}]
    world.delete(made)
    assert cinder.volumes.objects[volume]["status"] == "available"


@pytest.mark.parametrize(
    ("after", "server", "there"),
    [
        ({"instance_uuid": "two", "volume_id": "v"}, "two", "v"),
        ({"instance_uuid": "one", "volume_id": "w"}, "one", "w"),
        ({"instance_uuid": "one", "volume_id": "v", "mountpoint": "/dev/vdf"}, "one", "v"),
    ],
)
def test_moved(
    world: World, cinder: FakeCinder, nova: FakeAttachments, volume: str, after: dict[str, str], server: str, there: str
) -> None:
    cinder.volumes.add("w")
    made = attached(world)
    assert world.update(made, **after).short[-1] == "UPDATE_COMPLETE"
    assert nova.has(server, there) and made.resource_id == there
    if there != volume or server != "one":
        assert not nova.has("one", volume)


def test_a_server_that_is_busy_is_asked_again(world: World, nova: FakeAttachments, volume: str) -> None:
    nova.fault("POST", ".*", status=409, times=3, message="instance is in vm_state building")
    made = attached(world)
    assert nova.count("POST") == 4 and made.resource_id == volume


def test_a_refusal_is_told(world: World, nova: FakeAttachments, volume: str) -> None:
    nova.fault("POST", ".*", status=403, message="no")
    made = world.make(ATTACHMENT, instance_uuid="one", volume_id=volume)
    reason = world.fails(lifecycle.create(made), made)
    assert reason == f"Error: resources.r: Failed to attach volume {volume} to server one - no (HTTP 403)"
    assert world.delete(made).short[-1] == "DELETE_COMPLETE" and nova.count("DELETE") == 0


def test_an_attachment_whose_answer_is_lost_is_found(world: World, nova: FakeAttachments, volume: str) -> None:
    nova.fault("POST", ".*", cut=True, after=True)
    made = attached(world)
    assert made.resource_id == volume and nova.count("POST") == 1


@pytest.mark.parametrize("volume_goes", [False, True])
def test_a_service_that_broke_down_over_an_attachment(
    world: World, cinder: FakeCinder, nova: FakeAttachments, volume: str, volume_goes: bool
) -> None:
    """The volume may be at the server: it is taken from there when the resource is deleted."""
    nova.fault("POST", ".*", status=500, message="no disk", after=True)
    made = world.make(ATTACHMENT, instance_uuid="one", volume_id=volume)
    assert "no disk" in world.fails(lifecycle.create(made), made) and nova.has("one", volume)
    if volume_goes:
        cinder.volumes.objects.clear()
    assert world.delete(made).short[-1] == "DELETE_COMPLETE"
    assert not nova.has("one", volume)


def test_what_is_gone_already_is_right(world: World, cinder: FakeCinder, nova: FakeAttachments, volume: str) -> None:
    made = attached(world)
    cinder.volumes.objects.clear()
    assert world.delete(made).short[-1] == "DELETE_COMPLETE"


class Died(BaseException):
    """The engine is no more."""


@pytest.mark.parametrize("request_number", range(2))
@pytest.mark.parametrize("carried_out", [False, True])
def test_an_engine_that_dies_while_moving_it(
    world: World,
    cinder: FakeCinder,
    nova: FakeAttachments,
    volume: str,
    monkeypatch: pytest.MonkeyPatch,
    request_number: int,
    carried_out: bool,
) -> None:
    made = attached(world)
    after = world.definition(made, instance_uuid="two", volume_id=volume)
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
        Driver(lifecycle.update(made, after), made).run()
    made.record.action, made.record.status = "UPDATE", "IN_PROGRESS"
    assert drive(resume_action(made, after), made).short[-1] == "UPDATE_COMPLETE"
    assert nova.has("two", volume) and made.resource_id == volume


def test_an_engine_that_died_before_it_wrote_the_id(world: World, nova: FakeAttachments, volume: str) -> None:
    made = world.make(ATTACHMENT, instance_uuid="one", volume_id=volume)
    made.client_plugin("nova").attach_volume("one", volume, None)
    made.record.action, made.record.status = "CREATE", "IN_PROGRESS"
    assert drive(resume_action(made), made).short[-1] == "CREATE_COMPLETE"
    assert made.resource_id == volume and nova.count("POST") == 1


# replaced ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False], ids=["is there", "was taken away"])
def test_an_attachment_that_failed_is_made_anew_at_its_place(
    world: World, nova: FakeAttachments, volume: str, there: bool
) -> None:
    """27.0.1 fails if the volume is still there; if not, it detaches it with the attachment that had failed."""
    made = attached(world)
    if there:
        made.record.status = "FAILED"
    else:
        nova.fault("POST", "/servers/two/.*", status=400)
        world.fails(lifecycle.update(made, world.definition(made, volume_id="v", instance_uuid="two")), made)
    new = world.replace(made, instance_uuid="one", volume_id="v")
    assert nova.has("one", volume)
    world.delete(new)
    assert not nova.has("one", volume)


def test_it_is_taken_from_where_it_is_whatever_the_template_refers_to_by_now(
    world: World, nova: FakeAttachments, volume: str
) -> None:
    made = attached(world)
    made.properties = world.make(ATTACHMENT, instance_uuid="replaced meanwhile", volume_id="v").properties
    work = made.prepare_for_replace()
    while not made.check_prepare_for_replace_complete(work):
        assert nova.count("DELETE") == 1
    assert nova.changes()[-1] == "DELETE /servers/one/os-volume_attachments/v" and not nova.has("one", volume)


def test_a_rollback_gives_the_volume_back(world: World, nova: FakeAttachments, volume: str) -> None:
    made = attached(world)
    made.record.status = "FAILED"
    new = world.replace(made, instance_uuid="two", volume_id="v")
    made.record.action, made.record.status = "UPDATE", "COMPLETE"
    work = made.restore_prev_rsrc()
    for _look in range(9):
        made.check_restore_prev_rsrc_complete(work)
    assert nova.has("one", volume) and not nova.has("two", volume)
    world.delete(new)
    assert nova.has("one", volume)
