# SPDX-License-Identifier: Apache-2.0
"""The fixtures of the suite are in tests/fixtures/plugin.py."""

from __future__ import annotations

from openkeel_heat.cmd import backend

# Before a test module imports a library that would ask for eventlet.
backend.select([])

pytest_plugins = ["tests.fixtures.plugin", "tests.fixtures.access_plugin"]
