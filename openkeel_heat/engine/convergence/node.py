# SPDX-License-Identifier: Apache-2.0
"""One visit to one node: find the resource, decide, run its life cycle, hand the result on.

::

    load row ── stale? ──────────────► leave it (a replacement that nobody wants is marked for removal)
        │
        ▼
    decide ──► nothing to do ────────┐
        │                            ▼
        ├────► life cycle ──► COMPLETE + results in one transaction ──► next nodes
        │          ├─ UpdateReplace ──► a successor's row, visited in its stead
        │          ├─ locked ─────────► holder dead: take over; else wait to be called again by the holder
        │          ├─ cancelled ──────► let the stack's newer traversal know
        └──────────┴─ failed ─────────► the stack fails (CHECK: the failure is passed on)
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.db import events as event_rows, nodes, sync_points
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine.convergence import completion, packing, plan, replacing
from openkeel_heat.engine.convergence.driver import Cancelled, Driver, TimedOut, TraversalOver
from openkeel_heat.engine.convergence.plan import NODE_TYPE_SNAPSHOT, Node
from openkeel_heat.engine.convergence.state import Traversal, Visit

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)

After = Callable[[], None]
Running = Generator[Any, Any, After | None]

MAX_ATTEMPTS = 10
WENT_DOWN = "Worker went down during resource "


def decide(
    stack_action: str, is_update: bool, action: str, template_id: int | None, wanted_id: int | None, status: str = ""
) -> str:
    """Pure: what a visit does with a resource. One of '', create, update, delete, forget, suspend, check, …

    ``action``, ``status`` and ``template_id`` are the row's, ``wanted_id`` is the template that the traversal goes to.
    """
    if (action, status) == ("DELETE", "COMPLETE") and stack_action in ("SUSPEND", "CHECK", "RESUME", "SNAPSHOT"):
        return ""  # it was deleted since the traversal began, by a node of the former one
    if is_update and stack_action == action == "CREATE" and status == "COMPLETE":
        return "created"  # by an engine that died before it could say so
    if stack_action == "SUSPEND":
        return "" if is_update else "suspend"
    if stack_action in ("CHECK", "RESUME", "SNAPSHOT"):
        return stack_action.lower() if is_update else ""
    if is_update:
        return "create" if action == "INIT" else "update"
    if template_id == wanted_id:
        return ""
    return "forget" if action == "INIT" else "delete"


def run(hub: Convergence, visit: Visit, row: Any, found: Traversal | None, context: Any) -> Running:
    """The task of a visit. What it returns is called when the node is not under way any more."""
    if visit.node.node_type == NODE_TYPE_SNAPSHOT:
        from openkeel_heat.engine.convergence import snapshots

        return (yield from snapshots.run_node(hub, visit, found, context))
    if found is None:
        if row is None:
            return None
        found = hub.load(context, row["stack_id"])
        if found is None:
            return None
    if visit.adopted and not visit.stale and (found.over or found.id != visit.traversal_id):
        # the traversal came to its end since the resource was taken over
        visit.stale = True
        found = hub.load(found.context, found.stack_id) or found
    if visit.stale:
        return (yield from _Visit(hub, visit, row, found).finish_stale())
    if found.id != visit.traversal_id or found.over:
        return _stale(hub, visit, row, found)
    if row is None:
        return _gone(hub, visit, found)
    if visit.called and _has_reported(visit, row, found):
        LOG.debug("Node %s of traversal %s has been processed", visit.node, visit.traversal_id)
        return None
    one = _Visit(hub, visit, row, found)
    return (yield from one.process())


def _has_reported(visit: Visit, row: Any, found: Traversal) -> bool:
    """Has the node handed its result on? Then the call is a double or late, unless the node was called for again."""
    if visit.node.packed() in visit.data:
        return False
    key = plan.key_in(found.graph, row["id"], row["replaces"], visit.node.is_update)
    if key is None:
        return False
    targets = [(str(one.rsrc_id), one.is_update) for one in found.graph.required_by(key)] or [found.target]
    for entity_id, is_update in targets:
        point = sync_points.get(entity_id, found.id, is_update)
        if point is None or key.packed() not in point.input_data:
            return False
    return True


def _gone(hub: Convergence, visit: Visit, found: Traversal) -> After | None:
    """The row is not there (any more): a cleanup has nothing to do, and says so."""
    key = visit.node
    if not key.is_update and key in found.graph:
        data = functools.partial(_cleanup_data, sender=key, rsrc_id=int(key.rsrc_id), replaced_by=None)
        found.writer.merge(hub.results(found, key, data, visit.failures, visit.skip))
    return None


def _cleanup_data(target: Node, sender: Node, rsrc_id: int, replaced_by: int | None) -> int | None:
    return plan.cleanup_input(target, sender, rsrc_id, replaced_by)


def _stale(hub: Convergence, visit: Visit, row: Any, current: Traversal) -> After | None:
    """A call for a traversal that is over. A successor that was never made is not wanted; its predecessor may be."""
    if row is None or visit.node in current.graph or row["replaces"] is None or row["engine_id"] is not None:
        return None
    if row["action"] == "INIT":
        nodes.apply(
            row["stack_id"],
            None,
            [Write(row["id"], None, row["atomic_key"], {"action": "DELETE", "status": "COMPLETE"})],
        )
    return functools.partial(hub.retrigger, current.context, row["stack_id"], row["replaces"], visit.traversal_id)


@dataclasses.dataclass
class _Failure(Exception):
    reason: str


def _adopt(hub: Convergence, context: Any, state: Any) -> None:
    from openkeel_heat.engine.convergence import recovery

    recovery.adopt(hub, context, state)


def row_holder(row: Any) -> str | None:
    """The engine that holds a row, as it was loaded."""
    holder: str | None = row["engine_id"]
    return holder


def _aborted(action: str, text: str) -> str:
    return f"{action} aborted ({text})"


def give_up(hub: Convergence, visit: Visit, error: BaseException) -> None:
    """The task of a resource that was taken over was ended before its first step: give the lock back."""
    from openkeel_heat.engine.convergence import recovery

    state = nodes.lock_state(int(visit.node.rsrc_id))
    if state is None or state.engine_id != hub.engine_id or hub.is_under_way(state.id):
        return
    values: dict[str, Any] = {"engine_id": None}
    if state.status == "IN_PROGRESS":
        values.update(status="FAILED", status_reason=_aborted(state.action, str(error)))
    nodes.apply(state.stack_id, None, [Write(state.id, hub.engine_id, state.atomic_key, values)])
    hub.retrigger(recovery._context(), state.stack_id, state.id)


class _Visit:
    """The steps of a visit to a resource."""

    def __init__(self, hub: Convergence, visit: Visit, row: Any, found: Traversal) -> None:
        self.hub = hub
        self.visit = visit
        self.row = row
        self.found = found
        self.node = visit.node
        self.seen_template = row["current_template_id"] if row is not None else None
        self.resource: Any = None
        self.driver: Driver
        self.latest: Any = None

    # finding the resource ---------------------------------------------------------------------------------------
    def _load(self) -> None:
        """The Resource under the template that it was last processed with; ``latest``: the stack as it shall be."""
        row, visit = self.row, self.visit
        latest = self.found.stack_for(visit)
        initial = latest
        template_id = row["current_template_id"]
        will_create = row["action"] == "INIT" and self.node.is_update and not visit.stale
        if template_id is not None and template_id != latest.t.id and not will_create:
            initial = latest.for_template(template_id)
        newer = latest if self.node.is_update and initial is not latest else None
        self.resource = initial.resource_from_row(row, substitute_from=newer)
        self.resource.stack = self.latest = latest
        self.resource.converge = visit.converge
        self.resource.abandon_in_progress = visit.abandon
        self.driver = Driver(self.found.writer, self.hub.engine_id, self.resource, current=not visit.stale)

    @property
    def _requires(self) -> set[int]:
        return {entry["id"] for entry in self.visit.data.values() if isinstance(entry, dict) and entry.get("id")}

    # the visit --------------------------------------------------------------------------------------------------
    def process(self) -> Running:
        """Process a node of the current traversal."""
        found = self.found
        if self.node.is_update and not self.visit.adopted:
            successor = replacing.successor_of(self.row, found, self.visit)
            if successor is not None:
                return functools.partial(self.hub.run, [successor], found)
        try:
            return (yield from self._processed())
        except TraversalOver:
            return self._over
        except exceptions.UpdateInProgress:
            return self._locked()
        except Cancelled:
            return self._over
        except TimedOut:
            return self._fail("Timed out")
        except _Failure as failure:
            return self._fail(failure.reason)
        except Exception as exc:
            LOG.exception("Unexpected error at %s of stack %s", self.node, found.stack_id)
            if self.resource is None or not self.driver.holds():
                return self._fail(str(exc))
            refused = yield from self.driver.surrender(exc)
            return self._fail("Resource %s failed: %s" % (refused.action, refused))

    def _processed(self) -> Running:
        """Find the resource, run what is to be done, hand the result on."""
        failures, skip, held = dict(self.visit.failures or {}), self.visit.skip, None
        self._load()
        if row_holder(self.row) and not self.visit.adopted:
            return self._locked()
        try:
            if not skip:
                held = yield from self._act()
        except exceptions.UpdateReplace:
            return (yield from self._replaced())
        except _Failure as failure:
            if self.found.action != "CHECK":
                raise
            skip = True
            failures[self.resource.name] = failure.reason
        yield from self._report(held, failures, skip)
        return None

    def _replaced(self) -> Running:
        """Another row takes the place of this one."""
        hub, found, visit, resource = self.hub, self.found, self.visit, self.resource
        key = plan.key_in(found.graph, resource.record.id, resource.record.replaces, True)
        if key is None or key == self.node:
            template_id = self.latest.t.id
            return (yield from replacing.replace(hub, found, visit, resource, template_id, self._requires, self._over))
        try:
            return (yield from replacing.make_another(hub, found, visit, resource, self.driver, key))
        except exceptions.ResourceFailure as failure:
            raise _Failure("Resource %s failed: %s" % (failure.action, failure)) from failure

    def _act(self) -> Generator[Any, Any, Write | None]:
        """Run what is to be done; the last write, held back."""
        from openkeel_heat.resources.kit import lifecycle

        resource, visit, record = self.resource, self.visit, self.resource.record
        try:
            adopted, visit.adopted = visit.adopted, False
            if self.found.stack.has_timed_out():
                if adopted:
                    yield from self._give_up()
                raise TimedOut("Timed out")
            if adopted:
                held = yield from self._resume()
                if held is not None and self.node.is_update and resource.action == resource.DELETE:
                    # what failed is gone; it was to be made again
                    yield from self.driver.persist(held)
                elif held is not None or resource.status != "FAILED":
                    return held
            what = decide(
                self.found.action,
                self.node.is_update,
                record.action,
                record.current_template_id,
                self.latest.t.id,
                record.status,
            )
            if not what:
                return None
            if what == "update":
                self._failed_before()
            if what == "forget":
                return Write(record.id, None, record.atomic_key, {}, current=True, delete=True)
            if what == "create":
                record.requires = sorted(self._requires, reverse=True)
                record.current_template_id = self.latest.t.id
                data = visit.adopt_data
                if data is None:
                    generator = lifecycle.create(resource)
                else:
                    generator = lifecycle.adopt(resource, (data.get("resources") or {}).get(resource.name))
            elif what == "update":
                generator = lifecycle.update(
                    resource,
                    self.latest.defn.bound(resource.name),
                    new_class=self._wanted_class(),
                    new_template_id=self.latest.t.id,
                    new_requires=self._requires,
                )
            elif what == "delete":
                generator = lifecycle.delete(resource)
            elif what == "snapshot":
                generator = lifecycle.snapshot(resource, self.found.id)
            else:
                generator = getattr(lifecycle, what)(resource)
            return (yield from self.driver.drive(generator))
        except exceptions.ResourceFailure as failure:
            raise _Failure("Resource %s failed: %s" % (failure.action or resource.action, failure)) from failure

    def _failed_before(self) -> None:
        """The resource failed in this very traversal, and whoever did it died before it failed the stack."""
        record = self.resource.record
        if (
            record.status == "FAILED"
            and record.action in ("CREATE", "ADOPT", "UPDATE")
            and record.current_template_id == self.latest.t.id
            and self.found.action != "ROLLBACK"
            and not record.status_reason.startswith(WENT_DOWN)
        ):
            raise _Failure("Resource %s failed: %s" % (record.action, record.status_reason))

    def _resume(self) -> Generator[Any, Any, Write | None]:
        """Go on where a dead engine stopped; where the type cannot tell, the resource is FAILED (and replaced)."""
        from openkeel_heat.resources.kit import resuming, steps

        resource = self.resource
        after = None
        if self.node.is_update and resource.name in self.latest.defn:
            after = self.latest.defn.bound(resource.name)
        try:
            if resource.status != "IN_PROGRESS":
                # locked between actions: give the lock back and look at it as usual
                yield from self.driver.persist(self.driver.write_for(steps.touch(resource, steps.Lock.RELEASE)))
                return (yield from self._act())
            generator = resuming.resume_action(
                resource, after, new_template_id=self.latest.t.id, new_requires=self._requires
            )
        except resuming.CannotResume:
            reason = WENT_DOWN + resource.action
            write = self.driver.write_for(steps.mark_failed(resource, resource.action, reason))
            yield from self.driver.persist(write)
            return None
        LOG.info("Going on with %s of %s for a dead engine", resource.action, resource)
        return (yield from self.driver.drive(generator))

    def _give_up(self) -> Generator[Any, Any, None]:
        """Give back the lock of a resource that was taken over when its time was over already."""
        from openkeel_heat.resources.kit import steps

        resource = self.resource
        step = steps.touch(resource, steps.Lock.RELEASE)
        if resource.status == "IN_PROGRESS":
            reason = _aborted(resource.action, f"Task {resource.action.lower()} from {resource} Timed out")
            step = steps.mark_failed(resource, resource.action, reason)
        yield from self.driver.persist(self.driver.write_for(step))

    def _wanted_class(self) -> Any:
        name = self.resource.name
        return self.latest.env.registry.get_class_to_instantiate(
            self.latest.defn.bound(name).resource_type, resource_name=name
        )

    # results ----------------------------------------------------------------------------------------------------
    def _report(self, held: Write | None, failures: dict[str, Any], skip: bool) -> Generator[Any, Any, None]:
        """Tell the nodes that wait, in the transaction that finishes the resource."""
        hub, found, resource, record = self.hub, self.found, self.resource, self.resource.record
        key = plan.key_in(found.graph, record.id, record.replaces, self.node.is_update)
        if key is None:
            if held is not None:
                yield from self.driver.persist(held)
            return
        write = held or Write(record.id, record.engine_id, record.atomic_key)
        to_update = any(target.is_update for target in found.graph.required_by(key))
        result: dict[str, Any] | None = None
        if to_update:
            try:
                result = packing.pack(resource.node_data().as_dict())
            except Exception as exc:
                LOG.exception("Attributes of %s could not be read", resource)
                if held is not None:
                    yield from self.driver.persist(held)
                raise _Failure(str(exc)) from exc
        if self.node.is_update and not write.delete:
            self._attributes(write, to_update)

        def data_for(target: Node) -> Any:
            return result if target.is_update else plan.cleanup_input(target, key, record.id, record.replaced_by)

        merges = hub.results(found, key, data_for, failures or None, skip)
        if write.values is None:
            found.writer.merge(merges)
            return
        write.merges = merges
        replaced_by = record.replaced_by if not self.node.is_update and record.action == "DELETE" else None
        yield from self.driver.persist(write)
        if replaced_by is not None:
            nodes.take_replaces(replaced_by, self.latest.t.id)

    def _attributes(self, write: Write, asked: bool) -> None:
        """Keep the attribute values that were looked up, or drop those that are out of date."""
        resource, record = self.resource, self.resource.record
        if not asked:
            if record.attr_data_id is not None and write.drop_attributes is None:
                write.drop_attributes = record.attr_data_id
                write.values = {} if write.values is None else write.values
            return
        if record.status != "COMPLETE" or record.action in ("INIT", "DELETE"):
            return
        if resource.attributes.has_new_cached_attrs():
            write.attributes = dict(resource.attributes.cached_attrs)
            write.drop_attributes = record.attr_data_id
            write.values = {} if write.values is None else write.values

    # the other ends ---------------------------------------------------------------------------------------------
    def _fail(self, reason: str) -> After:
        def after() -> None:
            if not completion.fail(self.hub, self.found, reason):
                self._over()

        return after

    def _over(self) -> None:
        """Another traversal took over; it may be waiting for this resource."""
        self.hub.retrigger(self.found.context, self.found.stack_id, int(self.node.rsrc_id), self.found.id)

    def _locked(self) -> After | None:
        """Somebody else holds the resource, or changed it under our hands."""
        state = nodes.lock_state(int(self.node.rsrc_id))
        if state is None:
            return functools.partial(_gone, self.hub, self.visit, self.found)  # type: ignore[return-value]
        if state.engine_id is None:
            if state.current_template_id == self.seen_template and self.visit.attempt < MAX_ATTEMPTS:
                again = dataclasses.replace(self.visit, attempt=self.visit.attempt + 1)
                return functools.partial(self.hub.run, [again], self.found)
            return None
        if state.engine_id != self.hub.engine_id and not self.hub.liveness.is_alive(state.engine_id):
            return functools.partial(_adopt, self.hub, self.found.context, state)
        LOG.debug("%s waits until its resource is free", self.node)
        try:
            if self._held_for_former(state):
                self.resource.handle_preempt()
        except Exception:
            LOG.exception("Pre-empting %s failed", self.resource)
        return functools.partial(self.hub.when_free, self.found, self.visit)

    def _held_for_former(self, state: Any) -> bool:
        """Does the holder work for a former traversal? For this very one it does when a call was doubled."""
        from openkeel_heat.resources.kit import updates

        if type(self.resource).handle_preempt is updates.Updates.handle_preempt:
            return False  # nobody would notice
        if state.engine_id == self.hub.engine_id:
            return all(
                visit.traversal_id != self.found.id
                for visit in self.hub.under_way()
                if visit.node.rsrc_id == state.id and visit is not self.visit
            )
        stack = self.found.stack
        began, started = state.updated_at or state.created_at, stack.updated_time or stack.created_time
        return (
            state.current_template_id != stack.t.id
            and began <= started
            and not event_rows.began(self.found.stack_id, stack.name, state.name)
        )

    # work of a dead engine for a former traversal ----------------------------------------------------------------
    def finish_stale(self) -> Running:
        """Bring an adopted resource to the end of its action, then let the present traversal know."""
        if self.row is None:
            return None
        try:
            self._load()
        except Exception as exc:
            # its template is gone: nothing of it can be run
            LOG.warning("Resource %s cannot be resumed: %s", self.row["name"], exc)
            nodes.apply(
                self.row["stack_id"],
                None,
                [
                    Write(
                        self.row["id"],
                        self.hub.engine_id,
                        self.row["atomic_key"],
                        {"engine_id": None, "status": "FAILED", "status_reason": WENT_DOWN + self.row["action"]},
                    )
                ],
            )
            return self._at_rest
        # nobody watches the clock of a traversal that is over; a stack at rest had its time
        timer = self.hub.scheduler.call_later(
            max(0.0, self.found.seconds_left()), self.hub.scheduler.cancel, self.visit.key, TimedOut()
        )
        try:
            held = yield from self._resume_stale()
            if held is not None:
                yield from self.driver.persist(held)
        except (exceptions.UpdateReplace, exceptions.ResourceFailure, exceptions.UpdateInProgress, _Failure) as exc:
            LOG.info("%s: %s", self.resource, exc)
        except (Cancelled, TimedOut):
            pass
        except Exception as exc:
            LOG.exception("Unexpected error at a left-over of stack %s", self.found.stack_id)
            if self.driver.holds():
                yield from self.driver.surrender(exc)
        finally:
            timer.cancel()
        return self._at_rest

    def _at_rest(self) -> None:
        """The present traversal may be waiting for it, also where it was the present one at the taking over."""
        self.hub.retrigger(self.found.context, self.found.stack_id, int(self.node.rsrc_id))

    def _resume_stale(self) -> Generator[Any, Any, Write | None]:
        from openkeel_heat.resources.kit import resuming, steps

        resource = self.resource
        if resource.status != "IN_PROGRESS":
            yield from self.driver.persist(self.driver.write_for(steps.touch(resource, steps.Lock.RELEASE)))
            return None
        # What it refers to is known to the nodes of its own traversal only: it goes on with what it began with.
        resource.reads_stored = resource.action in (resource.CREATE, resource.ADOPT)
        after = None
        if self.node.is_update and resource.name in self.latest.defn:
            after = self.latest.defn.bound(resource.name)
        try:
            generator = resuming.resume_action(
                resource, after, new_template_id=resource.current_template_id, new_requires=set(resource.requires)
            )
        except resuming.CannotResume:
            reason = WENT_DOWN + resource.action
            yield from self.driver.persist(self.driver.write_for(steps.mark_failed(resource, resource.action, reason)))
            return None
        return (yield from self.driver.drive(generator))
