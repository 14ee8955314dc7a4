# SPDX-License-Identifier: Apache-2.0
"""Parameters: schemata, values, checks and groups, by the recorded vectors."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import pytest

from openkeel_heat.common import identifier
from openkeel_heat.engine.operations import formats
from openkeel_heat.resources.kit import common_constraints, registry
from openkeel_heat.template import Template, constraints, environment
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.parameter_groups import ParameterGroups

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "parameter-vectors.json").read_text())

IDENTITY = identifier.HeatIdentifier("test_tenant_id", "test_stack", "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee")

#: immutable vectors (old, new, type) whose values differ in writing only: not a change
SAME_VALUE = {(5, "5", "number"), ("true", "yes", "boolean")}

#: values of number parameters that no JSON can hold: refused, where Heat takes them and answers with broken JSON
NOT_FINITE = {"nan", "inf"}

#: a bound that is no number: the same text, in an error whose text clients get to see
TOLD = {"constraint length bad num"}

#: texts that come from a library and differ among its versions
LIBRARY_TEXTS = {"Exactly 5, 6 or 7 columns": "Exactly 5 or 6 columns"}


@pytest.fixture(autouse=True)
def custom_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    assert common_constraints  # imported first: it says where constraints are looked up

    def lookup(name: str) -> Any:
        target = registry.BUILT_IN_CONSTRAINTS.get(name)
        return None if target is None else registry.load(target)

    monkeypatch.setattr(constraints, "_custom_lookup", lookup)
    monkeypatch.setattr(environment, "_global", None)


def error_of(exc: Exception) -> dict[str, str]:
    module = type(exc).__module__
    name = type(exc).__name__
    return {
        "class": name if module in ("builtins", "heat.common.exception") else "%s.%s" % (module, name),
        "message": str(exc),
    }


def attempt(result: dict[str, Any], key: str, error_key: str, function: Any) -> Any:
    try:
        value = function()
    except Exception as exc:
        result[error_key] = error_of(exc)
        return None
    result[key] = value
    return value


def make_template(version: str, schema: Any, env: Any, **sections: Any) -> Template:
    key, _dot, value = version.partition(".")
    section = "parameters" if key == "heat_template_version" else "Parameters"
    return Template({key: value, section: {"p": schema}, **sections}, env=Environment(env))


def outcome(vector: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    try:
        template = make_template(vector["version"], vector["schema"], vector["env"])
        params = template.parameters(IDENTITY, template.env.params, template.env.param_defaults)
    except Exception as exc:
        return {"construct_error": error_of(exc)}
    attempt(result, "valid", "validate_error", lambda: params.validate(True) or True)
    attempt(result, "schema_valid", "schema_error", lambda: params.validate(False) or True)
    if attempt(result, "value", "value_error", lambda: params["p"]) is not None or "value" in result:
        result["value_type"] = type(result["value"]).__name__
    attempt(result, "text", "text_error", lambda: str(params.params["p"]))
    attempt(result, "validate_api", "validate_api_error", lambda: formats.validate_parameter(params.params["p"]))
    return result


def plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"__float__": str(value)}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def as_text(result: dict[str, Any]) -> str:
    text = json.dumps(result, sort_keys=True)
    for ours, theirs in LIBRARY_TEXTS.items():
        text = text.replace(ours, theirs)
    return text


def test_parameters() -> None:
    bad, refused = [], set()
    for index, vector in enumerate(DATA["vectors"]):
        got = plain(outcome(vector))
        value = ((vector["env"] or {}).get("parameters") or {}).get("p")
        if vector["schema"] == {"type": "number"} and isinstance(value, str) and value in NOT_FINITE:
            refused.add(value)
            text = '"%s" is not a number that JSON can hold' % value
            assert got["validate_error"]["message"] == "Parameter 'p' is invalid: " + text
            assert (got["value_error"], got["text"]) == ({"class": "ValueError", "message": text}, value)
            continue
        want = vector["result"]
        if vector["label"] in TOLD:
            want = {"construct_error": {**want["construct_error"], "class": "InvalidSchemaError"}}
        if as_text(got) != as_text(want):
            bad.append(
                "%d %s %s %s %s\n  want %s\n  got  %s"
                % (index, vector["label"], vector["schema"], vector["env"], vector["version"], vector["result"], got)
            )
    print("%d parameter vectors" % len(DATA["vectors"]))
    assert len(DATA["vectors"]) == DATA["count"] == 409
    assert refused == NOT_FINITE
    assert not bad, "%d differ\n%s" % (len(bad), "\n".join(bad))


@pytest.mark.parametrize("version", list(DATA["pseudo_parameters"]))
def test_pseudo_parameters(version: str) -> None:
    key, _dot, value = version.partition(".")
    for label, identity in (("with identifier", IDENTITY), ("without identifier", None)):
        params = Template({key: value}).parameters(identity, {})
        got = {
            name: {"text": str(param), "type": param.schema.type, "value": param.value()}
            for name, param in params.params.items()
        }
        assert got == DATA["pseudo_parameters"][version][label]


@pytest.mark.parametrize("vector", DATA["immutable"], ids=lambda v: "%s-%s" % (v["old"], v["new"]))
def test_immutable_parameters(vector: dict[str, Any]) -> None:
    version = "heat_template_version.2021-04-16"

    def params(value: Any) -> Any:
        template = make_template(version, vector["schema"], {"parameters": {"p": value}})
        return template.parameters(IDENTITY, template.env.params)

    modified = params(vector["old"]).immutable_params_modified(params(vector["new"]), {"p": vector["new"]})
    writing = (vector["old"], vector["new"], vector["schema"]["type"])
    same = isinstance(vector["new"], str | int) and writing in SAME_VALUE
    assert modified == (None if same else vector["modified"])


@pytest.mark.parametrize("vector", DATA["parameter_groups"], ids=lambda v: json.dumps(v["groups"]))
def test_parameter_groups(vector: dict[str, Any]) -> None:
    template = make_template(
        "heat_template_version.2021-04-16", {"type": "string"}, None, parameter_groups=vector["groups"]
    )
    try:
        groups = ParameterGroups(template)
        groups.validate()
    except Exception as exc:
        assert error_of(exc) == vector["error"]
    else:
        assert vector["valid"]
        assert groups.parameter_groups == vector["result"]
