# SPDX-License-Identifier: Apache-2.0
"""The credentials of a stack: a trust (or a password) of the user who made it, kept in ``user_creds``.

A root stack makes them when it is created; its nested stacks point to the same row. Work that no request started runs
with :func:`stored_context`. When another user updates the stack the trust is made anew for that user; when the stack is
gone, trust and row go too. A trust that cannot be deleted never keeps a stack from being deleted.

Keystone lets nobody make a trust who logged in with an access key or an application credential. A stack that does
nothing by itself when no request is at hand does without: its row names the user and has no secret. The next update by
somebody who can make a trust gives it one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import config, exceptions, sessions
from openkeel_heat.common.i18n import _

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)


def uses_trusts() -> bool:
    return cfg.CONF.deferred_auth_method == "trusts"


def create(context: Any, stack: Stack) -> int:
    """Store credentials for the user of this context (a new trust where trusts are used); the id of the row."""
    from openkeel_heat.db import user_creds as db

    columns = context.to_dict()
    if uses_trusts():
        try:
            columns = context.clients.client("keystone").create_trust_context().to_dict()
        except exceptions.Forbidden as refusal:
            _do_without_trust(stack, refusal)
            columns["password"] = None  # no way of this configuration
    return db.insert(columns)


def _do_without_trust(stack: Stack, refusal: exceptions.Forbidden) -> None:
    """Raise unless the stack needs no trust."""
    if cfg.CONF.reauthentication_auth_method == "trusts":
        raise refusal
    names = stack.acts_for_owner()
    if names:
        action = _("these credentials to make a trust, which is needed by %s") % ", ".join(names)
        raise exceptions.Forbidden(action=action) from refusal
    LOG.info("Stack %s has no trust; it does nothing by itself", stack.name)


def _is_empty(row: Any) -> bool:
    """Whether nobody can log in with these credentials (where there is something to log in to)."""
    return row is not None and not row["trust_id"] and not row["password"] and config.has_keystone()


def suffice(stack: Stack, new: Stack) -> None:
    """After :func:`refresh`: an update must not bring what acts by itself into a stack that goes on without a trust."""
    if stack.lacks_trust:
        _do_without_trust(new, exceptions.Forbidden(action=_("these credentials to make a trust")))


def _stored_row(stack: Stack) -> Any:
    """The credentials of a stack: where its own were made anew since it was loaded, or for its root, those."""
    from openkeel_heat.db import stacks, user_creds as db

    row = db.get(stack.user_creds_id) if stack.user_creds_id else None
    if row is None and stack.id is not None:
        for stack_id in (stack.id, stack.root_stack_id() if stack.owner_id else None):
            now = stacks.get(stack_id, show_deleted=True) if stack_id else None
            row = db.get(now.user_creds_id) if now is not None and now.user_creds_id else None
            if row is not None:
                stack.user_creds_id = row["id"]
                break
    return row


def _context_of(row: Any, request_id: str) -> Any:
    from openkeel_heat.common import context as contexts

    # roles are not stored, so the check whether this is an administrator cannot be made
    return contexts.StoredContext.from_dict(dict(row), request_id=request_id, is_admin=False, overwrite=False)


def stored_context(stack: Stack) -> Any:
    """The context of the stack's owner; it keeps the request id of the present one."""
    row = _stored_row(stack)
    if row is None:
        raise exceptions.Error(_("Attempt to use stored_context with no user_creds"))
    return _context_of(row, stack.context.request_id)


def outlive_token(context: Any, stack: Stack) -> None:
    """Let work on the stack go on with the stack's own credentials when the token of the request is over."""
    if context.project_id != stack.tenant_id or getattr(context, "trust_id", None):
        return  # those of another project would not do
    if stack.owner_id and context.outlives_token:
        return  # the root's are the same, and stay when a nested stack is gone

    def successor() -> Any:
        try:
            return stored_context(stack).auth_plugin
        except Exception as error:
            LOG.warning("Stack %s has no credentials to go on with: %s", stack.name, error)
            return None

    context.outlive_token(successor)


def refresh(context: Any, stack: Stack) -> int | None:
    """The id of new credentials when those of the stack are another user's, or of no use any more; else None.

    An administrator of another project cannot give any that would do for this one. Where no new ones can be made and
    the old ones are good, these stay. The caller writes the id to the row and then calls :func:`discard` for the old.
    """
    if not uses_trusts() or stack.owner_id or not stack.user_creds_id or context.project_id != stack.tenant_id:
        return None
    from openkeel_heat.db import user_creds as db

    try:
        row = db.get(stack.user_creds_id)
    except exceptions.HeatException:  # encrypted with a key that is not ours any more
        row = None
    if row is not None and not _is_empty(row):
        owner = (row["trustor_user_id"], row["tenant_id"])
        if not row["trust_id"] or owner == (context.user_id, context.project_id) and _is_usable(context, row):
            return None
    LOG.info("The credentials of stack %s are made anew for user %s", stack.name, context.user_id)
    try:
        made = context.clients.client("keystone").regenerate_trust_context()
    except Exception as error:
        if _is_empty(row) and isinstance(error, exceptions.Forbidden):
            stack.lacks_trust = True
            return None
        if row is None or _is_empty(row) or not _is_usable(context, row):
            raise
        LOG.warning(
            "User %s cannot make a trust for stack %s (%s); it keeps that of user %s",
            context.user_id,
            stack.name,
            type(error).__name__,
            row["trustor_user_id"],
        )
        return None
    return db.insert(made.to_dict())


def _is_usable(context: Any, row: Any) -> bool:
    """Whether Keystone still knows the trust. When it cannot be asked, the trust is believed in."""
    sessions.forget_trust(row["trust_id"])
    try:
        _context_of(row, context.request_id)._load_keystone_data()
    except exceptions.AuthorizationFailure:
        return False
    except Exception as error:
        LOG.info("The trust of credentials %s could not be checked: %s", row["id"], error)
    return True


def discard(context: Any, creds_id: int | None, stack: Stack | None = None) -> None:
    """Delete credentials: the trust (best effort), then the row."""
    if not creds_id:
        return
    from openkeel_heat.db import user_creds as db

    try:
        row = db.get(creds_id)
        if row is not None:
            _delete_trust(context, dict(row), stack)
    except Exception as error:
        LOG.warning("The trust of credentials %s was not deleted: %s", creds_id, error)
    db.delete(creds_id)


def discard_ownerless(context: Any, creds_id: int) -> None:
    """Delete credentials that no stack has: only they have a right to their trust."""
    from openkeel_heat.db import user_creds as db

    row = db.get(creds_id)
    if row is not None:
        LOG.info("Credentials %s belong to no stack", creds_id)
        discard(_context_of(row, context.request_id), creds_id)


def _delete_trust(context: Any, columns: dict[str, Any], stack: Stack | None) -> None:
    trust_id = columns["trust_id"]
    if not trust_id:
        return
    if context.user_id != columns["trustor_user_id"] and stack is not None:
        # whoever deletes the stack has no right to the trust of its owner
        context = _context_of(columns, context.request_id)
    try:
        context.clients.client("keystone").delete_trust(trust_id)
    except exceptions.AuthorizationFailure:
        LOG.warning("The stored context is no longer valid; trust %s is left", trust_id)


def cleanup(context: Any, stack: Stack, abandon: bool = False) -> bool:
    """After a root stack is gone: the project of its users, then the credentials. False: Keystone would not, try again.

    The credentials go last: where no request is behind the work they are what it is done with, and that the row of a
    deleted stack still names some says that this is to be done yet, which recovery looks for.
    """
    if stack.owner_id or stack.id is None:
        return True
    if stack.stack_user_project_id and not abandon:
        try:
            context.clients.client("keystone").delete_stack_domain_project(project_id=stack.stack_user_project_id)
        except Exception:
            LOG.exception("The project of the users of stack %s was not deleted", stack.name)
            return False
    creds_id, stack.user_creds_id = stack.user_creds_id, None
    discard(context, creds_id, stack)
    return True
