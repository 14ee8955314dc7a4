# SPDX-License-Identifier: Apache-2.0
"""Messages that are lost, doubled and out of order, and work that another engine left or has."""

from __future__ import annotations

import collections
import datetime
import json
import random
import threading
import uuid
from typing import Any

import pytest

from openkeel_heat.clients.local import LocalKeystone
from openkeel_heat.common import clock
from openkeel_heat.db import models, nodes, recovery, resources, session, stacks, sync_points, user_creds
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine.convergence.recovery import Recovery
from openkeel_heat.engine.nested import EngineNestedStacks
from openkeel_heat.resources.heat.test_resource import TestResource
from openkeel_heat.rpc import messaging
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import DEAD, Life, crowded, lose, slow

hot, resource = templates.hot, templates.resource


# messages -----------------------------------------------------------------------------------------------------------


class Faults:
    """Loses, doubles and delays casts of nodes."""

    def __init__(self, seed: int, worker: Any, lose: float = 0.0, double: float = 0.0) -> None:
        self.random = random.Random(seed)
        self.worker, self.lose, self.double = worker, lose, double
        self.counts: collections.Counter[str] = collections.Counter()

    def check_resource(self, context: Any, *args: Any, **kwargs: Any) -> None:
        value = self.random.random()
        if value < self.lose:
            self.counts["lost"] += 1
            return
        self.counts["sent"] += 1
        times = 1
        if value > 1 - self.double:
            self.counts["doubled"] += 1
            times = 2
        for _ in range(times):
            timer = threading.Timer(self.random.uniform(0, 0.05), self.worker.check_resource, (context, *args), kwargs)
            timer.start()

    def cancel_check_resource(self, *args: Any) -> None:
        self.worker.cancel_check_resource(*args)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lost_doubled_and_late_messages(life, seed, monkeypatch):
    hub = life.hub
    faults = Faults(seed, hub.worker_client, lose=0.2, double=0.4)
    monkeypatch.setattr(hub, "worker_client", faults)
    looking = Recovery(hub)
    with crowded(hub):
        life.create(templates.flat(), wait=False)

        def settled(action: str) -> bool:
            looking.scan()
            row = life.row
            assert row.status != "FAILED", row.status_reason
            return (row.action, row.status) == (action, "COMPLETE")

        until(lambda: settled("CREATE"), "created", 30)
        life.update(templates.flat(salt="2", generation="y", extra="e"), wait=False)
        until(lambda: settled("UPDATE"), "updated", 30)
        assert set(life.resources()) == {"a", "b", "d", "e"}
        made = collections.Counter(event for event in life.events() if event[1] == "CREATE_COMPLETE")
        assert made == {
            (life.name, "CREATE_COMPLETE"): 1,
            ("a", "CREATE_COMPLETE"): 1,
            ("b", "CREATE_COMPLETE"): 1,
            ("c", "CREATE_COMPLETE"): 1,
            ("d", "CREATE_COMPLETE"): 2,
            ("e", "CREATE_COMPLETE"): 1,
        }
        life.client.delete_stack(life.engine.context(), life.identity, cast=False)
        until(lambda: settled("DELETE"), "deleted", 30)
    assert faults.counts["doubled"]
    assert life.database.leftovers(life.id) == []


def test_a_message_of_a_former_traversal_does_nothing(life):
    life.create(hot({"a": resource("1")}))
    former = life.row.current_traversal
    life.update(hot({"a": resource("2")}))
    before = life.resources()["a"]
    life.hub.worker_client.check_resource(life.engine.context(), before.id, former, {"input_data": {}}, True, None)
    life.hub.worker_client.check_resource(life.engine.context(), 10**6, former, {"input_data": {}}, True, None)
    assert life.hub.scheduler.drain(10)
    assert life.resources()["a"].atomic_key == before.atomic_key


@pytest.mark.parametrize("does", ["CREATE", "DELETE"])
def test_a_lost_word_to_cancel_is_repeated(life, graveyard, monkeypatch, does):
    """A deletion need not wait until another engine has made what is to be deleted; it waits while that is deleted."""
    alive, told = str(uuid.uuid4()), []

    class Worker:
        def cancel_check_resource(self, context: Any, stack_id: str, engine_id: str) -> None:
            told.append((stack_id, engine_id))

    life.create(hot({"a": resource("1")}))
    row = life.resources()["a"]
    nodes.apply(
        life.id,
        None,
        [Write(row.id, None, row.atomic_key, {"engine_id": alive, "action": does, "status": "IN_PROGRESS"})],
    )
    monkeypatch.setattr(life.hub, "worker_client", Worker())
    life.client.delete_stack(life.engine.context(), life.identity, cast=False)
    until(lambda: not life.hub.under_way(), "it waits for the resource")
    assert told == [(life.id, alive)]
    for _scan in range(2):
        graveyard.scan()
    assert told == [(life.id, alive)] * (2 if does == "CREATE" else 1)
    recovery.steal(row.id, life.resources()["a"].atomic_key, alive, None)
    until(lambda: graveyard.scan() or life.row.deleted_at, "deleted")


# what others left ---------------------------------------------------------------------------------------------------


def test_a_lock_of_a_dead_engine_is_taken_over(life, graveyard):
    life.create(hot({"a": resource("1")}))
    row = life.resources()["a"]
    nodes.apply(
        life.id,
        None,
        [Write(row.id, None, row.atomic_key, {"engine_id": DEAD, "action": "UPDATE", "status": "IN_PROGRESS"})],
    )
    graveyard.scan()
    until(lambda: life.resources()["a"].engine_id is None, "free")
    assert life.database.unrest() == []


def test_a_replacement_that_its_engine_died_over_is_made_once_more(life, graveyard, monkeypatch):
    """Not again and again: whoever waits for the resource hears of the one that is there in the end."""
    begun, ready = [], []
    monkeypatch.setattr(TestResource, "repeatable_create", False)
    monkeypatch.setattr(TestResource, "handle_create", lambda self: begun.append(self.record.id))
    monkeypatch.setattr(TestResource, "check_create_complete", lambda self, _begun: len(begun) != 2 or bool(ready))
    life.create(hot({"a": resource("1")}))
    after = hot({"a": resource("2", update_replace=True), "b": resource(templates.attr("a", "output"))})
    life.update(after, wait=False)
    until(lambda: len(begun) == 2, "the replacement is being made")
    lose(life)
    row = nodes.lock_state(begun[1])
    nodes.apply(life.id, None, [Write(row.id, row.engine_id, row.atomic_key, {"engine_id": DEAD})])
    ready.append(True)
    until(lambda: graveyard.scan() or life.row.status != "IN_PROGRESS", "the update is over")
    life.settle("UPDATE_COMPLETE")
    assert len(begun) == 4 and life.resources()["a"].id == begun[2]
    assert sorted(row.name for row in resources.list_by_stack(life.id)) == ["a", "b"]
    life.delete()


def test_what_a_dead_engine_was_making_is_found_by_what_it_was_made_with(life, graveyard, monkeypatch):
    """Its traversal is over, so that nobody says what other resources are: no object is left behind for that."""
    life.create(hot({"a": resource("1"), "b": resource(templates.attr("a", "output"))}))
    row = life.resources()["b"]
    nodes.apply(
        life.id,
        None,
        [
            Write(
                row.id,
                None,
                row.atomic_key,
                {"engine_id": DEAD, "action": "CREATE", "status": "IN_PROGRESS", "nova_instance": None},
            )
        ],
    )
    monkeypatch.setattr(TestResource, "find_physical", lambda self: "made with %s" % self.properties["value"])
    graveyard.scan()
    found = life.when("b", "CREATE_COMPLETE")
    assert found.nova_instance == "made with 1"


def test_a_deletion_goes_on_as_soon_as_what_a_dead_engine_was_making_is_there(life, graveyard, monkeypatch):
    monkeypatch.setattr(Recovery, "scan", lambda self: None)
    life.create(hot({"a": resource("1")}))
    row = life.resources()["a"]
    nodes.apply(
        life.id,
        None,
        [Write(row.id, None, row.atomic_key, {"engine_id": DEAD, "action": "CREATE", "status": "IN_PROGRESS"})],
    )
    life.delete()


@pytest.mark.parametrize("action", ["create", "update", "suspend", "delete"])
def test_an_engine_that_slept_starts_no_nested_stack(life, graveyard, monkeypatch, action):
    """It had looked, and is halted before it writes; another one takes the resource over and does it."""
    member = {"member.yaml": json.dumps(hot({"a": resource("1")}))}
    template, other = hot({"n": {"type": "member.yaml"}}), str(uuid.uuid4())
    if action != "create":
        life.create(template, files=member)
    taken = []

    def halted(original):
        def late(*arguments, **named):
            stack = original(*arguments, **named)
            if not taken and stack.owner_id and stack.name.startswith(life.name):
                [row] = resources.list_by_stack(stack.owner_id)
                if row.engine_id == life.hub.engine_id:
                    nodes.apply(
                        row.stack_id, None, [Write(row.id, row.engine_id, row.atomic_key, {"engine_id": other})]
                    )
                    taken.append(row.id)
            return stack

        return late

    from openkeel_heat.engine.operations import migrate, prepare

    if action == "create":
        monkeypatch.setattr(EngineNestedStacks, "build", halted(EngineNestedStacks.build))
    elif action == "update":
        monkeypatch.setattr(prepare, "stack_under", halted(prepare.stack_under))
    else:
        monkeypatch.setattr(migrate, "stack_to_change", halted(migrate.stack_to_change))
    started = len(stack_starts(life))
    if action == "create":
        life.create(template, files=member, wait=False)
    elif action == "update":
        member = {"member.yaml": json.dumps(hot({"a": resource("2")}))}
        life.client.update_stack(life.engine.context(), life.identity, template, {}, member, {})
    else:
        getattr(life.client, {"suspend": "stack_suspend", "delete": "delete_stack"}[action])(
            life.engine.context(), life.identity, **({"cast": False} if action == "delete" else {})
        )
    until(lambda: taken, "it is halted")
    until(lambda: not any(v.stack_id == life.id for v in life.hub.under_way()), "it has found out")
    assert len(stack_starts(life)) == started
    nodes.apply(life.id, None, [Write(taken[0], other, life.resources()["n"].atomic_key, {"engine_id": DEAD})])
    graveyard.scan()
    life.settle(f"{action.upper()}_COMPLETE")
    assert len(stack_starts(life)) == started + 1


def stack_starts(life: Life) -> list[Any]:
    """Events that say that something was begun with a nested stack of this stack."""
    return life.database.rows(
        "SELECT e.id FROM event e JOIN stack s ON s.id = e.stack_id JOIN stack p ON p.id = s.owner_id "
        "WHERE p.name = :name AND e.resource_name = s.name AND e.resource_status = 'IN_PROGRESS'",
        name=life.name,
    )


def test_a_live_engine_keeps_its_lock(life, graveyard):
    life.create(hot({"a": resource("1")}))
    row = life.resources()["a"]
    alive = str(uuid.uuid4())
    nodes.apply(life.id, None, [Write(row.id, None, row.atomic_key, {"engine_id": alive})])
    graveyard.scan()
    assert life.hub.scheduler.drain(10)
    assert life.resources()["a"].engine_id == alive
    recovery.steal(row.id, life.resources()["a"].atomic_key, alive, None)


def test_an_update_meets_a_dead_engine(life, graveyard):
    life.create(hot({"a": resource("1")}))
    row = life.resources()["a"]
    nodes.apply(
        life.id,
        None,
        [Write(row.id, None, row.atomic_key, {"engine_id": DEAD, "action": "UPDATE", "status": "IN_PROGRESS"})],
    )
    life.update(hot({"a": resource("2")}))
    assert life.resources()["a"].stored_properties == {"value": "2"}


def test_a_cut_start_is_begun_again(life, graveyard, monkeypatch):
    from openkeel_heat.engine.convergence import recovery as recovery_module

    monkeypatch.setattr(recovery_module, "CUT_SECONDS", 0.01)
    life.create(hot({"a": resource("1")}))
    # a Python Heat engine wrote the new traversal, and nothing more
    stacks.update(life.id, {"status": "IN_PROGRESS", "action": "UPDATE", "current_traversal": str(uuid.uuid4())})
    graveyard.scan()
    until(lambda: graveyard.scan() or life.row.status == "COMPLETE", "complete")
    assert life.database.unrest() == []


def test_a_stack_whose_time_is_over_and_nobody_knows(life, graveyard):
    life.create(hot({"a": resource("1")}))
    long_ago = clock.utcnow() - datetime.timedelta(days=2)
    stacks.update(
        life.id,
        {"status": "IN_PROGRESS", "action": "UPDATE", "current_traversal": str(uuid.uuid4()), "updated_at": long_ago},
    )
    graveyard.scan()
    assert life.settle("UPDATE_FAILED").status_reason == "Timed out"


def test_scan_is_cheap_when_nothing_is_under_way(life, graveyard):
    life.create(hot({"a": resource("1")}))
    counter = session.StatementCounter()
    with session.watching(counter):
        graveyard.scan()
    assert counter.commits == 0 and counter.statements <= 8


# a second engine ----------------------------------------------------------------------------------------------------


def test_two_engines_share_a_traversal(life):
    from openkeel_heat.engine.server import Engine

    other = Engine(life.engine.conf)
    other.start()
    sent: collections.Counter[str] = collections.Counter()

    class Count:
        def before_send(self, message: Any) -> None:
            sent[message.method] += 1

        def after_send(self, message: Any) -> None:
            pass

    watcher = Count()
    messaging.watchers.append(watcher)
    try:
        with crowded(life.hub), crowded(other._hub):
            life.create(templates.flat())
            life.update(templates.flat(salt="2", generation="y"))
        assert sent["check_resource"] >= 8
        made = collections.Counter(event for event in life.events() if event[1] == "CREATE_COMPLETE")
        assert made == {
            (life.name, "CREATE_COMPLETE"): 1,
            ("a", "CREATE_COMPLETE"): 1,
            ("b", "CREATE_COMPLETE"): 1,
            ("c", "CREATE_COMPLETE"): 1,
            ("d", "CREATE_COMPLETE"): 2,
        }
    finally:
        messaging.watchers.remove(watcher)
        other.stop()
        other.wait()


def test_an_engine_that_stops_leaves_its_work_to_others(life):
    from openkeel_heat.engine.server import Engine

    other = Engine(life.engine.conf)
    other.start()
    hub = other._hub
    try:
        life.engine.engine._servers[0].stop()  # nodes go to the other one
        with crowded(life.hub):
            life.create(hot({"a": slow(create=2), "b": resource("2", ["a"])}), wait=False)
            row = life.when("a", "CREATE_IN_PROGRESS")
        assert row.engine_id == hub.engine_id
        life.engine.engine._servers[0].start()
    finally:
        other.stop()
        other.wait()
    looking = Recovery(life.hub)
    until(lambda: looking.scan() or life.row.status == "COMPLETE", "complete", 20)
    made = collections.Counter(event for event in life.events() if event[1] == "CREATE_COMPLETE")
    assert set(made.values()) == {1}


def test_what_ends_while_its_engine_stops_can_make_nested_stacks(engine):
    from openkeel_heat.engine.operations import runtime
    from openkeel_heat.engine.server import Engine

    other, seen = Engine(engine.conf), []
    other.start()

    def ends_meanwhile():
        while not other._hub.draining:
            yield 0.01
        yield 0.1
        seen.append(runtime.current())

    other.run_task(ends_meanwhile())
    other.stop()
    other.wait()
    assert seen == [other]
    assert runtime.current() is not other


def test_no_thread_stays(engine):
    from openkeel_heat.engine.server import Engine

    other = Engine(engine.conf)
    other.start()
    prefix = f"engine-{other.engine_id[:8]}"
    other.stop()
    other.wait()
    assert [t for t in threading.enumerate() if t.name.startswith(prefix)] == []


@pytest.mark.parametrize("state", ["UPDATE_COMPLETE", "UPDATE_FAILED"])
def test_an_end_that_was_not_cleared_away(life, graveyard, state):
    """Python Heat writes the state, then removes rows, then sync points."""
    life.create(hot({"a": resource("1")}))
    action, _, status = state.partition("_")
    traversal = str(uuid.uuid4())
    stacks.update(
        life.id,
        {"status": status, "action": action, "current_traversal": traversal, "disable_rollback": status == "COMPLETE"},
    )
    sync_points.insert_many(life.id, traversal, [(life.id, True)])
    if status == "FAILED":
        until(lambda: graveyard.scan() or life.row.action == "ROLLBACK", "rolling back")
        life.settle("ROLLBACK_COMPLETE")
        assert life.resources() == {}
    else:
        until(lambda: graveyard.scan() or not sync_points.list_inputs(life.id, traversal), "cleared")
        assert life.row.status == "COMPLETE" and set(life.resources()) == {"a"}


class Refusal:
    """The local Keystone, while it is told to refuse to delete projects."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuses, self.projects = True, []
        monkeypatch.setattr(LocalKeystone, "delete_stack_domain_project", lambda _self, project_id: self(project_id))

    def __call__(self, project_id: str) -> None:
        self.projects.append(project_id)
        if self.refuses:
            raise RuntimeError("not now")


def credentials_of(life: Life) -> Any:
    return life.database.value("SELECT user_creds_id FROM stack WHERE id = :i", i=life.id)


def test_credentials_go_after_the_stack(life):
    life.create(hot({"a": resource("1")}))
    assert (key := credentials_of(life)) is not None
    life.delete()
    until(lambda: credentials_of(life) is None, "the deleted stack names no credentials")
    assert life.database.rows("SELECT id FROM user_creds WHERE id = :i", i=key) == []


def test_a_refusal_of_keystone_does_not_keep_a_stack(life, graveyard, monkeypatch):
    """What could not be cleared away is tried again, by whichever engine looks."""
    life.create(hot({"a": resource("1")}))
    refusal = Refusal(monkeypatch)
    life.delete()
    until(lambda: len(refusal.projects) == 1, "tried")
    graveyard.scan()
    graveyard.scan()
    assert len(refusal.projects) == 2 and credentials_of(life) is not None
    refusal.refuses = False
    graveyard.scan()
    assert len(set(refusal.projects)) == 1 and credentials_of(life) is None
    graveyard.scan()
    assert len(refusal.projects) == 3


def test_credentials_that_no_stack_has_go(life, graveyard, monkeypatch):
    """An engine died after it had stored them, before it stored the stack, or its new ones."""
    trusts: list[str] = []
    monkeypatch.setattr(LocalKeystone, "delete_trust", lambda _self, trust_id: trusts.append(trust_id), raising=False)
    life.create(hot({"a": resource("1")}))
    kept = credentials_of(life)
    context = {"trustor_user_id": "u", "project_id": "p"}
    young, old = (user_creds.insert({**context, "trust_id": age}) for age in ("young", "old"))
    table = models.user_creds
    with session.get_engine().begin() as c:
        long_ago = clock.utcnow() - datetime.timedelta(days=2)
        c.execute(table.update().where(table.c.id.in_([kept, old])).values(created_at=long_ago))
    for _scan in range(2):
        graveyard.scan()
    assert [user_creds.get(one) is not None for one in (kept, young, old)] == [True, True, False]
    assert trusts == ["old"]
    user_creds.delete(young)


def test_a_scan_does_not_look_through_all_work_for_each_lock(life, graveyard, monkeypatch):
    life.create(hot({name: slow() for name in "abc"}), wait=False)
    until(lambda: all(row.engine_id for row in life.resources().values()), "all are being made")
    under_way, looks = life.hub.under_way, []
    monkeypatch.setattr(life.hub, "under_way", lambda: looks.append(1) or under_way())
    monkeypatch.setattr(life.hub, "is_under_way", lambda rsrc_id: pytest.fail("one by one"))
    graveyard.scan()
    assert len(looks) <= 4
