# SPDX-License-Identifier: Apache-2.0
"""Paths to handlers.

A template of a path has literal segments and variables: ``{name}`` is one segment, ``{name:regex}`` is what the
expression takes, slashes included.  Routes are tried in the order of the table; they are kept by method and number of
segments, so that few expressions are tried for one request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

_VARIABLE = re.compile(r"\{(\w+)(?::((?:[^{}\\]|\\.)+))?\}")
#: Beyond this many segments all paths share one list.
_LONG = 12


class Match(NamedTuple, Generic[T]):
    target: T
    variables: dict[str, str]


class Router(Generic[T]):
    """An ordered table of (methods, template, target), asked by method and path."""

    def __init__(self, entries: Iterable[tuple[Iterable[str], str, T]]) -> None:
        self._lists: dict[tuple[str, int], list[tuple[re.Pattern[str], T]]] = {}
        for methods, template, target in entries:
            pattern, free = compile_template(template)
            segments = template.count("/")
            lengths = range(segments, _LONG + 1) if free else range(segments, segments + 1)
            for method in methods:
                for length in lengths:
                    self._lists.setdefault((method, length), []).append((pattern, target))

    def match(self, method: str, path: str) -> Match[T] | None:
        for pattern, target in self._lists.get((method, min(path.count("/"), _LONG)), ()):
            found = pattern.fullmatch(path)
            if found:
                return Match(target, found.groupdict())
        return None


def compile_template(template: str) -> tuple[re.Pattern[str], bool]:
    """The expression of a path template, and whether it may take more segments than are written."""
    parts: list[str] = []
    free = False
    end = 0
    for variable in _VARIABLE.finditer(template):
        name, expression = variable.groups()
        parts.append(re.escape(template[end : variable.start()]))
        parts.append(f"(?P<{name}>{expression or '[^/]+'})")
        free = free or bool(expression and "." in expression)
        end = variable.end()
    parts.append(re.escape(template[end:]))
    return re.compile("".join(parts), re.DOTALL), free
