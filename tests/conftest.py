# SPDX-License-Identifier: Apache-2.0
"""The fixtures of the suite are in tests/fixtures/plugin.py."""

from __future__ import annotations

pytest_plugins = ["tests.fixtures.plugin"]
