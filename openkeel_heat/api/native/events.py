# SPDX-License-Identifier: Apache-2.0
"""Events of a stack and of one of its resources."""

from __future__ import annotations

from typing import Any

from webob import exc

from openkeel_heat.api.native import arguments, event_views
from openkeel_heat.api.request import Request
from openkeel_heat.common.i18n import _

FILTERS = ("resource_status", "resource_action", "resource_name", "resource_type")


def _list(req: Request, identity: dict[str, str], filters: dict[str, Any] | None, **params: Any) -> list[Any]:
    wanted = dict.fromkeys(("limit", "marker", "sort_keys", "sort_dir", "nested_depth")) | params
    return req.rpc.list_events(req.context, identity, filters=filters, **wanted)


def index(req: Request, identity: dict[str, str], resource_name: str | None = None) -> dict[str, Any]:
    """Summaries of the events of a stack, or of one resource."""
    query = req.query
    params = arguments.paging(query)
    depth = query.get("nested_depth")
    if depth:
        params["nested_depth"] = arguments.integer("nested_depth", depth)
    filters = query.mixed(FILTERS) or None
    if resource_name is not None:
        filters = {**(filters or {}), "resource_name": resource_name}
    found = _list(req, identity, filters, **params)
    if not found and resource_name is not None and "marker" not in params:
        raise exc.HTTPNotFound(_("No events found for resource %s") % resource_name)
    return {"events": [event_views.event(req, record, event_views.SUMMARY) for record in found]}


def show(req: Request, identity: dict[str, str], resource_name: str, event_id: str) -> dict[str, Any]:
    found = _list(req, identity, {"resource_name": resource_name, "uuid": event_id})
    if not found:
        raise exc.HTTPNotFound(_("No event %s found") % event_id)
    return {"event": event_views.event(req, found[0])}
