# SPDX-License-Identifier: Apache-2.0
"""What both APIs answer when an engine answers with an error, for every class of the vocabulary and some others."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import oslo_messaging
import pytest

from openkeel_heat.common import exceptions
from tests.contract import api_harness as harness

RECORDED = harness.load("exceptions.json")
HEAT = {
    name: recorded
    for name, recorded in RECORDED["heat.common.exception"].items()
    if recorded.get("native_body_example") and name != "HTTPExceptionDisguise"
}
OTHERS = RECORDED["non_heat"]
#: Of the client's making, but 500 with Heat.
BETTER = {"InvalidExternalResourceDependency": 400, "InvalidRestrictedAction": 400}
STACK = "/v1/test_tenant_id/stacks/s1/aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    harness.configure()
    yield


def remote(cls: type[Exception], message: str) -> Exception:
    """The error as the bus raises it in a client: a sub-class with another name and the traceback in its text."""
    made = type(f"{cls.__name__}_Remote", (cls,), {"__str__": lambda self: f"{message}\nTraceback: secret"})
    error: Exception = made.__new__(made)
    if isinstance(error, exceptions.HeatException):
        error.message = message
    return error


def answer(error: Exception) -> harness.Reply:
    engine = harness.RecordedEngine({"show_stack": error})
    return harness.request(harness.native(engine), "GET", STACK)


@pytest.mark.parametrize("name", sorted(HEAT))
def test_heat_errors(name: str) -> None:
    expected = HEAT[name]["native_body_example"]
    reply = answer(remote(getattr(exceptions, name), expected["error"].get("message", "m")))
    if name in BETTER:
        assert reply.status == BETTER[name]
        assert reply.json["error"] == expected["error"]
        return
    assert (reply.status, reply.json) == (HEAT[name]["native_status"], expected)


@pytest.mark.parametrize("name", sorted(name for name in OTHERS if name.startswith("builtins.")))
def test_builtin_errors(name: str) -> None:
    expected = OTHERS[name]["native"]
    reply = answer(remote(getattr(builtins, name.partition(".")[2]), "m"))
    assert (reply.status, reply.json) == (expected["status"], expected["body"])


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("oslo_messaging.MessagingTimeout", oslo_messaging.MessagingTimeout("secret")),
        ("oslo_messaging.RemoteError", oslo_messaging.RemoteError("Strange", "secret", ["Traceback"])),
    ],
)
def test_messaging_errors(name: str, error: Exception) -> None:
    for path, recorded in ((STACK, "native"), ("/v1/test_tenant_id/services", "native_services")):
        expected: dict[str, Any] = OTHERS[name][recorded]
        engine = harness.RecordedEngine({"show_stack": error, "list_services": error})
        headers = {"X-Roles": "admin,member,reader"}
        reply = harness.request(harness.native(engine), "GET", path, headers=headers)
        assert (reply.status, reply.json) == (expected["status"], expected["body"])


def test_count() -> None:
    print(f"errors: {len(HEAT)} of Heat, {len(OTHERS)} others")
    assert len(HEAT) > 65
    assert len(OTHERS) == 8
