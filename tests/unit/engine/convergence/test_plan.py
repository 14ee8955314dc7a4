# SPDX-License-Identifier: Apache-2.0
"""The plan of a traversal: the forms of the contract, Heat's choice of rows, and random edits of graphs."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from openkeel_heat.engine.convergence import packing, plan
from openkeel_heat.engine.convergence.plan import Graph, Node

CONTRACT = pathlib.Path(__file__).parents[3] / "contract" / "data" / "rpc.json"


@dataclasses.dataclass
class Row:
    id: int
    name: str
    action: str = "CREATE"
    status: str = "COMPLETE"
    requires: list[int] = dataclasses.field(default_factory=list)
    replaces: int | None = None
    replaced_by: int | None = None
    current_template_id: int | None = 1
    created_at: Any = datetime.datetime(2024, 1, 1)
    updated_at: Any = None


def vectors() -> list[dict[str, Any]]:
    return json.loads(CONTRACT.read_text())["sync_point"]["key_text"]


@pytest.mark.parametrize("vector", vectors(), ids=lambda v: v["packed"])
def test_keys_of_the_contract(vector):
    node = plan.node_of(vector["node"])
    assert node.packed() == vector["packed"]
    assert list(node.to_tuple()) == vector["current_deps_tuple"]
    assert plan.node_of(vector["current_deps_tuple"]) == node
    assert Node(*packing.unpack({vector["packed"]: 1}).popitem()[0]) == node


def test_input_data_of_the_contract():
    sync_point = json.loads(CONTRACT.read_text())["sync_point"]
    stored = sync_point["serialized_input_data_example"]
    clear = packing.unpack(stored)
    assert clear["input_data"][(7, True, "resource")]["attrs"] == {"attr1": "v", ("attr2", "key", 0): [1]}
    assert packing.pack(clear) == stored


CHOICES = [
    ("nothing", [], None),
    ("only one", [Row(1, "a")], 1),
    ("failed loses", [Row(1, "a", status="FAILED"), Row(2, "a")], 2),
    (
        "deleting loses even to failed",
        [Row(1, "a", action="DELETE", status="IN_PROGRESS"), Row(2, "a", status="FAILED")],
        2,
    ),
    ("replaced loses", [Row(1, "a", replaced_by=2), Row(2, "a")], 2),
    ("rolling back wins", [Row(1, "a", replaced_by=2, current_template_id=7), Row(2, "a", current_template_id=6)], 1),
    ("former template beats older ones", [Row(1, "a", current_template_id=6), Row(2, "a", current_template_id=3)], 1),
    ("newest wins", [Row(1, "a"), Row(2, "a", updated_at=datetime.datetime(2024, 2, 1))], 2),
    ("first of equals", [Row(2, "a"), Row(1, "a")], 2),
]


@pytest.mark.parametrize("rows,expected", [case[1:] for case in CHOICES], ids=[case[0] for case in CHOICES])
def test_choice(rows, expected):
    chosen = plan.choose(["a", "b"], rows, template_id=7, prev_template_id=6)
    assert chosen["b"] is None
    assert (chosen["a"].id if chosen["a"] else None) == expected


def test_update_graph_of_the_contract():
    """The graph that Heat stored for an update with one new resource and one that goes."""
    existing = [Row(1, "c", requires=[2]), Row(2, "b", requires=[3]), Row(3, "a")]
    graph = plan.build([("c", "a"), ("d", None)], {"c": 1, "a": 3, "d": 4}, existing)
    assert {(a, b) for a, b in graph.edges()} == {
        (Node(1, True), Node(3, True)),
        (Node(4, True), None),
        (Node(2, False), Node(1, False)),
        (Node(3, False), Node(2, False)),
        (Node(1, False), Node(1, True)),
        (Node(3, False), Node(3, True)),
    }
    assert set(graph.leaves()) == {Node(3, True), Node(4, True)}
    assert graph.roots() == {Node(3, False), Node(4, True)}


def test_replaced_row_goes_after_its_replacement():
    graph = plan.build([("a", None)], {"a": 2}, [Row(1, "a", replaced_by=2), Row(2, "a", replaces=1)])
    assert Node(2, False) in graph.requires(Node(1, False))


def test_snapshots_stand_alone():
    graph = plan.build([], {}, [Row(1, "a")], ["snap"])
    node = Node("snap", False, "snapshot")
    assert node in graph.leaves() and node in graph.roots()
    assert [["snap", False, "snapshot"], None] in json.loads(json.dumps(graph.to_stored()))["edges"]


def test_replacement_takes_part_under_the_key_of_the_replaced():
    graph = plan.build([("a", None)], {"a": 1}, [Row(1, "a")])
    assert plan.key_in(graph, 9, 1, True) == Node(1, True)
    assert plan.key_in(graph, 9, 8, True) is None
    assert plan.cleanup_input(Node(2, False), Node(1, True), 9, None) == 9
    assert plan.cleanup_input(Node(2, False), Node(1, True), 1, 9) == 9
    assert plan.cleanup_input(Node(1, False), Node(1, True), 9, None) is None


# random edits -------------------------------------------------------------------------------------------------------

names = st.sampled_from("abcdefgh")


@st.composite
def templates(draw):
    """Names with acyclic requirements: each may require names before it in a drawn order."""
    order = draw(st.permutations("abcdefgh"))[: draw(st.integers(0, 8))]
    return {name: {other for other in order[:i] if draw(st.booleans())} for i, name in enumerate(order)}


@st.composite
def edits(draw):
    """Rows as a stack may have them after some history, and the template to go to."""
    rows: list[Row] = []
    serial = iter(range(1, 1000))
    for version in range(1, draw(st.integers(1, 4))):
        wanted = draw(templates())
        ids = {}
        for name in wanted:
            mine = [row for row in rows if row.name == name]
            if mine and draw(st.booleans()):
                row = mine[-1]
                row.current_template_id = version
            else:
                row = Row(next(serial), name, current_template_id=version)
                if mine and not mine[-1].replaced_by:
                    row.replaces, mine[-1].replaced_by = mine[-1].id, row.id
                rows.append(row)
            ids[name] = row.id
            row.requires = sorted((ids[other] for other in wanted[name]), reverse=True)
            row.status = draw(st.sampled_from(["COMPLETE", "COMPLETE", "FAILED"]))
        rows = [row for row in rows if draw(st.integers(0, 5))]
    return rows, draw(templates())


def run(graph: Graph, stack_id: str, order) -> list[Node]:
    """Process a graph with sync points, in an order that ``order`` picks; the nodes in the order they ran."""
    inputs: dict[tuple[str, bool], set[str]] = {(str(n.rsrc_id), n.is_update): set() for n in graph}
    inputs[(stack_id, True)] = set()
    ran: list[Node] = []
    while True:
        ready = plan.unfinished(graph, stack_id, inputs)
        if not ready:
            return ran
        node = ready[order(len(ready))]
        ran.append(node)
        for target in graph.required_by(node):
            inputs[(str(target.rsrc_id), target.is_update)].add(node.packed())
        if node in graph.roots():
            inputs[(stack_id, True)].add(node.packed())
        assert plan.is_complete(graph, stack_id, inputs) == (graph.roots() <= set(ran))


@settings(max_examples=150, deadline=None)
@given(edits(), st.data())
def test_every_traversal_ends_and_keeps_the_order(edit, data):
    rows, wanted = edit
    chosen = plan.choose(wanted, rows, template_id=99, prev_template_id=3)
    ids = {name: row.id if row else 500 + i for i, (name, row) in enumerate(chosen.items())}
    assert len(set(ids.values())) == len(ids)
    edges: list[tuple[str, str | None]] = [(name, other) for name in wanted for other in wanted[name]]
    edges += [(name, None) for name in wanted]
    graph = plan.build(edges, ids, rows)

    # exactly one node to make each wanted name, one to clean up each row
    assert {n.rsrc_id for n in graph if n.is_update} == set(ids.values())
    assert {n.rsrc_id for n in graph if not n.is_update} == {row.id for row in rows}
    # stored and read again it is the same
    again = Graph.from_stored(json.loads(json.dumps(graph.to_stored())))
    assert set(again.edges()) == set(graph.edges())
    try:
        graph.topological()
    except ValueError:
        return  # histories in which rows require each other the wrong way round; Heat has no answer either
    ran = run(graph, "stack", lambda n: data.draw(st.integers(0, n - 1)))
    assert sorted(map(str, ran)) == sorted(map(str, graph))  # each node once
    position = {node: i for i, node in enumerate(ran)}
    for name in wanted:
        for other in wanted[name]:
            assert position[Node(ids[other], True)] < position[Node(ids[name], True)]
    for row in rows:
        for requirement in row.requires:
            if Node(requirement, False) in graph:
                assert position[Node(row.id, False)] < position[Node(requirement, False)]
        if Node(row.id, True) in graph:
            assert position[Node(row.id, True)] < position[Node(row.id, False)]
