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
    an event without a change of the row, with the resource data that it tells of.
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

A service that says "later" (see :mod:`openkeel_heat.clients.patience`) makes a pause of the
call that met it, which is then made again.

The pieces stand in modules of their own: what all actions share in :mod:`.acting`, break points in
:mod:`.break_points`, the longer actions in :mod:`.updating` and :mod:`.deleting`; what a dead engine left is taken up
again by :mod:`.resuming`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import acting, break_points
from openkeel_heat.resources.kit.deleting import delete
from openkeel_heat.resources.kit.resuming import CannotResume, resume_action
from openkeel_heat.resources.kit.steps import (
    HookPause,
    Lifecycle,
    Lock,
    Note,
    Pause,
    Step,
    Transition,
    mark_failed,
    transition,
)
from openkeel_heat.resources.kit.updating import update

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

__all__ = [
    "HookPause",
    "Lifecycle",
    "Lock",
    "Note",
    "Pause",
    "Step",
    "Transition",
    "CannotResume",
    "adopt",
    "check",
    "create",
    "created",
    "delete",
    "delete_snapshot",
    "mark_failed",
    "resume",
    "resume_action",
    "snapshot",
    "suspend",
    "transition",
    "update",
]

LOG = logging.getLogger(__name__)


def create(resource: Resource) -> Lifecycle:
    """Create the resource. The driver has set requires and current_template_id."""
    if resource.state != ("INIT", "COMPLETE"):
        raise acting.invalid_state(resource, "CREATE", _("State %s invalid for create"))
    if resource.external_id is not None:
        yield from acting.act(resource, "ADOPT", resource_data={"resource_id": resource.external_id})
        yield from check(resource)
        return
    # A replacement is made during an update, whose break point was passed already.
    creating_stack = resource.stack.action == "CREATE"
    if creating_stack:
        yield from break_points.stop_if_set(resource, "CREATE", "pre-create")
    if resource.record.data is None:
        # Nobody can have written data before there is anything.
        resource.record.data = {}
    LOG.info("creating %s", resource)
    resource.reparse()
    resource._update_stored_properties()
    yield from _create_with_retries(resource)
    if creating_stack:
        yield from break_points.stop_if_set(resource, "CREATE", "post-create")


def created(resource: Resource) -> Lifecycle:
    """What follows a creation, when the engine that made the resource died before it could do it."""
    yield from break_points.stop_if_set(resource, "CREATE", "post-create")


def _create_with_retries(resource: Resource) -> Lifecycle:
    """Create; after a failure that may pass, delete what there is and create again."""
    limit = acting.retry_limit()
    tries = {"CREATE": 0, "DELETE": 0}
    action = "CREATE"
    first_failure: exception.ResourceFailure | None = None
    while max(tries.values()) <= limit:
        pre_func = None
        if tries[action]:
            yield Pause(clock.backoff(tries[action], jitter=2.0))
        elif action == "CREATE":
            pre_func = resource.properties.validate
        try:
            yield from acting.act(resource, action, pre_func)
        except exception.ResourceFailure as failure:
            _raise_if_final(resource, failure)
            tries[action] += 1
            if action == "CREATE":
                action = "DELETE"
                tries["DELETE"] = 0
            first_failure = first_failure or failure
        else:
            if action == "CREATE":
                return
            action = "CREATE"
    if first_failure is not None:
        raise first_failure


def _raise_if_final(resource: Resource, failure: exception.ResourceFailure) -> None:
    """Raise a failure that trying again will not mend."""
    cause = failure.exc
    if isinstance(cause, exception.StackValidationFailed):
        raise exception.ResourceFailure(
            exception.StackValidationFailed(
                error=cause.error, path=[resource.t.name, *cause.path], message=cause.error_message
            ),
            resource,
            failure.action,
        ) from failure
    if not (isinstance(cause, exception.ResourceInError) or _is_conflict_of_its_own(resource, cause)):
        raise failure


def _is_conflict_of_its_own(resource: Resource, cause: BaseException | None) -> bool:
    """What another service refuses on the way is final: a server has no port for want of addresses, or of a quota."""
    if cause is None or getattr(cause, "service", "") not in ("", resource.default_client_name):
        return False
    return bool(resource._default_client_plugin().is_conflict(cause))


def adopt(resource: Resource, resource_data: Mapping[str, Any] | None) -> Lifecycle:
    """Take over an existing physical object (``resource_data`` from the adopt data)."""
    resource._update_stored_properties()
    yield from acting.act(resource, "ADOPT", resource_data=resource_data)


def check(resource: Resource) -> Lifecycle:
    """Compare the physical object with what is expected of it."""
    LOG.info("Checking %s", resource)
    exists = resource.state != ("INIT", "COMPLETE")
    if not hasattr(resource, "handle_check"):
        if exists:
            yield from _check_presence(resource)
        return
    if not exists:
        yield mark_failed(
            resource, "CHECK", _("Can not check %s, resource not created yet.") % resource.name, Lock.NONE
        )
        raise exception.ResourceFailure(Exception(_("Resource %s not created yet.") % resource.name), resource, "CHECK")
    with resource.frozen_properties():
        yield from acting.act(resource, "CHECK")


def _check_presence(resource: Resource) -> Lifecycle:
    """The check of a type that has none: not more than whether the object is there, if the type can tell that."""
    try:
        with resource.frozen_properties():
            resource.verify_presence()
    except Exception as ex:
        failure = exception.ResourceFailure(ex, resource, "CHECK")
        yield mark_failed(resource, "CHECK", str(failure))
        raise failure from ex
    yield transition(resource, "CHECK", "COMPLETE", "CHECK not supported for %s" % resource.type())


def suspend(resource: Resource) -> Lifecycle:
    """Suspend; from a stable state, or after a suspend that failed."""
    if resource.action == "DELETE" or (resource.action != "SUSPEND" and resource.status != "COMPLETE"):
        raise acting.invalid_state(resource, "SUSPEND", _("State %s invalid for suspend"))
    LOG.info("suspending %s", resource)
    with resource.frozen_properties():
        yield from acting.act(resource, "SUSPEND")


def resume(resource: Resource) -> Lifecycle:
    """Resume after a suspend."""
    if resource.state not in (("SUSPEND", "COMPLETE"), ("RESUME", "FAILED"), ("RESUME", "COMPLETE")):
        raise acting.invalid_state(resource, "RESUME", _("State %s invalid for resume"))
    LOG.info("resuming %s", resource)
    with resource.frozen_properties():
        yield from acting.act(resource, "RESUME")


def snapshot(resource: Resource, snapshot_id: str | None = None) -> Lifecycle:
    """Snapshot, then store the snapshot data of the resource under ``snapshot_id``.

    Without an id it is the traversal, which for a snapshot is the snapshot's id.
    """
    LOG.info("snapshotting %s", resource)
    with resource.frozen_properties():
        yield from acting.act(resource, "SNAPSHOT")
    resource.stack.store.save_snapshot(
        resource, snapshot_id or resource.stack.current_traversal, resource.snapshot_data()
    )


def delete_snapshot(resource: Resource, data: Mapping[str, Any]) -> Lifecycle:
    """Delete what a snapshot made (``data``: as in the resource_snapshot row)."""
    yield from acting.handle(resource, "delete_snapshot", [data])
