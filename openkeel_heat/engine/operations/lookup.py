# SPDX-License-Identifier: Apache-2.0
"""Which stack is meant, and may the caller see it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from openkeel_heat.common import exceptions, identifier
from openkeel_heat.db import stacks
from openkeel_heat.engine.stack import Stack

#: What limits a query to nothing at all: no stack is of a project without an id.
NO_PROJECT = ""


def tenant_of(context: Any) -> str | None:
    """The project to which a query is limited; None for an administrator."""
    return None if context.is_admin else project_of(context)


def project_of(context: Any) -> str:
    """The project of the caller, an administrator too: names of stacks are unique in it and nowhere else."""
    return context.project_id or NO_PROJECT


def _not_found(name: str) -> exceptions.EntityNotFound:
    return exceptions.EntityNotFound(entity="Stack", name=name)


def identify(context: Any, stack_name: str) -> dict[str, str]:
    """The identity for a name or an id. A deleted stack is found by its id only, another project's never by name."""
    row = None
    if uuidutils.is_uuid_like(stack_name):
        row = stacks.get(stack_name, tenant_of(context), show_deleted=True)
    if row is None:
        row = stacks.get_by_name(stack_name, project_of(context))
    if row is None:
        raise _not_found(stack_name)
    return dict(identifier.HeatIdentifier(row.tenant, row.name, row.id))


def get_row(
    context: Any, stack_identity: Mapping[str, str], show_deleted: bool = False, deps: bool = False, tags: bool = False
) -> Any:
    """The row that an identity names; EntityNotFound also when its name or path does not fit."""
    identity = identifier.HeatIdentifier(**stack_identity)
    row = stacks.get(identity.stack_id, tenant_of(context), show_deleted=show_deleted, deps=deps, tags=tags)
    if row is None:
        raise _not_found(identity.stack_name)
    if not context.is_admin and context.project_id not in (identity.tenant, row.stack_user_project_id):
        raise exceptions.InvalidTenant(target=identity.tenant, actual=context.project_id)
    if identity.path or row.name != identity.stack_name:
        raise _not_found(identity.stack_name)
    return row


def get_stack(
    context: Any,
    stack_identity: Mapping[str, str],
    show_deleted: bool = False,
    deps: bool = False,
    use_stored_context: bool = False,
    tags: bool = False,
) -> Stack:
    """The same as a Stack."""
    row = get_row(context, stack_identity, show_deleted, deps, tags)
    return Stack.from_row(context, row, use_stored_context=use_stored_context)


def enforce_types(stack: Stack) -> None:
    """May the caller use every resource type in the stack?"""
    from openkeel_heat.common import policy

    policy.get_resource_enforcer().enforce_stack(stack, is_registered_policy=True)
