# SPDX-License-Identifier: Apache-2.0
"""Snapshots of stacks and of the resources in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Connection, operation, query
from openkeel_heat.db.sql import Record

_snapshot = models.snapshot
_resource = models.resource_snapshot


def _tenant(tenant: str | None) -> dict[str, Any]:
    return {} if tenant is None else {"tenant": tenant}


@operation
def insert(c: Connection, values: Mapping[str, Any]) -> str:
    """A new snapshot (stack_id, name, tenant, action, status, …); returns its id."""
    return str(sql.insert(c, _snapshot, values))


@query
def get(c: Connection, snapshot_id: str, tenant: str | None = None) -> Record | None:
    """The snapshot with this id."""
    return sql.one(sql.select(c, _snapshot, id=snapshot_id, **_tenant(tenant)))


@query
def list_by_stack(c: Connection, stack_id: str, tenant: str | None = None) -> list[Record]:
    """The snapshots of a stack, oldest first."""
    return sql.many(sql.select(c, _snapshot, order="created_at", stack_id=stack_id, **_tenant(tenant)))


@query
def count_by_stack(c: Connection, stack_id: str, tenant: str | None = None) -> int:
    return sql.count(c, _snapshot, stack_id=stack_id, **_tenant(tenant))


@operation
def update(c: Connection, snapshot_id: str, values: Mapping[str, Any]) -> bool:
    """Write columns; False if the snapshot is gone."""
    return bool(sql.update(c, _snapshot, values, id=snapshot_id))


@operation
def delete(c: Connection, snapshot_id: str) -> bool:
    """Delete a snapshot, what its resources kept and the sync points of its traversal; False if there is none."""
    sql.delete(c, _resource, snapshot_id=snapshot_id)
    sql.delete(c, models.sync_point, traversal_id=snapshot_id)
    return bool(sql.delete(c, _snapshot, id=snapshot_id))


# of resources -----------------------------------------------------------------------------------------------------


@operation
def insert_resources(c: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """What resources keep in a snapshot (snapshot_id, resource_name, data)."""
    sql.insert_many(c, _resource, rows)


@operation
def save_resource(c: Connection, snapshot_id: str, resource_name: str, data: Any) -> None:
    """Write what one resource keeps in a snapshot; once more is no error."""
    if not sql.update(c, _resource, {"data": data}, snapshot_id=snapshot_id, resource_name=resource_name):
        insert_resources.within(c, [{"snapshot_id": snapshot_id, "resource_name": resource_name, "data": data}])


@query
def get_resource(c: Connection, snapshot_id: str, resource_name: str) -> Record | None:
    """What one resource keeps in a snapshot."""
    return sql.one(sql.select(c, _resource, snapshot_id=snapshot_id, resource_name=resource_name))


@query
def list_resources(c: Connection, snapshot_id: str) -> list[Record]:
    """What all resources keep in a snapshot."""
    return sql.many(sql.select(c, _resource, order="resource_name", snapshot_id=snapshot_id))
