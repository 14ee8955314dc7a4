# SPDX-License-Identifier: Apache-2.0
"""Functions beyond the recorded vectors: bounds, and details that templates rest on."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.common import exceptions as exception
from openkeel_heat.template import limits, nodes, sandbox
from openkeel_heat.template.definition import BoundDefinition
from openkeel_heat.template.scope import StackDefinition
from tests.unit.template.helpers import node, template, value


@pytest.fixture
def small_results() -> Iterator[None]:
    before = limits.current()
    limits.configure(dataclasses.replace(before, max_value_size=1000))
    yield
    limits.configure(before)


def test_replaced_text_is_not_looked_at_again() -> None:
    call = {"str_replace": {"template": "a b", "params": {"a": "b", "b": "a"}}}
    assert value(call) == "b a"


def test_longer_placeholders_come_first() -> None:
    call = {"str_replace": {"template": "name name2", "params": {"name": "x", "name2": "y"}}}
    assert value(call) == "x y"


@pytest.mark.usefixtures("small_results")
@pytest.mark.parametrize(
    "call",
    [
        {"str_replace": {"template": "a" * 100, "params": {"a": "b" * 100}}},
        {"list_join": ["x" * 100, ["a"] * 100]},
        {"repeat": {"template": "a-b-c", "for_each": {"a": ["1"] * 20, "b": ["2"] * 20, "c": ["3"] * 20}}},
    ],
)
def test_results_are_bounded(call: Any) -> None:
    with pytest.raises(exception.RequestLimitExceeded, match="exceeds the maximum size"):
        value(call)


def test_repeat_replaces_in_keys_too() -> None:
    call = {"repeat": {"template": {"%p%": "port-%p%"}, "for_each": {"%p%": ["80", "443"]}}}
    assert value(call) == [{"80": "port-80"}, {"443": "port-443"}]


def test_get_attr_asks_for_just_the_path() -> None:
    data = {"r": node("r", **{"x": {"a": [1, 2]}})}
    data["r"]._attributes[("x", "a", 1)] = "part"
    assert value({"get_attr": ["r", "x", "a", 1]}, "resources: {r: {type: X}}", data) == "part"


def test_get_attr_of_a_resource_that_is_not_there_yet_is_none() -> None:
    assert value({"get_attr": ["r", "x"]}, "resources: {r: {type: X}}") is None


def test_get_resource_is_the_name_until_there_is_more() -> None:
    source = "resources: {r: {type: X}}"
    assert value({"get_resource": "r"}, source) == "r"
    assert value({"get_resource": "r"}, source, {"r": node("r")}) == "r-id"


class Parent:
    """The resource that a nested stack stands for."""

    t = BoundDefinition("parent", "X", deletion_policy="Retain", update_policy={"u": 1})

    def metadata_get(self) -> Any:
        return {"m": 1}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("metadata", {"m": 1}),
        ("deletion_policy", "Retain"),
        ("update_policy", {"u": 1}),
    ],
)
def test_parts_of_the_parent_may_be_named_by_a_parameter(part: str, expected: Any) -> None:
    scope = StackDefinition(template("parameters: {p: {type: string}}", p=part), parent_resource=Parent())
    for call in ({"resource_facade": part}, {"resource_facade": {"get_param": "p"}}):
        assert nodes.resolve(scope.t.parse(scope, call)) == expected


def test_an_unknown_part_of_the_parent() -> None:
    for call in ({"resource_facade": "x"}, {"resource_facade": {"get_param": "p"}}):
        with pytest.raises(exception.StackValidationFailed, match="should be one of: metadata, deletion_policy"):
            value(call, "parameters: {p: {type: string}}", p="x")


class TestYaql:
    """Expressions run in a process of their own."""

    def evaluate(self, expression: str, **data: Any) -> Any:
        return value({"yaql": {"expression": expression, "data": data}})

    def test_values(self) -> None:
        assert self.evaluate("$.data.a.select($ * 2)", a=[1, 2]) == [2, 4]

    def test_time_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "_current", dataclasses.replace(limits.current(), yaql_seconds=0.3))
        with pytest.raises(ValueError, match="The yaql expression takes more than 0.3 seconds"):
            self.evaluate('"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" =~ "(a+)+$"')
        # and the next one finds a new process
        monkeypatch.setattr(limits, "_current", dataclasses.replace(limits.current(), yaql_seconds=10))
        assert self.evaluate("1 + 1") == 2

    def test_memory_is_bounded_by_the_quota(self) -> None:
        with pytest.raises(sandbox.SandboxError, match="consumed too much memory"):
            self.evaluate("$.data.a" + '.replace("a", "aaaaaaaaaa")' * 12, a="a")

    def test_memory_is_bounded_where_the_quota_does_not_see_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "_current", dataclasses.replace(limits.current(), yaql_memory_quota=10**15))
        with pytest.raises(ValueError, match="uses too much memory"):
            self.evaluate("$.data.a" + '.replace("a", "aaaaaaaaaa")' * 12, a="a")

    def test_the_library_stays_out_of_this_process(self) -> None:
        import sys

        self.evaluate("1")
        assert "yaql" not in {name.partition(".")[0] for name in sys.modules}

    def test_threads_share_the_process(self) -> None:
        results: list[int] = []

        def work(number: int) -> None:
            results.append(self.evaluate("$.data.n + 1", n=number))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == list(range(1, 9))

    def test_a_child_process_gets_its_own(self) -> None:
        self.evaluate("1")
        before = {helper.pid for helper in sandbox._pool._idle}
        pid = os.fork()
        if pid == 0:
            try:
                same = self.evaluate("2") == 2
                mine = sandbox._pool._idle
                for helper in mine:
                    helper.kill()
                os._exit(0 if same and not before & {helper.pid for helper in mine} else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert self.evaluate("3") == 3
