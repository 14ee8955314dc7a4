# SPDX-License-Identifier: Apache-2.0
"""The life of a traversal as the database sees it: started, stopped, completed, failed; each one transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.db import events, models, resources, sql, stacks, sync_points, templates
from openkeel_heat.db.session import Abandon, Connection, operation, query
from openkeel_heat.db.sql import Record

_stack = models.stack
_resource = models.resource

#: What is needed of a row to plan a traversal.
PLAN_COLUMNS = (
    "id",
    "name",
    "action",
    "status",
    "requires",
    "replaces",
    "replaced_by",
    "current_template_id",
    "created_at",
    "updated_at",
    "engine_id",
    "uuid",
)

SNAPSHOT_CUT_OFF = "Another action of the stack was started"

STORE_NEVER = ("CHECK", "SUSPEND", "RESUME", "SNAPSHOT")


@dataclasses.dataclass(slots=True)
class Start:
    """Everything that the start of a traversal writes.

    ``plan(rows, template_id, prev_template_id)`` says which new rows are needed (a list of column dicts), and
    ``graph(ids)`` -> (current_deps, sync point targets) after these have ids (name -> id); both pure. ``holder``: the
    resource whose nested stack this is, and the engine that must still hold it.
    """

    stack_id: str
    traversal_id: str
    action: str
    plan: Callable[[list[Record], int, int | None], list[dict[str, Any]]]
    graph: Callable[[dict[str, int], list[str]], tuple[Any, list[tuple[str, bool]]]]
    values: dict[str, Any]
    event: dict[str, Any]
    expected_traversal: str | None = None
    insert: Mapping[str, Any] | None = None
    tags: Sequence[str] | None = None
    template_id: int | None = None
    template: Mapping[str, Any] | None = None
    files: Mapping[str, Any] | None = None
    keep_prev: bool = False
    extra: Mapping[str, Any] | None = None
    snapshot: Mapping[str, Any] | None = None
    holder: tuple[int, str] | None = None


@dataclasses.dataclass(slots=True)
class Started:
    """The stack's row as it is after the start.

    ``extra``: what is kept of the traversal beside its graph. ``templates`` in it are ids of templates that are of use
    now, and may be of none when resources have come to the new one.
    """

    template_id: int
    prev_template_id: int | None
    stack: Record
    extra: Mapping[str, Any]


@operation
def start(c: Connection, spec: Start) -> Started | None:
    """Start a traversal; None (and nothing is written) when ``expected_traversal`` is not the current one any more."""
    if events.tells_it_is_done(c, spec.event):
        return _started_before(c, spec)
    return _start(c, spec)


def _started_before(c: Connection, spec: Start) -> Started | None:
    """What was started by a try whose answer got lost."""
    row = sql.one(sql.select(c, _stack, id=spec.stack_id))
    if row is None or row["current_traversal"] != spec.traversal_id:
        return None
    extra = sync_points.ours.within(c, spec.stack_id, spec.traversal_id)
    return Started(row["raw_template_id"], row["prev_raw_template_id"], row, extra)


def _start(c: Connection, spec: Start) -> Started | None:
    expected = spec.expected_traversal or ""
    if spec.holder is not None:
        holder = sql.select(c, _resource, ("engine_id", "name"), lock=True, id=spec.holder[0]).first()
        if holder is None or holder.engine_id != spec.holder[1]:
            raise exceptions.UpdateInProgress(holder.name if holder is not None else str(spec.holder[0]))
    if spec.insert is None:
        row = sql.one(sql.select(c, _stack, lock=True, id=spec.stack_id, deleted_at=None))
        if row is None or (row["current_traversal"] or "") != expected:
            raise Abandon(None)
        if spec.action == "ROLLBACK" and row["status"] == "COMPLETE":
            raise Abandon(None)  # what was to be cancelled came to its end, and the way back is gone
        old_prev, old_template = row["prev_raw_template_id"], row["raw_template_id"]
    else:
        row, old_prev, old_template = None, None, None
    template_id = _template(c, spec, old_template)
    prev = old_prev
    if spec.action not in (*STORE_NEVER, "CREATE", "ADOPT") and not spec.keep_prev:
        prev = old_template
    values = {
        **spec.values,
        "action": spec.action,
        "current_traversal": spec.traversal_id,
        "raw_template_id": template_id,
        "prev_raw_template_id": prev,
    }
    rows: list[Record] = []
    if spec.insert is not None:
        stacks.insert.within(c, {**spec.insert, **values, "id": spec.stack_id}, spec.tags)
    else:
        rows = sql.many(sql.select(c, _resource, PLAN_COLUMNS, order="id", stack_id=spec.stack_id))
        rows = [one for one in rows if not (one["action"] == "DELETE" and one["status"] == "COMPLETE")]
    fresh = spec.plan(rows, template_id, prev)
    ids = resources.insert_many.within(c, fresh)
    new = {one["name"]: new_id for one, new_id in zip(fresh, ids, strict=True)}
    snapshots: list[str] = []
    if spec.action == "DELETE":
        snapshots = [str(one) for one in sql.select(c, models.snapshot, ("id",), stack_id=spec.stack_id).scalars()]
    carried: set[int] = set()
    deps, targets = spec.graph(new, snapshots)
    values["current_deps"] = deps
    sql.update(c, _stack, values, id=spec.stack_id)
    if spec.insert is None:
        if spec.tags is not None:
            stacks.set_tags.within(c, spec.stack_id, spec.tags)
        if row is not None and row["status"] == "IN_PROGRESS":
            carried.update(sync_points.ours.within(c, spec.stack_id, expected).get("templates", ()))
        sync_points.delete.within(c, spec.stack_id)
        snapshotting = row is not None and (row["action"], row["status"]) == ("SNAPSHOT", "IN_PROGRESS")
        if snapshotting and expected != spec.traversal_id:
            fail_snapshot.within(c, expected)
        if old_prev is not None and old_prev not in (prev, template_id):
            templates.delete_unreferenced.within(c, [old_prev])
    if spec.snapshot is not None:
        sql.insert(c, models.snapshot, spec.snapshot)
    older = {one["current_template_id"] for one in rows} | {old_prev} | carried
    older -= {template_id, prev, None}
    extra = {**(spec.extra or {}), "templates": sorted(older)} if older else spec.extra
    sync_points.insert_many.within(c, spec.stack_id, spec.traversal_id, targets, extra)
    events.insert_many.within(c, [spec.event])
    stored = Record({**(row or {}), **(spec.insert or {}), **values, "id": spec.stack_id})
    return Started(template_id, prev, stored, extra or {})


@operation
def fail_snapshot(c: Connection, snapshot_id: str) -> None:
    """A snapshot whose traversal was cut off will not be made any more."""
    values = {"action": "CREATE", "status": "FAILED", "status_reason": SNAPSHOT_CUT_OFF}
    sql.update(c, models.snapshot, values, id=snapshot_id, status="IN_PROGRESS")


def _template(c: Connection, spec: Start, old_template: int | None) -> int:
    if spec.template_id is not None:
        return spec.template_id
    if spec.template is None:
        assert old_template is not None
        return old_template
    values = dict(spec.template)
    if spec.files:
        values["files_id"] = templates.insert_files.within(c, spec.files)
    return templates.insert.within(c, values)


@query
def load(c: Connection, stack_id: str) -> Record | None:
    """A living stack with its graph."""
    return stacks.get.within(c, stack_id, deps=True)


# the end ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(slots=True)
class Finish:
    """The end of a traversal: state and event, and what is cleared away with it.

    ``values``     further columns of the stack
    ``delete``     the stack goes (softly): its name is free
    ``keep_credentials``  the deleted stack goes on naming its credentials: they, and the project of its users, are
                   still to be deleted
    ``snapshot``   for SNAPSHOT: columns of the snapshot (its id is the traversal's)
    ``restart``    a ROLLBACK starts in the same transaction
    ``former``     statuses from which this end may be reached
    ``templates``  templates to remove if nothing refers to them any more
    """

    stack_id: str
    traversal_id: str
    action: str
    status: str
    reason: str
    event: dict[str, Any] | None
    delete: bool = False
    snapshot: Mapping[str, Any] | None = None
    keep_credentials: bool = False
    restart: Start | None = None
    former: tuple[str, ...] = ("IN_PROGRESS",)
    templates: Collection[int] = ()


@operation
def finish(c: Connection, spec: Finish) -> tuple[bool, Started | None]:
    """False when the traversal is over or not the current one any more; then nothing is written."""
    if events.tells_it_is_done(c, spec.event):
        return True, None if spec.restart is None else _started_before(c, spec.restart)
    row = sql.select(
        c, _stack, ("current_traversal", "prev_raw_template_id", "status", "raw_template_id"), lock=True,
        id=spec.stack_id, deleted_at=None,
    ).first()  # fmt: skip
    if row is None or (row.current_traversal or "") != spec.traversal_id or row.status not in spec.former:
        raise Abandon((False, None))
    if spec.event is not None:
        events.insert_many.within(c, [spec.event])
    values: dict[str, Any] = {"action": spec.action, "status": spec.status, "status_reason": spec.reason}
    if spec.restart is not None:
        sql.update(c, _stack, values, id=spec.stack_id)
        started = _start(c, spec.restart)
        if spec.templates:
            templates.delete_unreferenced.within(c, spec.templates)
        return True, started
    old = None
    if spec.status == "FAILED":
        values["current_traversal"] = ""
    elif row.prev_raw_template_id is not None:
        old = row.prev_raw_template_id
        values["prev_raw_template_id"] = None
    if spec.snapshot is not None:
        sql.update(c, models.snapshot, spec.snapshot, id=spec.traversal_id)
    resources.purge_deleted.within(c, spec.stack_id)
    if spec.delete:
        if not spec.keep_credentials:
            values["user_creds_id"] = None
        stacks.delete.within(c, spec.stack_id, values)
    else:
        sql.update(c, _stack, values, id=spec.stack_id)
        sync_points.delete.within(c, spec.stack_id, spec.traversal_id)
    if old is not None or spec.templates:
        templates.delete_unreferenced.within(c, [old, *spec.templates])
    return True, None


@operation
def drop_templates(c: Connection, ids: Collection[int | None]) -> None:
    """Remove those that nothing refers to any more: the last resource may have left them after the end."""
    templates.delete_unreferenced.within(c, ids)


@operation
def stop(
    c: Connection,
    stack_id: str,
    expected_traversal: str,
    traversal_id: str,
    action: str,
    reason: str,
    event: dict[str, Any],
) -> bool:
    """Cut a traversal off: the stack is FAILED under a traversal that has no nodes.

    False, and nothing is written, when the traversal is not the current one any more, or came to its end.
    """
    if events.tells_it_is_done(c, event):
        return True
    values = {"current_traversal": traversal_id, "action": action, "status": "FAILED", "status_reason": reason}
    fence = {**stacks.of_traversal(c, stack_id, expected_traversal), "status": "IN_PROGRESS", "deleted_at": None}
    if not sql.update(c, _stack, values, id=stack_id, **fence):
        raise Abandon(False)
    if action == "SNAPSHOT":
        fail_snapshot.within(c, expected_traversal)
    older = sync_points.ours.within(c, stack_id, expected_traversal).get("templates", ())
    sync_points.delete.within(c, stack_id, expected_traversal)
    templates.delete_unreferenced.within(c, older)
    events.insert_many.within(c, [event])
    return True
