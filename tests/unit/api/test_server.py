# SPDX-License-Identifier: Apache-2.0
"""The HTTP server: requests as applications get them, stopping, workers, signals."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from oslo_config import cfg

from openkeel_heat.api import server
from tests.fixtures.processes import free_port
from tests.unit.conftest import Option


def until(condition: Callable[[], Any], what: str, limit: float = 20.0) -> Any:
    """Poll until `condition` is true."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not in time: {what}")


class App:
    """Remembers environments; ``/wait`` answers when it is told to, ``/read`` when it has read its body."""

    def __init__(self) -> None:
        self.environs: list[dict[str, Any]] = []
        self.go = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        self.environs.append(environ)
        if environ["PATH_INFO"] == "/wait":
            self.go.wait(20)
        if environ["PATH_INFO"] == "/read":
            try:
                environ["wsgi.input"].read(10)
            except TimeoutError:
                start_response("408 Request Timeout", [("Content-Length", "4")])
                return [b"late"]
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def api(app: App) -> Iterator[server.ApiServer]:
    api = server.ApiServer(app, "127.0.0.1", 0, threads=4).start()
    yield api
    app.go.set()
    api.stop(1)


def raw(api: server.ApiServer, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", api.port), 10) as sock:
        sock.sendall(text)
        sock.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: sock.recv(65536), b""))


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/v1/a", "/v1/a"),
        ("//v1/a?b=//c", "/v1/a"),
        ("/a%2Fb%2fc", "/a/b/c"),
        ("/a%252Fb", "/a%2Fb"),
        ("/%C3%A9", "/\xc3\xa9"),
        ("http://host/v1/x?y", "/v1/x"),
        ("/a;b", "/a;b"),
    ],
)
def test_paths(api: server.ApiServer, app: App, target: str, path: str) -> None:
    raw(api, f"GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
    assert app.environs[0]["PATH_INFO"] == path


def test_header_names_cannot_pass_for_others(api: server.ApiServer, app: App) -> None:
    reply = raw(api, b"GET / HTTP/1.1\r\nHost: h\r\nX_Roles: admin\r\nX-User-Id: u\r\nConnection: close\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200")
    assert "HTTP_X_ROLES" not in app.environs[0]
    assert app.environs[0]["HTTP_X_USER_ID"] == "u"


def test_no_host(api: server.ApiServer, app: App) -> None:
    raw(api, b"GET / HTTP/1.0\r\n\r\n")
    assert (app.environs[0]["SERVER_NAME"], app.environs[0]["SERVER_PORT"]) == ("127.0.0.1", str(api.port))


def test_bodies_beyond_any_limit_are_not_read(api: server.ApiServer, app: App) -> None:
    reply = raw(api, b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 413")
    assert app.environs == []


@pytest.mark.parametrize("length", ["1_0", "+10", "-1", "0x0a", "10 10", "\u0661", ""])
def test_a_length_is_digits(api: server.ApiServer, app: App, length: str) -> None:
    """Where a proxy takes another body for the first, a second request could hide in it."""
    head = f"POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    assert raw(api, head.encode() + b"0123456789").startswith(b"HTTP/1.1 400 ")
    assert app.environs == []


@pytest.mark.parametrize("framing", ["Content-Length: 10\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\na\r\n{"])
def test_a_body_that_stops_coming_is_answered_once(api: server.ApiServer, framing: str) -> None:
    api._server.timeout = 0.3
    with socket.create_connection(("127.0.0.1", api.port), 10) as sock:
        sock.sendall(f"POST /read HTTP/1.1\r\nHost: h\r\n{framing}".encode())
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b"late")
    assert answer.count(b"HTTP/1.1") == 1


def test_header_limit(app: App) -> None:
    api = server.ApiServer(app, "127.0.0.1", 0, threads=1, max_header_line=100).start()
    try:
        assert raw(api, b"GET / HTTP/1.1\r\nHost: h\r\nX-A: " + b"x" * 2000 + b"\r\n\r\n").startswith(b"HTTP/1.1 413")
    finally:
        api.stop(1)


def test_connections_are_kept(api: server.ApiServer, app: App) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"ok"
    assert len({environ["REMOTE_PORT"] for environ in app.environs}) == 1
    connection.close()


def test_stop_finishes_what_has_begun(app: App) -> None:
    api = server.ApiServer(app, "127.0.0.1", 0, threads=2).start()
    answers: list[bytes] = []
    port = api.port
    client = threading.Thread(
        target=lambda: answers.append(raw(api, b"GET /wait HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))
    )
    client.start()
    until(lambda: app.environs, "the request has come")
    stopper = threading.Thread(target=api.stop)
    stopper.start()
    app.go.set()
    stopper.join(20)
    client.join(20)
    assert answers[0].startswith(b"HTTP/1.1 200")
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 1)


def test_no_thread_stays(app: App) -> None:
    before = threading.active_count()
    for _ in range(2):
        server.ApiServer(app, "127.0.0.1", 0, threads=4).start().stop(1)
    until(lambda: threading.active_count() <= before, "threads have ended")


@pytest.mark.parametrize("group", ["heat_api", "heat_api_cfn"])
def test_an_address_that_is_taken_is_told_in_a_sentence(
    option: Option, caplog: pytest.LogCaptureFixture, group: str
) -> None:
    with server.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        option("bind_host", "127.0.0.1", group)
        option("bind_port", port, group)
        assert server.serve(cfg.CONF, group, lambda: pytest.fail("nothing is served")) == 1
    (told,) = caplog.records
    assert told.getMessage() == f"Cannot listen on 127.0.0.1:{port}: Address already in use"
    assert told.exc_info is None


def test_unix_socket(app: App, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "api.sock")
    api = server.ApiServer(app, path, 0, threads=1).start()
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert sock.recv(100).startswith(b"HTTP/1.1 200")
    finally:
        api.stop(1)


def certificate(directory: pathlib.Path) -> tuple[str, str]:
    """Files of a certificate for localhost, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (directory / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return str(directory / "cert.pem"), str(directory / "key.pem")


def test_tls(app: App, tmp_path: pathlib.Path) -> None:
    cert, key = certificate(tmp_path)
    api = server.ApiServer(app, "127.0.0.1", 0, threads=2, cert_file=cert, key_file=key).start()
    try:
        trusted = ssl.create_default_context(cafile=cert)
        connection = http.client.HTTPSConnection("localhost", api.port, timeout=10, context=trusted)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"ok"
        connection.close()
        assert app.environs[0]["wsgi.url_scheme"] == "https"
        # Somebody who speaks no TLS does no harm.
        with contextlib.suppress(OSError):
            raw(api, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"ok"
    finally:
        api.stop(1)


def test_certificate_without_a_key(app: App, tmp_path: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="key_file"):
        server.ApiServer(app, "127.0.0.1", 0, cert_file=certificate(tmp_path)[0])


# --- the daemon

DAEMON = """
import os, sys
from oslo_config import cfg
from oslo_log import log
from openkeel_heat.api import server
from openkeel_heat.common import config

conf = config.setup(["--config-file", sys.argv[1]], "heat-api")

def make():
    def app(environ, start_response):
        body = f"{os.getpid()} {conf.debug}".encode()
        start_response("200 OK", [("Content-Length", str(len(body))), ("Connection", "close")])
        return [body]
    return app

sys.exit(server.serve(conf, "heat_api", make))
"""


class Daemon:
    def __init__(self, directory: pathlib.Path, workers: int) -> None:
        self.port = free_port()
        self.file = directory / "heat.conf"
        self.workers = workers
        self.configure(debug=False)
        self.process = subprocess.Popen([sys.executable, "-c", DAEMON, str(self.file)], stderr=subprocess.DEVNULL)

    def configure(self, debug: bool) -> None:
        self.file.write_text(
            f"[DEFAULT]\ndebug = {debug}\n"
            f"[heat_api]\nbind_host = 127.0.0.1\nbind_port = {self.port}\nworkers = {self.workers}\n"
        )

    def get(self) -> list[str]:
        """Process id and debug flag, as a worker answers them; nothing while none answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().read().decode().split()
        except OSError:
            return []
        finally:
            connection.close()


@pytest.fixture(params=[1, 2])
def daemon(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path, request.param)
    yield daemon
    if daemon.process.poll() is None:
        daemon.process.kill()
    daemon.process.wait(20)


def test_daemon(daemon: Daemon) -> None:
    until(daemon.get, "it answers")
    if daemon.workers > 1:
        pids = set()
        until(lambda: pids.add(daemon.get()[0]) or len(pids) == 2, "both workers answer")
        victim = int(pids.pop())
        os.kill(victim, signal.SIGKILL)
        until(lambda: (daemon.get() or ["0"])[0] not in ("0", str(victim), *pids), "a new worker answers")
    daemon.configure(debug=True)
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: daemon.get()[1:] == ["True"], "the option is taken over")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(20) == 0
    assert daemon.get() == []


def test_workers_do_not_outlive_their_parent(tmp_path: pathlib.Path) -> None:
    daemon = Daemon(tmp_path, 2)
    until(daemon.get, "it answers")
    daemon.process.kill()
    daemon.process.wait(20)
    until(lambda: not daemon.get(), "nobody answers")
