# SPDX-License-Identifier: Apache-2.0
"""Software configs."""

from __future__ import annotations

from typing import Any, NoReturn

from webob import exc

from openkeel_heat.api import policy
from openkeel_heat.api.native import arguments
from openkeel_heat.api.request import Request
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

FIELDS = ("name", "group", "config", "inputs", "outputs", "options")


def _page(req: Request, context: Any) -> dict[str, Any]:
    params = req.query.single("limit", "marker")
    if "limit" in params:
        params["limit"] = arguments.integer("limit", params["limit"])
    return {"software_configs": req.rpc.list_software_configs(context, **params)}


def index(req: Request) -> dict[str, Any]:
    if arguments.query_boolean(req.query, "global_tenant"):
        policy.enforce(req.context, req.context.project_id, "software_configs", "global_index")
        from openkeel_heat.common import context

        return _page(req, context.get_admin_context())
    return _page(req, req.context)


def create(req: Request, body: dict[str, Any]) -> dict[str, Any]:
    for name in ("inputs", "outputs"):
        given = body.get(name) or []
        if not (isinstance(given, list) and all(isinstance(schema, dict) for schema in given)):
            raise exc.HTTPBadRequest(_('"%s" must be a list of mappings') % name)
    made = req.rpc.create_software_config(req.context, **{name: body.get(name) for name in FIELDS})
    return {"software_config": made}


def show(req: Request, config_id: str) -> dict[str, Any]:
    return {"software_config": req.rpc.show_software_config(req.context, config_id)}


def delete(req: Request, config_id: str) -> NoReturn:
    try:
        refused = req.rpc.delete_software_config(req.context, config_id)
    except Exception as error:
        if exceptions.local_error_name(error) == "InvalidRestrictedAction":  # a deployment uses it
            error.http_error = exc.HTTPConflict  # type: ignore[attr-defined]
        raise
    if refused is not None:
        raise exc.HTTPBadRequest(refused["Error"])
    raise exc.HTTPNoContent()
