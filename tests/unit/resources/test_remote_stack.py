# SPDX-License-Identifier: Apache-2.0
"""What a remote stack tells of the refusals of the other service."""

from __future__ import annotations

import json

import pytest
import requests
from keystoneauth1 import exceptions

from openkeel_heat.resources.heat import remote_stack


def answer(body: str) -> requests.Response:
    response = requests.Response()
    response.status_code = 400
    response._content = body.encode()
    response.headers["Content-Type"] = "application/json"
    return response


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            json.dumps({"error": {"message": "no such section", "type": "InvalidTemplateSection"}}),
            "ERROR: no such section",
        ),
        (json.dumps({"title": "Bad Request"}), "x (HTTP 400)"),
        (json.dumps(["odd"]), "x (HTTP 400)"),
        ("<html>", "x (HTTP 400)"),
    ],
)
def test_refusal(body: str, text: str) -> None:
    error = exceptions.BadRequest(message="x", response=answer(body), http_status=400)
    assert remote_stack._told(error) == text


def test_other_errors() -> None:
    assert remote_stack._told(exceptions.ConnectFailure("no way")) == "no way"
