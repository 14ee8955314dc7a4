# SPDX-License-Identifier: Apache-2.0
"""Runs the life-cycle generator of a resource and persists its transitions, each fenced.

The last transition of an action (COMPLETE, which gives the lock back) is held back for a moment, so that it is written
together with what the node tells others: one transaction finishes a resource and hands its result on.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.db import nodes
from openkeel_heat.db.nodes import Write, Written
from openkeel_heat.engine import events, hidden
from openkeel_heat.engine.convergence import writer as writer_module
from openkeel_heat.engine.convergence.writer import Writer
from openkeel_heat.resources.kit.steps import HookPause, Lock, Note, Transition, mark_failed

LOG = logging.getLogger(__name__)

FENCE_TRIES = 8
#: Characters of a reason that any database takes.
SHORT = 1000


class TraversalOver(exceptions.UpdateInProgress):
    """Another traversal is the stack's current one, so nothing new is begun for this one."""


class Cancelled(BaseException):
    """A user cancelled what is going on."""

    def __init__(self) -> None:
        super().__init__("user triggered cancel")


class TimedOut(BaseException):
    """The stack's time is over."""


Driving = Generator[Any, Any, Any]


class Driver:
    """The writes of one visit to one resource. ``current``: begin only under the stack's current traversal."""

    def __init__(self, writer: Writer, engine_id: str, resource: Any, current: bool = True) -> None:
        self._writer = writer
        self._engine_id = engine_id
        self._resource = resource
        self._current = current
        record = resource.record
        self._seen = (record.action, record.status, record.current_template_id, record.replaced_by)

    def drive(self, lifecycle: Any) -> Driving:
        """Sub-generator: run a life cycle to its end; the write that was held back, or None."""
        held: Write | None = None
        error: BaseException | None = None
        while True:
            try:
                step = lifecycle.send(None) if error is None else lifecycle.throw(error)
            except StopIteration:
                return held
            except GeneratorExit:
                raise
            except BaseException:
                if held is not None:
                    yield from self.persist(held)
                raise
            error, over = None, False
            try:
                if held is not None:
                    last, held = held, None
                    yield from self.persist(last)
                if isinstance(step, Transition):
                    write = self.write_for(step)
                    if step.status == "COMPLETE" and step.lock in (Lock.RELEASE, Lock.RESPECT):
                        held = write
                    else:
                        yield from self.persist(write)
                elif isinstance(step, Note):
                    yield from self.persist(self._note(step))
                else:
                    yield step
                    over = isinstance(step, HookPause) and self._over()
            except GeneratorExit:
                lifecycle.close()
                raise
            except TimedOut as exc:
                error = TimedOut(f"Task {self._resource.record.action.lower()} from {self._resource} Timed out")
                error.__cause__ = exc
            except BaseException as exc:
                error = exc
            if over:
                lifecycle.close()
                raise TraversalOver(resource_name=self._resource.name)

    def _over(self) -> bool:
        """Did another traversal begin while this one was waiting for a user? Then nobody may ever clear the hook."""
        return self._current and not self._writer.is_current()

    def write_for(self, step: Transition) -> Write:
        """The fenced write of a transition."""
        resource, record = self._resource, self._resource.record
        values = dict(step.values)
        if "metadata" in values:
            values["rsrc_metadata"] = values.pop("metadata")
        reason = hidden.of(resource.stack).text(str(step.reason))
        values.update(action=step.action, status=step.status, status_reason=reason)
        mine = record.engine_id == self._engine_id
        expected = record.engine_id
        current = False
        if step.lock is Lock.ACQUIRE:
            expected = self._engine_id if mine else None
            values["engine_id"] = self._engine_id
            current = self._current and not mine
        elif step.lock is Lock.RELEASE:
            expected = self._engine_id if mine else None
            values["engine_id"] = None
        elif step.lock is Lock.RESPECT:
            expected = None
            current = self._current
        if step.properties is not None:
            values.pop("rsrc_prop_data_id", None)
        event = None
        if step.event:
            event = events.resource_event(resource, step.action, step.status, step.reason, step.physical_resource_id)
        return Write(
            record.id,
            expected,
            record.atomic_key,
            values,
            current=current,
            properties=step.properties,
            event=event,
            drop_attributes=record.attr_data_id if step.clear_attributes else None,
            data=step.data,
        )

    def _note(self, step: Note) -> Write:
        event = events.resource_event(self._resource, step.action, step.status, step.reason, step.physical_resource_id)
        return Write(self._resource.record.id, event=event, data=step.data)

    def persist(self, write: Write) -> Driving:
        """Sub-generator: write, or raise UpdateInProgress (the row is not ours) or TraversalOver."""
        for _attempt in range(FENCE_TRIES):
            answer, thrown = yield from writer_module.ask(self._writer, write)
            if answer.ok:
                self._written(write, answer)
                if thrown is not None:
                    raise thrown
                return
            if thrown is not None:
                raise thrown
            if answer.why == "traversal" or answer.why == "template":
                raise TraversalOver(resource_name=self._resource.name)
            if not self._try_again(write):
                break
        LOG.info("Resource %s is locked or changed by somebody else", self._resource)
        raise exceptions.UpdateInProgress(resource_name=self._resource.name)

    def holds(self) -> bool:
        """Is the lock still ours, as far as is known here?"""
        return bool(self._resource.record.engine_id == self._engine_id)

    def surrender(self, error: Exception) -> Driving:
        """Sub-generator: the database does not take what had to be written; the resource is FAILED and free.

        The failure is returned. If its physical id is what is not taken, nothing but the state is written.
        """
        resource, record = self._resource, self._resource.record
        failure = exceptions.ResourceFailure(error, resource, resource.action)
        full = self.write_for(mark_failed(resource, resource.action, str(failure)))
        bare = Write(
            record.id,
            full.engine_id,
            full.atomic_key,
            {
                "engine_id": None,
                "action": record.action,
                "status": "FAILED",
                "status_reason": str(full.values["status_reason"])[:SHORT] if full.values else "",
            },
        )
        for write in (full, bare):
            try:
                yield from self.persist(write)
                break
            except exceptions.UpdateInProgress:
                break  # somebody else has it
            except Exception as exc:
                LOG.warning("The failure of %s could not be written: %s", resource, exc)
        return failure

    def _try_again(self, write: Write) -> bool:
        """A signal or a change of metadata counts ``atomic_key`` up without touching what the write is about."""
        row = nodes.lock_state(write.resource_id)
        if row is None or row.engine_id != write.engine_id:
            return False
        if write.engine_id is None and (row.action, row.status, row.current_template_id, row.replaced_by) != self._seen:
            return False
        write.atomic_key = row.atomic_key
        self._replaces(write, row.replaces)
        self._attributes(write, row.attr_data_id)
        return True

    def _replaces(self, write: Write, replaces: int | None) -> None:
        """What the resource replaced may have gone meanwhile."""
        self._resource.record.replaces = replaces
        if write.values is not None and "replaces" in write.values:
            write.values["replaces"] = replaces

    def _attributes(self, write: Write, attr_data_id: int | None) -> None:
        """A reader may have stored attribute values meanwhile: they are what the write makes out of date."""
        record = self._resource.record
        if attr_data_id == record.attr_data_id:
            return
        record.attr_data_id = attr_data_id
        begins = (write.values or {}).get("status", "COMPLETE") != "COMPLETE"
        if begins or write.drop_attributes is not None or write.attributes is not None:
            write.drop_attributes = attr_data_id

    def _written(self, write: Write, answer: Written) -> None:
        record = self._resource.record
        values = write.values
        if values is not None:
            record.atomic_key = answer.atomic_key
            record.engine_id = values.get("engine_id", write.engine_id)
            self._seen = (
                values.get("action", self._seen[0]),
                values.get("status", self._seen[1]),
                values.get("current_template_id", self._seen[2]),
                values.get("replaced_by", self._seen[3]),
            )
        if answer.properties_id is not None:
            record.rsrc_prop_data_id = answer.properties_id
        if answer.attributes_id is not None:
            record.attr_data_id = answer.attributes_id
        elif write.drop_attributes is not None and write.drop_attributes == record.attr_data_id:
            record.attr_data_id = None
        if answer.event is not None:
            events.announce(self._resource.context, self._resource.stack, [answer.event])
