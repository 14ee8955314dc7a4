# SPDX-License-Identifier: Apache-2.0
"""The engines and whether they are up."""

from __future__ import annotations

from typing import Any

import oslo_messaging
from webob import exc

from openkeel_heat.api.request import Request
from openkeel_heat.common.i18n import _


def index(req: Request) -> dict[str, Any]:
    try:
        return {"services": req.rpc.list_services(req.context)}
    except oslo_messaging.MessagingTimeout as error:
        raise exc.HTTPServiceUnavailable(_("All heat engines are down.")) from error
