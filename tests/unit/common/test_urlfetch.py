# SPDX-License-Identifier: Apache-2.0
"""Fetching of URLs: limits, and addresses that are refused at every hop."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import logging
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
    stop = threading.Event()

    def do_GET(self) -> None:
        Handler.asked.append(self.path)
        if self.path in HOPS:
            self.send_response(302)
            self.send_header("Location", HOPS[self.path])
            self.end_headers()
        elif self.path == "/missing":
            self.send_error(404)
        elif self.path == "/drip":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            with contextlib.suppress(OSError):
                while not Handler.stop.wait(0.05):
                    self.wfile.write(b"x")
                    self.wfile.flush()
        elif self.path in ("/slow-headers", "/again-and-again"):
            slow = self.path == "/slow-headers"
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: " if slow else b"HTTP/1.1 100 Continue\r\n\r\n")
                for _number in range(100):
                    if Handler.stop.wait(0.05):
                        return
                    self.wfile.write(b"x" if slow else b"HTTP/1.1 100 Continue\r\n\r\n")
                self.wfile.write(b"\r\n\r\n" if slow else b"HTTP/1.1 200 OK\r\n\r\n")
                Handler.asked.append("all of " + self.path)
        elif self.path == "/endless-redirect":
            self.send_response(302)
            self.send_header("Location", "/x")
            self.end_headers()
            with contextlib.suppress(OSError):
                for _number in range(64):
                    self.wfile.write(b"x" * 2**20)
                Handler.asked.append("all of " + self.path)
        elif self.path == "/zipped-twice":
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip, gzip")
            self.end_headers()
            self.wfile.write(gzip.compress(gzip.compress(b"y" * 20)))
        elif self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        elif self.path == "/zipped":
            body = gzip.compress(b"y" * 20)
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"x")
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
        # addresses behind which there is an IPv4 address
        ("::ffff:169.254.169.254", False),
        ("::ffff:10.0.0.1", True),
        ("::127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:7f00:1::", False),
        ("2002:5db8:d822::1", True),
        ("2001:0:5db8:d822::8000:fffe", False),  # Teredo of 127.255.0.1
    ],
)
def test_networks(address: str, allowed: bool) -> None:
    assert urlfetch.permitted(address) is allowed


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0"]
)
def test_every_spelling_of_the_loopback(url: str, host: str) -> None:
    with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve template from"):
        urlfetch.get(f"http://{host}:{url.rsplit(':', 1)[1]}/x")
    assert Handler.asked == []


def test_names_are_resolved_once(url: str, allow: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The address that was looked at is the one that is connected to; of several, the permitted ones."""
    port = int(url.rsplit(":", 1)[1])
    asked: list[str] = []
    real = socket.getaddrinfo
    answers = [["127.0.0.2", "127.0.0.1"], ["127.0.0.1"]]

    def resolve(host: str, *args: object, **kwargs: object) -> object:
        if host != "rebinding.test":
            return real(host, *args, **kwargs)  # type: ignore[arg-type]
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answers[len(asked) - 1]]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(urlfetch.URLFetchError):
        urlfetch.get(f"http://rebinding.test:{port}/x")
    assert asked == ["rebinding.test"] and Handler.asked == []
    asked.clear()
    allow("127.0.0.1/32")
    assert urlfetch.get(f"http://rebinding.test:{port}/x") == b"x" * 10
    assert asked == ["rebinding.test"]
    HOPS["/named"] = f"http://rebinding.test:{port}/secret"
    answers[:] = [["127.0.0.2"]]
    asked.clear()
    with pytest.raises(urlfetch.URLFetchError):
        urlfetch.get(f"{url}/named")
    assert "/secret" not in Handler.asked


def test_a_trickle_is_cut_off(url: str, allow: Callable[..., None], option: Callable[..., None]) -> None:
    allow("127.0.0.1/32")
    option("template_fetch_timeout", 0.4)
    with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve template from"):
        urlfetch.get(f"{url}/drip")
    Handler.stop.set()


@pytest.mark.parametrize("path", ["/slow-headers", "/again-and-again"])
def test_headers_count(url: str, allow: Callable[..., None], option: Callable[..., None], path: str) -> None:
    Handler.stop.clear()
    allow("127.0.0.1/32")
    option("template_fetch_timeout", 0.4)
    with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve template from"):
        urlfetch.get(url + path)
    Handler.stop.set()
    assert Handler.asked == [path]


def test_the_body_of_a_redirect_is_not_read(url: str, allow: Callable[..., None]) -> None:
    allow("127.0.0.1/32")
    assert urlfetch.get(f"{url}/endless-redirect") == b"x" * 10
    assert sorted(Handler.asked) == ["/endless-redirect", "/x"]


def test_what_was_compressed_twice_is_refused(url: str, allow: Callable[..., None]) -> None:
    allow("127.0.0.1/32")
    with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve template from"):
        urlfetch.get(f"{url}/zipped-twice")


def test_forms_of_answers(url: str, allow: Callable[..., None]) -> None:
    allow("127.0.0.1/32")
    assert urlfetch.get(f"{url}/chunked") == b"abcde"
    assert urlfetch.get(f"{url}/zipped") == b"y" * 20
    with pytest.raises(urlfetch.URLFetchError, match="Failed to retrieve template from"):
        urlfetch.get(f"{url}/cut")


def test_the_log_has_no_password_and_no_signature(
    url: str, allow: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="openkeel_heat")
    port = url.rsplit(":", 1)[1]
    for given in (
        f"http://user:s3cret@127.0.0.1:{port}/x?temp_url_sig=s3cret",
        f"http://u:s3cret@127.0.0.1:{port}/missing",
    ):
        with contextlib.suppress(urlfetch.URLFetchError):
            urlfetch.get(given)
        allow("127.0.0.1/32")
    assert f"Fetching http://127.0.0.1:{port}/x" in caplog.text
    assert "s3cret" not in caplog.text


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
