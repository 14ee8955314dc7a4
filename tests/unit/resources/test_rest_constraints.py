# SPDX-License-Identifier: Apache-2.0
"""Constraints that ask a service: how often, and for whom an answer is good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import cache, once
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint
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
