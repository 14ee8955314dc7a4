# SPDX-License-Identifier: Apache-2.0
"""Wrong templates, validated and previewed: the answers of Heat 27.0.1, word for word, and few that are better."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.fixtures.api import Api

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "validation-answers.json").read_text())

#: What Heat answers with an error of its own (500), or without saying what is wrong.
BETTER: dict[str, tuple[int, str, str]] = {
    "param bad pattern": (
        400,
        "InvalidSchemaError",
        'AllowedPattern "[" is not valid: unterminated character set at position 0',
    ),
    "env registry int": (
        400,
        "HTTPBadRequest",
        "The server could not comply with the request since it is either malformed or otherwise incorrect.",
    ),
}


def answer(reply: Any) -> tuple[int, str | None, str | None]:
    error = reply.json().get("error", {})
    return reply.status_code, error.get("type"), error.get("message")


def wanted(case: dict[str, Any], kind: str) -> tuple[int, str | None, str | None]:
    recorded = case[kind]
    return BETTER.get(case["name"]) or (recorded["status"], recorded.get("type"), recorded.get("message"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_answers(api: Api, case: dict[str, Any]) -> None:
    reply = api.send("POST", "/validate?show_nested=true", case["body"])
    assert answer(reply) == wanted(case, "validate")
    if reply.status_code == 200:
        assert reply.json() == case["validate"]["body"]
    reply = api.send("POST", "/stacks/preview", {"stack_name": "answers", **case["body"]})
    assert answer(reply) == wanted(case, "preview")


def test_count() -> None:
    names = {case["name"] for case in CASES}
    print(f"{len(names)} templates, validated and previewed")
    assert len(names) == len(CASES) >= 150
    assert set(BETTER) <= names
