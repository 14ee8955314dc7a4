# SPDX-License-Identifier: Apache-2.0
"""Resource types: the list, a type's schema, a template made from it."""

from __future__ import annotations

from typing import Any

from openkeel_heat.api.native import arguments
from openkeel_heat.api.request import Request


def index(req: Request) -> dict[str, Any]:
    query = req.query
    return {
        "resource_types": req.rpc.list_resource_types(
            req.context,
            support_status=query.get("support_status"),
            type_name=query.get("name"),
            heat_version=query.get("version"),
            with_description=arguments.query_boolean(query, "with_description"),
        )
    }


def schema(req: Request, type_name: str) -> Any:
    # Heat never looked at this flag here, so a value that is neither true nor false has always been taken.
    described = (req.query.get("with_description") or "").lower() == "true"
    return req.rpc.resource_schema(req.context, type_name, described)


def template(req: Request, type_name: str) -> Any:
    wanted = req.query.get("template_type")
    kind = "cfn" if wanted is None else arguments.template_type(wanted)
    return req.rpc.generate_template(req.context, type_name, kind)
