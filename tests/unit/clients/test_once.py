# SPDX-License-Identifier: Apache-2.0
"""What one operation asks once, also when all its resources ask at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from openkeel_heat.clients import once as asking
from openkeel_heat.clients.once import once, shared


@pytest.fixture(autouse=True)
def nothing_is_known() -> Iterator[None]:
    asking.reset()
    yield
    asking.reset()


OPERATION = SimpleNamespace(request_id="req-1", project_id="p", user_id="u")


def test_who_wants_what_another_is_asking_for_gets_that_answer() -> None:
    asked: list[str] = []
    may_answer, answers = threading.Event(), []

    def slowly() -> str:
        asked.append("asked")
        may_answer.wait(10)
        return "answer"

    threads = [threading.Thread(target=lambda: answers.append(once(OPERATION, "k", slowly))) for _ in range(5)]
    for thread in threads:
        thread.start()
    may_answer.set()
    for thread in threads:
        thread.join(10)
    assert answers == ["answer"] * 5 and asked == ["asked"]


def test_an_error_is_its_own_and_the_next_asks_for_itself() -> None:
    with pytest.raises(LookupError):
        once(OPERATION, "k", lambda: {}["absent"])
    assert once(OPERATION, "k", lambda: "found") == "found"


def test_who_waited_for_an_error_asks_for_itself() -> None:
    begun, may_fail, found = threading.Event(), threading.Event(), []

    def fails() -> str:
        begun.set()
        may_fail.wait(10)
        raise LookupError

    def first() -> None:
        with pytest.raises(LookupError):
            once(OPERATION, "k", fails)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    begun.wait(10)
    threads.append(threading.Thread(target=lambda: found.append(once(OPERATION, "k", lambda: "found"))))
    threads[1].start()
    may_fail.set()
    for thread in threads:
        thread.join(10)
    assert found == ["found"]


def test_an_answer_that_needs_itself_does_not_wait_for_itself() -> None:
    assert once(OPERATION, "k", lambda: once(OPERATION, "k", lambda: "inner") + "!") == "inner!"


def test_another_operation_asks_anew_but_not_for_what_is_shared() -> None:
    other = SimpleNamespace(request_id="req-2", project_id="p", user_id="u")
    assert [once(one, "k", lambda one=one: one.request_id) for one in (OPERATION, other)] == ["req-1", "req-2"]
    assert [shared("k", lambda number=number: number) for number in (1, 2)] == [1, 1]
