# SPDX-License-Identifier: Apache-2.0
"""Column types that keep JSON in text columns, in the exact form that Heat writes.

A Python ``None`` is written as the JSON text ``null``, never as SQL NULL; both are read back as ``None``.
"""

from __future__ import annotations

import json
from typing import Any

from oslo_serialization import jsonutils
from sqlalchemy import Text
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine


def dumps(value: Any) -> str:
    """The JSON text of a value, byte for byte as ``oslo_serialization.jsonutils`` makes it."""
    return json.dumps(value, default=jsonutils.to_primitive)


def loads(text: str | bytes | None) -> Any:
    """The value behind a stored JSON text; SQL NULL is ``None``."""
    return None if text is None else json.loads(text)


class Json(TypeDecorator[Any]):
    """A JSON document in a text column (LONGTEXT in MySQL and MariaDB)."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "mysql" or dialect.name == "mariadb":
            return dialect.type_descriptor(mysql.LONGTEXT())
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return dumps(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return loads(value)
