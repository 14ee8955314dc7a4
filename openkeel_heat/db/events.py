# SPDX-License-Identifier: Apache-2.0
"""Events: what happened to stacks and resources.

Records are rows of ``event`` without their keys to other tables; with ``properties=True`` they also have
``resource_properties_data`` (decrypted).

A stack keeps about ``max_events_per_stack`` events: from time to time an INSERT that finds more of them removes the
``event_purge_batch_size`` oldest, and the stored properties that only they referred to.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy.sql.elements import ColumnElement

from openkeel_heat.db import models, properties, sql
from openkeel_heat.db.session import Connection, may_be_done, operation, query
from openkeel_heat.db.sql import Record

_event = models.event
_stored = models.resource_properties_data
_UNREAD = ("id", "resource_properties", "rsrc_prop_data_id", "updated_at")
_COLUMNS = tuple(column for column in _event.c if column.name not in _UNREAD)

SORT_KEYS = {"event_time": "created_at", "resource_type": "resource_type"}

FILTER_KEYS = {
    **{name: name for name in ("id", "uuid", "stack_id", "resource_action", "resource_status", "resource_name",
                               "physical_resource_id", "resource_status_reason", "resource_type")},
    "resource_id": "physical_resource_id",
}  # fmt: skip


def _prepared(values: Mapping[str, Any]) -> dict[str, Any]:
    reason = values.get("resource_status_reason")
    return {**values, "resource_status_reason": str(reason) if reason else ""}


def tells_it_is_done(c: Connection, values: Mapping[str, Any] | None) -> bool:
    """Did the commit of an operation come through, whose answer got lost? The event that it writes is there then.

    Each event is made once, with an id of its own, so it tells an operation that is tried again from any other.
    """
    return may_be_done() and values is not None and bool(sql.count(c, _event, uuid=values["uuid"]))


@operation
def insert(c: Connection, values: Mapping[str, Any]) -> int:
    """Insert an event (its reason is cut to what the column holds); returns its id."""
    if may_be_done() and (found := sql.select(c, _event, ("id",), uuid=values.get("uuid")).scalar()) is not None:
        return int(found)
    _purge_now_and_then(c, [values])
    return int(sql.insert(c, _event, _prepared(values)))


@operation
def insert_many(c: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert events in one statement."""
    if may_be_done():
        there = set(sql.select(c, _event, ("uuid",), uuid=[one.get("uuid") for one in rows]).scalars())
        rows = [one for one in rows if one.get("uuid") not in there]
    _purge_now_and_then(c, rows)
    sql.insert_many(c, _event, [_prepared(values) for values in rows])


# reading ----------------------------------------------------------------------------------------------------------


def _page(
    c: Connection,
    conditions: Sequence[ColumnElement[bool]],
    limit: int | None,
    marker: str | None,
    sort_keys: str | Sequence[str] | None,
    sort_dir: str | None,
    with_properties: bool,
) -> list[Record]:
    wanted = [sort_keys] if isinstance(sort_keys, str) else sort_keys or ()
    keys = [SORT_KEYS[key] for key in wanted if key in SORT_KEYS]
    descending = sql.direction(sort_dir, "asc" if keys else "desc")
    columns = [_event.c[key] for key in keys or ["created_at"]] + [_event.c.id]
    after = None
    if marker is not None:
        after = c.execute(sa.select(*columns).where(_event.c.uuid == marker)).first()
    statement = sa.select(*_COLUMNS).where(*conditions)
    if with_properties:
        statement = statement.add_columns(_stored.c.data.label("_data"), _stored.c.encrypted.label("_encrypted"))
        statement = statement.outerjoin(_stored, _stored.c.id == _event.c.rsrc_prop_data_id)
    statement = sql.page(statement, columns, after, descending)
    statement = sql.limited(statement, limit)
    found = sql.many(c.execute(statement))
    if with_properties:
        for row in found:
            row["resource_properties_data"] = properties.opened(row.pop("_data"), row.pop("_encrypted"))
    return found


@query
def list_by_stacks(
    c: Connection,
    stack_ids: str | Sequence[str],
    *,
    limit: int | None = None,
    marker: str | None = None,
    sort_keys: str | Sequence[str] | None = None,
    sort_dir: str | None = None,
    filters: Mapping[str, Any] | None = None,
    properties: bool = False,
) -> list[Record]:
    """A page of the events of one or more stacks; newest first unless sort keys say otherwise. The marker is a uuid."""
    ids = [stack_ids] if isinstance(stack_ids, str) else list(stack_ids)
    mine = _event.c.stack_id == ids[0] if len(ids) == 1 else _event.c.stack_id.in_(ids)
    conditions = [mine, *sql.filters(_event, filters, FILTER_KEYS)]
    return _page(c, conditions, limit, marker, sort_keys, sort_dir, properties)


@query
def list_by_tenant(
    c: Connection,
    tenant: str,
    *,
    limit: int | None = None,
    marker: str | None = None,
    sort_keys: str | Sequence[str] | None = None,
    sort_dir: str | None = None,
    filters: Mapping[str, Any] | None = None,
    properties: bool = False,
) -> list[Record]:
    """A page of the events of all living stacks of a project."""
    alive = sa.select(models.stack.c.id).where(models.stack.c.tenant == tenant, models.stack.c.deleted_at.is_(None))
    conditions = [_event.c.stack_id.in_(alive), *sql.filters(_event, filters, FILTER_KEYS)]
    return _page(c, conditions, limit, marker, sort_keys, sort_dir, properties)


@query
def get(c: Connection, uuid: str, stack_id: str | None = None) -> Record | None:
    """The event with this uuid, with its properties."""
    conditions: list[ColumnElement[bool]] = [_event.c.uuid == uuid]
    if stack_id is not None:
        conditions.append(_event.c.stack_id == stack_id)
    found = _page(c, conditions, 1, None, None, None, True)
    return found[0] if found else None


@query
def last_of(c: Connection, stack_id: str, stack_name: str, name: str, reasons: Sequence[str]) -> str | None:
    """The last of these reasons among the events of a resource since the stack's present action began."""
    started = sa.and_(
        _event.c.resource_name == stack_name,
        _event.c.physical_resource_id == stack_id,
        _event.c.resource_status == "IN_PROGRESS",
    )
    wanted = sa.and_(_event.c.resource_name == name, _event.c.resource_status_reason.in_(list(reasons)))
    row = c.execute(
        sa.select(_event.c.resource_status_reason.label("reason"))
        .where(_event.c.stack_id == stack_id, sa.or_(started, wanted))
        .order_by(_event.c.id.desc())
        .limit(1)
    ).first()
    return row.reason if row is not None and row.reason in reasons else None


@query
def began(c: Connection, stack_id: str, stack_name: str, name: str) -> bool:
    """Has a resource begun something since the stack's present action began?"""
    of_stack = sa.and_(_event.c.resource_name == stack_name, _event.c.physical_resource_id == stack_id)
    row = c.execute(
        sa.select(of_stack.label("of_stack"))
        .where(_event.c.stack_id == stack_id, _event.c.resource_status == "IN_PROGRESS")
        .where(sa.or_(of_stack, _event.c.resource_name == name))
        .order_by(_event.c.id.desc())
        .limit(1)
    ).first()
    return row is not None and not row.of_stack


@query
def count(c: Connection, stack_id: str) -> int:
    """How many events a stack has."""
    return sql.count(c, _event, stack_id=stack_id)


# purging ----------------------------------------------------------------------------------------------------------


def _option(name: str, default: int) -> int:
    try:
        return int(getattr(cfg.CONF, name))
    except cfg.NoSuchOptError:
        return default


def _purge_now_and_then(c: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Every (batch size / 2)th INSERT of a stack, on average, looks whether there are too many events."""
    most = _option("max_events_per_stack", 1000)
    if not most:
        return
    batch = _option("event_purge_batch_size", 200)
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["stack_id"]] = counts.get(row["stack_id"], 0) + 1
    for stack_id, added in counts.items():
        if random.uniform(0, 1) < 2.0 * added / batch and sql.count(c, _event, stack_id=stack_id) >= most:
            _purge(c, stack_id, max(batch, 2 * added))  # on average twice what comes


@operation
def purge(c: Connection, stack_id: str, limit: int) -> int:
    """Remove the oldest events of a stack; returns how many went."""
    return _purge(c, stack_id, limit)


def _purge(c: Connection, stack_id: str, limit: int) -> int:
    oldest = c.execute(
        sa.select(_event.c.id, _event.c.rsrc_prop_data_id)
        .where(_event.c.stack_id == stack_id)
        .order_by(_event.c.id)
        .limit(limit)
    ).all()
    if not oldest:
        return 0
    gone = c.execute(sa.delete(_event).where(_event.c.stack_id == stack_id, _event.c.id <= oldest[-1].id)).rowcount
    delete_unreferenced_properties(c, {row.rsrc_prop_data_id for row in oldest})
    return gone


def delete_unreferenced_properties(c: Connection, ids: set[Any]) -> None:
    """Delete those rows of ``resource_properties_data`` that no event and no resource refers to."""
    ids = {i for i in ids if i is not None}
    resource = models.resource.c
    for column in (_event.c.rsrc_prop_data_id, resource.rsrc_prop_data_id, resource.attr_data_id):
        ids -= sql.referenced(c, column, ids)
    if ids:
        sql.delete(c, _stored, id=ids)
