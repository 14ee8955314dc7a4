# SPDX-License-Identifier: Apache-2.0
"""Random edits of a stack's graph, and an update back: the stack is as it was, what was not touched is untouched."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.fixtures.api import Stack

SIZE = 8


def resource(rng: random.Random, below: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "OS::Heat::Value", "properties": {"value": f"v{rng.randrange(1000)}"}}
    if below and rng.random() < 0.7:
        made["properties"]["value"] = {"list_join": ["-", [{"get_attr": [rng.choice(below), "value"]}, "x"]]}
    if below and rng.random() < 0.4:
        made["depends_on"] = rng.sample(below, min(2, len(below)))
    return made


def graph(rng: random.Random) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    for number in range(SIZE):
        resources[f"r{number}"] = resource(rng, list(resources))
    outputs = {name: {"value": {"get_attr": [name, "value"]}} for name in resources}
    return {"heat_template_version": "2021-04-16", "resources": resources, "outputs": outputs}


def edited(template: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Another template: resources changed, taken away (with the references to them), added in between."""
    result = copy.deepcopy(template)
    resources = result["resources"]
    for _edit in range(rng.randint(1, 4)):
        names = list(resources)
        name = rng.choice(names)
        kind = rng.choice(("change", "remove", "add"))
        if kind == "change":
            resources[name] = resource(rng, names[: names.index(name)])
        elif kind == "add":
            resources[f"new{rng.randrange(3)}"] = resource(rng, [one for one in names if not one.startswith("new")])
        elif len(resources) > 2:
            del resources[name]
            for other in resources.values():
                if name in str(other):
                    other["properties"] = {"value": "without"}
                    other.pop("depends_on", None)
    result["outputs"] = {name: {"value": {"get_attr": [name, "value"]}} for name in resources}
    return result


def state(stack: Stack) -> dict[str, Any]:
    shown = stack.show()
    resources = stack.resources()
    return {
        "outputs": stack.outputs(),
        "parameters": {name: value for name, value in shown["parameters"].items() if name != "OS::stack_id"},
        "template": stack.api.get(stack.path + "/template"),
        "resources": {
            name: (one["resource_type"], one["resource_status"].split("_")[-1], sorted(one["required_by"]))
            for name, one in resources.items()
        },
        "ids": {name: one["physical_resource_id"] for name, one in resources.items()},
    }


@pytest.mark.parametrize("seed", range(6))
def test_there_and_back(stack: Callable[..., Stack], seed: int) -> None:
    rng = random.Random(seed)
    template = graph(rng)
    made = stack(template)
    before = state(made)
    steps = [template]
    for _step in range(rng.randint(1, 3)):
        steps.append(edited(steps[-1], rng))
        made.update(steps[-1])
        assert set(made.resources()) == set(steps[-1]["resources"])
    for step in reversed(steps[:-1]):
        made.update(step)
    after = state(made)
    ids_before, ids_after = before.pop("ids"), after.pop("ids")
    assert after == before
    always = {name for name in template["resources"] if all(name in step["resources"] for step in steps)}
    assert {name: ids_after[name] for name in always} == {name: ids_before[name] for name in always}
    # nothing is left of what was replaced or taken away
    assert len(made.api.get(made.path + "/resources")["resources"]) == SIZE
    made.delete()
