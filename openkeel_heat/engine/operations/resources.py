# SPDX-License-Identifier: Apache-2.0
"""Resources of stacks: show, list (with nested stacks, in three queries for any number of them), find, mark, signal."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions, params
from openkeel_heat.db import resources, stacks
from openkeel_heat.engine import records
from openkeel_heat.engine.operations import formats, lookup
from openkeel_heat.engine.operations.runtime import Runtime
from openkeel_heat.engine.stack import Stack
from openkeel_heat.resources.kit.lifecycle import Lock

LOG = logging.getLogger(__name__)


# show and list ------------------------------------------------------------------------------------------------------
def describe(context: Any, identity: Mapping[str, str], resource_name: str, with_attr: Any = None) -> dict[str, Any]:
    stack = lookup.get_stack(context, identity)
    if cfg.CONF.heat_stack_user_role in context.roles and not _stack_user_may(context, stack, resource_name):
        LOG.warning("Access denied to resource %s", resource_name)
        raise exceptions.Forbidden()
    resource = _existing(stack, resource_name)
    resource.reads_stored = True
    return formats.resource(resource, with_attr=with_attr)


def _existing(stack: Stack, resource_name: str) -> Any:
    resource = stack.resource_get(resource_name)
    if resource is None:
        raise exceptions.ResourceNotFound(resource_name=resource_name, stack_name=stack.name)
    return resource


def _stack_user_may(context: Any, stack: Stack, resource_name: str) -> bool:
    """A user made by a resource of the stack (found by user id or EC2 access key) reaches what that allows."""
    if stack.access_allowed(context.user_id, resource_name):
        return True
    try:
        credentials = json.loads(context.aws_creds).get("ec2Credentials")
    except (TypeError, ValueError, AttributeError):
        return False
    return bool(credentials) and stack.access_allowed(credentials.get("access"), resource_name)


def describe_all(context: Any, identity: Mapping[str, str], resource_name: str | None) -> list[dict[str, Any]]:
    """The resources of a stack; the identity may be that of a resource in it, as :func:`find_physical` gives it."""
    stack = lookup.get_stack(context, {**identity, "path": ""})
    return [
        formats.resource(resource)
        for name, resource in stack.resources.items()
        if resource_name is None or name == resource_name
    ]


def list_resources(
    context: Any,
    identity: Mapping[str, str],
    nested_depth: int = 0,
    with_detail: bool = False,
    filters: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    stack = lookup.get_stack(context, identity, show_deleted=True)
    depth = min(int(nested_depth or 0), cfg.CONF.max_nested_stack_depth)
    wanted = params.translate_filters(filters) if filters is not None else {}
    type_name = wanted.pop("type", None)
    show = _in_detail if with_detail else _at_a_glance
    found = (show(owner, row, type_name) for owner, row in _Tree(context, stack, depth, wanted, with_detail).rows())
    return [info for info in found if info is not None]


def _in_detail(stack: Stack, row: Any, types: Any) -> dict[str, Any] | None:
    resource = stack.resource_of_any_template(row)
    if resource is None or (types is not None and resource.type() not in types):
        return None
    return formats.resource(resource)


def _at_a_glance(stack: Stack, row: Any, types: Any) -> dict[str, Any] | None:
    """What a list shows of a row. Only a type that has stacks below it takes a Resource to tell."""
    from openkeel_heat.resources.kit.resource import Resource

    try:
        view = stack.for_template(row.current_template_id)
    except exceptions.NotFound:  # the template is gone
        return None
    name = row.name
    if name not in view.defn:
        return None
    type_name = view.t.definitions[name].resource_type
    if types is not None and type_name not in types:
        return None
    if view.env.get_class_to_instantiate(type_name, name).has_nested is not Resource.has_nested:
        return formats.resource(view.resource_from_row(row), detail=False)
    return formats.resource_state(view, name, type_name, row)


class _Tree:
    """The rows of a stack and of the stacks below it, down to a depth: a stack, then what is inside of it."""

    def __init__(self, context: Any, stack: Stack, depth: int, filters: Mapping[str, Any], in_detail: bool) -> None:
        self._stack = stack
        self._depth = depth
        self._in_detail = in_detail
        assert stack.id is not None
        below = stacks.list_descendants(stack.id, max_depth=depth) if depth else []
        self._below = {row.id: Stack.from_row(context, row) for row in below}
        self._rows = self._rows_by_stack(None)
        self._shown = self._rows_by_stack(filters) if filters else self._rows

    def _rows_by_stack(self, filters: Mapping[str, Any] | None) -> dict[str, list[Any]]:
        """One query for the whole tree of a root stack, one per stack otherwise."""
        stack_id = self._stack.id
        assert stack_id is not None
        whole = self._depth and self._stack.owner_id is None
        if self._in_detail and whole:
            rows = resources.list_by_root(stack_id, filters)
        elif whole:
            rows = resources.list_shown(stack_id, filters, below=True)
        else:
            read = resources.list_by_stack if self._in_detail else resources.list_shown
            rows = [row for one in (stack_id, *self._below) for row in read(one, filters)]
        found: dict[str, list[Any]] = {}
        for row in rows:
            found.setdefault(row.stack_id, []).append(row)
        return {key: list(records.by_name(rows).values()) for key, rows in found.items()}

    def rows(self) -> Iterator[tuple[Stack, Any]]:
        return self._walk(self._stack, self._depth)

    def _walk(self, stack: Stack, depth: int) -> Iterator[tuple[Stack, Any]]:
        rows = self._rows.get(str(stack.id), [])
        if self._in_detail:
            stack.use_rows(rows)
        for row in self._shown.get(str(stack.id), []):
            yield stack, row
        if not depth:
            return
        for row in rows:
            child = self._below.get(row.nova_instance)
            if child is not None:
                yield from self._walk(child, depth - 1)


# find ---------------------------------------------------------------------------------------------------------------
def find_physical(context: Any, physical_resource_id: str) -> dict[str, str]:
    """The identity of the resource with this physical id."""
    rows = resources.list_by_physical_id(physical_resource_id, lookup.tenant_of(context))
    if not rows:
        raise exceptions.EntityNotFound(entity="Resource", name=physical_resource_id)
    if len({row.stack_id for row in rows}) > 1:
        raise exceptions.PhysicalResourceIDAmbiguity(phys_id=physical_resource_id)
    stack = Stack.load(context, rows[0].stack_id)
    resource = stack.resource_of_any_template(rows[0])
    if resource is None:
        raise exceptions.EntityNotFound(entity="Resource", name=physical_resource_id)
    return dict(resource.identifier())


def _find(context: Any, stack: Stack, name_or_id: str) -> Any:
    """A resource of the stack by name, by physical id, or by what refers to it."""
    if name_or_id in stack:
        return stack[name_or_id]
    rows = resources.list_by_physical_id(name_or_id, lookup.tenant_of(context))
    matches = [
        stack[row.name]
        for row in rows
        if row.stack_id == stack.id and row.name in stack and stack[row.name].record.id == row.id
    ]
    if len(matches) > 1:
        raise exceptions.PhysicalResourceIDAmbiguity(phys_id=name_or_id)
    match = matches[0] if matches else stack.resource_by_refid(name_or_id)
    if match is None:
        raise exceptions.ResourceNotFound(resource_name=name_or_id, stack_name=stack.name)
    return match


# mark unhealthy -----------------------------------------------------------------------------------------------------
def mark_unhealthy(
    context: Any, identity: Mapping[str, str], resource_name: str, unhealthy: bool, reason: str | None = None
) -> None:
    """CHECK_FAILED for a resource that the next update shall replace, or CHECK_COMPLETE for one that was marked so."""
    if not isinstance(unhealthy, bool):
        raise exceptions.Invalid(reason="mark_unhealthy is not a boolean")
    stack = lookup.get_stack(context, identity)
    resource = _find(context, stack, resource_name)
    reason = reason or "state changed by resource_mark_unhealthy api"
    if resource.record.engine_id is not None:
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)
    try:
        if unhealthy:
            if resource.action != resource.DELETE:
                resource.state_set(resource.CHECK, resource.FAILED, reason, lock=Lock.RESPECT)
        elif resource.state == (resource.CHECK, resource.FAILED):
            resource.handle_metadata_reset()
            resource.state_set(resource.CHECK, resource.COMPLETE, reason, lock=Lock.RESPECT)
    except exceptions.UpdateInProgress:
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action) from None


# signal -------------------------------------------------------------------------------------------------------------
def signal(
    runtime: Runtime,
    context: Any,
    identity: Mapping[str, str],
    resource_name: str,
    details: Any,
    sync_call: bool = False,
) -> Any:
    """Give a signal to a resource. Checked at once; handled later unless ``sync_call``, which answers the metadata."""
    # the user behind a signal may not be allowed what handling it takes: the stack's own credentials are
    stack = lookup.get_stack(context, identity, use_stored_context=True)
    resource = _existing(stack, resource_name)
    if resource.record.id is None:
        raise exceptions.ResourceNotAvailable(resource_name=resource_name)
    if not callable(resource.signal):
        return None
    if not (details and "unset_hook" in details):  # the break point may be one of the deletion
        resource._signal_check_action()
    resource._signal_check_hook(details)
    if sync_call or not callable(getattr(resource, "handle_signal", None)):
        try:
            _handle_signal(runtime, stack, resource, details)
        except exceptions.ResourceFailure as failure:
            if isinstance(failure.exc, ValueError):  # what was sent is no signal for this resource
                raise exceptions.Invalid(reason=failure.error_message) from failure
            raise
    else:
        runtime.run_later(("signal", resource.record.id), _handle_signal, runtime, stack, resource, details)
    return resource.metadata_get() if sync_call else None


def _handle_signal(runtime: Runtime, stack: Stack, resource: Any, details: Any) -> None:
    """Begin to handle a signal; what takes long (the scaling of a group) goes on as a task."""
    steps = _signal_steps(runtime, stack, resource, details)
    if next(steps, _HANDLED) is not _HANDLED:
        runtime.run_task(steps)


_HANDLED = object()


def _signal_steps(runtime: Runtime, stack: Stack, resource: Any, details: Any) -> Generator[Any, None, None]:
    needs_metadata_updates = yield from resource.signalling(details, False)
    # after the event of the signal: it shall come before what it leads to
    for key in (("resource", resource.record.id), ("hook", resource.record.id), resource.wake_key()):
        if key is not None:
            runtime.convergence.wake(key)
    if not needs_metadata_updates:
        return
    for other in _with_metadata_anew(stack, resource):
        runtime.convergence.wake(("resource", other.record.id))


def _with_metadata_anew(stack: Stack, signalled: Any) -> Iterator[Any]:
    """Bring the metadata that are made of other resources up to date: a signal may have changed what those tell.

    Each comes after those that it requires; of these alone ids and attributes are asked for.
    """
    changing = {
        name
        for name, other in stack.resources.items()
        if other is not signalled and other.action != other.INIT and _updates_metadata(other)
    }
    read = {name for other in changing for name in stack.dependencies.requires(other)}
    for name in list(stack.dependencies):
        resource = stack.resources[name]
        if name in changing:
            resource.metadata_update()
            yield resource
        if name in read:
            stack.defn.set_data([resource.node_data(for_outputs=())])


def _updates_metadata(resource: Any) -> bool:
    from openkeel_heat.resources.kit.resource import Resource

    return type(resource).metadata_update is not Resource.metadata_update
