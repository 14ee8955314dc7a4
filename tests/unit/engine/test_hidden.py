# SPDX-License-Identifier: Apache-2.0
"""What is hidden of a stack, in texts, data, properties of events and snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.engine import hidden
from openkeel_heat.engine.definition import SharedDefinition
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.template import Template


class Defined:
    def __init__(self, shared: SharedDefinition) -> None:
        self.shared = shared


class Stack:
    def __init__(self, schemata: dict[str, Any], values: dict[str, Any], **defaults: Any) -> None:
        template = Template(
            {"heat_template_version": "2018-08-31", "parameters": schemata},
            env=Environment({"parameters": values, "parameter_defaults": defaults}),
        )
        self._defn = Defined(SharedDefinition(template, None))


def schema(kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"type": kind, "hidden": True, **more}


@pytest.mark.parametrize(
    ("kind", "value", "texts"),
    [
        ("string", "secret", ["secret"]),
        ("string", "abc", []),
        ("string", "true", []),
        ("string", "80805", []),
        ("string", "808050", ["808050"]),
        ("number", 123456, ["123456"]),
        ("number", "1234.5", ["1234.5"]),
        ("number", 8080, []),
        ("number", "no number", ["no number"]),
        ("boolean", True, []),
        ("json", {"a": ["secret", {"b": "other"}], "n": 12}, ["secret", "other"]),
        ("json", '{"a": "secret"}', ['{"a": "secret"}', "secret"]),
        ("comma_delimited_list", "one, secret", ["one, secret", "secret"]),
        ("comma_delimited_list", ["long one", "x"], ["long one"]),
    ],
)
def test_texts(kind: str, value: Any, texts: list[str]) -> None:
    assert set(hidden.of(Stack({"p": schema(kind)}, {"p": value})).texts) == set(texts)  # type: ignore[arg-type]


def test_defaults_and_what_is_not_hidden() -> None:
    stack: Any = Stack(
        {"p": schema(default="of template"), "q": schema(), "r": {"type": "string"}, "s": schema()},
        {"r": "in the open"},
        q="of environment",
    )
    found = hidden.of(stack)
    assert found is hidden.of(stack)
    assert set(found.texts) == {"of template", "of environment"}
    assert found.text("r is in the open, q 'of environment'") == "r is in the open, q '******'"
    assert hidden.of(Stack({"r": {"type": "string"}}, {"r": "in the open"})) is hidden.NOTHING  # type: ignore[arg-type]
    assert hidden.of(None) is hidden.NOTHING


def test_longest_first_and_data() -> None:
    stack: Any = Stack(
        {"p": schema(), "q": schema(), "n": schema("number")}, {"p": "pass", "q": "password", "n": 123456}
    )
    found = hidden.of(stack)
    assert found.text("a password") == "a ******"
    assert found.data({"a": ["my pass", 123456, 7, None, True], "password": 1.5}) == {
        "a": ["my ******", "******", 7, None, True],
        "password": 1.5,
    }
    assert found.text(None) is None


def test_properties_of_an_event_may_be_older() -> None:
    stack: Any = Stack({"p": schema()}, {"p": "now this"})
    snippet = {
        "a": {"get_param": "p"},
        "b": {"list_join": ["", ["x", {"get_param": ["p", 0]}]]},
        "c": {"Ref": "p"},
        "d": {"get_param": "other"},
        "e": "plain",
        "f": {"get_param": "p"},
    }
    shown = hidden.of(stack).properties(
        {"a": "once that", "b": ["x"], "c": {"k": 1}, "d": "d", "e": "now this?", "f": None}, snippet
    )
    assert shown == {"a": "******", "b": "******", "c": "******", "d": "d", "e": "******?", "f": None}
    assert hidden.of(stack).properties({"a": "now this"}, None) == {"a": "******"}


def test_errors_cross_the_bus_without_it() -> None:
    stack: Any = Stack({"p": schema()}, {"p": "s3cret"})
    with pytest.raises(exceptions.StackValidationFailed) as told, hidden.in_errors(stack):
        raise exceptions.StackValidationFailed(error="Wrong", path=["a"], message="s3cret is wrong")
    assert str(told.value) == "Wrong: a: ****** is wrong"
    assert "s3cret" not in repr(told.value.__dict__)
    assert str(type(told.value)(**told.value.kwargs).message).find("s3cret") < 0
    with pytest.raises(ValueError, match="s3cret"), hidden.in_errors(stack):
        raise ValueError("s3cret: not one of the vocabulary")


def test_snapshot() -> None:
    data = {
        "template": {"parameters": {"p": schema(), "r": {"type": "string"}}},
        "environment": {
            "parameters": {"p": "s3cret", "r": "open"},
            "parameter_defaults": {"p": "older"},
            "resource_registry": {},
        },
        "resources": {
            "a": {
                "resource_data": {"password": "x", "backup_id": "b", "token": ""},
                "metadata": {"heat": {"password": "y", "user_id": "u"}, "of": "s3cret"},
            },
            "b": None,
        },
        "name": "n",
    }
    assert hidden.snapshot(data) == {
        **data,
        "environment": {
            "parameters": {"p": "******", "r": "open"},
            "parameter_defaults": {"p": "******"},
            "resource_registry": {},
        },
        "resources": {
            "a": {
                "resource_data": {"password": "******", "backup_id": "b", "token": ""},
                "metadata": {"heat": {"password": "******", "user_id": "u"}, "of": "******"},
            },
            "b": None,
        },
    }
    assert hidden.snapshot(None) is None
