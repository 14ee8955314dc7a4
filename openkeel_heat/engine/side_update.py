# SPDX-License-Identifier: Apache-2.0
"""Updating a resource in place on behalf of another one: a group that tells its load balancer of new members.

It is no node of a traversal. The life cycle is that of any update, but its writes are made here, each in a transaction
of its own and fenced as always. While somebody else holds the resource it is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.db import nodes, resources
from openkeel_heat.engine import records
from openkeel_heat.engine.convergence.driver import Driver
from openkeel_heat.engine.operations import runtime
from openkeel_heat.engine.scheduler import Signal
from openkeel_heat.resources.kit import lifecycle

LOG = logging.getLogger(__name__)

HELD_SECONDS = 1.0

Steps = Generator[float | None, None, None]


class _AtOnce:
    """A writer for the convergence driver that has written when it returns."""

    def __init__(self, stack_id: str) -> None:
        self._stack_id = stack_id

    def write(self, write: nodes.Write) -> Signal:
        (answer,), _merged = nodes.apply(self._stack_id, None, [write])
        signal = Signal()
        signal.set(answer)
        return signal


def steps(stack: Any, name: str, change: Callable[[Any], Any]) -> Steps:
    """Update the resource ``name`` to the definition that ``change(resource)`` gives."""
    running = runtime.current()
    assert running is not None, "Updating another resource needs a running engine"
    resource = yield from _free(stack, name)
    driver = Driver(_AtOnce(stack.id), running.engine_id, resource, current=False)  # type: ignore[arg-type]
    try:
        held = yield from _awaited(driver.drive(lifecycle.update(resource, change(resource))))
        if held is not None:
            yield from _awaited(driver.persist(held))
    except GeneratorExit:
        raise
    except BaseException:
        _free_again(running, resource)
        raise
    _free_again(running, resource)


def _free_again(running: Any, resource: Any) -> None:
    """A traversal of the stack may have come to the resource meanwhile, and wait until it is called again."""
    try:
        running.convergence.retrigger(resource.context, resource.stack.id, resource.id)
    except Exception:
        LOG.exception("Who waits for %s was not called", resource)


def _free(stack: Any, name: str) -> Generator[float | None, None, Any]:
    """The resource, with its row as it is when nobody holds it."""
    if name not in stack:
        raise exceptions.ResourceNotFound(resource_name=name, stack_name=stack.name)
    while True:
        row = records.by_name(resources.list_by_name(stack.id, name, data=True)).get(name)
        if row is None:
            raise exceptions.ResourceNotAvailable(resource_name=name)
        if row.engine_id is None:
            return records.load(stack.make_resource(name), row)
        yield HELD_SECONDS


def _awaited(driving: Generator[Any, Any, Any]) -> Generator[float | None, None, Any]:
    """The pauses of a driven life cycle; its writes are answered at once."""
    answer: Any = None
    while True:
        try:
            step = driving.send(answer)
        except StopIteration as end:
            return end.value
        answer = None
        if isinstance(step, Signal):
            answer = step.value
        else:
            yield getattr(step, "seconds", step)
