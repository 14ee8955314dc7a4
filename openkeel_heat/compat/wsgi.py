# SPDX-License-Identifier: Apache-2.0
"""What WSGI scripts and filters of others take from ``heat.common.wsgi`` and ``heat.api.*.wsgi``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def init_api() -> Callable[..., Any]:
    from openkeel_heat.api import wsgi

    return wsgi.init_application("heat-api")


def init_cfn() -> Callable[..., Any]:
    from openkeel_heat.api import wsgi

    return wsgi.init_application("heat-api-cfn")


class Middleware:
    """Base of filters: override ``process_request`` to answer early, ``process_response`` to change an answer."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self.application = application

    def process_request(self, req: Any) -> Any:
        return None

    def process_response(self, response: Any) -> Any:
        return response

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        import webob

        req = webob.Request(environ)
        answer = self.process_request(req)
        if answer is None:
            answer = self.process_response(req.get_response(self.application))
        return answer(environ, start_response)
