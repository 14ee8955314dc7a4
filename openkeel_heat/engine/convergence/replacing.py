# SPDX-License-Identifier: Apache-2.0
"""Another row takes the place of a resource that cannot become what it should be.

The successor is visited in its stead and reports under its node: the graph was made before there was a successor, and
knows no replacements of replacements. So a successor that came to nothing is deleted, and what it was to replace
gets another one.
"""

from __future__ import annotations

import dataclasses
import functools
import uuid
from collections.abc import Callable, Collection, Generator
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.db import nodes
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine.convergence import writer
from openkeel_heat.engine.convergence.driver import Cancelled, Driver, TimedOut
from openkeel_heat.engine.convergence.plan import Node
from openkeel_heat.engine.convergence.state import Traversal, Visit

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)

#: So often a row that was changed meanwhile is read again.
TRIES = 10
#: The actions in which a resource can be replaced.
_REPLACING = ("CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT")


def successor_of(row: Any, found: Traversal, visit: Visit) -> Visit | None:
    """The visit to a replacement made for this traversal (the call was doubled, or its maker died)."""
    if not row["replaced_by"] or found.action not in _REPLACING:
        return None
    successor = nodes.lock_state(row["replaced_by"])
    if (
        successor is None
        or successor.replaces not in (row["id"], None)
        or successor.current_template_id != found.stack.t.id
        or (successor.action == "DELETE" and successor.status == "COMPLETE")
    ):
        return None
    if row["current_template_id"] == found.stack.t.id:
        return None
    return dataclasses.replace(visit, node=Node(successor.id, True))


def replace(
    hub: Convergence,
    found: Traversal,
    visit: Visit,
    resource: Any,
    template_id: int,
    requires: Collection[int],
    over: Callable[[], None],
) -> Generator[Any, Any, Callable[[], None] | None]:
    """Make the row of a successor; what is to be done next: visit that, or *over* if the traversal is another one."""
    record = resource.record
    successor = {
        "uuid": str(uuid.uuid4()),
        "stack_id": found.stack_id,
        "name": record.name,
        "rsrc_prop_data_id": None,
        "needed_by": [],
        "requires": sorted(requires, reverse=True),
        "replaces": record.id,
        "action": "INIT",
        "status": "COMPLETE",
        "current_template_id": template_id,
        "root_stack_id": record.root_stack_id,
    }
    write = Write(record.id, None, record.atomic_key, {}, current=True, replacement=successor)
    try:
        for _attempt in range(TRIES):
            answer, thrown = yield from writer.ask(found.writer, write)
            if thrown is not None:
                raise thrown
            if answer.ok:
                break
            if answer.why != "fence":
                return over
            state = nodes.lock_state(record.id)
            if (
                state is None
                or state.engine_id is not None
                or (state.replaced_by != record.replaced_by and state.replaced_by is not None)
            ):
                LOG.info("No replacement for %s: it is locked by a newer traversal", resource)
                return None
            write.atomic_key = state.atomic_key
        else:
            return over
    except (Cancelled, TimedOut):
        return over
    LOG.info("Replacing %s by resource %s", resource, answer.replacement_id)
    return _visiting(hub, found, visit, Node(answer.replacement_id, True))


def make_another(
    hub: Convergence, found: Traversal, visit: Visit, resource: Any, driver: Driver, key: Node
) -> Generator[Any, Any, Callable[[], None]]:
    """Delete a successor that came to nothing (its maker died over it); next is the node that it was made for."""
    from openkeel_heat.resources.kit import lifecycle

    LOG.info("%s, a replacement that came to nothing, goes", resource)
    held = yield from driver.drive(lifecycle.delete(resource))
    if held is not None:
        yield from driver.persist(held)
    return _visiting(hub, found, visit, key)


def _visiting(hub: Convergence, found: Traversal, visit: Visit, node: Node) -> Callable[[], None]:
    return functools.partial(hub.run, [dataclasses.replace(visit, node=node, attempt=0)], found)
