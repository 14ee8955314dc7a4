# SPDX-License-Identifier: Apache-2.0
"""Events: what happened to a stack or a resource, as a row, and afterwards as a notification and to event sinks.

A state and its event are written in ONE transaction, and nothing is announced that did not happen::

    row = events.stack_event(stack, "CREATE", "COMPLETE", text)  # or resource_event(resource, ...)
    ...                                                          # db.events.insert.within(c, row) beside the state
    events.announce(context, stack, [row])                       # after the commit

An event that stands alone (a signal, a hook) is written and announced by :func:`record`.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock
from openkeel_heat.engine import hidden
from openkeel_heat.rpc import notifier

LOG = logging.getLogger(__name__)

STACK_TYPE = "OS::Heat::Stack"
_REASON_LENGTH = 255


def _row(
    stack_id: str | None,
    action: str,
    status: str,
    reason: Any,
    name: str,
    type_name: str,
    physical_id: str | None,
    properties_id: int | None = None,
) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid4()),
        "created_at": clock.utcnow(),
        "stack_id": stack_id,
        "resource_action": action,
        "resource_status": status,
        "resource_name": name,
        "physical_resource_id": physical_id,
        "resource_status_reason": str(reason)[:_REASON_LENGTH] if reason else "",
        "resource_type": type_name,
        "rsrc_prop_data_id": properties_id,
    }


def stack_event(stack: Any, action: str, status: str, reason: Any) -> dict[str, Any]:
    """The ``event`` row for a change of the stack's own state."""
    return _row(stack.id, action, status, hidden.of(stack).text(reason), stack.name, STACK_TYPE, stack.id)


def resource_event(
    resource: Any, action: str, status: str, reason: Any, physical_resource_id: str | None = None
) -> dict[str, Any]:
    """The ``event`` row for a resource: its physical id (or name, while there is none), type and stored properties."""
    record = resource.record
    physical_id = physical_resource_id or record.nova_instance
    if physical_id is None:
        physical_id = resource.physical_resource_name()
    reason = hidden.of(resource.stack).text(reason)
    return _row(
        resource.stack.id, action, status, reason, resource.name, resource.type(), physical_id, record.rsrc_prop_data_id
    )


def record(context: Any, stack: Any, *rows: dict[str, Any]) -> None:
    """Write events in a transaction of their own, then announce them."""
    from openkeel_heat.db import events as db

    db.insert_many(list(rows))
    announce(context, stack, rows)


def announce(context: Any, stack: Any, rows: Iterable[Mapping[str, Any]]) -> None:
    """After the commit: notifications for the stack's own changes, and every event to the sinks. Never raises."""
    try:
        rows = list(rows)
        notifying = notifier.enabled()
        for row in rows:
            if row["resource_type"] == STACK_TYPE and row["physical_resource_id"] == row["stack_id"]:
                LOG.info(
                    "Stack %s %s (%s): %s",
                    row["resource_action"],
                    row["resource_status"],
                    stack.name,
                    row["resource_status_reason"],
                )
                if notifying:
                    _notify(context, stack, row)
        sinks = _sinks_of(stack)
        if sinks:
            for row in rows:
                _dispatcher.put(context, sinks, sink_message(row))
    except Exception:
        LOG.exception("Announcing an event of stack %s failed", getattr(stack, "id", None))


# notifications ------------------------------------------------------------------------------------------------------
def notification_body(stack: Any, action: str | None, status: str | None, reason: str) -> dict[str, Any]:
    """What a notification says of a stack in this state."""
    context = stack.context
    body = {
        "tenant_id": context.project_id,
        "user_id": context.username,
        "user_identity": context.user_id,
        "username": context.username,
        "stack_identity": stack.id,
        "stack_name": stack.name,
        "state": f"{action}_{status}" if action and status else "Unknown",
        "state_reason": reason,
        "create_at": clock.isotime(stack.created_time),
        "tags": stack.tags,
        "updated_at": clock.isotime(stack.updated_time),
    }
    if stack.t is not None:
        body["description"] = stack.t[stack.t.DESCRIPTION]
    return body


def _notify(context: Any, stack: Any, row: Mapping[str, Any]) -> None:
    """Send ``orchestration.stack.<action>.<start|end|error>``; with the whole reason where the stack still has it."""
    action, status, reason = row["resource_action"], row["resource_status"], row["resource_status_reason"]
    if stack.status_reason and stack.status_reason.startswith(reason):
        reason = stack.status_reason
    notifier.notify_stack(context, action, status, notification_body(stack, action, status, reason))


def announce_scaling(stack: Any, suffix: str, what: Mapping[str, Any]) -> None:
    """Send ``orchestration.autoscaling.<start|end|error>`` for a group of the stack. Never raises."""
    try:
        if notifier.enabled():
            body = notification_body(stack, stack.action, stack.status, stack.status_reason)
            notifier.notify_autoscaling(stack.context, body, suffix, **what)
    except Exception:
        LOG.exception("Telling of the scaling of %s failed", what.get("groupname"))


# sinks --------------------------------------------------------------------------------------------------------------
def sink_message(row: Mapping[str, Any], properties: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a sink consumes."""
    return {
        "timestamp": row["created_at"].isoformat(),
        "version": "0.1",
        "type": "os.heat.event",
        "id": row["uuid"],
        "payload": {
            "resource_name": row["resource_name"],
            "physical_resource_id": row["physical_resource_id"],
            "stack_id": row["stack_id"],
            "resource_action": row["resource_action"],
            "resource_status": row["resource_status"],
            "resource_status_reason": row["resource_status_reason"],
            "resource_type": row["resource_type"],
            "resource_properties": dict(properties or {}),
            "version": "0.1",
        },
    }


def _sinks_of(stack: Any) -> list[Any]:
    if stack.t is None:
        return []
    return list(stack.env.get_event_sinks())


class _Dispatcher:
    """One thread for all sinks, alive only while there is something to deliver."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Any, list[Any], dict[str, Any]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, context: Any, sinks: list[Any], message: dict[str, Any]) -> None:
        with self._lock:
            self._queue.put((context, sinks, message))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="event-sinks", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                context, sinks, message = self._queue.get(timeout=5)
            except queue.Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            for sink in sinks:
                try:
                    sink.consume(context, message)
                except Exception as error:
                    LOG.warning("An event sink failed: %s", error)


_dispatcher = _Dispatcher()
