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
from collections.abc import Iterator
from typing import Any

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

PACKAGE = 'heat.engine.plugins'


def load_all(directories: list[str]) -> Iterator[Any]:
    """Each module below the directories. One that cannot be imported is logged and left out."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = list(directories)
    sys.modules[PACKAGE] = package
    for finder, name, _is_package in pkgutil.walk_packages(package.__path__, PACKAGE + '.'):
        # Tests and build scripts that lie beside plugins are none.
        if '.tests.' in name or name.endswith('.setup'):
            continue
        try:
            module = _import(finder, name)
        except Exception:
            LOG.exception('Failed to import module %s', name)
            continue
        if module is not None:
            yield module


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
    parent_name, _dot, local = name.rpartition('.')
    parent = sys.modules.get(parent_name)
    if parent is not None:
        setattr(parent, local, module)
    return module
