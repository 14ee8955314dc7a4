# SPDX-License-Identifier: Apache-2.0
"""Nested stacks of a stack's resources (``openkeel_heat.resources.kit.nested``), run by the same engine."""
from __future__ import annotations

from typing import Any


class EngineNestedStacks:
    """``NestedStacks`` of the plugin kit for the resources of one parent stack."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
