# SPDX-License-Identifier: Apache-2.0
"""Wrong templates, validated and previewed: the answers of Heat 27.0.1, word for word, and few that are better."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.fixtures.api import Api

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "validation-answers.json").read_text())

#: What Heat answers with 500, with an error whose text it keeps to itself, or by taking what it cannot store:
#: the type and text of ours, always with 400. HTTPBadRequest is what validation makes of a refused template.
BETTER: dict[str, tuple[str, str]] = {
    "params list": (
        "StackValidationFailed",
        "\"parameters\" must contain a map of parameters. Found a [<class 'list'>] instead",
    ),
    "param bad pattern": (
        "InvalidSchemaError",
        'AllowedPattern "[" is not valid: unterminated character set at position 0',
    ),
    "param range text": ("InvalidSchemaError", "could not convert string to float: 'abc'"),
    "cfn param": ("InvalidSchemaError", "could not convert string to float: 'x'"),
    "yaql in depends": ("StackValidationFailed", 'resources.a: : Unknown function "nope"'),
    "yaql in cond": ("StackValidationFailed", 'resources.a: : Unknown function "nope"'),
    "yaql in delpol": ("StackValidationFailed", 'resources.a: : Unknown function "nope"'),
    "env registry loop": (
        "StackValidationFailed",
        'The resource registry leads from type "My::T" to itself, or through too many others.',
    ),
    "env registry int": ("StackValidationFailed", 'The resource registry has no type or map for "My::T"'),
    "env files missing": ("StackValidationFailed", 'The environment file "nope.yaml" is not among the files'),
    "env files bad": (
        "StackValidationFailed",
        'Environment file "e.yaml" not in valid format: while parsing a flow node\n'
        "expected the node content, but found '<stream end>'\n"
        '  in "<unicode string>", line 1, column 5:\n    a: [\n        ^',
    ),
    "external id dep": (
        "InvalidExternalResourceDependency",
        "Invalid dependency with external OS::Heat::None resource: x",
    ),
    "long name": ("StackValidationFailed", "Resource name may not have more than 255 characters"),
}
#: The same, of validation only.
BETTER_VALIDATION = {
    "group no def": ("StackValidationFailed", "ValueError: : resources.a: : Property resource_def not assigned"),
}


def answer(reply: Any) -> tuple[int, str | None, str | None]:
    error = reply.json().get("error", {})
    return reply.status_code, error.get("type"), error.get("message")


def wanted(case: dict[str, Any], kind: str, got: Any) -> tuple[int, str | None, str | None]:
    recorded = case[kind]
    better = BETTER.get(case["name"])
    if better is None and kind == "validate":
        better = BETTER_VALIDATION.get(case["name"])
    if better is None:
        return recorded["status"], recorded.get("type"), recorded.get("message")
    error, text = better
    if error == "StackValidationFailed" and got[1] == "HTTPBadRequest" and kind == "validate":
        return 400, "HTTPBadRequest", text.replace(": : ", ": ")
    return 400, error, text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_answers(api: Api, case: dict[str, Any]) -> None:
    reply = api.send("POST", "/validate?show_nested=true", case["body"])
    got = answer(reply)
    assert got == wanted(case, "validate", got)
    if reply.status_code == 200:
        assert reply.json() == case["validate"]["body"]
    reply = api.send("POST", "/stacks/preview", {"stack_name": "answers", **case["body"]})
    got = answer(reply)
    assert got == wanted(case, "preview", got)


def test_count() -> None:
    names = {case["name"] for case in CASES}
    print(f"{len(names)} templates, validated and previewed")
    assert len(names) == len(CASES) >= 150
    assert set(BETTER) | set(BETTER_VALIDATION) <= names
