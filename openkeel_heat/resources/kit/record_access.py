# SPDX-License-Identifier: Apache-2.0
"""The part of a resource that is its row: state, ids, data and metadata by Heat's names."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import steps
from openkeel_heat.resources.kit.attributes import Attributes
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.record import ResourceRecord, ResourceStatus

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource


def _field(name: str, doc: str) -> Any:
    """A property that reads and writes a field of ``self.record``."""

    def read(self: RecordAccess) -> Any:
        return getattr(self.record, name)

    def write(self: RecordAccess, value: Any) -> None:
        setattr(self.record, name, value)

    return property(read, write, doc=doc)


class RecordAccess(ResourceStatus):
    """What plugins read and write of their row."""

    name: str
    stack: Any
    context: Any
    t: Any
    properties: Properties
    attributes: Attributes
    record: ResourceRecord

    # True: the physical id can be computed from the row, so it is written together
    # with the state that ends the action instead of in a transaction of its own.
    deferred_resource_id = False

    # True: handlers can make the resource data anew, so it too is written together with
    # the next state.
    deferred_data = False

    id: int | None = _field("id", "Primary key; None while not stored.")
    uuid: str | None = _field("uuid", "Unique id that physical names are made of.")
    action: str = _field("action", "Last action.")
    status: str = _field("status", "Status of the last action.")
    status_reason: str = _field("status_reason", "Why.")
    resource_id: str | None = _field("nova_instance", "Id of the physical object.")
    replaces: int | None = _field("replaces", "Key of the resource this one replaces.")
    replaced_by: int | None = _field("replaced_by", "Key of the replacement.")
    current_template_id: int | None = _field("current_template_id", "Template last applied.")
    root_stack_id: str | None = _field("root_stack_id", "Id of the outermost stack.")
    created_time: datetime.datetime | None = _field("created_at", "When the row was made.")
    updated_time: datetime.datetime | None = _field("updated_at", "Last update.")
    _atomic_key: int | None = _field("atomic_key", "Counts fenced writes.")
    _stored_properties_data: dict[str, Any] | None = _field("stored_properties", "Resolved properties as stored.")
    _rsrc_prop_data_id: int | None = _field("rsrc_prop_data_id", "Key of the stored properties.")
    _attr_data_id: int | None = _field("attr_data_id", "Key of the stored attribute values.")
    _rsrc_metadata: dict[str, Any] | None = _field("metadata", "Metadata as stored.")

    @property
    def requires(self) -> set[int]:
        """Keys of the resources this one needs."""
        return set(self.record.requires)

    @requires.setter
    def requires(self, keys: Iterable[int] | None) -> None:
        self.record.requires = sorted(keys or (), reverse=True)

    @property
    def state(self) -> tuple[str, str]:
        return self.record.action, self.record.status

    def resource_id_set(self, inst: str | None) -> None:
        """Remember the id of the physical object, in the database at once."""
        self.record.nova_instance = inst
        if self.record.id is not None and not self.deferred_resource_id:
            self.stack.store.set_physical_id(self, inst)

    # data -------------------------------------------------------------
    def data(self) -> dict[str, Any]:
        """The plugin's own key-value data. Change it with data_set and data_delete."""
        if self.record.data is None and self.record.id is not None:
            self.record.data = dict(self.stack.store.data(self))
            self.record.data.update((key, value) for key, value, _redact in self.record.pending_data)
        return self.record.data or {}

    def data_set(self, key: str, value: Any, redact: bool = False) -> None:
        """Write one key; ``redact`` hides the value from users and encrypts it."""
        text = value if value is None or isinstance(value, str) else str(value)
        if self.deferred_data and self.status == self.IN_PROGRESS:
            self.record.pending_data.append((key, text, redact))
        else:
            self.stack.store.set_data(self, key, value, redact)
        if self.record.data is not None:
            self.record.data[key] = text

    def data_delete(self, key: str) -> bool:
        """Remove one key; False when it was not there."""
        self.record.pending_data = [entry for entry in self.record.pending_data if entry[0] != key]
        found = self.stack.store.delete_data(self, key)
        if self.record.data is not None:
            self.record.data.pop(key, None)
        return found

    # metadata ---------------------------------------------------------
    def metadata_get(self, refresh: bool = False) -> dict[str, Any]:
        """Metadata as stored, or as the template has it while the resource does not exist."""
        if self.record.id is None or self.action == self.INIT:
            return self.t.metadata()
        if refresh or self.record.metadata is None:
            self.record.metadata = self.stack.store.metadata(self)
        return self.record.metadata or {}

    def metadata_set(
        self,
        metadata: dict[str, Any] | None,
        merge_metadata: Callable[[Any, Any], Any] | None = None,
        data: Mapping[str, str | None] | None = None,
    ) -> None:
        """Write metadata. ``merge_metadata(new, current)`` gives what to write, again after a conflict.

        ``data``: entries of the resource data to write (None: to remove) in the same transaction.
        """
        if self.record.id is None or self.action == self.INIT:
            raise exception.ResourceNotAvailable(resource_name=self.name)
        try:
            if data is None:
                self.record.metadata = self.stack.store.set_metadata(self, metadata, merge_metadata)
            else:
                self.record.metadata = self.stack.store.set_metadata(self, metadata, merge_metadata, data)
                self.record.data = None
        except exception.ResourceNotAvailable:
            # The row is being deleted: a failing signal says nothing then.
            self._db_res_is_deleted = True
            raise

    def metadata_update(self, new_metadata: dict[str, Any] | None = None) -> None:
        """Called when the metadata in the template changed or another resource was signalled."""

    def handle_metadata_reset(self) -> None:
        """Clear what an interrupted engine left in metadata; for types that keep state there."""

    # state ------------------------------------------------------------
    def state_reset(self) -> None:
        self.action = self.INIT
        self.status = self.COMPLETE

    def state_set(
        self, action: str, status: str, reason: str = "state changed", lock: steps.Lock = steps.Lock.NONE
    ) -> None:
        """Write a state at once, outside of a life-cycle generator."""
        if action not in self.ACTIONS:
            raise ValueError(_("Invalid action %s") % action)
        if status not in self.STATUSES:
            raise ValueError(_("Invalid status %s") % status)
        self.stack.store.apply(self, steps.transition(cast("Resource", self), action, status, reason, lock))

    def _add_event(self, action: str, status: str, reason: str) -> None:
        self.stack.store.add_event(self, action, status, reason)

    def store_attributes(self) -> None:
        """Store attribute values that were read since the resource was loaded."""
        assert self.record.id is not None
        if self.status != self.COMPLETE or self.action in (self.INIT, self.DELETE):
            return
        if self.attributes.has_new_cached_attrs():
            self.stack.store.save_attributes(self, self.attributes.cached_attrs)

    def clear_stored_attributes(self) -> None:
        if self.record.id is not None:
            self.stack.store.clear_attributes(self)
        self.attributes.reset_resolved_values()

    # hooks ------------------------------------------------------------
    def has_hook(self, hook: str) -> bool:
        self.record.data = None
        return self.data().get(hook) == "True"

    def trigger_hook(self, hook: str) -> None:
        self.data_set(hook, "True")

    def clear_hook(self, hook: str) -> None:
        self.data_delete(hook)
