# SPDX-License-Identifier: Apache-2.0
"""From the name of a resource type to its class, imported at first use.

Types of this project stand in a static table ``name -> 'module:Class'``. Modules
found in ``plugin_dirs`` are third-party: their ``resource_mapping()`` (and
``available_resource_mapping()``) add to it. Global environment files of
``environment_dir`` are read into an :class:`Environment` of the template package, the
*global environment*, whose registry every user environment falls back to.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource


class TypeTable(Mapping[str, 'type[Resource]']):
    """Mapping of type names to classes; importing happens in ``[]``, not in iteration."""

    def __getitem__(self, name: str) -> type[Resource]:
        raise NotImplementedError

    def __contains__(self, name: object) -> bool:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def register(self, name: str, target: str | type[Resource]) -> None:
        """Add or replace a type."""
        raise NotImplementedError


def types() -> TypeTable:
    """The table of this process, plugins included (loaded once)."""
    raise NotImplementedError


def global_env() -> Any:
    """The global environment: all types registered, environment_dir loaded."""
    raise NotImplementedError


def reset() -> None:
    """Forget everything loaded (SIGHUP, tests)."""
    raise NotImplementedError
