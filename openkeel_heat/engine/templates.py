# SPDX-License-Identifier: Apache-2.0
"""Templates at rest: a bounded cache of compiled templates keyed by ``raw_template.id``, and storing of new ones.

A row of ``raw_template`` never changes its meaning once a stack refers to it, so a compiled template is shared by all who
ask for the same id. Hidden parameters are encrypted in the row and clear in the compiled form.
"""
from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openkeel_heat.template import Template

CACHE_SIZE = 200


class _Cache:
    """Least recently used out first; safe to use from many threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        with self._lock:
            try:
                self._items.move_to_end(key)
            except KeyError:
                return None
            return self._items[key]

    def put(self, key: Any, value: Any) -> None:
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self._size:
                self._items.popitem(last=False)

    def drop(self, key: Any) -> None:
        with self._lock:
            self._items.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._items.clear()


_templates = _Cache(CACHE_SIZE)


def load(template_id: int) -> Template:
    """The compiled template of a row; exceptions.NotFound when the row is gone."""
    raise NotImplementedError


def store(template: Template, encrypt: bool | None = None) -> int:
    """Write a new row (hidden parameters encrypted if the configuration says so) and return its id."""
    raise NotImplementedError


def row_values(template: Template, files_id: int | None) -> Mapping[str, Any]:
    """The columns of a raw_template row for this template."""
    raise NotImplementedError


def forget(template_id: int) -> None:
    """The row was rewritten or removed."""
    _templates.drop(template_id)


def clear() -> None:
    _templates.clear()
