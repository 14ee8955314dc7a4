# SPDX-License-Identifier: Apache-2.0
"""Software configs and deployments.

A deployment's record has the config it refers to as `config` (a record).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from oslo_db import exception as db_exc
from sqlalchemy.sql.elements import ColumnElement

from openkeel_heat.common import clock, exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Abandon, Connection, operation, query
from openkeel_heat.db.sql import Record

T = TypeVar("T")

_config = models.software_config
_deployment = models.software_deployment


def _tenant(tenant: str | None) -> dict[str, Any]:
    return {} if tenant is None else {"tenant": tenant}


# configs ----------------------------------------------------------------------------------------------------------


@operation
def insert_config(c: Connection, values: Mapping[str, Any]) -> str:
    """A new config (name, group, config, tenant); returns its id."""
    return str(sql.insert(c, _config, values))


@query
def get_config(c: Connection, config_id: str, tenant: str | None = None) -> Record | None:
    """The config with this id."""
    return sql.one(sql.select(c, _config, id=config_id, **_tenant(tenant)))


@query
def list_configs(
    c: Connection, tenant: str | None = None, limit: int | None = None, marker: str | None = None
) -> list[Record]:
    """A page of configs, newest first; without their (possibly large) texts."""
    columns = [column for column in _config.c if column.name != "config"]
    keys = [_config.c.created_at, _config.c.id]
    after = None
    if marker is not None:
        after = c.execute(sa.select(*keys).where(_config.c.id == marker)).first()
    statement = sql.page(sa.select(*columns), keys, after, descending=True)
    if tenant is not None:
        statement = statement.where(_config.c.tenant == tenant)
    statement = sql.limited(statement, limit)
    return sql.many(c.execute(statement))


@query
def count_configs(c: Connection, tenant: str | None = None) -> int:
    return sql.count(c, _config, **_tenant(tenant))


@operation
def delete_config(c: Connection, config_id: str, tenant: str | None = None) -> bool:
    """Delete a config; False if there is none, ``exceptions.InvalidRestrictedAction`` while a deployment uses it."""
    if get_config.within(c, config_id, tenant) is None:
        return False
    in_use = sql.count(c, _deployment, config_id=config_id)
    try:
        if not in_use:
            sql.delete(c, _config, id=config_id)
    except db_exc.DBReferenceError:
        in_use = 1
    if in_use:
        message = _("Software config with id %s can not be deleted as it is referenced.") % config_id
        raise exceptions.InvalidRestrictedAction(message=message)
    return True


# deployments ------------------------------------------------------------------------------------------------------


def _seen(tenant: str | None) -> list[ColumnElement[bool]]:
    if tenant is None:
        return []
    return [sa.or_(_deployment.c.tenant == tenant, _deployment.c.stack_user_project_id == tenant)]


def _with_configs(c: Connection, rows: list[Record]) -> list[Record]:
    ids = {row["config_id"] for row in rows}
    configs = {row["id"]: row for row in sql.many(sql.select(c, _config, id=ids))} if ids else {}
    for row in rows:
        row["config"] = configs.get(row["config_id"])
    return rows


def _refer(c: Connection, config_id: str | None, write: Callable[[], T], otherwise: T) -> T:
    """Write a deployment that refers to a config, unless that was deleted in the meantime."""
    if config_id is None:
        return write()
    try:
        if sql.count(c, _config, id=config_id):
            return write()
    except db_exc.DBReferenceError:  # this very moment
        pass
    raise Abandon(otherwise)


@operation
def insert_deployment(c: Connection, values: Mapping[str, Any]) -> str | None:
    """A new deployment; returns its id, None if there is no such config."""
    return _refer(c, values["config_id"], lambda: str(sql.insert(c, _deployment, values)), None)


@query
def get_deployment(c: Connection, deployment_id: str, tenant: str | None = None) -> Record | None:
    """The deployment with this id; a project also sees those of which it is the stack-user project."""
    rows = sql.many(c.execute(sa.select(_deployment).where(_deployment.c.id == deployment_id, *_seen(tenant))))
    return _with_configs(c, rows)[0] if rows else None


@query
def list_deployments(c: Connection, tenant: str | None = None, server_id: str | None = None) -> list[Record]:
    """Deployments (of a server), oldest first."""
    statement = sa.select(_deployment).where(*_seen(tenant))
    if server_id:
        statement = statement.where(_deployment.c.server_id == server_id)
    rows = sql.many(c.execute(statement.order_by(_deployment.c.created_at, _deployment.c.id)))
    return _with_configs(c, rows)


@query
def count_deployments(c: Connection, tenant: str | None = None) -> int:
    return int(c.execute(sa.select(sa.func.count()).select_from(_deployment).where(*_seen(tenant))).scalar_one())


@operation
def update_deployment(c: Connection, deployment_id: str, values: Mapping[str, Any], **expected: Any) -> bool:
    """Write columns; False if the deployment or the config that it shall have is gone, or other values are there than
    are expected.
    """
    write = partial(sql.update, c, _deployment, values, id=deployment_id, **expected)
    return _refer(c, values.get("config_id"), lambda: bool(write()), False)


@operation
def deploy(c: Connection, deployment_id: str, config: Mapping[str, Any], values: Mapping[str, Any]) -> str | None:
    """Make a deployment with a new config of its own, or give it the new config in place of the one it had.

    Returns the id of the config that it had. ``values`` are columns of the deployment without ``id`` and ``config_id``.
    """
    before = get_deployment.within(c, deployment_id)
    values = {**values, "config_id": sql.insert(c, _config, config)}
    if before is None:
        sql.insert(c, _deployment, {"id": deployment_id, **values})
        return None
    sql.update(c, _deployment, {**values, "updated_at": clock.utcnow()}, id=deployment_id)
    _delete_unused(c, before.config_id)
    return str(before.config_id)


@operation
def undeploy(c: Connection, deployment_id: str, tenant: str | None = None) -> Record | None:
    """Delete a deployment with its config; the record of what was there."""
    found = get_deployment.within(c, deployment_id, tenant)
    if found is not None:
        sql.delete(c, _deployment, id=deployment_id)
        _delete_unused(c, found.config_id)
    return found


def _delete_unused(c: Connection, config_id: str | None) -> None:
    if config_id is not None and not sql.count(c, _deployment, config_id=config_id):
        sql.delete(c, _config, id=config_id)


@operation
def delete_deployment(c: Connection, deployment_id: str) -> bool:
    return bool(sql.delete(c, _deployment, id=deployment_id))
