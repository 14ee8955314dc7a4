# SPDX-License-Identifier: Apache-2.0
"""An update in place that fails on its way: what it has changed by then is changed back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.resources.kit import properties, registry
from openkeel_heat.resources.kit.resource import Resource
from tests.fixtures import templates
from tests.unit.engine.convergence.life import Life

hot = templates.hot

UNLUCKY = 13

#: The one object of the service, and what was asked to be changed of it.
OBJECT: dict[str, Any] = {}
CHANGES: list[dict[str, Any]] = []


class Thing(Resource):
    """Its name is changed at once, its size in a second request."""

    properties_schema = {
        "name": properties.Schema(properties.Schema.STRING, update_allowed=True),
        "size": properties.Schema(properties.Schema.INTEGER, update_allowed=True),
        "note": properties.Schema(properties.Schema.STRING, update_allowed=True),
    }

    def handle_create(self) -> None:
        OBJECT.update({**self.properties, "note": "the service's own words"})
        self.resource_id_set("thing")

    def needs_replace_failed(self) -> bool:
        return False

    def get_live_resource_data(self) -> Any:
        return dict(OBJECT)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        CHANGES.append(dict(prop_diff))
        OBJECT.update({key: value for key, value in prop_diff.items() if key != "size"})
        if prop_diff.get("size") == UNLUCKY:
            raise ValueError("unlucky")
        OBJECT.update(prop_diff)


@pytest.fixture
def things(engine: Any) -> Iterator[None]:
    registry.global_env().register_class("Test::Half::Thing", Thing)
    OBJECT.clear()
    CHANGES.clear()
    yield
    registry.reset()


def thing(name: str, size: int) -> Any:
    return hot({"t": {"type": "Test::Half::Thing", "properties": {"name": name, "size": size}}})


def test_a_rollback_undoes_what_was_done(things: None, life: Life) -> None:
    life.create(thing("one", 1))
    life.update(thing("two", UNLUCKY), wait=False, disable_rollback=False)
    life.settle("ROLLBACK_COMPLETE")
    assert (OBJECT["name"], OBJECT["size"]) == ("one", 1)
    assert CHANGES[1:] == [{"name": "one"}]


def test_so_does_the_next_update(things: None, life: Life) -> None:
    life.create(thing("one", 1))
    life.update(thing("two", UNLUCKY), wait=False)
    life.settle("UPDATE_FAILED")
    life.update(thing("one", 1))
    assert (OBJECT["name"], OBJECT["size"]) == ("one", 1)
    assert CHANGES[1:] == [{"name": "one"}]
