# SPDX-License-Identifier: Apache-2.0
"""What may be spent: on one value, on a request, on expressions and patterns."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import constraints, limits, nodes, patterns, sandbox
from openkeel_heat.template.environment import Environment
from tests.unit.template.helpers import stack, template, value


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def change(**values: Any) -> None:
        monkeypatch.setattr(limits, "_current", dataclasses.replace(limits.current(), **values))

    return change


REPEAT = {"repeat": {"template": "abc", "for_each": {"a": ["x"] * 5}}}


def test_a_value_is_charged_for_all_that_is_made_for_it(bound: Callable[..., None]) -> None:
    bound(max_value_size=2000)
    assert len(value([REPEAT, REPEAT])) == 2
    with pytest.raises(exception.RequestLimitExceeded, match='"repeat" exceeds the maximum size'):
        value([REPEAT] * 4)
    assert len(value(REPEAT)) == 5  # the next one begins anew


def test_a_request_is_charged_for_all_its_values(bound: Callable[..., None]) -> None:
    bound(max_total_size=1500)
    for _time in range(10):
        value(REPEAT)
    with limits.request() as spent:
        value(REPEAT)
        with limits.request() as same:
            value(REPEAT)
        assert same is spent and spent.size > 1000
        with pytest.raises(exception.RequestLimitExceeded, match="make more than 1500 characters"):
            value(REPEAT)
    assert limits.account.request is None


def test_threads_do_not_pay_for_each_other(bound: Callable[..., None]) -> None:
    bound(max_value_size=3000)
    failures: list[Exception] = []

    def work() -> None:
        try:
            for _time in range(50):
                value([REPEAT, REPEAT])
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work) for _number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize(
    "call",
    [
        {"list_concat": [["a"] * 60, ["b"] * 60]},
        {"map_merge": [{str(n): n for n in range(60)}, {str(-n): n for n in range(1, 60)}]},
        {"str_split": [",", "," * 120]},
        {"repeat": {"template": "a", "for_each": {"a": ["x"] * 120}}},
        {"yaql": {"expression": "range(120)"}},
    ],
)
def test_items_are_counted(bound: Callable[..., None], call: Any) -> None:
    bound(max_collection_items=100)
    with pytest.raises((exception.RequestLimitExceeded, ValueError), match="more than 100 items|too large"):
        value(call)


def test_one_thing_many_times_is_measured_as_json(bound: Callable[..., None]) -> None:
    bound(max_value_size=10_000)
    source = "parameters: {p: {type: json}}"
    small = {str(n): n for n in range(100)}
    assert value([{"get_param": "p"}] * 5, source, p=small) == [small] * 5
    with pytest.raises(exception.RequestLimitExceeded, match="more than 10000 characters"):
        value([{"get_param": "p"}] * 50, source, p=small)
    with pytest.raises(exception.RequestLimitExceeded, match="more than 10000 characters"):
        value({"list_join": ["", [{"get_param": "p"}] * 50]}, source, p=small)


def test_values_that_are_compared_one_by_one_cost(bound: Callable[..., None]) -> None:
    bound(max_value_size=20_000)
    items = [{"a": n} for n in range(100)]
    source = "parameters: {p: {type: json}}"
    for call in ({"filter": [{"get_param": "p"}] * 2}, {"list_concat_unique": [{"get_param": "p"}]}):
        with pytest.raises(exception.RequestLimitExceeded, match="exceeds the maximum size"):
            value(call, source, p=items)
    assert value({"filter": [["a", {"b": 1}], ["a", {"b": 1}, "c", {"b": 2}]]}) == ["c", {"b": 2}]


P, TEXT, MAP = {"get_param": "p"}, {"get_param": "t"}, {"get_param": "m"}


@pytest.mark.parametrize(
    "call",
    [
        *({"contains": ["x", P]}, {"contains": ["y", TEXT]}),
        *({"filter": [["b"], P]}, {"filter": [P, ["b"]]}),
        *({"equals": [[P, 1], [{"get_param": "q"}, 1]]}, {"equals": [{"a": P}, {"a": {"get_param": "q"}}]}),
        *({"map_replace": [MAP, {}]}, {"map_merge": [{"a": P}]}),
        *({"digest": ["md5", TEXT]}, {"make_url": {"host": "h", "path": TEXT}}),
        {"str_replace": {"template": "", "params": {"x": P}}},
    ],
    ids=repr,
)
def test_what_functions_look_at_is_charged_too(call: Any) -> None:
    def spent_on(count: int) -> int:
        given = {
            "p": ["a"] * count,
            "q": ["a"] * count,
            "t": ",".join(["a"] * count),
            "m": {str(n): n for n in range(count)},
        }
        source = "parameters: {p: {type: json}, q: {type: json}, t: {type: string}, m: {type: json}}"
        with limits.request() as spent:
            value(
                {"list_join": ["", [{"digest": ["md5", {"str_replace": {"template": "", "params": {"x": call}}}]}]]},
                source,
                **given,
            )
        return spent.size

    assert spent_on(10_000) > spent_on(100) + 300


def test_allowed_values_of_a_list(bound: Callable[..., None]) -> None:
    """Not each item with each value."""
    schema = {"type": "comma_delimited_list", "constraints": [{"allowed_values": [*map(str, range(20_000)), ["x"]]}]}
    made = template("")
    made.t["parameters"] = {"p": schema}
    check = made.param_schemata()["p"].validate_value
    with limits.request() as spent:
        check(["19999"] * 20_000)
        check([["x"], "1"])
        for wrong in (["20000"], [["y"]], [{"x": 1}]):
            with pytest.raises(exception.StackValidationFailed, match="is not an allowed value"):
                check(wrong)
    assert 100_000 < spent.size < 500_000


def test_constraints_of_a_list_are_charged_one_by_one(bound: Callable[..., None]) -> None:
    schema = {"type": "comma_delimited_list", "constraints": [{"allowed_values": ["a"]}] * 50}
    made = template("")
    made.t["parameters"] = {"p": schema}
    bound(max_total_size=1000)
    with limits.request(), pytest.raises(exception.RequestLimitExceeded):
        made.param_schemata()["p"].validate_value(["a"] * 10)


def test_recursion_ends_in_a_client_error() -> None:
    deep: Any = {"get_param": "p"}
    for _level in range(2000):
        deep = nodes.ListNode([deep], 0)
    with pytest.raises(exception.RequestLimitExceeded, match="nested too deeply"):
        nodes.resolve(deep, stack(""))


def test_conditions_that_hang_on_each_other(bound: Callable[..., None]) -> None:
    def chain(length: int) -> Any:
        made = template("")
        made.t["conditions"] = {"c%d" % n: {"not": "c%d" % (n + 1)} for n in range(length)} | {"c%d" % length: True}
        from openkeel_heat.template.scope import StackDefinition

        return StackDefinition(made).conditions

    assert chain(90).is_enabled("c0") is True
    with pytest.raises(exception.RequestLimitExceeded, match="Too many conditions"):
        chain(150).is_enabled("c0")


def test_a_tree_of_nested_stacks() -> None:
    limits.charge_tree("a", 10**9, 10)  # nobody asked, so nobody counts
    with limits.request():
        limits.charge_tree("a", 6, 10)
        limits.charge_tree("a", 7, 10)  # the same one again
        limits.charge_tree("b", 3, 10)
        with pytest.raises(exception.RequestLimitExceeded, match="Maximum resources per stack"):
            limits.charge_tree("c", 1, 10)
    with limits.request(), pytest.raises(exception.RequestLimitExceeded):
        for number in range(20_000):
            limits.charge_tree(str(number), 1, None)


class TestExpressions:
    def test_all_of_a_request(self, bound: Callable[..., None]) -> None:
        bound(yaql_seconds=0.1, yaql_total_seconds=0.15)
        burn = {"yaql": {"expression": '"%sb" =~ "(a+)+$"' % ("a" * 40)}}
        with limits.request():
            for _time in range(2):
                with pytest.raises(ValueError, match="takes more than 0"):
                    value(burn)
            with pytest.raises(exception.RequestLimitExceeded, match="take more than 0.15 seconds"):
                value(burn)
        assert limits.seconds_left() == 0.1

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("set(3, 1, 2)", [1, 2, 3]),
            ("dict(a => [1, null, true])", {"a": [1, None, True]}),
            ("[]", []),
            ('"é"', "é"),
            ("1.5", 1.5),
            ("range(3).select($)", [0, 1, 2]),
        ],
    )
    def test_results_are_plain_data(self, expression: str, expected: Any) -> None:
        got = value({"yaql": {"expression": expression}})
        assert (type(got), got) == (type(expected), expected)

    @pytest.mark.parametrize(
        ("expression", "message"),
        [
            ("float(nan)", "JSON cannot hold"),
            ('float("inf")', "JSON cannot hold"),
            ("regex(a)", "holds a Pattern"),
            ('int("%s") * int("%s")' % (("9" * 4000,) * 2), "JSON cannot hold"),
        ],
    )
    def test_results_that_json_cannot_hold(self, expression: str, message: str) -> None:
        with pytest.raises((ValueError, TypeError), match=message):
            value({"yaql": {"expression": expression}})

    def test_no_more_processes_than_allowed(self, bound: Callable[..., None]) -> None:
        bound(yaql_processes=2)
        results: list[Any] = []

        def work(number: int) -> None:
            results.append(sandbox.run("It", "match", "a+", ["a" * number]))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [[number] for number in range(1, 9)]
        assert len(sandbox._pool._idle) <= max(2, sandbox._pool._count)

    def test_a_helper_that_died_is_replaced(self) -> None:
        sandbox.run("It", "match", "a", ["a"])
        for helper in sandbox._pool._idle:
            helper._process.kill()
            helper._process.wait()
        assert sandbox.run("It", "match", "a", ["a"]) == [1]


@pytest.fixture
def no_helper(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    asked: list[Any] = []

    def run(what: str, operation: str, pattern: str, texts: list[str], **_rest: Any) -> Any:
        asked.append(pattern)
        return [None] * len(texts)

    monkeypatch.setattr(sandbox, "run", run)
    yield asked


class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "longest"),
        [
            ("[a-zA-Z0-9]+", 1000),
            (r"([0-9]{1,3}\.){3}[0-9]{1,3}", 15),
            ("[^@]+@[^@]+", 200),
            ("(ab|cd)?x", 1000),
            (r"(?i)^\w+$", 1000),
            ("(?=a)a*", 1000),
            ("a{3}", 1000),
            ("", 1000),
            ("(?:http|https)://.*", 1000),
        ],
    )
    def test_cheap_ones_are_matched_here(self, no_helper: list[Any], pattern: str, longest: int) -> None:
        patterns.match_ends(pattern, ["x" * longest])
        assert no_helper == []

    @pytest.mark.parametrize(
        "pattern",
        [
            "(a+)+$",
            "(a|aa)+$",
            "(a|a)*b",
            "a*a*a*a*b",
            r"(a*)\1b",
            "(.*)(.*)(.*)(.*)x",
            "((a{1,5}){1,5}){1,5}",
            "(?:a?){60}a{60}",
            "(?:(?=a)a|a)*b",
        ],
    )
    def test_others_go_elsewhere(self, no_helper: list[Any], pattern: str) -> None:
        patterns.match_ends(pattern, ["a" * 60])
        assert no_helper == [pattern]

    @pytest.mark.parametrize("pattern", ["a+", "a*?", "(a|b)*", "(?P<x>a)(?P=x)", "a|ab|abc", "(a*)*", ""])
    def test_both_ways_agree(self, pattern: str) -> None:
        texts = ["", "a", "aa", "abc", "b", "x"]
        assert sandbox.run("It", "match", pattern, texts) == patterns.match_ends(pattern, texts)

    def test_the_whole_text(self) -> None:
        assert patterns.matches_whole("a+", "aaa")
        assert not patterns.matches_whole("a+", "aab")
        assert not patterns.matches_whole("a|ab", "ab")  # the first alternative that fits decides, as in Heat

    def test_time_is_bounded(self, bound: Callable[..., None]) -> None:
        bound(yaql_seconds=0.4)
        started = time.monotonic()
        with pytest.raises(ValueError, match=r'Matching the pattern "\(a\+\)\+\$" takes more than 0.1 seconds'):
            patterns.matches_whole("(a+)+$", "a" * 50 + "b")
        assert time.monotonic() - started < 10

    @pytest.mark.parametrize("pattern", ["[", "a{99999999999}", "(" * 4000 + ")" * 4000, "a?" * 9000])
    def test_what_is_no_pattern(self, pattern: str) -> None:
        with pytest.raises(patterns.BadPattern):
            patterns.compiled(pattern)
        with pytest.raises(exception.InvalidSchemaError, match='AllowedPattern ".*" is not valid'):
            constraints.AllowedPattern(pattern)


@pytest.mark.parametrize(
    "registry",
    [
        {"a": "a"},
        {"a": "b", "b": "a"},
        {"a*": "aa*"},
        {"a*": "b*", "b*": "a*"},
        {"x%d" % n: "x%d" % (n + 1) for n in range(99)},
    ],
)
def test_circles_of_the_registry(registry: dict[str, str]) -> None:
    with pytest.raises(exception.StackValidationFailed, match="leads from type"):
        Environment({"resource_registry": registry}).registry.get_class_to_instantiate(
            "x0" if "x0" in registry else "a"
        )


def test_ways_through_the_registry_that_lead_nowhere_are_tried_once() -> None:
    registry = {}
    names = "abcdefghijklmnopqrstuvwxyz"
    for name, other in zip(names, names[1:], strict=False):
        registry[name] = registry[name + "*"] = other
    with pytest.raises(exception.StackValidationFailed, match="could not be found"):
        Environment({"resource_registry": registry}).registry.get_class_to_instantiate("a")


def test_types_of_the_registry_that_double_with_every_step() -> None:
    registry = {}
    for level in range(40):
        here, there = "L%02d" % level, "L%02d" % (level + 1)
        registry |= {here + "*": there + "a*", here + "a*": there + "ba*", here + "b*": there + "bb*"}
    with pytest.raises(exception.StackValidationFailed, match="or through too many others"):
        Environment({"resource_registry": registry}).registry.get_class_to_instantiate("L00a")


def test_long_types_of_the_registry() -> None:
    with pytest.raises(exception.StackValidationFailed, match="or through too many others"):
        Environment({"resource_registry": {"a": "b" * 513}}).registry.get_class_to_instantiate("a")


@pytest.mark.parametrize(
    "registry",
    [
        *({"a": 5}, {"a": ["b"]}, {"resources": "x"}, {"resources": {"r": {"a": 5}}}),
        *({1: "a"}, {None: None}, {"resources": {1: {"a": "b"}}}, {True: {"a": "b"}}),
    ],
)
def test_what_is_no_registry(registry: dict[str, Any]) -> None:
    with pytest.raises(exception.StackValidationFailed, match="has no type or map for|has a name that is no text"):
        Environment({"resource_registry": registry})
