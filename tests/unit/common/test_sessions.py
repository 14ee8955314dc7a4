# SPDX-License-Identifier: Apache-2.0
"""What sessions share, and what they do not."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from keystoneauth1 import token_endpoint
from keystoneauth1.identity import generic

from openkeel_heat.common import sessions


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    sessions.reset()
    yield
    sessions.reset()


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections: set[Any]
    cookies: list[str | None]

    def do_GET(self) -> None:
        self.connections.add(self.client_address)
        self.cookies.append(self.headers.get("Cookie"))
        self.send_response(200)
        self.send_header("Set-Cookie", f"whose={len(self.cookies)}")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[tuple[str, type[Service]]]:
    class Own(Service):
        connections: set[Any] = set()
        cookies: list[str | None] = []

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", Own
    server.shutdown()
    server.server_close()


def test_sessions_share_connections_and_no_cookies(service: tuple[str, type[Service]]) -> None:
    url, seen = service
    for _ in range(5):
        one = sessions.make(auth=token_endpoint.Token(url, "t"))
        assert one.get(url).status_code == 200
        del one  # a session that ends leaves the connections
    assert len(seen.connections) == 1
    assert seen.cookies == [None] * 5


def test_certificates_are_each_sessions_own() -> None:
    safe, unsafe = sessions.make(verify="/ca.pem"), sessions.make(verify=False)
    unsafe.verify = False
    assert safe.verify == "/ca.pem"
    adapter = safe.session.get_adapter("https://host/")
    assert adapter is unsafe.session.get_adapter("https://host/")
    request: Any = type("Request", (), {"url": "https://host/x"})()
    pools = [adapter.get_connection_with_tls_context(request, verify=verify) for verify in (True, False)]
    assert pools[0] is not pools[1]
    assert pools[0].cert_reqs != pools[1].cert_reqs


def test_versions_are_believed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(sessions.time, "monotonic", lambda: now[0])
    first = sessions.make()._discovery_cache
    assert sessions.make()._discovery_cache is first
    now[0] = sessions.DISCOVERY_AGE + 1
    assert sessions.make()._discovery_cache is not first


def test_accounts_are_told_apart() -> None:
    def account(**values: Any) -> Any:
        own = {"auth_url": "http://k", "username": "u", "password": "p", "domain_id": "d"}
        return generic.Password(**{**own, **values})

    first = sessions.shared(account())
    assert sessions.shared(account()) is first
    others = ({"password": "q"}, {"username": "v"}, {"domain_id": "e"}, {"auth_url": "http://l"}, {"trust_id": "t"})
    for other in others:
        assert sessions.shared(account(**other)) is not first
    unknown = token_endpoint.Token("http://k", "t")
    assert sessions.shared(unknown) is unknown
    for number in range(sessions.ACCOUNTS):
        sessions.shared(account(username=str(number)))
    assert sessions.shared(account()) is not first  # bounded


def trusted(trust_id: str) -> Any:
    return sessions.shared(generic.Password("http://k", username="heat", password="p", trust_id=trust_id), trust_id)


def test_a_trust_has_one_token_and_takes_no_room_of_accounts() -> None:
    service = sessions.shared(generic.Password("http://k", username="heat", password="p"))
    first = trusted("a")
    assert trusted("a") is first
    assert trusted("b") is not first
    for number in range(sessions.TRUSTS):
        trusted(str(number))
    assert trusted("a") is not first  # bounded
    assert sessions.shared(generic.Password("http://k", username="heat", password="p")) is service


def test_a_trust_that_is_gone_is_asked_for_anew() -> None:
    """Its token is not believed any more; those of other trusts are."""
    gone, other = trusted("gone"), trusted("other")
    sessions.forget_trust("gone")
    sessions.forget_trust("never known")
    assert trusted("gone") is not gone and trusted("other") is other


def test_a_child_shares_nothing_with_its_parent() -> None:
    adapter = sessions.make().session.get_adapter("http://host/")
    pid = os.fork()
    if not pid:
        os._exit(int(sessions.make().session.get_adapter("http://host/") is adapter))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
