# SPDX-License-Identifier: Apache-2.0
"""Filters of other projects that most requests have no use for.

Each of them wraps a request and its answer in objects before it looks whether there is anything for it to do, and for
nearly all requests there is not. The table says what a filter looks for; a request that has none of it goes past the
filter, and nobody can tell the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

WSGIApp = Callable[..., Any]


class Wants(NamedTuple):
    """What a request has when a filter may do something about it."""

    headers: tuple[str, ...]
    methods: tuple[str, ...] = ()


#: ``module:class`` of a filter -> what it looks for.
WANTS: Mapping[str, Wants] = {
    "oslo_middleware.cors:CORS": Wants(("HTTP_ORIGIN",), ("OPTIONS",)),
    "oslo_middleware.http_proxy_to_wsgi:HTTPProxyToWSGI": Wants(
        (
            "HTTP_FORWARDED",
            "HTTP_X_FORWARDED_FOR",
            "HTTP_X_FORWARDED_HOST",
            "HTTP_X_FORWARDED_PREFIX",
            "HTTP_X_FORWARDED_PROTO",
        )
    ),
    "osprofiler.web:WsgiMiddleware": Wants(("HTTP_X_TRACE_INFO",)),
}


class Bypass:
    """`filtered` for requests that it is for, `application` for all others."""

    def __init__(self, wants: Wants, filtered: WSGIApp, application: WSGIApp) -> None:
        self.wants = wants
        self.filtered = filtered
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in self.wants.methods or any(name in environ for name in self.wants.headers):
            return self.filtered(environ, start_response)
        return self.application(environ, start_response)


def around(filtered: WSGIApp, application: WSGIApp) -> WSGIApp:
    """`filtered`, which is a filter before `application`, with a way past it if it is one of the table.

    A class made of one of those in the table may do more than it, so it is not taken for it.
    """
    kind = type(filtered)
    wants = WANTS.get(f"{kind.__module__}:{kind.__qualname__}")
    return filtered if wants is None else Bypass(wants, filtered, application)
