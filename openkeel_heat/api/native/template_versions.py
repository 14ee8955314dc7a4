# SPDX-License-Identifier: Apache-2.0
"""Versions of the template language, and the functions each has."""

from __future__ import annotations

from typing import Any

from openkeel_heat.api.native import arguments
from openkeel_heat.api.request import Request


def index(req: Request) -> dict[str, Any]:
    return {"template_versions": req.rpc.list_template_versions(req.context)}


def functions(req: Request, template_version: str) -> dict[str, Any]:
    with_conditions = arguments.query_boolean(req.query, "with_condition_func")
    return {"template_functions": req.rpc.list_template_functions(req.context, template_version, with_conditions)}
