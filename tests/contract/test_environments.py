# SPDX-License-Identifier: Apache-2.0
"""Environments: texts, merging of files, the registry, hooks and nested stacks, by the recorded vectors."""

from __future__ import annotations

import copy
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.template import Template, env_merge, environment, registry, text
from openkeel_heat.template.environment import Environment

FOLDER = pathlib.Path(__file__).parent / "data"
DATA = json.loads((FOLDER / "environment-vectors.json").read_text())
TYPES = json.loads((FOLDER / "resource-types.json").read_text())["types"]

#: merge vectors that record a defect: label -> parameters afterwards (or another section), and why
BETTER_MERGE: dict[str, dict[str, Any]] = {
    # numbers and booleans have no length, so Heat refuses them or joins their texts
    "number merge": {"parameters": {"n": 3}},
    "number deep_merge": {"parameters": {"n": 3}},
    "number given as string merge": {"parameters": {"n": 3}},
    "number given as string deep_merge": {"parameters": {"n": 3}},
    "default strategy merge": {"parameters": {"s": "ab", "n": 3}},
    "default strategy deep_merge": {"parameters": {"s": "ab", "n": 3}},
    # a map written as a text is a map
    "json string value merge": {"parameters": {"j": {"a": 1, "b": 2}}},
    "json string value deep_merge": {"parameters": {"j": {"a": 1, "b": 2}}},
    # a list and a comma delimited text are both lists
    "list mixed merge": {"parameters": {"l": ["a", "b"]}},
    "list mixed deep_merge": {"parameters": {"l": ["a", "b"]}},
    # the second file with event sinks ends in AttributeError
    "event sinks twice": {
        "event_sinks": [{"type": "zaqar-queue", "target": "q1"}, {"type": "zaqar-queue", "target": "q2"}]
    },
    # a section that the base lacks
    "base without section": {"event_sinks": [{"type": "zaqar-queue"}]},
}

#: merge vectors with an empty text for the error: booleans cannot be merged, and Heat has a message for that
BETTER_ERROR = {
    "boolean merge": "InvalidMergeStrategyForParam",
    "boolean deep_merge": "InvalidMergeStrategyForParam",
}

#: files that are wrong: Heat's errors, but with the name of the file, and of a class whose text clients get to see
TOLD = {"empty section", "bad section", "not a mapping", "bad yaml"}

#: wrong event sinks: the same
SINKS = {"event sink unknown", "event sink without type", "event sink bad argument"}

#: look-ups that Heat answers for one resource and then remembers for all of that type
NOT_REMEMBERED = {"resource specific beats exact and glob", "resource specific"}


class ZaqarEventSink:
    def __init__(self, target: str, ttl: int = 3600) -> None:
        self.target = target


class Plugin:
    """A stand-in for a class of Heat, known by its place."""

    def __init__(self, place: str) -> None:
        self.place = place


class Kit:
    def template_resource_class(self) -> Any:
        return Plugin("heat.engine.resources.template_resource.TemplateResource")


@pytest.fixture(autouse=True)
def global_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(environment, "_global", None)
    monkeypatch.setattr(registry, "_kit", Kit())
    known = Environment({}, user_env=False)
    for name, facts in TYPES.items():
        known.register_class(name, Plugin(facts["class"]))
    known.register_event_sink("zaqar-queue", ZaqarEventSink)
    environment.set_global(known)
    yield


def error_of(exc: Exception) -> dict[str, str]:
    return {"class": type(exc).__name__, "message": str(exc)}


@pytest.mark.parametrize("vector", DATA["format"], ids=lambda v: repr(v["text"])[:60])
def test_texts(vector: dict[str, Any]) -> None:
    try:
        parsed = text.parse_environment(vector["text"])
    except ValueError as exc:
        assert str(exc).splitlines()[0] == vector["error"]["message_first_line"]
    else:
        assert parsed == vector["parsed"]


def test_missing_sections() -> None:
    env: dict[str, Any] = {}
    text.default_for_missing(env)
    assert env == DATA["default_for_missing"]


def merge(vector: dict[str, Any]) -> dict[str, Any]:
    template = Template(vector["template"])
    params = copy.deepcopy(vector["params_before"])
    env_merge.merge_environments(
        vector["environment_files"], vector["files"], params, template.all_param_schemata(vector["files"])
    )
    return params


@pytest.mark.parametrize("vector", DATA["merge"], ids=lambda v: v["label"])
def test_merging_of_files(vector: dict[str, Any]) -> None:
    if vector["label"] in BETTER_MERGE:
        assert merge(vector) == {**vector["params_before"], **BETTER_MERGE[vector["label"]]}
        return
    try:
        params = merge(vector)
    except Exception as exc:
        if vector["label"] in BETTER_ERROR:
            assert type(exc).__name__ == BETTER_ERROR[vector["label"]]
        elif vector["label"] in TOLD:
            assert error_of(exc) == {
                "class": "StackValidationFailed",
                "message": 'Environment file "env0.yaml" not in valid format: ' + vector["error"]["message"],
            }
        else:
            assert error_of(exc) == vector["error"]
    else:
        assert params == vector["params_after"]


def test_no_vector_is_left_out() -> None:
    counts = {key: len(vectors) for key, vectors in DATA.items() if isinstance(vectors, list)}
    print(counts)
    assert counts["merge"] == 82 and counts["construct"] == 20 and counts["registry_matching"] == 15
    assert set(BETTER_MERGE) | set(BETTER_ERROR) | TOLD <= {vector["label"] for vector in DATA["merge"]}


@pytest.mark.parametrize("vector", DATA["construct"], ids=lambda v: v["label"])
def test_construction(vector: dict[str, Any]) -> None:
    try:
        env = Environment(copy.deepcopy(vector["env"]))
        assert env.env_as_dict() == vector["env_as_dict"]
    except Exception as exc:
        if "error" not in vector:
            raise
        if vector["label"] in SINKS:
            told = error_of(exc)
            assert told["class"] == "StackValidationFailed"
            assert told["message"].startswith("Event sink {")
            assert told["message"].endswith(" is not valid: " + vector["error"]["message"])
        else:
            assert error_of(exc) == vector["error"]
        return
    assert env.user_env_as_dict() == vector["user_env_as_dict"]
    assert env.params == vector["params"]
    assert env.param_defaults == vector["param_defaults"]
    assert env.encrypted_param_names == vector["encrypted_param_names"]
    assert [type(sink).__name__ for sink in env.get_event_sinks()] == vector["event_sinks"]


@pytest.mark.parametrize("vector", DATA["load"], ids=lambda v: json.dumps(v["second"]))
def test_loading_on_top(vector: dict[str, Any]) -> None:
    env = Environment(vector["first"])
    env.load(vector["second"])
    assert env.env_as_dict() == vector["env_as_dict"]


@pytest.mark.parametrize("vector", DATA["child_environment"], ids=lambda v: v["label"])
def test_environment_of_a_nested_stack(vector: dict[str, Any]) -> None:
    child = environment.get_child_environment(
        Environment(vector["parent"]), vector["child_params"], child_resource_name=vector["child_resource_name"]
    )
    assert child.user_env_as_dict() == vector["result"]


@pytest.mark.parametrize("vector", DATA["hooks"], ids=lambda v: json.dumps(v["registry"]))
def test_hooks(vector: dict[str, Any]) -> None:
    env = Environment({"resource_registry": vector["registry"]})
    for probe in vector["probes"]:
        assert env.registry.matches_hook(probe["name"], probe["hook"]) is probe["matches"], probe


@pytest.mark.parametrize("vector", DATA["restricted_actions"], ids=lambda v: json.dumps(v["registry"]))
def test_restricted_actions(vector: dict[str, Any]) -> None:
    env = Environment({"resource_registry": vector["registry"]})
    for name, actions in vector["result"].items():
        assert sorted(env.registry.get_rsrc_restricted_actions(name)) == actions


@pytest.mark.parametrize("vector", DATA["registry_matching"], ids=lambda v: v["label"])
def test_registry(vector: dict[str, Any]) -> None:
    for query in vector["queries"]:
        env = Environment({"resource_registry": copy.deepcopy(vector["registry"])})
        want = query["result"]
        got: dict[str, Any] = {}
        try:
            info = env.get_resource_info(query["type"], resource_name=query["name"])
        except Exception as exc:
            got["error"] = error_of(exc)
        else:
            value = info.value.place if isinstance(info.value, Plugin) else info.value
            got.update(
                kind=type(info).__name__, name=info.name, path=info.path, user_resource=info.user_resource, value=value
            )
        try:
            made = env.get_class_to_instantiate(query["type"], query["name"])
            got["class_to_instantiate"] = made.place
        except Exception as exc:
            got["class_error"] = error_of(exc)
        if "error" not in got:
            got["registry_after"] = env.registry.as_dict()
            if vector["label"] in NOT_REMEMBERED:
                want = {
                    **want,
                    "registry_after": Environment({"resource_registry": vector["registry"]}).registry.as_dict(),
                }
        assert got == want, query


def test_constants() -> None:
    assert list(environment.HOOK_TYPES) == DATA["constants"]["hook_types"]
    assert list(environment.RESTRICTED_ACTIONS) == DATA["constants"]["restricted_actions"]
    assert list(env_merge.ALLOWED_PARAM_MERGE_STRATEGIES) == DATA["constants"]["merge_strategies"]
