# SPDX-License-Identifier: Apache-2.0
"""The plug-ins of Cinder and Glance: their finders, versions, and how they look at what is in progress."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openkeel_heat.clients import cinder as cinder_client, polling
from openkeel_heat.common import exceptions
from tests.fixtures.fake_cinder import FakeCinder
from tests.fixtures.fake_glance import FakeGlance
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option


@pytest.fixture
def cinder() -> Iterator[FakeCinder]:
    with FakeCinder() as running:
        yield running


@pytest.fixture
def plugin(option: Option, cinder: FakeCinder) -> cinder_client.CinderClientPlugin:
    cloud = FakeCloud(volumev3=cinder)
    found: cinder_client.CinderClientPlugin = cloud.plugin("cinder")
    found.kept = cloud  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("service", "configured", "agreed"),
    [("3.71", None, "3.71"), ("3.80", None, "3.71"), ("3.50", None, "3.50"), ("3.71", "3.27", "3.27")],
)
def test_versions(
    plugin: cinder_client.CinderClientPlugin,
    cinder: FakeCinder,
    option: Option,
    service: str,
    configured: str | None,
    agreed: str,
) -> None:
    cinder.microversion = service
    if configured:
        option("max_cinder_api_microversion", float(configured))
    assert plugin.get_max_microversion() == agreed
    assert plugin.is_version_supported("3.27") and not plugin.is_version_supported("3.72")
    cinder.volumes.add("v")
    plugin.get_volume("v")
    assert cinder.requests[-1].microversion == agreed
    with pytest.raises(exceptions.InvalidServiceVersion):
        plugin.client("3.99")


@pytest.mark.parametrize(
    ("getter", "collection", "message"),
    [
        ("get_volume", "volumes", "The Volume (absent) could not be found."),
        ("get_volume_snapshot", "snapshots", "The VolumeSnapshot (absent) could not be found."),
        ("get_volume_backup", "backups", "The Volume backup (absent) could not be found."),
    ],
)
def test_objects_by_id(
    plugin: cinder_client.CinderClientPlugin, cinder: FakeCinder, getter: str, collection: str, message: str
) -> None:
    getattr(cinder, collection).add("x", status="available")
    found = getattr(plugin, getter)("x")
    assert found.id == "x" and found["status"] == found.status == "available"
    with pytest.raises(exceptions.EntityNotFound) as caught:
        getattr(plugin, getter)("absent")
    assert str(caught.value) == message


def test_types_and_specs_by_name_or_id(plugin: cinder_client.CinderClientPlugin, cinder: FakeCinder) -> None:
    cinder.specs.add("q", name="quick", specs={})
    assert plugin.get_volume_type("fast") == plugin.get_volume_type("fast-id") == "fast-id"
    assert plugin.get_qos_specs("quick") == plugin.get_qos_specs("q") == "q"
    with pytest.raises(exceptions.EntityNotFound):
        plugin.get_volume_type("absent")
    with pytest.raises(cinder_client.NotFound) as caught:
        plugin.get_qos_specs("absent")
    assert str(caught.value) == "No QoSSpecs matching {'name': 'absent'}. (HTTP 404)" and plugin.is_not_found(
        caught.value
    )


def test_extensions_are_asked_for_once(plugin: cinder_client.CinderClientPlugin, cinder: FakeCinder) -> None:
    assert plugin.has_extension("qos-specs") and not plugin.has_extension("absent")
    assert cinder.count("GET", "/extensions") == 1


def test_many_volumes_are_one_page_of_those_that_changed_last(
    plugin: cinder_client.CinderClientPlugin, cinder: FakeCinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "SPACING", 0.0)
    for number in range(10):
        cinder.volumes.add(f"v{number}", status="creating")
    for _round in range(2):
        for number in range(10):
            plugin.observed_volume(f"v{number}")
    shown, listed = cinder.count("GET", "/volumes/v.*"), cinder.count("GET", "/volumes/detail")
    assert shown + listed < 15 and listed
    query = next(one.query for one in cinder.requests if one.path == "/volumes/detail")
    assert query["sort"] == ["updated_at:desc"] and int(query["limit"][0]) >= 50


def test_volumes_that_are_deleted_are_not_looked_for_one_by_one(
    plugin: cinder_client.CinderClientPlugin, cinder: FakeCinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "SPACING", 0.0)
    names = [f"v{number}" for number in range(10)]

    def state(name: str) -> str:
        try:
            volume = plugin.observe(f"/volumes/{name}", "/volumes/detail", "volume", "volumes", name, leaving=True)
        except Exception as error:
            plugin.ignore_not_found(error)
            return "gone"
        return str(volume["status"])

    for name in names:
        cinder.volumes.add(name, status="available")
        plugin.api.delete(f"/volumes/{name}")
        cinder.volumes.objects.pop(name, None)
    for _round in range(2):
        assert {state(name) for name in names} == {"gone"}
    # The first do not know yet that there are others.
    assert cinder.count("GET", "/volumes/v.*") < polling.ENOUGH


def test_a_volume_that_is_not_in_a_part_of_the_list_is_looked_for(
    plugin: cinder_client.CinderClientPlugin, cinder: FakeCinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "SPACING", 0.0)
    monkeypatch.setattr(plugin, "list_observed", lambda *arguments: polling.Listed({}, complete=False))
    for number in range(5):
        cinder.volumes.add(f"v{number}", status="deleting")
    for number in range(5):
        path = f"/volumes/v{number}"
        shown = plugin.observe(path, "/volumes/detail", "volume", "volumes", f"v{number}", leaving=True)
        assert shown["status"] == "deleting"


@pytest.mark.parametrize(
    ("status", "attached", "detached"),
    [
        ("available", False, True),
        ("attaching", False, "Volume detachment failed"),
        ("reserved", False, False),
        ("in-use", True, False),
        ("detaching", "Volume attachment failed", False),
        ("error", "Volume attachment failed", "Volume detachment failed"),
        ("deleting", "Volume attachment failed", True),
    ],
)
def test_how_far_attaching_and_detaching_have_come(
    plugin: cinder_client.CinderClientPlugin,
    cinder: FakeCinder,
    status: str,
    attached: bool | str,
    detached: bool | str,
) -> None:
    cinder.volumes.add("v", status=status)

    def outcome(check: str) -> bool | str:
        try:
            return bool(getattr(plugin, check)("v"))
        except exceptions.ResourceUnknownStatus as error:
            return str(error).partition(" - ")[0]

    assert outcome("check_attach_volume_complete") == attached
    assert outcome("check_detach_volume_complete") == detached
    assert plugin.check_detach_volume_complete("absent") is True


def test_an_image_is_looked_up_once_in_an_operation(option: Option) -> None:
    with FakeGlance() as glance:
        cloud = FakeCloud(image=glance)
        image = glance.add(name="cirros")["id"]
        for _member in range(3):
            assert cloud.plugin("glance").find_image_by_name_or_id("cirros") == image
        # What servers need of it is no other request.
        assert cloud.plugin("glance").image_of_operation("cirros").id == image
        assert glance.count("GET", "/v2/images.*") == 1
        cloud.context.request_id = "req-the-next"
        assert cloud.plugin("glance").find_image_by_name_or_id("cirros") == image
        assert glance.count("GET", "/v2/images.*") == 2
