# SPDX-License-Identifier: Apache-2.0
"""Compiling: what becomes a node, what stays plain, and where errors appear."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import nodes
from openkeel_heat.template.functions.references import GetParam
from tests.unit.template.helpers import node, stack, template, value


def compiled(snippet: Any, source: str = "") -> Any:
    return nodes.compile_snippet(snippet, template(source).compile_context, "here")


def test_plain_data_stays_what_it_is() -> None:
    snippet = {"a": [1, {"b": None}], "get_param": "x", "c": "d"}
    assert compiled(snippet) is snippet


def test_a_call_becomes_a_node_and_the_rest_around_it_a_container() -> None:
    plain = {"x": [1, 2]}
    made = compiled({"a": {"get_param": "p"}, "b": plain})
    assert isinstance(made, nodes.MapNode)
    assert isinstance(made["a"], GetParam)
    assert made["b"] is plain


def test_a_map_with_two_keys_is_no_call() -> None:
    assert compiled({"get_param": "p", "other": 1}) == {"get_param": "p", "other": 1}


def test_resolving_gives_fresh_data_each_time() -> None:
    scope = stack("parameters: {p: {type: string, default: x}}")
    snippet = scope.t.parse(scope, {"plain": {"l": [1]}, "fn": {"get_param": "p"}})
    first = nodes.resolve(snippet)
    first["plain"]["l"].append(2)
    assert nodes.resolve(snippet) == {"plain": {"l": [1]}, "fn": "x"}


def test_errors_of_form_name_the_place() -> None:
    scope = stack("")
    with pytest.raises(exception.StackValidationFailed) as caught:
        scope.t.parse(scope, {"a": [0, {"list_join": "x"}]}, "outputs.o.value")
    assert str(caught.value).startswith('outputs.o.value.a[1].list_join: Incorrect arguments to "list_join"')


def test_errors_of_validation_name_the_place() -> None:
    scope = stack("resources: {r: {type: X}}", {"r": node("r", x=1)})
    snippet = scope.t.parse(scope, {"list": ["a", {"get_attr": ["r", "y"]}]})
    with pytest.raises(exception.StackValidationFailed) as caught:
        nodes.validate(snippet, ["resources", "q", "properties"])
    assert str(caught.value) == (
        "resources.q.properties.list[1].get_attr: The Referenced Attribute (r y) is incorrect."
    )


def test_a_wrong_branch_that_is_not_chosen_harms_nobody() -> None:
    source = "conditions: {so: true, not_so: false}"
    wrong = {"list_join": "no list"}
    assert value({"if": ["so", "good", wrong]}, source) == "good"
    with pytest.raises(exception.StackValidationFailed):
        value({"if": ["not_so", "good", wrong]}, source)


def test_a_missing_branch_takes_the_item_with_it() -> None:
    source = "conditions: {not_so: false}"
    gone = {"if": ["not_so", 1]}
    assert value({"a": gone, "b": [gone, 2]}, source) == {"b": [2]}
    assert value(gone, source) is None


def test_dependencies_are_those_of_the_chosen_branch() -> None:
    scope = stack("conditions: {so: true}\nresources: {a: {type: X}, b: {type: X}}")
    snippet = scope.t.parse(scope, {"if": ["so", {"get_resource": "a"}, {"get_attr": ["b", "x"]}]})
    assert list(nodes.dependencies(snippet)) == ["a"]
    assert list(nodes.all_dep_attrs(snippet)) == []


def test_a_reference_to_nothing_names_the_place() -> None:
    scope = stack("")
    snippet = scope.t.parse(scope, {"p": {"get_resource": "nope"}})
    with pytest.raises(exception.InvalidTemplateReference) as caught:
        list(nodes.dependencies(snippet, "r.Properties"))
    assert str(caught.value) == 'The specified reference "nope" (in r.Properties.p) is incorrect.'


def test_names_of_references_may_be_computed() -> None:
    scope = stack("parameters: {p: {type: string}}\nresources: {a: {type: X}}", p="a")
    snippet = scope.t.parse(scope, {"get_attr": [{"get_param": "p"}, "x"]})
    assert list(nodes.dependencies(snippet)) == ["a"]
    assert list(nodes.all_dep_attrs(snippet)) == [("a", "x")]


@pytest.mark.parametrize(
    ("snippet", "names"),
    [
        ({"v": {"get_resource": "a"}, "w": [{"get_attr": ["b", "x", 0]}, {"get_param": "p"}]}, {"a", "b"}),
        ({"v": "plain"}, frozenset()),
        ({"v": {"get_resource": {"get_param": "p"}}}, None),
        ({"v": {"get_attr": ["a", {"get_param": "p"}]}}, None),
        ({"v": {"if": ["so", {"get_resource": "a"}, 1]}}, None),
        ({"v": {"get_resource": ["a"]}}, None),
        ({"v": {"list_join": "wrong"}}, None),
    ],
)
def test_what_is_referred_to_in_every_scope_is_known_from_the_start(snippet: Any, names: Any) -> None:
    made = template("resources: {a: {type: X}, b: {type: X}, c: {type: X}}")
    made.t["resources"]["c"]["properties"] = snippet
    assert made.definitions["c"].static_references == names


def test_a_static_reference_to_nothing_is_told_each_time() -> None:
    bound = stack("resources: {a: {type: X, properties: {v: {get_resource: z}}}}").resource_definition("a")
    for _again in range(2):
        with pytest.raises(exception.InvalidTemplateReference, match='"z" .in a.Properties.v. is incorrect'):
            bound.required_resource_names()


def test_bound_snippets_need_no_scope() -> None:
    scope = stack("parameters: {p: {type: string, default: x}}")
    bound = scope.t.parse(scope, {"a": {"get_param": "p"}, "b": [{"get_param": "p"}]})
    assert nodes.is_function(bound["a"])
    assert bound["a"].result() == "x"
    assert nodes.resolve({"mine": bound["b"]}) == {"mine": ["x"]}
    assert bound == {"a": "x", "b": ["x"]}


def test_a_copy_of_a_bound_snippet_is_raw() -> None:
    scope = stack("parameters: {p: {type: string, default: x}}")
    snippet = {"a": {"get_param": "p"}, "b": [1, {"get_param": ["p", 0]}]}
    assert copy.deepcopy(scope.t.parse(scope, snippet)) == snippet


def test_functions_of_the_value_kind_are_no_conditions() -> None:
    scope = stack("")
    with pytest.raises(exception.StackValidationFailed, match='The function "get_file" is invalid in this context'):
        scope.t.parse_condition(scope, {"get_file": "x"})


SNIPPETS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([{"get_param": "p"}, {"get_resource": "r"}, {"if": ["so", "a", "b"]}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(SNIPPETS)
def test_rendering_is_the_inverse_of_compiling(snippet: Any) -> None:
    scope = stack("parameters: {p: {type: string, default: x}}\nconditions: {so: true}\nresources: {r: {type: X}}")

    def decided(part: Any) -> Any:
        if isinstance(part, dict):
            return "a" if list(part) == ["if"] else {k: decided(v) for k, v in part.items()}
        return [decided(v) for v in part] if isinstance(part, list) else part

    def resolved(part: Any) -> Any:
        if isinstance(part, dict):
            known = {"get_param": "x", "get_resource": "r"}
            name = next(iter(part), None)
            return known[name] if len(part) == 1 and name in known else {k: resolved(v) for k, v in part.items()}
        return [resolved(v) for v in part] if isinstance(part, list) else part

    bound = scope.t.parse(scope, snippet)
    assert nodes.render(bound) == decided(snippet)
    assert nodes.resolve(bound) == resolved(decided(snippet))
