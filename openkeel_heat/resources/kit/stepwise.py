# SPDX-License-Identifier: Apache-2.0
"""Long handlers written as generators, so that their order can be read and yet nobody waits in them.

A handler that has several things to wait for, one after the other, is a generator that yields ``None`` ("look again")
or a number of seconds ("not before"). It is driven in one of three ways:

* ``check_<action>_complete`` advances a :class:`Stepwise` at each poll;
* ``handle_signal`` gives it to the engine, as :func:`pauses`;
* :func:`run` takes all steps at once, for plugins that call such a method and expect it to be done afterwards.

A generator is closed when the engine stops, and must not write anything then: another engine goes on. So it lets
``GeneratorExit`` pass, and does what is due after a failure in ``except BaseException``, not in ``finally``.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from openkeel_heat.common import clock
from openkeel_heat.resources.kit.steps import Pause

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

Steps = Generator[float | None, None, None]

FIRST_PAUSE, PAUSE_FACTOR = 0.05, 2.0


class Stepwise:
    """A generator that polls of a resource advance."""

    def __init__(self, resource: Resource, steps: Steps) -> None:
        self._resource = resource
        self._steps = steps
        self.done = False
        self.advance()

    def advance(self) -> bool:
        """Take one step; True when there are no more."""
        if not self.done:
            try:
                self._resource.poll_after = next(self._steps)
            except StopIteration:
                self.done = True
        return self.done

    def interrupt(self, error: BaseException) -> None:
        """Let the generator do what it does after this error; it ends in any case."""
        if self.done:
            return
        self.done = True
        try:
            self._steps.throw(error)
        except BaseException as raised:
            if raised is not error and not isinstance(raised, StopIteration):
                raise
        finally:
            self._steps.close()


def rest(seconds: float) -> Steps:
    """Wait that long, even if somebody wakes the resource."""
    end = clock.monotonic() + seconds
    while (left := end - clock.monotonic()) > 0:
        yield left


def pauses(resource: Resource, steps: Steps) -> Generator[Pause, None, None]:
    """The steps as pauses for the engine: from short to the poll interval of the type, or as long as a step says."""
    pause = FIRST_PAUSE
    for seconds in steps:
        yield Pause(pause if seconds is None else seconds, resource.wake_key())
        pause = min(pause * PAUSE_FACTOR, resource.poll_interval)


def run(resource: Resource, steps: Generator[Any, None, Any]) -> Any:
    """Take all steps in this thread; the answer is what the generator returns."""
    pause = FIRST_PAUSE
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return end.value
        seconds = pause if step is None else getattr(step, "seconds", step)
        pause = min(pause * PAUSE_FACTOR, resource.poll_interval)
        time.sleep(seconds)
