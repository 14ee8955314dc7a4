# SPDX-License-Identifier: Apache-2.0
"""Whole lives of stacks in an engine of this process: also over a running action, and what goes with their ends."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.db import resources, stacks
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine.stack import Stack
from openkeel_heat.resources.kit import attributes
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import Life, slow

hot, resource = templates.hot, templates.resource


# the common course --------------------------------------------------------------------------------------------------


def test_create_update_replace_delete(life):
    life.create(templates.flat())
    before = life.resources()
    assert [before[name].requires for name in "ab"] == [[], [before["a"].id]]
    life.update(templates.flat(salt="2", generation="y", extra="e"))
    after = life.resources()
    assert set(after) == {"a", "b", "d", "e"}
    assert after["a"].id == before["a"].id and after["d"].id != before["d"].id
    assert after["a"].stored_properties["value"] == "a2" and after["b"].stored_properties["value"] == "a2"
    assert {row.current_template_id for row in after.values()} == {life.row.raw_template_id}
    life.delete()


def test_nothing_to_do_moves_to_the_new_template_without_events(life):
    life.create(templates.flat())
    before = len(life.events())
    life.update(templates.flat())
    assert life.events()[before:] == [(life.name, "UPDATE_IN_PROGRESS"), (life.name, "UPDATE_COMPLETE")]
    assert {row.current_template_id for row in life.resources().values()} == {life.row.raw_template_id}
    assert life.row.prev_raw_template_id is None


def test_empty_stack(life):
    life.create(hot({}))
    life.update(hot({"a": resource()}))
    life.update(hot({}))
    assert life.resources() == {}


def test_failed_update_rolls_back(life):
    life.create(templates.flat())
    life.update(templates.flat(salt="2", generation="y", extra="e", fail=True), wait=False, disable_rollback=False)
    life.settle("ROLLBACK_COMPLETE")
    assert set(life.resources()) == {"a", "b", "c", "d"}
    assert life.resources()["a"].stored_properties["value"] == "a1"
    states = [state for name, state in life.events() if name == life.name]
    assert states[2:] == ["UPDATE_IN_PROGRESS", "UPDATE_FAILED", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE"]


def test_failed_create_is_mended_by_an_update(life):
    life.create(hot({"a": resource("1"), "b": resource("2", ["a"], fail=True), "c": resource("3", ["b"])}), wait=False)
    row = life.settle("CREATE_FAILED")
    assert row.current_traversal == ""
    assert row.status_reason == "Resource CREATE failed: ValueError: resources.b: Test Resource failed b"
    failed = life.resources()["b"].id
    life.update(hot({"a": resource("1"), "b": resource("2", ["a"]), "c": resource("3", ["b"])}))
    assert life.resources()["b"].id != failed


def test_suspend_resume_check_snapshot(life):
    life.create(templates.flat())
    context = life.engine.context()
    for call, state in (
        (life.client.stack_suspend, "SUSPEND_COMPLETE"),
        (life.client.stack_resume, "RESUME_COMPLETE"),
        (life.client.stack_check, "CHECK_COMPLETE"),
    ):
        call(context, life.identity)
        life.settle(state)
    order = [name for name, state in life.events() if state == "SUSPEND_COMPLETE"]
    assert order.index("c") < order.index("b") < order.index("a")
    order = [name for name, state in life.events() if state == "RESUME_COMPLETE"]
    assert order.index("a") < order.index("b") < order.index("c")
    snapshot = life.client.stack_snapshot(context, life.identity, "shot")
    assert life.settle("SNAPSHOT_COMPLETE").current_traversal == snapshot["id"]
    assert life.client.show_snapshot(context, life.identity, snapshot["id"])["status"] == "COMPLETE"
    life.update(templates.flat(salt="2"))
    life.client.stack_restore(context, life.identity, snapshot["id"])
    life.settle("RESTORE_COMPLETE")
    assert life.resources()["a"].stored_properties["value"] == "a1"
    life.client.delete_snapshot(context, life.identity, snapshot["id"])
    until(lambda: not life.client.stack_list_snapshots(context, life.identity), "no snapshot")
    life.client.stack_snapshot(context, life.identity, "other")
    life.settle("SNAPSHOT_COMPLETE")
    life.delete()


def test_nested(life):
    life.create(templates.nested(2), files=templates.files())
    life.delete()


# over a running action ----------------------------------------------------------------------------------------------


def test_delete_over_create_does_not_wait(life):
    life.create(hot({"a": slow(), "b": resource("2", ["a"])}), wait=False)
    life.when("a", "CREATE_IN_PROGRESS")
    life.delete()
    events = life.events()
    assert ("a", "CREATE_FAILED") in events and ("a", "DELETE_COMPLETE") in events
    assert events.index((life.name, "CREATE_FAILED")) < events.index((life.name, "DELETE_IN_PROGRESS"))


def test_update_over_update(life):
    life.create(hot({"a": resource("1")}))
    body = {"action_wait_secs": {"update": 1}}
    life.update(hot({"a": resource("2", **body), "b": resource("1")}), wait=False)
    life.when("a", "UPDATE_IN_PROGRESS")
    life.update(hot({"a": resource("3"), "c": resource("1", ["a"])}))
    assert set(life.resources()) == {"a", "c"}
    assert life.resources()["a"].stored_properties == {"value": "3"}


def test_cancel_without_rollback_lets_resources_end(life):
    life.create(hot({"a": slow(create=1), "b": resource("2", ["a"])}), wait=False)
    life.when("a", "CREATE_IN_PROGRESS")
    life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=False)
    assert life.settle("CREATE_FAILED").status_reason == "Stack CREATE cancelled"
    life.when("a", "CREATE_COMPLETE")
    assert life.resources()["b"].action == "INIT"


def test_cancel_with_rollback(life):
    life.create(hot({"a": resource("1")}))
    life.update(hot({"a": resource("2"), "b": slow(create=1)}), wait=False)
    life.when("b", "CREATE_IN_PROGRESS")
    life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=True)
    life.settle("ROLLBACK_COMPLETE")
    assert set(life.resources()) == {"a"} and life.resources()["a"].stored_properties == {"value": "1"}


def test_time_out(life, monkeypatch):
    life.create(hot({"a": slow(), "b": resource("2", ["a"])}), wait=False, timeout_mins=1)
    life.when("a", "CREATE_IN_PROGRESS")
    (found,) = life.hub.traversals.of_stack(life.id)
    monkeypatch.setattr(found, "seconds_left", lambda: 0.0)
    life.hub.time_is_over(found)
    assert life.settle("CREATE_FAILED").status_reason == "Timed out"
    reason = life.when("a", "CREATE_FAILED").status_reason
    assert reason.startswith('CREATE aborted (Task create from TestResource "a"') and reason.endswith("Timed out)")


def test_hundreds_in_progress(life):
    size = 400  # the scheduler's own test has the thousands
    life.create(hot({f"r{n}": slow(create=1) for n in range(size)}), wait=False)
    until(lambda: len(life.hub.scheduler) >= size / 2, "many are under way", 20, pause=0.005)
    assert life.hub.scheduler.threads <= 32
    life.settle("CREATE_COMPLETE", 60)


# templates ----------------------------------------------------------------------------------------------------------


def templates_of_nobody(life: Life) -> list[Any]:
    return life.database.rows(
        "SELECT t.id FROM raw_template t WHERE NOT EXISTS (SELECT 1 FROM stack s WHERE s.raw_template_id = t.id "
        "OR s.prev_raw_template_id = t.id) AND NOT EXISTS (SELECT 1 FROM resource r WHERE "
        "r.current_template_id = t.id)"
    )


def test_templates_of_interrupted_updates_go(life):
    """Updates over updates leave resources under older templates; those go when the resources come on."""
    life.create(hot({"a": resource("1"), "b": resource("1", ["a"])}))
    for value in "234":
        life.update(
            hot({"a": resource(value, action_wait_secs={"update": 1}), "b": resource(value, ["a"])}), wait=False
        )
        life.when("a", "UPDATE_IN_PROGRESS")
    life.update(hot({"a": resource("5"), "b": resource("5", ["a"])}))
    until(lambda: templates_of_nobody(life) == [], "no template is left over")


# snapshots ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def slow_snapshot(monkeypatch):
    from openkeel_heat.resources.heat.test_resource import TestResource

    monkeypatch.setattr(TestResource, "handle_snapshot", lambda self: None, raising=False)
    monkeypatch.setattr(TestResource, "check_snapshot_complete", lambda self, data: False, raising=False)


@pytest.mark.parametrize("what", ["update", "cancel", "delete"])
def test_a_snapshot_that_is_cut_off_fails(life, slow_snapshot, monkeypatch, what):
    from openkeel_heat.resources.heat.test_resource import TestResource

    life.create(hot({"a": resource("1")}))
    context = life.engine.context()
    made = life.client.stack_snapshot(context, life.identity, "shot")
    life.when("a", "SNAPSHOT_IN_PROGRESS")
    if what == "delete":
        life.delete()
        assert life.database.rows("SELECT id FROM snapshot WHERE stack_id = :i", i=life.id) == []
        return
    if what == "cancel":
        life.hub.stop_traversal(context, Stack.from_row(context, life.row))
    else:
        life.update(hot({"a": resource("2")}), wait=False)
    assert life.client.show_snapshot(context, life.identity, made["id"])["status"] == "FAILED"
    monkeypatch.setattr(TestResource, "check_snapshot_complete", lambda self, data: True, raising=False)
    life.client.delete_snapshot(context, life.identity, made["id"])
    until(lambda: not life.client.stack_list_snapshots(context, life.identity), "the snapshot is gone")


def test_a_snapshot_of_a_cut_start_fails(life, graveyard):
    """Python Heat writes the snapshot's row before its traversal."""
    from openkeel_heat.db import snapshots

    life.create(hot({"a": resource("1")}))
    made = snapshots.insert(
        {"stack_id": life.id, "name": "x", "tenant": "demo", "action": "CREATE", "status": "IN_PROGRESS"}
    )
    graveyard.scan()
    assert snapshots.get(made).status == "IN_PROGRESS"
    until(lambda: graveyard.scan() or snapshots.get(made).status == "FAILED", "failed", 5)


# attributes ---------------------------------------------------------------------------------------------------------


def test_attributes_stored_by_a_reader_go_with_the_next_change(life, monkeypatch):
    """A reader stores values just when a node that has loaded the row begins to change it."""
    from openkeel_heat.engine.convergence.driver import Driver

    monkeypatch.setattr(
        "openkeel_heat.resources.heat.test_resource.TestResource.attributes_schema",
        {"output": attributes.Schema("kept"), "other": attributes.Schema("kept")},
    )
    life.create(hot({"a": resource("1")}))
    row = life.resources()["a"]
    write_for = Driver.write_for
    read: list[int | None] = []

    def meanwhile(self: Driver, step: Any) -> Write:
        if step.action == "UPDATE" and not read:
            read.append(resources.store_attributes(row.id, row.atomic_key, {"output": "1"}, None))
        return write_for(self, step)

    monkeypatch.setattr(Driver, "write_for", meanwhile)
    life.update(hot({"a": resource("2")}))
    assert read and read[0] is not None
    assert life.resources()["a"].attr_data_id is None
    assert (
        life.database.rows(
            "SELECT p.id FROM resource_properties_data p WHERE NOT EXISTS (SELECT 1 FROM resource r WHERE "
            "r.rsrc_prop_data_id = p.id OR r.attr_data_id = p.id) AND NOT EXISTS (SELECT 1 FROM event e WHERE "
            "e.rsrc_prop_data_id = p.id)"
        )
        == []
    )


def test_a_replacement_and_what_it_replaces_see_each_other(life, monkeypatch):
    from openkeel_heat.resources.heat.test_resource import TestResource

    seen: list[tuple[str, str, list[Any]]] = []

    def looking(action: str) -> Any:
        handler = getattr(TestResource, f"handle_{action}")

        def look(self: Any, *args: Any) -> Any:
            seen.append((self.stack.action, action, [other.resource_id for other in self.stack.others_of(self)]))
            return handler(self, *args)

        return look

    for action in ("create", "delete"):
        monkeypatch.setattr(TestResource, f"handle_{action}", looking(action))
    life.create(hot({"a": resource("1", update_replace_value="x")}))
    old = life.resources()["a"].nova_instance
    life.update(hot({"a": resource("1", update_replace_value="y")}))
    new = life.resources()["a"].nova_instance
    life.delete()
    assert seen == [
        ("CREATE", "create", []),
        ("UPDATE", "create", [old]),
        ("UPDATE", "delete", [new]),
        ("DELETE", "delete", []),
    ]


# nested stacks that cannot be updated any more ------------------------------------------------------------------------

MEMBER = {"member.yaml": "heat_template_version: 2018-08-31\nresources:\n  inner: {type: OS::Heat::TestResource}\n"}


def test_a_nested_stack_whose_deletion_failed_is_replaced(life, monkeypatch):
    from openkeel_heat.resources.heat.test_resource import TestResource

    def refuse(self: Any) -> Any:
        raise ValueError("not now")

    nested = hot({"m": {"type": "member.yaml"}})
    life.create(nested, files=MEMBER)
    first = life.resources()["m"].nova_instance
    with monkeypatch.context() as patch:
        patch.setattr(TestResource, "handle_delete", refuse)
        life.update(hot({}), wait=False)
        life.settle("UPDATE_FAILED")
    assert (life.resources()["m"].action, life.resources()["m"].status) == ("DELETE", "FAILED")
    life.client.update_stack(life.engine.context(), life.identity, nested, {}, MEMBER, {})
    life.settle("UPDATE_COMPLETE")
    assert life.resources()["m"].nova_instance != first
    assert stacks.get(first) is None
