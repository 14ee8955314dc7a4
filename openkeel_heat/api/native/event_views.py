# SPDX-License-Identifier: Apache-2.0
"""Events as users see them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from openkeel_heat.api.native import links
from openkeel_heat.api.request import Request

#: What a list of events shows of each.
SUMMARY = frozenset(
    (
        "event_identity",
        "event_time",
        "resource_name",
        "resource_status",
        "resource_status_reason",
        "physical_resource_id",
    )
)
_INNER = frozenset(("stack_identity", "stack_name", "resource_action"))


def event(req: Request, record: Mapping[str, Any], keys: Collection[str] | None = None) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, value in record.items():
        if keys and key not in keys:
            continue
        if key == "event_identity":
            shown["id"] = value["path"].rpartition("/")[2]
            url = req.url(value)
            shown["links"] = [
                {"href": url, "rel": "self"},
                links.above(url, "resource"),
                links.above(url, "stack", 2),
            ]
        elif key == "resource_status":
            shown[key] = links.joined_status(record, "resource_action", value)
        elif key == "resource_name":
            shown["logical_resource_id"] = value
            shown[key] = value
        elif key not in _INNER:
            shown[key] = value
    root = record.get("root_stack_id")
    if root:
        shown["links"].append(req.link(root, "root_stack"))
    return shown
