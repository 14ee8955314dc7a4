# SPDX-License-Identifier: Apache-2.0
"""What rules say and what users read."""

from __future__ import annotations

import dataclasses
from typing import Any

ERROR, WARNING = "error", "warning"

Path = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Position:
    """A place in a text; both numbers begin with 1."""

    line: int = 1
    column: int = 1


@dataclasses.dataclass(frozen=True)
class Hit:
    """Something a rule found, by its path in the data."""

    path: Path
    message: str
    #: the place is that of the last key of the path, not of its value
    at_key: bool = False
    #: None: that of the rule
    severity: str | None = None
    #: where the path cannot tell
    position: Position | None = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """A hit with its file and place."""

    file: str
    line: int
    column: int
    rule: str
    severity: str
    message: str
    #: ``resources.server.properties.networks[0].port``
    path: str

    def sort_key(self) -> tuple[Any, ...]:
        return self.file, self.line, self.column, self.rule, self.message


def path_text(path: Path) -> str:
    """A path as the language writes it in its errors."""
    out = ""
    for part in path:
        if isinstance(part, int) and not isinstance(part, bool):
            out += "[%d]" % part
        else:
            out += ("." if out else "") + str(part)
    return out
