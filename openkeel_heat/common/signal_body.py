# SPDX-License-Identifier: Apache-2.0
"""Signals that a server leaves where they have to be fetched: it may leave anything there, of any size."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from openkeel_heat.common import strict_json
from openkeel_heat.common.i18n import _


class Unreadable(ValueError):
    """What was left is no signal."""


def check_size(size: Any) -> None:
    """Unreadable if there is more to be read than a signal by the API may have."""
    if int(size or 0) > cfg.CONF.max_json_body_size:
        raise Unreadable(_("Signal of %s bytes is too large") % size)


def read(body: bytes | str) -> Any:
    """The data of a signal; an empty one is a signal without data."""
    try:
        text = body.decode() if isinstance(body, bytes) else body
        return strict_json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        text = body.decode(errors="replace") if isinstance(body, bytes) else body
        raise Unreadable(_("Failed to parse JSON data: %s") % text) from error
