# SPDX-License-Identifier: Apache-2.0
"""What an engine looks for when others died or messages got lost."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from openkeel_heat.db import models, sql
from openkeel_heat.db.resources import next_key
from openkeel_heat.db.session import Connection, operation, query
from openkeel_heat.db.sql import Record

_stack = models.stack
_resource = models.resource


#: As many at a time.
_SOME = 100

#: What is to be known of a resource that an engine holds.
_HELD = (
    "id",
    "stack_id",
    "engine_id",
    "atomic_key",
    "name",
    "action",
    "status",
    "replaces",
    "replaced_by",
    "current_template_id",
)


@query
def locked(c: Connection, not_by: str) -> list[Record]:
    """Resources that other engines hold."""
    statement = sa.select(*(_resource.c[name] for name in _HELD)).where(
        _resource.c.engine_id.is_not(None), _resource.c.engine_id != not_by
    )
    return sql.many(c.execute(statement))


@query
def in_progress(c: Connection) -> list[Record]:
    """Convergence stacks whose action is under way."""
    columns = ("id", "name", "action", "status", "current_traversal", "timeout", "created_at", "updated_at", "owner_id")
    statement = sa.select(*(_stack.c[name] for name in columns)).where(
        _stack.c.status == "IN_PROGRESS", _stack.c.deleted_at.is_(None), _stack.c.convergence.is_(sa.true())
    )
    return sql.many(c.execute(statement))


@query
def holders(c: Connection, stack_id: str) -> list[Record]:
    """Resources of a stack that an engine holds."""
    columns = ("id", "engine_id", "atomic_key", "action", "status", "replaces", "replaced_by")
    statement = sa.select(*(_resource.c[name] for name in columns)).where(
        _resource.c.stack_id == stack_id, _resource.c.engine_id.is_not(None)
    )
    return sql.many(c.execute(statement))


@query
def leftovers(c: Connection, older_than: datetime) -> list[Record]:
    """Traversals that left sync points though their stack is at rest: of the last traversal, or of an old one."""
    point = models.sync_point
    statement = (
        sa.select(
            _stack.c.id,
            _stack.c.action,
            _stack.c.status,
            _stack.c.current_traversal,
            point.c.traversal_id,
            sa.func.min(point.c.created_at).label("since"),
        )
        .join(point, point.c.stack_id == _stack.c.id)
        .where(_stack.c.status != "IN_PROGRESS", _stack.c.convergence.is_(sa.true()))
        .group_by(_stack.c.id, _stack.c.action, _stack.c.status, _stack.c.current_traversal, point.c.traversal_id)
    )
    found = sql.many(c.execute(statement))
    return [row for row in found if row["traversal_id"] == row["current_traversal"] or row["since"] < older_than]


@operation
def steal(c: Connection, resource_id: int, atomic_key: int | None, from_engine: str, to_engine: str | None) -> bool:
    """Take a lock over from a dead engine (or give it up, to None), comparing engine and atomic key."""
    values = {"engine_id": to_engine, "atomic_key": next_key(atomic_key)}
    return bool(sql.update(c, _resource, values, id=resource_id, engine_id=from_engine, atomic_key=atomic_key))


@query
def said_goodbye(c: Connection, engine_id: str) -> bool:
    """Is the engine known, and it has deleted all its rows in ``service`` itself?

    Those of an engine that has fallen silent are deleted by others. It may have been too busy to report, and still be
    at work on what it holds: it is to be asked.
    """
    names = ("created_at", "updated_at", "deleted_at", "report_interval")
    rows = sql.select(c, models.service, names, engine_id=engine_id).all()
    return bool(rows) and all(_went_in_time(row) for row in rows)


def _went_in_time(row: Any) -> bool:
    if row.deleted_at is None:
        return False
    silent = (row.deleted_at - (row.updated_at or row.created_at)).total_seconds()
    return bool(silent <= 2 * row.report_interval)


@query
def rows_of_stack(c: Connection, stack_id: str) -> list[Record]:
    """Ids, names and successors of a stack's resources."""
    return sql.many(sql.select(c, _resource, ("id", "name", "replaced_by"), order="id", stack_id=stack_id))


@query
def stack_of_sync_point(c: Connection, entity_id: str, traversal_id: str) -> str | None:
    """The stack that a sync point belongs to."""
    found = sql.select(c, models.sync_point, ("stack_id",), entity_id=entity_id, traversal_id=traversal_id).first()
    return None if found is None else str(found.stack_id)


@query
def dying_snapshots(c: Connection) -> list[str]:
    """Snapshots whose deletion is under way."""
    found = sql.select(c, models.snapshot, ("id",), action="DELETE", status="IN_PROGRESS")
    return [str(one) for one in found.scalars()]


@query
def abandoned_snapshots(c: Connection) -> list[str]:
    """Snapshots that are being made, but not by their stack's current traversal."""
    snapshot = models.snapshot.c
    statement = (
        sa.select(snapshot.id)
        .join(_stack, _stack.c.id == snapshot.stack_id)
        .where(snapshot.status == "IN_PROGRESS", sa.or_(snapshot.action.is_(None), snapshot.action == "CREATE"))
        .where(sa.or_(_stack.c.current_traversal.is_(None), _stack.c.current_traversal != snapshot.id))
    )
    return [str(one) for one in c.execute(statement).scalars()]


@query
def locked_by(c: Connection, engine_id: str) -> list[Record]:
    """Resources that an engine holds."""
    return sql.many(sql.select(c, _resource, _HELD, engine_id=engine_id))


@query
def successors(c: Connection, stack_id: str) -> dict[int, list[int]]:
    """For each resource that is being replaced: the ids of those that replace it."""
    statement = sa.select(_resource.c.id, _resource.c.replaces).where(
        _resource.c.stack_id == stack_id, _resource.c.replaces.is_not(None)
    )
    found: dict[int, list[int]] = {}
    for row in c.execute(statement):
        found.setdefault(row.replaces, []).append(row.id)
    return found


@query
def uncleaned(c: Connection, since: datetime) -> list[str]:
    """Root stacks deleted since then that still name credentials: these, and the project of their users, are to go."""
    statement = sa.select(_stack.c.id).where(
        _stack.c.deleted_at >= since, _stack.c.user_creds_id.is_not(None), _stack.c.owner_id.is_(None),
        _stack.c.action == "DELETE", _stack.c.status == "COMPLETE",
    )  # fmt: skip
    return [str(one) for one in c.execute(statement).scalars()]


@query
def ownerless_credentials(c: Connection, older_than: datetime) -> list[int]:
    """Credentials that no stack names, deleted ones included: their engine died before it had stored the stack."""
    creds = models.user_creds.c
    named = sa.select(_stack.c.user_creds_id).where(_stack.c.user_creds_id.is_not(None))
    statement = sa.select(creds.id).where(creds.created_at < older_than, creds.id.not_in(named))
    return [int(one) for one in c.execute(statement.order_by(creds.id).limit(_SOME)).scalars()]
