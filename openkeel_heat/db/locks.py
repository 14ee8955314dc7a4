# SPDX-License-Identifier: Apache-2.0
"""Stack locks: which engine is at work on a stack as a whole (one row per locked stack).

Every change compares: a lock is stolen only from the engine that was seen to hold it, and released only by its holder.
"""

from __future__ import annotations

from oslo_db import exception as db_exc

from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Abandon, Connection, operation, query

_lock = models.stack_lock


@query
def get(c: Connection, stack_id: str) -> str | None:
    """The engine that holds the stack."""
    return sql.select(c, _lock, ("engine_id",), stack_id=stack_id).scalar()


def create(stack_id: str, engine_id: str) -> str | None:
    """Take the lock; returns None when it was taken, else the id of the engine that holds it."""
    while True:
        holder = _create(stack_id, engine_id)
        if holder is not _RACE:
            return holder


_RACE = "\0race"


@operation
def _create(c: Connection, stack_id: str, engine_id: str) -> str | None:
    holder = get.within(c, stack_id)
    if holder is not None:
        return holder
    try:
        sql.insert(c, _lock, {"stack_id": stack_id, "engine_id": engine_id})
    except db_exc.DBDuplicateEntry:  # another engine was first; it may even have released the lock by now
        raise Abandon(_RACE) from None
    return None


@operation
def steal(c: Connection, stack_id: str, old_engine_id: str, new_engine_id: str) -> str | bool | None:
    """Take the lock from an engine; None when done, else the present holder's id, True if the lock is gone."""
    if sql.update(c, _lock, {"engine_id": new_engine_id}, stack_id=stack_id, engine_id=old_engine_id):
        return None
    return get.within(c, stack_id) or True


@operation
def release(c: Connection, stack_id: str, engine_id: str) -> bool:
    """Release the lock; False if the engine did not hold it."""
    return bool(sql.delete(c, _lock, stack_id=stack_id, engine_id=engine_id))
