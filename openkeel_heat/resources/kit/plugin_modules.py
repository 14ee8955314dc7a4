# SPDX-License-Identifier: Apache-2.0
"""Importing the modules of ``plugin_dirs``.

They become members of a package made for them, ``heat.engine.plugins``, the name that
plugins written for Heat may import each other by.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

PACKAGE = "heat.engine.plugins"


def load_all(directories: Iterable[str]) -> Iterator[Any]:
    """Each module below the directories. One that cannot be imported is logged and left out."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = list(directories)
    if not package.__path__:
        return
    sys.modules[PACKAGE] = package
    for finder, name, _is_package in pkgutil.walk_packages(package.__path__, PACKAGE + "."):
        # Tests and build scripts that lie beside plugins are none.
        if ".tests." in name or name.endswith(".setup"):
            continue
        try:
            module = _import(finder, name)
        except Exception:
            LOG.exception("Failed to import module %s", name)
            continue
        if module is not None:
            yield module


def mapping_of(module: Any, *names: str) -> Mapping[str, Any]:
    """What the first of the mapping functions that the module has gives; one that fails costs only its own module."""
    for name in names:
        function: Callable[[], Any] | None = getattr(module, name, None)
        if not callable(function):
            continue
        try:
            found = function()
        except Exception:
            LOG.exception("Failed to load %(mapping_name)s from %(module)s", {"mapping_name": name, "module": module})
            return {}
        if isinstance(found, Mapping):
            return found
        if found is not None:
            LOG.error("Invalid type for %(mapping_name)s from %(module)s", {"mapping_name": name, "module": module})
    return {}


def _import(finder: Any, name: str) -> Any:
    spec = finder.find_spec(name, None)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    # A package has to be there before its members are walked.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    parent_name, _dot, local = name.rpartition(".")
    parent = sys.modules.get(parent_name)
    if parent is not None:
        setattr(parent, local, module)
    return module
