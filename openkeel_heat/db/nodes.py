# SPDX-License-Identifier: Apache-2.0
"""What the processing of graph nodes writes, many nodes of one stack in one transaction (group commit).

A :class:`Write` is one fenced change of one resource with all that goes with it: new stored properties, attribute
values, the event, and the results for other nodes' sync points. Each write succeeds or fails by itself: a failed fence
leaves out that write only. The answer to a write is a :class:`Written`; a write that was committed although the answer
got lost is recognised when the operation is tried again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from openkeel_heat.db import events, models, properties, resources, sql, sync_points
from openkeel_heat.db.resources import next_key
from openkeel_heat.db.session import Connection, may_be_done, operation, query
from openkeel_heat.db.sql import Record

_resource = models.resource


@dataclasses.dataclass(slots=True)
class Write:
    """One change of one resource.

    ``engine_id``, ``atomic_key``  what the row must still have (the holder of the lock, None: nobody)
    ``values``                     columns to write (``engine_id`` among them takes or gives back the lock);
                                   None: nothing is written to the row, only the rest
    ``current``                    refuse unless the traversal is still the stack's current one
    ``properties``                 new stored properties; their id goes into the row and the event
    ``event``                      row for ``event``
    ``drop_attributes``            id of attribute values that are out of date
    ``attributes``                 attribute values to keep
    ``replacement``                a new row: the successor of this one (whose ``replaced_by`` is set)
    ``delete``                     remove the row
    ``data``                       resource data: (key, value, redact)
    ``merges``                     results for sync points, merged if the write succeeds
    """

    resource_id: int
    engine_id: str | None = None
    atomic_key: int | None = None
    values: dict[str, Any] | None = None
    current: bool = False
    properties: Mapping[str, Any] | None = None
    event: dict[str, Any] | None = None
    drop_attributes: int | None = None
    attributes: Mapping[str, Any] | None = None
    replacement: dict[str, Any] | None = None
    delete: bool = False
    data: Sequence[tuple[str, str | None, bool]] = ()
    merges: list[sync_points.Merge] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Written:
    """``why`` when not ``ok``: 'traversal' (not the current one any more), 'template' (gone) or 'fence'."""

    ok: bool = False
    why: str = ""
    atomic_key: int | None = None
    properties_id: int | None = None
    attributes_id: int | None = None
    replacement_id: int | None = None
    event: dict[str, Any] | None = None


@operation
def apply(
    c: Connection,
    stack_id: str,
    traversal_id: str | None,
    writes: Sequence[Write],
    merges: Sequence[sync_points.Merge] = (),
) -> tuple[list[Written], list[sync_points.Merged]]:
    """Carry out writes (in order) and merges; ``merges`` are further results whose writes happened before."""
    answers = [Written() for _ in writes]
    todo = list(zip(writes, answers, strict=True))
    refused: _Pairs = []
    if any(write.current for write in writes):
        row = sql.select(
            c, models.stack, ("current_traversal", "raw_template_id"), id=stack_id, deleted_at=None
        ).first()
        if row is None or row.current_traversal != traversal_id:
            refused = [(write, answer) for write, answer in todo if write.current]
            for _write, answer in refused:
                answer.why = "traversal"
            todo = [(write, answer) for write, answer in todo if not write.current]
    _save_properties(c, todo)
    failed = []
    for write, answer in todo:
        if not _write_row(c, write, answer):
            failed.append((write, answer))
    if may_be_done():  # the traversal may have ended since
        failed += refused
        todo += refused
    if failed:
        _recognise(c, failed)
    done = [(write, answer) for write, answer in todo if answer.ok]
    _drop(c, done)
    data = [(write.resource_id, *entry) for write, _answer in done for entry in write.data]
    if data:
        resources.set_data.within(c, data)
    rows = []
    for write, answer in done:
        if write.event is not None:
            answer.event = dict(write.event)
            if answer.properties_id is not None:
                answer.event["rsrc_prop_data_id"] = answer.properties_id
            rows.append(answer.event)
    if rows:
        events.insert_many.within(c, rows)
    todo_merges = [*merges, *(one for write, _answer in done for one in write.merges)]
    merged: list[sync_points.Merged] = []
    if todo_merges:
        assert traversal_id is not None
        merged = sync_points.merge.within(c, stack_id, traversal_id, todo_merges)
    return answers, merged


_Pairs = list[tuple[Write, Written]]


def _save_properties(c: Connection, todo: _Pairs) -> None:
    """Store new properties and attributes; rows of writes that fail are removed again in :func:`_recognise`."""
    wanted: list[tuple[Written, str, Mapping[str, Any]]] = []
    for write, answer in todo:
        if write.properties is not None:
            wanted.append((answer, "properties_id", write.properties))
        if write.attributes is not None:
            wanted.append((answer, "attributes_id", write.attributes))
    if wanted:
        ids = properties.insert_many.within(c, [data for _answer, _name, data in wanted])
        for (answer, name, _data), new_id in zip(wanted, ids, strict=True):
            setattr(answer, name, new_id)


def _write_row(c: Connection, write: Write, answer: Written) -> bool:
    if write.values is None and write.replacement is None and not write.delete:
        answer.ok = True
        answer.atomic_key = write.atomic_key
        return True
    values = dict(write.values or {})
    if answer.properties_id is not None:
        values["rsrc_prop_data_id"] = answer.properties_id
    if answer.attributes_id is not None:
        values["attr_data_id"] = answer.attributes_id
    elif write.drop_attributes is not None:
        values["attr_data_id"] = None
    if write.replacement is not None and may_be_done():
        made = sql.select(c, _resource, ("id",), uuid=write.replacement.get("uuid")).scalar()
        if made is not None:
            answer.ok, answer.replacement_id, answer.atomic_key = True, int(made), next_key(write.atomic_key)
            return True
    if write.replacement is not None:
        template_id = write.replacement.get("current_template_id")
        if template_id is not None and not sql.count(c, models.raw_template, id=template_id):
            answer.why = "template"
            return False
        answer.replacement_id = int(sql.insert(c, _resource, write.replacement))
        values["replaced_by"] = answer.replacement_id
    answer.atomic_key = values["atomic_key"] = next_key(write.atomic_key)
    answer.ok = bool(
        sql.update(c, _resource, values, id=write.resource_id, engine_id=write.engine_id, atomic_key=write.atomic_key)
    )
    if not answer.ok:
        answer.why = "fence"
        if answer.replacement_id is not None:
            sql.delete(c, _resource, id=answer.replacement_id)
            answer.replacement_id = None
    return answer.ok


#: What tells of a row whose write it was.
_TELLING = (
    "id",
    "engine_id",
    "atomic_key",
    "action",
    "status",
    "rsrc_prop_data_id",
    "attr_data_id",
    "current_template_id",
)


def _comes_to_template(row: Any, values: Mapping[str, Any]) -> bool:
    """The lock was respected, so it does not tell whose write it was; who else did the same came to the same."""
    return row.current_template_id is not None and row.current_template_id == values.get("current_template_id")


def _recognise(c: Connection, failed: _Pairs) -> None:
    """Tell our own write, committed by a try whose answer was lost, from somebody else's; clean up after the rest."""
    rows = {row.id: row for row in sql.select(c, _resource, _TELLING, id=[write.resource_id for write, _ in failed])}
    useless = []
    for write, answer in failed:
        row = rows.get(write.resource_id)
        values = write.values or {}
        if answer.why == "fence" and write.delete and row is None:
            answer.ok = True
        elif (
            answer.why in ("fence", "traversal")
            and may_be_done()  # else another visit of this engine was here: it is not this one's write
            and row is not None
            and row.atomic_key == next_key(write.atomic_key)
            and row.engine_id == values.get("engine_id", write.engine_id)
            and (row.engine_id is not None or write.engine_id is not None or _comes_to_template(row, values))
            and row.action == values.get("action", row.action)
            and row.status == values.get("status", row.status)
        ):
            answer.ok = True
            useless += [answer.properties_id, answer.attributes_id]
            answer.properties_id = row.rsrc_prop_data_id if write.properties is not None else None
            answer.attributes_id = row.attr_data_id if write.attributes is not None else None
            if write.event is not None:
                write.event = None  # it was written with the state
            continue
        else:
            useless += [answer.properties_id, answer.attributes_id]
    ids = [one for one in useless if one is not None]
    if ids:
        sql.delete(c, models.resource_properties_data, id=ids)


def _drop(c: Connection, done: _Pairs) -> None:
    stale = [write.drop_attributes for write, _ in done if write.drop_attributes is not None]
    if stale:
        sql.delete(c, models.resource_properties_data, id=stale)
    gone = [write.resource_id for write, _ in done if write.delete]
    if gone:
        resources.delete_many.within(c, gone)


# reading ------------------------------------------------------------------------------------------------------------


_ACTIVE = sa.or_(_resource.c.action != "DELETE", _resource.c.status != "COMPLETE")


@query
def load(c: Connection, resource_ids: Sequence[int], data: bool = True) -> dict[int, Record]:
    """Rows of resources by id, with stored properties, attributes and (of those that were created) data."""
    statement = resources._SELECT.where(_resource.c.id.in_(sa.bindparam("ids", expanding=True)))
    rows = resources._opened(sql.many(c.execute(statement, {"ids": list(resource_ids)})))
    if data:
        fresh = [row for row in rows if row["action"] == "INIT"]
        for row in fresh:
            row["data"] = {}
        resources._with_data(c, [row for row in rows if row["action"] != "INIT"])
    return {row["id"]: row for row in rows}


@query
def lock_state(c: Connection, resource_id: int) -> Record | None:
    """Who holds a resource, and under which template it was last processed."""
    names = (
        "id",
        "engine_id",
        "atomic_key",
        "current_template_id",
        "action",
        "status",
        "replaces",
        "replaced_by",
        "stack_id",
        "name",
        "attr_data_id",
        "created_at",
        "updated_at",
    )
    return sql.one(sql.select(c, _resource, names, id=resource_id))


@operation
def take_replaces(c: Connection, replaced_by: int, template_id: int | None) -> bool:
    """The replaced row is gone: its successor replaces nobody any more (best effort; somebody may be working on it)."""
    row = sql.select(c, _resource, ("current_template_id", "atomic_key", "engine_id"), id=replaced_by).first()
    if row is None or row.current_template_id != template_id or row.engine_id is not None:
        return False
    values = {"replaces": None, "atomic_key": next_key(row.atomic_key)}
    return bool(sql.update(c, _resource, values, id=replaced_by, engine_id=None, atomic_key=row.atomic_key))
