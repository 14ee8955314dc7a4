# SPDX-License-Identifier: Apache-2.0
"""The type that the documentation makes of declarations is led through its life."""

from __future__ import annotations

import pathlib
import runpy
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import rest
from openkeel_heat.resources.kit import lifecycle, registry
from tests.fixtures.rest_server import FakeCloud, RestServer
from tests.unit.resources.fakes import drive, hot

pytestmark = pytest.mark.usefixtures("option")

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "doc" / "examples" / "acme-library" / "shelf.py"


@pytest.fixture
def example() -> Iterator[dict[str, Any]]:
    module = runpy.run_path(str(EXAMPLE))
    for name, cls in module["resource_mapping"]().items():
        registry.global_env().register_class(name, cls)
    yield module
    registry.reset()


def test_a_shelf(example: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    with RestServer() as service:
        shelves = service.collection(
            "/v1/shelves", "shelf", "shelves", states=["BUILDING", "STANDING"], status="state", deleting=["BUILDING"],
            defaults={"free_places": 40},
        )  # fmt: skip
        cloud = FakeCloud(library=service)
        cloud.clients._plugins["library"] = example["LibraryClientPlugin"](cloud.context)

        def stack(**props: Any) -> Any:
            return cloud.stack(hot({"shelf": {"type": "ACME::Library::Shelf", "properties": props}}))

        shelf = stack(room="attic", boards=3)["shelf"]
        assert drive(lifecycle.create(shelf), shelf).short[-1] == "CREATE_COMPLETE"
        name = shelf.physical_resource_name()
        assert service.bodies("POST") == [{"shelf": {"room": "attic", "board_count": 3, "name": name}}]
        assert shelf.FnGetAtt("free") == 40

        after = stack(room="attic", boards=4).defn.resource_definition("shelf")
        assert drive(lifecycle.update(shelf, after), shelf).short[-1] == "UPDATE_COMPLETE"
        assert service.bodies("PATCH") == [{"shelf": {"board_count": 4}}]

        assert drive(lifecycle.delete(shelf), shelf).short[-1] == "DELETE_COMPLETE"
        assert shelves.objects == {}
