# SPDX-License-Identifier: Apache-2.0
"""The plugin kit and the resource types."""

from __future__ import annotations

from typing import Any


def global_env() -> Any:
    """The global environment, under the name that plugins know."""
    from openkeel_heat.resources.kit import registry

    return registry.global_env()
