# SPDX-License-Identifier: Apache-2.0
"""Imports ``heat.*`` by the table.

A name that stands for one module of ours gives that very module: ``heat.common.exception`` *is*
``openkeel_heat.common.exceptions``, and so are its classes. A name that gathers from several gives a module that looks
its attributes up when they are asked for. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from openkeel_heat.compat import table

ROOT = "heat"

_lock = threading.Lock()


def resolve(reference: str) -> Any:
    """The object of ``module:attribute``, or the module of ``module``."""
    module, _, attribute = reference.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else ():
        found = getattr(found, part)
    return found


class Facade(ModuleType):
    """A module whose attributes live elsewhere."""

    def __init__(self, name: str, entry: table.Entry) -> None:
        super().__init__(name, f"Names of {name} that others rely on.")
        self.__dict__["_entry"] = entry

    def __getattr__(self, name: str) -> Any:
        entry: table.Entry = self.__dict__["_entry"]
        if name in entry.names:
            value = resolve(entry.names[name])
        elif entry.target is not None and not (name.startswith("__") and name.endswith("__")):
            try:
                value = getattr(importlib.import_module(entry.target), name)
            except AttributeError:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None
        else:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        entry: table.Entry = self.__dict__["_entry"]
        names = set(entry.names) | {name for name in self.__dict__ if not name.startswith("_")}
        if entry.target is not None:
            names |= set(dir(importlib.import_module(entry.target)))
        return sorted(names)


class _Loader:
    def __init__(self, entry: table.Entry) -> None:
        self.entry = entry

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Facade(spec.name, self.entry)

    def exec_module(self, module: ModuleType) -> None:
        if self.entry.is_alias:
            assert self.entry.target is not None
            # The import system gives out what stands in sys.modules when the loader is done.
            sys.modules[module.__name__] = importlib.import_module(self.entry.target)
        elif self.entry.at_once:
            for name in self.entry.names:
                getattr(module, name)


class Finder:
    """Of the names under ``heat.``, those in the table."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{ROOT}."):
            return None
        entry = table.find(fullname)
        if entry is None:
            return None
        spec = importlib.util.spec_from_loader(fullname, _Loader(entry), is_package=True)  # type: ignore[arg-type]
        if spec is not None:
            spec.submodule_search_locations = []
        return spec


def install() -> Finder:
    """Put the finder before the others, once."""
    with _lock:
        for found in sys.meta_path:
            if isinstance(found, Finder):
                return found
        finder = Finder()
        sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
        return finder
