# SPDX-License-Identifier: Apache-2.0
"""Names and paths of resource attributes as the language sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: stands for every attribute of a resource
ALL_ATTRIBUTES = "*"
#: the attribute that every resource has and that "all attributes" leaves out
SHOW_ATTR = "show"


def select_from_attribute(attribute_value: Any, path: Iterable[Any]) -> Any:
    """The part of a value that a path leads to, None if it leads nowhere."""
    value = attribute_value
    for key in path:
        if not isinstance(value, (Mapping, Sequence)) or not isinstance(key, (str, int)):
            return None
        try:
            value = value[key]  # type: ignore[call-overload,index]
        except (KeyError, IndexError, TypeError):
            return None
    return value
