# SPDX-License-Identifier: Apache-2.0
"""What client plug-ins share (``heat.engine.clients.os``)."""

from __future__ import annotations

import abc
from typing import Any

from openkeel_heat.clients.cache import MEMOIZE_EXTENSIONS, MEMOIZE_FINDER

__all__ = ["MEMOIZE_EXTENSIONS", "MEMOIZE_FINDER", "ExtensionMixin"]


class ExtensionMixin(abc.ABC):
    """For services that list their extensions; the list is fetched once per plug-in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._extensions: set[str] | None = None

    @abc.abstractmethod
    def _list_extensions(self) -> list[str]: ...

    def has_extension(self, alias: str) -> bool:
        if self._extensions is None:
            self._extensions = set(self._list_extensions())
        return alias in self._extensions
