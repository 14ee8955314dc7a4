# SPDX-License-Identifier: Apache-2.0
"""The context of a request, made from what the filters before it found out about the user.

It is left where filters built on webob look for it (``req.context``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from openkeel_heat.api.request import ADHOC_ATTRS
from openkeel_heat.api.response import StartResponse
from openkeel_heat.common.context import RequestContext

#: Set where a signature was checked. Any client can send the header with an access key, which opens a resource.
SIGNED = "openkeel_heat.signed"


class ContextMiddleware:
    """`context_class` of the section names another class than `RequestContext`."""

    def __init__(self, application: Callable[..., Any], conf: Any = None, **local_conf: str) -> None:
        self.application = application
        self.context_class: Any = RequestContext
        name = local_conf.get("context_class")
        if name:
            module, _, attribute = name.replace(":", ".").rpartition(".")
            self.context_class = getattr(importlib.import_module(module), attribute)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        environ.setdefault(ADHOC_ATTRS, {})["context"] = self.make(environ)
        return self.application(environ, start_response)

    def make(self, environ: dict[str, Any]) -> Any:
        username = environ.get("HTTP_X_AUTH_USER")
        return self.context_class.from_environ(
            environ,
            username=username,
            password=environ.get("HTTP_X_AUTH_KEY") if username is not None else None,
            aws_creds=environ.get("HTTP_X_AUTH_EC2_CREDS") if username is None and environ.get(SIGNED) else None,
            auth_url=environ.get("HTTP_X_AUTH_URL"),
            auth_token_info=environ.get("keystone.token_info"),
            region_name=environ.get("HTTP_X_REGION_NAME"),
            auth_plugin=environ.get("keystone.token_auth"),
        )


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Callable[..., ContextMiddleware]:
    """``heat.common.context:ContextMiddleware_filter_factory`` of an api-paste file."""

    def make(app: Callable[..., Any]) -> ContextMiddleware:
        return ContextMiddleware(app, global_conf, **local_conf)

    return make
