# SPDX-License-Identifier: Apache-2.0
"""The end of a traversal: complete, failed, or failed and rolled back.

State, event and everything that goes with the end (rows of deleted resources, sync points, the former template, the
snapshot, a deleted stack's name) are one transaction; another engine that comes to the same end finds
that the traversal is not the current one any more, or that the stack is not IN_PROGRESS, and does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.db import traversals
from openkeel_heat.db.traversals import Finish
from openkeel_heat.engine import events, hidden, lifecycle_plugins
from openkeel_heat.engine.convergence.state import Traversal

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)

ROLLED_BACK = ("CREATE", "ADOPT", "UPDATE", "RESTORE")


def roots_done(hub: Convergence, found: Traversal, failures: Mapping[str, Any] | None) -> None:
    """All roots reported."""
    if found.action == "CHECK" and failures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        fail(hub, found, f"Resource CHECK failed: {reasons}")
    else:
        complete(hub, found)


def complete(hub: Convergence, found: Traversal) -> bool:
    """The traversal reached its end; False when it is not the current one any more."""
    reason = _reason(found, f"Stack {found.action} completed successfully")
    return _finish(hub, found, "COMPLETE", reason, delete=found.action == "DELETE")


def fail(hub: Convergence, found: Traversal, reason: str) -> bool:
    """The traversal failed; starts the rollback where one is wanted. False when it is not the current one any more."""
    if found.over:
        return False
    reason = _reason(found, reason)
    if found.action in ROLLED_BACK and not found.stack.disable_rollback:
        from openkeel_heat.engine.convergence import traversal

        try:
            return traversal.fail_and_roll_back(hub, found, reason)
        except (lifecycle_plugins.Refused, traversal.CannotRollBack) as refusal:
            return _fail_without_rollback(hub, found, reason, str(refusal))
    return _finish(hub, found, "FAILED", reason)


def _fail_without_rollback(hub: Convergence, found: Traversal, reason: str, refusal: str) -> bool:
    """There is no way back, or a lifecycle plugin does not want it: the rollback has failed, too."""
    if not _finish(hub, found, "FAILED", reason):
        return False
    found.stack.current_traversal = ""  # as the end has left it
    found.stack.state_set("ROLLBACK", "FAILED", refusal)
    return True


def _finish(hub: Convergence, found: Traversal, status: str, reason: str, delete: bool = False) -> bool:
    stack = found.stack
    event = events.stack_event(stack, found.action, status, reason)
    spec = Finish(
        found.stack_id,
        found.id,
        found.action,
        status,
        reason,
        event,
        delete=delete,
        keep_credentials=not stack.owner_id,
        snapshot=_snapshot(found, status, reason),
        templates=found.templates,
    )
    done, _started = traversals.finish(spec)
    hub.forget(found.id)
    if not done:
        LOG.info("Stack %s: traversal %s is over; not set to %s_%s", stack.name, found.id, found.action, status)
        return False
    stack.action, stack.status, stack.status_reason = found.action, status, reason
    events.announce(found.context, stack, [event])
    hub.ended_operation(found.context, stack, found.action, failed=status == "FAILED")
    hub.wake(("stack", found.stack_id))
    if delete:
        hub.soon(_cleanup_credentials, found)
    return True


def end_again(hub: Convergence, found: Traversal) -> None:
    """An engine died after it wrote a stack's last state, before it cleared away (Python Heat takes several steps)."""
    stack = found.stack
    former = (stack.status,)
    LOG.info("Stack %s is %s_%s, but was not cleared away", stack.name, stack.action, stack.status)
    if stack.status == "FAILED" and found.action in ROLLED_BACK and not stack.disable_rollback:
        from openkeel_heat.engine.convergence import traversal

        traversal.roll_back(hub, found)
        return
    delete = found.action == "DELETE" and stack.status == "COMPLETE"
    done, _started = traversals.finish(
        Finish(
            found.stack_id,
            found.id,
            found.action,
            stack.status,
            stack.status_reason,
            None,
            delete=delete,
            keep_credentials=not stack.owner_id,
            former=former,
        )
    )
    if done and delete:
        _cleanup_credentials(found)


def _snapshot(found: Traversal, status: str, reason: str) -> dict[str, Any] | None:
    if found.action != "SNAPSHOT":
        return None
    data = found.stack.prepare_abandon(no_resources=True)
    data["action"] = found.action
    data["status"] = status
    return {"data": data, "action": "CREATE", "status": status, "status_reason": reason[:255]}


def _reason(found: Traversal, reason: str) -> str:
    reason = hidden.of(found.stack).text(reason)
    if found.action == "CHECK" and not _all_can_be_checked(found.stack):
        return reason + ". 'CHECK' not fully supported (see resources)"
    return reason


def _all_can_be_checked(stack: Any) -> bool:
    try:
        for resource in stack.resources.values():
            nested = resource.nested() if resource.has_nested() else None
            if not (_all_can_be_checked(nested) if nested else hasattr(resource, "handle_check")):
                return False
    except Exception:
        LOG.exception("Resources of stack %s could not be looked at", stack.name)
    return True


def _cleanup_credentials(found: Traversal) -> None:
    """Outside services come last, when nobody waits any more; what fails there is tried again by recovery."""
    from openkeel_heat.engine import credentials

    credentials.cleanup(found.context, found.stack, found.abandon)
