# SPDX-License-Identifier: Apache-2.0
"""Removes for good what was deleted softly, with everything that belonged to it.

Stacks go in batches, one transaction each. Afterwards rows that nothing refers to any more go too: templates and stored
properties that an update or an engine's death left behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db import models, sql, templates
from openkeel_heat.db.events import delete_unreferenced_properties
from openkeel_heat.db.session import Connection, operation, query

LOG = logging.getLogger(__name__)

GRANULARITIES = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}

#: A row that a request just wrote may be referred to only at the request's end, not later than its RPC time-out.
ORPHAN_AGE = timedelta(seconds=60)

_SWEEP_BATCH = 500


def _positive(value: Any, name: str) -> int:
    try:
        number = int(value)
    except ValueError:
        raise exceptions.Error(_("%s should be an integer") % name) from None
    if number < 0:
        raise exceptions.Error(_("%s should be a positive integer") % name)
    return number


def purge_deleted(
    age: Any, granularity: str = "days", project_id: str | None = None, batch_size: Any = 20
) -> dict[str, int]:
    """Purge what was deleted longer ago than `age`; returns how many stacks, templates and properties went.

    `batch_size` is the number of stacks per transaction, 0 stands for all of them. With a project only its stacks go.
    """
    seconds = _positive(age, "age")
    batch = _positive(batch_size, "batch_size")
    if granularity not in GRANULARITIES:
        raise exceptions.Error(_("granularity should be days, hours, minutes, or seconds"))
    before = models.utcnow() - timedelta(seconds=seconds * GRANULARITIES[granularity])
    purge_services(before)
    gone = {"stacks": 0, "templates": 0, "properties": 0}
    while ids := expired_stacks(before, project_id, batch or None):
        LOG.info("Purging stacks %s", ", ".join(ids))
        purge_stacks(ids)
        gone["stacks"] += len(ids)
    if project_id is None:
        orphaned = min(before, models.utcnow() - ORPHAN_AGE)
        while count := purge_orphaned_templates(orphaned):
            gone["templates"] += count
        while count := purge_orphaned_properties(orphaned):
            gone["properties"] += count
    return gone


@operation
def purge_services(c: Connection, before: datetime) -> int:
    """Delete the services that were deleted softly before a time."""
    return c.execute(sa.delete(models.service).where(models.service.c.deleted_at < before)).rowcount


@query
def expired_stacks(c: Connection, before: datetime, tenant: str | None = None, limit: int | None = None) -> list[str]:
    """Ids of stacks that were deleted softly before a time, longest ago first."""
    stack = models.stack.c
    statement = sa.select(stack.id).where(stack.deleted_at < before).order_by(stack.deleted_at, stack.id).limit(limit)
    if tenant:
        statement = statement.where(stack.tenant == tenant)
    return list(c.execute(statement).scalars())


@operation
def purge_stacks(c: Connection, stack_ids: Sequence[str]) -> None:
    """Delete stacks and all that is theirs, whatever state it is in."""
    ids = list(stack_ids)
    names = ("id", "raw_template_id", "prev_raw_template_id", "user_creds_id")
    stacks = sql.select(c, models.stack, names, id=ids).all()
    names = ("id", "rsrc_prop_data_id", "attr_data_id", "current_template_id")
    resources = sql.select(c, models.resource, names, stack_id=ids).all()
    stored = {row.rsrc_prop_data_id for row in resources} | {row.attr_data_id for row in resources}
    stored |= set(sql.select(c, models.event, ("rsrc_prop_data_id",), stack_id=ids).scalars())

    for table in (models.stack_lock, models.stack_tag, models.sync_point, models.event):
        sql.delete(c, table, stack_id=ids)
    snapshots = list(sql.select(c, models.snapshot, ("id",), stack_id=ids).scalars())
    if snapshots:
        sql.delete(c, models.resource_snapshot, snapshot_id=snapshots)
        sql.delete(c, models.snapshot, id=snapshots)
    if resources:
        sql.delete(c, models.resource_data, resource_id=[row.id for row in resources])
        sql.delete(c, models.resource, stack_id=ids)
    delete_unreferenced_properties(c, stored)
    sql.delete(c, models.stack, id=ids)

    used: set[int | None] = {row.current_template_id for row in resources}
    used |= {row.raw_template_id for row in stacks} | {row.prev_raw_template_id for row in stacks}
    templates.delete_unreferenced.within(c, used)
    creds = {row.user_creds_id for row in stacks if row.user_creds_id is not None}
    if creds:
        creds -= sql.referenced(c, models.stack.c.user_creds_id, creds)
    if creds:
        sql.delete(c, models.user_creds, id=creds)


def _unreferenced(table: sa.Table, before: datetime, *columns: sa.Column[Any]) -> sa.Select[Any]:
    """Ids of rows written before a time that none of the columns refers to."""
    free = [table.c.id.not_in(sa.select(column).where(column.is_not(None))) for column in columns]
    return sa.select(table.c.id).where(table.c.created_at < before, *free).order_by(table.c.id).limit(_SWEEP_BATCH)


@operation
def purge_orphaned_templates(c: Connection, before: datetime) -> int:
    """Delete some templates, and some files, that nothing refers to; returns how many."""
    stack, resource = models.stack.c, models.resource.c
    used = (stack.raw_template_id, stack.prev_raw_template_id, resource.current_template_id)
    ids = list(c.execute(_unreferenced(models.raw_template, before, *used)).scalars())
    count = len(templates.delete_unreferenced.within(c, ids))
    files = models.raw_template_files
    ids = list(c.execute(_unreferenced(files, before, models.raw_template.c.files_id)).scalars())
    return count + (sql.delete(c, files, id=ids) if ids else 0)


@operation
def purge_orphaned_properties(c: Connection, before: datetime) -> int:
    """Delete some stored properties that nothing refers to; returns how many."""
    event, resource = models.event.c, models.resource.c
    table = models.resource_properties_data
    used = (event.rsrc_prop_data_id, resource.rsrc_prop_data_id, resource.attr_data_id)
    ids = list(c.execute(_unreferenced(table, before, *used)).scalars())
    return sql.delete(c, table, id=ids) if ids else 0
