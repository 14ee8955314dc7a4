# SPDX-License-Identifier: Apache-2.0
"""Tasks as plug-ins run them, and functions as plug-ins write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.compat import function, scheduler


def steps(count: int, seen: list[int]) -> Iterator[None]:
    for number in range(count):
        seen.append(number)
        yield


def test_steps() -> None:
    seen: list[int] = []
    runner = scheduler.TaskRunner(steps, 2, seen)
    assert not runner.started()
    runner.start()
    assert (seen, bool(runner)) == ([0], True)
    assert runner.step() is False
    assert runner.step() is True
    assert (runner.done(), bool(runner), seen) == (True, False, [0, 1])


def test_all_at_once_and_plain_functions() -> None:
    seen: list[int] = []
    scheduler.TaskRunner(steps, 3, seen)(wait_time=None)
    assert seen == [0, 1, 2]
    scheduler.TaskRunner(seen.append, 9)()
    assert seen[-1] == 9
    list(scheduler.TaskRunner(steps, 2, seen).as_task())
    assert seen[-2:] == [0, 1]


def test_timeout_and_cancel() -> None:
    seen: list[int] = []
    runner = scheduler.TaskRunner(steps, 5, seen)
    with pytest.raises(scheduler.Timeout):
        runner(wait_time=None, timeout=-1)
    other = scheduler.TaskRunner(steps, 5, seen)
    other.start()
    other.cancel()
    assert other.done()


def test_wrapped_tasks() -> None:
    seen: list[Any] = []

    def failing() -> Iterator[None]:
        yield
        raise ValueError("inner")

    @scheduler.wrappertask
    def parent() -> Iterator[Any]:
        yield steps(2, seen)
        try:
            yield failing()
        except ValueError as error:
            seen.append(str(error))
        yield

    assert len(list(parent())) == 4
    assert seen == [0, 1, "inner"]


class Upper(function.Function):
    def result(self) -> Any:
        return str(function.resolve(self.args)).upper()


def test_functions() -> None:
    made = Upper(None, "upper", "text")
    assert made == "TEXT"
    assert made.stack is None
    assert "TEXT" in repr(made)
    made.validate()
    assert list(made.dependencies("p")) == []
