# SPDX-License-Identifier: Apache-2.0
"""Pure: what a traversal consists of. Rows and names in; choices, nodes and edges out.

A *node* is one visit to one row: ``(id, True)`` makes the resource as the template wants it, ``(id, False)`` cleans up
what the template wants no more. A node runs when all that it requires have reported::

      make A  <--requires--  make B            B needs A
        ^                      ^
        |                      |
     clean A  --requires-->  clean B           A may go only after B went, and after both had their chance to move away

Deleting a stack adds one independent node per snapshot. A SUSPEND walks the same graph, but works in the cleanup nodes:
dependents first.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from openkeel_heat.engine.convergence.packing import PREFIX

NODE_TYPE_RESOURCE = "resource"
NODE_TYPE_SNAPSHOT = "snapshot"


class Node(NamedTuple):
    """A vertex of a traversal's graph."""

    rsrc_id: int | str
    is_update: bool
    node_type: str = NODE_TYPE_RESOURCE

    def to_tuple(self) -> tuple[Any, ...]:
        """As in ``stack.current_deps``: resource nodes have two elements."""
        return (self.rsrc_id, self.is_update) if self.node_type == NODE_TYPE_RESOURCE else tuple(self)

    def packed(self) -> str:
        """As a key of a sync point's ``input_data``: always three elements."""
        return f"{PREFIX}({self.rsrc_id!r}, {self.is_update!r}, {self.node_type!r})"


def node_of(parts: Sequence[Any]) -> Node:
    """A node from two or three elements."""
    return Node(parts[0], bool(parts[1]), *parts[2:3])


# the graph ----------------------------------------------------------------------------------------------------------


class Graph:
    """Nodes with what they require and what requires them."""

    __slots__ = ("_required_by", "_requires")

    def __init__(self, edges: Iterable[tuple[Node, Node | None]] = ()) -> None:
        self._requires: dict[Node, set[Node]] = {}
        self._required_by: dict[Node, set[Node]] = {}
        for requirer, required in edges:
            self.add(requirer, required)

    @classmethod
    def from_stored(cls, current_deps: Mapping[str, Any] | None) -> Graph:
        """From ``stack.current_deps``."""
        return cls(
            (node_of(requirer), None if required is None else node_of(required))
            for requirer, required in (current_deps or {}).get("edges", ())
        )

    def to_stored(self) -> dict[str, Any]:
        """For ``stack.current_deps``."""
        return {
            "edges": [
                [requirer.to_tuple(), None if required is None else required.to_tuple()]
                for requirer, required in self.edges()
            ]
        }

    def add(self, requirer: Node, required: Node | None = None) -> None:
        """Add an edge, or only a node."""
        self._add_node(requirer)
        if required is not None:
            self._add_node(required)
            self._requires[requirer].add(required)
            self._required_by[required].add(requirer)

    def _add_node(self, node: Node) -> None:
        if node not in self._requires:
            self._requires[node] = set()
            self._required_by[node] = set()

    def edges(self) -> Iterator[tuple[Node, Node | None]]:
        """All edges; a node without any edge is ``(node, None)``."""
        for node, required in self._requires.items():
            if required:
                for one in required:
                    yield node, one
            elif not self._required_by[node]:
                yield node, None

    def requires(self, node: Node) -> set[Node]:
        """What the node waits for (do not change it)."""
        return self._requires[node]

    def required_by(self, node: Node) -> set[Node]:
        """What waits for the node (do not change it)."""
        return self._required_by[node]

    def leaves(self) -> list[Node]:
        """Nodes that wait for nothing."""
        return [node for node, required in self._requires.items() if not required]

    def roots(self) -> set[Node]:
        """Nodes that nothing waits for."""
        return {node for node, requirers in self._required_by.items() if not requirers}

    def __contains__(self, node: object) -> bool:
        return node in self._requires

    def __iter__(self) -> Iterator[Node]:
        return iter(self._requires)

    def __len__(self) -> int:
        return len(self._requires)

    def topological(self) -> list[Node]:
        """Requirements first; ValueError when there is a cycle."""
        waiting = {node: len(required) for node, required in self._requires.items()}
        order = [node for node, count in waiting.items() if not count]
        for node in order:
            for requirer in self._required_by[node]:
                waiting[requirer] -= 1
                if not waiting[requirer]:
                    order.append(requirer)
        if len(order) != len(waiting):
            raise ValueError("cycle")
        return order


# choosing rows ------------------------------------------------------------------------------------------------------


class Row(Protocol):
    """What is looked at of a row of ``resource``."""

    id: Any
    name: Any
    action: Any
    status: Any
    requires: Any
    replaces: Any
    replaced_by: Any
    current_template_id: Any
    created_at: Any
    updated_at: Any


_NEVER = datetime.datetime.min


def suitability(row: Row, template_id: int | None, prev_template_id: int | None) -> tuple[int, Any]:
    """How well a row serves its name under a template; greater is better."""
    score = 0
    if row.status == "FAILED":
        score -= 30
    if row.action == "DELETE":
        score -= 50
    if row.replaced_by:
        score -= 1
    if row.current_template_id == prev_template_id:
        score += 5
    if row.current_template_id == template_id:
        score += 10
    return score, row.updated_at or row.created_at or _NEVER


def choose(
    names: Iterable[str], existing: Iterable[Row], template_id: int | None, prev_template_id: int | None
) -> dict[str, Row | None]:
    """The row that serves each name of the template, or None: a new one is needed."""
    best: dict[str, Row] = {}
    scores: dict[str, tuple[int, Any]] = {}
    for row in existing:
        score = suitability(row, template_id, prev_template_id)
        if row.name not in scores or score > scores[row.name]:
            best[row.name], scores[row.name] = row, score
    return {name: best.get(name) for name in names}


def is_active(row: Row) -> bool:
    """A row that a traversal has to do with."""
    return not (row.action == "DELETE" and row.status == "COMPLETE")


# the plan -----------------------------------------------------------------------------------------------------------


def build(
    name_edges: Iterable[tuple[str, str | None]],
    ids: Mapping[str, int],
    existing: Sequence[Row],
    snapshot_ids: Iterable[str] = (),
) -> Graph:
    """The graph of a traversal.

    ``name_edges``    (requirer, required or None) over the names that the template wants
    ``ids``           the row that serves each of these names
    ``existing``      active rows as they were before the traversal (new ones are not among them)
    ``snapshot_ids``  for DELETE: the stack's snapshots
    """
    graph = Graph()
    for requirer, required in name_edges:
        graph.add(Node(ids[requirer], True), None if required is None else Node(ids[required], True))
    known = {row.id for row in existing}
    for row in existing:
        cleanup = Node(row.id, False)
        graph.add(cleanup)
        for requirement in row.requires or ():
            if requirement in known:
                graph.add(Node(requirement, False), cleanup)
        if row.replaces in known:
            graph.add(Node(row.replaces, False), cleanup)
        update = Node(row.id, True)
        if update in graph:
            graph.add(cleanup, update)
    for snapshot_id in snapshot_ids:
        graph.add(Node(snapshot_id, False, NODE_TYPE_SNAPSHOT))
    return graph


def key_in(graph: Graph, rsrc_id: int, replaces: int | None, is_update: bool) -> Node | None:
    """The node under which a row takes part: its own, or that of the row it replaces (the graph was made with that)."""
    node = Node(rsrc_id, is_update)
    if node in graph:
        return node
    if replaces is not None:
        node = Node(replaces, is_update)
        if node in graph:
            return node
    return None


def cleanup_input(target: Node, sender: Node, rsrc_id: int, replaced_by: int | None) -> int | None:
    """What a node tells a cleanup node: who needs it; nothing when it is about itself."""
    if target.rsrc_id == sender.rsrc_id:
        return None
    return replaced_by if replaced_by is not None else rsrc_id


# looking at the sync points of a traversal ---------------------------------------------------------------------------


def unfinished(graph: Graph, stack_id: str, inputs: Mapping[tuple[str, bool], Iterable[str]]) -> list[Node]:
    """Nodes that have all their inputs but have not reported to all that wait for them.

    ``inputs``: (entity id, is_update) of each sync point -> the packed keys in it.
    """
    got = {key: frozenset(keys) for key, keys in inputs.items()}
    nothing: frozenset[str] = frozenset()
    found = []
    for node in graph:
        have = got.get((str(node.rsrc_id), node.is_update), nothing)
        if any(required.packed() not in have for required in graph.requires(node)):
            continue
        packed = node.packed()
        targets = [(str(target.rsrc_id), target.is_update) for target in graph.required_by(node)] or [(stack_id, True)]
        if any(packed not in got.get(target, nothing) for target in targets):
            found.append(node)
    return found


def is_complete(graph: Graph, stack_id: str, inputs: Mapping[tuple[str, bool], Iterable[str]]) -> bool:
    """Have all roots reported to the stack?"""
    have = set(inputs.get((stack_id, True), ()))
    return all(root.packed() in have for root in graph.roots())


def has_all_sync_points(graph: Graph, stack_id: str, inputs: Mapping[tuple[str, bool], Iterable[str]]) -> bool:
    """Was the traversal started completely?"""
    return (stack_id, True) in inputs and all((str(node.rsrc_id), node.is_update) in inputs for node in graph)
