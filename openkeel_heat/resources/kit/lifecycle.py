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

What a dead engine left is taken up again by :mod:`.resuming`.
"""
from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.clients import patience
from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.steps import (
    HookPause,
    Lifecycle,
    Lock,
    Note,
    Pause,
    Step,
    Transition,
    mark_failed,
    note,
    touch,
    transition,
)

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

__all__ = ['HookPause', 'Lifecycle', 'Lock', 'Note', 'Pause', 'Step', 'Transition', 'CannotResume',
           'adopt', 'check', 'create', 'created', 'delete', 'delete_snapshot', 'mark_failed', 'resume', 'resume_action',
           'snapshot', 'suspend', 'transition', 'update']

LOG = logging.getLogger(__name__)

FIRST_PAUSE = 0.05
PAUSE_FACTOR = 2.0

# Seconds in a row for which a service may say "later" before that is a failure.
LONGEST_PATIENCE = 120.0
# The longest of these pauses, unless the service asks for a longer one.
LONGEST_PAUSE = 8.0

# How often a break point is looked at without anybody waking the resource.
HOOK_PAUSE = 1.0


# --- pieces ---------------------------------------------------------------------------------------------------------


HOOK_CLEARED = 'Hook %s is cleared'
HOOK_FAILED = 'Failure occurred while waiting.'


def _break_if_required(resource: Resource, action: str, hook: str) -> Lifecycle:
    """Stop at a break point of the environment until a user clears it.

    An engine may have died here before: a break point that was cleared is passed, one that was not is waited at.
    """
    if not resource.stack.env.registry.matches_hook(resource.name, hook):
        return
    paused = '%s paused until Hook %s is cleared' % (action, hook)
    last = resource.stack.store.last_event(resource, [paused, HOOK_CLEARED % hook])
    if last == HOOK_CLEARED % hook:
        return
    if last is None:
        # One write: a user who sees the break point, by its event or by its data, may clear it at once.
        reached = note(resource, resource.action, resource.status, paused)
        reached.data.append((hook, 'True', False))
        yield reached
    LOG.info('Reached hook on %s', resource)
    yield from _wait_for_hook(resource, hook)


def _wait_for_hook(resource: Resource, hook: str) -> Lifecycle:
    while resource.has_hook(hook):
        try:
            yield HookPause(HOOK_PAUSE, ('hook', resource.id), hook)
        except GeneratorExit:
            raise
        except BaseException as ex:
            resource.stack.store.clear_hook(resource, hook, HOOK_FAILED)
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
    args = list(args)
    waited = 0.0
    while True:
        try:
            with patience.may_pause(_may_repeat(resource, name)):
                # A handler may have changed what it was given before it met the error.
                handler_data = handler(*(dict(arg) if isinstance(arg, dict) else arg for arg in args))
            break
        except StopIteration as ex:
            raise RuntimeError('Plugin method raised StopIteration') from ex
        except Exception as ex:
            seconds, waited = _pause_asked(ex, waited)
        yield Pause(seconds)
    yield from _poll(resource, name, handler_name, handler_data)


def _may_repeat(resource: Resource, name: str) -> bool:
    """Whether a handler may be called again after a service said "later" to it; as after the death of an engine."""
    if name == 'create':
        return resource.repeatable_create
    return resource.repeatable_update if name == 'update' else True


def _pause_asked(error: Exception, waited: float) -> tuple[float, float]:
    """Seconds after which to call again what raised *error*, and those waited for in all; or raises it."""
    seconds = patience.asked_pause(error)
    if seconds is None or waited > LONGEST_PATIENCE:
        raise error
    if isinstance(error, patience.ComeBack):
        return seconds, waited
    # The longer a service is away, the less it is asked.
    seconds = max(seconds, FIRST_PAUSE, min(waited / 2, LONGEST_PAUSE))
    return seconds, waited + seconds


def _poll(resource: Resource, name: str, handler_name: str, handler_data: Any) -> Lifecycle:
    check = getattr(resource, 'check_%s_complete' % name, None)
    if not callable(check):
        return
    from openkeel_heat.resources.kit.resource import PollDelay
    pause = FIRST_PAUSE
    interval = resource.poll_interval
    waited = 0.0
    try:
        while True:
            resource.poll_after = None
            try:
                with patience.may_pause():
                    if check(handler_data):
                        return
                seconds = pause if resource.poll_after is None else resource.poll_after
                waited = 0.0
                pause = min(pause * PAUSE_FACTOR, interval)
            except PollDelay as delay:
                seconds = delay.period * interval
            except StopIteration as ex:
                raise RuntimeError('Plugin method raised StopIteration') from ex
            except Exception as ex:
                seconds, waited = _pause_asked(ex, waited)
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
    if resource.record.data is None:
        # Nobody can have written data before there is anything.
        resource.record.data = {}
    LOG.info('creating %s', resource)
    resource.reparse()
    resource._update_stored_properties()
    yield from _create_with_retries(resource)
    if creating_stack:
        yield from _break_if_required(resource, 'CREATE', 'post-create')


def created(resource: Resource) -> Lifecycle:
    """What follows a creation, when the engine that made the resource died before it could do it."""
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
        updated = (resource.state == ('UPDATE', 'COMPLETE') and resource.stack.action != 'ROLLBACK'
                   and resource.current_template_id == new_template_id)
        yield from _unchanged(resource, new_template_id)
        if updated:  # by an engine that died before it came to this
            yield from _break_if_required(resource, 'UPDATE', 'post-update')
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
            yield note(resource, 'UPDATE', 'FAILED', str(refused))
            raise exception.ResourceFailure(refused, resource, 'UPDATE')
        raise UpdateReplace(resource.name)
    stack = resource.stack
    if stack.action == 'ROLLBACK' and stack.status == 'IN_PROGRESS' and resource.replaced_by:
        try:
            started = resource.restore_prev_rsrc(convergence=True)
            yield from _poll(resource, 'restore_prev_rsrc', 'restore_prev_rsrc', started)
        except (exception.UpdateInProgress, GeneratorExit):
            raise
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
        yield touch(resource, Lock.RESPECT)


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
            yield touch(resource, Lock.ACQUIRE)
            yield from _prepare_for_replace(resource, Lock.RELEASE)
            yield touch(resource, Lock.RELEASE)
        raise
    except exception.ResourceActionRestricted as ex:
        yield note(resource, 'UPDATE', 'FAILED', str(ex))
        raise exception.ResourceFailure(ex, resource, 'UPDATE') from ex


def _prepares_replacement(resource: Resource) -> bool:
    from openkeel_heat.resources.kit.updates import Updates
    return type(resource).prepare_for_replace is not Updates.prepare_for_replace


def _prepare_for_replace(resource: Resource, lock: Lock) -> Lifecycle:
    if not _prepares_replacement(resource):
        return
    try:
        started = resource.prepare_for_replace()
        yield from _poll(resource, 'prepare_for_replace', 'prepare_for_replace', started)
    except (exception.UpdateInProgress, GeneratorExit):
        raise
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
    if resource.state == ('DELETE', 'COMPLETE'):
        if resource.stack.action == 'DELETE':
            yield from _break_if_required(resource, 'DELETE', 'post-delete')
        return
    if resource.action == 'INIT':
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
            yield from _check_presence(resource)
        return
    if not exists:
        yield mark_failed(resource, 'CHECK', _('Can not check %s, resource not created yet.') % resource.name,
                          Lock.NONE)
        raise exception.ResourceFailure(Exception(_('Resource %s not created yet.') % resource.name),
                                        resource, 'CHECK')
    with resource.frozen_properties():
        yield from _do_action(resource, 'CHECK')


def _check_presence(resource: Resource) -> Lifecycle:
    """The check of a type that has none: not more than whether the object is there, if the type can tell that."""
    try:
        with resource.frozen_properties():
            resource.verify_presence()
    except Exception as ex:
        failure = exception.ResourceFailure(ex, resource, 'CHECK')
        yield mark_failed(resource, 'CHECK', str(failure))
        raise failure from ex
    yield transition(resource, 'CHECK', 'COMPLETE', 'CHECK not supported for %s' % resource.type())


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


# Kept last: resuming is made of the pieces above.
from openkeel_heat.resources.kit.resuming import CannotResume, resume_action  # noqa: E402
