# SPDX-License-Identifier: Apache-2.0
"""Statements that are built once per shape and reused, and rows as records.

Building a SQLAlchemy statement costs more than running it; the helpers here keep one per (table, columns, condition).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.elements import ClauseElement, ColumnElement

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

#: Bytes of a TEXT column in MySQL and MariaDB.
MYSQL_TEXT_BYTES = 65535

#: Key in a connection's `info`: its character set, or that of its database, ends at U+FFFF (set by ``session``).
NARROW = "openkeel_narrow"

#: The largest number of rows that all databases can be asked for; no list is as long.
MAX_LIMIT = 2**31 - 1

#: How many values go into one IN.
CHUNK = 5000


class Record(dict[str, Any]):
    """A row (and what was joined to it) as a dict whose keys can be read and set as attributes."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def copy(self) -> Record:
        return Record(self)


class _Unfenced:
    def __repr__(self) -> str:
        return "UNFENCED"


#: Default of fence arguments, because None is a value that a fence can have.
UNFENCED: Any = _Unfenced()


def one(result: sa.CursorResult[Any]) -> Record | None:
    """The first row of a result, or None."""
    row = result.first()
    return None if row is None else Record(row._mapping)


def many(result: sa.CursorResult[Any]) -> list[Record]:
    """All rows of a result."""
    keys = tuple(result.keys())
    return [Record(zip(keys, row, strict=True)) for row in result]


def _shape(where: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (key, "null" if value is None else "in" if isinstance(value, (list, tuple, set, frozenset)) else "eq")
        for key, value in where.items()
    )


def _conditions(table: sa.Table, shape: Iterable[tuple[str, str]]) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    for key, kind in shape:
        column = table.c[key]
        if kind == "null":
            found.append(column.is_(None))
        elif kind == "in":
            found.append(column.in_(sa.bindparam(f"w_{key}", expanding=True)))
        else:
            found.append(column == sa.bindparam(f"w_{key}"))
    return found


def _parameters(where: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"w_{key}": list(value) if isinstance(value, (set, frozenset, tuple)) else value
        for key, value in where.items()
        if value is not None
    }


@lru_cache(512)
def _select(
    table: sa.Table, columns: tuple[str, ...] | None, shape: tuple[tuple[str, str], ...], order: str | None, lock: bool
) -> sa.Select[Any]:
    chosen = [table.c[name] for name in columns] if columns else list(table.c)
    statement = sa.select(*chosen).where(*_conditions(table, shape))
    if order:
        statement = statement.order_by(table.c[order])
    return statement.with_for_update() if lock else statement


def select(
    c: Connection,
    table: sa.Table,
    columns: tuple[str, ...] | None = None,
    order: str | None = None,
    lock: bool = False,
    **where: Any,
) -> sa.CursorResult[Any]:
    """Rows whose columns equal the keywords (None: IS NULL; a list, tuple or set: IN)."""
    return c.execute(_select(table, columns, _shape(where), order, lock), _parameters(where))


@lru_cache(512)
def _count(table: sa.Table, shape: tuple[tuple[str, str], ...]) -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(table).where(*_conditions(table, shape))


def count(c: Connection, table: sa.Table, **where: Any) -> int:
    """How many rows match."""
    return int(c.execute(_count(table, _shape(where)), _parameters(where)).scalar_one())


@lru_cache(512)
def _update(table: sa.Table, columns: tuple[str, ...], shape: tuple[tuple[str, str], ...]) -> sa.Update:
    values = {name: sa.bindparam(f"v_{name}", type_=table.c[name].type) for name in columns}
    return sa.update(table).where(*_conditions(table, shape)).values(values)


def update(c: Connection, table: sa.Table, values: Mapping[str, Any], **where: Any) -> int:
    """Write `values` to the rows that match; returns how many matched (whether or not they changed)."""
    values = fitted(c, table, values)
    if any(isinstance(value, ClauseElement) for value in values.values()):
        statement = sa.update(table).where(*_conditions(table, _shape(where))).values(dict(values))
        return c.execute(statement, _parameters(where)).rowcount
    parameters = _parameters(where)
    parameters.update({f"v_{name}": value for name, value in values.items()})
    return c.execute(_update(table, tuple(values), _shape(where)), parameters).rowcount


@lru_cache(512)
def _delete(table: sa.Table, shape: tuple[tuple[str, str], ...]) -> sa.Delete:
    return sa.delete(table).where(*_conditions(table, shape))


def delete(c: Connection, table: sa.Table, **where: Any) -> int:
    """Delete the rows that match; returns how many. One list may be of any length."""
    for key, value in where.items():
        if isinstance(value, (list, tuple, set, frozenset)) and len(value) > CHUNK:
            return sum(delete(c, table, **{**where, key: part}) for part in chunks(value))
    return c.execute(_delete(table, _shape(where)), _parameters(where)).rowcount


def chunks(values: Iterable[Any]) -> Iterable[list[Any]]:
    """The values in lists that fit into one IN."""
    whole = list(values)
    return (whole[start : start + CHUNK] for start in range(0, len(whole), CHUNK))


def referenced(c: Connection, column: sa.Column[Any], values: Iterable[Any]) -> set[Any]:
    """Which of the values a column has in some row."""
    found: set[Any] = set()
    for part in chunks(values):
        found.update(select(c, column.table, (column.name,), **{column.name: part}).scalars())  # type: ignore[arg-type]
    return found


@lru_cache(64)
def _insert(table: sa.Table) -> sa.Insert:
    return sa.insert(table)


@lru_cache(64)
def _insert_returning(table: sa.Table, ordered: bool) -> Any:
    return sa.insert(table).returning(table.c.id, sort_by_parameter_order=ordered)


def insert(c: Connection, table: sa.Table, values: Mapping[str, Any]) -> Any:
    """Insert one row; returns its primary key (a scalar where the key is one column)."""
    key = c.execute(_insert(table), fitted(c, table, values)).inserted_primary_key
    return None if key is None else key[0] if len(key) == 1 else tuple(key)


def insert_many(c: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]], ids: bool = False) -> list[Any]:
    """Insert rows with as few statements as the database allows; with `ids`, their keys in the same order."""
    if not rows:
        return []
    names = dict.fromkeys(name for row in rows for name in row)
    full = [
        fitted(c, table, {name: row[name] if name in row else _default(table, name) for name in names}) for row in rows
    ]
    if not ids:
        c.execute(_insert(table), full)
        return []
    if len(full) > 1 and c.dialect.insert_returning:
        if c.dialect.name == "sqlite":  # numbers rows in the order of their values, but may return them in another
            return sorted(c.execute(_insert_returning(table, False), full).scalars())
        return list(c.execute(_insert_returning(table, True), full).scalars())
    return [insert(c, table, row) for row in full]


def _default(table: sa.Table, name: str) -> Any:
    default = table.c[name].default
    if default is None:
        return None
    argument = default.arg  # type: ignore[attr-defined]
    return argument(None) if default.is_callable else argument


def fitted(c: Connection, table: sa.Table, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """`values` with reasons that the column can hold: what a cloud answers must not keep a state from being written."""
    for name in ("status_reason", "resource_status_reason"):
        reason = values.get(name)
        if isinstance(reason, str) and reason:
            fitting = _fitting(c, table.c[name], reason)
            if fitting is not reason:
                values = {**values, name: fitting}
    return values


def _fitting(c: Connection, column: sa.Column[Any], text: str) -> str:
    length = getattr(column.type, "length", None)
    if length is not None and len(text) > length:
        text = text[:length]
    if "\0" in text:  # PostgreSQL has none
        text = text.replace("\0", "\ufffd")
    if c.dialect.name not in ("mysql", "mariadb"):
        return text
    if not text.isascii() and max(text) > "\uffff" and c.info.get(NARROW):
        text = "".join("\ufffd" if letter > "\uffff" else letter for letter in text)
    if length is None and len(text) > MYSQL_TEXT_BYTES // 4 and len(encoded := text.encode()) > MYSQL_TEXT_BYTES:
        text = encoded[:MYSQL_TEXT_BYTES].decode(errors="ignore")
    return text


def filters(table: sa.Table, wanted: Mapping[str, Any] | None, names: Mapping[str, str]) -> list[ColumnElement[bool]]:
    """Conditions for a user's filters; `names` maps the accepted filter names to columns.

    A list, tuple or set asks for any of its values. An unknown name is the user's mistake; a value that the column
    cannot have is had by no row.
    """
    conditions: list[ColumnElement[bool]] = []
    for name, value in (wanted or {}).items():
        column = table.c.get(names.get(name, ""))
        if column is None:
            raise exceptions.Invalid(reason=_("unknown filter: %s") % name)
        if value is None:
            conditions.append(column.is_(None))
            continue
        values = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
        possible = [one for one in map(partial(_of_column, column), values) if one is not None]
        conditions.append(column == possible[0] if len(possible) == 1 else column.in_(possible))
    return conditions


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _of_column(column: sa.Column[Any], value: Any) -> Any:
    """A value of a filter, mostly a text, as the column has it; ``None`` if it cannot have it."""
    if isinstance(column.type, sa.Boolean):
        return _BOOLEANS.get(str(value).lower())
    if isinstance(column.type, sa.Integer):
        try:
            number = int(value)
        except (TypeError, ValueError):
            return None
        return number if abs(number) <= MAX_LIMIT else None
    return value


def direction(sort_dir: str | None, default: str) -> bool:
    """Whether a sort direction means descending; a text that is neither is the user's mistake."""
    value = sort_dir or default
    if value not in ("asc", "desc"):
        raise exceptions.Invalid(reason=_("Unknown sort direction, must be one of: %s") % "asc, desc")
    return value == "desc"


def page(
    statement: sa.Select[Any], keys: Sequence[ColumnElement[Any]], marker: Sequence[Any] | None, descending: bool
) -> sa.Select[Any]:
    """Order by `keys` (the last one unique), beginning after the row whose key values are `marker`.

    NULL is less than every value on all databases.
    """
    after: ColumnElement[bool] | None = None
    for index in reversed(range(len(keys))):
        key = keys[index]
        if marker is None:
            continue
        value = marker[index]
        beyond: ColumnElement[bool] | None
        if value is None:
            same = key.is_(None)
            beyond = None if descending else key.is_not(None)
        else:
            same = key == value
            beyond = (key < value) | key.is_(None) if descending and _nullable(key) else None
            if beyond is None:
                beyond = key < value if descending else key > value
        if after is None:
            after = beyond
        else:
            after = (same & after) if beyond is None else beyond | (same & after)
    if after is not None:
        statement = statement.where(after)
    for key in keys:
        if _nullable(key):
            present = key.is_not(None)
            statement = statement.order_by(present.desc() if descending else present.asc())
        statement = statement.order_by(key.desc() if descending else key.asc())
    return statement


def limited(statement: sa.Select[Any], limit: int | None) -> sa.Select[Any]:
    """At most so many rows; all where there is no limit."""
    return statement if limit is None else statement.limit(min(int(limit), MAX_LIMIT))


def _nullable(key: ColumnElement[Any]) -> bool:
    # every INSERT fills created_at, and ordering by it alone can use the order of the rows
    return bool(getattr(key, "nullable", True)) and getattr(key, "name", "") != "created_at"
