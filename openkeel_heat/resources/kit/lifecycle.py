# SPDX-License-Identifier: Apache-2.0
"""The life cycle of a resource, as generators that hold no thread.

Each action of a resource is one generator. It runs plugin code, changes
``resource.record`` in memory and yields steps to its driver (the engine):

``Transition``
    a new state. The driver writes ``step.values`` (and ``step.properties``)
    to the row, fenced by engine id and atomic key, together with the event if
    ``step.event``; then continues. ``step.lock`` says whether the row's lock is
    taken, given back or only respected by this very write. If the row is no
    longer ours the driver throws ``UpdateInProgress`` into the generator.
``Note``
    an event without a change of the row.
``Pause``
    come back in ``seconds``, or earlier when ``wake_on`` is woken. The first
    poll is at once, then 50 ms, growing up to the poll interval of the type.
``HookPause``
    a ``Pause`` until a break point is cleared.

The generator ends normally, or raises ``UpdateReplace`` (a replacement is needed),
``ResourceFailure`` (the row is already in its FAILED state), or whatever the
driver threw in. Thrown ``BaseException`` that are no ``Exception`` (cancellation,
timeout) run ``handle_<action>_cancel`` and leave ``<ACTION> aborted (text)`` as
reason of the FAILED state; the step that says so is what ``throw()`` returns, and
the next ``send`` raises the exception again. ``close()`` writes nothing: the row
stays IN_PROGRESS for the engine that takes it over.

Resuming after the death of an engine
-------------------------------------
A row found IN_PROGRESS under a dead engine is given to :func:`resume_action`,
which answers a generator or raises :class:`CannotResume` (the caller then fails
the resource so that the next traversal replaces it). A physical object is never made twice:

* DELETE, CHECK, SUSPEND, RESUME, SNAPSHOT are run again from the start: their
  handlers find what is already done.
* CREATE (and ADOPT): with a physical id stored, polling goes on where it stopped:
  ``check_create_complete`` is called with ``resource.handler_data_on_resume('CREATE')``
  (the physical id unless the type says otherwise). Without one,
  ``resource.find_physical()`` looks for an object of the deterministic physical name
  (derived from the row's uuid). Types with ``repeatable_create`` have a
  ``handle_create`` that may simply run again. Everything else cannot be resumed.
* UPDATE: types with ``repeatable_update`` run the whole update again: stored
  properties are still those of before, so the difference is computed anew.
"""
from __future__ import annotations

import dataclasses
import enum
from collections.abc import Generator, Hashable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

FIRST_PAUSE = 0.05


class Lock(enum.Enum):
    """What a transition does with the lock on the row."""

    NONE = 'none'          # write whatever the lock is
    ACQUIRE = 'acquire'    # engine_id must be NULL, becomes ours
    RELEASE = 'release'    # engine_id must be ours, becomes NULL
    RESPECT = 'respect'    # engine_id must be NULL, stays NULL


@dataclasses.dataclass
class Transition:
    """A state to be written. ``values`` are columns of the row, by the record's names."""

    action: str
    status: str
    reason: str
    lock: Lock = Lock.NONE
    event: bool = True
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    # New stored properties to be saved (the driver sets record.rsrc_prop_data_id),
    # or None: what rsrc_prop_data_id names is still right.
    properties: dict[str, Any] | None = None
    # For the event: the physical id, or the physical name while there is none.
    physical_resource_id: str | None = None
    # Stored attribute values are stale from here on.
    clear_attributes: bool = False


@dataclasses.dataclass
class Note:
    """An event that goes with no change of the row."""

    action: str
    status: str
    reason: str
    physical_resource_id: str | None = None


@dataclasses.dataclass
class Pause:
    """Nothing to do for that many seconds."""

    seconds: float
    wake_on: Hashable | None = None


@dataclasses.dataclass
class HookPause(Pause):
    """Waiting until a user clears a break point; looked at again after ``seconds``."""

    hook: str = ''


Step = Transition | Note | Pause
Lifecycle = Generator[Step, Any, None]


class CannotResume(Exception):
    """The plugin cannot tell the state of its object: fail it, so that it is replaced."""


def create(resource: Resource) -> Lifecycle:
    """Create the resource. The driver has set requires and current_template_id."""
    raise NotImplementedError


def adopt(resource: Resource, resource_data: Mapping[str, Any] | None) -> Lifecycle:
    """Take over an existing physical object (``resource_data`` from the adopt data)."""
    raise NotImplementedError


def update(resource: Resource, after: Any, before: Any = None, *,
           new_template_id: int | None = None,
           new_requires: set[int] | None = None) -> Lifecycle:
    """Update in place to the bound definition ``after``, or raise ``UpdateReplace``.

    ``before`` defaults to ``resource.frozen_definition()``.
    """
    raise NotImplementedError


def delete(resource: Resource) -> Lifecycle:
    """Delete as the deletion policy says. The row itself is removed by the driver."""
    raise NotImplementedError


def check(resource: Resource) -> Lifecycle:
    """Compare the physical object with what is expected of it."""
    raise NotImplementedError


def suspend(resource: Resource) -> Lifecycle:
    """Suspend."""
    raise NotImplementedError


def resume(resource: Resource) -> Lifecycle:
    """Resume after a suspend."""
    raise NotImplementedError


def snapshot(resource: Resource, snapshot_id: str | None = None) -> Lifecycle:
    """Snapshot, then store the snapshot data of the resource under ``snapshot_id``."""
    raise NotImplementedError


def delete_snapshot(resource: Resource, data: Mapping[str, Any]) -> Lifecycle:
    """Delete what a snapshot made (``data``: as in the resource_snapshot row)."""
    raise NotImplementedError


def resume_action(resource: Resource, after: Any = None, *,
                  new_template_id: int | None = None,
                  new_requires: set[int] | None = None) -> Lifecycle:
    """Go on with the action that ``resource.record`` shows IN_PROGRESS, or raise CannotResume.

    ``after`` and what follows are needed for UPDATE only.
    """
    raise NotImplementedError


def mark_failed(resource: Resource, action: str, reason: str, lock: Lock = Lock.RELEASE) -> Transition:
    """The transition that fails a resource from outside (lost engine, timeout)."""
    raise NotImplementedError
