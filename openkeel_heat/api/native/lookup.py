# SPDX-License-Identifier: Apache-2.0
"""From a stack's name, id or ARN alone to its full address."""

from __future__ import annotations

from typing import Any, NoReturn

from webob import exc

from openkeel_heat.api.request import Request
from openkeel_heat.common.identifier import HeatIdentifier


def lookup(req: Request, stack_name: str, path: str = "", body: Any = None) -> NoReturn:
    """Redirect to the stack (or to `path` below it), whatever the method; the query goes along."""
    try:
        identity = dict(HeatIdentifier.from_arn(stack_name))
    except ValueError:
        identity = req.rpc.identify_stack(req.context, stack_name)
    location = req.url(identity)
    if path:
        location = f"{location}/{path}"
    if req.query:
        location = f"{location}?{req.query.encoded()}"
    raise exc.HTTPFound(location=location)
