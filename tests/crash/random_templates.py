# SPDX-License-Identifier: Apache-2.0
"""Random templates of things (see the plugin beside), random texts and nested stacks of both."""

from __future__ import annotations

import random
from typing import Any

import yaml

from tests.fixtures import templates


def thing(value: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Test::Thing", "properties": {"value": value, **properties}}


MEMBER = templates.hot(
    {
        "inner": thing({"get_param": "value"}, kind={"get_param": "kind"}, seconds={"get_param": "seconds"}),
        "outer": thing({"get_attr": ["inner", "value"]}),
        "text": {"type": "OS::Heat::RandomString"},
    },
    {"out": {"get_attr": ["outer", "value"]}},
    {
        "value": {"type": "string"},
        "kind": {"type": "string", "default": "k"},
        "seconds": {"type": "number", "default": 0},
    },
)


def template_files() -> dict[str, str]:
    return {"member.yaml": yaml.safe_dump(MEMBER)}


class Templates:
    """Random templates."""

    NAMES = "abcdefg"

    def __init__(self, rng: random.Random, slowest: float = 0.8) -> None:
        self.random, self.slowest = rng, slowest

    def make(self, failing: bool = False, quick: bool = False) -> dict[str, Any]:
        rng = self.random
        names = sorted(rng.sample(self.NAMES, rng.randint(2, len(self.NAMES))))
        resources: dict[str, Any] = {}
        for index, name in enumerate(names):
            seconds = 0 if quick or rng.random() < 0.5 else round(rng.uniform(0, self.slowest), 2)
            value: Any = f"v{rng.randint(1, 4)}"
            before = names[:index]
            if before and rng.random() < 0.4:
                other = rng.choice(before)
                value = {"get_attr": [other, "value"]} if resources[other]["type"] == "Test::Thing" else value
            kind = f"k{rng.randint(1, 3)}"
            if name == "e":
                resources[name] = {"type": "OS::Heat::RandomString", "properties": {"length": rng.randint(8, 9)}}
            elif name in "fg" and rng.random() < 0.7:
                resources[name] = self._nested(name, value, kind, seconds)
            else:
                resources[name] = thing(value, kind=kind, seconds=seconds)
            if before and rng.random() < 0.3:
                resources[name]["depends_on"] = [rng.choice(before)]
        if failing:
            things = [name for name in names if resources[name]["type"] == "Test::Thing"]
            if things:
                chosen = rng.choice(things)
                resources[chosen]["properties"]["fail"] = rng.choice(["create", "update", "delete", "suspend"])
                resources[chosen]["properties"]["value"] = f"w{rng.randint(1, 99)}"
        outputs = {name: {"get_attr": [name, "value"]} for name in names if resources[name]["type"] == "Test::Thing"}
        return templates.hot(resources, outputs)

    def _nested(self, name: str, value: Any, kind: str, seconds: float) -> dict[str, Any]:
        properties = {"value": value, "kind": kind, "seconds": seconds}
        if name == "f":
            return {"type": "member.yaml", "properties": properties}
        return {
            "type": "OS::Heat::ResourceGroup",
            "properties": {
                "count": self.random.randint(0, 2),
                "resource_def": {"type": "member.yaml", "properties": properties},
            },
        }


def wanted_value(template: dict[str, Any], name: str) -> str | None:
    value = template["resources"][name]["properties"]["value"]
    while isinstance(value, dict):
        value = template["resources"][value["get_attr"][0]]["properties"]["value"]
    return str(value)
