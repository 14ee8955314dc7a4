# SPDX-License-Identifier: Apache-2.0
"""Software deployments, and all configs deployed to one server."""

from __future__ import annotations

from typing import Any, NoReturn

from webob import exc

from openkeel_heat.api.request import Request

CREATE_FIELDS = (
    "config_id",
    "server_id",
    "input_values",
    "action",
    "status",
    "status_reason",
    "stack_user_project_id",
)
UPDATE_FIELDS = ("config_id", "input_values", "output_values", "action", "status", "status_reason")


def index(req: Request) -> dict[str, Any]:
    found = req.rpc.list_software_deployments(req.context, **req.query.single("server_id"))
    return {"software_deployments": found}


def metadata(req: Request, server_id: str) -> dict[str, Any]:
    return {"metadata": req.rpc.metadata_software_deployments(req.context, server_id=server_id)}


def create(req: Request, body: dict[str, Any]) -> dict[str, Any]:
    made = req.rpc.create_software_deployment(req.context, **{name: body.get(name) for name in CREATE_FIELDS})
    return {"software_deployment": made}


def show(req: Request, deployment_id: str) -> dict[str, Any]:
    return {"software_deployment": req.rpc.show_software_deployment(req.context, deployment_id)}


def update(req: Request, deployment_id: str, body: dict[str, Any]) -> dict[str, Any]:
    values = {name: body[name] for name in UPDATE_FIELDS if body.get(name) is not None}
    changed = req.rpc.update_software_deployment(req.context, deployment_id, **values)
    return {"software_deployment": changed}


def delete(req: Request, deployment_id: str) -> NoReturn:
    refused = req.rpc.delete_software_deployment(req.context, deployment_id)
    if refused is not None:
        raise exc.HTTPBadRequest(refused["Error"])
    raise exc.HTTPNoContent()
