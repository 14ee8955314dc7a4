# SPDX-License-Identifier: Apache-2.0
"""What comes too late, what was half done, and ways back that are closed: no stack is stuck or says what is not so."""

from __future__ import annotations

import datetime
import uuid

import pytest

from openkeel_heat.common import clock
from openkeel_heat.db import nodes, resources, services, snapshots, stacks, sync_points, templates as template_rows
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine import templates as compiled
from openkeel_heat.engine.convergence import recovery as recovery_module
from openkeel_heat.engine.convergence.locks import Liveness
from openkeel_heat.engine.convergence.recovery import Recovery
from openkeel_heat.engine.stack import Stack
from openkeel_heat.resources.heat.test_resource import TestResource
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import DEAD, Life, lose, slow

hot, resource = templates.hot, templates.resource


def test_a_creation_that_was_being_tried_again(life, graveyard):
    """Its engine died while it deleted what had failed: the resource is made, not missing from a complete stack."""
    life.create(hot({"a": slow(create=1), "b": resource("1", ["a"])}), wait=False)
    row = life.when("a", "CREATE_IN_PROGRESS")
    lose(life)
    row = life.resources()["a"]
    nodes.apply(life.id, None, [Write(row.id, row.engine_id, row.atomic_key, {"engine_id": DEAD, "action": "DELETE"})])
    until(lambda: graveyard.scan() or life.row.status == "COMPLETE", "complete")
    assert {row.name: f"{row.action}_{row.status}" for row in life.resources().values()} == {
        "a": "CREATE_COMPLETE",
        "b": "CREATE_COMPLETE",
    }


@pytest.mark.parametrize("rollback", [True, False])
def test_an_update_that_is_complete_cannot_be_cancelled_any_more(life, rollback):
    """It was under way when it was looked at."""
    life.create(hot({"a": resource("1")}))
    life.update(hot({"a": resource("2", action_wait_secs={"update": 0.2})}), wait=False)
    stack = Stack.load(life.engine.context(), life.id)
    assert stack.state == (stack.UPDATE, stack.IN_PROGRESS)
    life.settle("UPDATE_COMPLETE")
    before = life.row
    life.hub.cancel(life.engine.context(), stack, rollback)
    assert life.row == before
    assert [event for event in life.events() if event[0] == life.name][-1] == (life.name, "UPDATE_COMPLETE")


def test_a_failed_update_without_a_way_back(life):
    """The former template cannot be read any more; the stack says so, and is not in progress for ever."""
    life.create(hot({"a": resource("1")}))
    former = life.row.raw_template_id
    template_rows.update(former, {"template": {"heat_template_version": "2099-01-01"}})
    life.update(hot({"b": resource("2", fail=True)}), wait=False, disable_rollback=False)
    compiled.clear()
    row = life.settle_state("ROLLBACK_FAILED", 10)
    assert row.status_reason.startswith("The template version is invalid")
    assert (life.name, "UPDATE_FAILED") in life.events()
    template_rows.update(former, {"template": hot({"a": resource("1")})})


@pytest.mark.parametrize("traversal", [None, ""])
@pytest.mark.parametrize("then", ["recovery", "delete", "update", "cancel", "time-out"])
def test_a_stack_of_python_heat_without_a_traversal(life, graveyard, monkeypatch, traversal, then):
    """Its engine died, or met an error, after it had stored the stack, before the first traversal of it began."""
    monkeypatch.setattr(recovery_module, "CUT_SECONDS", 0.01)
    life.create(hot({"a": resource("1")}))
    begun = {"status": "IN_PROGRESS", "action": "CREATE", "current_traversal": traversal, "current_deps": None}
    stacks.update(life.id, begun)
    if then == "recovery":
        until(lambda: graveyard.scan() or life.row.status == "COMPLETE", "complete")
    elif then == "update":
        life.update(hot({"a": resource("2")}))
    elif then == "cancel":
        life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=False)
        assert life.row.status_reason == "Stack CREATE cancelled"
    elif then == "time-out":
        stacks.update(life.id, {"created_at": clock.utcnow() - datetime.timedelta(days=2)})
        graveyard.scan()
        assert life.row.status_reason == "Timed out"
    life.delete()


def test_a_stack_that_cannot_be_read_fails_when_its_time_is_over(life, graveyard):
    life.create(hot({"a": resource("1")}))
    template = life.row.raw_template_id
    long_ago = clock.utcnow() - datetime.timedelta(days=2)
    begun = {
        "status": "IN_PROGRESS",
        "action": "UPDATE",
        "current_traversal": str(uuid.uuid4()),
        "updated_at": long_ago,
    }
    stacks.update(life.id, begun)
    template_rows.update(template, {"template": {"heat_template_version": "2099-01-01"}})
    compiled.clear()
    graveyard.scan()
    assert (life.row.action, life.row.status) == ("UPDATE", "FAILED")
    assert life.row.status_reason.startswith("The template version is invalid")
    template_rows.update(template, {"template": hot({"a": resource("1")})})


@pytest.mark.parametrize("left", ["lock", "sync point"])
def test_a_stack_that_cannot_be_read_does_not_keep_others_from_recovery(life, engine, graveyard, left):
    bad = Life(engine).create(hot({"a": resource("1")}))
    life.create(hot({"a": resource("1")}))
    traversal = str(uuid.uuid4())
    stacks.update(bad.id, {"current_traversal": traversal})
    template_rows.update(bad.row.raw_template_id, {"template": {"heat_template_version": "2099-01-01"}})
    compiled.clear()
    if left == "lock":
        row = bad.resources()["a"]
        nodes.apply(bad.id, None, [Write(row.id, None, row.atomic_key, {"engine_id": DEAD})])
    else:
        sync_points.insert_many(bad.id, traversal, [(bad.id, True)])
    snapshot_id = snapshots.insert({"stack_id": life.id, "tenant": "x", "action": "DELETE", "status": "IN_PROGRESS"})
    for _scan in range(2):
        graveyard.scan()
    until(lambda: snapshots.get(snapshot_id) is None, "the snapshot is deleted", 5)
    template_rows.update(bad.row.raw_template_id, {"template": hot({"a": resource("1")})})
    until(lambda: graveyard.scan() or not bad.database.unrest(), "rest")
    bad.delete()


@pytest.mark.parametrize("left", ["good-bye", "silent", "silent and gone"])
def test_an_engine_that_fell_silent_is_asked_before_its_work_is_taken(engine, left):
    """All its threads may wait for a service that does not answer: what it asked for may be made yet."""
    own = services.get(engine.engine.heartbeat.service_id)
    values = {name: own[name] for name in ("host", "hostname", "binary", "topic", "report_interval")}
    silent = datetime.timedelta(seconds=10 * own.report_interval if left != "good-bye" else 1)
    engine_id = str(uuid.uuid4())
    service_id = services.insert({**values, "engine_id": engine_id, "updated_at": clock.utcnow() - silent})
    if left == "good-bye":
        services.delete(service_id)
    engine.engine.heartbeat.clean()
    assert services.get(service_id).deleted_at is not None
    asked = []
    liveness = Liveness("me", lambda one: asked.append(one) or left == "silent")
    assert liveness.is_alive(engine_id) == (left == "silent")
    assert bool(asked) == (left != "good-bye")


def test_an_engine_that_slept_over_its_creation_leaves_the_id_of_another_ones_object(life, monkeypatch):
    """It made an object, too; only what the holder has made is what others refer to."""
    woken = []

    def create(self):
        if woken:
            return clock.utcnow(), 0
        woken.append(self)
        (row,) = resources.list_by_stack(self.stack.id)
        values = {"engine_id": None, "status": "COMPLETE", "nova_instance": "theirs"}
        nodes.apply(self.stack.id, None, [Write(row.id, row.engine_id, row.atomic_key, values)])
        self.resource_id_set("mine")

    monkeypatch.setattr(TestResource, "deferred_resource_id", False)
    monkeypatch.setattr(TestResource, "handle_create", create)
    life.create(hot({"a": resource("1")}), wait=False)
    until(lambda: woken and not life.hub.under_way(), "it has found out")
    assert life.resources()["a"].nova_instance == "theirs"
    looking = Recovery(life.hub)
    until(lambda: looking.scan() or life.row.status == "COMPLETE", "complete")
    assert life.resources()["a"].nova_instance == "theirs"
