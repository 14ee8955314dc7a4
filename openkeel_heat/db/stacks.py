# SPDX-License-Identifier: Apache-2.0
"""Stacks: the rows of ``stack`` and ``stack_tag``.

A *tenant* argument limits the answer to what that project may see; None stands for an administrator. Reading one stack,
a project also sees the stacks whose stack-user project it is; a list shows a project only what it owns.

Records have every column of ``stack`` but ``current_deps``, which grows with the stack: ask for it with ``deps=True``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy.sql.elements import ColumnElement

from openkeel_heat.common import exceptions
from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Abandon, Connection, operation, query
from openkeel_heat.db.sql import Record

_stack = models.stack
_tag = models.stack_tag

_LIGHT = tuple(column for column in _stack.c if column.name != "current_deps")
_ALL = tuple(_stack.c)

SORT_KEYS = {
    "stack_name": "name",
    "stack_status": "status",
    "creation_time": "created_at",
    "updated_time": "updated_at",
}

#: Filter names: the columns, and the names that users know them by.
FILTER_KEYS = {
    **{
        column.name: column.name
        for column in _stack.c
        if column.name not in ("current_deps", "created_at", "updated_at", "deleted_at")
    },
    "stack_name": "name",
    "stack_action": "action",
    "stack_status": "status",
    "stack_status_reason": "status_reason",
    "timeout_mins": "timeout",
    "stack_owner": "username",
    "parent": "owner_id",
    "stack_user_project_id": "stack_user_project_id",
}

ACTIONS = ("CREATE", "DELETE", "UPDATE", "ROLLBACK", "SUSPEND", "RESUME", "ADOPT", "SNAPSHOT", "CHECK", "RESTORE")
STATUSES = ("IN_PROGRESS", "FAILED", "COMPLETE")


def _visible(tenant: str | None) -> list[ColumnElement[bool]]:
    if tenant is None:
        return []
    return [sa.or_(_stack.c.tenant == tenant, _stack.c.stack_user_project_id == tenant)]


def _columns(deps: bool) -> tuple[sa.Column[Any], ...]:
    return _ALL if deps else _LIGHT


_GET = {deps: sa.select(*_columns(deps)).where(_stack.c.id == sa.bindparam("i")) for deps in (False, True)}
#: The stack once for each of its tags, or once without a tag.
_GET_TAGGED = {
    deps: statement.add_columns(_tag.c.tag.label("_tag"))
    .outerjoin(_tag, _tag.c.stack_id == _stack.c.id)
    .order_by(_tag.c.id)
    for deps, statement in _GET.items()
}


@query
def get(
    c: Connection,
    stack_id: str,
    tenant: str | None = None,
    show_deleted: bool = False,
    deps: bool = False,
    tags: bool = False,
) -> Record | None:
    """The stack with this id; with `tags` it has its ``tags`` (a list)."""
    if tags:
        rows = sql.many(c.execute(_GET_TAGGED[deps], {"i": stack_id}))
        given = [tag for row in rows if (tag := row.pop("_tag")) is not None]
        found = rows[0] if rows else None
        if found is not None:
            found["tags"] = given
    else:
        found = sql.one(c.execute(_GET[deps], {"i": stack_id}))
    if found is None or (found["deleted_at"] is not None and not show_deleted):
        return None
    if tenant is not None and tenant not in (found["tenant"], found["stack_user_project_id"]):
        return None
    return found


@query
def get_by_name(
    c: Connection, name: str, tenant: str | None = None, show_deleted: bool = False, deps: bool = False
) -> Record | None:
    """The oldest stack with this name."""
    return _by_name(c, name, tenant, show_deleted, deps)


def _by_name(c: Connection, name: str, tenant: str | None, show_deleted: bool, deps: bool) -> Record | None:
    statement = sa.select(*_columns(deps)).where(_stack.c.name == name, *_visible(tenant))
    if not show_deleted:
        statement = statement.where(_stack.c.deleted_at.is_(None))
    return sql.one(c.execute(statement.order_by(_stack.c.created_at).limit(1)))


@query
def get_by_name_and_owner(
    c: Connection, name: str, owner_id: str | None, tenant: str | None = None, show_deleted: bool = False
) -> Record | None:
    """The nested stack with this name below a stack (or the top-level one, for owner None)."""
    statement = sa.select(*_LIGHT).where(_stack.c.name == name, _stack.c.owner_id == owner_id, *_visible(tenant))
    if not show_deleted:
        statement = statement.where(_stack.c.deleted_at.is_(None))
    return sql.one(c.execute(statement.limit(1)))


@query
def find(
    c: Connection, name_or_id: str, tenant: str | None = None, show_deleted: bool = False, deps: bool = False
) -> Record | None:
    """The stack with this id (a deleted one too, with `show_deleted`), else the living one with this name."""
    found = get.within(c, name_or_id, tenant, show_deleted, deps)
    return found or _by_name(c, name_or_id, tenant, False, deps)


@query
def get_state(c: Connection, stack_id: str) -> Record | None:
    """Only action, status, status_reason, current_traversal, created_at, updated_at and deleted_at."""
    names = ("action", "status", "status_reason", "current_traversal", "created_at", "updated_at", "deleted_at")
    return sql.one(sql.select(c, _stack, names, id=stack_id))


@query
def has_user_project(c: Connection, project_id: str, tenant: str | None) -> bool:
    """Whether a living stack of the tenant has its users in this project."""
    statement = sa.select(_stack.c.id).where(
        _stack.c.stack_user_project_id == project_id, _stack.c.tenant == tenant, _stack.c.deleted_at.is_(None)
    )
    return c.execute(statement.limit(1)).first() is not None


# lists ------------------------------------------------------------------------------------------------------------


_HAS_TAGS = sa.exists().where(_tag.c.stack_id == _stack.c.id)


def _hidden_tags() -> list[str]:
    try:
        return list(cfg.CONF.hidden_stack_tags or ())
    except cfg.NoSuchOptError:
        return []


def _tagged(tags: Sequence[str]) -> ColumnElement[bool]:
    """Has at least one of the tags."""
    return sa.exists().where(_tag.c.stack_id == _stack.c.id, _tag.c.tag.in_(list(tags)))


def _status_is(value: Any) -> ColumnElement[bool]:
    """A status by itself or with its action: COMPLETE, CREATE_COMPLETE."""
    action, separator, status = str(value).partition("_")
    if separator and action in ACTIONS and status in STATUSES:
        return (_stack.c.action == action) & (_stack.c.status == status)
    return _stack.c.status == value


def _filtered(filters: Mapping[str, Any] | None) -> list[ColumnElement[bool]]:
    rest = dict(filters or {})
    conditions = []
    for name in ("status", "stack_status"):
        if name in rest:
            value = rest.pop(name)
            values = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
            conditions.append(sa.or_(sa.false(), *(_status_is(v) for v in values)))
    return conditions + sql.filters(_stack, rest, FILTER_KEYS)


def _listed(
    tenant: str | None,
    filters: Mapping[str, Any] | None,
    show_deleted: bool,
    show_nested: bool,
    show_hidden: bool,
    tags: Sequence[str] | None,
    tags_any: Sequence[str] | None,
    not_tags: Sequence[str] | None,
    not_tags_any: Sequence[str] | None,
) -> list[ColumnElement[bool]]:
    conditions = _filtered(filters)
    conditions.append(_stack.c.backup.is_(sa.false()) if show_nested else _stack.c.owner_id.is_(None))
    if not show_deleted:
        conditions.append(_stack.c.deleted_at.is_(None))
    if tenant is not None:
        conditions.append(_stack.c.tenant == tenant)
    conditions.extend(_tagged([tag]) for tag in tags or ())
    if tags_any:
        conditions.append(_tagged(tags_any))
    if not_tags:
        conditions.append(~sa.and_(*(_tagged([tag]) for tag in not_tags)))
    if not_tags_any:
        conditions.append(~_tagged(not_tags_any))
    hidden = [] if show_hidden else _hidden_tags()
    if hidden:
        conditions.append(~_tagged(hidden))
    return conditions


@query
def list_stacks(
    c: Connection,
    tenant: str | None = None,
    *,
    limit: int | None = None,
    marker: str | None = None,
    sort_keys: str | Sequence[str] | None = None,
    sort_dir: str | None = None,
    filters: Mapping[str, Any] | None = None,
    show_deleted: bool = False,
    show_nested: bool = False,
    show_hidden: bool = False,
    tags: Sequence[str] | None = None,
    tags_any: Sequence[str] | None = None,
    not_tags: Sequence[str] | None = None,
    not_tags_any: Sequence[str] | None = None,
) -> list[Record]:
    """A page of stacks, each with its `tags` (a list); newest first unless sort keys say otherwise.

    Unknown sort keys are passed over, an unknown marker means the first page; an unknown filter or direction is
    ``exceptions.Invalid``.
    """
    keys = [
        SORT_KEYS[key] for key in ([sort_keys] if isinstance(sort_keys, str) else sort_keys or ()) if key in SORT_KEYS
    ]
    descending = sql.direction(sort_dir, "asc" if keys else "desc")
    columns = [_stack.c[key] for key in keys or ["created_at"]] + [_stack.c.id]
    after = None
    if marker is not None:
        after = c.execute(sa.select(*columns).where(_stack.c.id == marker)).first()
    statement = sa.select(*_LIGHT, _HAS_TAGS.label("_has_tags")).where(
        *_listed(tenant, filters, show_deleted, show_nested, show_hidden, tags, tags_any, not_tags, not_tags_any)
    )
    statement = sql.page(statement, columns, after, descending)
    statement = sql.limited(statement, limit)
    found = sql.many(c.execute(statement))
    by_stack = _tags_of(c, [row["id"] for row in found if row.pop("_has_tags")])
    for row in found:
        row["tags"] = by_stack.get(row["id"], [])
    return found


@query
def count(
    c: Connection,
    tenant: str | None = None,
    *,
    filters: Mapping[str, Any] | None = None,
    show_deleted: bool = False,
    show_nested: bool = False,
    show_hidden: bool = False,
    tags: Sequence[str] | None = None,
    tags_any: Sequence[str] | None = None,
    not_tags: Sequence[str] | None = None,
    not_tags_any: Sequence[str] | None = None,
) -> int:
    """How many stacks :func:`list_stacks` would show on all its pages."""
    conditions = _listed(
        tenant, filters, show_deleted, show_nested, show_hidden, tags, tags_any, not_tags, not_tags_any
    )
    return int(c.execute(sa.select(sa.func.count()).select_from(_stack).where(*conditions)).scalar_one())


@query
def list_by_ids(c: Connection, ids: Sequence[str], show_deleted: bool = True) -> list[Record]:
    """The stacks with these ids, whosoever they are."""
    if not ids:
        return []
    found = sql.many(c.execute(sa.select(*_LIGHT).where(_stack.c.id.in_(list(ids)))))
    return [row for row in found if show_deleted or row["deleted_at"] is None]


def _tree(root_id: str, show_deleted: bool) -> sa.CTE:
    """Ids of the stacks below a root, with their distance."""
    tree = (
        sa.select(_stack.c.id, sa.literal(1).label("depth"))
        .where(_stack.c.owner_id == root_id)
        .cte("tree", recursive=True)
    )
    child = _stack.alias("child")
    more = sa.select(child.c.id, (tree.c.depth + 1).label("depth")).where(child.c.owner_id == tree.c.id)
    if not show_deleted:
        more = more.where(child.c.deleted_at.is_(None))
    return tree.union_all(more)


@query
def list_descendants(
    c: Connection, root_id: str, show_deleted: bool = False, max_depth: int | None = None
) -> list[Record]:
    """All stacks below a stack, nearest first, in one query; each has its distance as `depth`."""
    tree = _tree(root_id, show_deleted)
    statement = (
        sa.select(*_LIGHT, tree.c.depth)
        .join(tree, tree.c.id == _stack.c.id)
        .where(sa.or_(_stack.c.backup.is_(sa.false()), _stack.c.backup.is_(None)))
        .order_by(tree.c.depth, _stack.c.created_at, _stack.c.id)
    )
    if not show_deleted:
        statement = statement.where(_stack.c.deleted_at.is_(None))
    if max_depth is not None:
        statement = statement.where(tree.c.depth <= max_depth)
    return sql.many(c.execute(statement))


@query
def get_root_id(c: Connection, stack_id: str) -> str | None:
    """The id of the topmost stack above this one (itself if it is not nested)."""
    for row in ancestors.within(c, stack_id):
        if row["owner_id"] is None:
            return str(row["id"])
    return None


@query
def ancestors(c: Connection, stack_id: str) -> list[Record]:
    """This stack and those above it, innermost first: id, name, owner_id, parent_resource_name, tenant."""
    names = ("id", "name", "owner_id", "parent_resource_name", "tenant")
    chain = (
        sa.select(*(_stack.c[name] for name in names), sa.literal(0).label("distance"))
        .where(_stack.c.id == stack_id)
        .cte("chain", recursive=True)
    )
    parent = _stack.alias("parent")
    chain = chain.union_all(
        sa.select(*(parent.c[name] for name in names), (chain.c.distance + 1).label("distance")).where(
            parent.c.id == chain.c.owner_id
        )
    )
    return sql.many(c.execute(sa.select(chain).order_by(chain.c.distance)))


# writing ----------------------------------------------------------------------------------------------------------


@operation
def insert(c: Connection, values: Mapping[str, Any], tags: Sequence[str] | None = None) -> str:
    """Insert a stack; returns its id. ``exceptions.StackExists`` if a living stack of the project has the name."""
    stack_id = values.get("id") or models.new_uuid()
    name, tenant = values.get("name"), values.get("tenant")
    if c.dialect.name == "postgresql" and name is not None:
        # two creations of one name must see each other; there is no unique index to do it
        c.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(f"{tenant}/{name}"))))
    sql.insert(c, _stack, {"convergence": True, "backup": False, **values, "id": stack_id})
    if name is not None and values.get("deleted_at") is None:
        others = (
            sa.select(_stack.c.id)
            .where(
                _stack.c.name == name,
                _stack.c.deleted_at.is_(None),
                sa.or_(_stack.c.tenant == tenant, _stack.c.stack_user_project_id == tenant),
                _stack.c.id != stack_id,
            )
            .with_for_update()
        )
        if c.execute(others).first() is not None:
            raise exceptions.StackExists(stack_name=name)
    if tags:
        set_tags.within(c, stack_id, tags)
    return str(stack_id)


def of_traversal(c: Connection, stack_id: str, traversal_id: str) -> dict[str, Any]:
    """What a stack is compared with that has to be in this traversal; an empty one is none.

    Python Heat has NULL there until the first traversal of a stack begins, which may never happen.
    """
    if not traversal_id:
        sql.update(c, _stack, {"current_traversal": ""}, id=stack_id, current_traversal=None)
    return {"current_traversal": traversal_id}


@operation
def update(
    c: Connection,
    stack_id: str,
    values: Mapping[str, Any],
    expected_traversal: str | None = None,
    tags: Sequence[str] | None = None,
) -> bool:
    """Write columns of a living stack; False if there is none or its current traversal is not the expected one.

    `tags` replaces the tags in the same transaction ([] removes them, None leaves them).
    """
    fence = {} if expected_traversal is None else of_traversal(c, stack_id, expected_traversal)
    if not sql.update(c, _stack, values, id=stack_id, deleted_at=None, **fence):
        return False
    if tags is not None:
        set_tags.within(c, stack_id, tags)
    return True


@operation
def delete(
    c: Connection, stack_id: str, values: Mapping[str, Any] | None = None, expected_traversal: str | None = None
) -> bool:
    """Delete softly, in one transaction: last state, remaining resources, sync points, lock, and the name is free."""
    fence = {} if expected_traversal is None else of_traversal(c, stack_id, expected_traversal)
    values = {**(values or {}), "deleted_at": models.utcnow()}
    if not sql.update(c, _stack, values, id=stack_id, deleted_at=None, **fence):
        raise Abandon(False)
    from openkeel_heat.db import resources

    ids = list(sql.select(c, models.resource, ("id",), stack_id=stack_id).scalars())
    if ids:
        resources.delete_many.within(c, ids)
    sql.delete(c, models.sync_point, stack_id=stack_id)
    sql.delete(c, models.stack_lock, stack_id=stack_id)
    return True


# tags -------------------------------------------------------------------------------------------------------------


def _tags_of(c: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if ids:
        for row in sql.select(c, _tag, ("stack_id", "tag"), order="id", stack_id=list(ids)):
            found.setdefault(row.stack_id, []).append(row.tag)
    return found


@query
def get_tags(c: Connection, stack_id: str) -> list[str]:
    """The tags of a stack, in the order they were given."""
    return _tags_of(c, [stack_id]).get(stack_id, [])


@operation
def set_tags(c: Connection, stack_id: str, tags: Sequence[str]) -> None:
    """Replace the tags of a stack."""
    sql.delete(c, _tag, stack_id=stack_id)
    sql.insert_many(c, _tag, [{"stack_id": stack_id, "tag": tag} for tag in tags])
