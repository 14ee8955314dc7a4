# SPDX-License-Identifier: Apache-2.0
"""Authentication by the engine's client backend: it is asked whether it takes the user's credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from oslo_context import context as oslo_context
from webob import exc

from openkeel_heat.api.request import ADHOC_ATTRS
from openkeel_heat.api.response import StartResponse
from openkeel_heat.common.i18n import _


class BackendAuth:
    def __init__(self, application: Callable[..., Any], rpc: Any = None) -> None:
        self.application = application
        if rpc is None:
            from openkeel_heat.rpc.client import EngineClient

            rpc = EngineClient()
        self.rpc = rpc

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        context = environ.get(ADHOC_ATTRS, {}).get("context") or oslo_context.get_current()
        if self.rpc.authenticated_to_backend(context):
            return self.application(environ, start_response)
        return exc.HTTPUnauthorized(_("Backend authentication failed"))(environ, start_response)


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Callable[..., BackendAuth]:
    """``heat.common.custom_backend_auth:filter_factory`` of an api-paste file."""
    return BackendAuth
