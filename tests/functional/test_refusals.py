# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a template is said in the words of Heat 27.0.1, as recorded of its preview."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.fixtures.api import Api

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "preview-refusals.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_preview(api: Api, case: dict[str, Any]) -> None:
    body = {"stack_name": "refused", **{key: case[key] for key in ("template", "files", "environment")}}
    reply = api.send("POST", "/stacks/preview", body)
    error = reply.json().get("error", {})
    assert (reply.status_code, error.get("type"), error.get("message")) == (
        case["status"],
        case["type"],
        case["message"],
    )
