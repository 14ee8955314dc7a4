# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a stack: make, show, list, restore, delete. The id of a snapshot is the id of its traversal."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db import snapshots
from openkeel_heat.db.sql import Record
from openkeel_heat.engine import templates
from openkeel_heat.engine.convergence.interfaces import StartRequest
from openkeel_heat.engine.lifecycle_plugins import Refused
from openkeel_heat.engine.operations import columns, formats, lifecycle, lookup, migrate
from openkeel_heat.engine.operations.runtime import Runtime
from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)


def create(runtime: Runtime, context: Any, identity: Mapping[str, str], name: Any) -> dict[str, Any]:
    name = columns.text("name", name)
    stack = migrate.stack_to_change(runtime, context, identity)
    if stack.status == stack.IN_PROGRESS:
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)
    assert stack.id is not None
    limit = cfg.CONF.max_snapshots_per_stack
    if not context.is_admin and limit >= 0 and snapshots.count_by_stack(stack.id) >= limit:
        raise exceptions.RequestLimitExceeded(
            message=_("You have reached the maximum snapshots per stack, %d. Please delete some snapshots.") % limit
        )
    snapshot_id = str(uuid.uuid4())
    row = {
        "id": snapshot_id,
        "tenant": context.project_id,
        "name": name,
        "stack_id": stack.id,
        "data": stack.prepare_abandon(no_resources=True),
        "action": "CREATE",
        "status": "IN_PROGRESS",
    }
    request = StartRequest(stack, stack.SNAPSHOT, traversal_id=snapshot_id, snapshot=row)
    try:
        started = runtime.convergence.start(context, request)
    except Refused as refusal:  # there is no snapshot that could fail
        raise exceptions.Invalid(reason=str(refusal)) from refusal
    if started is None:
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)
    # As it was begun: by now it may have ended.
    return formats.snapshot(
        Record({**(snapshots.get(snapshot_id) or {"created_at": None}), **row, "status_reason": None})
    )


def get_row(snapshot_id: str, stack_id: str | None, stack_name: str, with_resources: bool = True) -> Any:
    """The snapshot of this stack; its ``data`` completed by what the resources kept."""
    row = snapshots.get(snapshot_id)
    if row is None:
        raise exceptions.NotFound(_("Snapshot with id %s not found") % snapshot_id)
    if row.stack_id != stack_id:
        raise exceptions.SnapshotNotFound(snapshot=snapshot_id, stack=stack_name)
    return _complete(row) if with_resources else row


def _complete(row: Any) -> Any:
    """Convergence keeps each resource's data in a row of its own."""
    kept = {item.resource_name: item.data for item in snapshots.list_resources(row.id)}
    if kept and row.data:
        row.data = {**row.data, "resources": {**(row.data.get("resources") or {}), **kept}}
    return row


def show(context: Any, identity: Mapping[str, str], snapshot_id: str) -> dict[str, Any]:
    row = lookup.get_row(context, identity)
    return formats.snapshot(get_row(snapshot_id, row.id, row.name))


def list_all(context: Any, identity: Mapping[str, str]) -> list[dict[str, Any]]:
    row = lookup.get_row(context, identity)
    return [formats.snapshot(_complete(one)) for one in snapshots.list_by_stack(row.id)]


def delete(runtime: Runtime, context: Any, identity: Mapping[str, str], snapshot_id: str) -> None:
    stack = lookup.get_stack(context, identity)
    row = get_row(snapshot_id, stack.id, stack.name, with_resources=False)
    if row.action in (None, "CREATE") and row.status == "IN_PROGRESS":  # old services wrote no action
        raise exceptions.NotSupported(feature=_("Deleting in-progress snapshot"))
    snapshots.update(
        snapshot_id, {"action": "DELETE", "status": "IN_PROGRESS", "status_reason": "Snapshot delete started"}
    )
    runtime.convergence.delete_snapshot(context, stack, snapshot_id)


def restore(runtime: Runtime, context: Any, identity: Mapping[str, str], snapshot_id: str) -> None:
    stack = migrate.stack_to_change(runtime, context, identity)
    lifecycle.check_not_deleting(stack)
    lookup.enforce_types(stack)
    row = get_row(snapshot_id, stack.id, stack.name)
    if row.status != "COMPLETE":
        raise exceptions.NotSupported(feature=_("Restoring incomplete snapshot"))
    request = StartRequest(stack, stack.RESTORE, new_stack=restored_stack(context, stack, row.data))
    if not lifecycle.begin(runtime, context, request):
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)


def restored_stack(context: Any, stack: Stack, data: Mapping[str, Any]) -> Stack:
    """The stack as the snapshot has it; types say what it takes to go back (``handle_restore``)."""
    template = templates.compiled(copy.deepcopy(data["template"]), data["files"], data["environment"])
    before = Stack(context, stack.name, template, tenant_id=stack.tenant_id, owner_id=stack.owner_id)
    restored = copy.deepcopy(template)
    for name, definition in before.defn.definitions().items():
        handle_restore = getattr(stack.resource_in(before.defn, name), "handle_restore", None)
        if callable(handle_restore):
            definition = handle_restore(definition, (data["resources"] or {}).get(name))
        restored.add_resource(definition, name)
    found = Stack(
        context,
        stack.name,
        restored,
        timeout_mins=stack.timeout_mins,
        tenant_id=stack.tenant_id,
        disable_rollback=stack.disable_rollback,
        owner_id=stack.owner_id,
        tags=list(stack.tags),
    )
    found.use_identity(stack.identifier())
    return found
