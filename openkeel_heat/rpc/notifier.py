# SPDX-License-Identifier: Apache-2.0
"""Notifications: what happens to stacks, for billing, audit and dashboards.

Nothing is made or sent where ``[oslo_messaging_notifications] driver`` is empty; ask :func:`enabled` before you compose
a body that costs something.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from openkeel_heat.rpc import messaging

SERVICE = "orchestration"
INFO = "INFO"
ERROR = "ERROR"

_SUFFIXES = {"IN_PROGRESS": "start", "COMPLETE": "end"}


def enabled() -> bool:
    return messaging.notifier() is not None


def publisher_id() -> str:
    return cfg.CONF.default_publisher_id or f"{SERVICE}.{cfg.CONF.host}"


def default_level() -> str:
    return str(cfg.CONF.default_notification_level).upper()


def suffix_of(status: str) -> str:
    """``start``, ``end`` or ``error`` for the status of a stack."""
    return _SUFFIXES.get(status, "error")


def notify(context: Any, event_type: str, level: str | None, body: dict[str, Any]) -> None:
    """Send ``orchestration.<event_type>``."""
    notifier = messaging.notifier()
    if notifier is None:
        return
    message = messaging.Message("notify", SERVICE, f"{SERVICE}.{event_type}", body)
    for watcher in messaging.watchers:
        watcher.before_send(message)
    send = getattr(notifier.prepare(publisher_id=publisher_id()), (level or default_level()).lower())
    send(context, message.method, body)
    for watcher in messaging.watchers:
        watcher.after_send(message)


def notify_stack(context: Any, action: str, status: str, body: dict[str, Any]) -> None:
    """Send ``orchestration.stack.<action>.<start|end|error>``."""
    suffix = suffix_of(status)
    notify(context, f"stack.{action.lower()}.{suffix}", ERROR if suffix == "error" else default_level(), body)


def notify_autoscaling(
    context: Any,
    body: dict[str, Any],
    suffix: str | None = None,
    adjustment: Any = None,
    adjustment_type: str | None = None,
    capacity: int | None = None,
    groupname: str | None = None,
    message: str = "error",
) -> None:
    """Send ``orchestration.autoscaling.<start|end|error>``: *body* of the stack, and what the group is told to do."""
    body = {
        **body,
        "adjustment_type": adjustment_type,
        "adjustment": adjustment,
        "capacity": capacity,
        "groupname": groupname,
        "message": message,
    }
    notify(context, f"autoscaling.{suffix}", ERROR if suffix == "error" else default_level(), body)
