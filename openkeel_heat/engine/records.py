# SPDX-License-Identifier: Apache-2.0
"""From a row of the ``resource`` table to the record of a kit Resource."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.resources.kit.record import ResourceRecord

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack

_FIELDS = [field.name for field in dataclasses.fields(ResourceRecord)]
_RENAMED = {"metadata": "rsrc_metadata", "attributes": "attr_data"}
_LISTS = ("requires", "needed_by")


def record_of(row: Mapping[str, Any]) -> ResourceRecord:
    """The record; columns that the query did not select keep their 'not loaded' value."""
    values: dict[str, Any] = {}
    for name in _FIELDS:
        column = _RENAMED.get(name, name)
        if column in row:
            values[name] = row[column]
    for name in _LISTS:
        values[name] = list(values.get(name) or [])
    values["action"] = values.get("action") or "INIT"
    values["status"] = values.get("status") or "COMPLETE"
    values["status_reason"] = values.get("status_reason") or ""
    return ResourceRecord(**values)


def by_name(rows: Iterable[Any]) -> dict[str, Any]:
    """The row that stands for each name: of several with one name, the newest that is not replaced.

    One that is deleted only stands for it where there is no other: a replacement that was not made any more, because
    another resource had failed, is marked as deleted, and what it should have replaced is what there is.
    """
    found: dict[str, Any] = {}
    for row in rows:
        other = found.get(row.name)
        if other is None or _standing(row) >= _standing(other):
            found[row.name] = row
    return found


def _standing(row: Any) -> tuple[bool, bool]:
    gone = row.action == "DELETE" and row.status == "COMPLETE"
    return not gone, row.replaced_by is None


def load(resource: Any, row: Any) -> Any:
    """Give a Resource the record of its row."""
    resource.load_record(record_of(row))
    return resource


def substitute(stack: Stack, resource: Any, row: Any, newer: Stack) -> Any:
    """The resource with its class of a newer definition, where the old type names that as its substitute."""
    if resource.name not in newer.defn:
        return resource
    definition = newer.defn.bound(resource.name)
    new_class = newer.env.registry.get_class_to_instantiate(definition.resource_type, resource_name=resource.name)
    if new_class is type(resource) or not type(resource).check_is_substituted(new_class):
        return resource
    return stack.make_resource(resource.name, row, cls=new_class)
