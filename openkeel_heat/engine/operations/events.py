# SPDX-License-Identifier: Apache-2.0
"""Lists of events: of a stack, of a stack and those below it, of a project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import identifier
from openkeel_heat.db import events, stacks
from openkeel_heat.engine import hidden
from openkeel_heat.engine.operations import formats, lookup
from openkeel_heat.engine.stack import Stack

#: A depth that every database takes for a number; nothing is as deep.
_DEEPEST = 2**31 - 1


def list_events(
    context: Any,
    identity: Mapping[str, str] | None,
    filters: Mapping[str, Any] | None = None,
    nested_depth: int | None = None,
    **page: Any,
) -> list[dict[str, Any]]:
    """Events as RPC replies; a filter by ``uuid`` asks for one in full (with its resource's properties)."""
    in_full = bool(filters) and "uuid" in (filters or {})
    root = None
    if identity:
        row = lookup.get_row(context, identity, show_deleted=True)
        identities = {row.id: _identity(row)}
        if nested_depth:
            root = identities[row.id]
            below = stacks.list_descendants(
                row.id,
                show_deleted=row.deleted_at is not None,
                max_depth=min(int(nested_depth), _DEEPEST),
            )
            identities.update((one.id, _identity(one)) for one in below)
        rows = events.list_by_stacks(list(identities), filters=filters, properties=in_full, **page)
    else:
        rows = events.list_by_tenant(context.project_id, filters=filters, properties=in_full, **page)
        identities = {one.id: _identity(one) for one in stacks.list_by_ids(sorted({row.stack_id for row in rows}))}
    return [
        formats.event(row, identities[row.stack_id], root, _properties(context, row) if in_full else None)
        for row in rows
        if row.stack_id in identities
    ]


def _properties(context: Any, row: Any) -> dict[str, Any]:
    """The properties that the resource had, without the values of hidden parameters."""
    properties = row.resource_properties_data or {}
    if not properties:
        return {}
    stack = Stack.load(context, row.stack_id)
    written = (stack.t[stack.t.RESOURCES] or {}).get(row.resource_name) or {}
    return hidden.of(stack).properties(properties, written.get("properties") or written.get("Properties"))


def _identity(row: Any) -> identifier.HeatIdentifier:
    return identifier.HeatIdentifier(row.tenant, row.name, row.id)
