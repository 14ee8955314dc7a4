# SPDX-License-Identifier: Apache-2.0
"""Every recorded exchange of both APIs: status, body, location, and what was sent to the engine.

Where Heat's answer is a defect the better one is expected instead; `BETTER` lists those by request.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract import api_harness as harness

EXAMPLES = harness.load("api-examples.json")
ANSWERS = harness.replies()


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    harness.configure()
    yield


def name_of(example: dict[str, Any]) -> str:
    body = "" if example.get("body") is None else json.dumps(example["body"], sort_keys=True)
    return f"{example['method']} {example['path']} {body}"[:180]


def run(application: Any, engine: Any, example: dict[str, Any]) -> harness.Reply:
    headers = dict(example.get("headers") or {})
    if example.get("roles"):
        headers["X-Roles"] = ",".join(example["roles"])
    return harness.request(application, example["method"], example["path"], example.get("body"), headers)


def check(reply: harness.Reply, engine: Any, expected: dict[str, Any]) -> None:
    found: dict[str, Any] = {"status": reply.status, "content_type": reply.content_type}
    wanted = {"status": expected["status"], "content_type": expected.get("content_type")}
    if "location" in expected:
        found["location"], wanted["location"] = reply.headers.get("location"), expected["location"]
    if "allow" in expected:
        found["allow"], wanted["allow"] = reply.headers.get("allow"), expected["allow"]
    if "body" in expected:
        found["body"], wanted["body"] = reply.json, expected["body"]
    elif "body_text" in expected:
        found["body"], wanted["body"] = reply.text, expected["body_text"]
    found["rpc"], wanted["rpc"] = engine.sent, expected.get("rpc") or []
    assert found == wanted


@pytest.mark.parametrize("example", EXAMPLES["native"], ids=name_of)
def test_native(example: dict[str, Any]) -> None:
    engine = harness.RecordedEngine(ANSWERS)
    reply = run(harness.native(engine), engine, example)
    check(reply, engine, example["response"])


# --- CloudFormation

#: Part of a path -> (status, code) that is answered in place of Heat's; each is a row of the table of differences.
BETTER: dict[str, tuple[int, str | None]] = {
    # Heat: 500 InternalFailure, or the exception leaves the application.
    "Action=CreateStack&TemplateBody": (400, "MissingParameter"),
    "Action=CancelUpdateStack$": (400, "MissingParameter"),
    "Action=DeleteStack$": (400, "MissingParameter"),
    "Action=DescribeStackEvents": (200, None),
    "/waitcondition/ without a body": (400, "MissingParameter"),
    "/v1/signal/arn%3Abogus": (400, "InvalidParameterValue"),
}


def better(example: dict[str, Any]) -> tuple[int, str | None] | None:
    path = example["path"].replace("&ContentType=JSON", "")
    if "/waitcondition/" in path and example["method"] == "PUT" and example["body"] is None:
        return BETTER["/waitcondition/ without a body"]
    if "note" in example:
        return None
    for part, answer in BETTER.items():
        if path.endswith(part[:-1]) if part.endswith("$") else part in path:
            return answer
    return None


def structure(element: ElementTree.Element) -> Any:
    """An XML element without regard to the order of its children; what Heat writes as ``None`` is absent."""
    children = [structure(child) for child in element if child.text != "None"]
    text: Any = element.text or ""
    if element.tag in ("TemplateBody", "Metadata", "ResourceProperties") and text:
        text = json.loads(text)
    elif text in ("True", "False"):
        text = text.lower()
    if element and element[0].tag == "member":
        return element.tag, children
    return element.tag, sorted(children, key=str) or text


def error_of(reply: harness.Reply) -> tuple[str, str]:
    """Code and message of an error, in XML or JSON."""
    if reply.content_type == "application/json":
        error = reply.json["ErrorResponse"]["Error"]
        return error["Code"], error["Message"]
    root = ElementTree.fromstring(reply.body)
    return root.findtext("Error/Code") or "", root.findtext("Error/Message") or ""


@pytest.mark.parametrize("example", EXAMPLES["cfn"], ids=name_of)
def test_cfn(example: dict[str, Any]) -> None:
    engine = harness.RecordedEngine(ANSWERS)
    if "note" in example:
        assert example["note"] == "engine reply carried resource_properties"
        engine.answers = ANSWERS | {"list_events": [ANSWERS["list_events"][0] | {"resource_properties": {"a": 1}}]}
    reply = run(harness.cfn(engine), engine, example)
    expected = example["response"]
    instead = better(example)
    wants_json = "ContentType=JSON" in example["path"]
    if instead is not None:
        status, code = instead
        assert reply.status == status
        assert reply.content_type == ("application/json" if wants_json else "application/xml")
        if code is not None:
            assert error_of(reply)[0] == code
        return
    assert engine.sent == (expected.get("rpc") or [])
    if wants_json and isinstance(expected.get("body"), str):
        # Heat: status 200 and only the detail of the message, as a JSON text.
        twin = next(
            other["response"]
            for other in EXAMPLES["cfn"]
            if other["path"] == example["path"].replace("&ContentType=JSON", "")
        )
        assert reply.status == twin["status"]
        assert expected["body"] in error_of(reply)[1]
    elif wants_json and "ErrorResponse" in expected.get("body_text", ""):
        # Heat: XML although JSON was asked for.
        wanted = ElementTree.fromstring(expected["body_text"])
        assert reply.status == expected["status"]
        assert error_of(reply) == (wanted.findtext("Error/Code"), wanted.findtext("Error/Message"))
    elif expected.get("content_type") == "application/xml":
        assert (reply.status, reply.content_type) == (expected["status"], "application/xml")
        found = structure(ElementTree.fromstring(reply.body))
        assert found == structure(ElementTree.fromstring(expected["body_text"]))
    else:
        check(reply, engine, expected)


@pytest.mark.parametrize("case", EXAMPLES["cfn_default_policies"], ids=lambda case: f"{case['action']} {case['roles']}")
def test_cfn_default_policies(case: dict[str, Any]) -> None:
    """Heat's default policies refuse every action to everybody; ours let those in whom they mean."""
    assert case["response"]["status"] == 403
    engine = harness.RecordedEngine(ANSWERS)
    reads = case["action"].startswith(("List", "Describe", "Get", "Validate", "Estimate"))
    for roles, allowed in (("member,reader", True), ("reader", reads), ("other", False)):
        path = f"/v1/?Action={case['action']}"
        reply = harness.request(harness.cfn(engine), "GET", path, headers={"X-Roles": roles})
        denied = reply.status == 403 and error_of(reply)[0] == "AccessDenied"
        assert denied is not allowed, (roles, reply.body)


def test_count() -> None:
    counts = {part: len(EXAMPLES[part]) for part in ("native", "cfn", "cfn_default_policies")}
    print(f"exchanges: {counts}")
    assert counts["native"] >= 140
    assert counts["cfn"] >= 68
