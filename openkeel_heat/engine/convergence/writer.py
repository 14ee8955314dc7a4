# SPDX-License-Identifier: Apache-2.0
"""Group commit: what the nodes of one traversal have to write is written together.

A node hands in a :class:`~openkeel_heat.db.nodes.Write` (or only results for sync points) and gets a Signal. A flush is
put behind everything that is ready to run now, so nodes that are due together reach their write before it; whatever is
handed in while a flush is running goes in the next. Nobody waits longer than that, except results for a sync point
that has become large and still lacks others: rewriting it costs its size, so its merges are spaced out. Results that
are lost by a crash are found missing and made again by recovery, so only the states have to be durable at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from oslo_log import log as logging

from openkeel_heat.db import nodes, stacks
from openkeel_heat.db.nodes import Write, Written
from openkeel_heat.db.sync_points import Merge, Merged, Target
from openkeel_heat.engine.scheduler import Scheduler, Signal, Stopped

LOG = logging.getLogger(__name__)

LIMIT = 200  # writes in one transaction
LARGE = 64  # inputs of a sync point from which on merges are spaced
SECONDS_PER_INPUT = 0.0003
MOST_SECONDS = 1.0

OnMerged = Callable[[list[Merged], Sequence[Merge]], None]


class Writer:
    """The writes of one traversal of one stack."""

    def __init__(self, scheduler: Scheduler, stack_id: str, traversal_id: str, on_merged: OnMerged) -> None:
        self._scheduler = scheduler
        self._stack_id = stack_id
        self._traversal_id = traversal_id
        self._on_merged = on_merged
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._writes: list[tuple[Write, Signal]] = []
        self._merges: dict[Target, list[Merge]] = {}
        self._due: dict[Target, float] = {}  # spaced sync points: not before
        self._missing: dict[Target, int] = {}  # and what they lacked when last seen
        self._planned = False
        self._dirty = False
        self._timer_due = 0.0

    def write(self, write: Write) -> Signal:
        """The signal's value is a Written, or an exception when the database failed."""
        signal = Signal()
        with self._lock:
            self._writes.append((write, signal))
        self._plan()
        return signal

    def merge(self, merges: Sequence[Merge]) -> None:
        """Results whose node has nothing to write."""
        with self._lock:
            for one in merges:
                self._merges.setdefault(one.target, []).append(one)
        self._plan()

    def is_current(self) -> bool:
        """Is the traversal still the one that its stack is in?"""
        state = stacks.get_state(self._stack_id)
        return state is not None and state.deleted_at is None and state.current_traversal == self._traversal_id

    def idle(self) -> bool:
        with self._lock:
            return not (self._writes or self._merges or self._planned)

    def _plan(self) -> None:
        """See to it that a flush comes; there is never more than one."""
        with self._lock:
            self._dirty = True
            if self._planned:
                return
            self._planned = True
        try:
            self._scheduler.call(self._flush)
        except Stopped:
            self._flush(everything=True)

    def _flush(self, everything: bool = False) -> None:
        try:
            self._flush_once(everything)
        finally:
            with self._lock:
                again = self._dirty
                self._planned = False
            if again:
                self._plan()

    def flush(self) -> None:
        """Write all that there is, now, in this thread (the engine stops)."""
        while True:
            with self._lock:
                if not (self._writes or self._merges):
                    return
            self._flush_once(everything=True)

    def _flush_once(self, everything: bool) -> None:
        with self._flushing:
            writes, merges = self._take(everything)
            if writes or merges:
                self._commit(writes, merges)

    def _take(self, everything: bool) -> tuple[list[tuple[Write, Signal]], list[Merge]]:
        """What goes into the next transaction; sees to a later flush for merges that are spaced out."""
        now = time.monotonic()
        with self._lock:
            writes, self._writes = self._writes[:LIMIT], self._writes[LIMIT:]
            self._dirty = bool(self._writes)
            merges: list[Merge] = []
            later: float | None = None
            for target in list(self._merges):
                due = self._due.get(target, 0.0)
                if everything or due <= now or len(self._merges[target]) >= self._missing.get(target, 0):
                    merges += self._merges.pop(target)
                else:
                    later = due if later is None else min(later, due)
            wait = later is not None and (self._timer_due <= now or later < self._timer_due)
            if wait:
                self._timer_due = later or 0.0
        if wait and later is not None:
            try:
                self._scheduler.call_later(later - now, self._plan)
            except Stopped:
                pass
        return writes, merges

    def _commit(self, writes: list[tuple[Write, Signal]], merges: list[Merge]) -> None:
        held = self._hold_back(writes)
        try:
            answers, merged = nodes.apply(self._stack_id, self._traversal_id, [write for write, _ in writes], merges)
        except Exception as exc:
            for write, later in held:
                write.merges += later
            self._one_by_one(writes, merges, exc)
            return
        ok = {id(write) for (write, _), answer in zip(writes, answers, strict=True) if answer.ok}
        for write, later in held:
            if id(write) in ok:
                self.merge(later)
            else:
                write.merges += later
        self._note(merged)
        for (_write, signal), answer in zip(writes, answers, strict=True):
            signal.set(answer)
        if merged:
            self._on_merged(merged, merges + [one for write, _ in writes if id(write) in ok for one in write.merges])

    def _hold_back(self, writes: list[tuple[Write, Signal]]) -> list[tuple[Write, list[Merge]]]:
        """Take results for spaced sync points off the writes that bring them; they follow when the write is done."""
        coming: dict[Target, int] = {}
        for write, _signal in writes:
            for one in write.merges:
                coming[one.target] = coming.get(one.target, 0) + 1
        spaced = {target for target, count in coming.items() if not self._may_merge(target, count)}
        held = []
        if spaced:
            for write, _signal in writes:
                later = [one for one in write.merges if one.target in spaced]
                if later:
                    write.merges = [one for one in write.merges if one.target not in spaced]
                    held.append((write, later))
        return held

    def _may_merge(self, target: Target, together: int) -> bool:
        with self._lock:
            return self._due.get(target, 0.0) <= time.monotonic() or len(
                self._merges.get(target, ())
            ) + together >= self._missing.get(target, 0)

    def _note(self, merged: list[Merged]) -> None:
        now = time.monotonic()
        with self._lock:
            for one in merged:
                if one.found and one.waiting and len(one.input_data) >= LARGE:
                    self._due[one.target] = now + min(MOST_SECONDS, SECONDS_PER_INPUT * len(one.input_data))
                    self._missing[one.target] = one.waiting
                else:
                    self._due.pop(one.target, None)
                    self._missing.pop(one.target, None)

    def _one_by_one(self, writes: list[tuple[Write, Signal]], merges: list[Merge], error: Exception) -> None:
        """A transaction failed as a whole: let those writes fail that do not work alone."""
        if len(writes) + bool(merges) == 1:
            LOG.error("Stack %s, traversal %s: not written: %s", self._stack_id, self._traversal_id, error)
            for _write, signal in writes:
                signal.set(error)
            return
        for write, signal in writes:
            answer: Written | Exception
            merged: list[Merged] = []
            try:
                (answer,), merged = nodes.apply(self._stack_id, self._traversal_id, [write])
            except Exception as exc:
                answer = exc
            signal.set(answer)
            self._on_merged(merged, write.merges)
        if merges:
            try:
                _answers, merged = nodes.apply(self._stack_id, self._traversal_id, [], merges)
            except Exception:
                # recovery finds that these nodes did not report
                LOG.exception("Stack %s: results were not merged", self._stack_id)
            else:
                self._on_merged(merged, merges)


def ask(writer: Writer, write: Write) -> Any:
    """Sub-generator: hand a write in and wait for the answer, come what may; an interruption is raised afterwards."""
    signal = writer.write(write)
    thrown: BaseException | None = None
    while True:
        try:
            answer = yield signal
            break
        except GeneratorExit:
            raise
        except BaseException as exc:
            thrown = exc
    if isinstance(answer, Exception):
        raise answer
    return answer, thrown
