# SPDX-License-Identifier: Apache-2.0
"""Graphs: order, circles, parts, and that long chains are walked without recursion."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template.graph import Dependencies

EDGES = st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9)), max_size=25)


def has_circle(graph: Dependencies) -> bool:
    try:
        list(graph)
    except exception.CircularDependencyException:
        return True
    return False


@settings(max_examples=300, deadline=None, derandomize=True)
@given(EDGES)
def test_required_come_first(edges: list[tuple[int, int | None]]) -> None:
    graph = Dependencies(edges)
    if has_circle(graph):
        return
    place = {node: index for index, node in enumerate(graph)}
    assert set(place) == {node for edge in edges for node in edge if node is not None}
    assert all(place[requirer] > place[required] for requirer, required in edges if required is not None)
    back = {node: index for index, node in enumerate(reversed(graph))}
    assert all(back[requirer] < back[required] for requirer, required in edges if required is not None)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(EDGES)
def test_edges_make_the_same_graph_again(edges: list[tuple[int, int | None]]) -> None:
    graph = Dependencies(edges)
    again = Dependencies(graph.edges())
    assert repr(again) == repr(graph)
    assert sorted(graph.leaves()) == sorted(node for node in graph.graph() if not list(graph.requires(node)))
    assert sorted(graph.roots()) == sorted(node for node in graph.graph() if not list(graph.required_by(node)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(EDGES, st.integers(0, 9))
def test_a_node_taken_out_leaves_no_trace(edges: list[tuple[int, int | None]], node: int) -> None:
    graph = Dependencies(edges).graph()
    if node not in graph:
        return
    del graph[node]
    assert node not in graph
    assert all(node not in other.require for other in graph.values())


def test_a_circle_is_told_with_all_that_is_in_or_behind_it() -> None:
    with pytest.raises(exception.CircularDependencyException) as caught:
        list(Dependencies([("a", "b"), ("b", "a"), ("c", "a"), ("d", None)]))
    assert str(caught.value) == "Circular Dependency Found: {b: {a}, a: {b}, c: {a}}"


def test_a_part_is_the_node_and_what_needs_it() -> None:
    graph = Dependencies([("a", "b"), ("b", "c"), ("x", "y")])
    assert sorted(graph["c"].edges()) == [("a", "b"), ("b", "c")]
    assert sorted(graph["a"].edges()) == [("a", None)]
    with pytest.raises(KeyError):
        graph["z"]
    with pytest.raises(KeyError):
        graph.requires("z")


def test_other_keys() -> None:
    graph = Dependencies([("a", "b"), ("c", None)]).translate(str.upper)
    assert sorted(map(repr, graph.edges())) == ["('A', 'B')", "('C', None)"]


def test_long_chains() -> None:
    graph = Dependencies((n + 1, n) for n in range(50_000))
    assert list(graph)[0] == 0
    assert len(graph[0]) == 50_001
    assert next(reversed(graph)) == 50_000
