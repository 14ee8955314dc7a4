# SPDX-License-Identifier: Apache-2.0
"""Templates as they are stored: ``raw_template`` and ``raw_template_files``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openkeel_heat.db import models, sql
from openkeel_heat.db.session import Connection, operation, query
from openkeel_heat.db.sql import Record

_template = models.raw_template
_files = models.raw_template_files


@query
def get(c: Connection, template_id: int, files: bool = False) -> Record | None:
    """A row: template, environment, files (legacy column) and files_id; `files` fills `files` from files_id."""
    found = sql.one(sql.select(c, _template, id=template_id))
    if found is not None and files and found["files_id"] is not None:
        found["files"] = get_files.within(c, found["files_id"])
    return found


@query
def get_files(c: Connection, files_id: int) -> Any:
    """The files (a dict) of a row of ``raw_template_files``; None if it is gone."""
    return sql.select(c, _files, ("files",), id=files_id).scalar()


@operation
def insert(c: Connection, values: Mapping[str, Any]) -> int:
    """Insert a row; returns its id."""
    return int(sql.insert(c, _template, values))


@operation
def insert_files(c: Connection, files: Mapping[str, Any]) -> int:
    """Insert files; returns their id."""
    return int(sql.insert(c, _files, {"files": files}))


@operation
def update(c: Connection, template_id: int, values: Mapping[str, Any]) -> bool:
    """Write columns of a row."""
    return bool(sql.update(c, _template, values, id=template_id))


@operation
def delete(c: Connection, template_id: int) -> None:
    """Delete a row (none is no error), and its files when no other template uses them."""
    _delete(c, [template_id])


@operation
def delete_unreferenced(c: Connection, template_ids: Iterable[int | None]) -> list[int]:
    """Delete those of the templates that no stack and no resource refers to; returns their ids."""
    ids = sorted({i for i in template_ids if i is not None})
    if not ids:
        return []
    stack, resource = models.stack.c, models.resource.c
    used: set[int] = set()
    for column in (stack.raw_template_id, stack.prev_raw_template_id, resource.current_template_id):
        used |= sql.referenced(c, column, ids)
    unused = [i for i in ids if i not in used]
    _delete(c, unused)
    return unused


def _delete(c: Connection, ids: list[int]) -> None:
    if not ids:
        return
    files: set[int] = set()
    for part in sql.chunks(ids):
        files.update(i for i in sql.select(c, _template, ("files_id",), id=part).scalars() if i is not None)
    sql.delete(c, _template, id=ids)
    files -= sql.referenced(c, _template.c.files_id, files)
    if files:
        sql.delete(c, _files, id=files)
