# SPDX-License-Identifier: Apache-2.0
"""Objects whose collection depends on a property that a user gives by name: they are found where they were made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import rest
from openkeel_heat.clients.service import RestClientPlugin
from openkeel_heat.resources.kit import attributes, lifecycle, properties, registry
from openkeel_heat.resources.kit.rest import PLACE, ApiObject, RestResource
from openkeel_heat.resources.kit.translation import TranslationRule
from tests.fixtures.rest_server import Collection, FakeCloud, RestServer
from tests.unit.resources.fakes import drive, hot

pytestmark = pytest.mark.usefixtures("option")


class Plugin(RestClientPlugin):
    NAME = "library"
    service_types = ["library"]

    def _create(self, version: str | None = None) -> Any:
        return self.api

    def find_room(self, value: str) -> str:
        return self.find("/rooms", "room", value)


class Shelf(RestResource):
    default_client_name = "library"
    api_object = ApiObject("/rooms", "shelf", "shelves")
    not_sent = ("room",)
    properties_schema = {
        "room": properties.Schema("String", required=True),
        "boards": properties.Schema("Integer", update_allowed=True),
    }
    attributes_schema = {"boards": attributes.Schema("Its boards.")}

    def translation_rules(self, properties: Any) -> list[TranslationRule]:
        plugin = self.client_plugin()
        return [TranslationRule(properties, "Resolve", ["room"], client_plugin=plugin, finder="find_room")]

    def collection_path(self) -> str:
        return f"/rooms/{self.properties['room']}/shelves"

    def handle_check(self) -> None:
        self.check_object()


@pytest.fixture
def service() -> Iterator[RestServer]:
    with RestServer() as running:
        yield running
    registry.reset()


@pytest.fixture
def rooms(service: RestServer) -> Collection:
    found = service.collection("/rooms", "room")
    found.add(id="r1", name="attic")
    return found


@pytest.fixture
def shelves(service: RestServer) -> Collection:
    return service.collection("/rooms/r1/shelves", "shelf", "shelves")


@pytest.fixture
def cloud(service: RestServer, rooms: Collection, monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    registry.global_env().register_class("ACME::Shelf", Shelf)
    cloud = FakeCloud(library=service)
    cloud.clients._plugins["library"] = Plugin(cloud.context)
    return cloud


@pytest.fixture
def shelf(cloud: FakeCloud, shelves: Collection) -> Any:
    made = cloud.stack(hot({"s": {"type": "ACME::Shelf", "properties": {"room": "attic", "boards": 3}}}))["s"]
    assert drive(lifecycle.create(made), made).short[-1] == "CREATE_COMPLETE"
    # As one of the database: what it has stored is the name, and nobody is asked for the id.
    made.reparse(client_resolve=False)
    return made


def test_it_is_read_checked_and_deleted_where_it_was_made(shelf: Any, shelves: Collection) -> None:
    assert shelf.properties["room"] == "attic"
    assert shelf.FnGetAtt("boards") == 3
    assert drive(lifecycle.check(shelf), shelf).short[-1] == "CHECK_COMPLETE"
    assert drive(lifecycle.delete(shelf), shelf).short[-1] == "DELETE_COMPLETE"
    assert shelves.objects == {}


def test_the_name_may_mean_another_room_meanwhile(shelf: Any, shelves: Collection, rooms: Collection) -> None:
    rooms.objects["r1"]["name"] = "loft"
    rooms.add(id="r2", name="attic")
    assert drive(lifecycle.delete(shelf), shelf).short[-1] == "DELETE_COMPLETE"
    assert shelves.objects == {}


def test_of_one_that_was_made_otherwise_the_properties_tell(shelf: Any, shelves: Collection) -> None:
    shelf.data_delete(PLACE)
    assert shelf.FnGetAtt("boards") == 3
    assert drive(lifecycle.check(shelf), shelf).short[-1] == "CHECK_COMPLETE"
    assert drive(lifecycle.delete(shelf), shelf).short[-1] == "DELETE_COMPLETE"
    assert shelves.objects == {}


def test_without_the_room_there_is_no_shelf(shelf: Any, rooms: Collection, shelves: Collection) -> None:
    """Nor does anything keep the stack from going."""
    shelf.data_delete(PLACE)
    rooms.objects.clear()
    assert drive(lifecycle.delete(shelf), shelf).short[-1] == "DELETE_COMPLETE"


def test_a_type_with_one_collection_notes_nothing(cloud: FakeCloud, service: RestServer) -> None:
    class Plain(RestResource):
        default_client_name = "library"
        api_object = ApiObject("/plains", "plain")

    service.collection("/plains", "plain")
    registry.global_env().register_class("ACME::Plain", Plain)
    made = cloud.stack(hot({"p": {"type": "ACME::Plain"}}))["p"]
    drive(lifecycle.create(made), made)
    assert made.data() == {}
