# SPDX-License-Identifier: Apache-2.0
"""The error vocabulary, and how it crosses the bus in both directions."""

from __future__ import annotations

import copy
import inspect
import json
import pathlib
import pickle
from typing import Any

import pytest
from oslo_messaging._drivers import common as rpc_common

from openkeel_heat.common import exceptions
from openkeel_heat.rpc import messaging

DATA = pathlib.Path(__file__).parent / "data"
CLASSES = json.loads((DATA / "exceptions.json").read_text())
WIRE = json.loads((DATA / "rpc.json").read_text())["exception_wire"]
MISC = json.loads((DATA / "misc-vectors.json").read_text())


def test_classes() -> None:
    wanted = CLASSES["heat.common.exception"]
    for name, facts in wanted.items():
        cls = getattr(exceptions, name)
        assert cls.__module__ == "heat.common.exception"
        bases = [base.__name__ for base in cls.__mro__[1:]]
        assert [base for base in bases if base in facts["bases"]] == facts["bases"], name
        assert getattr(cls, "msg_fmt", None) == facts["msg_fmt"], name
        assert getattr(cls, "error_code", None) == facts["error_code"], name
        assert getattr(cls, "safe", False) == facts["safe"], name
    print(f"{len(wanted)} classes")


def test_arguments() -> None:
    for name, facts in CLASSES["heat.common.exception"].items():
        ours = inspect.signature(getattr(exceptions, name).__init__).parameters
        for argument in facts["init"]:
            if argument["kind"].startswith("VAR_"):
                assert any(p.kind.name == argument["kind"] for p in ours.values()), name
                continue
            default = ours[argument["name"]].default
            assert (default is inspect.Parameter.empty) == argument["required"], (name, argument)
            if not argument["required"]:
                assert default == argument["default"], (name, argument)


def test_codes() -> None:
    assert CLASSES["ERROR_CODE_MAP"] == exceptions.ERROR_CODE_MAP


def _made(name: str) -> Exception:
    """An instance with the arguments of its format."""
    facts = CLASSES["heat.common.exception"][name]
    cls = getattr(exceptions, name)
    if name in ("UpdateReplace", "UpdateInProgress", "NotFound"):
        made: Exception = cls("text")
        return made
    fmt = facts["msg_fmt"] or CLASSES["ERROR_CODE_MAP"].get(facts["error_code"]) or ""

    class Names(dict[str, Any]):
        def __getitem__(self, key: str) -> str:
            self[key] = key.upper()
            return key.upper()

    names = Names()
    fmt % names
    if facts["init"] and not any(argument["kind"].startswith("VAR_") for argument in facts["init"]):
        keys = {argument["name"] for argument in facts["init"]}
        names = Names({key: value for key, value in names.items() if key in keys})
    made = cls(**names)
    return made


REBUILT = [
    name
    for name, facts in CLASSES["heat.common.exception"].items()
    if facts["remote_rebuild"] == f"{name}_Remote" and name not in ("HTTPExceptionDisguise",)
]


@pytest.mark.parametrize("name", REBUILT)
def test_crossing_the_bus(name: str) -> None:
    error = _made(name)
    data = rpc_common.serialize_remote_exception((type(error), error, None))
    travelling = json.loads(data)
    assert travelling["class"] == name
    assert travelling["module"] == "heat.common.exception"
    back = rpc_common.deserialize_remote_exception(data, messaging.ALLOWED_REMOTE_EXMODS)
    assert type(back).__name__ == f"{name}_Remote"
    assert isinstance(back, getattr(exceptions, name))
    assert exceptions.is_remote(back)
    assert exceptions.local_error_name(back) == name
    assert str(back).startswith(str(error))


def test_counts() -> None:
    print(f"{len(REBUILT)} classes sent and rebuilt, {len(WIRE)} recorded forms")
    assert len(REBUILT) > 65


@pytest.mark.parametrize("case", WIRE, ids=lambda case: case["serialized"]["message"][:20])
def test_received_from_the_other_implementation(case: dict[str, Any]) -> None:
    """Their serialised form, rebuilt by us."""
    wanted = case["deserialized"]
    back = rpc_common.deserialize_remote_exception(json.dumps(case["serialized"]), messaging.ALLOWED_REMOTE_EXMODS)
    assert type(back).__name__ == wanted["class"]
    assert getattr(back, "message", None) == wanted["message_attribute"]
    assert str(back).split("\nTraceback")[0] == wanted["str"].split("\nTraceback")[0]
    if wanted["module"] != "builtins":
        assert type(back).__module__ == wanted["module"]


ARGUMENTS: dict[str, dict[str, Any]] = {
    "The Stack (s1) could not be found.": {"entity": "Stack", "name": "s1"},
    "bad": {"message": "bad"},
    "Error: resources.r.properties[0]: bad": {
        "error": "Error",
        "path": ["resources", "r", "properties", 0],
        "message": "bad",
    },
}


@pytest.mark.parametrize("case", WIRE, ids=lambda case: case["serialized"]["message"][:20])
def test_sent_to_the_other_implementation(case: dict[str, Any]) -> None:
    """Our error, serialised as theirs is."""
    wanted = case["serialized"]
    if wanted["module"] == "builtins":
        return
    cls = getattr(exceptions, wanted["class"])
    error = cls(*wanted["args"], **ARGUMENTS.get(wanted["message"], wanted["kwargs"]))
    ours = json.loads(rpc_common.serialize_remote_exception((cls, error, None)))
    assert {key: ours[key] for key in wanted if key != "tb"} == {key: wanted[key] for key in wanted if key != "tb"}


def test_positional_arguments_cross_too() -> None:
    error = exceptions.EntityNotFound("Stack", "s")
    data = rpc_common.serialize_remote_exception((type(error), error, None))
    back = rpc_common.deserialize_remote_exception(data, messaging.ALLOWED_REMOTE_EXMODS)
    assert exceptions.local_message(back) == "The Stack (s) could not be found."


@pytest.mark.parametrize("case", MISC["StackValidationFailed"])
def test_paths(case: dict[str, Any]) -> None:
    error = exceptions.StackValidationFailed(**case["kwargs"])
    assert (str(error) or error.msg_fmt) == case["text"]


def test_wrapping() -> None:
    inner, plain = MISC["StackValidationFailed_wrapping"]
    first = exceptions.StackValidationFailed(error="E", path=["x"], message="m")
    assert str(first) == inner["inner"]
    assert str(exceptions.StackValidationFailed(error=first, path=["a"])) == inner["text"]
    assert str(exceptions.StackValidationFailed(error=ValueError("v"), path=["a"])) == plain["text"]


@pytest.mark.parametrize("text", ["%s", "%d", "100%", "%(feature)s", "%2e%2e", "%%", "{x}"])
def test_a_text_is_no_format(text: str) -> None:
    """Ids and names that users send are in it."""
    error = exceptions.NotFound(f"Software config with id {text} not found")
    assert str(error) == str(copy.deepcopy(error)) == f"Software config with id {text} not found"
    data = rpc_common.serialize_remote_exception((type(error), error, None))
    back = rpc_common.deserialize_remote_exception(data, messaging.ALLOWED_REMOTE_EXMODS)
    assert exceptions.local_message(back) == str(error)


def test_copies() -> None:
    error = exceptions.StackExists(stack_name="s")
    assert str(copy.deepcopy(error)) == str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is exceptions.StackExists
    assert again.kwargs == error.kwargs
    assert str(copy.deepcopy(exceptions.NotFound("gone"))) == "gone"


class FakeTemplate:
    RESOURCES = "resources"

    def get_section_name(self, section: str) -> str:
        return section


class FakeStack:
    t = FakeTemplate()


class FakeResource:
    stack = FakeStack()
    name = "r"
    action = "CREATE"


def test_resource_failure() -> None:
    failure = exceptions.ResourceFailure(ValueError("v"), FakeResource())
    assert str(failure) == "ValueError: resources.r: v"
    outer = exceptions.ResourceFailure(failure, FakeResource(), action="UPDATE")
    assert (str(outer), outer.action, outer.exc) == (str(failure), "UPDATE", failure.exc)
    nested = exceptions.ResourceFailure(
        "Resource CREATE failed: Error: resources.inner: bang: went off", FakeResource()
    )
    assert str(nested) == "Error: resources.r.resources.inner: bang: went off"
    assert str(exceptions.ResourceFailure("plain", FakeResource())) == "resources.r: plain"
    assert copy.deepcopy(failure).path == ["resources", "r"]


def test_missing_arguments_are_not_fatal() -> None:
    assert str(exceptions.StackExists(wrong="x")) == "An unknown exception occurred."
