# SPDX-License-Identifier: Apache-2.0
"""What an operator does to a database by hand: resetting a stuck stack, encrypting and decrypting what is stored."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_log import log as logging
from oslo_utils import strutils

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db import crypt, models, sql, stacks
from openkeel_heat.db.session import Connection, operation, query
from openkeel_heat.db.sql import Record
from openkeel_heat.db.types import dumps

LOG = logging.getLogger(__name__)

HOOKS = ("pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete")
RESET_REASON = "Stack status manually reset"


@operation
def reset_stack_status(c: Connection, stack_id: str) -> list[str]:
    """Let a stack and the stacks below it, stuck IN_PROGRESS, count as failed: resources, hooks and locks too.

    Returns the ids of the stacks; ``exceptions.NotFound`` if there is no such stack.
    """
    if stacks.get.within(c, stack_id, None, True) is None:
        raise exceptions.NotFound(_("Stack with id %s not found") % stack_id)
    ids = [stack_id]
    level = [stack_id]
    while level:  # backup and deleted stacks included
        level = list(sql.select(c, models.stack, ("id",), owner_id=level).scalars())
        ids.extend(level)
    failed = {"status": "FAILED", "status_reason": RESET_REASON}
    resource = models.resource
    hooked = sa.select(resource.c.id).where(resource.c.stack_id.in_(ids))
    c.execute(
        sa.delete(models.resource_data).where(
            models.resource_data.c.key.in_(HOOKS), models.resource_data.c.resource_id.in_(hooked)
        )
    )
    # counting the key up locks out an engine that is still at work on the resource
    key = sa.func.coalesce(resource.c.atomic_key, 0) + 1
    released = {**failed, "engine_id": None, "atomic_key": key}
    sql.update(c, resource, released, stack_id=ids, status="IN_PROGRESS")
    sql.update(c, models.stack, failed, id=ids, status="IN_PROGRESS")
    sql.delete(c, models.stack_lock, stack_id=ids)
    return ids


# encryption -------------------------------------------------------------------------------------------------------


def hidden_parameters(template: Any) -> set[str]:
    """Names of the parameters that a stored template declares hidden (HOT `hidden`, CFN `NoEcho`)."""
    found = set()
    if isinstance(template, Mapping):
        for section, flag in (("parameters", "hidden"), ("Parameters", "NoEcho")):
            declared = template.get(section)
            for name, schema in declared.items() if isinstance(declared, Mapping) else ():
                if isinstance(schema, Mapping) and strutils.bool_from_string(schema.get(flag, False)):
                    found.add(name)
    return found


def encrypt_environment(
    environment: Mapping[str, Any], hidden: set[str], key: str | None = None
) -> dict[str, Any] | None:
    """A stored environment with its hidden parameters encrypted; None if there is nothing to do."""
    parameters = environment.get("parameters") or {}
    encrypted = list(environment.get("encrypted_param_names") or [])
    names = [name for name in parameters if name in hidden and name not in encrypted]
    if not names:
        return None
    changed = copy.deepcopy(dict(environment))
    for name in names:
        value = parameters[name]
        text = value if isinstance(value, str) else dumps(value) if isinstance(value, (dict, list)) else str(value)
        changed["parameters"][name] = list(crypt.encrypt(text, key))
    changed["encrypted_param_names"] = encrypted + names
    return changed


def decrypt_environment(environment: Mapping[str, Any], key: str | None = None) -> dict[str, Any] | None:
    """A stored environment with its hidden parameters in clear; None if there is nothing to do."""
    names = environment.get("encrypted_param_names") or []
    if not names:
        return None
    changed = copy.deepcopy(dict(environment))
    for name in names:
        if name in changed.get("parameters", {}):
            method, value = changed["parameters"][name]
            changed["parameters"][name] = crypt.decrypt(method, value, key)
    changed["encrypted_param_names"] = []
    return changed


def encrypt_parameters_and_properties(
    key: str | None = None, batch_size: int = 50, verbose: bool = False
) -> list[Exception]:
    """Encrypt hidden parameters of all templates and all stored properties; returns what went wrong, row by row."""
    return _convert(True, key, batch_size, verbose)


def decrypt_parameters_and_properties(
    key: str | None = None, batch_size: int = 50, verbose: bool = False
) -> list[Exception]:
    """The inverse of :func:`encrypt_parameters_and_properties`."""
    return _convert(False, key, batch_size, verbose)


def _convert(encrypt: bool, key: str | None, batch_size: int, verbose: bool) -> list[Exception]:
    errors: list[Exception] = []

    def environment(row: Record) -> dict[str, Any] | None:
        stored = row["environment"]
        if stored is None:
            return None
        if not isinstance(stored, Mapping):
            raise TypeError(f"the environment is a {type(stored).__name__}")
        if encrypt:
            changed = encrypt_environment(stored, hidden_parameters(row["template"]), key)
        else:
            changed = decrypt_environment(stored, key)
        return None if changed is None else {"environment": changed}

    def stored_data(data: str, flag: str) -> Callable[[Record], dict[str, Any] | None]:
        def changed(row: Record) -> dict[str, Any] | None:
            if not row[data] or bool(row[flag]) == encrypt:
                return None
            convert = crypt.encrypted_dict if encrypt else crypt.decrypted_dict
            return {data: convert(row[data], key), flag: encrypt}

        return changed

    _each(models.raw_template, ("template", "environment"), environment, batch_size, verbose, errors)
    names = ("data", "encrypted")
    _each(models.resource_properties_data, names, stored_data(*names), batch_size, verbose, errors)
    names = ("properties_data", "properties_data_encrypted")
    _each(models.resource, names, stored_data(*names), batch_size, verbose, errors)
    return errors


def _each(
    table: sa.Table,
    columns: tuple[str, ...],
    change: Callable[[Record], dict[str, Any] | None],
    batch_size: int,
    verbose: bool,
    errors: list[Exception],
) -> None:
    """Rewrite the rows of a table, a batch per transaction; a row that cannot be is logged and left as it was."""
    for rows in _batches(table, columns, batch_size):
        changes = {}
        for row in rows:
            try:
                if verbose:
                    LOG.info("Processing %(table)s %(id)s...", {"table": table.name, "id": row["id"]})
                values = change(row)
                if values is not None:
                    changes[row["id"]] = values
            except Exception as exc:
                LOG.exception("Failed to convert %(table)s %(id)s", {"table": table.name, "id": row["id"]})
                errors.append(exc)
            finally:
                if verbose:
                    LOG.info("Finished processing %(table)s %(id)s.", {"table": table.name, "id": row["id"]})
        if changes:
            _write(table, changes)


def _batches(table: sa.Table, columns: tuple[str, ...], batch_size: int) -> Iterator[list[Record]]:
    last = 0
    while rows := _batch(table, columns, last, max(batch_size, 1)):
        yield rows
        last = rows[-1]["id"]


@query
def _batch(c: Connection, table: sa.Table, columns: tuple[str, ...], after: int, size: int) -> list[Record]:
    chosen = [table.c.id, *(table.c[name] for name in columns)]
    return sql.many(c.execute(sa.select(*chosen).where(table.c.id > after).order_by(table.c.id).limit(size)))


@operation
def _write(c: Connection, table: sa.Table, changes: Mapping[int, Mapping[str, Any]]) -> None:
    for row_id, values in changes.items():
        sql.update(c, table, values, id=row_id)
