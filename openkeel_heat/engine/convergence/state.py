# SPDX-License-Identifier: Apache-2.0
"""What this engine knows of a traversal: the graph, the stack's row and definition, and where its results are written.

Read once per traversal, shared by all its nodes. That the traversal is still the stack's current one is compared by
each write, in the database.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.db.sync_points import Target
from openkeel_heat.engine.convergence import packing
from openkeel_heat.engine.convergence.plan import Graph, Node

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.writer import Writer


@dataclasses.dataclass
class Visit:
    """One call at a node, by a message or by an engine's own finding."""

    node: Node
    traversal_id: str
    data: dict[str, Any] = dataclasses.field(default_factory=dict)  # packed node -> its data, as in the sync point
    skip: bool = False
    failures: dict[str, Any] | None = None
    adopt_data: Mapping[str, Any] | None = None
    converge: bool = False
    abandon: bool = False
    adopted: bool = False  # the lock of a dead engine was taken over; go on with what it did
    stale: bool = False  # adopted work of a former traversal: finish it, then let the present one know
    called: bool = False  # by a message, which may be a double or late
    attempt: int = 0
    stack_id: str | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        return "node", *self.node, self.traversal_id


class Traversal:
    """See the module's docstring."""

    def __init__(
        self, context: Any, row: Mapping[str, Any], extra: Mapping[str, Any] | None = None, graph: Graph | None = None
    ) -> None:
        from openkeel_heat.engine import credentials
        from openkeel_heat.engine.stack import Stack

        extra = extra or {}
        self.context = context
        self.row = row
        self.id: str = row["current_traversal"] or ""
        self.stack_id: str = row["id"]
        self.action: str = row["action"]
        self.adopt_data: Mapping[str, Any] | None = extra.get("adopt_data")
        self.converge: bool = bool(extra.get("converge"))
        self.abandon: bool = bool(extra.get("abandon"))
        self.graph = Graph.from_stored(row.get("current_deps")) if graph is None else graph
        self.roots = {root.packed() for root in self.graph.roots()}
        self.stack = Stack.from_row(context, row)
        if context is not None:
            credentials.outlive_token(context, self.stack)
        self.stack.converge = self.converge
        self.stack.adopt_stack_data = self.adopt_data
        self.writer: Writer
        self.timer: Any = None
        self.over = False
        #: Templates that may be of no use any more when this traversal is over.
        self.templates: frozenset[int] = frozenset(extra.get("templates") or ())
        self._by_target: dict[Target, Node] | None = None
        self._predecessors: dict[Node, frozenset[str]] = {}

    @property
    def target(self) -> Target:
        """The stack's own sync point."""
        return self.stack_id, True

    def node_of(self, target: Target) -> Node | None:
        """The node of a sync point."""
        if self._by_target is None:
            self._by_target = {(str(node.rsrc_id), node.is_update): node for node in self.graph}
        return self._by_target.get(target)

    def predecessors(self, node: Node) -> frozenset[str]:
        """What a node waits for, packed."""
        found = self._predecessors.get(node)
        if found is None:
            found = frozenset(one.packed() for one in self.graph.requires(node))
            self._predecessors[node] = found
        return found

    def visit(
        self, node: Node, data: dict[str, Any] | None = None, failures: dict[str, Any] | None = None, skip: bool = False
    ) -> Visit:
        return Visit(node, self.id, data or {}, skip, failures or None, self.adopt_data, self.converge, self.abandon)

    def stack_for(self, visit: Visit) -> Any:
        """The stack as one node sees it: other resources are known by the visit's data only."""
        from openkeel_heat.engine.node_data import NodeData

        inputs: dict[str, Any] = {}
        if visit.node.is_update:
            for entry in packing.unpack(visit.data).values():
                if isinstance(entry, dict):
                    inputs[str(entry.get("name"))] = NodeData.from_dict(entry)
        stack = self.stack.for_node(inputs)
        stack.adopt_stack_data = visit.adopt_data
        stack.converge = visit.converge
        return stack

    def seconds_left(self) -> float:
        return float(self.stack.time_remaining())


class Cache:
    """The traversals in progress that are known here. Each goes when it is over, also when another engine ended it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[str, Traversal] = {}

    def get(self, traversal_id: str) -> Traversal | None:
        return self._items.get(traversal_id)

    def put(self, traversal: Traversal) -> Traversal:
        """Keep it; the one that was there already wins."""
        with self._lock:
            return self._items.setdefault(traversal.id, traversal)

    def drop(self, traversal_id: str) -> Traversal | None:
        with self._lock:
            return self._items.pop(traversal_id, None)

    def of_stack(self, stack_id: str) -> list[Traversal]:
        with self._lock:
            return [one for one in self._items.values() if one.stack_id == stack_id]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Any:
        with self._lock:
            return iter(list(self._items.values()))
