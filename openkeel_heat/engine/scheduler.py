# SPDX-License-Identifier: Apache-2.0
"""Many waiting tasks on few native threads.

A task is a generator. It does a bit of work and yields what it waits for:

=============================  ============================================================================
``None``                       nothing: go on after everybody else who is ready
a number of seconds            time
an object with ``.seconds``    time, or earlier when somebody wakes its ``.wake_on`` key (the kit's ``Pause``)
a :class:`Signal`              ``signal.set(value)``, which is what the ``yield`` returns (a stored error is raised)
=============================  ============================================================================

Between two steps a task is an entry in a heap or in a dictionary: thousands of them hold no thread. Due steps are
run first in, first out by a few threads, which start when there is work and end when there has been none for a while.
Steps may block (a plugin asks a service): when nothing that is due has been begun for 20 ms, one more thread joins in,
up to the limit. So there are few threads while steps compute and more when they wait. One of the idle threads (the
leader) sleeps until the next timer is due.

``cancel(key, error)`` throws the error into every task of that key at its next step, at once if it is waiting. An error
that leaves a task ends that task only; its ``on_done`` gets to see it.

Only ``threading`` primitives are used, so the same code runs on green threads.
"""

from __future__ import annotations

import collections
import heapq
import itertools
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterable
from typing import Any

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

IDLE_SECONDS = 5.0
FEW = 4  # threads that are started at once
STARVED_SECONDS = 0.02  # due steps wait that long before one more is
SWEEP_AT = 500  # entries of the heap from which on void ones are thrown out

TaskGenerator = Generator[Any, Any, Any]
Done = Callable[["Task"], None]


class Stopped(Exception):
    """The scheduler takes no more work."""


class Signal:
    """A value (or an error) that one task waits for; may be set before anybody waits."""

    __slots__ = ("_lock", "_waiter", "done", "error", "value")

    _lock: threading.Lock

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiter: Callable[[], None] | None = None
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None

    def set(self, value: Any = None) -> None:
        with self._lock:
            self.value, self.done = value, True
            waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter()

    def fail(self, error: BaseException) -> None:
        with self._lock:
            self.error, self.done = error, True
            waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter()

    def wait_with(self, waiter: Callable[[], None]) -> bool:
        """Call ``waiter`` when set; False when that has happened already."""
        with self._lock:
            if self.done:
                return False
            self._waiter = waiter
            return True


class Task:
    """A generator under way. ``result`` or ``error`` are there when ``done``."""

    __slots__ = (
        "_generator",
        "_on_done",
        "_pending",
        "_round",
        "_signal",
        "_state",
        "_wake",
        "done",
        "error",
        "keys",
        "result",
    )

    def __init__(self, generator: TaskGenerator, keys: tuple[Hashable, ...], on_done: Done | None) -> None:
        self._generator = generator
        self._on_done = on_done
        self.keys = keys
        self._state = "ready"  # ready, running, waiting, done
        self._round = 0  # counts waits: a timer of an earlier wait is void
        self._wake: Hashable | None = None
        self._signal: Signal | None = None
        self._pending: BaseException | None = None
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Timer:
    """A call at a later time; ``cancel()`` forgets it."""

    __slots__ = ("args", "cancelled", "function")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function: Callable[..., Any] | None = function
        self.args = args
        self.cancelled = False

    def cancel(self) -> None:
        """Nothing is called, and nothing is kept alive until the time would have come."""
        self.cancelled = True
        self.function, self.args = None, ()


class Scheduler:
    """See the module's docstring."""

    def __init__(self, threads: int = 8, name: str = "scheduler") -> None:
        self._max = max(1, threads)
        self._few = min(FEW, self._max)
        self._scout = False
        self._taken = 0
        self._name = name
        self._lock = threading.Lock()
        self._idle_cond = threading.Condition(self._lock)
        self._leader_cond = threading.Condition(self._lock)
        self._quiet_cond = threading.Condition(self._lock)
        self._scout_cond = threading.Condition(self._lock)
        self._ready: collections.deque[Task | Timer] = collections.deque()
        self._heap: list[tuple[float, int, Task | Timer, int]] = []
        self._count = itertools.count()
        self._sweep_at = SWEEP_AT
        self._tasks: dict[Hashable, set[Task]] = {}
        self._sleepers: dict[Hashable, set[Task]] = {}
        self._all: set[Task] = set()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._leader = False
        self._busy = 0
        self._stopping = False
        self._closed = False

    # what others call -------------------------------------------------------------------------------------------
    def submit(
        self, generator: TaskGenerator, key: Hashable | Iterable[Hashable] = None, on_done: Done | None = None
    ) -> Task:
        """Start a task. ``key``: one key, or a list of them, under which it can be found and cancelled."""
        keys = tuple(key) if isinstance(key, (list, set, frozenset)) else () if key is None else (key,)
        task = Task(generator, keys, on_done)
        with self._lock:
            if self._closed:
                raise Stopped()
            self._all.add(task)
            for one in keys:
                self._tasks.setdefault(one, set()).add(task)
            self._make_ready(task)
        return task

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        """Run a plain function on the pool, after everything that is ready now."""
        with self._lock:
            if self._closed:
                raise Stopped()
            self._make_ready(Timer(function, args))

    def call_later(self, seconds: float, function: Callable[..., Any], *args: Any) -> Timer:
        """Run a plain function on the pool after a while."""
        timer = Timer(function, args)
        with self._lock:
            if self._closed:
                raise Stopped()
            self._add_timer(time.monotonic() + seconds, timer, 0)
        return timer

    def wake(self, key: Hashable) -> int:
        """Let those go on who wait for the key; says how many."""
        with self._lock:
            tasks = self._sleepers.pop(key, None)
            if not tasks:
                return 0
            for task in tasks:
                task._wake = None
                self._make_ready(task)
            return len(tasks)

    def cancel(self, key: Hashable, error: BaseException) -> int:
        """Throw ``error`` into the tasks of a key; says how many there were."""
        with self._lock:
            tasks = self._tasks.get(key, ())
            for task in tasks:
                self._interrupt(task, error)
            return len(tasks)

    def has(self, key: Hashable) -> bool:
        """Is there a task of this key?"""
        return key in self._tasks

    def tasks(self, key: Hashable) -> int:
        with self._lock:
            return len(self._tasks.get(key, ()))

    def __len__(self) -> int:
        """Tasks that have not ended."""
        return len(self._all)

    @property
    def threads(self) -> int:
        return len(self._threads)

    @property
    def load(self) -> int:
        """Steps that are due but wait for a thread."""
        return len(self._ready)

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until no task is left; False if some are after the time-out. New work is still taken."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while self._all or self._busy or self._ready:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._quiet_cond.wait(left)
            return True

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is running or due (tasks may still be waiting)."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while self._busy or self._ready:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._quiet_cond.wait(left)
            return True

    def stop(self, timeout: float | None = None) -> list[Task]:
        """Take no more work, run no step any more, end all threads. Tasks that were left are closed and returned."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            self._closed = self._stopping = True
            self._ready.clear()
            self._heap.clear()
            self._idle_cond.notify_all()
            self._leader_cond.notify_all()
            self._scout_cond.notify_all()
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        with self._lock:
            left = [task for task in self._all if task._state != "running"]
            self._all.clear()
            self._tasks.clear()
            self._sleepers.clear()
        for task in left:
            try:
                task._generator.close()
            except BaseException as exc:
                LOG.warning("A task did not close: %s", exc)
        return left

    # inside; the lock is held -----------------------------------------------------------------------------------
    def _make_ready(self, item: Task | Timer) -> None:
        if isinstance(item, Task):
            item._state = "ready"
            item._round += 1
        self._ready.append(item)
        self._summon()

    def _summon(self) -> None:
        """See to it that somebody runs what is ready."""
        if self._idle:
            self._idle_cond.notify()
        elif self._leader:
            self._leader_cond.notify()
        elif not self._stopping:
            if len(self._threads) < self._few:
                self._start(self._work)
            elif self._scout:
                self._scout_cond.notify()
            elif len(self._threads) < self._max:
                self._scout = True
                self._start(self._look_out)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=f"{self._name}-{len(self._threads)}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _add_timer(self, due: float, item: Task | Timer, round_: int) -> None:
        if len(self._heap) >= self._sweep_at:
            self._sweep()
        heapq.heappush(self._heap, (due, next(self._count), item, round_))
        if self._heap[0][2] is item:
            if self._leader:
                self._leader_cond.notify()
            else:
                self._summon()

    def _sweep(self) -> None:
        """Throw out what was cancelled or woken long before its time; done when the heap has doubled."""
        self._heap = [
            entry
            for entry in self._heap
            if (
                not entry[2].cancelled
                if isinstance(entry[2], Timer)
                else entry[2]._state == "waiting" and entry[2]._round == entry[3]
            )
        ]
        heapq.heapify(self._heap)
        self._sweep_at = max(SWEEP_AT, 2 * len(self._heap))

    def _interrupt(self, task: Task, error: BaseException) -> None:
        if task._state == "done":
            return
        task._pending = error
        if task._state == "waiting":
            self._forget_waits(task)
            self._make_ready(task)

    def _forget_waits(self, task: Task) -> None:
        if task._wake is not None:
            sleepers = self._sleepers.get(task._wake)
            if sleepers is not None:
                sleepers.discard(task)
                if not sleepers:
                    del self._sleepers[task._wake]
            task._wake = None

    def _due(self, now: float) -> None:
        """Move what is due from the heap to the queue."""
        while self._heap and self._heap[0][0] <= now:
            _when, _n, item, round_ = heapq.heappop(self._heap)
            if isinstance(item, Timer):
                if not item.cancelled:
                    self._ready.append(item)
            elif item._state == "waiting" and item._round == round_:
                self._forget_waits(item)
                item._state = "ready"
                item._round += 1
                self._ready.append(item)

    def _next(self) -> Task | Timer | None:
        """The next thing to run; None: this thread may end."""
        idle_since = time.monotonic()
        while not self._stopping:
            now = time.monotonic()
            self._due(now)
            if self._ready:
                item = self._ready.popleft()
                self._taken += 1
                if self._ready or (self._heap and not self._leader):
                    self._summon()
                return item
            self._quiet_cond.notify_all()
            if not self._leader:
                self._leader = True
                if self._heap:
                    self._leader_cond.wait(max(0.0, self._heap[0][0] - now))
                    idle_since = time.monotonic()
                else:
                    left = IDLE_SECONDS - (now - idle_since)
                    if left <= 0:
                        self._leader = False
                        return None
                    self._leader_cond.wait(left)
                self._leader = False
            else:
                left = IDLE_SECONDS - (now - idle_since)
                if left <= 0:
                    return None
                self._idle += 1
                self._idle_cond.wait(left)
                self._idle -= 1
        return None

    # the threads ------------------------------------------------------------------------------------------------
    def _look_out(self) -> None:
        """Join the work when nobody takes what is due; end when somebody else looks after the timers."""
        with self._lock:
            joining = False
            taken, since = -1, 0.0
            while not self._stopping:
                now = time.monotonic()
                if self._ready or self._overdue():
                    if self._taken != taken:
                        taken, since = self._taken, now
                    left = since + STARVED_SECONDS - now
                    if left <= 0:
                        joining = True
                        break
                    self._scout_cond.wait(left)
                elif self._heap and not self._leader:
                    taken = -1
                    self._scout_cond.wait(min(1.0, max(0.0, self._heap[0][0] - now)))
                else:
                    break
            self._scout = False
            if not joining:
                self._threads.discard(threading.current_thread())
                self._quiet_cond.notify_all()
                return
        self._work()

    def _overdue(self) -> bool:
        return bool(self._heap) and not self._leader and self._heap[0][0] <= time.monotonic()

    def _work(self) -> None:
        while True:
            with self._lock:
                item = self._next()
                if item is None:
                    self._threads.discard(threading.current_thread())
                    self._quiet_cond.notify_all()
                    return
                self._busy += 1
                if isinstance(item, Task):
                    item._state = "running"
            try:
                if isinstance(item, Task):
                    self._step(item)
                else:
                    self._call(item)
            finally:
                with self._lock:
                    self._busy -= 1
                    if not self._busy and not self._ready:
                        self._quiet_cond.notify_all()
            item = None

    @staticmethod
    def _call(timer: Timer) -> None:
        function, args = timer.function, timer.args
        if function is not None:
            try:
                function(*args)
            except Exception:
                LOG.exception("Unhandled error in a call of the scheduler")

    def _step(self, task: Task) -> None:
        with self._lock:
            error, task._pending = task._pending, None
        signal, task._signal = task._signal, None
        value = None
        if signal is not None and signal.done:
            value = signal.value
            error = error or signal.error
        try:
            if error is not None:
                wanted = task._generator.throw(error)
            else:
                wanted = task._generator.send(value)
        except StopIteration as stop:
            self._finish(task, stop.value, None)
        except BaseException as exc:
            self._finish(task, None, exc)
        else:
            try:
                self._park(task, wanted)
            except Exception as exc:  # that is nothing to wait for
                with self._lock:
                    task._wake, task._pending = None, task._pending or exc
                    self._make_ready(task)

    def _park(self, task: Task, wanted: Any) -> None:
        if isinstance(wanted, Signal):
            with self._lock:
                if task._pending is not None:
                    self._make_ready(task)
                    return
                task._state = "waiting"
                task._signal = wanted
                round_ = task._round
            if not wanted.wait_with(lambda: self._resume(task, round_)):
                self._resume(task, round_)
            return
        seconds: float | None = 0.0
        key = None
        if isinstance(wanted, (int, float)):
            seconds = float(wanted)
        elif wanted is not None:
            seconds = wanted.seconds
            key = wanted.wake_on
        with self._lock:
            if task._pending is not None or (seconds is not None and seconds <= 0):
                self._make_ready(task)
                return
            task._state = "waiting"
            if key is not None:
                task._wake = key
                self._sleepers.setdefault(key, set()).add(task)
            if seconds is not None:
                self._add_timer(time.monotonic() + seconds, task, task._round)

    def _resume(self, task: Task, round_: int) -> None:
        with self._lock:
            if task._state == "waiting" and task._round == round_ and not self._closed:
                self._make_ready(task)

    def _finish(self, task: Task, result: Any, error: BaseException | None) -> None:
        task.result, task.error = result, error
        with self._lock:
            task._state = "done"
            task.done = True
            self._all.discard(task)
            for key in task.keys:
                tasks = self._tasks.get(key)
                if tasks is not None:
                    tasks.discard(task)
                    if not tasks:
                        del self._tasks[key]
        if task._on_done is not None:
            try:
                task._on_done(task)
            except Exception:
                LOG.exception("Unhandled error after the end of a task")
        elif error is not None and not isinstance(error, GeneratorExit):
            LOG.error("Unhandled error in a task", exc_info=(type(error), error, error.__traceback__))
        with self._lock:
            if not self._all:
                self._quiet_cond.notify_all()
