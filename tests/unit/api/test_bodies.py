# SPDX-License-Identifier: Apache-2.0
"""Bodies: sizes, types of every field, and what reaches the engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import urlfetch
from tests.contract import api_harness as harness

TEMPLATE = {"heat_template_version": "2018-08-31"}
STACKS = "/v1/test_tenant_id/stacks"
STACK = STACKS + "/s1/aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

WRONG_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"template": 5}, "Template not in valid format: The template is not a JSON object or YAML mapping."),
    ({"template": [TEMPLATE]}, "Template not in valid format: The template is not a JSON object or YAML mapping."),
    ({"template": True}, "Template not in valid format: The template is not a JSON object or YAML mapping."),
    ({"template_url": 5}, '"template_url" must be a string'),
    ({"template_url": "file:///etc/passwd"}, "Could not retrieve template: Invalid URL scheme file"),
    ({"adopt_stack_data": {}}, '"adopt_stack_data" must be a string'),
    ({"adopt_stack_data": "- a"}, "Invalid adopt data: The template is not a JSON object or YAML mapping."),
    (
        {"adopt_stack_data": '{"template": "x"}'},
        "Invalid adopt data: The template is not a JSON object or YAML mapping.",
    ),
    ({"files": ["x"]}, '"files" must be a mapping'),
    ({"files": "x"}, '"files" must be a mapping'),
    ({"files": {"a.yaml": 1}}, '"files" must be a mapping of strings'),
    ({"files": {"a.yaml": None}}, '"files" must be a mapping of strings'),
    ({"clear_parameters": None}, '"clear_parameters" must be a list of strings'),
    ({"clear_parameters": [{}]}, '"clear_parameters" must be a list of strings'),
    ({"parameters": "x"}, '"parameters" must be a mapping'),
    ({"parameters": None}, '"parameters" must be a mapping'),
    ({"environment": 5}, "Environment not in valid format: The environment is not a valid YAML mapping data type."),
    ({"environment": [1]}, "Environment not in valid format: The environment is not a valid YAML mapping data type."),
    (
        {"environment": {"parameters": [1]}},
        'Environment not in valid format: environment section "parameters" is not a mapping',
    ),
    (
        {"environment": {"resource_registry": "x"}},
        'Environment not in valid format: environment section "resource_registry" is not a mapping',
    ),
    (
        {"environment": {"parameters": None}},
        'Environment not in valid format: environment has empty section "parameters"',
    ),
    ({"environment_files": "a.yaml"}, '"environment_files" must be a list of strings'),
    ({"environment_files": [5]}, '"environment_files" must be a list of strings'),
    ({"files_container": 5}, '"files_container" must be a string'),
    ({"timeout_mins": []}, "Only integer is acceptable by 'timeout_mins'."),
    ({"timeout_mins": 1.5}, "Only integer is acceptable by 'timeout_mins'."),
    ({"timeout_mins": -1}, "Value '-1' is invalid for 'timeout_mins' which only accepts non-negative integer."),
]


@pytest.mark.parametrize(("field", "message"), WRONG_TYPES, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("method_path", ["POST " + STACKS, "POST " + STACKS + "/preview", "PUT " + STACK])
def test_wrong_types(engine: Any, method_path: str, field: dict[str, Any], message: str) -> None:
    method, path = method_path.split()
    body = {"stack_name": "s1", **({} if "template_url" in field else {"template": TEMPLATE}), **field}
    reply = harness.request(harness.native(engine), method, path, body)
    assert (reply.status, reply.json["error"].get("message")) == (400, message)
    assert engine.sent == []


@pytest.mark.parametrize("tags", [["a"], 5, {"a": 1}])
def test_tags_of_a_wrong_type(engine: Any, tags: Any) -> None:
    reply = harness.request(
        harness.native(engine), "POST", STACKS, {"stack_name": "s", "template": TEMPLATE, "tags": tags}
    )
    assert reply.status == 400
    assert reply.json["error"] == {"type": "AttributeError", "traceback": None}


@pytest.mark.parametrize("field", ["inputs", "outputs"])
@pytest.mark.parametrize("given", ["x", 5, True, {"name": "a"}, ["a"], [{"name": "a"}, None]], ids=str)
def test_inputs_and_outputs_of_a_wrong_type(engine: Any, field: str, given: Any) -> None:
    path = "/v1/test_tenant_id/software_configs"
    reply = harness.request(harness.native(engine), "POST", path, {"name": "c", field: given})
    assert (reply.status, reply.json["error"].get("message")) == (400, f'"{field}" must be a list of mappings')
    assert engine.sent == []


@pytest.mark.parametrize("field", ["parameters=[]", 'parameters=""', 'environment_files=""', "environment_files={}",
                                   "files_container=false", "files_container=[]"])  # fmt: skip
def test_an_empty_value_of_another_type_is_none(engine: Any, field: str) -> None:
    name, _, value = field.partition("=")
    body = {"stack_name": "s", "template": TEMPLATE, name: json.loads(value)}
    assert harness.request(harness.native(engine), "POST", STACKS, body).status == 201


def test_parameters_beside_environment(engine: Any) -> None:
    environment = "parameters: {a: 1, b: 2}\nparameter_defaults: {c: 3}"
    body = {"stack_name": "s", "template": TEMPLATE, "environment": environment, "parameters": {"b": 5}}
    harness.request(harness.native(engine), "POST", STACKS, body)
    params = engine.sent[0]["args"]["params"]
    assert params["parameters"] == {"a": 1, "b": 5}
    assert params["parameter_defaults"] == {"c": 3}


def test_environment_files_replace_the_environment(engine: Any) -> None:
    body = {
        "stack_name": "s",
        "template": TEMPLATE,
        "environment": {"parameters": {"a": 1}},
        "environment_files": ["e.yaml"],
        "files": {"e.yaml": "{}"},
        "parameters": {"b": 2},
    }
    harness.request(harness.native(engine), "POST", STACKS, body)
    args = engine.sent[0]["args"]
    assert args["params"]["parameters"] == {"b": 2}
    assert args["environment_files"] == ["e.yaml"]


def test_template_from_a_url(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = []

    def get(url: str) -> bytes:
        fetched.append(url)
        return b"heat_template_version: 2018-08-31\ndescription: \xc3\xa9"

    monkeypatch.setattr(urlfetch, "get", get)
    harness.request(harness.native(engine), "PATCH", STACK, {"template_url": "http://x/t"})
    assert engine.sent[0]["args"]["template"]["description"] == "é"
    assert fetched == ["http://x/t"]


def test_patch_rules(engine: Any) -> None:
    """An empty patch is the rule update_no_change, and what a patch lacks is not asked for."""
    reply = harness.request(harness.native(engine), "PATCH", STACK, {})
    assert reply.status == 202
    args = engine.sent[0]["args"]
    assert (args["template"], args["args"]) == (None, {"existing": True})


# --- sizes


def test_body_at_the_limit(engine: Any) -> None:
    cfg.CONF.set_override("max_json_body_size", 200)
    body = json.dumps({"stack_name": "s", "template": TEMPLATE}).ljust(200).encode()
    assert harness.request(harness.native(engine), "POST", STACKS, body).status == 201
    reply = harness.request(harness.native(engine), "POST", STACKS, body + b" ")
    assert reply.status == 400
    assert reply.json["error"] == {
        "type": "RequestLimitExceeded",
        "message": "Request limit exceeded: JSON body size (201 bytes) exceeds maximum allowed size (200 bytes).",
        "traceback": None,
    }


@pytest.mark.parametrize("inline", [True, False])
def test_template_limit(engine: Any, inline: bool) -> None:
    cfg.CONF.set_override("max_template_size", 100)
    template: Any = {**TEMPLATE, "description": "x" * 100}
    body = {"stack_name": "s", "template": template if inline else json.dumps(template)}
    reply = harness.request(harness.native(engine), "POST", STACKS, body)
    assert reply.status == 400
    assert reply.json["error"]["type"] == "RequestLimitExceeded"
    assert "exceeds maximum allowed size (100 bytes)" in reply.json["error"]["message"]


DEEP = 5000


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":' * 100_000,
        b'{"stack_name": "s", "environment": {"parameters": ' + b'{"a":' * 260 + b"1" + b"}" * 262,
        json.dumps({"stack_name": "s"}).encode()[:-1] + b', "template": ' + b'{"a":' * 200 + b"1" + b"}" * 201,
        json.dumps({"stack_name": "s", "template": "a: " + "[" * DEEP + "]" * DEEP}).encode(),
        json.dumps({"stack_name": "s", "template": TEMPLATE, "environment": "a: " + "{a: " * DEEP}).encode(),
    ],
    ids=["body", "environment object", "template object", "template text", "environment text"],
)
def test_nesting(engine: Any, body: bytes) -> None:
    reply = harness.request(harness.native(engine), "POST", STACKS, body)
    assert reply.status == 400, reply.body[:300]
    assert engine.sent == []


def test_alias_bomb(engine: Any) -> None:
    bomb = "heat_template_version: 2018-08-31\na: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    reply = harness.request(harness.native(engine), "POST", STACKS, {"stack_name": "s", "template": bomb})
    assert reply.status == 400
    assert engine.sent == []


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"[1]", "application/json"), (b"{}", "application/yaml"), (b"a=1", "application/x-www-form-urlencoded")],
)
def test_bodies_that_do_not_count(engine: Any, body: bytes, content_type: str) -> None:
    reply = harness.request(harness.native(engine), "POST", STACKS, body, content_type=content_type)
    assert reply.status == 400
    assert reply.json["error"]["message"].startswith("The server could not comply with the request")


@pytest.mark.parametrize("content_type", ["", "text/plain", "text/plain; charset=utf-8", "application/json;x=1"])
def test_types_that_mean_json(engine: Any, content_type: str) -> None:
    body = json.dumps({"stack_name": "s", "template": TEMPLATE}).encode()
    assert harness.request(harness.native(engine), "POST", STACKS, body, content_type=content_type).status == 201


def test_a_body_where_none_is_taken(engine: Any) -> None:
    assert harness.request(harness.native(engine), "DELETE", STACK, {"a": 1}).status == 400
    assert engine.sent == []


@pytest.mark.parametrize(("text", "status"), [("\\ud83d\\ude00", 201), ("\\ud83d", 400), ("\\uDE00x", 400)])
def test_surrogates(engine: Any, text: str, status: int) -> None:
    body = '{"stack_name": "s", "template": {"heat_template_version": "2018-08-31", "description": "%s"}}' % text
    assert harness.request(harness.native(engine), "POST", STACKS, body).status == status


class _StopsComing:
    def read(self, size: int) -> bytes:
        raise TimeoutError("timed out")


def test_a_body_that_stops_coming(engine: Any) -> None:
    api = harness.native(engine)
    slow = lambda environ, start: api({**environ, "wsgi.input": _StopsComing()}, start)  # noqa: E731
    reply = harness.request(slow, "POST", STACKS, {"stack_name": "s"})
    assert (reply.status, reply.json["error"]["message"]) == (408, "The body of the request did not come.")
    assert engine.sent == []
