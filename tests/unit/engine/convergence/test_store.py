# SPDX-License-Identifier: Apache-2.0
"""The compound operations: fences, group commit, sync points, the start and the end of a traversal."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exc

from openkeel_heat.db import models, nodes, recovery, resources, session, stacks, sync_points, traversals
from openkeel_heat.db.nodes import Write
from openkeel_heat.db.sync_points import Merge
from openkeel_heat.db.traversals import Finish, Start
from openkeel_heat.engine.convergence import plan
from openkeel_heat.engine.convergence.plan import Node


def event(stack_id: str, name: str = "a", status: str = "COMPLETE") -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid4()),
        "stack_id": stack_id,
        "resource_action": "CREATE",
        "resource_status": status,
        "resource_name": name,
        "resource_status_reason": "state changed",
        "resource_type": "T",
        "physical_resource_id": "x",
    }


def count(table: sa.Table) -> int:
    with session.get_engine().connect() as c:
        return c.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


@pytest.fixture
def row_id(stack) -> int:
    return resources.insert(
        {
            "stack_id": stack.id,
            "name": "a",
            "action": "INIT",
            "status": "COMPLETE",
            "requires": [],
            "needed_by": [],
            "current_template_id": stack.raw_template_id,
        }
    )


def lock(row_id: int, engine: str = "e1", key: int | None = None, **values: Any) -> Write:
    return Write(
        row_id, None, key, {"engine_id": engine, "action": "CREATE", "status": "IN_PROGRESS", **values}, current=True
    )


def test_a_lock_is_taken_once(stack, row_id):
    (first,), _ = nodes.apply(stack.id, "t1", [lock(row_id)])
    (second,), _ = nodes.apply(stack.id, "t1", [lock(row_id, "e2")])
    assert first.ok and first.atomic_key == 1
    assert not second.ok and second.why == "fence"
    assert nodes.lock_state(row_id).engine_id == "e1"


def test_nothing_begins_for_a_former_traversal(stack, row_id):
    (answer,), _ = nodes.apply(stack.id, "other", [lock(row_id)])
    assert not answer.ok and answer.why == "traversal"
    assert nodes.lock_state(row_id).engine_id is None


def test_one_failed_fence_leaves_the_others_alone(stack, row_id):
    other = resources.insert({"stack_id": stack.id, "name": "b", "action": "INIT", "status": "COMPLETE"})
    bad, good = lock(row_id, key=7), lock(other)
    bad.event, good.event = event(stack.id), event(stack.id, "b")
    bad.properties = good.properties = {"value": 1}
    answers, _ = nodes.apply(stack.id, "t1", [bad, good])
    assert [answer.ok for answer in answers] == [False, True]
    assert count(models.event) == 1
    assert count(models.resource_properties_data) == 1
    row = resources.get(other)
    assert row.stored_properties == {"value": 1}
    assert answers[1].event["rsrc_prop_data_id"] == row.rsrc_prop_data_id


def test_a_commit_whose_answer_was_lost_is_recognised(stack, row_id):
    class LostAnswer(session.Watcher):
        lost = 0

        def after_commit(self, operation):
            if not self.lost:
                self.lost += 1
                raise db_exc.DBConnectionError()

    write = lock(row_id)
    write.event, write.properties = event(stack.id, status="IN_PROGRESS"), {"value": 1}
    watcher = LostAnswer()
    with session.watching(watcher):
        (answer,), _ = nodes.apply(stack.id, "t1", [write])
    assert watcher.lost == 1
    assert answer.ok and answer.atomic_key == 1
    assert count(models.event) == 1
    assert count(models.resource_properties_data) == 1
    assert resources.get(row_id).rsrc_prop_data_id == answer.properties_id


def test_the_same_write_of_another_visit_is_not_recognised(stack, row_id):
    """Two traversals that follow each other closely find a resource free, in one engine: one of them takes it."""
    first, second = lock(row_id), lock(row_id)
    assert [one.ok for one in nodes.apply(stack.id, "t1", [first])[0]] == [True]
    assert [(one.ok, one.why) for one in nodes.apply(stack.id, "t1", [second])[0]] == [(False, "fence")]


def test_replacement_points_both_ways_or_is_not_made(stack, row_id):
    successor = {
        "stack_id": stack.id,
        "name": "a",
        "replaces": row_id,
        "action": "INIT",
        "status": "COMPLETE",
        "current_template_id": stack.raw_template_id,
    }
    (answer,), _ = nodes.apply(stack.id, "t1", [Write(row_id, None, None, {}, current=True, replacement=successor)])
    assert resources.get(row_id).replaced_by == answer.replacement_id
    assert resources.get(answer.replacement_id).replaces == row_id
    (again,), _ = nodes.apply(stack.id, "t1", [Write(row_id, None, None, {}, replacement=successor)])
    assert again.why == "fence" and count(models.resource) == 2
    gone = {**successor, "current_template_id": 999}
    (third,), _ = nodes.apply(stack.id, "t1", [Write(row_id, None, 1, {}, replacement=gone)])
    assert third.why == "template" and count(models.resource) == 2


def test_delete_takes_the_row_with_its_results(stack, row_id):
    sync_points.insert_many(stack.id, "t1", [(stack.id, True)])
    write = Write(
        row_id,
        None,
        None,
        {},
        current=True,
        delete=True,
        merges=[Merge((stack.id, True), Node(row_id, False).packed(), None, [Node(row_id, False).packed()])],
    )
    (answer,), (merged,) = nodes.apply(stack.id, "t1", [write])
    assert answer.ok and merged.ready
    assert count(models.resource) == 0
    (again,), _ = nodes.apply(stack.id, "t1", [Write(row_id, None, None, {}, delete=True)])
    assert again.ok  # it is gone, as wanted


# sync points --------------------------------------------------------------------------------------------------------


def merge(stack: Any, *numbers: int, target: tuple[str, bool] = ("9", True), **kw: Any) -> sync_points.Merged:
    wanted = [Node(number, True).packed() for number in (1, 2, 3)]
    (merged,) = sync_points.merge(
        stack.id, "t1", [Merge(target, Node(number, True).packed(), {"id": number}, wanted, **kw) for number in numbers]
    )
    return merged


def test_ready_once(stack):
    sync_points.insert_many(stack.id, "t1", [("9", True), ("9", False), (stack.id, True)])
    assert merge(stack, 1).waiting == 2
    assert not merge(stack, 1).ready
    last = merge(stack, 2, 3)
    assert last.ready and set(last.input_data) == {Node(n, True).packed() for n in (1, 2, 3)}
    assert not merge(stack, 3).ready  # a double
    assert merge(stack, 3, force=True).ready  # called for again
    assert not merge(stack, 1, target=("8", True)).found


def test_row_has_the_form_of_the_contract(stack):
    sync_points.insert_many(stack.id, "t1", [("9", True)])
    with session.get_engine().connect() as c:
        row = c.execute(sa.text("SELECT * FROM sync_point")).mappings().one()
    assert (row["atomic_key"], row["input_data"], row["extra_data"]) == (0, "{}", "null")
    merge(stack, 1, failures={"a": "why"}, skip=True)
    with session.get_engine().connect() as c:
        row = c.execute(sa.text("SELECT * FROM sync_point")).mappings().one()
    assert row["atomic_key"] == 1
    assert json.loads(row["input_data"]) == {"input_data": {"tuple:(1, True, 'resource')": {"id": 1}}}
    assert json.loads(row["extra_data"]) == {"extra_data": {"resource_failures": {"a": "why"}, "skip_propagate": True}}


def test_what_is_ours_survives_failures(stack):
    sync_points.insert_many(stack.id, "t1", [(stack.id, True)], {"abandon": True})
    merge(stack, 1, target=(stack.id, True), failures={"a": "why"})
    assert sync_points.ours(stack.id, "t1") == {"abandon": True}


@pytest.mark.parametrize("size", [10, 1000])
def test_merging_costs_no_statement_per_input(stack, size):
    sync_points.insert_many(stack.id, "t1", [("9", True)])
    wanted = frozenset(Node(number, True).packed() for number in range(size))
    counter = session.StatementCounter()
    with session.watching(counter):
        (merged,) = sync_points.merge(stack.id, "t1", [Merge(("9", True), key, None, wanted) for key in wanted])
    assert merged.ready
    assert (counter.statements, counter.commits) == (2, 1)


# start and end ------------------------------------------------------------------------------------------------------


def start_spec(stack: Any, names: list[str], action: str = "UPDATE", **kw: Any) -> Start:
    state: dict[str, Any] = {}

    def rows(existing, template_id, prev_template_id):
        state["existing"] = existing
        chosen = plan.choose(names, existing, template_id, prev_template_id)
        state["ids"] = {name: row.id for name, row in chosen.items() if row}
        return [
            {
                "uuid": str(uuid.uuid4()),
                "name": name,
                "stack_id": stack.id,
                "action": "INIT",
                "status": "COMPLETE",
                "current_template_id": template_id,
            }
            for name, row in chosen.items()
            if not row
        ]

    def graph(new, snapshots):
        built = plan.build([(name, None) for name in names], {**state["ids"], **new}, state["existing"], snapshots)
        return built.to_stored(), [*((str(n.rsrc_id), n.is_update) for n in built), (stack.id, True)]

    return Start(
        stack.id,
        "t2",
        action,
        rows,
        graph,
        {"status": "IN_PROGRESS"},
        event(stack.id),
        expected_traversal=kw.pop("expected", "t1"),
        **kw,
    )


def test_start_writes_everything_at_once(stack, row_id):
    counter = session.StatementCounter()
    with session.watching(counter):
        started = traversals.start(start_spec(stack, ["a", "b", "c"], template={"template": {}, "environment": {}}))
    assert counter.commits == 1 and counter.statements <= 14
    row = stacks.get(stack.id, deps=True)
    assert (row.current_traversal, row.action, row.status) == ("t2", "UPDATE", "IN_PROGRESS")
    assert row.prev_raw_template_id == stack.raw_template_id != row.raw_template_id
    assert started.template_id == row.raw_template_id
    assert {one.name for one in resources.list_by_stack(stack.id)} == {"a", "b", "c"}
    graph = plan.Graph.from_stored(row.current_deps)
    points = sync_points.list_inputs(stack.id, "t2")
    assert plan.has_all_sync_points(graph, stack.id, dict.fromkeys(points, ()))
    assert len(points) == len(graph) + 1


def test_start_for_many_resources_costs_no_statement_each(stack):
    costs = []
    for size, expected in ((10, "t1"), (500, "t2")):
        counter = session.StatementCounter()
        with session.watching(counter):
            assert traversals.start(start_spec(stack, [f"r{i}" for i in range(size)], expected=expected))
        costs.append(counter.statements)
    assert costs[1] <= costs[0] + 2


def test_start_under_another_traversal_writes_nothing(stack):
    assert traversals.start(start_spec(stack, ["a"], expected="t0")) is None
    assert stacks.get(stack.id).current_traversal == "t1"
    assert count(models.event) == count(models.resource) == 0


def finish(stack: Any, status: str = "COMPLETE", **kw: Any) -> bool:
    done, _ = traversals.finish(
        Finish(stack.id, kw.pop("traversal", "t2"), kw.pop("action", "UPDATE"), status, "reason", event(stack.id), **kw)
    )
    return done


def test_complete_clears_away(stack, row_id):
    traversals.start(start_spec(stack, ["a"], template={"template": {}, "environment": {}}))
    resources.insert({"stack_id": stack.id, "name": "old", "action": "DELETE", "status": "COMPLETE"})
    resources.update(row_id, {"current_template_id": stacks.get(stack.id).raw_template_id})
    assert not finish(stack, traversal="t1")
    assert finish(stack)
    row = stacks.get(stack.id)
    assert (row.status, row.current_traversal, row.prev_raw_template_id) == ("COMPLETE", "t2", None)
    assert count(models.sync_point) == 0
    assert count(models.raw_template) == 1
    assert [one.name for one in resources.list_by_stack(stack.id)] == ["a"]


def test_failed_keeps_the_former_template_and_ends_the_traversal(stack, row_id):
    traversals.start(start_spec(stack, ["a"], template={"template": {}, "environment": {}}))
    assert finish(stack, "FAILED")
    row = stacks.get(stack.id)
    assert (row.current_traversal, row.prev_raw_template_id) == ("", stack.raw_template_id)
    assert count(models.sync_point) == 0


def test_a_deleted_stack_frees_its_name_with_its_state(stack):
    traversals.start(start_spec(stack, [], "DELETE", template={"template": {}, "environment": {}}))
    assert finish(stack, action="DELETE", delete=True)
    row = stacks.get(stack.id, show_deleted=True)
    assert row.deleted_at is not None and (row.action, row.status) == ("DELETE", "COMPLETE")
    assert stacks.get_by_name("web") is None
    assert count(models.sync_point) == 0


def test_failure_and_rollback_are_one_transaction(stack, row_id):
    traversals.start(start_spec(stack, ["a", "b"], template={"template": {}, "environment": {}}))
    back = start_spec(stack, ["a"], "ROLLBACK", expected="t2", template_id=stack.raw_template_id)
    back.traversal_id = "t3"
    counter = session.StatementCounter()
    with session.watching(counter):
        assert finish(stack, "FAILED", restart=back)
    assert counter.commits == 1
    row = stacks.get(stack.id)
    assert (row.action, row.status, row.current_traversal) == ("ROLLBACK", "IN_PROGRESS", "t3")
    assert row.raw_template_id == stack.raw_template_id


def test_stop(stack):
    sync_points.insert_many(stack.id, "t1", [(stack.id, True)])
    assert not traversals.stop(stack.id, "t0", "t9", "CREATE", "why", event(stack.id))
    assert traversals.stop(stack.id, "t1", "t9", "CREATE", "why", event(stack.id))
    row = stacks.get(stack.id)
    assert (row.status, row.current_traversal) == ("FAILED", "t9")
    assert count(models.sync_point) == 0


def test_stealing_compares(stack, row_id):
    nodes.apply(stack.id, "t1", [lock(row_id)])
    assert not recovery.steal(row_id, 9, "e1", "e2")
    assert not recovery.steal(row_id, 1, "e3", "e2")
    assert recovery.steal(row_id, 1, "e1", "e2")
    (late,), _ = nodes.apply(stack.id, "t1", [Write(row_id, "e1", 1, {"engine_id": None, "status": "COMPLETE"})])
    assert not late.ok
    assert [row.id for row in recovery.locked("e1")] == [row_id] and recovery.locked("e2") == []
