# SPDX-License-Identifier: Apache-2.0
"""Scaling groups whose size is being changed by a signal: the notes about it among the resource data."""

from __future__ import annotations

import sqlalchemy as sa

from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Connection, query
from openkeel_heat.db.sql import Record

NOTE = "scaling"


@query
def under_way(c: Connection) -> list[Record]:
    """The notes, and the resources that they are about."""
    resource, data = models.resource, models.resource_data
    statement = (
        sa.select(resource.c.id, resource.c.stack_id, resource.c.name, data.c.value.label("note"))
        .join(data, data.c.resource_id == resource.c.id)
        .where(data.c.key == NOTE)
    )
    return sql.many(c.execute(statement))
