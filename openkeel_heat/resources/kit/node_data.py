# SPDX-License-Identifier: Apache-2.0
"""What one graph node tells the nodes that wait for it (stored in sync points)."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

AttrKey = str | tuple[Any, ...]


class NodeData:
    """Identity, state, reference id and wanted attribute values of a resource.

    An attribute that could not be read is kept as the exception; it is raised when
    somebody reads the value, or serialises the whole.
    """

    __slots__ = ('primary_key', 'name', 'uuid', '_reference_id', '_attributes', 'action', 'status')

    def __init__(self, primary_key: int | None, resource_name: str | None, uuid: str | None,
                 reference_id: Any, attributes: Mapping[AttrKey, Any],
                 action: str | None, status: str | None) -> None:
        self.primary_key = primary_key
        self.name = resource_name
        self.uuid = uuid
        self._reference_id = reference_id
        self._attributes = attributes
        self.action = action
        self.status = status

    @property
    def state(self) -> tuple[str | None, str | None]:
        return self.action, self.status

    def reference_id(self) -> Any:
        return self._reference_id

    def attributes(self) -> dict[str, Any]:
        """Values of whole attributes (keys that are paths are left out)."""
        found = {key: value for key, value in self._attributes.items() if isinstance(key, str)}
        for value in found.values():
            _raise_if_exception(value)
        return found

    def attribute(self, attr_name: AttrKey) -> Any:
        value = self._attributes[attr_name]
        _raise_if_exception(value)
        return value

    def attribute_names(self) -> Iterator[str]:
        for key in self._attributes:
            yield key if isinstance(key, str) else key[0]

    def as_dict(self) -> dict[str, Any]:
        """The stored form; keys of ``attrs`` are text or path tuples."""
        for value in self._attributes.values():
            _raise_if_exception(value)
        return {
            'id': self.primary_key,
            'name': self.name,
            'reference_id': self._reference_id,
            'attrs': dict(self._attributes),
            'status': self.status,
            'action': self.action,
            'uuid': self.uuid,
        }

    @classmethod
    def from_dict(cls, node_data: NodeData | Mapping[str, Any]) -> NodeData:
        if isinstance(node_data, cls):
            return node_data
        assert isinstance(node_data, Mapping)
        return cls(node_data.get('id'), node_data.get('name'), node_data.get('uuid'),
                   node_data.get('reference_id'), node_data.get('attrs', {}),
                   node_data.get('action'), node_data.get('status'))


def _raise_if_exception(value: Any) -> None:
    if isinstance(value, Exception):
        raise value


def load_resources_data(data: Mapping[Any, Any]) -> dict[str | None, NodeData]:
    """The node data that met at a sync point, by resource name."""
    nodes = (NodeData.from_dict(entry) for entry in data.values() if entry is not None)
    return {node.name: node for node in nodes}
