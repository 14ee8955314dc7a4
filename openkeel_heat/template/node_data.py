# SPDX-License-Identifier: Apache-2.0
"""What one resource of a stack tells the others: state, reference and attributes.

The dictionary form is stored in sync points and sent to other engines, so its
keys are part of the wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class NodeData:
    """Data of one resource, for use by the nodes that depend on it."""

    __slots__ = ("primary_key", "name", "uuid", "_reference_id", "_attributes", "action", "status")

    def __init__(
        self,
        primary_key: Any,
        resource_name: str | None,
        uuid: str | None,
        reference_id: Any,
        attributes: Mapping[Any, Any],
        action: str | None,
        status: str | None,
    ) -> None:
        self.primary_key = primary_key
        self.name = resource_name
        self.uuid = uuid
        self._reference_id = reference_id
        self._attributes = attributes
        self.action = action
        self.status = status

    def reference_id(self) -> Any:
        """What get_resource gives."""
        return self._reference_id

    def attributes(self) -> dict[str, Any]:
        """All whole attributes (those looked up by a path are left out)."""
        attrs = {key: value for key, value in self._attributes.items() if isinstance(key, str)}
        for value in attrs.values():
            if isinstance(value, Exception):
                raise value
        return attrs

    def attribute(self, attr_name: Any) -> Any:
        """One attribute, or part of one if a tuple is given; KeyError if it was not collected."""
        value = self._attributes[attr_name]
        if isinstance(value, Exception):
            raise value
        return value

    def attribute_names(self) -> Iterator[str]:
        """Names of the attributes of which something is known."""
        for key in self._attributes:
            yield key if isinstance(key, str) else key[0]

    def as_dict(self) -> dict[str, Any]:
        """The stored form."""
        for value in self._attributes.values():
            if isinstance(value, Exception):
                raise value
        return {
            "id": self.primary_key,
            "name": self.name,
            "reference_id": self.reference_id(),
            "attrs": dict(self._attributes),
            "status": self.status,
            "action": self.action,
            "uuid": self.uuid,
        }

    @classmethod
    def from_dict(cls, node_data: Any) -> NodeData:
        """The inverse of :meth:`as_dict`."""
        if isinstance(node_data, cls):
            return node_data
        return cls(
            node_data.get("id"),
            node_data.get("name"),
            node_data.get("uuid"),
            node_data.get("reference_id"),
            node_data.get("attrs", {}),
            node_data.get("action"),
            node_data.get("status"),
        )


def load_resources_data(data: Mapping[Any, Any]) -> dict[str | None, NodeData]:
    """The node data that met at a sync point, by resource name."""
    nodes = (NodeData.from_dict(item) for item in data.values() if item is not None)
    return {node.name: node for node in nodes}
