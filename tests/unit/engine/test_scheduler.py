# SPDX-License-Identifier: Apache-2.0
"""The scheduler: waiting holds no thread, nobody disturbs the others, nothing is left behind."""

from __future__ import annotations

import threading
import time

import pytest

from openkeel_heat.engine import scheduler as scheduler_module
from openkeel_heat.engine.scheduler import Scheduler, Signal, Stopped
from openkeel_heat.resources.kit.steps import Pause


@pytest.fixture
def scheduler():
    instance = Scheduler(threads=4, name="test")
    yield instance
    instance.stop(timeout=5)
    assert not [t for t in threading.enumerate() if t.name.startswith("test-")]


def test_runs_to_the_end_and_keeps_the_result(scheduler):
    def work():
        got = yield
        assert got is None
        yield 0.001
        return "result"

    task = scheduler.submit(work(), key="a")
    assert scheduler.drain(5)
    assert (task.done, task.result, task.error) == (True, "result", None)
    assert len(scheduler) == 0 and not scheduler.has("a")


@pytest.mark.parametrize("nonsense", [object(), "1", Pause("1"), Pause(1, wake_on=[])])
def test_a_task_that_waits_for_nonsense_is_told(scheduler, nonsense):
    """It may come from a plugin; a thread that ends over it would leave the task waiting for ever."""
    told = []

    def work():
        try:
            yield nonsense
        except (AttributeError, TypeError) as error:
            told.append(error)
        yield 0.001
        return "result"

    task = scheduler.submit(work())
    assert scheduler.drain(5)
    assert len(told) == 1 and task.result == "result"


def test_two_thousand_waiting_tasks_need_no_thread(scheduler):
    reached = []

    def work(number):
        yield Pause(60, wake_on="go")
        reached.append(number)

    for number in range(2000):
        scheduler.submit(work(number), key=("n", number))
    assert scheduler.settle(5)
    assert len(scheduler) == 2000
    assert scheduler.threads <= 4
    assert scheduler.wake("go") == 2000
    assert scheduler.drain(5)
    assert sorted(reached) == list(range(2000))


def test_timers_fire_in_order(scheduler):
    order = []

    def work(name, seconds):
        yield seconds
        order.append(name)

    scheduler.submit(work("late", 0.06))
    scheduler.submit(work("early", 0.01))
    scheduler.call_later(0.03, order.append, "middle")
    assert scheduler.drain(5)
    deadline = time.monotonic() + 5
    while len(order) < 3 and time.monotonic() < deadline:
        scheduler.settle(1)
    assert order == ["early", "middle", "late"]


def test_cancelled_call_is_not_made(scheduler):
    calls = []
    scheduler.call_later(0.01, calls.append, 1).cancel()
    done = Signal()
    scheduler.call_later(0.02, done.set, None)

    def work():
        yield done

    scheduler.submit(work())
    assert scheduler.drain(5)
    assert calls == []


def test_cancel_reaches_a_waiting_task(scheduler):
    seen = []

    def work():
        try:
            yield 60
        except KeyError as exc:
            seen.append(exc.args)
            yield 0.001
            seen.append("cleaned")
            raise

    ended = []
    scheduler.submit(work(), key="k", on_done=lambda task: ended.append(task.error))
    scheduler.settle(5)
    assert scheduler.cancel("k", KeyError("why")) == 1
    assert scheduler.drain(5)
    assert seen == [("why",), "cleaned"]
    assert isinstance(ended[0], KeyError)


def test_cancel_reaches_a_running_task_at_its_next_step(scheduler):
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def work():
        inside.set()
        go_on.wait(5)
        try:
            yield 60
        except KeyError:
            seen.append("thrown")

    scheduler.submit(work(), key=["k", "l"])
    assert inside.wait(5)
    assert scheduler.cancel("l", KeyError()) == 1
    go_on.set()
    assert scheduler.drain(5)
    assert seen == ["thrown"]


def test_signal_hands_over_a_value_or_an_error(scheduler):
    early, late, bad = Signal(), Signal(), Signal()
    early.set("early")
    got = []

    def work():
        got.append((yield early))
        got.append((yield late))
        try:
            yield bad
        except ValueError as exc:
            got.append(str(exc))

    scheduler.submit(work())
    scheduler.settle(5)
    late.set("late")
    scheduler.settle(5)
    bad.fail(ValueError("bad"))
    assert scheduler.drain(5)
    assert got == ["early", "late", "bad"]


def test_an_error_ends_its_task_only(scheduler):
    def bad():
        yield
        raise RuntimeError("on purpose")

    def good():
        yield 0.01
        return 1

    task = scheduler.submit(good())
    failed = scheduler.submit(bad(), on_done=lambda t: 1 / 0)
    assert scheduler.drain(5)
    assert task.result == 1 and isinstance(failed.error, RuntimeError)


def test_stop_closes_what_waits_and_takes_no_more():
    instance = Scheduler(threads=2, name="stopping")
    closed = []

    def work():
        try:
            yield 60
        finally:
            closed.append(True)

    instance.submit(work())
    instance.settle(5)
    assert len(instance.stop(5)) == 1
    assert closed == [True]
    with pytest.raises(Stopped):
        instance.submit(work())
    assert not [t for t in threading.enumerate() if t.name.startswith("stopping-")]


def test_idle_threads_end(monkeypatch):
    monkeypatch.setattr(scheduler_module, "IDLE_SECONDS", 0.05)
    instance = Scheduler(threads=4, name="idle")
    for _ in range(8):
        instance.call(lambda: None)
    deadline = time.monotonic() + 5
    while instance.threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert instance.threads == 0
    done = threading.Event()
    instance.call(done.set)
    assert done.wait(5)
    instance.stop(5)


def test_a_blocking_step_does_not_hold_up_timers(scheduler):
    release, fired = threading.Event(), threading.Event()
    scheduler.call(release.wait, 5)
    scheduler.call_later(0.01, fired.set)
    assert fired.wait(2)
    release.set()


def test_what_was_cancelled_does_not_pile_up(scheduler):
    kept = [scheduler.call_later(60, print) for _ in range(10)]
    for _ in range(5000):
        scheduler.call_later(60, print).cancel()
    assert len(scheduler._heap) <= 2 * scheduler_module.SWEEP_AT
    assert {entry[2] for entry in scheduler._heap} >= set(kept)


def test_threads_join_in_when_steps_block():
    instance = Scheduler(threads=12, name="blocking")
    release = threading.Event()
    inside = []
    for number in range(12):
        instance.call(lambda n=number: (inside.append(n), release.wait(10)))
    deadline = time.monotonic() + 5
    while len(inside) < 12 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert len(inside) == 12
    release.set()
    assert instance.settle(5)
    instance.stop(5)


def test_a_few_threads_are_enough_for_steps_that_compute():
    instance = Scheduler(threads=32, name="computing")

    def work():
        for _ in range(20):
            sum(range(500))
            yield

    for _ in range(300):
        instance.submit(work())
    assert instance.drain(10)
    assert instance.threads <= scheduler_module.FEW + 4
    instance.stop(5)


def test_timers_fire_while_the_few_block():
    instance = Scheduler(threads=8, name="timers")
    release, fired = threading.Event(), threading.Event()
    instance.call_later(0.2, fired.set)
    for _ in range(scheduler_module.FEW):
        instance.call(release.wait, 10)
    assert fired.wait(5)
    release.set()
    instance.stop(5)
