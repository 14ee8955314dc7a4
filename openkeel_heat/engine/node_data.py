# SPDX-License-Identifier: Apache-2.0
"""What one resource tells the nodes that depend on it.

A sync point collects one :class:`NodeData` per predecessor; the form that is stored and sent is :meth:`NodeData.as_dict`
(contract ``rpc.json``, ``node_data``). Attribute keys are a name, or a path as a tuple.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

AttrKey = str | tuple[Any, ...]


class NodeData:
    """Reference id and wanted attributes of a resource at one moment. An attribute value may be an exception to raise."""

    __slots__ = ("primary_key", "name", "uuid", "_reference_id", "_attributes", "action", "status")

    def __init__(self, primary_key: int | None, resource_name: str, uuid: str | None, reference_id: Any,
                 attributes: Mapping[AttrKey, Any], action: str | None, status: str | None) -> None:
        self.primary_key = primary_key
        self.name = resource_name
        self.uuid = uuid
        self._reference_id = reference_id
        self._attributes = dict(attributes)
        self.action = action
        self.status = status

    def reference_id(self) -> Any:
        return self._reference_id

    def attribute(self, key: AttrKey) -> Any:
        """The value of one attribute; KeyError when it was not collected."""
        value = self._attributes[key]
        if isinstance(value, Exception):
            raise value
        return value

    def attributes(self) -> dict[str, Any]:
        """All top-level attributes that were collected."""
        found = {key: value for key, value in self._attributes.items() if isinstance(key, str)}
        for value in found.values():
            if isinstance(value, Exception):
                raise value
        return found

    def attribute_names(self) -> Iterator[str]:
        for key in self._attributes:
            yield key if isinstance(key, str) else key[0]

    def as_dict(self) -> dict[str, Any]:
        for value in self._attributes.values():
            if isinstance(value, Exception):
                raise value
        return {
            "id": self.primary_key,
            "name": self.name,
            "reference_id": self._reference_id,
            "attrs": dict(self._attributes),
            "status": self.status,
            "action": self.action,
            "uuid": self.uuid,
        }

    @classmethod
    def from_dict(cls, data: NodeData | Mapping[str, Any]) -> NodeData:
        if isinstance(data, cls):
            return data
        assert isinstance(data, Mapping)
        return cls(data.get("id"), data.get("name") or "", data.get("uuid"), data.get("reference_id"),
                   data.get("attrs", {}), data.get("action"), data.get("status"))


def by_name(input_data: Mapping[Any, Any] | None) -> dict[str, NodeData]:
    """The data that meets at a sync point, by resource name (its keys do not matter)."""
    nodes = (NodeData.from_dict(item) for item in (input_data or {}).values() if item is not None)
    return {node.name: node for node in nodes}
