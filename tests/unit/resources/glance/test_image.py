# SPDX-License-Identifier: Apache-2.0
"""OS::Glance::WebImage: fetched from the web, changed by patches, and told why when it cannot be had."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import polling, rest
from openkeel_heat.clients.errors import EntityMatchNotFound, EntityUniqueMatchNotFound
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.resuming import resume_action
from tests.fixtures.fake_glance import FakeGlance
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option
from tests.unit.resources.cinder.conftest import World
from tests.unit.resources.fakes import Driver, drive

IMAGE = "OS::Glance::WebImage"
GIVEN: dict[str, Any] = {
    "name": "i",
    "disk_format": "raw",
    "container_format": "bare",
    "location": "http://example.org/i",
}


@pytest.fixture
def glance() -> Iterator[FakeGlance]:
    with FakeGlance() as running:
        yield running


@pytest.fixture
def world(option: Option, glance: FakeGlance, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(polling, "SPACING", 0.0)
    return World(FakeCloud(image=glance))


def of(glance: FakeGlance, resource: Any) -> dict[str, Any]:
    return glance.images[resource.resource_id]


# create ------------------------------------------------------------------------------------------


def test_made_then_fetched(world: World, glance: FakeGlance) -> None:
    image = world.create(IMAGE, **GIVEN, tags=["a"], os_distro="debian", extra_properties={"x": "1"})
    assert glance.changes() == ["POST /v2/images", f"POST /v2/images/{image.resource_id}/import"]
    assert glance.bodies("POST") == [
        {
            "name": "i",
            "disk_format": "raw",
            "container_format": "bare",
            "tags": ["a"],
            "os_distro": "debian",
            "x": "1",
            "min_disk": 0,
            "min_ram": 0,
            "protected": False,
            "visibility": "private",
        },
        {"method": {"name": "web-download", "uri": "http://example.org/i"}},
    ]
    assert of(glance, image)["status"] == "active"


def test_contents_that_cannot_be_had(world: World, glance: FakeGlance) -> None:
    glance.failure = "no such host"
    image = world.make(IMAGE, **GIVEN)
    reason = world.fails(lifecycle.create(image), image)
    assert reason.startswith('ResourceInError: resources.r: Went to status queued due to "no such host"')


def test_a_refusal_is_told_as_the_service_words_it(world: World, glance: FakeGlance) -> None:
    glance.fault("POST", ".*/import", status=400, message="URI for web-download does not pass filtering")
    image = world.make(IMAGE, **GIVEN)
    reason = world.fails(lifecycle.create(image), image)
    told = "HTTP 400 Refused: URI for web-download does not pass filtering"
    assert reason == f"HTTPBadRequest: resources.r: {told}"
    world.delete(image)
    assert glance.images == {}


def test_members_and_an_image_that_is_not_active(world: World, glance: FakeGlance) -> None:
    image = world.create(IMAGE, **GIVEN, visibility="shared", members=["p", "q"], active=False)
    assert glance.members[image.resource_id] == ["p", "q"] and of(glance, image)["status"] == "deactivated"


def test_an_image_whose_answer_is_lost(world: World, glance: FakeGlance) -> None:
    glance.add(name="i", created_at="2001-01-01T00:00:00Z")
    glance.fault("POST", "/v2/images", cut=True, after=True)
    image = world.make(IMAGE, **GIVEN)
    image.record.created_at = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    drive(lifecycle.create(image), image)
    assert glance.count("POST", "/v2/images") == 1 and len(glance.images) == 2
    assert of(glance, image)["created_at"] > "2001-01-02"


class Died(BaseException):
    """The engine is no more."""


@pytest.mark.parametrize("request_number", range(1, 3))
@pytest.mark.parametrize("carried_out", [False, True])
def test_an_engine_that_dies_in_a_creation(
    world: World, glance: FakeGlance, monkeypatch: pytest.MonkeyPatch, request_number: int, carried_out: bool
) -> None:
    image = world.make(IMAGE, **GIVEN, visibility="shared", members=["p"])
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
        Driver(lifecycle.create(image), image).run()
    image.record.action, image.record.status = "CREATE", "IN_PROGRESS"
    assert drive(resume_action(image), image).short[-1] == "CREATE_COMPLETE"
    assert len(glance.images) == 1 and glance.members[image.resource_id] == ["p"]
    assert glance.count("POST", ".*/import") == 1 and of(glance, image)["status"] == "active"


# update ------------------------------------------------------------------------------------------


def test_only_what_differs_is_patched(world: World, glance: FakeGlance) -> None:
    image = world.create(IMAGE, **GIVEN, os_distro="debian", architecture="x", extra_properties={"a": "1", "b": "2"})
    world.update(image, **GIVEN, os_distro="ubuntu", os_version="1", extra_properties={"a": "1", "c": "3"})
    (patch,) = glance.bodies("PATCH")
    assert sorted(patch, key=lambda one: one["path"]) == [
        {"op": "remove", "path": "/architecture"},
        {"op": "remove", "path": "/b"},
        {"op": "add", "path": "/c", "value": "3"},
        {"op": "replace", "path": "/os_distro", "value": "ubuntu"},
        {"op": "add", "path": "/os_version", "value": "1"},
    ]


def test_tags_members_and_activity(world: World, glance: FakeGlance) -> None:
    shared = {**GIVEN, "visibility": "shared"}
    image = world.create(IMAGE, **shared, tags=["a", "b"], members=["p", "q"])
    world.update(image, **shared, tags=["b", "c"], members=["q", "r"], active=False)
    assert of(glance, image)["tags"] == ["b", "c"] and of(glance, image)["status"] == "deactivated"
    assert glance.members[image.resource_id] == ["q", "r"] and glance.bodies("PATCH") == []
    world.update(image, **shared, tags=["b", "c"], members=["q", "r"])
    assert of(glance, image)["status"] == "active"


def test_an_image_that_is_shared_no_more(world: World, glance: FakeGlance) -> None:
    """Its members go first: of an image that is not shared the service tells and changes none."""
    image = world.create(IMAGE, **GIVEN, visibility="shared", members=["p"])
    world.update(image, **GIVEN, visibility="private")
    assert of(glance, image)["visibility"] == "private" and glance.members[image.resource_id] == []
    world.update(image, **GIVEN, visibility="shared", members=["q"])
    assert of(glance, image)["visibility"] == "shared" and glance.members[image.resource_id] == ["q"]


def test_an_engine_that_dies_after_it_has_taken_the_members(world: World, glance: FakeGlance) -> None:
    image = world.create(IMAGE, **GIVEN, visibility="shared", members=["p"])
    glance.fault("PATCH", ".*", status=500, after=True)
    reason = world.fails(lifecycle.update(image, world.definition(image, **GIVEN, visibility="private")), image)
    assert "it broke" in reason and of(glance, image)["visibility"] == "private"
    image.record.status = "COMPLETE"
    world.update(image, **GIVEN, visibility="private")
    assert image.state == ("UPDATE", "COMPLETE")


def test_tags_with_characters_of_paths(world: World, glance: FakeGlance) -> None:
    """27.0.1 sends them as they are: another path, or a query."""
    image = world.create(IMAGE, **GIVEN, tags=["a/b", "c?d"])
    world.update(image, **GIVEN, tags=["e/f g", "h?i"])
    assert of(glance, image)["tags"] == ["e/f g", "h?i"]


# what there is -----------------------------------------------------------------------------------


def test_only_what_was_asked_for_is_looked_at(world: World, glance: FakeGlance, option: Option) -> None:
    """Not the owner and the order of tags that the service chose, nor a field that somebody added."""
    option("observe_on_update", True)
    asked = {**GIVEN, "tags": ["b", "a"], "visibility": "shared", "members": ["q", "p"]}
    image = world.create(IMAGE, **asked)
    of(glance, image).update(tags=["a", "b"], os_distro="debian")
    assert world.update(image, **asked).short == []
    of(glance, image)["tags"].append("c")
    glance.members[image.resource_id] = []
    assert world.update(image, **asked).short[-1] == "UPDATE_COMPLETE"
    assert glance.members[image.resource_id] == ["p", "q"]


def test_live_state(world: World, glance: FakeGlance) -> None:
    from openkeel_heat.common import exceptions

    image = world.create(IMAGE, **GIVEN, extra_properties={"x": "1"})
    of(glance, image).update(x="2", protected=True, status="deactivated")
    live = image.get_live_state(image.properties)
    assert (live["extra_properties"], live["protected"], live["active"]) == ({"x": "2"}, True, False)
    assert "location" not in live and "id" not in live
    of(glance, image)["status"] = "killed"
    with pytest.raises(exceptions.EntityNotFound):
        image.get_live_state(image.properties)


def test_a_protected_image_is_not_deleted(world: World, glance: FakeGlance) -> None:
    image = world.create(IMAGE, **GIVEN, protected=True)
    assert "is protected and cannot be deleted" in world.fails(lifecycle.delete(image), image)
    of(glance, image)["protected"] = False
    world.delete(image)
    assert glance.images == {}


@pytest.mark.parametrize(
    ("props", "message"),
    [
        ({"container_format": "ami"}, "the container and disk formats must match"),
        ({"members": ["p"]}, "members property should only be specified for visibility with value shared."),
        ({"kernel_id": "k"}, "does not match pattern"),
    ],
)
def test_refused(world: World, props: dict[str, Any], message: str) -> None:
    assert message in world.invalid(IMAGE, **{**GIVEN, **props})


# finders -----------------------------------------------------------------------------------------


def test_images_by_name_or_id(world: World, glance: FakeGlance) -> None:
    plugin = world.cloud.plugin("glance")
    made = glance.add(name="cirros")
    assert plugin.find_image_by_name_or_id("cirros") == made["id"] == plugin.find_image_by_name_or_id(made["id"])
    assert plugin.get_image("cirros").status == "active"
    with pytest.raises(EntityMatchNotFound, match="No images matching {'name': 'absent'}."):
        plugin.get_image("absent")
    glance.add(name="cirros")
    with pytest.raises(EntityUniqueMatchNotFound, match="No images unique match found for {'name': 'cirros'}."):
        plugin.get_image("cirros")
