# SPDX-License-Identifier: Apache-2.0
"""The steps that life-cycle generators yield, and how a transition is made. See :mod:`.lifecycle`."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Generator, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource


class Lock(enum.Enum):
    """What a transition does with the lock on the row."""

    NONE = "none"  # write whatever the lock is
    ACQUIRE = "acquire"  # engine_id must be NULL, becomes ours
    RELEASE = "release"  # engine_id must be ours, becomes NULL
    RESPECT = "respect"  # engine_id must be NULL, stays NULL


@dataclasses.dataclass
class Transition:
    """A state to be written. ``values`` are columns of the row, by the record's names."""

    action: str
    status: str
    reason: str
    lock: Lock = Lock.NONE
    event: bool = True
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    # New stored properties to be saved (the driver sets record.rsrc_prop_data_id),
    # or None: what rsrc_prop_data_id names is still right.
    properties: dict[str, Any] | None = None
    # For the event: the physical id, or the physical name while there is none.
    physical_resource_id: str | None = None
    # Stored attribute values are stale from here on.
    clear_attributes: bool = False
    # Resource data to write with it: (key, value, redact).
    data: list[tuple[str, str | None, bool]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Note:
    """An event that goes with no change of the row."""

    action: str
    status: str
    reason: str
    physical_resource_id: str | None = None
    # Resource data that the event tells of, written with it: (key, value, redact).
    data: list[tuple[str, str | None, bool]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Pause:
    """Nothing to do for that many seconds."""

    seconds: float
    wake_on: Hashable | None = None


@dataclasses.dataclass
class HookPause(Pause):
    """Waiting until a user clears a break point; looked at again after ``seconds``."""

    hook: str = ""


Step = Transition | Note | Pause
Lifecycle = Generator[Step, Any, None]


def transition(
    resource: Resource, action: str, status: str, reason: str = "state changed", lock: Lock = Lock.NONE
) -> Transition:
    """Put the resource into a state and say what has to be written for it."""
    record = resource.record
    first = record.action == "INIT"
    changed = (record.action, record.status) != (action, status)
    record.action, record.status, record.status_reason = action, status, reason
    if record.root_stack_id is None:
        record.root_stack_id = resource.stack.root_stack_id()
    if first:
        record.metadata = resource.t.metadata()
    step = Transition(
        action,
        status,
        reason,
        lock=lock,
        event=changed,
        values=_columns(resource, with_metadata=first),
        physical_resource_id=record.nova_instance or resource.physical_resource_name(),
    )
    if record.rsrc_prop_data_id is None and record.stored_properties:
        step.properties = record.stored_properties
    step.data, record.pending_data = record.pending_data, []
    if status != "COMPLETE":
        step.clear_attributes = record.attr_data_id is not None
        resource.attributes.reset_resolved_values()
    return step


def _columns(resource: Resource, with_metadata: bool = False) -> dict[str, Any]:
    record = resource.record
    values: dict[str, Any] = {
        "action": record.action,
        "status": record.status,
        "status_reason": str(record.status_reason),
        "nova_instance": record.nova_instance,
        "requires": sorted(record.requires, reverse=True),
        "needed_by": [],
        "replaces": record.replaces,
        "replaced_by": record.replaced_by,
        "current_template_id": record.current_template_id,
        "rsrc_prop_data_id": record.rsrc_prop_data_id,
        "root_stack_id": record.root_stack_id,
        "updated_at": record.updated_at,
    }
    if with_metadata:
        values["metadata"] = record.metadata
    return values


def touch(resource: Resource, lock: Lock) -> Transition:
    """Take or give back the lock, or store the columns, in the state that it is in."""
    return transition(resource, resource.action, resource.status, resource.status_reason, lock)


def mark_failed(resource: Resource, action: str, reason: str, lock: Lock = Lock.RELEASE) -> Transition:
    """The transition that fails a resource from outside (lost engine, timeout)."""
    return transition(resource, action, "FAILED", reason, lock)


def note(resource: Resource, action: str, status: str, reason: str) -> Note:
    return Note(action, status, reason, resource.resource_id or resource.physical_resource_name())
