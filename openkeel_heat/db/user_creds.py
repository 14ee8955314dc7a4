# SPDX-License-Identifier: Apache-2.0
"""Credentials that the engine keeps to act for a user later: a trust, or (with ``deferred_auth_method=password``) a
password; both are encrypted in the row and clear in what these operations take and give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.db import crypt, models, sql
from openkeel_heat.db.session import Connection, operation, query
from openkeel_heat.db.sql import Record

_creds = models.user_creds


def _values(context: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "auth_url": context.get("auth_url"),
        "region_name": context.get("region_name"),
        "tenant": context.get("project_name"),
        "tenant_id": context.get("project_id"),
    }
    if context.get("trust_id"):
        method, trust_id = crypt.encrypt(context["trust_id"])
        trustor = context.get("trustor_user_id")
        return {**values, "trust_id": trust_id, "decrypt_method": method, "trustor_user_id": trustor}
    method, password = crypt.encrypt(context.get("password"))
    crypt.fits_column(password)
    return {
        **values,
        "username": context.get("username"),
        "password": password,
        "decrypt_method": method,
        "trust_id": None,
        "trustor_user_id": context.get("trustor_user_id"),
    }


@operation
def insert(c: Connection, context: Mapping[str, Any]) -> int:
    """Keep the credentials of a request context (``context.to_dict()``); returns the row's id."""
    return int(sql.insert(c, _creds, _values(context)))


@query
def get(c: Connection, creds_id: int) -> Record | None:
    """A row with `password` and `trust_id` in clear, without its `decrypt_method`."""
    found = sql.one(sql.select(c, _creds, id=creds_id))
    if found is None:
        return None
    method = found.pop("decrypt_method")
    found["password"] = crypt.decrypt(method, found["password"])
    found["trust_id"] = crypt.decrypt(method, found["trust_id"])
    return found


@operation
def delete(c: Connection, creds_id: int) -> bool:
    """Delete a row; False if there is none. Stacks that refer to it (nested ones) have none of their own then."""
    sql.update(c, models.stack, {"user_creds_id": None}, user_creds_id=creds_id)
    return bool(sql.delete(c, _creds, id=creds_id))
