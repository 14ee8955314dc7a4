# SPDX-License-Identifier: Apache-2.0
"""What one resource tells the nodes that depend on it; the engine keeps it in sync points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.template.node_data import NodeData

__all__ = ["NodeData", "by_name"]


def by_name(input_data: Mapping[Any, Any] | None) -> dict[str, NodeData]:
    """The data that meets at a sync point, by resource name (its keys do not matter)."""
    nodes = (NodeData.from_dict(item) for item in (input_data or {}).values() if item is not None)
    return {node.name: node for node in nodes if node.name is not None}
