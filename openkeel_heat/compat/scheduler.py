# SPDX-License-Identifier: Apache-2.0
"""``heat.engine.scheduler``: running a generator step by step, as plug-ins do inside of their handlers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator
from types import GeneratorType
from typing import Any


class Timeout(BaseException):
    """Thrown into a task whose time is up."""

    def __init__(self, task_runner: TaskRunner, timeout: float) -> None:
        super().__init__(f"{task_runner} Timed out")
        self._end = time.monotonic() + timeout

    def expired(self) -> bool:
        return time.monotonic() > self._end


class TaskRunner:
    """A task is a function, or a function that makes a generator; one step is taken at a time.

    ``runner.start()``, then ``runner.step()`` until it answers True; or ``runner()`` for all of it at once.
    """

    def __init__(self, task: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        assert callable(task), "Task is not callable"
        self._task, self._args, self._kwargs = task, args, kwargs
        self.name = getattr(task, "__qualname__", repr(task))
        self._runner: Generator[Any, Any, Any] | None = None
        self._done = False
        self._timeout: Timeout | None = None

    def __str__(self) -> str:
        return f"Task {self.name}"

    def __call__(
        self,
        wait_time: float | None = 1,
        timeout: float | None = None,
        progress_callback: Callable[[], None] | None = None,
    ) -> None:
        self.start(timeout=timeout)
        self.run_to_completion(wait_time, progress_callback)

    def started(self) -> bool:
        return self._runner is not None or self._done

    def done(self) -> bool:
        return self._done

    def __bool__(self) -> bool:
        """Whether there is more to do."""
        return not self._done

    def start(self, timeout: float | None = None) -> None:
        assert not self.started(), "Task has already been started"
        if timeout is not None:
            self._timeout = Timeout(self, timeout)
        result = self._task(*self._args, **self._kwargs)
        if isinstance(result, GeneratorType):
            self._runner = result
            self.step()
        else:
            self._done = True

    def step(self) -> bool:
        """Take one step; True when the task has ended."""
        if not self._done:
            assert self._runner is not None, "Task has not been started"
            try:
                if self._timeout is not None and self._timeout.expired():
                    timeout, self._timeout = self._timeout, None
                    self._runner.throw(timeout)
                else:
                    next(self._runner)
            except StopIteration:
                self._done = True
            except BaseException:
                self._done = True
                raise
        return self._done

    def run_to_completion(
        self, wait_time: float | None = 1, progress_callback: Callable[[], None] | None = None
    ) -> None:
        while not self.step():
            if progress_callback is not None:
                progress_callback()
            if wait_time:
                time.sleep(wait_time)

    def as_task(self, timeout: float | None = None) -> Generator[None, None, None]:
        """The steps of this task within another generator: ``yield from runner.as_task()``."""
        if not self.started():
            self.start(timeout=timeout)
        while not self._done:
            yield
            self.step()

    def cancel(self, grace_period: float | None = None) -> None:
        if self._done:
            return
        if grace_period is not None and self._runner is not None:
            self._timeout = Timeout(self, grace_period)
            return
        if self._runner is not None:
            self._runner.close()
        self._done = True


def wrappertask(task: Callable[..., Any]) -> Callable[..., Generator[Any, Any, Any]]:
    """Let a generator yield other tasks (generators), which then run in its place."""

    @functools.wraps(task)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        parent = task(*args, **kwargs)
        error: BaseException | None = None
        while True:
            try:
                subtask = next(parent) if error is None else parent.throw(error)
            except StopIteration:
                return
            error = None
            try:
                if isinstance(subtask, GeneratorType):
                    yield from subtask
                else:
                    yield subtask
            except GeneratorExit:
                parent.close()
                raise
            except BaseException as raised:
                error = raised

    return wrapper
