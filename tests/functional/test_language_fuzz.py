# SPDX-License-Identifier: Apache-2.0
"""Slips in every part of a request, sent to a service: never an error of its own, never an error without a text."""

from __future__ import annotations

import copy
import json
import pathlib
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.api import Api

DATA = pathlib.Path(__file__).parent / "data"
RECORDED = [case["body"] for case in json.loads((DATA / "validation-answers.json").read_text())]
ROUNDS, LIMIT = 350, 20.0

WHOLE: dict[str, Any] = {
    "template": {
        "heat_template_version": "2021-04-16",
        "parameter_groups": [{"label": "l", "parameters": ["p", "n"]}],
        "parameters": {
            "p": {
                "type": "string",
                "default": "x",
                "constraints": [{"length": {"min": 1}}, {"allowed_pattern": "[a-z]*"}],
            },
            "n": {"type": "number", "default": 3, "constraints": [{"range": {"min": 1, "max": 9}}]},
            "l": {"type": "comma_delimited_list", "default": "a,b"},
            "j": {"type": "json", "default": {"a": [1, 2], "b": "c"}},
        },
        "conditions": {"c": {"equals": [{"get_param": "p"}, "x"]}, "d": {"not": "c"}, "e": {"or": ["c", "d"]}},
        "resources": {
            "a": {
                "type": "OS::Heat::TestResource",
                "metadata": {"k": [{"get_param": ["j", "a", 0]}]},
                "properties": {"value": {"get_param": "p"}, "action_wait_secs": {"create": {"get_param": "n"}}},
                "deletion_policy": "Retain",
                "depends_on": ["z"],
            },
            "z": {"type": "OS::Heat::None", "condition": "c"},
            "v": {
                "type": "OS::Heat::Value",
                "properties": {
                    "value": {
                        "if": [
                            "e",
                            {"map_merge": [{"get_param": "j"}, {"x": {"get_attr": ["a", "output"]}}]},
                            {"digest": ["md5", "a"]},
                        ]
                    }
                },
            },
            "w": {
                "type": "OS::Heat::Value",
                "properties": {
                    "value": {"repeat": {"template": {"%i%": "x"}, "for_each": {"%i%": {"get_param": "l"}}}}
                },
            },
            "y": {
                "type": "OS::Heat::Value",
                "properties": {"value": {"yaql": {"expression": "$.data.x.len()", "data": {"x": {"get_param": "l"}}}}},
            },
            "g": {
                "type": "OS::Heat::ResourceGroup",
                "properties": {
                    "count": 2,
                    "resource_def": {"type": "OS::Heat::Value", "properties": {"value": "%index%"}},
                },
            },
            "t": {"type": "n.yaml", "properties": {"q": {"list_concat": [{"get_param": "l"}, ["z"]]}}},
        },
        "outputs": {
            "o": {"value": {"get_attr": ["a", "output"]}, "condition": "c"},
            "q": {"value": {"str_replace": {"template": "$x", "params": {"$x": {"get_attr": ["g", "refs"]}}}}},
        },
    },
    "files": {
        "n.yaml": "heat_template_version: 2021-04-16\nparameters: {q: {type: comma_delimited_list}}\n"
        "resources: {x: {type: OS::Heat::Value, properties: {value: {get_param: q}}}}\n",
        "e1": "parameters: {p: a, j: {q: 1}}\nparameter_merge_strategies: {default: merge}",
    },
    "environment": {
        "parameters": {"p": "x"},
        "parameter_defaults": {"n": 4},
        "event_sinks": [],
        "encrypted_param_names": [],
        "resource_registry": {"A::B": "OS::Heat::None", "resources": {"a": {"hooks": "pre-create"}}},
    },
}
SEEDS = [WHOLE] * 120 + [{**WHOLE, "environment_files": ["e1"]}] * 20 + RECORDED

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "a",
    "nope",
    "%i%",
    "[",
    "{",
    "a,b",
    "9" * 30,
    "OS::Heat::None",
    "n.yaml",
    [],
    {},
    [None],
    {"a": None},
    {"": ""},
    {"get_param": "p"},
    {"get_param": "j"},
    {"get_param": "nope"},
    {"get_attr": ["a", "output"]},
    {"get_resource": "a"},
    {"get_file": "n.yaml"},
    {"if": ["c", 1]},
    {"yaql": {"expression": "nope()"}},
    {"list_join": ["", [{"get_param": "j"}]]},
    {"map_merge": [{"get_param": "j"}]},
    {"str_split": [",", {"get_param": "n"}]},
    {"Ref": "a"},
    {"resource_facade": "metadata"},
    {"not": "c"},
    {"repeat": {"template": "x", "for_each": {"get_param": "j"}}},
    {"make_url": {"port": {"get_param": "p"}}},
    {"digest": ["md5", {"get_param": "n"}]},
    {"filter": [[1], {"get_param": "j"}]},
    {"contains": [1, {"get_param": "n"}]},
]
KEYS = [
    "get_param",
    "if",
    "type",
    "properties",
    "value",
    "default",
    "constraints",
    "parameters",
    "conditions",
    "hooks",
    "resources",
    "a",
    "p",
    "",
    "depends_on",
    "condition",
    "external_id",
    "update_policy",
    "metadata",
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def slip(body: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The body with one to three parts replaced, taken away, renamed, wrapped or added."""
    body = copy.deepcopy(body)
    for _slip in range(rng.choice((1, 1, 1, 2, 3))):
        found = list(places(body))
        if not found:
            break
        *path, key = rng.choice(found)
        holder: Any = body
        for step in path:
            holder = holder[step]
        kind = rng.random()
        if kind < 0.6:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind < 0.7:
            holder.pop(key)
        elif kind < 0.8 and isinstance(holder, dict):
            holder[rng.choice(KEYS)] = holder.pop(key)
        elif kind < 0.9:
            holder[key] = [holder[key]] if kind < 0.85 else {rng.choice(KEYS): holder[key]}
        elif isinstance(holder, dict):
            holder[rng.choice(KEYS)] = copy.deepcopy(rng.choice(VALUES))
        else:
            holder.append(copy.deepcopy(rng.choice(VALUES)))
    return body


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_slips(api: Api, seed: int) -> None:
    rng = random.Random(seed)
    taken = 0
    for _round in range(ROUNDS):
        body = slip(rng.choice(SEEDS), rng)
        body["stack_name"] = "slip"
        path = rng.choice(("/validate?show_nested=true", "/stacks/preview"))
        started = time.monotonic()
        reply = api.send("POST", path, body)
        assert time.monotonic() - started < LIMIT, json.dumps(body)
        answer = json.loads(reply.text, parse_constant=lambda name: pytest.fail(f"{name} in an answer"))
        assert reply.status_code in (200, 400), f"{reply.status_code} {path} {json.dumps(body)}"
        if reply.status_code == 400:
            assert answer["error"]["message"], f"no text: {path} {json.dumps(body)}"
        taken += reply.status_code == 200
    print(f"{ROUNDS} requests, {taken} of them taken")
