# SPDX-License-Identifier: Apache-2.0
"""A resource that another one updates, outside of a traversal: what the database has of it afterwards."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.db import nodes
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine.convergence.recovery import Recovery
from openkeel_heat.engine.side_update import HELD_SECONDS
from openkeel_heat.engine.stack import Stack
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import Life

hot, resource = templates.hot, templates.resource


def beside(life: Life, name: str = "a", **changed: Any) -> Iterator[float | None]:
    """The steps of an update of a resource to other properties."""
    stack = Stack.load(life.engine.context(), life.id)

    def change(found: Any) -> Any:
        return found.t.freeze(properties={**found.properties.data, **changed})

    return stack.update_resource(name, change)


def run(steps: Iterator[float | None]) -> None:
    for seconds in steps:
        time.sleep(min(seconds or 0.0, 0.02))


def events_of(life: Life, name: str) -> list[str]:
    return [state for one, state in life.events() if one == name]


def test_it_is_stored_told_and_free(life):
    life.create(hot({"a": resource("1")}))
    before = life.resources()["a"]
    run(beside(life, value="2"))
    after = life.resources()["a"]
    assert (after.action, after.status, after.engine_id) == ("UPDATE", "COMPLETE", None)
    assert after.stored_properties["value"] == "2" and after.nova_instance == before.nova_instance
    assert events_of(life, "a")[-2:] == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]
    assert life.database.unrest() == []


def test_the_next_update_of_the_stack_starts_from_there(life):
    life.create(hot({"a": resource("1")}, outputs={"a": templates.attr("a")}))
    run(beside(life, value="2"))
    life.update(hot({"a": resource("1")}, outputs={"a": templates.attr("a")}))
    assert life.resources()["a"].stored_properties["value"] == "1"


def test_while_somebody_holds_it_is_waited(life):
    life.create(hot({"a": resource("1")}))
    row, other = life.resources()["a"], str(uuid.uuid4())
    nodes.apply(life.id, None, [Write(row.id, None, row.atomic_key, {"engine_id": other})])
    steps = beside(life, value="2")
    assert [next(steps), next(steps)] == [HELD_SECONDS, HELD_SECONDS]
    held = life.resources()["a"]
    assert held.stored_properties["value"] == "1"
    nodes.apply(life.id, None, [Write(row.id, other, held.atomic_key, {"engine_id": None})])
    run(steps)
    assert life.resources()["a"].stored_properties["value"] == "2"


def test_a_failure_is_stored_and_free(life):
    life.create(hot({"a": resource("1")}))
    with pytest.raises(exceptions.ResourceFailure):
        run(beside(life, value="2", fail=True))
    after = life.resources()["a"]
    assert (after.action, after.status, after.engine_id) == ("UPDATE", "FAILED", None)
    assert life.row.status == "COMPLETE"


def test_who_is_not_there(life):
    life.create(hot({"a": resource("1")}))
    with pytest.raises(exceptions.ResourceNotFound):
        run(beside(life, "nobody", value="2"))


def test_an_update_that_came_to_it_meanwhile_goes_on(life, monkeypatch):
    """At once: nobody looks for what is lost."""
    life.create(hot({"a": resource("1", action_wait_secs={"update": 0.3})}))
    monkeypatch.setattr(Recovery, "scan", lambda self: None)
    steps = beside(life, value="2")
    next(steps)
    life.update(hot({"a": resource("3")}), wait=False)
    until(lambda: not life.hub.under_way(), "it waits for the resource")
    assert life.resources()["a"].engine_id is not None
    run(steps)
    life.settle("UPDATE_COMPLETE", 10)
    assert life.resources()["a"].stored_properties["value"] == "3"
