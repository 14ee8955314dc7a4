# SPDX-License-Identifier: Apache-2.0
"""Going past a filter changes no answer, and is what nearly all requests do."""

from __future__ import annotations

from typing import Any

import pytest
import webob.dec
from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi
from osprofiler import web

from openkeel_heat.api import bypass
from tests.contract import api_harness as harness

FILTERS = {
    "cors": lambda app: cors.CORS(app, cfg.CONF),
    "proxy": lambda app: http_proxy_to_wsgi.HTTPProxyToWSGI(app, cfg.CONF),
    "osprofiler": lambda app: web.WsgiMiddleware(app, hmac_keys="k", enabled=True),
}
REQUESTS: list[tuple[str, dict[str, str], bool]] = [
    # method, headers, whether some filter is asked
    ("GET", {}, False),
    ("POST", {"Content-Type": "application/json", "X-Auth-Token": "t"}, False),
    ("HEAD", {}, False),
    ("GET", {"Origin": "https://dashboard"}, True),
    ("GET", {"Origin": "https://elsewhere"}, True),
    ("OPTIONS", {}, True),
    ("OPTIONS", {"Origin": "https://dashboard", "Access-Control-Request-Method": "PUT"}, True),
    ("GET", {"Forwarded": "for=1.2.3.4;proto=https;host=cloud"}, True),
    ("GET", {"X-Forwarded-Proto": "https"}, True),
    ("GET", {"X-Forwarded-Host": "cloud"}, True),
    ("GET", {"X-Forwarded-For": "1.2.3.4"}, True),
    ("GET", {"X-Forwarded-Prefix": "/heat"}, True),
    ("GET", {"X-Trace-Info": "x", "X-Trace-HMAC": "y"}, True),
]


@pytest.fixture(autouse=True)
def options() -> None:
    cfg.CONF.register_opts(http_proxy_to_wsgi.OPTS, group="oslo_middleware")
    cfg.CONF.register_opts(cors.OPTS, group="cors")
    cfg.CONF.set_override("allowed_origin", ["https://dashboard"], group="cors")
    cfg.CONF.set_override("enable_proxy_headers_parsing", True, group="oslo_middleware")


def inner(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    seen = [environ.get(name) for name in ("wsgi.url_scheme", "HTTP_HOST", "REMOTE_ADDR", "SCRIPT_NAME")]
    body = repr(seen).encode()
    headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(body))), ("X-Own", "1")]
    start_response("203 Perhaps", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def test_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    original = webob.dec.wsgify.__call__

    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(self)
        return original(self, *args, **kwargs)

    for method, headers, wanted in REQUESTS:
        whole: Any = inner
        short: Any = inner
        for make in FILTERS.values():
            whole = make(whole)
            made = bypass.around(make(short), short)
            assert isinstance(made, bypass.Bypass)
            short = made
        reference = harness.request(whole, method, "/v1", headers=headers)
        with monkeypatch.context() as patch:
            patch.setattr(webob.dec.wsgify, "__call__", ask)
            reply = harness.request(short, method, "/v1", headers=headers)
        assert (reply.status, dict(reply.headers), reply.body) == (
            reference.status,
            dict(reference.headers),
            reference.body,
        ), (method, headers)
        assert bool(asked) == wanted, (method, headers)
        asked.clear()


def test_a_class_of_its_own_is_always_asked() -> None:
    class Mine(cors.CORS):
        pass

    mine = Mine(inner, cfg.CONF)
    assert bypass.around(mine, inner) is mine
    assert bypass.around(inner, inner) is inner
