# SPDX-License-Identifier: Apache-2.0
"""``resource_properties_data``: properties as they were last applied, and attribute values, shared with events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from openkeel_heat.db import crypt, models, sql
from openkeel_heat.db.session import Connection, operation, query

_table = models.resource_properties_data


def encryption_wanted() -> bool:
    """``[DEFAULT] encrypt_parameters_and_properties``."""
    try:
        return bool(cfg.CONF.encrypt_parameters_and_properties)
    except cfg.NoSuchOptError:
        return False


def opened(data: Any, encrypted: bool | None) -> Any:
    """The clear form of a row's data."""
    return crypt.decrypted_dict(data) if encrypted and data is not None else data


def closed(data: Mapping[str, Any] | None) -> dict[str, Any]:
    """The columns of a row for these data: encrypted where the configuration says so."""
    if data and encryption_wanted():
        return {"data": crypt.encrypted_dict(data), "encrypted": True}
    return {"data": data, "encrypted": False}


@query
def get(c: Connection, data_id: int) -> Any:
    """The data of a row, decrypted; None if there is no such row."""
    row = sql.select(c, _table, ("data", "encrypted"), id=data_id).first()
    return None if row is None else opened(row.data, row.encrypted)


@operation
def insert(c: Connection, data: Mapping[str, Any] | None) -> int:
    """A new row; returns its id."""
    return int(sql.insert(c, _table, closed(data)))


@operation
def insert_many(c: Connection, data: list[Mapping[str, Any] | None]) -> list[int]:
    """New rows; returns their ids in order."""
    return sql.insert_many(c, _table, [closed(d) for d in data], ids=True)


@operation
def save(c: Connection, data: Mapping[str, Any] | None, data_id: int | None = None) -> int:
    """Overwrite a row, or make one if there is none with this id; returns its id."""
    if data_id is not None and sql.update(c, _table, closed(data), id=data_id):
        return data_id
    return insert.within(c, data)
