# SPDX-License-Identifier: Apache-2.0
"""The store of ``resources.kit.store``: what a plugin writes about its resource is committed when the call returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openkeel_heat.common import exceptions
from openkeel_heat.db import announced, events as event_rows, nodes, resources, snapshots
from openkeel_heat.engine import events, hidden
from openkeel_heat.resources.kit.lifecycle import Lock, Transition

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

Metadata = dict[str, Any]

_METADATA_TRIES = 50


class DbResourceStore:
    """Stateless: one for the process."""

    def set_physical_id(self, resource: Resource, physical_id: str | None) -> None:
        """An engine that slept over it, and lost the resource, leaves the object alone that another one has made."""
        held_here = resource.record.engine_id if resource.record.engine_id == self.engine_id() else None
        if not resources.set_physical_id(_key(resource), physical_id, held_here) and held_here is not None:
            raise exceptions.UpdateInProgress(resource.name)

    def engine_id(self) -> str | None:
        from openkeel_heat.engine.operations import runtime

        running = runtime.current()
        return None if running is None else running.engine_id

    # resource data
    def data(self, resource: Resource) -> dict[str, Any]:
        return resources.get_data(_key(resource))

    def set_data(self, resource: Resource, key: str, value: Any, redact: bool = False) -> None:
        text = value if value is None or isinstance(value, str) else str(value)
        resources.set_datum(_key(resource), key, text, redact)

    def delete_data(self, resource: Resource, key: str) -> bool:
        return resources.delete_datum(_key(resource), key)

    def clear_hook(self, resource: Resource, hook: str, reason: str) -> bool:
        event = events.resource_event(resource, resource.action, resource.status, reason)
        cleared = announced.delete_datum(_key(resource), hook, event)
        if cleared:
            events.announce(resource.context, resource.stack, [event])
        return cleared

    # metadata
    def metadata(self, resource: Resource) -> Metadata:
        return resources.get_metadata(_key(resource))

    def set_metadata(
        self,
        resource: Resource,
        metadata: Any,
        merge: Callable[[Metadata, Metadata], Metadata] | None = None,
        data: Mapping[str, str | None] | None = None,
    ) -> Metadata:
        for _attempt in range(_METADATA_TRIES):
            row = resources.get(_key(resource))
            if row is None or row.action == resource.DELETE:
                raise exceptions.ResourceNotAvailable(resource_name=resource.name)
            wanted = metadata if merge is None else merge(metadata, dict(row.rsrc_metadata or {}))
            if resources.set_metadata(row.id, wanted, row.atomic_key, row.engine_id, data):
                resource.record.atomic_key = resources.next_key(row.atomic_key)
                return wanted
        raise exceptions.UpdateInProgress(resource.name)

    # attributes
    def save_attributes(self, resource: Resource, attributes: Mapping[str, Any]) -> None:
        record = resource.record
        data_id = resources.store_attributes(_key(resource), record.atomic_key, attributes, record.attr_data_id)
        if data_id is not None:
            record.attr_data_id = data_id
            record.atomic_key = resources.next_key(record.atomic_key)

    def clear_attributes(self, resource: Resource) -> None:
        """Whatever is stored by now: a reader may have done it after the resource was loaded."""
        record = resource.record
        row = nodes.lock_state(_key(resource))
        if row is not None and row.attr_data_id is not None:
            resources.clear_attributes(_key(resource), row.attr_data_id)
        record.attr_data_id = record.attributes = None

    # state, events, snapshots
    def apply(self, resource: Resource, step: Transition) -> None:
        """Write a state at once with its event (outside of a life cycle); UpdateInProgress when somebody holds the row.

        ``Lock.NONE`` writes whoever holds the row; the others want it free and leave it so.
        """
        record = resource.record
        reason = hidden.of(resource.stack).text(step.reason)
        values = {"action": step.action, "status": step.status, "status_reason": reason, **step.values}
        if "metadata" in values:
            values["rsrc_metadata"] = values.pop("metadata")
        event = None
        if step.event:
            event = events.resource_event(resource, step.action, step.status, step.reason, step.physical_resource_id)
        if step.lock is Lock.NONE:
            written = announced.set_resource_state(_key(resource), values, event)
        else:
            written = announced.set_resource_state(_key(resource), values, event, record.atomic_key, None)
        if not written:
            raise exceptions.UpdateInProgress(resource.name)
        if step.lock is not Lock.NONE:
            record.atomic_key = resources.next_key(record.atomic_key)
        record.action, record.status, record.status_reason = step.action, step.status, step.reason
        if event is not None:
            events.announce(resource.context, resource.stack, [event])

    def add_event(self, resource: Resource, action: str, status: str, reason: str) -> None:
        events.record(resource.context, resource.stack, events.resource_event(resource, action, status, reason))

    def last_event(self, resource: Resource, reasons: Sequence[str]) -> str | None:
        stack = resource.stack
        return event_rows.last_of(stack.id, stack.name, resource.name, reasons)

    def save_snapshot(self, resource: Resource, snapshot_id: str, data: Mapping[str, Any]) -> None:
        snapshots.save_resource(snapshot_id, resource.name, data)

    def root_stack_resources(self, resource: Resource) -> int:
        root_id = resource.stack.root_stack_id()
        return resources.count_by_root(root_id) if root_id else 0


def _key(resource: Resource) -> int:
    assert resource.record.id is not None, "The resource is not stored"
    return resource.record.id


STORE = DbResourceStore()
