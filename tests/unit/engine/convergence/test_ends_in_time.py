# SPDX-License-Identifier: Apache-2.0
"""What ends an action before its time: time-outs, and an update that comes over another."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

import pytest

from openkeel_heat.common import clock
from openkeel_heat.db import nodes, recovery, resources, stacks
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine.convergence.driver import Cancelled
from openkeel_heat.engine.convergence.recovery import adopt
from openkeel_heat.engine.convergence.worker import WorkerService
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import DEAD, Life, lose, slow

hot, resource = templates.hot, templates.resource


# time ---------------------------------------------------------------------------------------------------------------


def expire(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the stack's traversal passes, also for what has been stored of it."""
    from openkeel_heat.engine.convergence.state import Traversal

    monkeypatch.setattr(Traversal, "seconds_left", lambda self: 0.0)


def test_what_a_stopped_traversal_left_running_has_a_limit(life, monkeypatch):
    life.create(hot({"a": slow()}), wait=False, timeout_mins=1)
    life.when("a", "CREATE_IN_PROGRESS")
    (found,) = life.hub.traversals.of_stack(life.id)
    life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=False)
    life.settle("CREATE_FAILED")
    assert not found.timer.cancelled
    expire(life, monkeypatch)
    life.hub.time_is_over(found)
    assert life.when("a", "CREATE_FAILED").status_reason.endswith("Timed out)")
    until(lambda: found.timer.cancelled and not life.hub._late, "the clock is not watched any more")
    assert life.row.status_reason == "Stack CREATE cancelled"


def test_the_work_of_a_dead_engine_for_a_stack_that_timed_out(life, graveyard, monkeypatch):
    """It is not gone on with for as long as it would have taken."""
    life.create(hot({"a": slow(), "b": resource("1", ["a"])}), wait=False, timeout_mins=1)
    life.when("a", "CREATE_IN_PROGRESS")
    lose(life)
    row = life.resources()["a"]
    assert recovery.steal(row.id, row.atomic_key, row.engine_id, DEAD)
    long_ago = clock.utcnow() - datetime.timedelta(minutes=5)
    stacks.update(life.id, {"created_at": long_ago})
    until(lambda: graveyard.scan() or life.row.status == "FAILED", "failed")
    assert life.row.status_reason == "Timed out"
    until(lambda: life.resources()["a"].status == "FAILED", "the resource is given up", 10)
    until(lambda: life.database.unrest() == [], "rest")


def test_a_time_out_that_could_not_be_written(life, graveyard, monkeypatch):
    """The clock struck, but the database was away: the next look at the stack fails it."""
    life.create(hot({"a": slow()}), wait=False, timeout_mins=1)
    life.when("a", "CREATE_IN_PROGRESS")
    (found,) = life.hub.traversals.of_stack(life.id)
    found.timer.cancel()
    found.stack.created_time = clock.utcnow() - datetime.timedelta(minutes=5)
    stacks.update(life.id, {"created_at": found.stack.created_time})
    until(lambda: graveyard.scan() or life.row.status == "FAILED", "failed", 5)
    assert life.row.status_reason == "Timed out"


def test_nested_stacks_end_with_the_time_of_their_parent(life, monkeypatch):
    files = {
        "member.yaml": "heat_template_version: 2018-08-31\nresources:\n"
        "  inner: {type: OS::Heat::TestResource, properties: {wait_secs: 30}}\n"
    }
    life.create(hot({"m": {"type": "member.yaml"}}), wait=False, files=files, timeout_mins=1)
    inner = until(
        lambda: [row for row in resources.list_by_root(life.id) if row.name == "inner" and row.status == "IN_PROGRESS"],
        "the inner one is being made",
    )[0]
    (found,) = life.hub.traversals.of_stack(life.id)
    monkeypatch.setattr(found, "seconds_left", lambda: 0.0)
    life.hub.time_is_over(found)
    assert life.settle_state("CREATE_FAILED").status_reason == "Timed out"
    until(lambda: stacks.get(inner.stack_id).status == "FAILED", "the nested stack has failed")
    (child,) = life.hub._late.values()
    monkeypatch.setattr(child, "seconds_left", lambda: 0.0)
    life.hub.time_is_over(child)
    until(lambda: life.database.unrest() == [], "rest")


# preempting ---------------------------------------------------------------------------------------------------------

SLOW_MEMBER = (
    "heat_template_version: 2018-08-31\nparameters: {v: {type: string}}\nresources:\n"
    "  inner: {type: OS::Heat::TestResource,\n"
    "          properties: {value: {get_param: v}, action_wait_secs: {update: 1}}}\n"
)


def test_a_doubled_call_does_not_end_what_it_called_for(life, monkeypatch):
    """The first call updates a nested stack here when the second one comes to another engine."""
    from openkeel_heat.engine.server import Engine

    files = {"member.yaml": SLOW_MEMBER}
    life.create(hot({"m": {"type": "member.yaml", "properties": {"v": "1"}}}), files=files)
    life.client.update_stack(
        life.engine.context(),
        life.identity,
        hot({"m": {"type": "member.yaml", "properties": {"v": "2"}}}),
        {},
        files,
        {},
    )
    row = life.when("m", "UPDATE_IN_PROGRESS")
    child = row.nova_instance
    until(lambda: stacks.get(child).action == "UPDATE", "the nested stack is being updated")
    other = Engine(life.engine.conf)
    monkeypatch.setattr(other._hub.liveness, "_probe", lambda engine_id: True)
    try:
        WorkerService(other._hub).check_resource(
            life.engine.context(), row.id, life.row.current_traversal, {"input_data": {}}, True, None
        )
        until(lambda: not other._hub.under_way(), "the call was taken")
        life.settle("UPDATE_COMPLETE")
    finally:
        other.scheduler.stop(5)
    assert stacks.get(child).status == "COMPLETE"


def test_an_update_ends_the_former_update_of_a_nested_stack(life):
    files = {"member.yaml": SLOW_MEMBER.replace("update: 1", "update: 20")}
    template = {v: hot({"m": {"type": "member.yaml", "properties": {"v": v}}}) for v in "123"}
    life.create(template["1"], files=files)
    life.client.update_stack(life.engine.context(), life.identity, template["2"], {}, files, {})
    child = life.when("m", "UPDATE_IN_PROGRESS").nova_instance
    until(lambda: (stacks.get(child).action, stacks.get(child).status) == ("UPDATE", "IN_PROGRESS"), "it is at it")
    files = {"member.yaml": SLOW_MEMBER.replace("update: 1", "update: 0")}
    life.client.update_stack(life.engine.context(), life.identity, template["3"], {}, files, {})
    reasons = "SELECT resource_status_reason AS r FROM event WHERE stack_id = :i"
    until(lambda: {"r": "Stack UPDATE cancelled"} in life.database.rows(reasons, i=child), "it is cancelled", 5)


def test_a_resource_taken_over_is_free_when_its_task_ends_before_it_began(life, monkeypatch):
    life.create(hot({"a": slow()}), wait=False)
    life.when("a", "CREATE_IN_PROGRESS")
    lose(life)
    row = life.resources()["a"]
    run = life.hub._begin_loaded

    def cancelled(visits: Any, *rest: Any) -> None:
        submit = life.hub.scheduler.submit
        with monkeypatch.context() as patch:
            patch.setattr(
                life.hub.scheduler, "submit", lambda generator, keys, done: submit(ended_at_once(generator), keys, done)
            )
            run(visits, *rest)

    def ended_at_once(generator: Any) -> Any:
        generator.throw(Cancelled())
        yield

    monkeypatch.setattr(life.hub, "_begin_loaded", cancelled)
    assert adopt(life.hub, None, row)
    until(lambda: life.resources()["a"].engine_id is None, "free", 5)
    assert life.resources()["a"].status_reason == "CREATE aborted (user triggered cancel)"


def test_two_engines_that_replace_one_resource(life, monkeypatch):
    """A doubled call: the other engine made the successor after this one had read the row, and left it as it was."""
    from openkeel_heat.engine.convergence.driver import Driver

    life.create(hot({"a": resource("1", update_replace_value="x")}))
    old = life.resources()["a"]
    write_for = Driver.write_for
    made: list[int] = []

    def meanwhile(self: Driver, step: Any) -> Write:
        write = write_for(self, step)
        if step.action == "UPDATE" and not made:
            template_id = life.row.raw_template_id
            successor = {
                "stack_id": life.id,
                "name": "a",
                "needed_by": [],
                "requires": [],
                "replaces": old.id,
                "action": "INIT",
                "status": "COMPLETE",
                "current_template_id": template_id,
                "root_stack_id": life.id,
                "uuid": str(uuid.uuid4()),
            }
            (answer,), _ = nodes.apply(life.id, None, [Write(old.id, None, old.atomic_key, {}, replacement=successor)])
            made.append(answer.replacement_id)
        return write

    monkeypatch.setattr(Driver, "write_for", meanwhile)
    life.update(hot({"a": resource("1", update_replace_value="y")}))
    assert made and [row.id for row in resources.list_by_stack(life.id)] == made
