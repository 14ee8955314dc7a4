# SPDX-License-Identifier: Apache-2.0
"""Texts that clients send, as columns of the database hold them.

A client may send any JSON where a text is wanted. What each database makes of a list or a map is something else (an
error, a row, the text of its only element), so that they are refused before; a number is written as a text everywhere.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions

LENGTH = 255


def text(name: str, value: Any, length: int = LENGTH) -> str | None:
    """What is stored of a value; Invalid, with the field's name, where a column cannot hold it."""
    if value is None:
        return None
    if isinstance(value, (bool, int, float)):
        value = str(int(value) if isinstance(value, bool) else value)
    if not isinstance(value, str):
        raise exceptions.Invalid(reason=f'"{name}" must be a string')
    if len(value) > length:
        raise exceptions.Invalid(reason=f'"{name}" should be no more than {length} characters')
    return value
