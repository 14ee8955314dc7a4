# SPDX-License-Identifier: Apache-2.0
"""Makes rows for the tests of the database package."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from openkeel_heat.db import models, resources, session, stacks, templates

T0 = datetime(2026, 1, 1, 12, 0, 0)


def make_template(**values: Any) -> int:
    return templates.insert({"template": {"heat_template_version": "2021-04-16"}, "environment": {}, **values})


def make_stack(name: str = "s1", minutes: int = 0, tags: list[str] | None = None, **values: Any) -> str:
    row = {
        "name": name,
        "tenant": "t1",
        "raw_template_id": values.pop("raw_template_id", None) or make_template(),
        "disable_rollback": True,
        "action": "CREATE",
        "status": "COMPLETE",
        "created_at": T0 + timedelta(minutes=minutes),
        **values,
    }
    return stacks.insert(row, tags)


def make_resource(stack_id: str, name: str = "r", **values: Any) -> int:
    row = {"stack_id": stack_id, "name": name, "root_stack_id": stack_id, "action": "CREATE", "status": "COMPLETE"}
    return resources.insert({**row, **values})


def rows_of(table: sa.Table) -> list[Any]:
    with session.get_engine().connect() as c:
        return list(c.execute(sa.select(table).order_by(*table.primary_key)).all())


def counts() -> dict[str, int]:
    """Rows per table, the empty ones left out."""
    found = {}
    with session.get_engine().connect() as c:
        for name, table in models.metadata.tables.items():
            number = c.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            if number:
                found[name] = number
    return found
