# SPDX-License-Identifier: Apache-2.0
"""JSON as the standard has it.

Python reads and writes ``NaN`` and ``Infinity``, and turns ``1e999`` into the latter. No other reader takes them, so
whatever comes from users is read here: what cannot be passed on is refused where it comes in.
"""

from __future__ import annotations

import json
import math
from typing import Any

from openkeel_heat.common.i18n import _

#: The nearest power of two above the largest number whose digits Python writes out.
_MAX_BITS = 14285


class NotPortable(ValueError):
    """What Python takes for JSON and others do not."""


def _constant(name: str) -> Any:
    raise NotPortable(_("%s is not a number that JSON has") % name)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotPortable(_("%s is too large a number") % (text if len(text) < 40 else text[:40] + "..."))
    return number


_decode = json.JSONDecoder(parse_constant=_constant, parse_float=_float).decode


def loads(text: str) -> Any:
    """The value of a JSON text.

    :raises NotPortable: it has a number or a text that cannot be passed on
    :raises ValueError: it is no JSON, or has a number of too many digits
    :raises RecursionError: it is nested deeper than the interpreter goes
    """
    if text.startswith("\ufeff"):
        raise ValueError(_("A byte order mark does not belong into JSON"))
    value = _decode(text)
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise NotPortable(_("Half of a surrogate pair is no text")) from None
    return value


def is_finite(number: Any) -> bool:
    """Whether a number can be written as JSON."""
    if isinstance(number, float):
        return math.isfinite(number)
    return not isinstance(number, int) or number.bit_length() < _MAX_BITS
