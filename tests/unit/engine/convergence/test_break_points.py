# SPDX-License-Identifier: Apache-2.0
"""Break points of a stack: what waits at them, who clears them, and what an engine that dies leaves of them."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.db import resources, session
from tests.fixtures import templates
from tests.fixtures.checks import Database
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import Life, lose

hot, resource = templates.hot, templates.resource


# break points -------------------------------------------------------------------------------------------------------


def hooked(name: str, *hooks: str) -> dict[str, Any]:
    return {"resource_registry": {"resources": {name: {"hooks": list(hooks)}}}}


class Hooks:
    """What a user does with break points of a stack."""

    def __init__(self, life: Life) -> None:
        self.life = life

    def reasons(self) -> list[str]:
        found = self.life.client.list_events(self.life.engine.context(), self.life.identity)
        return [e["resource_status_reason"] for e in reversed(found)]

    def paused(self, hook: str, times: int = 1) -> None:
        text = f"paused until Hook {hook} is cleared"
        until(lambda: sum(text in one for one in self.reasons()) >= times, f"{hook} is reached", 15)

    def clear(self, name: str, hook: str) -> None:
        self.life.client.resource_signal(self.life.engine.context(), self.life.identity, name, {"unset_hook": hook})
        until(lambda: f"Hook {hook} is cleared" in self.reasons(), "it is cleared")


@pytest.fixture
def hooks(life) -> Hooks:
    return Hooks(life)


def test_break_points(life, hooks):
    environment = hooked("a", "pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete")
    life.create(hot({"a": resource("1"), "b": resource("1", ["a"])}), wait=False, params=environment)
    hooks.paused("pre-create")
    assert life.resources()["a"].action == "INIT"
    hooks.clear("a", "pre-create")
    hooks.paused("post-create")
    assert life.resources()["a"].action == "CREATE" and life.resources()["b"].action == "INIT"
    hooks.clear("a", "post-create")
    life.settle("CREATE_COMPLETE")
    life.client.update_stack(
        life.engine.context(), life.identity, hot({"a": resource("2"), "b": resource("1", ["a"])}), environment, {}, {}
    )
    hooks.paused("pre-update")
    hooks.clear("a", "pre-update")
    hooks.paused("post-update")
    hooks.clear("a", "post-update")
    life.settle("UPDATE_COMPLETE")
    life.client.delete_stack(life.engine.context(), life.identity, cast=False)
    hooks.paused("pre-delete")
    assert "b" not in life.resources() or life.resources()["b"].action == "DELETE"
    hooks.clear("a", "pre-delete")
    hooks.paused("post-delete")
    hooks.clear("a", "post-delete")
    life.settle("DELETE_COMPLETE")


class Held(session.Watcher):
    """Looks after each commit whether break points are held as the events say: from 'paused until' to 'cleared'."""

    def __init__(self, database: Database, stack_name: str) -> None:
        self.database, self.stack_name = database, stack_name
        self.seen: set[tuple[str, ...]] = set()
        self.wrong: list[str] = []

    def after_commit(self, operation: str) -> None:
        rows = self.database.rows(
            "SELECT d.key AS held, NULL AS reason FROM resource_data d JOIN resource r ON r.id = d.resource_id "
            "JOIN stack s ON s.id = r.stack_id WHERE s.name = :name AND d.key LIKE '%-create' UNION ALL "
            "SELECT NULL, e.resource_status_reason FROM event e JOIN stack s ON s.id = e.stack_id WHERE s.name = :name",
            name=self.stack_name,
        )
        reasons = [row["reason"] for row in rows if row["reason"]]
        held = tuple(row["held"] for row in rows if row["held"])
        told = tuple(
            hook
            for hook in ("pre-create", "post-create")
            if sum(f"paused until Hook {hook}" in reason for reason in reasons)
            > reasons.count(f"Hook {hook} is cleared")
        )
        self.seen.add(held)
        if held != told:
            self.wrong.append(f"after {operation}: held {held}, told {told}")


def test_a_break_point_and_its_event_are_one_write(life, hooks):
    """Whoever sees it, by the one or the other, may clear it at once: 'cleared' never comes before 'paused'."""
    held = Held(life.database, life.name)
    with session.watching(held):
        life.create(hot({"a": resource("1")}), wait=False, params=hooked("a", "pre-create", "post-create"))
        for hook in ("pre-create", "post-create"):
            hooks.paused(hook)
            hooks.clear("a", hook)
        life.settle("CREATE_COMPLETE")
    assert held.wrong == []
    assert held.seen == {(), ("pre-create",), ("post-create",)}


@pytest.mark.parametrize("hook", ["pre-create", "post-create"])
@pytest.mark.parametrize("cleared", [False, True], ids=["waiting", "cleared"])
def test_a_break_point_outlives_its_engine(life, hooks, graveyard, hook, cleared):
    """One that a user cleared while no engine was there is not reached again; one that waits is announced once."""
    life.create(hot({"a": resource("1"), "b": resource("1", ["a"])}), wait=False, params=hooked("a", hook))
    hooks.paused(hook)
    lose(life)
    if cleared:
        hooks.clear("a", hook)
    graveyard.scan()
    graveyard.scan()
    if not cleared:
        until(lambda: any(v.stack_id == life.id for v in life.hub.under_way()), "it is waited again")
        assert life.resources()["b"].action == "INIT"
        hooks.clear("a", hook)
    life.settle("CREATE_COMPLETE")
    reasons = hooks.reasons()
    assert sum("paused until" in reason for reason in reasons) == 1
    assert reasons.count("state changed") == 4  # each of the two was made once


@pytest.mark.parametrize("what", ["update", "cancel"])
def test_nobody_waits_at_a_break_point_of_a_traversal_that_is_over(life, hooks, what):
    template = hot({"a": resource("1"), "b": resource("1", ["a"])})
    life.create(template, wait=False, params=hooked("a", "pre-create"))
    hooks.paused("pre-create")
    if what == "update":
        life.client.update_stack(life.engine.context(), life.identity, template, {}, {}, {})
        life.settle("UPDATE_COMPLETE")
    else:
        life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=False)
        life.settle("CREATE_FAILED")
    until(lambda: not any(v.stack_id == life.id for v in life.hub.under_way()), "nobody waits")


def test_a_late_call_at_a_resource_that_was_replaced(life, hooks):
    """The call comes when the old one has been cleaned up already, to an engine that has not seen the traversal."""
    template = hot({"a": resource("1", update_replace_value="x"), "b": resource("1")})
    life.create(template)
    old = life.resources()["a"].id
    changed = hot({"a": resource("1", update_replace_value="y"), "b": resource("2")})
    life.client.update_stack(life.engine.context(), life.identity, changed, hooked("b", "pre-update"), {}, {})
    hooks.paused("pre-update")
    until(
        lambda: (
            [(row.action, row.status) for row in resources.list_by_stack(life.id) if row.id == old]
            == [("DELETE", "COMPLETE")]
        ),
        "the old one is gone",
    )
    traversal = life.row.current_traversal
    busy = [visit.key for visit in life.hub.under_way()]
    assert busy
    life.hub.traversals.drop(traversal)
    life.hub.worker_client.check_resource(life.engine.context(), old, traversal, {"input_data": {}}, True, None)
    until(lambda: [visit.key for visit in life.hub.under_way()] == busy, "the call was taken")
    hooks.clear("b", "pre-update")
    life.settle("UPDATE_COMPLETE")
    assert sorted(row.name for row in resources.list_by_stack(life.id)) == ["a", "b"]
