# SPDX-License-Identifier: Apache-2.0
"""A change together with its event, in one transaction: neither happens without the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openkeel_heat.db import events, resources, stacks, templates
from openkeel_heat.db.session import Connection, operation
from openkeel_heat.db.sql import UNFENCED


@operation
def set_stack_state(
    c: Connection,
    stack_id: str,
    values: Mapping[str, Any],
    event: Mapping[str, Any],
    expected_traversal: str | None = None,
) -> bool:
    """Write columns of a stack and the event; False, and nothing written, when the traversal is another one."""
    if events.tells_it_is_done(c, event):
        return True
    if not stacks.update.within(c, stack_id, values, expected_traversal):
        return False
    events.insert.within(c, event)
    return True


@operation
def set_resource_state(
    c: Connection,
    resource_id: int,
    values: Mapping[str, Any],
    event: Mapping[str, Any] | None = None,
    atomic_key: int | None = UNFENCED,
    engine_id: str | None = UNFENCED,
) -> bool:
    """Write columns of a resource (fenced when an atomic key is given) and the event; False when the fence fails."""
    if events.tells_it_is_done(c, event):
        return True
    if not resources.update.within(c, resource_id, values, atomic_key, engine_id):
        return False
    if event is not None:
        events.insert.within(c, event)
    return True


@operation
def delete_datum(c: Connection, resource_id: int, key: str, event: Mapping[str, Any]) -> bool:
    """Delete an entry of resource data and write the event; False, and nothing written, when there was none."""
    if events.tells_it_is_done(c, event):
        return True
    if not resources.delete_datum.within(c, resource_id, key):
        return False
    events.insert.within(c, event)
    return True


@operation
def insert_stack(
    c: Connection,
    values: Mapping[str, Any],
    template: Mapping[str, Any],
    tags: Sequence[str] | None,
    stack_events: Sequence[Mapping[str, Any]],
) -> str:
    """A new stack whole: template (``template``, ``files``, ``environment``), row, tags and first events."""
    if stack_events and events.tells_it_is_done(c, stack_events[0]):
        return str(values["id"])
    template = dict(template)
    files = template.pop("files", None)
    files_id = templates.insert_files.within(c, files) if files else None
    template_id = templates.insert.within(c, {**template, "files_id": files_id})
    stack_id = stacks.insert.within(c, {**values, "raw_template_id": template_id}, tags)
    for event in stack_events:
        events.insert.within(c, event)
    return stack_id
