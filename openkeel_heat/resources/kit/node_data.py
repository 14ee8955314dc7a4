# SPDX-License-Identifier: Apache-2.0
"""What one graph node tells the nodes that wait for it: see :mod:`openkeel_heat.template.node_data`."""

from __future__ import annotations

from typing import Any

from openkeel_heat.template.node_data import NodeData, load_resources_data

AttrKey = str | tuple[Any, ...]

__all__ = ["AttrKey", "NodeData", "load_resources_data"]
