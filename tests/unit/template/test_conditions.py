# SPDX-License-Identifier: Apache-2.0
"""Conditions: decided once, circles found, an algebra that holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import Template
from openkeel_heat.template.scope import StackDefinition
from tests.unit.template.helpers import stack


def test_by_name_by_value_and_none() -> None:
    conditions = stack("conditions: {a: {equals: [1, 1]}, b: {not: a}}").conditions
    assert conditions.is_enabled("a") is True
    assert conditions.is_enabled("b") is False
    assert conditions.is_enabled(None) is True
    assert conditions.is_enabled(False) is False


@pytest.mark.parametrize("name", ["nope", 5, ["a"]])
def test_unknown_conditions(name: Any) -> None:
    with pytest.raises(ValueError, match="Invalid condition"):
        stack("conditions: {a: true}").conditions.is_enabled(name)


def test_what_is_no_condition_is_shown_as_it_stands() -> None:
    conditions = stack("conditions: {a: {contains: {equals: [1, 2]}, x: 1}}").conditions
    with pytest.raises(exception.StackValidationFailed) as raised:
        conditions.is_enabled("a")
    told = "The definition of condition \"a\" is invalid: {'contains': {'equals': [1, 2]}, 'x': 1}"
    assert str(raised.value) == "Condition validation error: " + told


def test_circles() -> None:
    conditions = stack("conditions: {a: {not: b}, b: {not: a}}").conditions
    for _again in range(2):
        with pytest.raises(exception.StackValidationFailed, match='Circular definition for condition "a"'):
            conditions.is_enabled("a")


def test_an_error_does_not_look_like_a_circle_afterwards() -> None:
    conditions = stack("conditions: {a: {not: nope}}").conditions
    for _again in range(2):
        with pytest.raises(ValueError, match='Invalid condition "nope"'):
            conditions.is_enabled("a")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("conditions: [a]", "Condition definitions must be a map. Found a list instead"),
        ("conditions: {a: {get_file: x}}", 'conditions.a.get_file: The function "get_file" is invalid in this context'),
    ],
)
def test_wrong_sections(section: str, message: str) -> None:
    with pytest.raises(exception.StackValidationFailed, match=message):
        stack(section).conditions  # noqa: B018


def test_a_condition_must_be_decided_by_something() -> None:
    with pytest.raises(exception.StackValidationFailed, match='The definition of condition "a" is invalid: text'):
        stack("conditions: {a: text}").conditions.validate()


FORMULAS = st.recursive(
    st.booleans() | st.sampled_from(["t", "f"]),
    lambda inner: st.one_of(
        inner.map(lambda x: {"not": x}),
        st.lists(inner, min_size=2, max_size=3).map(lambda x: {"and": x}),
        st.lists(inner, min_size=2, max_size=3).map(lambda x: {"or": x}),
    ),
    max_leaves=8,
)


def truth(formula: Any) -> bool:
    if isinstance(formula, dict):
        ((name, args),) = formula.items()
        if name == "not":
            return not truth(args)
        return all(map(truth, args)) if name == "and" else any(map(truth, args))
    return formula in (True, "t")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(FORMULAS)
def test_the_algebra(formula: Any) -> None:
    data = {
        "heat_template_version": "2021-04-16",
        "conditions": {"t": True, "f": False, "c": {"or": [formula, "f"]}},
        "outputs": {"o": {"value": {"if": [formula, "yes", "no"]}}},
    }
    scope = StackDefinition(Template(data))
    assert scope.conditions.is_enabled("c") is truth(formula)
    assert scope.output_definition("o").get_value() == ("yes" if truth(formula) else "no")
