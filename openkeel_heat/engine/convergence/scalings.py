# SPDX-License-Identifier: Apache-2.0
"""Finishing what engines left undone of scaling by signals.

No lock is held while a group is scaled, and no traversal of its own stack is under way: only the stack of the members
is being updated, which other engines go on with anyway. What is left is told by a note in the group's resource data,
with the id of the engine that is at it (the kit's ``cooldown``). A note of a dead engine is taken over; so is one of
this engine that no task here knows.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.db import scalings
from openkeel_heat.engine.stack import Stack
from openkeel_heat.resources.kit import cooldown, stepwise

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)


def look(hub: Convergence, context: Any, former: dict[str, set[Any]], seen: dict[str, set[Any]]) -> None:
    """One look at all notes. ``former``: what the look before saw, ``seen``: what this one sees."""
    for row in scalings.under_way():
        try:
            _look_at(hub, context, row, former, seen)
        except Exception:
            LOG.exception("The scaling of %s of stack %s was not taken over", row["name"], row["stack_id"])


def _look_at(hub: Convergence, context: Any, row: Any, former: dict[str, set[Any]], seen: dict[str, set[Any]]) -> None:
    engine_id = json.loads(row["note"]).get("engine_id")
    if engine_id == hub.engine_id:
        if (row["id"], row["note"]) in cooldown.under_way:
            return
        key = f"scaling {row['id']}"
        if former.get(key) != {row["note"]}:
            seen[key] = {row["note"]}
            return
    elif engine_id is not None and hub.liveness.is_alive(engine_id):
        return
    _take_over(hub, context, row)


def _take_over(hub: Convergence, context: Any, row: Any) -> None:
    stack = Stack.load(context, row["stack_id"], use_stored_context=True)
    group = stack.resource_get(row["name"])
    if group is None or group.record.id != row["id"] or not isinstance(group, cooldown.CooldownMixin):
        return
    if group.status == group.IN_PROGRESS:
        return  # an update is under way, whose end is the end of this, too
    plan = group.take_over_scaling(row["note"], hub.engine_id)
    if plan is not None:
        LOG.info("Scaling of %s taken over", group)
        hub.scheduler.submit(_finish(group, plan))


def _finish(group: Any, plan: cooldown.Scaling) -> Generator[Any, None, None]:
    with group.frozen_properties():
        yield from stepwise.pauses(group, group.resume_scaling(plan))
