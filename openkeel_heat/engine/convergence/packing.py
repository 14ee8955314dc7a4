# SPDX-License-Identifier: Apache-2.0
"""Pure: tuples as keys of what is stored and sent as JSON.

A sync point's ``input_data`` and a node's data have tuples as keys: a node of the graph, the path of an attribute. JSON
has none, so the key is ``tuple:`` with Python's notation of the tuple behind it, as ``sync_point`` in the contract has
it. Tuples of text, numbers, true, false and none are known; what else begins so is left as it is.

``ast.literal_eval`` is not used: up to Python 3.11.7 it may fail with SystemError when two threads are in it.
"""

from __future__ import annotations

import re
from typing import Any

PREFIX = "tuple:"

_WORDS = {"True": True, "False": False, "None": None}
_ITEM = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<word>True|False|None)"""
    r"""|(?P<float>-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))|(?P<int>-?\d+))\s*(?P<end>,\s*\)$|,|\)$)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_SHORT = {"n": "\n", "r": "\r", "t": "\t"}


def pack(value: Any) -> Any:
    """Tuple keys become text, at every depth of dictionaries."""
    if not isinstance(value, dict):
        return value
    return {PREFIX + str(key) if isinstance(key, tuple) else key: pack(item) for key, item in value.items()}


def unpack(value: Any) -> Any:
    """The inverse of :func:`pack`."""
    if not isinstance(value, dict):
        return value
    return {unpack_key(key): unpack(item) for key, item in value.items()}


def unpack_key(key: Any) -> Any:
    """The tuple that a key stands for; a key that stands for none as it is."""
    if not isinstance(key, str) or not key.startswith("tuple:("):
        return key
    items: list[Any] = []
    place = len("tuple:(")
    while found := _ITEM.match(key, place):
        items.append(_value(found))
        if found["end"] != ",":
            # one item without a comma is a value in brackets, not a tuple
            return tuple(items) if len(items) > 1 or found["end"] != ")" else key
        place = found.end()
    return () if key == "tuple:()" else key


def _value(found: re.Match[str]) -> Any:
    if found["text"] is not None:
        return _ESCAPE.sub(_character, found["text"][1:-1])
    if found["word"] is not None:
        return _WORDS[found["word"]]
    return float(found["float"]) if found["float"] is not None else int(found["int"])


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else _SHORT.get(found[4], found[4])
