# SPDX-License-Identifier: Apache-2.0
"""What the kit needs from storage, as a protocol.

``stack.store`` is an implementation of :class:`ResourceStore`. Each call is one
short transaction that is committed when the call returns; none may be made
while a life-cycle step is being persisted by the driver. State transitions do
not go through here: life-cycle generators yield them and the driver writes
them under its lock (see :mod:`openkeel_heat.resources.kit.lifecycle`).

The ``resource`` argument is the :class:`~.resource.Resource`; its ``record``
has the primary key. Where a call changes ``atomic_key`` in the database the
implementation also updates ``resource.record.atomic_key``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.lifecycle import Transition
    from openkeel_heat.resources.kit.resource import Resource

Metadata = dict[str, Any]


class ResourceStore(Protocol):
    """Storage of what belongs to a single resource besides its state."""

    def set_physical_id(self, resource: Resource, physical_id: str | None) -> None:
        """Write ``nova_instance`` (not fenced: a handler must never lose an id)."""

    def engine_id(self) -> str | None:
        """Id of the engine that runs this."""

    # resource data ----------------------------------------------------
    def data(self, resource: Resource) -> dict[str, str]:
        """All resource data, fresh from the database, redacted values decrypted."""

    def set_data(self, resource: Resource, key: str, value: Any, redact: bool = False) -> None:
        """Write one key of resource data (``redact``: encrypted, hidden from users)."""

    def delete_data(self, resource: Resource, key: str) -> bool:
        """Remove one key of resource data; False when it was not there."""

    def clear_hook(self, resource: Resource, hook: str, reason: str) -> bool:
        """Forget a break point and say so in an event; False, and no event, when it was cleared already."""

    # metadata ---------------------------------------------------------
    def metadata(self, resource: Resource) -> Metadata:
        """The metadata of the row, fresh from the database."""

    def set_metadata(
        self,
        resource: Resource,
        metadata: Metadata,
        merge: Callable[[Metadata, Metadata], Metadata] | None = None,
        data: Mapping[str, str | None] | None = None,
    ) -> Metadata:
        """Write metadata, comparing ``atomic_key`` and retrying on a conflict.

        With ``merge`` the value written is ``merge(metadata, current)``,
        computed again on each try. ``data`` is resource data to write (None:
        to remove) in the same transaction. Returns what was written. A resource whose
        row is in action DELETE raises ``ResourceNotAvailable``.
        """

    # attributes -------------------------------------------------------
    def save_attributes(self, resource: Resource, attributes: Mapping[str, Any]) -> None:
        """Store the cached attribute values (best effort, fenced by atomic_key)."""

    def clear_attributes(self, resource: Resource) -> None:
        """Drop the stored attribute values."""

    # events, snapshots ------------------------------------------------
    def add_event(self, resource: Resource, action: str, status: str, reason: str) -> None:
        """Record and announce an event that goes with no change of state."""

    def last_event(self, resource: Resource, reasons: Sequence[str]) -> str | None:
        """The last of these reasons among the resource's events since the stack's present action began."""

    def save_snapshot(self, resource: Resource, snapshot_id: str, data: Mapping[str, Any]) -> None:
        """Write the ``resource_snapshot`` row of this resource."""

    def apply(self, resource: Resource, transition: Transition) -> None:
        """Write a transition at once (signals, marking unhealthy), with its event."""
