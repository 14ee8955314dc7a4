# SPDX-License-Identifier: Apache-2.0
"""The credentials of a stack: a trust (or a password) of the user who made it, kept in ``user_creds``.

A root stack makes them when it is created; its nested stacks point to the same row. Work that no request started runs
with :func:`stored_context`. When another user updates the stack the trust is made anew for that user; when the stack is
gone, trust and row go too. A trust that cannot be deleted never keeps a stack from being deleted.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)


def uses_trusts() -> bool:
    return cfg.CONF.deferred_auth_method == "trusts"


def create(context: Any) -> int:
    """Store credentials for the user of this context (a new trust where trusts are used); the id of the row."""
    from openkeel_heat.db import user_creds as db

    if uses_trusts():
        context = context.clients.client("keystone").create_trust_context()
    return db.insert(context.to_dict())


def _creds_id(stack: Stack) -> int | None:
    """A nested stack whose credentials were renewed finds them at its root."""
    if not stack.user_creds_id and stack.owner_id:
        from openkeel_heat.db import stacks as db

        root_id = stack.root_stack_id()
        root = db.get(root_id, show_deleted=True) if root_id else None
        if root is not None:
            stack.user_creds_id = root.user_creds_id
    return stack.user_creds_id


def stored_context(stack: Stack) -> Any:
    """The context of the stack's owner; it keeps the request id of the present one."""
    from openkeel_heat.common import context as contexts
    from openkeel_heat.db import user_creds as db

    creds_id = _creds_id(stack)
    row = db.get(creds_id) if creds_id else None
    if row is None:
        raise exceptions.Error(_("Attempt to use stored_context with no user_creds"))
    # roles are not stored, so the check whether this is an administrator cannot be made
    return contexts.StoredContext.from_dict(dict(row), request_id=stack.context.request_id, is_admin=False,
                                            overwrite=False)


def refresh(context: Any, stack: Stack) -> int | None:
    """The id of new credentials when those of the stack are another user's, or of no use any more; else None.

    The caller writes the id to the row and then calls :func:`discard` for the old one.
    """
    if not uses_trusts() or stack.owner_id or not stack.user_creds_id:
        return None
    from openkeel_heat.db import user_creds as db

    try:
        row = db.get(stack.user_creds_id)
    except exceptions.HeatException:  # encrypted with a key that is not ours any more
        row = None
    if row is not None:
        owner = (row["trustor_user_id"], row["tenant_id"])
        if not row["trust_id"] or owner == (context.user_id, context.project_id) and _is_usable(context, row):
            return None
    LOG.info("The credentials of stack %s are made anew for user %s", stack.name, context.user_id)
    return db.insert(context.clients.client("keystone").regenerate_trust_context().to_dict())


def _is_usable(context: Any, row: Any) -> bool:
    """Whether Keystone still knows the trust. When it cannot be asked, the trust is believed in."""
    from openkeel_heat.common import context as contexts

    stored = contexts.StoredContext.from_dict(dict(row), request_id=context.request_id, is_admin=False,
                                              overwrite=False)
    try:
        stored._load_keystone_data()
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


def _delete_trust(context: Any, columns: dict[str, Any], stack: Stack | None) -> None:
    trust_id = columns["trust_id"]
    if not trust_id:
        return
    if context.user_id != columns["trustor_user_id"] and stack is not None:
        from openkeel_heat.common import context as contexts

        # whoever deletes the stack has no right to the trust of its owner
        context = contexts.StoredContext.from_dict(columns, request_id=context.request_id, is_admin=False,
                                                   overwrite=False)
    try:
        context.clients.client("keystone").delete_trust(trust_id)
    except exceptions.AuthorizationFailure:
        LOG.warning("The stored context is no longer valid; trust %s is left", trust_id)


def cleanup(context: Any, stack: Stack, abandon: bool = False) -> str | None:
    """After the last resource of a root stack is gone: credentials and the project of its users.

    Answers why the project could not be deleted, which makes the deletion of the stack FAILED; None when all is well.
    """
    if stack.owner_id or stack.id is None:
        return None
    if stack.user_creds_id:
        from openkeel_heat.db import stacks as db

        creds_id, stack.user_creds_id = stack.user_creds_id, None
        db.update(stack.id, {"user_creds_id": None})
        discard(context, creds_id, stack)
    if stack.stack_user_project_id and not abandon:
        try:
            context.clients.client("keystone").delete_stack_domain_project(project_id=stack.stack_user_project_id)
        except Exception as error:
            LOG.exception("Error deleting project")
            return f"Error deleting project: {error}"
    return None
