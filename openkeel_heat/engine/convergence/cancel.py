# SPDX-License-Identifier: Apache-2.0
"""Stopping what is under way, without waiting for it.

``stop``       the stack goes to FAILED under a traversal without nodes; running nodes end in peace and find it out
``cancel``     running nodes get an exception at their next step, in whatever engine they run; each leaves its resource
               FAILED, gives the lock back and calls again for the resource in the stack's newest traversal
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.db import resources, stacks, traversals
from openkeel_heat.engine import events
from openkeel_heat.engine.convergence.interfaces import StartRequest

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)


def cancel(hub: Convergence, context: Any, stack: Any, rollback: bool) -> None:
    """Cancel an update: roll back, or stop where it is."""
    if rollback:
        from openkeel_heat.engine.convergence import traversal

        template, template_id = traversal.rollback_template(stack)
        hub.start(context, StartRequest(stack, "ROLLBACK", template=template, template_id=template_id))
    else:
        stop_tree(hub, context, stack)


def stop_tree(hub: Convergence, context: Any, stack: Any) -> None:
    """Stop the stack's traversal and those of all stacks below it that are under way."""
    stop(hub, context, stack)
    for row in stacks.list_descendants(stack.id):
        if row["status"] == "IN_PROGRESS":
            from openkeel_heat.engine.stack import Stack

            stop(hub, context, Stack.from_row(context, row))


def stop(hub: Convergence, context: Any, stack: Any) -> bool:
    """Stop one traversal; False when another one took its place meanwhile."""
    former = stack.current_traversal or ""
    reason = f"Stack {stack.action} cancelled"
    event = events.stack_event(stack, stack.action, "FAILED", reason)
    new = str(uuid.uuid4())
    if not traversals.stop(stack.id, former, new, stack.action, reason, event):
        LOG.warning("Stack %s: its traversal is not %s any more; not stopped", stack.name, former)
        return False
    hub.forget(former)
    stack.current_traversal, stack.status, stack.status_reason = new, "FAILED", reason
    events.announce(context, stack, [event])
    hub.ended_operation(context, stack, stack.action, failed=True)
    hub.wake(("stack", stack.id))
    return True


def cancel_running(hub: Convergence, context: Any, stack_id: str, current: str | None = None) -> None:
    """Cancel the nodes of the stack's former traversals wherever they run."""
    if current is None:
        state = stacks.get_state(stack_id)
        current = state["current_traversal"] or "" if state else ""
    hub.cancel_former(stack_id, current)
    for engine_id in resources.engines_of_stack(stack_id):
        cancel_at(hub, context, stack_id, engine_id)


def cancel_at(hub: Convergence, context: Any, stack_id: str, engine_id: str) -> None:
    """Let another engine cancel the nodes of the stack's former traversals. Recovery sends a lost message again."""
    if engine_id != hub.engine_id and hub.worker_client is not None:
        try:
            hub.worker_client.cancel_check_resource(context, stack_id, engine_id)
        except Exception:
            LOG.exception("Engine %s was not told to cancel stack %s", engine_id, stack_id)
