# SPDX-License-Identifier: Apache-2.0
"""Errors of finders that are not on the bus by themselves (``heat.engine.clients.client_exception``)."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.exceptions import HeatException
from openkeel_heat.common.i18n import _


class EntityMatchNotFound(HeatException):
    msg_fmt = _("No %(entity)s matching %(args)s.")

    def __init__(self, entity: str | None = None, args: Any = None, **kwargs: Any) -> None:
        super().__init__(entity=entity, args=args, **kwargs)


class EntityUniqueMatchNotFound(EntityMatchNotFound):
    msg_fmt = _("No %(entity)s unique match found for %(args)s.")


class InterfaceNotFound(HeatException):
    msg_fmt = _("No network interface found for server %(id)s.")
