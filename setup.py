# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: packages that live somewhere else than their name.

``heat`` is the compatibility package (openkeel_heat/compat/heat) and ``openkeel_heat.migrations`` the Alembic
environment at the top of the source tree. Data files under etc/ go to ``<prefix>/etc/heat``, where operators of
Heat look for them. Everything else about the project is in pyproject.toml.
"""

from __future__ import annotations

import os

from setuptools import find_packages, setup

COMPAT = "openkeel_heat/compat/heat"
MIGRATIONS = "migrations"


def packages() -> list[str]:
    ours = find_packages(include=["openkeel_heat", "openkeel_heat.*"], exclude=["openkeel_heat.compat.heat*"])
    shim = ["heat"] + ["heat." + name for name in find_packages(COMPAT)]
    migrations = ["openkeel_heat.migrations"]
    for root, folders, _files in os.walk(MIGRATIONS):
        for folder in folders:
            if folder != "__pycache__":
                path = os.path.relpath(os.path.join(root, folder), MIGRATIONS)
                migrations.append("openkeel_heat.migrations." + path.replace(os.sep, "."))
    return ours + shim + migrations


def data_files() -> list[tuple[str, list[str]]]:
    found = []
    for root, _folders, files in os.walk("etc/heat"):
        names = [os.path.join(root, name) for name in sorted(files) if not name.startswith(".")]
        if names:
            found.append((root, names))
    return found


setup(
    packages=packages(),
    package_dir={"": ".", "heat": COMPAT, "openkeel_heat.migrations": MIGRATIONS},
    package_data={
        "openkeel_heat": ["py.typed"],
        "openkeel_heat.clients": ["cloudinit/*"],
        "openkeel_heat.lint": ["types.json"],
        "openkeel_heat.migrations": ["*.ini", "*.mako", "*/*.mako"],
    },
    data_files=data_files(),
    # Containers load these files by their path, so they cannot be generated entry points.
    scripts=["openkeel_heat/cmd/scripts/heat-wsgi-api", "openkeel_heat/cmd/scripts/heat-wsgi-api-cfn"],
)
