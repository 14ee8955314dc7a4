# SPDX-License-Identifier: Apache-2.0
"""What changes a whole stack: create, adopt, update, delete, abandon, suspend, resume, check, cancel.

Each call returns when the new state is stored and its traversal has begun; the rest happens on the scheduler. What
refuses a call raises before anything is written. Where somebody else started a traversal in the meantime, the stack is
looked at again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_db import exception as db_errors
from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db import announced, stacks
from openkeel_heat.engine import credentials, events, hidden, templates
from openkeel_heat.engine.convergence.interfaces import StartRequest
from openkeel_heat.engine.lifecycle_plugins import Refused
from openkeel_heat.engine.operations import lookup, migrate, prepare
from openkeel_heat.engine.operations.runtime import Runtime
from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)

#: How often an operation looks again when another traversal was started under its hands.
_TRIES = 5


def _reauthenticates() -> bool:
    return cfg.CONF.reauthentication_auth_method == "trusts"


# create -------------------------------------------------------------------------------------------------------------
def create(runtime: Runtime, context: Any, stack: Stack) -> dict[str, str]:
    """Store a validated new stack and begin to create (or adopt) its resources."""
    LOG.info("Creating stack %s", stack.name)
    stack.assign_id(str(uuid.uuid4()))
    made_creds = not stack.user_creds_id
    if made_creds:
        stack.user_creds_id = credentials.create(context, stack)
    try:
        if _reauthenticates():
            stack.context = stack.stored_context()
        failure = _make_user_project(stack)
        if failure is None:
            failure = _start_creation(runtime, stack)
        if failure is not None:
            _store_failed(stack, failure)
    except BaseException:
        if made_creds:
            credentials.discard(context, stack.user_creds_id)
        raise
    return dict(stack.identifier())


def _make_user_project(stack: Stack) -> str | None:
    """The project for users inside the stack; answers why it could not be made."""
    if stack.stack_user_project_id:
        return None
    try:
        keystone = stack.clients.client("keystone")
        stack.stack_user_project_id = keystone.create_stack_domain_project(stack.id)
    except exceptions.AuthorizationFailure as error:
        return str(error)
    except Exception:
        LOG.exception("Failed to create stack user project")
        return "Failed to create stack user project"
    return None


def _start_creation(runtime: Runtime, stack: Stack) -> str | None:
    """Begin the first traversal; answers why it could not begin. A name in use, or a broken database, is raised."""
    action = stack.ADOPT if stack.adopt_stack_data else stack.CREATE
    request = StartRequest(stack, action, adopt_data=stack.adopt_stack_data, converge=stack.converge)
    try:
        runtime.convergence.start(stack.context, request)
    except (exceptions.StackExists, exceptions.UpdateInProgress, db_errors.DBError):
        raise
    except Exception as error:
        LOG.exception("Starting stack %s failed", stack.name)
        return str(error)
    return None


def _store_failed(stack: Stack, reason: str) -> None:
    """Keep a stack that could not be started: FAILED, with the reason."""
    reason = hidden.of(stack).text(reason)
    row = stacks.get(stack.id) if stack.id else None
    if row is not None:  # it failed after the start was written
        stack.current_traversal = row.current_traversal
        stack.state_set(stack.action, stack.FAILED, reason)
        return
    stack.status, stack.status_reason = stack.FAILED, reason
    stack.current_traversal = ""
    stack.created_time = clock.utcnow()
    rows = [
        events.stack_event(stack, stack.action, stack.IN_PROGRESS, f"Stack {stack.action} started"),
        events.stack_event(stack, stack.action, stack.FAILED, reason),
    ]
    values = {
        **stack.row_values(),
        "id": stack.id,
        "action": stack.action,
        "status": stack.status,
        "status_reason": reason,
        "current_traversal": "",
        "created_at": stack.created_time,
    }
    announced.insert_stack(values, stack.template_values(), stack.tags, rows)
    row = stacks.get(values["id"])
    if row is not None:
        templates.remember(row.raw_template_id, stack.t)
    events.announce(stack.context, stack, rows)


# update -------------------------------------------------------------------------------------------------------------
def update(
    runtime: Runtime,
    context: Any,
    identity: Mapping[str, str],
    template: Mapping[str, Any] | None,
    params: Mapping[str, Any] | None,
    files: Mapping[str, str] | None,
    args: Mapping[str, Any] | None,
    environment_files: list[str] | None = None,
    files_container: str | None = None,
    template_id: int | None = None,
) -> dict[str, str]:
    """Begin to bring a stack to a new template."""

    def make(current: Stack) -> Stack:
        lookup.enforce_types(current)
        return prepare.updated_stack(
            context, current, template, params, files, args, environment_files, files_container, template_id
        )

    return update_to(runtime, context, identity, make)


def update_to(
    runtime: Runtime, context: Any, identity: Mapping[str, str], make: Callable[[Stack], Stack], by_holder: bool = False
) -> dict[str, str]:
    """Begin an update to the stack that ``make`` makes of the current one (validated, not stored).

    ``by_holder``: the stack that holds it asks, which is suspended no more (its suspension failed half-way, or it is
    restored). Were it refused, that stack could be resumed as little as changed.
    """
    for _attempt in range(_TRIES):
        current = migrate.stack_to_change(runtime, context, identity)
        LOG.info("Updating stack %s", current.name)
        if current.action == current.SUSPEND and not by_holder:
            raise exceptions.NotSupported(feature=_("Updating a stack when it is suspended"))
        if current.action == current.DELETE:
            raise exceptions.NotSupported(feature=_("Updating a stack when it is deleting"))
        try:
            started = _start_update(runtime, context, current, make)
        except Refused as refusal:
            started = refused(current, current.UPDATE, refusal)
        if started:
            return dict(current.identifier())
    raise exceptions.ActionInProgress(stack_name=current.name, action=current.action)


def _start_update(runtime: Runtime, context: Any, current: Stack, make: Callable[[Stack], Stack]) -> bool:
    """False when another traversal was started first. Credentials of another user are made anew on the way."""
    old_creds, new_creds = current.user_creds_id, credentials.refresh(context, current)
    started = None
    try:
        if new_creds:
            current.user_creds_id = new_creds
        if _reauthenticates():
            current.context = current.stored_context()
        new = make(current)
        credentials.suffice(current, new)
        values = {"user_creds_id": new_creds} if new_creds else {}
        request = StartRequest(current, current.UPDATE, new_stack=new, converge=new.converge, values=values)
        started = runtime.convergence.start(current.context, request)
    finally:
        if new_creds:
            credentials.discard(context, old_creds if started else new_creds, current)
    return started is not None


def begin(runtime: Runtime, context: Any, request: StartRequest) -> bool:
    """Start a traversal, or let the stack fail that a lifecycle plugin does not want it; False: another was first."""
    try:
        return runtime.convergence.start(context, request) is not None
    except Refused as refusal:
        return refused(request.stack, request.action, refusal)


def refused(stack: Stack, action: str, refusal: Refused) -> bool:
    """The stack is FAILED for a lifecycle plugin's reason; one that is being worked on is left to that."""
    if stack.status == stack.IN_PROGRESS:
        raise exceptions.Invalid(reason=str(refusal)) from refusal
    return stack.state_set(action, stack.FAILED, str(refusal))


# delete -------------------------------------------------------------------------------------------------------------
def delete(
    runtime: Runtime,
    context: Any,
    identity: Mapping[str, str],
    abandon: bool = False,
    holder: tuple[int, str] | None = None,
) -> None:
    """Begin to delete a stack, whatever it is doing. ``abandon``: its resources are let go."""
    for _attempt in range(_TRIES):
        stack = migrate.stack_to_change(runtime, context, identity)
        LOG.info("Deleting stack %s", stack.name)
        lookup.enforce_types(stack)
        if stack.state == (stack.DELETE, stack.COMPLETE):
            raise exceptions.EntityNotFound(entity="Stack", name=stack.name)
        if stack.status == stack.IN_PROGRESS:
            runtime.convergence.stop_traversal(context, stack)
            stack = lookup.get_stack(context, identity)
        stack.holder = holder
        request = StartRequest(
            stack, stack.DELETE, template=templates.empty(stack.t), abandon=abandon, cancel_running=True
        )
        if begin(runtime, context, request):
            return
    raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)


def abandon(runtime: Runtime, context: Any, identity: Mapping[str, str], really: bool = True) -> dict[str, Any]:
    """What there is to know of a stack, for adopting it elsewhere; then (``really``) let it go."""
    if not cfg.CONF.enable_stack_abandon:
        raise exceptions.NotSupported(feature="Stack Abandon")
    stack = lookup.get_stack(context, identity)
    data = stack.prepare_abandon()
    if really:
        delete(runtime, context, identity, abandon=True)
    return data


# actions ------------------------------------------------------------------------------------------------------------
def check_not_deleting(stack: Stack) -> None:
    """Nothing but another deletion goes over a deletion: the stack would stay, without what it was made of."""
    if (stack.action, stack.status) == (stack.DELETE, stack.IN_PROGRESS):
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)


def act(
    runtime: Runtime, context: Any, identity: Mapping[str, str], action: str, holder: tuple[int, str] | None = None
) -> None:
    """Begin SUSPEND, RESUME or CHECK. A stack that is suspended (resumed) already is left alone."""
    for _attempt in range(_TRIES):
        stack = migrate.stack_to_change(runtime, context, identity)
        check_not_deleting(stack)
        if action != stack.CHECK:
            lookup.enforce_types(stack)
            if stack.state == (action, stack.COMPLETE):
                LOG.info("%s is %s already", stack, action)
                return
        stack.holder = holder
        if begin(runtime, context, StartRequest(stack, action)):
            return
    raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)


def cancel_update(runtime: Runtime, context: Any, identity: Mapping[str, str], rollback: bool = True) -> None:
    """Cancel a running update (or, without rollback, a creation)."""
    stack = lookup.get_stack(context, identity)
    allowed = (stack.UPDATE,) if rollback else (stack.UPDATE, stack.CREATE)
    if stack.status != stack.IN_PROGRESS or stack.action not in allowed:
        raise exceptions.NotSupported(feature=_("Cancelling update when stack is %s") % "_".join(stack.state))
    LOG.info("Cancelling the update of stack %s", stack.name)
    try:
        runtime.convergence.cancel(context, stack, rollback)
    except Refused as refusal:
        refused(stack, stack.ROLLBACK, refusal)
