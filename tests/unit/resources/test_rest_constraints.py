# SPDX-License-Identifier: Apache-2.0
"""Constraints that ask a service: how often, and for whom an answer is good."""

from __future__ import annotations

import contextlib
import copy
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from openkeel_heat.clients import cache, once
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint
from openkeel_heat.template import constraints
from tests.unit.conftest import Option


class Plugin:
    def __init__(self) -> None:
        self.there = {"a"}
        self.asked: list[str] = []

    def get_thing(self, value: str) -> str:
        self.asked.append(value)
        if value not in self.there:
            raise exceptions.EntityNotFound(entity="Thing", name=value)
        return value


class Context:
    user_id = "user"
    region_name = "RegionOne"
    auth_url = "http://here"

    def __init__(self, plugin: Plugin, request: str, project: str = "p") -> None:
        self.request_id, self.project_id = request, project
        self.clients: Any = type("Clients", (), {"client_plugin": lambda _self, name: plugin})()


class ThingConstraint(BaseCustomConstraint):
    resource_client_name = "thing"
    resource_getter_name = "get_thing"


@pytest.fixture
def plugin(option: Option) -> Iterator[Plugin]:
    once.reset()
    yield Plugin()
    once.reset()


def test_a_value_is_asked_for_once_in_an_operation(plugin: Plugin) -> None:
    check = ThingConstraint()
    for request in ("r1", "r1", "r1", "r2"):
        assert check.validate("a", Context(plugin, request))
    assert plugin.asked == ["a", "a"]


def test_what_was_not_there_is_asked_for_again(plugin: Plugin) -> None:
    check, context = ThingConstraint(), Context(plugin, "r1")
    assert not check.validate("b", context)
    assert check.error("b") == "Error validating value 'b': The Thing (b) could not be found."
    plugin.there.add("b")
    assert check.validate("b", context)
    assert plugin.asked == ["b", "b"]


@pytest.mark.parametrize(("other", "asked"), [("p", 1), ("q", 2)])
def test_the_configured_cache_is_apart_by_project(plugin: Plugin, option: Option, other: str, asked: int) -> None:
    option("enabled", True, "cache")
    option("backend", "dogpile.cache.memory", "cache")
    option("caching", True, "constraint_validation_cache")
    cache.get_cache_region.cache_clear()
    try:
        assert ThingConstraint().validate("a", Context(plugin, "r1", "p"))
        assert ThingConstraint().validate("a", Context(plugin, "r2", other))
    finally:
        cache.get_cache_region.cache_clear()
    assert len(plugin.asked) == asked


def test_answers_are_remembered_for_a_minute(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(once.time, "monotonic", lambda: now[0])
    for moment in (1.0, 2.0, 3.0 + once.SECONDS):
        now[0] = moment
        ThingConstraint().validate("a", Context(plugin, "r1"))
    assert len(plugin.asked) == 2


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, plugin: Plugin) -> None:
    monkeypatch.setattr(once, "LIMIT", 2)
    made: list[int] = []
    for number in (1, 2, 3, 1):
        once.once(Context(plugin, "r"), number, lambda number=number: made.append(number) or number)  # type: ignore[misc]
    assert made == [1, 2, 3, 1]


def test_who_comes_first_at_the_same_time_is_told_what_is_wrong(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schema is shared by the threads of an engine; each is told by the check that it made."""
    turns, second, asking, both = itertools.count(), threading.Event(), threading.Event(), threading.Barrier(2)

    class Slow(ThingConstraint):
        """The second is made while the first is asking, if there is a second."""

        def __init__(self) -> None:
            if next(turns) == 0:
                second.wait(0.5)
            else:
                second.set()
                asking.wait(0.5)

        def validate(self, value: Any, context: Any) -> bool:
            found = super().validate(value, context)
            asking.set()
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.5)
            return found

    monkeypatch.setattr(constraints, "_custom_lookup", lambda name: Slow)
    shared = constraints.CustomConstraint("thing")

    def refused(value: str) -> str:
        with pytest.raises(ValueError) as caught:
            shared.validate(value, context=Context(plugin, value))
        return str(caught.value)

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(refused, ["x", "y"]))
    assert told == [f"Error validating value '{one}': The Thing ({one}) could not be found." for one in "xy"]


class SilentConstraint(BaseCustomConstraint):
    """It says no more than that it is not so."""

    def validate(self, value: Any, context: Any) -> bool:
        return False


def test_what_one_constraint_said_no_other_says(plugin: Plugin) -> None:
    """Not even one that lives where the first one did: its words may be of another user's things."""
    for _number in range(100):
        check: BaseCustomConstraint = ThingConstraint()
        assert not check.validate("secret name", Context(plugin, "r1"))
        del check
        check = SilentConstraint()
        assert not check.validate("b", None)
        assert check.error("b") == "Error validating value 'b'"


def test_a_constraint_that_said_something_can_be_copied(plugin: Plugin) -> None:
    check = ThingConstraint()
    assert not check.validate("b", Context(plugin, "r1"))
    assert "could not be found" in copy.deepcopy(check).error("b")


def test_what_is_there_in_one_cloud_is_not_in_another(plugin: Plugin) -> None:
    check = ThingConstraint()
    here, there = Context(plugin, "r1"), Context(plugin, "r1")
    here.auth_url, there.auth_url = "http://here", "http://there"
    assert check.validate("a", here)
    plugin.there.clear()
    assert not check.validate("a", there)
