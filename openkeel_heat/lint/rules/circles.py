# SPDX-License-Identifier: Apache-2.0
"""Circles in a graph, each by the names on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Graph = Mapping[Any, Sequence[Any]]


def circles(graph: Graph) -> Iterator[list[Any]]:
    """One circle, a shortest one, for each part of the graph whose nodes all reach each other."""
    for part in _parts(graph):
        inside = set(part)
        start = next(name for name in graph if name in inside)
        if len(part) > 1 or start in graph[start]:
            yield _shortest(graph, start, inside)


def _shortest(graph: Graph, start: Any, inside: set[Any]) -> list[Any]:
    came_from: dict[Any, Any] = {}
    queue = [start]
    for node in queue:
        for target in graph[node]:
            if target == start:
                path = [node]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if target in inside and target not in came_from:
                came_from[target] = node
                queue.append(target)
    return [start]


def _parts(graph: Graph) -> Iterator[list[Any]]:
    """Strongly connected parts, by Tarjan's method in one loop."""
    index: dict[Any, int] = {}
    low: dict[Any, int] = {}
    open_nodes: list[Any] = []
    is_open: set[Any] = set()
    for root in graph:
        if root in index:
            continue
        work: list[tuple[Any, Iterator[Any]]] = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    open_nodes.append(target)
                    is_open.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in is_open:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    cut = open_nodes.index(node)
                    part = open_nodes[cut:]
                    del open_nodes[cut:]
                    is_open.difference_update(part)
                    yield part
