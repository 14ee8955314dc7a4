# SPDX-License-Identifier: Apache-2.0
"""Actions on a stack: the body names one, and each has its policy rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webob import exc

from openkeel_heat.api import policy
from openkeel_heat.api.request import Request
from openkeel_heat.common.i18n import _

_DO: dict[str, Callable[[Any, Any, dict[str, str]], Any]] = {
    "suspend": lambda rpc, context, identity: rpc.stack_suspend(context, identity),
    "resume": lambda rpc, context, identity: rpc.stack_resume(context, identity),
    "check": lambda rpc, context, identity: rpc.stack_check(context, identity),
    "cancel_update": lambda rpc, context, identity: rpc.stack_cancel_update(
        context, identity, cancel_with_rollback=True
    ),
    "cancel_without_rollback": lambda rpc, context, identity: rpc.stack_cancel_update(
        context, identity, cancel_with_rollback=False
    ),
}


def action(req: Request, tenant: str, identity: dict[str, str], body: dict[str, Any] | None) -> None:
    """Do the one action that `body` names."""
    if not body:
        raise exc.HTTPBadRequest(_("No action specified"))
    if len(body) > 1:
        raise exc.HTTPBadRequest(_("Multiple actions specified"))
    name = next(iter(body))
    if name not in _DO:
        raise exc.HTTPBadRequest(_("Invalid action %s specified") % name)
    policy.enforce(req.context, tenant, "actions", name)
    _DO[name](req.rpc, req.context, identity)
