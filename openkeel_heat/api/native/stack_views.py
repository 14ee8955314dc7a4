# SPDX-License-Identifier: Apache-2.0
"""Stacks as users see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from openkeel_heat.api.native import links
from openkeel_heat.api.request import Request

#: What a list of stacks shows of each.
SUMMARY = frozenset(
    (
        "stack_identity",
        "stack_name",
        "description",
        "stack_status",
        "stack_status_reason",
        "creation_time",
        "deletion_time",
        "updated_time",
        "stack_owner",
        "parent",
        "stack_user_project_id",
        "tags",
    )
)


def stack(
    req: Request, record: Mapping[str, Any], keys: Collection[str] | None = None, with_project: bool = False
) -> dict[str, Any]:
    """One stack; of its fields only `keys` when given."""
    shown: dict[str, Any] = {}
    for key, value in record.items():
        if keys and key not in keys:
            continue
        if key == "stack_identity":
            shown["id"] = value["stack_id"]
            shown["links"] = [req.link(value)]
            if with_project:
                shown["project"] = value["tenant"]
        elif key == "stack_status":
            shown[key] = links.joined_status(record, "stack_action", value)
        elif key != "stack_action":
            shown[key] = value
    return shown


def page(
    req: Request,
    records: Iterable[Mapping[str, Any]],
    count: int | None = None,
    with_project: bool = False,
    keys: Collection[str] | None = SUMMARY,
) -> dict[str, Any]:
    """A list of stacks, with the link to the next page when this one is full."""
    stacks = [stack(req, record, keys, with_project) for record in records]
    shown: dict[str, Any] = {"stacks": stacks}
    limit = req.query.get("limit") or "0"
    if stacks and limit.isdigit() and int(limit) == len(stacks):
        shown["links"] = [{"rel": "next", "href": links.next_page(req, stacks[-1]["id"])}]
    if count is not None:
        shown["count"] = count
    return shown
