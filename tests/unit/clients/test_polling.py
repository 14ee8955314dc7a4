# SPDX-License-Identifier: Apache-2.0
"""Objects that are waited for together: what lists tell, what they cannot tell, and when they cannot be had."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from openkeel_heat.clients import patience, polling
from openkeel_heat.clients.polling import Group, Listed


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(polling, "time", made)
    return made


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    polling.reset()
    yield
    polling.reset()


class Service:
    """Objects, what was asked for, and what the next list does."""

    def __init__(self, *ids: str) -> None:
        self.objects = {id_: {"id": id_} for id_ in ids}
        self.shown: list[str] = []
        self.lists = 0
        self.error: Exception | None = None
        self.complete = True

    def show(self, id_: str) -> dict[str, Any]:
        self.shown.append(id_)
        if id_ not in self.objects:
            raise LookupError(id_)
        return self.objects[id_]

    def list(self, ids: list[str]) -> Listed:
        self.lists += 1
        if self.error is not None:
            raise self.error
        return Listed(self.objects, self.complete)

    def observe(self, group: Group, id_: str, leaving: bool = False) -> Any:
        def gone() -> Exception:
            return LookupError(f"{id_} is gone")

        return group.observe(id_, lambda: self.show(id_), self.list, gone, everything=True, leaving=leaving)


def waited_for(service: Service, group: Group, clock: Clock) -> None:
    """All objects were looked at once."""
    for id_ in list(service.objects):
        service.observe(group, id_)
    clock.now += 1


def test_one_bad_object_over_which_lists_break_down_does_not_stop_the_others(clock: Clock) -> None:
    """Each is shown, and lists are asked for again after a while."""
    group, service = Group(), Service("a", "b", "c", "d")
    waited_for(service, group, clock)
    service.error, service.lists, service.shown = RuntimeError("HTTP 500"), 0, []
    for _poll in range(3):
        for id_ in "abcd":
            assert service.observe(group, id_) == {"id": id_}
        clock.now += 1
    assert service.lists == 1 and service.shown == list("abcd") * 3
    service.error, service.shown = None, []
    clock.now += polling.NO_LISTS
    for id_ in "abcd":
        service.observe(group, id_)
    clock.now += 1
    for id_ in "abcd":
        service.observe(group, id_)
    assert service.lists >= 2


def test_a_list_that_is_to_be_asked_for_later_is_not_broken(clock: Clock) -> None:
    group, service = Group(), Service("a", "b", "c")
    waited_for(service, group, clock)
    service.shown, service.error = [], RuntimeError("HTTP 503")
    service.error.again_in = 3.0  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="HTTP 503"):
        service.observe(group, "a")
    assert service.shown == []


def test_who_waits_for_a_list_that_takes_long_does_not_look_ever_more_often(clock: Clock) -> None:
    group, service = Group(), Service("a", "b", "c", "d")
    waited_for(service, group, clock)
    asked, answer = threading.Event(), threading.Event()

    def slowly(ids: list[str]) -> Listed:
        asked.set()
        answer.wait(10)
        return Listed(service.objects, True)

    lists, service.list = service.list, slowly  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as other:
        first = other.submit(service.observe, group, "a")
        assert asked.wait(10)
        pauses = []
        for _look in range(6):
            for id_ in "bcd":
                with patience.may_pause(), pytest.raises(patience.ComeBack) as come_back:
                    service.observe(group, id_)
            pauses.append(come_back.value.again_in)
            clock.now += 1
        answer.set()
        assert first.result(10) == {"id": "a"}
    service.list = lists  # type: ignore[method-assign]
    assert pauses == sorted(pauses) and pauses[0] < 0.1 and pauses[-1] == polling.LONGEST_PAUSE


def test_what_was_in_no_list_yet_is_shown_before_it_is_gone(clock: Clock) -> None:
    """A list may be late to have what was just made."""
    group, service = Group(), Service("a", "b", "c")
    waited_for(service, group, clock)
    shown = {"id": "new"}
    service.show = lambda id_: shown  # type: ignore[method-assign]
    for _poll in range(2):
        assert service.observe(group, "new") is shown
        clock.now += 1
    with pytest.raises(LookupError, match="new is gone"):
        service.observe(group, "new", leaving=True)


def test_what_was_in_a_list_and_is_no_longer_is_gone(clock: Clock) -> None:
    group, service = Group(), Service("a", "b", "c")
    waited_for(service, group, clock)
    for id_ in "abc":
        service.observe(group, id_)
    clock.now += 1
    del service.objects["a"]
    service.shown = []
    with pytest.raises(LookupError, match="a is gone"):
        service.observe(group, "a")
    assert service.shown == []


def test_a_list_that_leaves_some_out_says_of_none_that_it_is_gone(clock: Clock) -> None:
    group, service = Group(), Service("a", "b", "c")
    waited_for(service, group, clock)
    for id_ in "abc":
        service.observe(group, id_)
    clock.now += 1
    service.complete = False
    first = service.objects.pop("a")
    service.show = lambda id_: first  # type: ignore[method-assign]
    for leaving in (False, True):
        assert service.observe(group, "a", leaving) is first
        clock.now += 1


def test_a_change_of_an_id_with_letters_that_are_quoted_is_known() -> None:
    polling.changed("/widgets/a%2Fb?force=1")
    assert polling.changed_at("a/b") > 0 and polling.changed_at("a%2Fb") == 0


def test_many_threads_that_look_at_the_same_time_are_given_few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    group, ids = Group(), [f"w{number}" for number in range(20)]
    service = Service(*ids)
    with ThreadPoolExecutor(20) as threads:
        for _round in range(5):
            found = list(threads.map(lambda id_: service.observe(group, id_), ids))
            assert [one["id"] for one in found] == ids
    assert service.lists <= 2
