# SPDX-License-Identifier: Apache-2.0
"""Resources of a stack: list, show, metadata, signals, marking as unhealthy."""

from __future__ import annotations

from typing import Any

from webob import exc

from openkeel_heat.api.native import arguments, resource_views
from openkeel_heat.api.request import Request
from openkeel_heat.common.i18n import _

FILTERS = ("type", "status", "name", "action", "id", "physical_resource_id")
_OPTIONS = ("nested_depth", "with_detail")
_MARK, _REASON = "mark_unhealthy", "resource_status_reason"


def index(req: Request, identity: dict[str, str]) -> dict[str, Any]:
    query = req.query
    unknown = [name for name in query.names() if name not in FILTERS and name not in _OPTIONS]
    if unknown:
        raise exc.HTTPBadRequest(_("Invalid filter parameters %s") % unknown)
    depth = query.get("nested_depth")
    found = req.rpc.list_stack_resources(
        req.context,
        identity,
        0 if depth is None else arguments.integer("nested_depth", depth),
        arguments.query_boolean(query, "with_detail"),
        filters=query.mixed(FILTERS),
    )
    return {"resources": [resource_views.resource(req, record) for record in found]}


def show(req: Request, identity: dict[str, str], resource_name: str) -> dict[str, Any]:
    attributes = req.query.getall("with_attr") or None
    found = req.rpc.describe_stack_resource(req.context, identity, resource_name, with_attr=attributes)
    return {"resource": resource_views.resource(req, found)}


def metadata(req: Request, identity: dict[str, str], resource_name: str) -> dict[str, Any]:
    found = req.rpc.describe_stack_resource(req.context, identity, resource_name)
    return {"metadata": found["metadata"]}


def signal(req: Request, identity: dict[str, str], resource_name: str, body: dict[str, Any] | None) -> None:
    req.rpc.resource_signal(req.context, stack_identity=identity, resource_name=resource_name, details=body)


def mark_unhealthy(req: Request, identity: dict[str, str], resource_name: str, body: dict[str, Any]) -> None:
    """Mark a resource as unhealthy (or healthy again), with a reason."""
    unknown = {key for key in body if key not in (_MARK, _REASON)}
    if unknown:
        raise exc.HTTPBadRequest(_("Invalid keys in resource mark unhealthy %s") % unknown)
    if _MARK not in body:
        raise exc.HTTPBadRequest(_("Missing mandatory (%s) key from mark unhealthy request") % _MARK)
    reason = body.get(_REASON, "")
    if reason is not None and not isinstance(reason, str):
        raise exc.HTTPBadRequest(_('"%s" must be a string') % _REASON)
    req.rpc.resource_mark_unhealthy(
        req.context,
        stack_identity=identity,
        resource_name=resource_name,
        mark_unhealthy=arguments.boolean(_MARK, body[_MARK]),
        resource_status_reason=reason,
    )
