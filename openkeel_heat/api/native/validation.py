# SPDX-License-Identifier: Apache-2.0
"""Validation of a template without a stack."""

from __future__ import annotations

from typing import Any

from webob import exc

from openkeel_heat.api.native import arguments
from openkeel_heat.api.native.instantiation import InstantiationData
from openkeel_heat.api.request import Request
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _


def validate_template(req: Request, body: dict[str, Any]) -> Any:
    data = InstantiationData(body)
    show_nested = bool(req.query.get("show_nested")) and arguments.query_boolean(req.query, "show_nested")
    result = req.rpc.validate_template(
        req.context, **data.sources(), show_nested=show_nested, ignorable_errors=_ignorable(req)
    )
    if "Error" in result:
        raise exc.HTTPBadRequest(result["Error"])
    return result


def _ignorable(req: Request) -> list[str] | None:
    """The numbers of the errors that are not to count; only those that exist are taken."""
    given = req.query.get("ignore_errors")
    if not given:
        return None
    codes = given.split(",")
    unknown = [code for code in dict.fromkeys(codes) if code not in exceptions.ERROR_CODE_MAP]
    if unknown:
        raise exc.HTTPBadRequest(_("Invalid codes in ignore_errors : %s") % unknown)
    return codes
