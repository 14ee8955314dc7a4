# SPDX-License-Identifier: Apache-2.0
"""Rows of stacks that the old engine (without traversals) made, rewritten as the convergent one has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from openkeel_heat.db import models, resources, sql, templates
from openkeel_heat.db.session import Connection, operation


@dataclasses.dataclass
class Changes:
    """What becomes of one stack: ``requires`` per resource id; ``gone`` are ids that its template does not know."""

    stack_id: str
    traversal_id: str
    template_id: int
    previous_template_id: int | None
    requires: Mapping[int, Sequence[int]]
    gone: Sequence[int]


@operation
def migrate(c: Connection, stacks: Sequence[Changes]) -> None:
    """All stacks of a tree, or none."""
    for stack in stacks:
        for resource_id, requires in stack.requires.items():
            values = {"current_template_id": stack.template_id, "requires": list(requires)}
            sql.update(c, models.resource, values, id=resource_id)
        resources.delete_many.within(c, list(stack.gone))
        values = {"convergence": True, "current_traversal": stack.traversal_id, "prev_raw_template_id": None}
        sql.update(c, models.stack, values, id=stack.stack_id)
        templates.delete_unreferenced.within(c, [stack.previous_template_id])
