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
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import clock
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

FIRST_PAUSE = 0.05
PAUSE_FACTOR = 2.0

# How often a break point is looked at without anybody waking the resource.
HOOK_PAUSE = 1.0


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


def transition(resource: Resource, action: str, status: str, reason: str = 'state changed',
               lock: Lock = Lock.NONE) -> Transition:
    """Put the resource into a state and say what has to be written for it."""
    record = resource.record
    first = record.action == 'INIT'
    changed = (record.action, record.status) != (action, status)
    record.action, record.status, record.status_reason = action, status, reason
    if record.root_stack_id is None:
        record.root_stack_id = resource.stack.root_stack_id()
    if first:
        record.metadata = resource.t.metadata()
    step = Transition(action, status, reason, lock=lock, event=changed,
                      values=_columns(resource, with_metadata=first),
                      physical_resource_id=record.nova_instance or resource.physical_resource_name())
    if record.rsrc_prop_data_id is None and record.stored_properties:
        step.properties = record.stored_properties
    if status != 'COMPLETE':
        step.clear_attributes = record.attr_data_id is not None
        resource.attributes.reset_resolved_values()
    return step


def _columns(resource: Resource, with_metadata: bool = False) -> dict[str, Any]:
    record = resource.record
    values = {
        'action': record.action,
        'status': record.status,
        'status_reason': str(record.status_reason),
        'nova_instance': record.nova_instance,
        'requires': sorted(record.requires, reverse=True),
        'needed_by': [],
        'replaces': record.replaces,
        'replaced_by': record.replaced_by,
        'current_template_id': record.current_template_id,
        'rsrc_prop_data_id': record.rsrc_prop_data_id,
        'root_stack_id': record.root_stack_id,
        'updated_at': record.updated_at,
    }
    if with_metadata:
        values['metadata'] = record.metadata
    return values


def _touch(resource: Resource, lock: Lock) -> Transition:
    """Take or give back the lock, or store the columns, in the state that it is in."""
    return transition(resource, resource.action, resource.status, resource.status_reason, lock)


def mark_failed(resource: Resource, action: str, reason: str, lock: Lock = Lock.RELEASE) -> Transition:
    """The transition that fails a resource from outside (lost engine, timeout)."""
    return transition(resource, action, 'FAILED', reason, lock)


def _note(resource: Resource, action: str, status: str, reason: str) -> Note:
    return Note(action, status, reason, resource.resource_id or resource.physical_resource_name())


# --- pieces ---------------------------------------------------------------------------------------------------------


def _break_if_required(resource: Resource, action: str, hook: str) -> Lifecycle:
    """Stop at a break point of the environment until a user clears it."""
    if not resource.stack.env.registry.matches_hook(resource.name, hook):
        return
    resource.trigger_hook(hook)
    yield _note(resource, resource.action, resource.status, '%s paused until Hook %s is cleared' % (action, hook))
    LOG.info('Reached hook on %s', resource)
    yield from _wait_for_hook(resource, hook)


def _wait_for_hook(resource: Resource, hook: str) -> Lifecycle:
    while resource.has_hook(hook):
        try:
            yield HookPause(HOOK_PAUSE, ('hook', resource.id), hook)
        except GeneratorExit:
            raise
        except BaseException as ex:
            resource.clear_hook(hook)
            yield _note(resource, resource.action, resource.status, 'Failure occurred while waiting.')
            if not isinstance(ex, Exception):
                raise


def _recorded(resource: Resource, action: str, body: Callable[[], Lifecycle],
              expected: tuple[type[Exception], ...] = (), started: bool = False) -> Lifecycle:
    """IN_PROGRESS, the body, then COMPLETE or FAILED. ``started``: the row already says IN_PROGRESS.

    Expected exceptions leave the resource COMPLETE and are raised again.
    """
    if not started:
        yield transition(resource, action, 'IN_PROGRESS', lock=Lock.ACQUIRE)
    try:
        yield from body()
    except (exception.UpdateInProgress, GeneratorExit):
        # Lost the row, or the engine stops: whoever has the row goes on.
        raise
    except expected as ex:
        yield transition(resource, action, 'COMPLETE', str(ex), Lock.RELEASE)
        raise
    except Exception as ex:
        LOG.info('%(action)s: %(info)s', {'action': action, 'info': resource}, exc_info=True)
        failure = exception.ResourceFailure(ex, resource, action)
        yield mark_failed(resource, action, str(failure))
        raise failure from ex
    except BaseException as ex:
        text = '%s aborted' % action
        if str(ex):
            text += ' (%s)' % ex
        yield mark_failed(resource, action, text)
        raise
    yield transition(resource, action, 'COMPLETE', lock=Lock.RELEASE)


def _handle(resource: Resource, action: str, args: Iterable[Any] = (), prefix: str | None = None) -> Lifecycle:
    """``handle_<action>``, then ``check_<action>_complete`` until it is true."""
    name = action.lower()
    handler_name = '%s_%s' % (prefix.lower(), name) if prefix else name
    handler = getattr(resource, 'handle_%s' % handler_name, None)
    if not callable(handler):
        return
    try:
        handler_data = handler(*args)
    except StopIteration as ex:
        raise RuntimeError('Plugin method raised StopIteration') from ex
    yield from _poll(resource, name, handler_name, handler_data)


def _poll(resource: Resource, name: str, handler_name: str, handler_data: Any) -> Lifecycle:
    check = getattr(resource, 'check_%s_complete' % name, None)
    if not callable(check):
        return
    from openkeel_heat.resources.kit.resource import PollDelay
    pause = FIRST_PAUSE
    interval = resource.poll_interval
    try:
        while True:
            resource.poll_after = None
            try:
                if check(handler_data):
                    return
                seconds = pause if resource.poll_after is None else resource.poll_after
            except PollDelay as delay:
                seconds = delay.period * interval
            except StopIteration as ex:
                raise RuntimeError('Plugin method raised StopIteration') from ex
            pause = min(pause * PAUSE_FACTOR, interval)
            yield Pause(max(seconds, 0.0), resource.wake_key())
    except (Exception, GeneratorExit):
        raise
    except BaseException:
        canceller = getattr(resource, 'handle_%s_cancel' % handler_name, None)
        if callable(canceller):
            try:
                canceller(handler_data)
            except Exception:
                LOG.exception('Error cancelling resource %s', handler_name)
        raise


def _do_action(resource: Resource, action: str, pre_func: Callable[[], Any] | None = None,
               resource_data: Any = None) -> Lifecycle:
    def body() -> Lifecycle:
        if pre_func is not None:
            pre_func()
        yield from _handle(resource, action, [] if resource_data is None else [resource_data])

    yield from _recorded(resource, action, body)


def _invalid_state(resource: Resource, action: str, text: str) -> exception.ResourceFailure:
    return exception.ResourceFailure(exception.Error(text % str(resource.state)), resource, action)


def _retry_limit() -> int:
    return max(cfg.CONF.action_retry_limit, 0)


# --- create ---------------------------------------------------------------------------------------------------------


def create(resource: Resource) -> Lifecycle:
    """Create the resource. The driver has set requires and current_template_id."""
    if resource.state != ('INIT', 'COMPLETE'):
        raise _invalid_state(resource, 'CREATE', _('State %s invalid for create'))
    if resource.external_id is not None:
        yield from _do_action(resource, 'ADOPT', resource_data={'resource_id': resource.external_id})
        yield from check(resource)
        return
    # A replacement is made during an update, whose break point was passed already.
    creating_stack = resource.stack.action == 'CREATE'
    if creating_stack:
        yield from _break_if_required(resource, 'CREATE', 'pre-create')
    LOG.info('creating %s', resource)
    resource.reparse()
    resource._update_stored_properties()
    yield from _create_with_retries(resource)
    if creating_stack:
        yield from _break_if_required(resource, 'CREATE', 'post-create')


def _create_with_retries(resource: Resource) -> Lifecycle:
    """Create; after a failure that may pass, delete what there is and create again."""
    limit = _retry_limit()
    tries = {'CREATE': 0, 'DELETE': 0}
    action = 'CREATE'
    first_failure: exception.ResourceFailure | None = None
    while max(tries.values()) <= limit:
        pre_func = None
        if tries[action]:
            yield Pause(clock.backoff(tries[action], jitter=2.0))
        elif action == 'CREATE':
            pre_func = resource.properties.validate
        try:
            yield from _do_action(resource, action, pre_func)
        except exception.ResourceFailure as failure:
            _raise_if_final(resource, failure)
            tries[action] += 1
            if action == 'CREATE':
                action = 'DELETE'
                tries['DELETE'] = 0
            first_failure = first_failure or failure
        else:
            if action == 'CREATE':
                return
            action = 'CREATE'
    if first_failure is not None:
        raise first_failure


def _raise_if_final(resource: Resource, failure: exception.ResourceFailure) -> None:
    """Raise a failure that trying again will not mend."""
    cause = failure.exc
    if isinstance(cause, exception.StackValidationFailed):
        raise exception.ResourceFailure(
            exception.StackValidationFailed(error=cause.error, path=[resource.t.name, *cause.path],
                                            message=cause.error_message),
            resource, failure.action) from failure
    retry = isinstance(cause, exception.ResourceInError) or (
        cause is not None and resource._default_client_plugin().is_conflict(cause))
    if not retry:
        raise failure


def adopt(resource: Resource, resource_data: Mapping[str, Any] | None) -> Lifecycle:
    """Take over an existing physical object (``resource_data`` from the adopt data)."""
    resource._update_stored_properties()
    yield from _do_action(resource, 'ADOPT', resource_data=resource_data)


# --- update ---------------------------------------------------------------------------------------------------------


def update(resource: Resource, after: Any, before: Any = None, *, new_class: type | None = None,
           new_template_id: int | None = None, new_requires: set[int] | None = None,
           prev_resource: Any = None) -> Lifecycle:
    """Update in place to the bound definition ``after``, or raise ``UpdateReplace``.

    ``before`` defaults to ``resource.frozen_definition()``; ``new_class`` is the class of the
    type that ``after`` names.
    """
    yield from _before_update(resource, new_class)
    if before is None:
        before = resource.frozen_definition()
    if (yield from _external_update(resource, after, new_template_id)):
        return
    after_props, before_props = resource._prepare_update_props(after, before)
    yield from _break_if_required(resource, 'UPDATE', 'pre-update')
    needed = yield from _decide_update(resource, after, before, after_props, before_props, prev_resource)
    if not needed:
        yield from _unchanged(resource, new_template_id)
        return
    LOG.info('updating %s', resource)
    resource.updated_time = clock.utcnow()
    if new_requires is not None:
        resource.requires = resource.requires | set(new_requires)
    yield from _recorded(
        resource, 'UPDATE',
        lambda: _update_in_place(resource, after, before, after_props, before_props, new_template_id, new_requires),
        expected=(UpdateReplace,))
    yield from _break_if_required(resource, 'UPDATE', 'post-update')


def _before_update(resource: Resource, new_class: type | None) -> Lifecycle:
    if new_class is not None and new_class is not resource.__class__:
        restricted = resource.stack.env.registry.get_rsrc_restricted_actions(resource.name)
        if 'replace' in restricted:
            refused = exception.ResourceActionRestricted(action='replace')
            yield _note(resource, 'UPDATE', 'FAILED', str(refused))
            raise exception.ResourceFailure(refused, resource, 'UPDATE')
        raise UpdateReplace(resource.name)
    stack = resource.stack
    if stack.action == 'ROLLBACK' and stack.status == 'IN_PROGRESS' and resource.replaced_by:
        try:
            resource.restore_prev_rsrc(convergence=True)
        except Exception as ex:
            failure = exception.ResourceFailure(ex, resource, resource.action)
            yield mark_failed(resource, 'UPDATE', str(failure), Lock.NONE)
            raise failure from ex
    resource.replaced_by = None


def _external_update(resource: Resource, after: Any,
                     new_template_id: int | None) -> Generator[Step, Any, bool]:
    """Whether that was all: external resources are not updated."""
    external_id = after.external_id()
    if resource.external_id != external_id:
        text = _('Update to property %(prop)s of %(name)s (%(res)s)') % {
            'prop': 'external_id', 'res': resource.type(), 'name': resource.name}
        raise exception.ResourceFailure(exception.NotSupported(feature=text), resource, 'UPDATE')
    if external_id is None:
        return False
    yield from _unchanged(resource, new_template_id)
    return True


def _unchanged(resource: Resource, new_template_id: int | None) -> Lifecycle:
    """Note that the resource is as the new template wants it."""
    if new_template_id is not None:
        resource.current_template_id = new_template_id
    if resource.status == 'FAILED':
        reason = _('Update status to COMPLETE for FAILED resource neither update nor replace.')
        yield transition(resource, resource.action, 'COMPLETE', reason, Lock.RESPECT)
    elif new_template_id is not None:
        yield _touch(resource, Lock.RESPECT)


def _decide_update(resource: Resource, after: Any, before: Any, after_props: Any, before_props: Any,
                   prev_resource: Any) -> Generator[Step, Any, bool]:
    restricted = resource.stack.env.registry.get_rsrc_restricted_actions(resource.name)
    try:
        if restricted:
            return resource._check_restricted_actions(restricted, after, before, after_props, before_props,
                                                      prev_resource)
        return resource._needs_update(after, before, after_props, before_props, prev_resource)
    except UpdateReplace:
        if _prepares_replacement(resource):
            yield _touch(resource, Lock.ACQUIRE)
            yield from _prepare_for_replace(resource, Lock.RELEASE)
            yield _touch(resource, Lock.RELEASE)
        raise
    except exception.ResourceActionRestricted as ex:
        yield _note(resource, 'UPDATE', 'FAILED', str(ex))
        raise exception.ResourceFailure(ex, resource, 'UPDATE') from ex


def _prepares_replacement(resource: Resource) -> bool:
    from openkeel_heat.resources.kit.updates import Updates
    return type(resource).prepare_for_replace is not Updates.prepare_for_replace


def _prepare_for_replace(resource: Resource, lock: Lock) -> Lifecycle:
    if not _prepares_replacement(resource):
        return
    try:
        resource.prepare_for_replace()
    except Exception as ex:
        failure = exception.ResourceFailure(ex, resource, 'UPDATE')
        yield mark_failed(resource, 'UPDATE', str(failure), lock)
        raise failure from ex


def _update_in_place(resource: Resource, after: Any, before: Any, after_props: Any, before_props: Any,
                     new_template_id: int | None, new_requires: set[int] | None) -> Lifecycle:
    after_props.validate()
    resource.properties = before_props
    tmpl_diff = resource.update_template_diff(after.freeze(), before)
    resource.old_template_id = resource.current_template_id
    try:
        if tmpl_diff and resource.needs_replace_with_tmpl_diff(tmpl_diff):
            raise UpdateReplace(resource)  # type: ignore[arg-type]
        prop_diff = resource.update_template_diff_properties(after_props, before_props)
        if new_template_id is not None:
            resource.current_template_id = new_template_id
        yield from _handle(resource, 'UPDATE', [after, tmpl_diff, prop_diff])
    except UpdateReplace:
        resource.current_template_id = resource.old_template_id
        resource.old_template_id = None
        yield from _prepare_for_replace(resource, Lock.NONE)
        raise
    resource.t = after
    resource.reparse()
    resource._update_stored_properties()
    if new_requires is not None:
        resource.requires = set(new_requires)


# --- delete ---------------------------------------------------------------------------------------------------------


def delete(resource: Resource) -> Lifecycle:
    """Delete as the deletion policy says. The row itself is removed by the driver."""
    if resource.state == ('DELETE', 'COMPLETE') or resource.action == 'INIT':
        return
    yield from _delete(resource, started=False)


def _delete(resource: Resource, started: bool) -> Lifecycle:
    initial_state = resource.state
    deleting_stack = resource.stack.action == 'DELETE'
    if deleting_stack and not started:
        yield from _break_if_required(resource, 'DELETE', 'pre-delete')
    LOG.info('deleting %s', resource)
    if resource.record.stored_properties is not None:
        # What the template refers to may be gone: work with what was stored.
        resource.properties = resource.frozen_definition().properties(resource.properties_schema, resource.context)
        resource.translate_properties(resource.properties, ignore_resolve_error=True)
    yield from _recorded(resource, 'DELETE', lambda: _delete_by_policy(resource, initial_state), started=started)
    if deleting_stack:
        yield from _break_if_required(resource, 'DELETE', 'post-delete')


def _delete_by_policy(resource: Resource, initial_state: tuple[str, str]) -> Lifecycle:
    policy = 'Retain' if resource.abandon_in_progress else resource.t.deletion_policy()
    if policy == 'Retain':
        return
    args, prefix = ([initial_state], 'snapshot') if policy == 'Snapshot' else ([], None)
    limit = _retry_limit()
    attempt = 0
    while True:
        LOG.info('delete %(name)s attempt %(attempt)d', {'name': resource, 'attempt': attempt + 1})
        if attempt:
            yield Pause(clock.backoff(attempt, jitter=2.0))
        try:
            yield from _handle(resource, 'DELETE', args, prefix)
            return
        except Exception as ex:
            again = attempt < limit and (isinstance(ex, exception.PhysicalResourceExists)
                                         or resource._default_client_plugin().is_conflict(ex))
            if not again:
                raise
        attempt += 1


# --- the other actions ----------------------------------------------------------------------------------------------


def check(resource: Resource) -> Lifecycle:
    """Compare the physical object with what is expected of it."""
    LOG.info('Checking %s', resource)
    exists = resource.state != ('INIT', 'COMPLETE')
    if not hasattr(resource, 'handle_check'):
        if exists:
            yield transition(resource, 'CHECK', 'COMPLETE', 'CHECK not supported for %s' % resource.type())
        return
    if not exists:
        yield mark_failed(resource, 'CHECK', _('Can not check %s, resource not created yet.') % resource.name,
                          Lock.NONE)
        raise exception.ResourceFailure(Exception(_('Resource %s not created yet.') % resource.name),
                                        resource, 'CHECK')
    with resource.frozen_properties():
        yield from _do_action(resource, 'CHECK')


def suspend(resource: Resource) -> Lifecycle:
    """Suspend; from a stable state, or after a suspend that failed."""
    if resource.action == 'DELETE' or (resource.action != 'SUSPEND' and resource.status != 'COMPLETE'):
        raise _invalid_state(resource, 'SUSPEND', _('State %s invalid for suspend'))
    LOG.info('suspending %s', resource)
    with resource.frozen_properties():
        yield from _do_action(resource, 'SUSPEND')


def resume(resource: Resource) -> Lifecycle:
    """Resume after a suspend."""
    if resource.state not in (('SUSPEND', 'COMPLETE'), ('RESUME', 'FAILED'), ('RESUME', 'COMPLETE')):
        raise _invalid_state(resource, 'RESUME', _('State %s invalid for resume'))
    LOG.info('resuming %s', resource)
    with resource.frozen_properties():
        yield from _do_action(resource, 'RESUME')


def snapshot(resource: Resource, snapshot_id: str | None = None) -> Lifecycle:
    """Snapshot, then store the snapshot data of the resource under ``snapshot_id``.

    Without an id it is the traversal, which for a snapshot is the snapshot's id.
    """
    LOG.info('snapshotting %s', resource)
    with resource.frozen_properties():
        yield from _do_action(resource, 'SNAPSHOT')
    resource.stack.store.save_snapshot(resource, snapshot_id or resource.stack.current_traversal,
                                       resource.snapshot_data())


def delete_snapshot(resource: Resource, data: Mapping[str, Any]) -> Lifecycle:
    """Delete what a snapshot made (``data``: as in the resource_snapshot row)."""
    yield from _handle(resource, 'delete_snapshot', [data])


# --- after the death of an engine -----------------------------------------------------------------------------------


def resume_action(resource: Resource, after: Any = None, *, new_template_id: int | None = None,
                  new_requires: set[int] | None = None) -> Lifecycle:
    """Go on with the action that ``resource.record`` shows IN_PROGRESS, or raise CannotResume.

    The driver has put its own engine id into the row. ``after`` and what follows are
    needed for UPDATE only. Raises before the first step, never in between.
    """
    action = resource.action
    if action in ('CREATE', 'ADOPT'):
        return _resume_create(resource, action)
    if action == 'UPDATE':
        if not resource.repeatable_update or after is None:
            raise CannotResume(_('update of %s') % resource.name)
        return _resume_update(resource, after, new_template_id, new_requires)
    if action == 'DELETE':
        return _delete(resource, started=True)
    if action in ('CHECK', 'SUSPEND', 'RESUME', 'SNAPSHOT'):
        return _repeat(resource, action)
    raise CannotResume(action)


def _resume_create(resource: Resource, action: str) -> Lifecycle:
    resource.reparse()
    if resource.resource_id is None:
        found = resource.find_physical()
        if found is not None:
            resource.resource_id_set(found)
    if resource.resource_id is not None and resource.can_resume_polling(action):
        handler_data = resource.handler_data_on_resume(action)

        def body() -> Lifecycle:
            yield from _poll(resource, action.lower(), action.lower(), handler_data)
    elif resource.repeatable_create and action == 'CREATE':
        def body() -> Lifecycle:
            yield from _handle(resource, action)
    else:
        raise CannotResume(_('%(action)s of %(name)s') % {'action': action, 'name': resource.name})
    return _resumed_create(resource, action, body)


def _resumed_create(resource: Resource, action: str, body: Callable[[], Lifecycle]) -> Lifecycle:
    yield from _recorded(resource, action, body, started=True)
    if resource.stack.action == 'CREATE' and action == 'CREATE':
        yield from _break_if_required(resource, 'CREATE', 'post-create')


def _resume_update(resource: Resource, after: Any, new_template_id: int | None,
                   new_requires: set[int] | None) -> Lifecycle:
    before = resource.frozen_definition()
    after_props, before_props = resource._prepare_update_props(after, before)
    yield from _recorded(
        resource, 'UPDATE',
        lambda: _update_in_place(resource, after, before, after_props, before_props, new_template_id, new_requires),
        expected=(UpdateReplace,), started=True)
    yield from _break_if_required(resource, 'UPDATE', 'post-update')


def _repeat(resource: Resource, action: str) -> Lifecycle:
    with resource.frozen_properties():
        yield from _recorded(resource, action, lambda: _handle(resource, action), started=True)
    if action == 'SNAPSHOT':
        resource.stack.store.save_snapshot(resource, resource.stack.current_traversal, resource.snapshot_data())
