# SPDX-License-Identifier: Apache-2.0
"""The hub of convergence in one engine: which traversals are at hand, where ready nodes run, what happens to results.

Everything that starts work goes through :meth:`Convergence.dispatch`: a node runs here while there is room, else it is
cast to ``engine_worker`` for any engine. A node is run once at a time: a second call for one under way is dropped.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from oslo_log import log as logging

from openkeel_heat.db import nodes, stacks, sync_points, traversals
from openkeel_heat.db.sync_points import Merge, Merged, Target
from openkeel_heat.engine import lifecycle_plugins
from openkeel_heat.engine.convergence import cancel, completion, node, packing, plan, traversal
from openkeel_heat.engine.convergence.driver import Cancelled, TimedOut
from openkeel_heat.engine.convergence.interfaces import StartRequest
from openkeel_heat.engine.convergence.locks import Liveness
from openkeel_heat.engine.convergence.plan import Node
from openkeel_heat.engine.convergence.state import Cache, Traversal, Visit
from openkeel_heat.engine.convergence.writer import Writer
from openkeel_heat.engine.scheduler import Scheduler, Stopped

LOG = logging.getLogger(__name__)

#: Nodes in progress from which on an engine hands new ones to the others.
ROOM = 2000
#: A stack whose time is over and whose nodes do not say so by themselves is failed after that many seconds.
GRACE = 10.0


class Convergence:
    """See the module's docstring; the interface for operations is ``interfaces.ConvergenceApi``."""

    def __init__(
        self, engine_id: str, scheduler: Scheduler, worker_client: Any = None, alive: Any = None, room: int = ROOM
    ) -> None:
        self.engine_id = engine_id
        self.scheduler = scheduler
        self.worker_client = worker_client
        self.liveness = Liveness(engine_id, alive)
        self.traversals = Cache()
        self.room = room
        self.draining = False
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Visit]] = {}
        self._under_way: dict[tuple[Any, ...], Visit] = {}
        #: Traversals that are over, of which nodes still run here: their time is limited all the same.
        self._late: dict[str, Traversal] = {}

    # for operations ---------------------------------------------------------------------------------------------
    def start(self, context: Any, request: StartRequest) -> str | None:
        return traversal.start(self, context, request)

    def cancel(self, context: Any, stack: Any, rollback: bool) -> None:
        cancel.cancel(self, context, stack, rollback)

    def stop_traversal(self, context: Any, stack: Any) -> None:
        cancel.stop_tree(self, context, stack)

    def delete_snapshot(self, context: Any, stack: Any, snapshot_id: str) -> None:
        """Delete one snapshot (its row says DELETE IN_PROGRESS already)."""
        from openkeel_heat.engine.convergence import snapshots

        snapshots.submit(self, context, snapshot_id)

    def wake(self, key: Any) -> None:
        self.scheduler.wake(key)
        if key[0] == "resource":
            self.scheduler.wake(("hook", key[1]))

    # traversals -------------------------------------------------------------------------------------------------
    def keep(self, found: Traversal) -> Traversal:
        """Make a traversal known to this engine, with a writer and a clock."""
        if self.traversals.get(found.id) is None:
            found.writer = Writer(
                self.scheduler, found.stack_id, found.id, lambda merged, merges: self.merged(found, merged, merges)
            )
        kept = self.traversals.put(found)
        if kept is found and found.row["status"] == "IN_PROGRESS" and found.id:
            try:
                found.timer = self.scheduler.call_later(max(0.0, found.seconds_left()), self.time_is_over, found)
            except Stopped:
                pass
        return kept

    def load(self, context: Any, stack_id: str) -> Traversal | None:
        """The stack's current traversal, fresh from the database; None when the stack is gone."""
        state = stacks.get_state(stack_id)  # without the graph, which is as large as the stack
        if state is None or state.deleted_at is not None:
            return None
        known = self.traversals.get(state.current_traversal or "")
        if known is not None and known.row["status"] == state.status == "IN_PROGRESS":
            return known
        row = traversals.load(stack_id)
        if row is None:
            return None
        extra = sync_points.ours(stack_id, row["current_traversal"] or "")
        found = Traversal(context, row, extra)
        if row["status"] != "IN_PROGRESS" or not found.id:
            found.over = True
            found.writer = Writer(
                self.scheduler, stack_id, found.id, lambda merged, merges: self.merged(found, merged, merges)
            )
            return found
        return self.keep(found)

    def forget(self, traversal_id: str) -> None:
        found = self.traversals.drop(traversal_id)
        if found is not None:
            found.over = True
            with self._lock:
                if self._works_for(traversal_id):
                    self._late[traversal_id] = found
                    return
            if found.timer is not None:
                found.timer.cancel()

    # nodes ------------------------------------------------------------------------------------------------------
    def has_room(self) -> bool:
        return not self.draining and len(self.scheduler) < self.room

    def dispatch(self, found: Traversal, visits: Sequence[Visit]) -> None:
        """Run nodes of a traversal here, or hand them to other engines."""
        here = []
        for index, visit in enumerate(visits):
            if self.worker_client is None or (self.has_room() and len(self.scheduler) + index < self.room):
                here.append(visit)
            else:
                self.cast(found, visit)
        if here:
            self.run(here, found)

    def cast(self, found: Traversal, visit: Visit) -> None:
        """Let any engine process a node. A message that cannot be sent is made up for by recovery."""
        try:
            self.worker_client.check_resource(
                found.context,
                visit.node.rsrc_id,
                visit.traversal_id,
                {"input_data": visit.data},
                visit.node.is_update,
                visit.adopt_data,
                converge=visit.converge,
                skip_propagate=visit.skip,
                accumulated_failures=visit.failures or None,
                node_type=visit.node.node_type,
                abandon=visit.abandon,
            )
        except Exception:
            LOG.exception("Node %s of stack %s was not sent", visit.node, found.stack_id)

    def run(self, visits: Iterable[Visit], found: Traversal | None = None, context: Any = None) -> None:
        """Run nodes here. What comes together is loaded together, behind everything that is ready now."""
        traversal_id = None
        with self._lock:
            for visit in visits:
                if visit.key in self._under_way:
                    LOG.debug("Node %s of traversal %s is under way", visit.node, visit.traversal_id)
                    continue
                self._under_way[visit.key] = visit
                traversal_id = visit.traversal_id
                waiting = self._waiting.setdefault(traversal_id, [])
                waiting.append(visit)
                if len(waiting) > 1:
                    continue
                try:
                    self.scheduler.call(self._begin, traversal_id, found, context)
                except Stopped:
                    self._waiting.pop(traversal_id, None)
                    self._under_way.pop(visit.key, None)

    def _begin(self, traversal_id: str, found: Traversal | None, context: Any) -> None:
        """Load the rows of nodes and start their tasks."""
        with self._lock:
            visits = self._waiting.pop(traversal_id, [])
        try:
            self._begin_loaded(visits, found or self.traversals.get(traversal_id), context)
        except BaseException:
            for visit in visits:
                self.ended(visit)
            raise

    def _begin_loaded(self, visits: list[Visit], found: Traversal | None, context: Any) -> None:
        ids = [visit.node.rsrc_id for visit in visits if visit.node.node_type == plan.NODE_TYPE_RESOURCE]
        rows = nodes.load([int(one) for one in ids]) if ids else {}
        for visit in visits:
            row = rows.get(int(visit.node.rsrc_id)) if visit.node.node_type == plan.NODE_TYPE_RESOURCE else None
            visit.stack_id = row["stack_id"] if row is not None else found.stack_id if found else None
            self.scheduler.submit(
                node.run(self, visit, row, found, context), [visit.key], functools.partial(self._task_done, visit)
            )

    def _task_done(self, visit: Visit, task: Any) -> None:
        self.ended(visit)
        if visit.adopted and isinstance(task.error, (Cancelled, TimedOut)):
            self.soon(node.give_up, self, visit, task.error)
            return
        if task.error is not None and not isinstance(task.error, GeneratorExit):
            LOG.error(
                "Node %s of traversal %s: %s",
                visit.node,
                visit.traversal_id,
                task.error,
                exc_info=(type(task.error), task.error, task.error.__traceback__),
            )
        if task.result:  # something to run that could not be run while this node was under way
            task.result()

    def ended(self, visit: Visit) -> None:
        with self._lock:
            self._under_way.pop(visit.key, None)
            late = self._late.get(visit.traversal_id)
            if late is None or self._works_for(visit.traversal_id):
                return
            del self._late[visit.traversal_id]
        if late.timer is not None:
            late.timer.cancel()

    def under_way(self) -> list[Visit]:
        with self._lock:
            return list(self._under_way.values())

    def _works_for(self, traversal_id: str) -> bool:
        """Does any node of a traversal still run here? (The lock is held.)"""
        return any(visit.traversal_id == traversal_id for visit in self._under_way.values())

    def is_under_way(self, rsrc_id: int | str) -> bool:
        """Is any node of this resource being processed here?"""
        with self._lock:
            return any(visit.node.rsrc_id == rsrc_id for visit in self._under_way.values())

    # results ----------------------------------------------------------------------------------------------------
    def results(
        self, found: Traversal, sender: Node, data_for: Any, failures: dict[str, Any] | None = None, skip: bool = False
    ) -> list[Merge]:
        """What a finished node has to say to the sync points behind it. ``data_for(target)`` is the node's result."""
        packed = sender.packed()
        merges = [
            Merge(
                (str(target.rsrc_id), target.is_update),
                packed,
                data_for(target),
                found.predecessors(target),
                failures,
                skip,
            )
            for target in sorted(found.graph.required_by(sender), key=lambda one: (str(one.rsrc_id), one.is_update))
        ]
        if packed in found.roots:
            merges.append(Merge(found.target, packed, None, found.roots, failures))
        return merges

    def merged(self, found: Traversal, merged: list[Merged], merges: Sequence[Merge]) -> None:
        """Results were merged: run what became ready; care for what belongs to a traversal that is over."""
        ready = []
        lost: set[Target] = set()
        for one in merged:
            if not one.found:
                lost.add(one.target)
            elif one.ready:
                if one.target == found.target:
                    self.soon(completion.roots_done, self, found, one.failures)
                    continue
                target = found.node_of(one.target)
                if target is not None:
                    ready.append(found.visit(target, one.input_data, one.failures, one.skip))
        if ready:
            self.dispatch(found, ready)
        if lost:
            senders = {plan.node_of(packing.unpack_key(one.key)) for one in merges if one.target in lost}
            self.soon(self.traversal_over, found, sorted(senders, key=str))

    def ended_operation(self, context: Any, stack: Any, action: str, failed: bool) -> None:
        """Lifecycle plugins hear of the end of an operation, which has been written."""
        if lifecycle_plugins.plugins():
            current = stack if action == "UPDATE" else None
            self.soon(lifecycle_plugins.after, context, stack, current, action, failed)

    def soon(self, function: Any, *args: Any) -> None:
        """Call on the scheduler; here and now when the engine stops."""
        try:
            self.scheduler.call(function, *args)
        except Stopped:
            function(*args)

    def when_free(self, found: Traversal, visit: Visit) -> None:
        """A node found its resource held; should it be free now, the holder's call may have come while the node was
        still under way, and was dropped."""
        state = nodes.lock_state(int(visit.node.rsrc_id))
        if state is not None and state.engine_id is None and visit.attempt < node.MAX_ATTEMPTS:
            self.run([dataclasses.replace(visit, attempt=visit.attempt + 1)], found)

    def traversal_over(self, found: Traversal, senders: Sequence[Node]) -> None:
        """Finished nodes found their sync points gone: a newer traversal may be waiting for their resources."""
        self.forget(found.id)
        traversals.drop_templates({*found.templates, found.stack.prev_raw_template_id})
        for sender in senders:
            if sender.node_type == plan.NODE_TYPE_RESOURCE:
                self.retrigger(found.context, found.stack_id, int(sender.rsrc_id), found.id)

    def retrigger(self, context: Any, stack_id: str, resource_id: int, former: str | None = None) -> None:
        """Call again for a resource in the stack's current traversal, if that is another one than ``former``."""
        state = stacks.get_state(stack_id)
        if state is None or state.status != "IN_PROGRESS" or state.current_traversal == former:
            return
        found = self.load(context, stack_id)
        if found is None or found.over or found.id == former:
            return
        row = nodes.lock_state(resource_id)
        replaces = row.replaces if row else None
        key = plan.key_in(found.graph, resource_id, replaces, True) or plan.key_in(
            found.graph, resource_id, replaces, False
        )
        if key is None:
            return
        LOG.info("Calling again for %s of stack %s", key, stack_id)
        found.writer.merge(
            [Merge((str(key.rsrc_id), key.is_update), key.packed(), None, found.predecessors(key), force=True)]
        )

    # clocks, cancelling -----------------------------------------------------------------------------------------
    def time_is_over(self, found: Traversal) -> None:
        """The stack's time has passed: its nodes here end, and so does the traversal unless it is over already."""
        left = found.seconds_left()
        if left > 0.5:
            found.timer = self.scheduler.call_later(left, self.time_is_over, found)
            return
        count = self.cancel_visits(found.stack_id, TimedOut(), lambda visit: visit.traversal_id == found.id)
        if found.over:
            return
        if count:
            self.scheduler.call_later(GRACE, completion.fail, self, found, "Timed out")
        else:
            completion.fail(self, found, "Timed out")

    def cancel_visits(self, stack_id: str, error: BaseException, which: Any = None) -> int:
        """Throw an error into the nodes of a stack that run here."""
        count = 0
        for visit in self.under_way():
            if visit.stack_id == stack_id and (which is None or which(visit)):
                count += self.scheduler.cancel(visit.key, error)
        return count

    def cancel_former(self, stack_id: str, current: str) -> int:
        """Cancel nodes of the stack that belong to other traversals than the current one."""
        return self.cancel_visits(stack_id, Cancelled(), lambda visit: visit.traversal_id != current)

    def flush(self) -> None:
        """Write what writers still hold back (the engine stops)."""
        for found in self.traversals:
            try:
                found.writer.flush()
            except Exception:
                LOG.exception("Stack %s: results were not merged", found.stack_id)
