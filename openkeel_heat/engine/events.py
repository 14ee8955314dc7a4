# SPDX-License-Identifier: Apache-2.0
"""Events: what happened to a stack or a resource, as a row, and afterwards as a notification and to event sinks.

A state and its event are written in ONE transaction; nothing is announced that did not happen:

    pending = events.of_stack(stack, "CREATE", "COMPLETE", reason)      # or of_resource(resource, action, status, reason)
    ... in the operation that writes the state:  db.events.insert.within(c, pending.values)
    ... after its commit:                         events.announce(pending)

or, when the event stands alone (signals, hooks):  events.record(pending)
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class PendingEvent:
    """Columns of an event row, and whom it concerns. ``notify`` = a stack state notification goes out with it."""

    values: dict[str, Any]
    stack: Any
    notify: bool = False
    properties: dict[str, Any] = field(default_factory=dict)


def of_stack(stack: Any, action: str, status: str, reason: str) -> PendingEvent:
    """A change of the stack's own state (the notification carries the state given here)."""
    raise NotImplementedError


def of_resource(resource: Any, action: str, status: str, reason: str) -> PendingEvent:
    """A change of a resource: physical id, type and stored properties are taken from its record."""
    raise NotImplementedError


def announce(*pending: PendingEvent) -> None:
    """After the commit: notifications and event sinks. Never raises."""
    raise NotImplementedError


def record(*pending: PendingEvent) -> None:
    """Insert in a transaction of its own, then announce."""
    raise NotImplementedError
