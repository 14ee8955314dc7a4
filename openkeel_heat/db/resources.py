# SPDX-License-Identifier: Apache-2.0
"""Resources: the rows of ``resource``, their data and their stored properties and attributes.

A record is a row of ``resource`` with two more keys, decrypted: ``stored_properties`` (dict or None) and ``attr_data``
(dict or None). With ``data=True`` it also has ``data``: what plugins keep, a dict of texts.

A write is *fenced* when it names the `atomic_key` and the `engine_id` that the row must still have; it then counts
`atomic_key` up, so that of two writers that saw the same row one loses and knows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.db import crypt, models, properties, sql, templates
from openkeel_heat.db.session import Abandon, Connection, operation, query
from openkeel_heat.db.sql import UNFENCED, Record

LOG = logging.getLogger(__name__)

_resource = models.resource
_data = models.resource_data
_stored = models.resource_properties_data.alias("stored")
_attrs = models.resource_properties_data.alias("attrs")

#: Filter names of a resource list.
FILTER_KEYS = {
    **{name: name for name in ("id", "uuid", "name", "action", "status", "status_reason", "stack_id", "engine_id")},
    "nova_instance": "nova_instance",
    "physical_resource_id": "nova_instance",
    "resource_name": "name",
    "resource_action": "action",
    "resource_status": "status",
    "resource_status_reason": "status_reason",
}

_SELECT = sa.select(
    *_resource.c,
    _stored.c.data.label("_stored"),
    _stored.c.encrypted.label("_stored_encrypted"),
    _attrs.c.data.label("_attrs"),
    _attrs.c.encrypted.label("_attrs_encrypted"),
).select_from(
    _resource.outerjoin(_stored, _stored.c.id == _resource.c.rsrc_prop_data_id).outerjoin(
        _attrs, _attrs.c.id == _resource.c.attr_data_id
    )
)
_GET = _SELECT.where(_resource.c.id == sa.bindparam("i"))
_BY_STACK = _SELECT.where(_resource.c.stack_id == sa.bindparam("s")).order_by(_resource.c.id)
_BY_ROOT = _SELECT.where(_resource.c.root_stack_id == sa.bindparam("s")).order_by(_resource.c.id)


def _opened(rows: Iterable[Record]) -> list[Record]:
    found = []
    for row in rows:
        stored, stored_encrypted = row.pop("_stored"), row.pop("_stored_encrypted")
        attrs, attrs_encrypted = row.pop("_attrs"), row.pop("_attrs_encrypted")
        if row["rsrc_prop_data_id"] is None:  # as old releases kept them
            stored, stored_encrypted = row["properties_data"] or None, row["properties_data_encrypted"]
        row["stored_properties"] = properties.opened(stored, stored_encrypted)
        row["attr_data"] = properties.opened(attrs, attrs_encrypted)
        found.append(row)
    return found


def _with_data(c: Connection, rows: list[Record]) -> list[Record]:
    by_resource: dict[int, dict[str, Any]] = {}
    for part in sql.chunks(row["id"] for row in rows):
        for item in sql.many(sql.select(c, _data, order="id", resource_id=part)):
            by_resource.setdefault(item["resource_id"], {})[item["key"]] = _clear(item)
    for row in rows:
        row["data"] = by_resource.get(row["id"], {})
    return rows


@query
def get(c: Connection, resource_id: int, data: bool = False) -> Record | None:
    """The resource with this id."""
    rows = _opened(sql.many(c.execute(_GET, {"i": resource_id})))
    if data:
        _with_data(c, rows)
    return rows[0] if rows else None


@query
def get_metadata(c: Connection, resource_id: int) -> dict[str, Any]:
    """The metadata of a resource ({} when it is gone): for those that look again and again."""
    return dict(sql.select(c, _resource, ("rsrc_metadata",), id=resource_id).scalar() or {})


@query
def list_by_stack(
    c: Connection, stack_id: str, filters: Mapping[str, Any] | None = None, data: bool = False
) -> list[Record]:
    """The resources of a stack in the order of their ids: one query, and one more for their data."""
    statement = _BY_STACK.where(*sql.filters(_resource, filters, FILTER_KEYS)) if filters else _BY_STACK
    rows = _opened(sql.many(c.execute(statement, {"s": stack_id})))
    return _with_data(c, rows) if data else rows


@query
def list_by_root(
    c: Connection, root_stack_id: str, filters: Mapping[str, Any] | None = None, data: bool = False
) -> list[Record]:
    """The resources of a stack and of all stacks below it."""
    statement = _BY_ROOT.where(*sql.filters(_resource, filters, FILTER_KEYS)) if filters else _BY_ROOT
    rows = _opened(sql.many(c.execute(statement, {"s": root_stack_id})))
    return _with_data(c, rows) if data else rows


@query
def list_by_name(c: Connection, stack_id: str, name: str, data: bool = False) -> list[Record]:
    """All versions of a resource: the present one and those that it replaces, oldest first."""
    rows = _opened(sql.many(c.execute(_BY_STACK.where(_resource.c.name == name), {"s": stack_id})))
    return _with_data(c, rows) if data else rows


@query
def list_active_by_stack(c: Connection, stack_id: str, data: bool = False) -> list[Record]:
    """The resources of a stack that are not DELETE COMPLETE."""
    gone = sa.and_(_resource.c.action == "DELETE", _resource.c.status == "COMPLETE")
    known = sa.or_(_resource.c.action.is_(None), _resource.c.status.is_(None), ~gone)
    rows = _opened(sql.many(c.execute(_BY_STACK.where(known), {"s": stack_id})))
    return _with_data(c, rows) if data else rows


#: What a list shows of a resource, and what leads to its definition.
_SHOWN = tuple(
    _resource.c[name]
    for name in (
        "id", "uuid", "name", "nova_instance", "action", "status", "status_reason", "replaced_by",
        "current_template_id", "stack_id", "created_at", "updated_at",
    )
)  # fmt: skip
_SHOWN_BY_STACK = sa.select(*_SHOWN).where(_resource.c.stack_id == sa.bindparam("s")).order_by(_resource.c.id)
_SHOWN_BY_ROOT = sa.select(*_SHOWN).where(_resource.c.root_stack_id == sa.bindparam("s")).order_by(_resource.c.id)


@query
def list_shown(
    c: Connection, stack_id: str, filters: Mapping[str, Any] | None = None, below: bool = False
) -> list[Record]:
    """What lists show of the resources of a stack (and, of a root stack with `below`, of all stacks below it)."""
    statement = _SHOWN_BY_ROOT if below else _SHOWN_BY_STACK
    if filters:
        statement = statement.where(*sql.filters(_resource, filters, FILTER_KEYS))
    return sql.many(c.execute(statement, {"s": stack_id}))


@query
def list_by_physical_id(c: Connection, physical_id: str, tenant: str | None = None) -> list[Record]:
    """The resources with this physical id in the stacks that a project may see."""
    statement = _SELECT.where(_resource.c.nova_instance == physical_id).order_by(_resource.c.id)
    if tenant is not None:
        seen = sa.or_(models.stack.c.tenant == tenant, models.stack.c.stack_user_project_id == tenant)
        statement = statement.where(sa.exists().where(models.stack.c.id == _resource.c.stack_id, seen))
    return _opened(sql.many(c.execute(statement)))


@query
def count_by_root(c: Connection, root_stack_id: str) -> int:
    """How many resources a stack and the stacks below it have."""
    return sql.count(c, _resource, root_stack_id=root_stack_id)


@query
def count_by_stack(c: Connection, stack_id: str) -> int:
    return sql.count(c, _resource, stack_id=stack_id)


@query
def engines_of_stack(c: Connection, stack_id: str) -> set[str]:
    """The engines that hold resources of a stack."""
    engine_id = _resource.c.engine_id
    statement = sa.select(engine_id).where(_resource.c.stack_id == stack_id, engine_id.is_not(None)).distinct()
    return set(c.execute(statement).scalars())


# writing ----------------------------------------------------------------------------------------------------------


@operation
def insert(c: Connection, values: Mapping[str, Any]) -> int:
    """Insert a resource; returns its id."""
    return int(sql.insert(c, _resource, values))


@operation
def insert_many(c: Connection, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert resources; returns their ids in the order of the rows."""
    return sql.insert_many(c, _resource, rows, ids=True)


def next_key(atomic_key: int | None) -> int:
    """What `atomic_key` becomes by a fenced write."""
    return 1 if atomic_key is None else atomic_key + 1


@operation
def update(
    c: Connection,
    resource_id: int,
    values: Mapping[str, Any],
    atomic_key: int | None = UNFENCED,
    engine_id: str | None = UNFENCED,
) -> bool:
    """Write columns; with an atomic key (None counts) only if the row still has it and the engine id (default None)."""
    if atomic_key is UNFENCED:
        return bool(sql.update(c, _resource, values, id=resource_id))
    holder = None if engine_id is UNFENCED else engine_id
    values = {**values, "atomic_key": next_key(atomic_key)}
    return bool(sql.update(c, _resource, values, id=resource_id, atomic_key=atomic_key, engine_id=holder))


@operation
def set_physical_id(c: Connection, resource_id: int, physical_id: str | None, engine_id: str | None) -> bool:
    """Write the id of the physical object; False when the engine (None: any) does not hold the resource any more."""
    fence = {} if engine_id is None else {"engine_id": engine_id}
    return bool(sql.update(c, _resource, {"nova_instance": physical_id}, id=resource_id, **fence))


@operation
def set_metadata(
    c: Connection,
    resource_id: int,
    metadata: Any,
    atomic_key: int | None,
    engine_id: str | None,
    data: Mapping[str, str | None] | None = None,
) -> bool:
    """Write the metadata, fenced, and with it entries of the resource data (None: remove)."""
    if not update.within(c, resource_id, {"rsrc_metadata": metadata}, atomic_key, engine_id):
        return False
    for key, value in (data or {}).items():
        if value is None:
            delete_datum.within(c, resource_id, key)
        else:
            set_datum.within(c, resource_id, key, value)
    return True


@operation
def delete(c: Connection, resource_id: int) -> None:
    """Delete a resource, its data and its attributes (stored properties stay: events refer to them)."""
    _delete(c, [resource_id])


@operation
def delete_many(c: Connection, resource_ids: Sequence[int]) -> None:
    """:func:`delete` for many."""
    _delete(c, resource_ids)


def _delete(c: Connection, ids: Sequence[int]) -> None:
    if not ids:
        return
    attrs: list[int] = []
    for part in sql.chunks(ids):
        attrs += (i for i in sql.select(c, _resource, ("attr_data_id",), id=part).scalars() if i is not None)
    if c.dialect.name == "sqlite":  # elsewhere the foreign key does it
        sql.delete(c, _data, resource_id=list(ids))
    sql.delete(c, _resource, id=list(ids))
    if attrs:
        sql.delete(c, models.resource_properties_data, id=attrs)


@operation
def purge_deleted(c: Connection, stack_id: str) -> list[int]:
    """Delete the DELETE COMPLETE rows of a stack and the templates that only they used; returns the rows' ids."""
    rows = sql.select(
        c, _resource, ("id", "current_template_id"), stack_id=stack_id, action="DELETE", status="COMPLETE"
    ).all()
    _delete(c, [row.id for row in rows])
    templates.delete_unreferenced.within(c, {row.current_template_id for row in rows})
    return [row.id for row in rows]


# attributes -------------------------------------------------------------------------------------------------------


@operation
def store_attributes(
    c: Connection, resource_id: int, atomic_key: int | None, attributes: Mapping[str, Any], attr_data_id: int | None
) -> int | None:
    """Keep attribute values for an unlocked resource, fenced; returns the id of the row that has them.

    None (and nothing is written) when the resource changed in the meantime or another writer was first.
    """
    new_id = properties.save.within(c, attributes, attr_data_id)
    same = sa.or_(_resource.c.attr_data_id == new_id, _resource.c.attr_data_id.is_(None))
    key = _resource.c.atomic_key.is_(None) if atomic_key is None else _resource.c.atomic_key == atomic_key
    statement = (
        sa.update(_resource)
        .where(_resource.c.id == resource_id, key, _resource.c.engine_id.is_(None), same)
        .values(attr_data_id=new_id, atomic_key=next_key(atomic_key))
    )
    if not c.execute(statement).rowcount:
        raise Abandon(None)
    return new_id


@operation
def clear_attributes(c: Connection, resource_id: int, attr_data_id: int) -> None:
    """Forget kept attribute values."""
    sql.update(c, _resource, {"attr_data_id": None}, id=resource_id, attr_data_id=attr_data_id)
    sql.delete(c, models.resource_properties_data, id=attr_data_id)


# resource data ----------------------------------------------------------------------------------------------------


def _clear(item: Mapping[str, Any]) -> Any:
    if item["redact"]:
        try:
            return crypt.decrypt(item["decrypt_method"], item["value"])
        except exceptions.InvalidEncryptionKey:
            LOG.exception(
                "Failed to decrypt resource data %(key)s for %(id)s, ignoring.",
                {"key": item["key"], "id": item["resource_id"]},
            )
    return item["value"]


@query
def get_data(c: Connection, resource_id: int) -> dict[str, str | None]:
    """All that plugins keep for a resource, decrypted."""
    return {row["key"]: _clear(row) for row in sql.many(sql.select(c, _data, order="id", resource_id=resource_id))}


@operation
def set_datum(c: Connection, resource_id: int, key: str, value: str | None, redact: bool = False) -> None:
    """Write one entry, encrypted if `redact`."""
    method: str | None = ""
    if redact:
        method, value = crypt.encrypt(value)
    values = {"value": value, "redact": redact, "decrypt_method": method}
    if not sql.update(c, _data, values, resource_id=resource_id, key=key):
        sql.insert(c, _data, {**values, "resource_id": resource_id, "key": key})


@operation
def set_data(c: Connection, entries: Sequence[tuple[int, str, str | None, bool]]) -> None:
    """Write entries (resource id, key, value, redact) of many resources; the last of two with one key stays."""
    wanted = {(resource_id, key): (value, redact) for resource_id, key, value, redact in entries}
    owners = sorted({resource_id for resource_id, _key in wanted})
    present = {(row.resource_id, row.key) for row in sql.select(c, _data, ("resource_id", "key"), resource_id=owners)}
    new = []
    for (resource_id, key), (value, redact) in wanted.items():
        method: str | None = ""
        if redact:
            method, value = crypt.encrypt(value)
        values = {"value": value, "redact": redact, "decrypt_method": method}
        if (resource_id, key) in present:
            sql.update(c, _data, values, resource_id=resource_id, key=key)
        else:
            new.append({**values, "resource_id": resource_id, "key": key})
    if new:
        sql.insert_many(c, _data, new)


@operation
def delete_datum(c: Connection, resource_id: int, key: str) -> bool:
    """Delete one entry; False if there was none."""
    return bool(sql.delete(c, _data, resource_id=resource_id, key=key))
