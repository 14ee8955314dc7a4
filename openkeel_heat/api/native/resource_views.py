# SPDX-License-Identifier: Apache-2.0
"""Resources as users see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.api.native import links
from openkeel_heat.api.request import Request

#: Fields of an engine's answer that are shown in another form or not at all.
_INNER = frozenset(("stack_name", "stack_identity", "resource_action", "nested_stack_id", "metadata"))


def resource(req: Request, record: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, value in record.items():
        if key == "resource_identity":
            url = req.url(value)
            shown["links"] = [{"href": url, "rel": "self"}, links.above(url, "stack")]
            nested = record.get("nested_stack_id")
            if nested:
                shown["links"].append(req.link(nested, "nested"))
        elif key == "resource_status":
            shown[key] = links.joined_status(record, "resource_action", value)
        elif key == "resource_name":
            shown["logical_resource_id"] = value
            shown[key] = value
        elif key not in _INNER:
            shown[key] = value
    return shown
