# SPDX-License-Identifier: Apache-2.0
"""Finishing what others left: all of it is derived from the database.

A scan looks at eight things. It costs eight statements when nothing is under way, and a few per stack that is.

locked resources     whose engine is dead are taken over (compare-and-swap on engine and atomic key) and gone on with
stacks IN_PROGRESS   nodes that have all inputs, have not reported and are in nobody's hands are run again, once they
                     were seen so twice; a start that was cut is made again; a traversal that is done is completed; a
                     stack whose time is over is failed; a deletion tells once more those whose work it cancels
orphans              locks in this engine's own name that no task of it knows are gone on with
snapshots            whose deletion nobody is about are deleted; those whose traversal was cut off are failed
left-overs           of stacks whose last state was written, but not cleared away (Python Heat takes several steps)
scalings             of groups, by signals that an engine died over, are finished
deleted stacks       that still have credentials, and the project of their users, lose them
credentials          that no stack ever had (their engine died in between) go after a day

Running a node twice is harmless, so nothing here needs a lock of its own.
"""

from __future__ import annotations

import datetime
import random
import threading
import time
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log as logging

from openkeel_heat.common import clock
from openkeel_heat.db import recovery, sync_points, traversals
from openkeel_heat.engine.convergence import cancel, completion, plan, scalings, traversal
from openkeel_heat.engine.convergence.clearing import Clearing, context_of
from openkeel_heat.engine.convergence.plan import Node
from openkeel_heat.engine.convergence.state import Traversal, Visit
from openkeel_heat.engine.scheduler import Stopped

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)

INTERVAL = 10.0  # seconds between scans
SOON = 1.5  # the second scan after the start, which acts on what the first one saw
SELDOM = 6  # every so many scans stacks are looked at that have nodes under way here
LATE = 40.0  # seconds after its time-out at which a stack is failed whose clock is watched here
CUT_SECONDS = 30.0  # a start by another engine may take that long (Python Heat writes it piece by piece)


class Recovery:
    """The scans of one engine."""

    def __init__(self, hub: Convergence, interval: float = INTERVAL) -> None:
        self.hub = hub
        self.interval = interval
        self._suspects: dict[str, set[Any]] = {}
        self._former: dict[str, set[Any]] = {}
        self._clearing = Clearing()
        self._scans = 0
        self._lock = threading.Lock()
        self._timer: Any = None
        self._stopped = False

    def start(self) -> None:
        """Look at once, soon after, then periodically."""
        self.hub.scheduler.call(self._periodic)

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _periodic(self) -> None:
        try:
            self.scan()
        except Exception:
            LOG.exception("Looking for lost work failed")
        if self._stopped:
            return
        wait = SOON if self._scans == 1 and self.interval > SOON else self.interval * random.uniform(0.8, 1.2)
        try:
            self._timer = self.hub.scheduler.call_later(wait, self._periodic)
        except Stopped:
            pass

    def scan(self) -> None:
        """One look at everything."""
        with self._lock:
            self._scans += 1
            context = _context()
            seen: dict[str, set[Any]] = {}
            self._locks(context, seen)
            busy = {visit.stack_id for visit in self.hub.under_way()}
            rows = recovery.in_progress()
            self._forget({row["current_traversal"] for row in rows}, seen)
            for row in rows:
                if row["id"] in busy and row["id"] not in self._suspects and self._scans % SELDOM:
                    continue  # most likely all is well
                try:
                    suspects = look_at_stack(self.hub, row["id"], self._suspects.get(row["id"], set()), row)
                except Exception:
                    LOG.exception("Stack %s could not be looked at", row["id"])
                    continue
                if suspects:
                    seen[row["id"]] = suspects
            self._former, self._suspects = self._suspects, seen
            self._leftovers(context, seen)
            self._clearing.look(context)
            scalings.look(self.hub, context, self._former, seen)
            for snapshot_id in recovery.dying_snapshots():
                self._snapshot(context, snapshot_id, seen)
            for snapshot_id in recovery.abandoned_snapshots():
                key = f"unmade {snapshot_id}"
                if key in self._former:
                    traversals.fail_snapshot(snapshot_id)
                else:
                    seen[key] = {"seen"}

    def _forget(self, current: set[Any], seen: dict[str, set[Any]]) -> None:
        """Traversals that other engines brought to their end need not be kept here."""
        busy = {visit.traversal_id for visit in self.hub.under_way()}
        for found in self.hub.traversals:
            if found.id not in current and found.id not in busy:
                if f"over {found.id}" in self._suspects:
                    self.hub.forget(found.id)
                else:
                    seen[f"over {found.id}"] = set()

    def _leftovers(self, context: Any, seen: dict[str, set[Any]]) -> None:
        """Sync points of stacks that are at rest: their last engine died while it cleared away."""
        limit = clock.utcnow() - datetime.timedelta(seconds=2 * cfg.CONF.stack_action_timeout)
        for row in recovery.leftovers(limit):
            key = f"left {row['id']} {row['traversal_id']}"
            if key not in self._former:
                seen[key] = {"seen"}
            elif row["traversal_id"] != row["current_traversal"]:
                sync_points.delete(row["id"], row["traversal_id"])
            else:
                try:
                    self._end_again(context, row)
                except Exception:
                    LOG.exception("What is left of the last action of stack %s was not cleared away", row["id"])

    def _end_again(self, context: Any, row: Any) -> None:
        found = self.hub.load(context, row["id"])
        if found is not None and found.id == row["traversal_id"]:
            completion.end_again(self.hub, _with_owner(self.hub, found))

    def _snapshot(self, context: Any, snapshot_id: str, seen: dict[str, set[Any]]) -> None:
        from openkeel_heat.engine.convergence import snapshots

        key = f"snapshot {snapshot_id}"
        if self.hub.scheduler.has(("snapshot", snapshot_id)):
            return
        if key in self._former:
            snapshots.submit(self.hub, context, snapshot_id)
        else:
            seen[key] = {"seen"}

    def _locks(self, context: Any, seen: dict[str, set[Any]]) -> None:
        for row in recovery.locked(self.hub.engine_id):
            if not self.hub.liveness.is_alive(row["engine_id"]):
                self._adopt(context, row)
        held = recovery.locked_by(self.hub.engine_id)
        busy = {visit.node.rsrc_id for visit in self.hub.under_way()}
        for row in held:
            if row["id"] not in busy:
                key = f"lock {row['id']}"
                if self._suspects.get(key) == {row["atomic_key"]}:
                    LOG.warning("Resource %s of stack %s is held by nobody here", row["name"], row["stack_id"])
                    self._adopt(context, row)
                else:
                    seen[key] = {row["atomic_key"]}

    def _adopt(self, context: Any, row: Any) -> None:
        """One that cannot be gone on with (its template is not readable …) is no reason to leave the others."""
        try:
            adopt(self.hub, context, row)
        except Exception:
            LOG.exception("Resource %s of stack %s could not be taken over", row["name"], row["stack_id"])


def _context() -> Any:
    from openkeel_heat.common import context

    return context.get_admin_context()


def _with_owner(hub: Convergence, found: Traversal) -> Traversal:
    """Give a traversal that no request brought here the context of the stack's owner."""
    if getattr(found, "own_context", False) or found.context is None or not getattr(found.context, "is_admin", False):
        return found
    context = context_of(found.stack)
    if context is not found.context:
        found.context = context
        found.stack.context = context
        found.stack.defn._context = context
    return found


def adopt(hub: Convergence, context: Any, row: Any) -> bool:
    """Take a resource over from a dead engine and go on with it."""
    from_engine = row["engine_id"]
    if not recovery.steal(row["id"], row["atomic_key"], from_engine, hub.engine_id):
        return False
    LOG.info("Resource %s (%s %s) taken over from engine %s", row["name"], row["action"], row["status"], from_engine)
    found = hub.load(_context() if context is None else context, row["stack_id"])
    if found is None:
        recovery.steal(row["id"], (row["atomic_key"] or 0) + 1, hub.engine_id, None)
        return False
    _with_owner(hub, found)
    chosen = _visit_for(found, row)
    hub.run([chosen], found)
    return True


def _visit_for(found: Traversal, row: Any) -> Visit:
    """As what an adopted resource goes on: a node of the present traversal, or a left-over of a former one."""
    cleaning = row["action"] == "DELETE" or row["action"] == "SUSPEND"
    if not found.over:
        for is_update in (False, True) if cleaning else (True, False):
            key = plan.key_in(found.graph, row["id"], row["replaces"], is_update)
            if key is None or not _fits(found, row, is_update):
                continue
            point = sync_points.get(str(key.rsrc_id), found.id, is_update)
            if point is None or not found.predecessors(key) <= point.input_data.keys():
                continue
            visit = found.visit(Node(row["id"], is_update), point.input_data, point.failures, point.skip)
            visit.adopted = True
            return visit
    return Visit(Node(row["id"], not cleaning), found.id, adopted=True, stale=True)


def _fits(found: Traversal, row: Any, is_update: bool) -> bool:
    """Can the row's action be one of this traversal's?"""
    action = row["action"]
    if found.action in ("CHECK", "RESUME", "SNAPSHOT"):
        return bool(is_update and action == found.action)
    if found.action == "SUSPEND":
        return bool(not is_update and action == "SUSPEND")
    if action in ("CREATE", "ADOPT"):
        return bool(is_update and row["current_template_id"] == found.stack.t.id)
    if action == "DELETE":
        # a create that is tried again passes through DELETE under its own template
        same = row["current_template_id"] == found.stack.t.id
        return bool(is_update if same else not is_update)
    return bool(is_update and action in ("UPDATE", "INIT", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "ROLLBACK"))


def look_at_stack(hub: Convergence, stack_id: str, suspects: set[Any] | None = None, row: Any = None) -> set[Any]:
    """Find and mend what is lost of one stack; what looks lost but was not seen so before is returned."""
    known = hub.traversals.get(row["current_traversal"] or "") if row is not None else None
    if row is not None and _timed_out(row, 5 if known is None else LATE):
        return _fail_late(hub, stack_id)
    if known is not None and not known.writer.idle():
        return set()
    found = known or hub.load(_context(), stack_id)
    if found is None or found.row["status"] != "IN_PROGRESS":
        return set()
    if found.context is not None and getattr(found.context, "is_admin", False):
        _with_owner(hub, found)
    points = sync_points.list_inputs(stack_id, found.id)
    inputs = {target: point.input_data.keys() for target, point in points.items()}
    suspects = suspects or set()
    if not plan.has_all_sync_points(found.graph, stack_id, inputs) or not found.id:
        return _cut_start(hub, found, suspects)
    if plan.is_complete(found.graph, stack_id, inputs):
        mark = ("complete", found.id)
        if mark in suspects:
            LOG.info("Stack %s is done, but nobody said so", found.stack.name)
            hub.forget(found.id)
            found.over = False
            completion.roots_done(hub, found, points[found.target].failures)
            return set()
        return {mark}
    return _lost_nodes(hub, found, points, inputs, suspects)


def _lost_nodes(hub: Convergence, found: Traversal, points: Any, inputs: Any, suspects: set[Any]) -> set[Any]:
    busy: set[Any] = set()
    holders = recovery.holders(found.stack_id)
    for holder in holders:
        busy.update((holder["id"], holder["replaces"]))
    for visit in hub.under_way():
        busy.add(visit.node.rsrc_id)
    replaced: dict[Any, list[int]] = dict(recovery.successors(found.stack_id))
    lost, again = set(), []
    for node in plan.unfinished(found.graph, found.stack_id, inputs):
        if node.rsrc_id in busy or any(one in busy for one in replaced.get(node.rsrc_id, ())):
            continue
        mark = (found.id, node)
        if mark in suspects:
            point = points[str(node.rsrc_id), node.is_update]
            again.append(found.visit(node, point.input_data, point.failures, point.skip))
        else:
            lost.add(mark)
    if again:
        LOG.info("Stack %s: %d nodes were lost and are run again", found.stack.name, len(again))
        hub.dispatch(found, again)
    return lost | _cancel_again(hub, found, holders, suspects)


def _cancel_again(hub: Convergence, found: Traversal, holders: Any, suspects: set[Any]) -> set[Any]:
    """A deletion waits for what other engines hold: they may not have heard that it is to be cancelled.

    Whoever deletes what it holds is not disturbed (Python Heat would cancel that, too).
    """
    if found.action != "DELETE":
        return set()
    marks = {
        ("held", found.id, one["id"], one["atomic_key"]): one["engine_id"]
        for one in holders
        if one["engine_id"] != hub.engine_id and one["action"] != "DELETE"
    }
    for engine_id in {marks[mark] for mark in marks.keys() & suspects}:
        cancel.cancel_at(hub, found.context, found.stack_id, engine_id)
    return set(marks)


def _cut_start(hub: Convergence, found: Traversal, suspects: set[Any]) -> set[Any]:
    """The traversal was not started completely, and nobody is at it any more."""
    first = next((one[2] for one in suspects if one[:2] == ("cut", found.id)), None)
    now = time.monotonic()
    if first is None:
        return {("cut", found.id, now)}
    if now - first < min(CUT_SECONDS, 3 * cfg.CONF.engine_life_check_timeout + 5):
        return {("cut", found.id, first)}
    LOG.info("The start of %s of stack %s was cut; starting again", found.action, found.stack.name)
    hub.forget(found.id)
    if found.context is not None:
        found.stack.context = found.context
    try:
        traversal.restart(hub, found.context, found)
    except Exception as exc:
        LOG.exception("Stack %s could not be started again", found.stack.name)
        completion.fail(hub, found, str(exc))
    return set()


def _timed_out(row: Any, more: float) -> bool:
    seconds = cfg.CONF.stack_action_timeout if row["timeout"] is None else row["timeout"] * 60
    return bool(clock.seconds_since(row["updated_at"] or row["created_at"]) > seconds + more)


def _fail_late(hub: Convergence, stack_id: str) -> set[Any]:
    """Nobody watches this stack's clock, or whoever did could not write what came of it."""
    try:
        found = hub.load(_context(), stack_id)
    except db_exc.DBError:
        raise
    except Exception as exc:
        LOG.exception("Stack %s has timed out, and cannot be read", stack_id)
        _fail_unread(stack_id, str(exc))
        return set()
    if found is not None and found.row["status"] == "IN_PROGRESS" and found.stack.has_timed_out():
        found.over = False  # also of one that never began
        _with_owner(hub, found)
        completion.fail(hub, found, "Timed out")
    return set()


def _fail_unread(stack_id: str, reason: str) -> None:
    """Nobody can go on with a stack whose template is not readable (any more); it is not in progress for ever."""
    row = traversals.load(stack_id)
    if row is not None:
        traversal_id = row["current_traversal"] or ""
        traversals.finish(traversals.Finish(stack_id, traversal_id, row["action"], "FAILED", reason, None))
