# SPDX-License-Identifier: Apache-2.0
"""What a visit decides, how a life cycle is driven, and how writes go out together."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.db import nodes
from openkeel_heat.db.nodes import Write, Written
from openkeel_heat.db.sync_points import Merge, Merged
from openkeel_heat.engine import events
from openkeel_heat.engine.convergence import driver as driver_module, writer as writer_module
from openkeel_heat.engine.convergence.driver import Cancelled, Driver, TraversalOver
from openkeel_heat.engine.convergence.node import decide
from openkeel_heat.engine.convergence.writer import Writer
from openkeel_heat.engine.scheduler import Scheduler
from openkeel_heat.resources.kit.record import ResourceRecord
from openkeel_heat.resources.kit.steps import Lock, Note, Pause, Transition

DECISIONS = [
    # stack action, is_update, row's action, row's template, wanted template -> what
    ("CREATE", True, "INIT", 1, 1, "create"),
    ("ADOPT", True, "INIT", 1, 1, "create"),
    ("UPDATE", True, "CREATE", 1, 2, "update"),
    ("UPDATE", True, "INIT", 2, 2, "create"),
    ("UPDATE", True, "INIT", 1, 2, "create"),
    ("UPDATE", False, "CREATE", 2, 2, ""),
    ("UPDATE", False, "CREATE", 1, 2, "delete"),
    ("UPDATE", False, "INIT", 1, 2, "forget"),
    ("ROLLBACK", True, "UPDATE", 2, 1, "update"),
    ("ROLLBACK", False, "CREATE", 2, 1, "delete"),
    ("RESTORE", True, "SNAPSHOT", 1, 2, "update"),
    ("DELETE", False, "CREATE", 1, 2, "delete"),
    ("DELETE", False, "INIT", 1, 2, "forget"),
    ("SUSPEND", True, "CREATE", 1, 1, ""),
    ("SUSPEND", False, "CREATE", 1, 1, "suspend"),
    ("RESUME", True, "SUSPEND", 1, 1, "resume"),
    ("RESUME", False, "SUSPEND", 1, 1, ""),
    ("CHECK", True, "INIT", 1, 1, "check"),
    ("CHECK", False, "CREATE", 1, 1, ""),
    ("SNAPSHOT", True, "CREATE", 1, 1, "snapshot"),
    ("SNAPSHOT", False, "CREATE", 1, 1, ""),
]


@pytest.mark.parametrize("case", DECISIONS, ids=lambda case: "-".join(map(str, case)))
def test_decision(case):
    *arguments, expected = case
    assert decide(*arguments) == expected


@pytest.mark.parametrize("action", ["SUSPEND", "RESUME", "CHECK", "SNAPSHOT"])
@pytest.mark.parametrize("is_update", [True, False])
def test_nothing_is_done_with_what_was_deleted_meanwhile(action, is_update):
    """Suspended over an update that was still removing it."""
    assert decide(action, is_update, "DELETE", 1, 2, status="COMPLETE") == ""


# driving ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Resource:
    record: ResourceRecord
    name: str = "a"
    context: Any = None
    stack: Any = None

    def __str__(self) -> str:
        return 'Resource "a"'


class Rows:
    """The database: one row with a lock, a log of what was written, and answers that tests may change."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine_id: str | None = None
        self.atomic_key: int | None = None
        self.action, self.status, self.template = "INIT", "COMPLETE", 1
        self.over = False
        self.broken: Exception | None = None
        self.batches: list[list[Write]] = []
        self.merges: list[list[Merge]] = []
        monkeypatch.setattr(nodes, "apply", self.apply)
        monkeypatch.setattr(nodes, "lock_state", lambda _id: self.state())
        monkeypatch.setattr(events, "announce", lambda *_args: None)
        monkeypatch.setattr(
            events,
            "resource_event",
            lambda _r, action, status, reason, _pid=None: {"action": action, "status": status, "reason": reason},
        )

    def state(self) -> Any:
        @dataclasses.dataclass
        class State:
            engine_id: Any = self.engine_id
            atomic_key: Any = self.atomic_key
            action: Any = self.action
            status: Any = self.status
            current_template_id: Any = self.template
            attr_data_id: Any = None
            replaces: Any = None
            replaced_by: Any = None

        return State()

    def apply(self, stack_id: str, traversal_id: str, writes: list[Write], merges: Any = ()) -> Any:
        if self.broken is not None:
            raise self.broken
        self.batches.append(list(writes))
        self.merges.append([*merges, *(one for write in writes for one in write.merges)])
        return [self.one(write) for write in writes], []

    def one(self, write: Write) -> Written:
        if write.values is None:
            return Written(True, event=write.event)
        if write.current and self.over:
            return Written(False, "traversal")
        if (write.engine_id, write.atomic_key) != (self.engine_id, self.atomic_key):
            return Written(False, "fence")
        self.engine_id = write.values.get("engine_id", self.engine_id)
        self.atomic_key = (self.atomic_key or 0) + 1
        self.action = write.values.get("action", self.action)
        self.status = write.values.get("status", self.status)
        self.template = write.values.get("current_template_id", self.template)
        return Written(True, atomic_key=self.atomic_key, event=write.event)


@pytest.fixture
def rows(monkeypatch):
    return Rows(monkeypatch)


@pytest.fixture
def scheduler():
    instance = Scheduler(2, "node-test")
    yield instance
    instance.stop(5)


@pytest.fixture
def resource():
    return Resource(ResourceRecord(id=1, name="a", current_template_id=1))


def begin(action: str = "CREATE") -> Transition:
    return Transition(action, "IN_PROGRESS", "state changed", Lock.ACQUIRE)


def end(action: str = "CREATE", status: str = "COMPLETE") -> Transition:
    return Transition(action, status, "state changed", Lock.RELEASE)


def drive(scheduler: Scheduler, resource: Resource, lifecycle: Any, writer: Writer | None = None) -> Any:
    writer = writer or Writer(scheduler, "s", "t", lambda merged, merges: None)
    driver = Driver(writer, "me", resource)

    def whole() -> Any:
        held = yield from driver.drive(lifecycle)
        if held is not None:
            yield from driver.persist(held)
        return held

    task = scheduler.submit(whole(), key="it", on_done=lambda _task: None)
    return task


def test_a_life_is_two_transactions(scheduler, rows, resource):
    def life():
        yield begin()
        assert rows.engine_id == resource.record.engine_id == "me"
        yield Pause(0.001)
        yield end()

    task = drive(scheduler, resource, life())
    assert scheduler.drain(5) and task.error is None
    assert len(rows.batches) == 2 and rows.engine_id is None
    assert task.result.values["status"] == "COMPLETE"  # what was held back until the end
    assert (resource.record.atomic_key, resource.record.engine_id) == (2, None)


def test_what_follows_the_last_state_is_written_after_it(scheduler, rows, resource):
    def life():
        yield begin()
        yield end()
        yield Note("CREATE", "COMPLETE", "paused")
        assert rows.status == "COMPLETE"
        yield Pause(0.001)

    task = drive(scheduler, resource, life())
    assert scheduler.drain(5) and task.error is None and task.result is None
    assert [write.event["reason"] for batch in rows.batches for write in batch] == [
        "state changed",
        "state changed",
        "paused",
    ]


def test_a_lock_of_somebody_else(scheduler, rows, resource):
    rows.engine_id, rows.atomic_key = "other", 4

    def life():
        yield begin()

    task = drive(scheduler, resource, life())
    assert scheduler.drain(5)
    assert type(task.error) is exceptions.UpdateInProgress


def test_a_counted_up_key_alone_is_no_obstacle(scheduler, rows, resource):
    def life():
        yield begin()
        rows.atomic_key += 1  # a signal wrote metadata meanwhile
        yield end()

    rows.atomic_key = 3  # and before
    task = drive(scheduler, resource, life())
    assert scheduler.drain(5) and task.error is None
    assert rows.status == "COMPLETE" and rows.engine_id is None


def test_a_row_that_was_changed_is_not_begun(scheduler, rows, resource):
    rows.atomic_key, rows.action, rows.template = 3, "CREATE", 2  # a double was faster

    def life():
        yield begin()

    task = drive(scheduler, resource, life())
    assert scheduler.drain(5)
    assert type(task.error) is exceptions.UpdateInProgress


def test_a_stolen_lock_stops_the_late_engine(scheduler, rows, resource):
    def life():
        yield begin()
        rows.engine_id, rows.atomic_key = "thief", 9
        yield end()

    task = drive(scheduler, resource, life())
    assert scheduler.drain(5)
    assert isinstance(task.error, exceptions.UpdateInProgress)
    assert (rows.engine_id, rows.status) == ("thief", "IN_PROGRESS")


def test_nothing_is_begun_for_a_traversal_that_is_over(scheduler, rows, resource):
    rows.over = True

    def life():
        yield begin()

    task = drive(scheduler, resource, life())
    assert scheduler.drain(5)
    assert isinstance(task.error, TraversalOver)


def test_cancelling_lets_the_life_cycle_clean_up(scheduler, rows, resource):
    def life():
        yield begin()
        try:
            yield Pause(60)
        except Cancelled as exc:
            yield Transition("CREATE", "FAILED", f"CREATE aborted ({exc})", Lock.RELEASE)
            raise

    task = drive(scheduler, resource, life())
    assert scheduler.settle(5)
    scheduler.cancel("it", Cancelled())
    assert scheduler.drain(5)
    assert isinstance(task.error, Cancelled)
    assert (rows.status, rows.engine_id) == ("FAILED", None)
    assert rows.batches[-1][0].values["status_reason"] == "CREATE aborted (user triggered cancel)"


def test_a_time_out_names_the_task(scheduler, rows, resource):
    reasons = []

    def life():
        yield begin()
        try:
            yield Pause(60)
        except driver_module.TimedOut as exc:
            reasons.append(str(exc))
            raise

    resource.record.action = "CREATE"
    task = drive(scheduler, resource, life())
    assert scheduler.settle(5)
    scheduler.cancel("it", driver_module.TimedOut())
    assert scheduler.drain(5)
    assert isinstance(task.error, driver_module.TimedOut)
    assert reasons == ['Task create from Resource "a" Timed out']


def test_a_database_error_reaches_the_life_cycle(scheduler, rows, resource):
    rows.broken = RuntimeError("gone")

    def life():
        yield begin()

    task = drive(scheduler, resource, life())
    assert scheduler.drain(5)
    assert str(task.error) == "gone"


# writing together ---------------------------------------------------------------------------------------------------


def test_nodes_that_are_due_together_share_a_transaction(scheduler, rows):
    writer = Writer(scheduler, "s", "t", lambda merged, merges: None)

    def node(number):
        answer, _thrown = yield from writer_module.ask(writer, Write(number))
        assert answer.ok

    gate = threading.Event()
    scheduler.call(gate.wait, 5)
    scheduler.call(gate.wait, 5)  # both threads are busy while the nodes come in
    for number in range(100):
        scheduler.submit(node(number))
    gate.set()
    assert scheduler.drain(5)
    assert sum(map(len, rows.batches)) == 100
    assert len(rows.batches) <= 5


def test_one_bad_write_does_not_hurt_the_others(scheduler, monkeypatch):
    def apply(stack_id, traversal_id, writes, merges=()):
        if any(write.resource_id == 13 for write in writes):
            raise RuntimeError("thirteen")
        return [Written(True) for _ in writes], []

    monkeypatch.setattr(nodes, "apply", apply)
    writer = Writer(scheduler, "s", "t", lambda merged, merges: None)
    ended = []

    def node(number):
        answer, _thrown = yield from writer_module.ask(writer, Write(number))
        return answer.ok

    for number in range(20):
        scheduler.submit(node(number), on_done=lambda task, n=number: ended.append((n, task.error)))
    assert scheduler.drain(5)
    assert [n for n, error in ended if error is not None] == [13]


def test_merges_into_a_large_sync_point_are_spaced_but_not_lost(scheduler, monkeypatch):
    size = 1000
    have: set[str] = set()
    calls = []
    wanted = frozenset(map(str, range(size)))

    def apply(stack_id, traversal_id, writes, merges=()):
        todo = [*merges, *(one for write in writes for one in write.merges)]
        have.update(one.key for one in todo)
        if todo:
            calls.append(len(todo))
        merged = (
            [
                Merged(
                    ("s", True), True, ready=len(have) == size, waiting=size - len(have), input_data=dict.fromkeys(have)
                )
            ]
            if todo
            else []
        )
        return [Written(True) for _ in writes], merged

    monkeypatch.setattr(nodes, "apply", apply)
    done = []
    writer = Writer(scheduler, "s", "t", lambda merged, merges: done.extend(one for one in merged if one.ready))

    def node(number):
        yield number * 0.0005
        write = Write(number, merges=[Merge(("s", True), str(number), None, wanted)])
        yield from writer_module.ask(writer, write)

    for number in range(size):
        scheduler.submit(node(number))
    assert scheduler.drain(20)
    deadline = time.monotonic() + 5
    while not done and time.monotonic() < deadline:
        scheduler.settle(1)
    assert done and have == wanted
    assert len(calls) < size / 4
    assert writer.idle()
