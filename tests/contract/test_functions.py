# SPDX-License-Identifier: Apache-2.0
"""Every template function with every recorded argument, in every version of the language.

Where a vector records a defect of Heat, ``BETTER`` has the value that is right.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import pytest

from openkeel_heat.common import identifier
from openkeel_heat.template import Template, environment, nodes
from openkeel_heat.template.definition import BoundDefinition
from openkeel_heat.template.node_data import NodeData
from openkeel_heat.template.scope import StackDefinition

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "function-vectors.json").read_text())
FIXTURE = DATA["fixture"]

#: case -> (why, the result instead of the recorded one)
BETTER: dict[str, tuple[str, dict[str, Any]]] = {
    "str_split/09": (
        "the error of a wrong value is one that callers expect",
        {"error": {"class": "TypeError", "message": "'int' object has no attribute 'split'"}},
    ),
}

#: snippets that the JSON of the vectors cannot carry as they were run: keys that are numbers, order of keys
AS_RUN: dict[str, Any] = {
    "map_replace/15": {"map_replace": [{"a": 1}, {"values": {1: "one"}}]},
    "list_join/06": {"list_join": [",", ["a", {"k": 1, "b": 2}]]},
    **{
        "%s/19" % name: {name: {"template": "a1", "params": {1: "x"}}}
        for name in ("str_replace", "str_replace_strict", "str_replace_vstrict")
    },
}


@pytest.fixture(autouse=True)
def no_global_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_global", None)


class Facade:
    """The parent resource of the vectors' stack."""

    def __init__(self, facade: Mapping[str, Any]) -> None:
        self.t = BoundDefinition(
            "facade", "X", deletion_policy=facade["deletion_policy"], update_policy=facade["update_policy"]
        )
        self._metadata = facade["metadata"]

    def metadata_get(self) -> Any:
        return self._metadata


def stack_for(version: str) -> StackDefinition:
    template = Template(FIXTURE["templates"][version], files=FIXTURE["files"])
    data = {}
    for name, node in FIXTURE["node_data"].items():
        attrs = {tuple(key) if isinstance(key, list) else key: value for key, value in node["attributes"]}
        data[name] = NodeData(1, name, "uuid", node["reference_id"], attrs, node["action"], node["status"])
    identity = identifier.HeatIdentifier(FIXTURE["tenant"], FIXTURE["stack_name"], FIXTURE["stack_id"])
    return StackDefinition(
        template, identity, data, Facade(FIXTURE["facade"]), lambda: list(FIXTURE["availability_zones"])
    )


def error_of(exc: Exception) -> dict[str, str]:
    module = type(exc).__module__
    name = type(exc).__name__
    return {
        "class": name if module in ("builtins", "heat.common.exception") else "%s.%s" % (module, name),
        "message": str(exc),
    }


def outcome(version: str, mode: str, snippet: Any) -> dict[str, Any]:
    """What becomes of a snippet, in the form of the vectors."""
    stack = stack_for(version)
    parse = stack.t.parse if mode == "value" else stack.t.parse_condition
    result: dict[str, Any] = {}
    try:
        parsed = parse(stack, snippet, FIXTURE["parse_path"])
    except Exception as exc:
        return {"parse_error": error_of(exc)}
    try:
        nodes.validate(parsed, FIXTURE["validate_path"])
        result["valid"] = True
    except Exception as exc:
        result["validate_error"] = error_of(exc)
    try:
        names = list(nodes.dependencies(parsed, FIXTURE["parse_path"]))
        if names:
            result["dependencies"] = sorted(names)
    except Exception as exc:
        result["dependencies_error"] = error_of(exc)
    attrs = [[name, list(attr) if isinstance(attr, tuple) else attr] for name, attr in nodes.all_dep_attrs(parsed)]
    if attrs:
        result["dep_attrs"] = attrs
    try:
        result["value"] = nodes.resolve(parsed)
    except Exception as exc:
        result["error"] = error_of(exc)
    return result


def plain(value: Any) -> Any:
    """As JSON, with texts that differ from run to run made equal."""
    text = json.dumps(value, sort_keys=True, default=repr)
    return json.loads(re.sub(r"(Algorithm must be one of ){[^}]*}", r"\1<set of names>", text))


def comparable(result: Mapping[str, Any]) -> Any:
    out = plain(result)
    for key in ("dependencies", "dep_attrs"):
        if key in out:
            out[key] = sorted(out[key], key=json.dumps)
    return out


def differences(expected: Mapping[str, Mapping[str, Any]], version: str, mode: str) -> list[str]:
    bad = []
    for case, want in expected.items():
        if case in BETTER and "error" in want:
            want = {**want, **BETTER[case][1]}
        got = outcome(version, mode, AS_RUN.get(case, DATA["cases"][case]))
        if comparable(got) != comparable(want):
            bad.append("%s %s\n   want %s\n   got  %s" % (case, json.dumps(DATA["cases"][case]), want, got))
    return bad


@pytest.mark.parametrize(
    ("version", "mode"), [(version, mode) for version, modes in DATA["results"].items() for mode in modes]
)
def test_functions(version: str, mode: str) -> None:
    expected = DATA["results"][version][mode]
    bad = differences(expected, version, mode)
    print("%s %s: %d vectors" % (version, mode, len(expected)))
    assert not bad, "%d of %d differ\n%s" % (len(bad), len(expected), "\n".join(bad))


def test_no_vector_is_left_out() -> None:
    ran = sum(len(cases) for modes in DATA["results"].values() for cases in modes.values())
    assert ran == DATA["count"] == 4798
    assert len(DATA["cases"]) == 698


def test_snippets_that_are_no_calls() -> None:
    version = "heat_template_version.2021-04-16"
    for vector in DATA["misc_2021-04-16"]:
        got = outcome(version, "value", vector["snippet"])
        assert comparable(got) == comparable(vector["result"]), vector["snippet"]


@pytest.mark.parametrize(("version", "aliases"), list(DATA["same_class_aliases"].items()))
def test_aliases_are_the_same_class(version: str, aliases: list[str]) -> None:
    def class_of(name: str) -> type:
        key, _dot, value = name.partition(".")
        return type(Template({key: value}))

    assert all(class_of(alias) is class_of(version) for alias in aliases)
