# SPDX-License-Identifier: Apache-2.0
"""Who may call what: the project of the path against that of the token, then the policy rule.

The target of a rule carries the project, so that rules such as ``project_id:%(project_id)s`` hold.  An admin is let
into the paths of other projects: redirects to a stack carry its owner's project.
"""

from __future__ import annotations

from typing import Any

from webob import exc

from openkeel_heat.common import policy


def enforce(context: Any, tenant: str, scope: str, action: str) -> None:
    """Refuse with 403 unless `context` may do ``scope:action`` in project `tenant`.

    A token that is for no project (but for a domain, or the system) opens none.
    """
    if context.is_admin:
        tenant = context.project_id
    if not context.project_id or context.project_id != tenant:
        raise exc.HTTPForbidden()
    allowed = policy.get_enforcer().enforce(
        context, action, scope=scope, target={"project_id": tenant}, is_registered_policy=True
    )
    if not allowed:
        raise exc.HTTPForbidden()


def check_project(context: Any, tenant: str) -> None:
    """Refuse with 403 when the path is another project's; an admin may use any."""
    if not context.project_id or (context.project_id != tenant and not context.is_admin):
        raise exc.HTTPForbidden()
