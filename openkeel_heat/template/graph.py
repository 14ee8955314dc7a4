# SPDX-License-Identifier: Apache-2.0
"""Dependency graphs, and nothing else.

An edge ``(requirer, required)`` says that the requirer needs the required
first; ``(node, None)`` merely names a node.  Nodes are any hashable values.
Every walk is a loop, so that the length of a chain is bounded by memory only,
and costs time in proportion to the nodes and edges it sees.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from openkeel_heat.common import exceptions as exception

Edge = tuple[Any, Any]


class Node:
    """The neighbours of one node; the number of keys it requires decides its truth."""

    __slots__ = ("require", "satisfy")

    def __init__(self, requires: Iterable[Any] | None = None, required_by: Iterable[Any] | None = None) -> None:
        self.require: dict[Any, None] = dict.fromkeys(requires or ())
        self.satisfy: dict[Any, None] = dict.fromkeys(required_by or ())

    def copy(self) -> Node:
        return Node(self.require, self.satisfy)

    def reverse_copy(self) -> Node:
        return Node(self.satisfy, self.require)

    def requires(self, target: Any = None) -> Iterator[Any]:
        """Keys that this node requires; adds one if given."""
        if target is not None:
            self.require[target] = None
        return iter(self.require)

    def required_by(self, source: Any = None) -> Iterator[Any]:
        """Keys that require this node; adds one if given."""
        if source is not None:
            self.satisfy[source] = None
        return iter(self.satisfy)

    def stem(self) -> bool:
        """Nothing requires it."""
        return not self.satisfy

    def disjoint(self) -> bool:
        return not self.require and not self.satisfy

    def __isub__(self, target: Any) -> Node:
        del self.require[target]
        return self

    def __bool__(self) -> bool:
        return bool(self.require)

    def __len__(self) -> int:
        return len(self.require)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.require)

    def __contains__(self, key: object) -> bool:
        return key in self.require

    def __str__(self) -> str:
        return "{%s}" % ", ".join(str(key) for key in self.require)

    def __repr__(self) -> str:
        return repr(set(self.require)) if self.require else "set()"


class Graph(dict[Any, Node]):
    """A mutable mapping of keys to nodes; looking at a new key makes its node."""

    def __missing__(self, key: Any) -> Node:
        node = self[key] = Node()
        return node

    def map(self, func: Callable[[Node], Any]) -> dict[Any, Any]:
        return {key: func(node) for key, node in self.items()}

    def copy(self) -> Graph:
        return Graph(self.map(Node.copy))

    def reverse_copy(self) -> Graph:
        return Graph(self.map(Node.reverse_copy))

    def edges(self) -> Iterator[Edge]:
        for key, node in self.items():
            if node.disjoint():
                yield key, None
            for required in node:
                yield key, required

    def __delitem__(self, key: Any) -> None:
        for source in list(self[key].satisfy):
            if source in self:
                self[source].require.pop(key, None)
        super().__delitem__(key)

    def __str__(self) -> str:
        return "{%s}" % ", ".join("%s: %s" % item for item in self.items())

    @staticmethod
    def toposort(graph: Graph) -> Iterator[Any]:
        """Keys such that each comes after those it requires; empties the graph."""
        ready = deque(key for key, node in graph.items() if not node)
        while ready:
            key = ready.popleft()
            node = graph.pop(key)
            yield key
            for requirer in node.satisfy:
                waiting = graph.get(requirer)
                if waiting is not None and key in waiting.require:
                    del waiting.require[key]
                    if not waiting.require:
                        ready.append(requirer)
        if graph:
            raise exception.CircularDependencyException(cycle=str(graph))


class Dependencies:
    """A dependency graph made of edges."""

    def __init__(self, edges: Iterable[Edge] | None = None) -> None:
        self._graph = Graph()
        for edge in edges or ():
            self += edge

    def __iadd__(self, edge: Edge) -> Dependencies:
        requirer, required = edge
        if required is None:
            self._graph[requirer]
        else:
            self._graph[required].satisfy[requirer] = None
            self._graph[requirer].require[required] = None
        return self

    def __contains__(self, key: object) -> bool:
        return key in self._graph

    def __len__(self) -> int:
        return len(self._graph)

    def required_by(self, last: Any) -> Iterator[Any]:
        """Keys that require the given one; KeyError for an unknown key."""
        if last not in self._graph:
            raise KeyError(last)
        return self._graph[last].required_by()

    def requires(self, source: Any) -> Iterator[Any]:
        """Keys that the given one requires; KeyError for an unknown key."""
        if source not in self._graph:
            raise KeyError(source)
        return self._graph[source].requires()

    def __getitem__(self, last: Any) -> Dependencies:
        """The part of the graph that is the given node and all that need it, directly or not."""
        if last not in self._graph:
            raise KeyError(last)
        if self._graph[last].stem():
            return Dependencies([(last, None)])
        part = Dependencies()
        seen = {last}
        queue = deque([last])
        while queue:
            key = queue.popleft()
            for requirer in self._graph[key].satisfy:
                part += (requirer, key)
                if requirer not in seen:
                    seen.add(requirer)
                    queue.append(requirer)
        return part

    def leaves(self) -> Iterator[Any]:
        """Keys that require nothing."""
        return (key for key, node in self._graph.items() if not node.require)

    def roots(self) -> Iterator[Any]:
        """Keys that nothing requires."""
        return (key for key, node in self._graph.items() if not node.satisfy)

    def edges(self) -> Iterator[Edge]:
        return self._graph.edges()

    def translate(self, transform: Callable[[Any], Any]) -> Dependencies:
        """The same graph with other keys."""
        return type(self)(
            (transform(requirer), None if required is None else transform(required))
            for requirer, required in self._graph.edges()
        )

    def graph(self, reverse: bool = False) -> Graph:
        """A copy of the graph."""
        return self._graph.reverse_copy() if reverse else self._graph.copy()

    def __str__(self) -> str:
        return str(self._graph)

    def __repr__(self) -> str:
        return "Dependencies([%s])" % ", ".join(sorted(map(repr, self._graph.edges())))

    def __iter__(self) -> Iterator[Any]:
        """Keys such that each comes after those it requires."""
        graph = self._graph
        missing = {key: len(node.require) for key, node in graph.items() if node.require}
        ready = deque(key for key in graph if key not in missing)
        while ready:
            key = ready.popleft()
            yield key
            for requirer in graph[key].satisfy:
                missing[requirer] -= 1
                if not missing[requirer]:
                    del missing[requirer]
                    ready.append(requirer)
        if missing:
            # the walk over a copy words what is left
            yield from Graph.toposort(
                Graph(
                    {
                        key: Node(filter(missing.__contains__, graph[key].require), graph[key].satisfy)
                        for key in graph
                        if key in missing
                    }
                )
            )

    def __reversed__(self) -> Iterator[Any]:
        """Keys such that each comes before those it requires."""
        return Graph.toposort(self.graph(reverse=True))
