# SPDX-License-Identifier: Apache-2.0
"""Nested stacks of resources (``resources.kit.nested``), run by the engine that runs the parent.

Calls go straight to the operations of the engine in this process; which engine then processes the nodes of the child is
a matter of convergence. Every call may be repeated after an engine died: a child is looked for before it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions, identifier
from openkeel_heat.db import resources, stacks
from openkeel_heat.engine import records
from openkeel_heat.engine.stack import Stack
from openkeel_heat.resources.kit.nested import NestedStatus

if TYPE_CHECKING:
    from openkeel_heat.engine.operations.runtime import Runtime
    from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)


def _runtime() -> Runtime:
    from openkeel_heat.engine.operations import runtime

    running = runtime.current()
    assert running is not None, "Nested stacks need a running engine"
    return running


def _identity(child_id: str) -> dict[str, str]:
    row = stacks.get(child_id)
    if row is None:
        raise exceptions.EntityNotFound(entity="Stack", name=child_id)
    return dict(identifier.HeatIdentifier(row.tenant, row.name, row.id))


def _holder(resource: Resource) -> tuple[int, str] | None:
    """For ``Stack.holder``; None for a resource that nobody holds."""
    record = resource.record
    return (record.id, record.engine_id) if record.id is not None and record.engine_id else None


class EngineNestedStacks:
    """Stateless: one for the process."""

    # making and changing
    def build(
        self,
        resource: Resource,
        template: Any,
        *,
        name: str,
        timeout_mins: int | None = None,
        adopt_data: Mapping[str, Any] | None = None,
    ) -> Stack:
        """A child in memory."""
        parent = resource.stack
        child = Stack(
            resource.context,
            name,
            template,
            timeout_mins=timeout_mins,
            disable_rollback=True,
            parent_resource=resource.name,
            owner_id=parent.id,
            tenant_id=parent.tenant_id,
            user_creds_id=parent.user_creds_id,
            stack_user_project_id=parent.stack_user_project_id,
            adopt_stack_data=adopt_data,
            nested_depth=parent.nested_depth + 1,
            strict_validate=parent.strict_validate,
        )
        child.use_parent(parent)
        return child

    def create(
        self,
        resource: Resource,
        template: Any,
        *,
        name: str,
        timeout_mins: int | None = None,
        adopt_data: Mapping[str, Any] | None = None,
    ) -> str:
        from openkeel_heat.engine.operations import lifecycle, lookup, prepare

        found = self.find(resource, name)
        if found is not None:
            LOG.info("Resource %s finds its nested stack %s", resource.name, found)
            return found
        prepare.check_template(template)
        child = self.build(resource, template, name=name, timeout_mins=timeout_mins, adopt_data=adopt_data)
        lookup.enforce_types(child)
        child.validate()
        child.holder = _holder(resource)
        return lifecycle.create(_runtime(), resource.context, child)["stack_id"]

    def update(
        self,
        resource: Resource,
        child_id: str,
        template: Any,
        *,
        timeout_mins: int | None = None,
        converge: bool = False,
    ) -> None:
        from openkeel_heat.engine.operations import lifecycle, prepare

        def make(current: Stack) -> Stack:
            prepare.check_size(template)
            current.use_parent(resource.stack)
            current.holder = _holder(resource)
            new = prepare.stack_under(
                resource.context,
                current,
                template,
                timeout_mins=timeout_mins or current.timeout_mins,
                disable_rollback=current.disable_rollback,
                converge=converge,
                tags=list(current.tags),
            )
            new.use_parent(resource.stack)
            new.validate()
            return new

        lifecycle.update_to(_runtime(), resource.context, _identity(child_id), make, by_holder=True)

    def delete(self, resource: Resource, child_id: str) -> None:
        self._delete(resource, child_id, abandon=False)

    def abandon(self, resource: Resource, child_id: str) -> None:
        self._delete(resource, child_id, abandon=True)

    @staticmethod
    def _delete(resource: Resource, child_id: str, abandon: bool) -> None:
        from openkeel_heat.engine.operations import lifecycle

        state = stacks.get_state(child_id)
        if state is None or state.deleted_at is not None:
            return
        if (state.action, state.status) == ("DELETE", "IN_PROGRESS"):
            return  # asked for before
        try:
            lifecycle.delete(
                _runtime(), resource.context, _identity(child_id), abandon=abandon, holder=_holder(resource)
            )
        except exceptions.EntityNotFound:
            LOG.debug("Nested stack %s is gone", child_id)

    def suspend(self, resource: Resource, child_id: str) -> None:
        self._act(resource, child_id, "SUSPEND")

    def resume(self, resource: Resource, child_id: str) -> None:
        self._act(resource, child_id, "RESUME")

    def check(self, resource: Resource, child_id: str) -> None:
        self._act(resource, child_id, "CHECK")

    @staticmethod
    def _act(resource: Resource, child_id: str, action: str) -> None:
        from openkeel_heat.engine.operations import lifecycle

        lifecycle.act(_runtime(), resource.context, _identity(child_id), action, holder=_holder(resource))

    def snapshot(self, resource: Resource, child_id: str) -> Any:
        from openkeel_heat.engine.operations import snapshots

        return snapshots.create(_runtime(), resource.context, _identity(child_id), None)

    def cancel(self, resource: Resource, child_id: str, rollback: bool = False) -> bool:
        from openkeel_heat.engine.operations import lifecycle

        try:
            lifecycle.cancel_update(_runtime(), resource.context, _identity(child_id), rollback)
        except (exceptions.NotSupported, exceptions.EntityNotFound):
            return False
        return True

    def signal(self, resource: Resource, child_id: str, resource_name: str, details: Any) -> None:
        from openkeel_heat.engine.operations import resources as operations

        operations.signal(_runtime(), resource.context, _identity(child_id), resource_name, details)

    # asking
    def find(self, resource: Resource, name: str) -> str | None:
        row = stacks.get_by_name_and_owner(name, resource.stack.id)
        return None if row is None or row.owner_id is None else row.id

    def status(self, child_id: str) -> NestedStatus | None:
        row = stacks.get_state(child_id)
        if row is None or row.deleted_at is not None:
            return None
        return NestedStatus(child_id, "", row.action, row.status, row.status_reason or "", row.updated_at)

    def load(self, resource: Resource, child_id: str) -> Stack | None:
        row = stacks.get(child_id)
        if row is None:
            return None
        child = Stack.from_row(resource.context, row)
        child.use_parent(resource.stack)
        return child

    def template(self, child_id: str) -> Any | None:
        from openkeel_heat.engine import templates

        row = stacks.get(child_id)
        return None if row is None else templates.load(row.raw_template_id)

    def outputs(self, resource: Resource, child_id: str) -> dict[str, dict[str, Any]] | None:
        from openkeel_heat.engine.operations import show

        child = self.load(resource, child_id)
        return None if child is None else show.all_outputs(child)

    def resources(self, resource: Resource, child_id: str) -> list[dict[str, Any]]:
        child = self.load(resource, child_id)
        if child is None:
            return []
        rows = records.by_name(resources.list_active_by_stack(child_id)).values()
        definitions = child.defn
        return [
            {
                "resource_name": row.name,
                "resource_action": row.action,
                "resource_status": row.status,
                "resource_status_reason": row.status_reason,
                "physical_resource_id": row.nova_instance or "",
                "resource_type": definitions.bound(row.name).resource_type if row.name in definitions else "",
                "creation_time": clock.isotime(row.created_at),
                "updated_time": clock.isotime(row.updated_at or row.created_at),
                "required_by": child.required_by(row.name),
            }
            for row in rows
        ]

    def abandon_data(self, resource: Resource, child_id: str) -> dict[str, Any]:
        child = self.load(resource, child_id)
        return {} if child is None else child.prepare_abandon()

    def total_resources(self, root_stack_id: str | None) -> int:
        return resources.count_by_root(root_stack_id) if root_stack_id else 0


NESTED = EngineNestedStacks()
