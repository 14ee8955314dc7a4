# SPDX-License-Identifier: Apache-2.0
"""What the kit needs to drive nested stacks, as a protocol.

``stack.nested_stacks`` is an implementation of :class:`NestedStacks`. The parent
is always given as the resource that owns the child: name, owner id, user
credentials, stack user project and nesting depth of the child follow from it.
Every call is idempotent: an engine may repeat it after another one died.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource


@dataclasses.dataclass(frozen=True)
class NestedStatus:
    """State of a child stack as its row has it."""

    id: str
    name: str
    action: str
    status: str
    reason: str
    updated_at: Any = None


class NestedStacks(Protocol):
    """Create, change, ask and delete the child stacks of a resource.

    ``template`` is a compiled ``Template`` whose ``env`` and ``files`` are those of
    the child (the kit computes the child environment).
    """

    def create(
        self,
        resource: Resource,
        template: Any,
        *,
        name: str,
        timeout_mins: int | None = None,
        adopt_data: Mapping[str, Any] | None = None,
    ) -> str:
        """Make the child stack with rollback disabled and start it; returns its id.

        A live child of this very resource with that name (left by an engine
        that died before its id was stored) is returned, not made twice.
        """

    def update(
        self,
        resource: Resource,
        child_id: str,
        template: Any,
        *,
        timeout_mins: int | None = None,
        converge: bool = False,
    ) -> None:
        """Start an update of the child. ``NotFound`` when it is gone."""

    def delete(self, resource: Resource, child_id: str) -> None:
        """Start deleting the child; a missing one is no error."""

    def abandon(self, resource: Resource, child_id: str) -> None:
        """Forget the child, leaving its physical resources."""

    def suspend(self, resource: Resource, child_id: str) -> None: ...

    def resume(self, resource: Resource, child_id: str) -> None: ...

    def check(self, resource: Resource, child_id: str) -> None: ...

    def snapshot(self, resource: Resource, child_id: str) -> Any: ...

    def cancel(self, resource: Resource, child_id: str, rollback: bool = False) -> bool:
        """Cancel a running create or update; False when there is nothing to cancel."""

    def find(self, resource: Resource, name: str) -> str | None:
        """Id of the live child of this resource with that name, if any."""

    def status(self, child_id: str) -> NestedStatus | None:
        """Action, status and reason of the child; None when it does not exist."""

    def outputs(self, resource: Resource, child_id: str) -> dict[str, dict[str, Any]] | None:
        """All outputs: key -> {'output_key', 'output_value', 'description', ['output_error']}.

        None when the child does not exist.
        """

    def resources(self, resource: Resource, child_id: str) -> list[dict[str, Any]]:
        """The child's live resources in one query, without attribute look-ups.

        Keys per resource as in rpc ``list_stack_resources``: resource_name, resource_status,
        resource_action, resource_status_reason, physical_resource_id, resource_type,
        creation_time, updated_time (isotime texts), required_by.
        """

    def template(self, child_id: str) -> Any | None:
        """The compiled ``Template`` of the child as stored (env, files included)."""

    def load(self, resource: Resource, child_id: str) -> Any | None:
        """The child as a Stack, parent link set; None when it does not exist."""

    def build(self, resource: Resource, template: Any, *, name: str, timeout_mins: int | None = None) -> Any:
        """A Stack in memory only (validation, preview, schema look-ups)."""

    def abandon_data(self, resource: Resource, child_id: str) -> dict[str, Any]:
        """What ``abandon`` exports for the child."""

    def total_resources(self, root_stack_id: str) -> int:
        """Number of live resources of the whole tree."""

    def signal(self, resource: Resource, child_id: str, resource_name: str, details: Any) -> None:
        """Signal a resource of the child."""
