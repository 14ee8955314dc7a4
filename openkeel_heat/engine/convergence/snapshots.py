# SPDX-License-Identifier: Apache-2.0
"""Deleting snapshots: alone, as a node of a stack's deletion, and resource by resource for a Python Heat engine.

A snapshot goes in one task, resource by resource; its row says DELETE IN_PROGRESS meanwhile, which is how recovery
finds one whose engine died. Deleting twice is harmless: what is gone is passed over.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.db import nodes, recovery, snapshots, stacks, sync_points
from openkeel_heat.db.sync_points import Merge
from openkeel_heat.engine import templates
from openkeel_heat.engine.convergence.driver import Driver
from openkeel_heat.engine.convergence.plan import Node
from openkeel_heat.engine.convergence.state import Traversal, Visit
from openkeel_heat.engine.convergence.writer import Writer

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)

Running = Generator[Any, Any, Any]


def submit(hub: Convergence, context: Any, snapshot_id: str) -> None:
    """Delete a snapshot on the scheduler."""
    key = ("snapshot", snapshot_id)
    if not hub.scheduler.has(key):
        hub.scheduler.submit(_delete(hub, context, snapshot_id), [key])


def _delete(hub: Convergence, context: Any, snapshot_id: str) -> Running:
    try:
        yield from _delete_resources(hub, context, snapshot_id)
    except exceptions.NotFound:
        return None
    except GeneratorExit:
        raise
    except Exception as exc:
        LOG.exception("Snapshot %s was not deleted", snapshot_id)
        snapshots.update(snapshot_id, {"action": "DELETE", "status": "FAILED", "status_reason": str(exc)[:255]})
        return None
    snapshots.delete(snapshot_id)
    LOG.info("Snapshot %s deleted", snapshot_id)
    return None


def _contents(snapshot_id: str) -> tuple[Any, dict[str, Any]]:
    """The row, and what its resources kept."""
    row = snapshots.get(snapshot_id)
    if row is None:
        raise exceptions.NotFound(f"Snapshot with id {snapshot_id} not found")
    kept = dict((row.data or {}).get("resources") or {})
    kept.update({item.resource_name: item.data for item in snapshots.list_resources(snapshot_id)})
    return row, kept


def _delete_resources(hub: Convergence, context: Any, snapshot_id: str, only: str | None = None) -> Running:
    row, kept = _contents(snapshot_id)
    stack = _stack(context, row)
    if stack is None:
        return
    rows = {}
    for one in recovery.rows_of_stack(row.stack_id):
        if one["name"] not in rows or one["replaced_by"] is None:
            rows[one["name"]] = one["id"]
    loaded = nodes.load(list(rows.values()))
    for name, data in kept.items():
        if only is not None and name != only or not data or name not in stack.defn:
            continue
        yield from _delete_one(hub, stack, name, loaded.get(rows.get(name, 0)), data)


def _stack(context: Any, row: Any) -> Any:
    """The stack as the snapshot has it."""
    from openkeel_heat.engine.stack import Stack

    stack_row = stacks.get(row.stack_id)
    if stack_row is None or not row.data or "template" not in row.data:
        return None
    stack = Stack.from_row(context, stack_row)
    data = row.data
    stack.switch_template(templates.compiled(data["template"], data.get("files"), data.get("environment")))
    return stack


def _delete_one(hub: Convergence, stack: Any, name: str, row: Any, data: Any) -> Running:
    from openkeel_heat.resources.kit import lifecycle

    resource = stack.make_resource(name, row)
    resource.record.data = dict(data.get("resource_data") or {})
    writer = Writer(hub.scheduler, stack.id, "", lambda merged, merges: None)
    yield from Driver(writer, hub.engine_id, resource, current=False).drive(lifecycle.delete_snapshot(resource, data))


def run_node(hub: Convergence, visit: Visit, found: Traversal | None, context: Any) -> Running:
    """A snapshot node of a stack's deletion."""
    snapshot_id = str(visit.node.rsrc_id)
    if found is None:
        row = snapshots.get(snapshot_id)
        if row is None:
            # whose it was nobody can tell any more; recovery knows by the stack's graph
            stack_id = recovery.stack_of_sync_point(snapshot_id, visit.traversal_id)
        else:
            stack_id = row.stack_id
        found = hub.load(context, stack_id) if stack_id else None
        if found is None:
            return None
    if found.id != visit.traversal_id or found.over:
        return None
    try:
        yield from _delete_resources(hub, found.context, snapshot_id)
    except exceptions.NotFound:
        pass
    except Exception as exc:
        # a stack can be deleted whatever its snapshots' resources say
        LOG.warning("Snapshot %s: %s", snapshot_id, exc)
    snapshots.delete(snapshot_id)
    found.writer.merge(hub.results(found, visit.node, lambda target: None))
    return None


def run_resource(hub: Convergence, context: Any, snapshot_id: str, name: str, traversal_id: str | None) -> Running:
    """``check_resource_delete_snapshot`` of an engine that deletes a snapshot resource by resource."""
    try:
        _row, kept = _contents(snapshot_id)
    except exceptions.NotFound:
        return None
    try:
        yield from _delete_resources(hub, context, snapshot_id, name)
    except GeneratorExit:
        raise
    except Exception as exc:
        LOG.exception("Snapshot %s: resource %s", snapshot_id, name)
        snapshots.update(snapshot_id, {"action": "DELETE", "status": "FAILED", "status_reason": str(exc)[:255]})
        return None
    stack_id = recovery.stack_of_sync_point(snapshot_id, traversal_id or "")
    if stack_id is not None:
        wanted = {Node(one, True).packed() for one in kept}  # type: ignore[arg-type]
        merge = Merge((snapshot_id, True), Node(name, True).packed(), None, wanted)
        (merged,) = sync_points.merge(stack_id, traversal_id or "", [merge])
        if merged.found and not merged.waiting:
            snapshots.delete(snapshot_id)
            sync_points.delete(stack_id, traversal_id)
    return None
