# SPDX-License-Identifier: Apache-2.0
"""Services: one row per engine process, with its last heartbeat in `updated_at`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Connection, operation, query
from openkeel_heat.db.sql import Record

_service = models.service


def is_up(service: Mapping[str, Any], now: datetime | None = None) -> bool:
    """Whether the last heartbeat is not older than two report intervals."""
    last = service["updated_at"] or service["created_at"]
    age = ((now or models.utcnow()) - last).total_seconds()
    return bool(age <= 2 * service["report_interval"])


@operation
def insert(c: Connection, values: Mapping[str, Any]) -> str:
    """A new row (engine_id, host, hostname, binary, topic, report_interval); returns its id."""
    return str(sql.insert(c, _service, values))


@operation
def update(c: Connection, service_id: str, values: Mapping[str, Any]) -> bool:
    """Write columns and the time of the heartbeat; False if the row is gone."""
    return bool(sql.update(c, _service, {**values, "updated_at": models.utcnow()}, id=service_id))


@query
def get(c: Connection, service_id: str) -> Record | None:
    """The row with this id (soft-deleted or not)."""
    return sql.one(sql.select(c, _service, id=service_id))


@query
def get_by_engine(c: Connection, engine_id: str) -> Record | None:
    """The living row of an engine."""
    return sql.one(sql.select(c, _service, engine_id=engine_id, deleted_at=None))


@query
def list_services(c: Connection) -> list[Record]:
    """All rows that are not soft-deleted."""
    return sql.many(sql.select(c, _service, order="created_at", deleted_at=None))


@query
def list_by_host(c: Connection, host: str, binary: str, hostname: str) -> list[Record]:
    """All rows of a host's processes, soft-deleted ones too."""
    return sql.many(sql.select(c, _service, order="created_at", host=host, binary=binary, hostname=hostname))


@operation
def delete(c: Connection, service_id: str, soft: bool = True) -> bool:
    """Delete a row, softly unless told otherwise; False if there is none."""
    if soft:
        return bool(sql.update(c, _service, {"deleted_at": models.utcnow()}, id=service_id))
    return bool(sql.delete(c, _service, id=service_id))


@operation
def bury(c: Connection, service: Mapping[str, Any]) -> bool:
    """Delete softly the row of an engine that has fallen silent; False if it has reported meanwhile.

    Its last heartbeat stays in the row, which tells it from one that has deleted its row itself.
    """
    values = {"deleted_at": models.utcnow(), "updated_at": service["updated_at"]}
    return bool(sql.update(c, _service, values, id=service["id"], updated_at=service["updated_at"]))


@operation
def clean(c: Connection) -> int:
    """Delete softly the rows whose heartbeat stopped; returns how many."""
    now = models.utcnow()
    return sum(bury.within(c, row) for row in list_services.within(c) if not is_up(row, now))
