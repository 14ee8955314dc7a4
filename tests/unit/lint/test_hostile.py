# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a template, the linter ends with findings, never with a traceback."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
import random
from typing import Any

import pytest
import yaml

from openkeel_heat.lint import runner, suggest
from openkeel_heat.template import limits, text

FOLDER = pathlib.Path(__file__).resolve().parent / "templates"

ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    1.5,
    "",
    "x",
    "nan",
    "1e999",
    [],
    {},
    [1],
    [None],
    {"a": None},
    {1: 2},
    float("nan"),
    10**400,
    {"get_param": []},
    {"get_param": {}},
    {"get_attr": []},
    {"get_attr": ["a"]},
    {"get_attr": [None, {}]},
    {"Ref": []},
    {"get_resource": ["x"]},
    {"Fn::GetAtt": "a.b"},
    {"if": []},
    {"if": ["a", 1]},
    {"if": [{}, [], {}]},
    {"not": None},
    {"Fn::FindInMap": [1, 2, 3]},
    {"Fn::FindInMap": ["a", ["b"], {}]},
    {"repeat": {"template": {}, "for_each": {}}},
    {"equals": [1]},
    {"list_join": [",", [{}]]},
    {"get_file": {}},
    {"str_split": [",", []]},
    {"str_replace": {"template": [], "params": {"": "a"}}},
)


def documents() -> list[Any]:
    found = []
    for path in sorted((*FOLDER.glob("*.yaml"), *FOLDER.glob("*.template"), *FOLDER.glob("*.env"))):
        try:
            found.append(text.simple_parse(path.read_text()))
        except ValueError:
            continue
    return found


def slots(data: Any) -> list[tuple[Any, Any]]:
    """Every place below: its container and its key."""
    pairs: list[tuple[Any, Any]] = []
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        pairs.append((data, key))
        if isinstance(value, (dict, list)):
            pairs.extend(slots(value))
    return pairs


def spoil(data: Any, chance: random.Random) -> Any:
    spoilt = copy.deepcopy(data)
    for _round in range(chance.randint(1, 4)):
        places = slots(spoilt)
        if not places:
            break
        container, key = chance.choice(places)
        if isinstance(container, dict) and chance.random() < 0.2:
            container[chance.choice((1, None, True, "zz"))] = container.pop(key)
        else:
            container[key] = copy.deepcopy(chance.choice(ODD))
    return spoilt


@pytest.mark.parametrize("seed", range(10))
def test_spoilt_templates(seed: int, tmp_path: pathlib.Path) -> None:
    chance = random.Random(seed)
    sound = documents()
    assert len(sound) > 15
    for _round in range(25):
        names = []
        for name in ("template.yaml", "environment.yaml"):
            (tmp_path / name).write_text(yaml.safe_dump(spoil(chance.choice(sound), chance)))
            names.append(str(tmp_path / name))
        for finding in runner.lint(names[0], names[1:]):
            assert finding.line >= 1 and finding.column >= 1 and finding.message


def messages(tmp_path: pathlib.Path, source: str) -> list[str]:
    path = tmp_path / "template.yaml"
    path.write_text("heat_template_version: 2021-04-16\n" + source)
    return [finding.message for finding in runner.lint(str(path))]


def test_suggestions_come_to_an_end(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggest, "MOST_COMPARED", 10)
    values = ", ".join("{get_param: name%d}" % number for number in range(30))
    source = "parameters: {name: {type: string}}\nresources: {r: {type: OS::Heat::Value, properties: {value: [%s]}}}"
    for _time in range(2):  # the next template begins anew
        told = [message for message in messages(tmp_path, source % values) if "there is no parameter" in message]
        assert len(told) == 30
        assert 0 < len([message for message in told if 'did you mean "name"' in message]) <= 10


def test_what_expressions_may_take_is_for_all_of_a_template(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_current", dataclasses.replace(limits.current(), yaql_total_seconds=0.0))
    source = "resources: {r: {type: OS::Heat::Value, properties: {value: {yaql: {expression: '[1].len()'}}}}}"
    assert "take more than 0.0 seconds" in " ".join(messages(tmp_path, source))
