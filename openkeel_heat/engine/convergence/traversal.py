# SPDX-License-Identifier: Apache-2.0
"""Starting a traversal: one transaction writes all of it, then its leaves run.

The transaction takes the stack's row (comparing its traversal), stores the template, makes rows for resources that
have none, computes the graph, writes state, graph, sync points and the event. What was prepared before it
(dependencies of the template) is only read from the stack, so the transaction may be tried again as a whole.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from oslo_db import exception as db_exc
from oslo_log import log as logging

from openkeel_heat.common import clock
from openkeel_heat.db import traversals
from openkeel_heat.db.traversals import STORE_NEVER, Finish, Start, Started
from openkeel_heat.engine import events, lifecycle_plugins, templates
from openkeel_heat.engine.convergence import plan
from openkeel_heat.engine.convergence.interfaces import StartRequest
from openkeel_heat.engine.convergence.plan import Graph
from openkeel_heat.engine.convergence.state import Traversal

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)


class _Planner:
    """The pure part, called inside the transaction; keeps the graph that was stored."""

    def __init__(self, target: Any, names: list[str], edges: list[tuple[str, str | None]], stack_id: str) -> None:
        self._target = target
        self._names = names
        self._edges = edges
        self._stack_id = stack_id
        self._ids: dict[str, int] = {}
        self._existing: list[Any] = []
        self.graph = Graph()

    def rows(self, existing: list[Any], template_id: int, prev_template_id: int | None) -> list[dict[str, Any]]:
        self._existing = existing
        chosen = plan.choose(self._names, existing, template_id, prev_template_id)
        self._ids = {name: row.id for name, row in chosen.items() if row is not None}
        root_id = self._target.root_stack_id() if self._root is None else self._root
        return [
            {
                "uuid": str(uuid.uuid4()),
                "action": "INIT",
                "status": "COMPLETE",
                "status_reason": "",
                "stack_id": self._stack_id,
                "name": name,
                "needed_by": [],
                "requires": [],
                "nova_instance": None,
                "current_template_id": template_id,
                "root_stack_id": root_id,
                "replaces": None,
                "replaced_by": None,
            }
            for name, row in chosen.items()
            if row is None
        ]

    _root: str | None = None

    def find_root(self) -> None:
        """Look the root up before the transaction."""
        self._root = self._target.root_stack_id() or self._stack_id

    def store(self, new: dict[str, int], snapshot_ids: list[str]) -> tuple[Any, list[tuple[str, bool]]]:
        self.graph = plan.build(self._edges, {**self._ids, **new}, self._existing, snapshot_ids)
        targets = [(str(node.rsrc_id), node.is_update) for node in self.graph]
        return self.graph.to_stored(), [*targets, (self._stack_id, True)]


def _target_stack(request: StartRequest) -> tuple[Any, Any, int | None]:
    """The stack as it shall be, its template, and the template's id where it is stored already."""
    stack = request.stack
    if request.action in STORE_NEVER:
        return stack, stack.t, stack.t.id
    if request.new_stack is not None:
        return request.new_stack, request.new_stack.t, request.new_stack.t.id
    if request.template is not None:
        import copy

        target = copy.copy(stack)
        target.switch_template(request.template)
        return target, request.template, request.template_id or getattr(request.template, "id", None)
    return stack, stack.t, stack.t.id


def _edges(target: Any, action: str) -> tuple[list[str], list[tuple[str, str | None]]]:
    """Names (requirers first, as Heat numbers them) and edges of the template."""
    if not len(target.defn.definitions()):
        return [], []
    deps = target.dependencies
    names = list(reversed(deps))
    edges = [(requirer, required) for requirer, required in deps.graph().edges()]
    return names, edges


def _prepare(request: StartRequest, expected: str | None) -> tuple[Start, _Planner, Any]:
    stack, action = request.stack, request.action
    target, template, template_id = _target_stack(request)
    insert = stack.id is None or stack.current_traversal is None
    if stack.id is None:
        stack.assign_id(str(uuid.uuid4()))
    names, edges = _edges(target, action)
    planner = _Planner(target, names, edges, stack.id)
    planner.find_root()
    reason = f"Stack {action} started"
    now = clock.utcnow()
    values: dict[str, Any] = {"status": "IN_PROGRESS", "status_reason": reason, **request.values}
    tags = None
    if insert:
        stack.created_time = now
        stack.updated_time = now if action == "ADOPT" else None
        tags = list(stack.tags)
    elif action != "CREATE":
        stack.updated_time = now
        values["updated_at"] = now
    if request.new_stack is not None:
        values.update(disable_rollback=target.disable_rollback, timeout=target.timeout_mins)
        tags = list(target.tags)
        stack.disable_rollback, stack.timeout_mins = target.disable_rollback, target.timeout_mins
        stack.tags = tags
    extra = {
        name: value
        for name, value in (
            ("adopt_data", request.adopt_data),
            ("converge", request.converge),
            ("abandon", request.abandon),
        )
        if value
    }
    stored: dict[str, Any] = {}
    files = None
    if template_id is None:
        stored = dict(templates.row_values(template))
        files = stored.pop("files", None)
    spec = Start(
        stack_id=stack.id,
        traversal_id=request.traversal_id or str(uuid.uuid4()),
        action=action,
        plan=planner.rows,
        graph=planner.store,
        values=values,
        event=events.stack_event(stack, action, "IN_PROGRESS", reason),
        expected_traversal=None if insert else expected,
        insert={**stack.row_values(), "created_at": now} if insert else None,
        tags=tags,
        template_id=template_id,
        template=stored or None,
        files=files,
        extra=extra or None,
        keep_prev=request.keep_prev,
        snapshot=request.snapshot,
        holder=stack.holder,
    )
    return spec, planner, template


def start(hub: Convergence, context: Any, request: StartRequest) -> str | None:
    """See ``interfaces.ConvergenceApi.start``."""
    stack = request.stack
    running = stack.action if stack.current_traversal and stack.status == "IN_PROGRESS" else None
    lifecycle_plugins.before(context, stack, request.new_stack, request.action)
    started = None
    try:
        started = _start(hub, context, request)
    finally:
        if started is None:
            hub.ended_operation(context, stack, request.action, failed=True)
    if running and started:
        hub.ended_operation(context, stack, running, failed=True)
    return started


def _start(hub: Convergence, context: Any, request: StartRequest) -> str | None:
    stack = request.stack
    spec, planner, template = _prepare(request, stack.current_traversal)
    started = traversals.start(spec)
    if started is None:
        LOG.info(
            "Stack %s: traversal %s is not the current one any more; %s not started",
            stack.name,
            stack.current_traversal,
            request.action,
        )
        return None
    _begin(hub, context, stack, spec, planner, started, template)
    if request.cancel_running:
        from openkeel_heat.engine.convergence import cancel

        cancel.cancel_running(hub, context, spec.stack_id, spec.traversal_id)
    return spec.traversal_id


def _begin(
    hub: Convergence, context: Any, stack: Any, spec: Start, planner: _Planner, started: Started, template: Any
) -> Traversal:
    """After the commit: let it be known, and run the leaves."""
    former = stack.current_traversal
    stack.action, stack.status, stack.status_reason = spec.action, "IN_PROGRESS", f"Stack {spec.action} started"
    stack.current_traversal = spec.traversal_id
    stack.prev_raw_template_id = started.prev_template_id
    if spec.template_id is None and template is not None:
        templates.remember(started.template_id, template)
    if former:
        hub.forget(former)
    found = hub.keep(Traversal(context, started.stack, started.extra, planner.graph))
    events.announce(context, found.stack, [spec.event])
    leaves = sorted(found.graph.leaves(), key=lambda node: node.is_update)
    if leaves:
        hub.dispatch(found, [found.visit(node) for node in leaves])
    else:
        from openkeel_heat.engine.convergence import completion

        hub.scheduler.call(completion.complete, hub, found)
    return found


def rollback_template(stack: Any) -> tuple[Any, int | None]:
    """The template that a rollback goes to: the previous one, or one without resources."""
    if stack.prev_raw_template_id is None:
        return templates.empty(stack.t), None
    return templates.load(stack.prev_raw_template_id), stack.prev_raw_template_id


class CannotRollBack(Exception):
    """There is no way back; the text says why."""


def _prepare_rollback(hub: Convergence, found: Traversal) -> tuple[Start, _Planner, Any]:
    """What is wrong with the way back (a template that cannot be read any more …) is no reason to wait for ever."""
    stack = found.stack
    try:
        template, template_id = rollback_template(stack)
        request = StartRequest(stack, "ROLLBACK", template=template, template_id=template_id)
        lifecycle_plugins.before(found.context, stack, None, "ROLLBACK")
        try:
            return _prepare(request, found.id)
        except Exception:
            hub.ended_operation(found.context, stack, "ROLLBACK", failed=True)
            raise
    except (lifecycle_plugins.Refused, db_exc.DBError):
        raise
    except Exception as error:
        LOG.exception("Stack %s cannot be rolled back", stack.name)
        raise CannotRollBack(str(error)) from error


def fail_and_roll_back(hub: Convergence, found: Traversal, reason: str) -> bool:
    """FAILED and the start of the rollback in one transaction."""
    stack = found.stack
    LOG.info("Rolling back %s of stack %s", found.action, stack.name)
    failed = events.stack_event(stack, found.action, "FAILED", reason)
    spec, planner, template = _prepare_rollback(hub, found)
    done, started = traversals.finish(
        Finish(
            found.stack_id, found.id, found.action, "FAILED", reason, failed, restart=spec, templates=found.templates
        )
    )
    hub.forget(found.id)
    if not done or started is None:
        hub.ended_operation(found.context, stack, "ROLLBACK", failed=True)
        return False
    stack.status, stack.status_reason = "FAILED", reason
    events.announce(found.context, stack, [failed])
    hub.ended_operation(found.context, stack, found.action, failed=True)
    _begin(hub, found.context, stack, spec, planner, started, template)
    return True


def roll_back(hub: Convergence, found: Traversal) -> None:
    """The stack is FAILED already, but its rollback was not started."""
    try:
        template, template_id = rollback_template(found.stack)
        start(hub, found.context, StartRequest(found.stack, "ROLLBACK", template=template, template_id=template_id))
    except db_exc.DBError:
        raise
    except Exception as error:
        LOG.warning("Stack %s cannot be rolled back: %s", found.stack.name, error)
        found.stack.state_set("ROLLBACK", "FAILED", str(error))


def restart(hub: Convergence, context: Any, found: Traversal) -> str | None:
    """A traversal whose start was cut is begun again for the same template, under a new id (but a snapshot's)."""
    request = StartRequest(
        found.stack,
        found.action,
        adopt_data=found.adopt_data,
        converge=found.converge,
        abandon=found.abandon,
        keep_prev=True,
        traversal_id=found.id if found.action == "SNAPSHOT" else None,
    )
    return _start(hub, context, request)
