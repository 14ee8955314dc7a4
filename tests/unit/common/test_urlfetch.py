# SPDX-License-Identifier: Apache-2.0
"""Fetching of URLs: limits, and addresses that are refused at every hop."""

from __future__ import annotations

import http.server
import pathlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from oslo_config import cfg

from openkeel_heat.common import urlfetch

HOPS: dict[str, str] = {}


class Handler(http.server.BaseHTTPRequestHandler):
    asked: list[str] = []

    def do_GET(self) -> None:
        Handler.asked.append(self.path)
        if self.path in HOPS:
            self.send_response(302)
            self.send_header("Location", HOPS[self.path])
            self.end_headers()
        elif self.path == "/missing":
            self.send_error(404)
        else:
            body = b"x" * (5000 if self.path == "/large" else 10)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _options(option: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    Handler.asked.clear()


@pytest.fixture
def allow(option: Callable[..., None]) -> Callable[..., None]:
    return lambda *networks: option("allowed_networks", list(networks), "template_fetch")


def test_loopback_is_refused_like_a_silent_address(url: str, allow: Callable[..., None]) -> None:
    with pytest.raises(urlfetch.URLFetchError) as refused:
        urlfetch.get(f"{url}/x")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{free.getsockname()[1]}/x"
    allow("127.0.0.0/8")
    with pytest.raises(urlfetch.URLFetchError) as unreachable:
        urlfetch.get(silent)
    assert str(refused.value) == f"Failed to retrieve template from {url}/x"
    assert str(unreachable.value) == f"Failed to retrieve template from {silent}"
    assert Handler.asked == []


def test_allowed(url: str, allow: Callable[..., None]) -> None:
    allow("127.0.0.1/32")
    assert urlfetch.get(f"{url}/x") == b"x" * 10


def test_each_redirect_is_checked(url: str, allow: Callable[..., None]) -> None:
    allow("127.0.0.1/32")
    port = url.rsplit(":", 1)[1]
    HOPS["/hop"] = f"http://127.0.0.2:{port}/secret"
    HOPS["/scheme"] = "file:///etc/passwd"
    HOPS["/loop"] = "/loop"
    for path in ("/hop", "/scheme", "/loop"):
        with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve template from"):
            urlfetch.get(url + path)
    assert "/secret" not in Handler.asked
    assert Handler.asked.count("/loop") == 1 + cfg.CONF.template_fetch.max_redirects
    HOPS["/fine"] = "/x"
    assert urlfetch.get(f"{url}/fine") == b"x" * 10


def test_limits(url: str, allow: Callable[..., None], option: Callable[..., None]) -> None:
    allow("127.0.0.0/8")
    option("max_template_size", 1000)
    with pytest.raises(urlfetch.URLFetchError, match=r"Template exceeds maximum allowed size \(1000 bytes\)"):
        urlfetch.get(f"{url}/large")
    with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve"):
        urlfetch.get(f"{url}/missing")


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("127.0.0.1", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("169.254.169.254", False),
        ("fe80::1%eth0", False),
        ("0.0.0.0", False),
        ("10.0.0.1", True),
        ("192.168.1.1", True),
        ("fd00::1", True),
        ("93.184.216.34", True),
    ],
)
def test_networks(address: str, allowed: bool) -> None:
    assert urlfetch.permitted(address) is allowed


def test_schemes(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("content")
    with pytest.raises(urlfetch.URLFetchError, match="Invalid URL scheme file"):
        urlfetch.get(file.as_uri())
    assert urlfetch.get(file.as_uri(), allowed_schemes=("file",)) == b"content"
    with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve template: "):
        urlfetch.get("file:///nowhere", allowed_schemes=("file",))
    with pytest.raises(urlfetch.URLFetchError, match="Invalid URL scheme ftp"):
        urlfetch.get("ftp://host/x")
