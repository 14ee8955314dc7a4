# SPDX-License-Identifier: Apache-2.0
"""Dependency graphs of templates and the algebra of graphs, by the recorded vectors.

Edges that only classes of resources know (a port waits for the subnets of its
network) are taken from the vectors; those that the template itself makes are
computed.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import Template, environment
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.graph import Dependencies
from openkeel_heat.template.scope import StackDefinition

FOLDER = pathlib.Path(__file__).parent / "data"
DATA = json.loads((FOLDER / "graph-vectors.json").read_text())
TYPES = json.loads((FOLDER / "resource-types.json").read_text())["types"]


@pytest.fixture(autouse=True)
def no_global_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_global", None)


def edges(graph: Dependencies) -> list[list[Any]]:
    return sorted(([requirer, required] for requirer, required in graph.edges()), key=repr)


def names_not_strict(definition: StackDefinition) -> set[str]:
    return {
        name
        for name, bound in definition.resource_definitions().items()
        if not TYPES.get(bound.resource_type, {}).get("strict_dependency", True)
    }


def test_no_vector_is_left_out() -> None:
    print("%d graph vectors" % len(DATA["vectors"]))
    assert len(DATA["vectors"]) == DATA["count"] == 76


#: templates that Heat takes and then cannot store
REFUSED = {"resource name 256": "Resource name may not have more than 255 characters"}


@pytest.mark.parametrize("vector", DATA["vectors"], ids=lambda v: v["label"])
def test_graph_of_a_template(vector: dict[str, Any]) -> None:
    def build() -> tuple[StackDefinition, Dependencies]:
        template = Template(vector["template"], env=Environment(vector.get("environment")))
        definition = StackDefinition(template)
        return definition, definition.dependencies(names_not_strict(definition))

    if vector["label"] in REFUSED:
        with pytest.raises(exception.StackValidationFailed, match=REFUSED[vector["label"]]):
            build()
        return
    if "error" in vector:
        with pytest.raises(exception.HeatException) as caught:
            build()
        assert type(caught.value).__name__ == vector["error"]["class"]
        assert str(caught.value) == vector["error"]["message"]
        return
    definition, graph = build()
    assert sorted(definition.enabled_rsrc_names()) == vector["resources"]
    assert edges(graph) == sorted(vector["explicit_edges"], key=repr)
    for edge in vector.get("edges_with_implicit", ()):
        graph += tuple(edge)
    assert sorted(graph.leaves()) == vector["leaves"]
    assert sorted(graph.roots()) == vector["roots"]
    assert {name: sorted(graph.required_by(name)) for name in vector["resources"]} == vector["required_by"]
    if "toposort_error" in vector:
        with pytest.raises(exception.CircularDependencyException):
            list(graph)
    else:
        assert vector["sortable"]
        position = {name: index for index, name in enumerate(graph)}
        assert all(
            position[requirer] > position[required] for requirer, required in graph.edges() if required is not None
        )


@pytest.mark.parametrize("vector", DATA["algebra"], ids=lambda v: v["label"])
def test_algebra(vector: dict[str, Any]) -> None:
    graph = Dependencies(tuple(edge) for edge in vector["edges"])
    assert sorted(graph.leaves()) == vector["leaves"]
    assert sorted(graph.roots()) == vector["roots"]
    for walk, length, error in ((iter, "order_length", "order_error"), (reversed, "reverse_length", "reverse_error")):
        if error in vector:
            with pytest.raises(exception.CircularDependencyException):
                list(walk(graph))
        else:
            assert len(list(walk(graph))) == vector[length]
    if vector["partial"] is not None:
        got = {
            node: sorted([requirer, str(required)] for requirer, required in graph[node].edges())
            for node in vector["partial"]
        }
        assert got == vector["partial"]
