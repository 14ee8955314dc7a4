# SPDX-License-Identifier: Apache-2.0
"""Links of views: from the identities that an engine returns to URLs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.api.request import Request


def above(url: str, rel: str, levels: int = 1) -> dict[str, str]:
    """The link to what is `levels` above a URL: above an event its resource, above that its stack."""
    return {"href": url.rsplit("/", 2 * levels)[0], "rel": rel}


def joined_status(record: Mapping[str, Any], action: str, status: str) -> str:
    """Action and status as the one word that users see: ``CREATE_COMPLETE``."""
    return f"{record[action]}_{status}" if action in record else status


def next_page(req: Request, last_id: str) -> str:
    """The URL of the page behind the item `last_id`: this one's with another marker."""
    from urllib.parse import urlencode

    pairs = [(key, value) for key, value in req.query.pairs if key != "marker"]
    return f"{req.path_url}?{urlencode([*pairs, ('marker', last_id)])}"
