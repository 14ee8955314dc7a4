# SPDX-License-Identifier: Apache-2.0
"""Parameters: where values come from, what is shown of them, and custom constraints."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception, identifier
from openkeel_heat.template import Template, constraints
from tests.unit.template.helpers import template

IDENTITY = identifier.HeatIdentifier("project", "name", "an-id")


def params(schema: str, defaults: dict[str, Any] | None = None, **given: Any) -> Any:
    return template("parameters: {p: %s}" % schema).parameters(IDENTITY, given, defaults)


def test_precedence() -> None:
    schema = "{type: string, default: template}"
    assert params(schema)["p"] == "template"
    assert params(schema, {"p": "environment"})["p"] == "environment"
    assert params(schema, {"p": "environment"}, p="user")["p"] == "user"
    assert params(schema, {"other": 1})["p"] == "template"


@pytest.mark.parametrize(
    ("schema", "given", "value", "shown"),
    [
        ("{type: string}", 16, "16", "16"),
        ("{type: number}", "16", 16, "16"),
        ("{type: number}", "1.5", 1.5, "1.5"),
        ("{type: boolean}", "on", True, "True"),
        ("{type: comma_delimited_list}", "a,b", ["a", "b"], "a,b"),
        ("{type: comma_delimited_list}", ["a", 1], ["a", "1"], "a,1"),
        ("{type: json}", {"a": [1, 2]}, {"a": [1, 2]}, '{"a": [1, 2]}'),
        ("{type: json}", "[1]", [1], "[1]"),
        ("{type: string, hidden: true}", "secret", "secret", "******"),
    ],
)
def test_values_and_what_is_shown(schema: str, given: Any, value: Any, shown: str) -> None:
    made = params(schema, p=given)
    made.validate()
    assert made["p"] == value
    assert str(made.params["p"]) == shown


def test_a_default_that_comes_late_is_parsed_anew() -> None:
    made = params("{type: json, default: {}}")
    assert made["p"] == {}
    made.params["p"].set_default({"a": 1})
    assert made["p"] == {"a": 1}


def test_missing_and_unknown() -> None:
    with pytest.raises(exception.UserParameterMissing, match=r"The Parameter \(p\) was not provided"):
        params("{type: string}").validate()
    with pytest.raises(exception.UnknownUserParameter, match=r"The Parameter \(q\) was not defined"):
        params("{type: string, default: x}", q=1).validate()
    params("{type: string}").validate(validate_value=False)


@pytest.mark.parametrize(
    ("data", "before", "after"),
    [
        ({"heat_template_version": "2021-04-16"}, "", "an-id"),
        ({"HeatTemplateFormatVersion": "2012-12-12"}, "None", "arn:openstack:heat::project:stacks/name/an-id"),
    ],
)
def test_the_id_may_come_late(data: dict[str, Any], before: str, after: str) -> None:
    made = Template(data).parameters(None, {})
    assert made[made.PARAM_STACK_ID] == before
    assert not made.set_stack_id(None)
    assert made.set_stack_id(IDENTITY)
    assert made[made.PARAM_STACK_ID] == after


class OnlyX:
    def validate(self, value: Any, context: Any) -> bool:
        return value == context

    def error(self, value: Any) -> str:
        return "no %s" % value


def test_custom_constraints_are_asked_for_by_name() -> None:
    schema = "{type: string, constraints: [{custom_constraint: only.x}]}"
    with pytest.raises(exception.StackValidationFailed, match=r'"x" does not validate only.x \(constraint not found'):
        params(schema, p="x").validate(context="x")
    constraints.set_custom_lookup({"only.x": OnlyX}.get)
    params(schema, p="x").validate(context="x")
    with pytest.raises(exception.StackValidationFailed, match="Parameter 'p' is invalid: no y"):
        params(schema, p="y").validate(context="x")


def test_a_default_is_not_put_to_custom_constraints() -> None:
    constraints.set_custom_lookup({"only.x": OnlyX}.get)
    schema = "{type: string, default: y, constraints: [{custom_constraint: only.x}]}"
    params(schema).validate(validate_value=False, context="x")


def test_only_immutable_values_count_and_only_when_they_change() -> None:
    schema = "{type: number, immutable: true, default: 5}"
    old = params(schema)
    assert old.immutable_params_modified(params(schema, p="5"), {"p": "5"}) is None
    assert old.immutable_params_modified(params(schema, p=6), {"p": 6}) == ["p"]
    assert old.immutable_params_modified(params(schema, p="x"), {"p": "x"}) == ["p"]
    assert old.immutable_params_modified(params("{type: number}", p=6), {"p": 6}) is None
