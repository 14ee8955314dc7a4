# SPDX-License-Identifier: Apache-2.0
"""Rows of stacks that the old engine (without traversals) made, rewritten as the convergent one has them.

The old engine kept what an unfinished update had replaced in a *backup stack*, a child named like its stack with a
star. Its resources become rows of the stack itself that are replaced already: the next traversal cleans them up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from openkeel_heat.db import models, resources, sql, templates
from openkeel_heat.db.session import Connection, operation, query
from openkeel_heat.db.sql import Record


@dataclasses.dataclass
class Changes:
    """What becomes of one stack.

    ``requires``  requirements by resource id
    ``gone``      ids of rows that its template does not know
    ``backup``    the backup stack's id, and its resources: id -> (requirements, the row that replaces it or None)
    ``values``    further columns of the stack
    """

    stack_id: str
    traversal_id: str
    template_id: int
    previous_template_id: int | None
    requires: Mapping[int, Sequence[int]]
    gone: Sequence[int]
    backup_id: str | None = None
    backup_template_id: int | None = None
    backup: Mapping[int, tuple[Sequence[int], int | None]] = dataclasses.field(default_factory=dict)
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@query
def backup_of(c: Connection, stack_id: str) -> Record | None:
    """The living backup stack of a stack."""
    table = models.stack
    statement = sa.select(*(column for column in table.c if column.name != "current_deps")).where(
        table.c.owner_id == stack_id, table.c.backup.is_(sa.true()), table.c.deleted_at.is_(None)
    )
    return sql.one(c.execute(statement))


@operation
def migrate(c: Connection, stacks: Sequence[Changes]) -> None:
    """All stacks of a tree, or none."""
    for stack in stacks:
        _migrate(c, stack)


def _migrate(c: Connection, stack: Changes) -> None:
    for resource_id, requires in stack.requires.items():
        values = {"current_template_id": stack.template_id, "requires": list(requires)}
        sql.update(c, models.resource, values, id=resource_id)
    resources.delete_many.within(c, list(stack.gone))
    if stack.backup_id is not None:
        for resource_id, (requires, replaced_by) in stack.backup.items():
            sql.update(
                c,
                models.resource,
                {
                    "stack_id": stack.stack_id,
                    "current_template_id": stack.backup_template_id,
                    "requires": list(requires),
                    "replaced_by": replaced_by,
                },
                id=resource_id,
            )
        sql.update(c, models.stack, {"deleted_at": models.utcnow()}, id=stack.backup_id)
    values = {
        **stack.values,
        "convergence": True,
        "current_traversal": stack.traversal_id,
        "prev_raw_template_id": None,
    }
    sql.update(c, models.stack, values, id=stack.stack_id)
    templates.delete_unreferenced.within(c, [stack.previous_template_id])
