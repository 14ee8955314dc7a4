# SPDX-License-Identifier: Apache-2.0
"""The clients of Swift and Zaqar over canned answers, and where there is no Keystone."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from keystoneauth1 import exceptions as errors

from openkeel_heat.clients import swift, zaqar
from openkeel_heat.common import config, exceptions
from openkeel_heat.common.context import RequestContext


class Answer:
    url = "http://swift"
    request = SimpleNamespace(method="")

    def __init__(self, body: Any = b"", headers: dict[str, str] | None = None, status: int = 200) -> None:
        self.status_code = status
        self.content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = headers or {}

    def json(self) -> Any:
        return json.loads(self.content)


class Adapter:
    """Answers by verb and URL; remembers what it was asked."""

    def __init__(self, endpoint: str, **answers: Any) -> None:
        self.endpoint = endpoint
        self.answers = answers
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def get_endpoint(self) -> str:
        return self.endpoint

    def request(self, url: str, verb: str, **sent: Any) -> Answer:
        self.asked.append((verb, url, sent))
        found = self.answers.get(f"{verb} {url.removeprefix(self.endpoint)}", Answer())
        return found


@pytest.fixture
def context(option: Callable[..., None]) -> RequestContext:
    option("keystone_backend", config.LOCAL_KEYSTONE)
    return RequestContext(project_id="p", user_id="u", username="n", password="pw", is_admin=False, overwrite=False)


def swift_plugin(context: RequestContext, **answers: Any) -> tuple[swift.SwiftClientPlugin, Adapter]:
    adapter = Adapter("http://swift:8080/v1/AUTH_p", **answers)
    plugin = swift.SwiftClientPlugin(context)
    plugin._client_instances[None] = swift.Connection(adapter)
    return plugin, adapter


def test_what_a_container_says_of_itself_is_asked_for_as_by_swift_own_client(context: RequestContext) -> None:
    """What is accepted is the content-type that is told, which is an attribute of resources."""
    plugin, adapter = swift_plugin(context)
    plugin.client().head_container("c")
    assert adapter.asked[0][2]["headers"]["Accept"] == "*/*"


@pytest.mark.parametrize("container", ["..", ".", "../AUTH_q/c", "c/o", "/", "..//", ""])
def test_names_that_lead_out_of_the_account(context: RequestContext, container: str) -> None:
    plugin, adapter = swift_plugin(context)
    connection = plugin.client()
    for ask in (
        lambda: connection.get_container(container),
        lambda: connection.put_container(container),
        lambda: connection.get_object("c", container) if ".." in container else connection.head_container(container),
        lambda: plugin.get_files_from_container(container),
    ):
        with pytest.raises((errors.NotFound, exceptions.NotFound)):
            ask()
    assert adapter.asked == []
    assert connection.get_object("c", "a/..b/.c/...")[1] == b""


def test_without_keystone(context: RequestContext) -> None:
    for name in ("swift", "zaqar"):
        with pytest.raises(exceptions.ClientNotAvailable, match=f"The client \\({name}\\) is not available."):
            context.clients.client(name)


KEY = Answer(headers={"x-account-meta-temp-url-key": "secret"})


@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_temporary_url(context: RequestContext, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    theirs = pytest.importorskip("swiftclient.utils")
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    plugin, _adapter = swift_plugin(context, **{"HEAD ": KEY})
    for timeout in (None, 60):
        seconds = swift.MAX_EPOCH - 60 - 1_000_000 if timeout is None else timeout
        expected = theirs.generate_temp_url("/v1/AUTH_p/c/o", seconds, "secret", method)
        assert plugin.get_temp_url("c", "o", timeout, method) == f"http://swift:8080{expected}"


def test_the_key_of_an_account_is_made_once(context: RequestContext) -> None:
    plugin, adapter = swift_plugin(context)
    answers = iter([Answer(), KEY])
    adapter.answers = {}
    adapter.request = lambda url, verb, **sent: (  # type: ignore[method-assign]
        adapter.asked.append((verb, url, sent)) or (next(answers) if verb == "HEAD" else Answer())
    )
    assert "temp_url_sig" in parse_qs(urlparse(plugin.get_temp_url("c", "o")).query)
    assert [verb for verb, _url, _sent in adapter.asked] == ["HEAD", "POST", "HEAD"]
    assert len(adapter.asked[1][2]["headers"]["x-account-meta-temp-url-key"]) == 32


@pytest.mark.parametrize(
    ("path", "valid"),
    [
        ("/v1/AUTH_p/c/o", True),
        ("/v1/AUTH_p/c/o/more", True),
        ("/v1/AUTH_p/c/o/", True),
        ("/v2/AUTH_p/c/o", False),
        ("/v1/AUTH_q/c/o", False),
        ("/v1/AUTH_p//o", False),
        ("/v1/AUTH_p/c//", False),
        ("/v1/AUTH_p/c", False),
        ("v1/AUTH_p/c/o", False),
    ],
)
def test_paths_of_temporary_urls(context: RequestContext, path: str, valid: bool) -> None:
    assert swift.SwiftClientPlugin(context).is_valid_temp_url_path(path) == valid


def test_last_modified(context: RequestContext) -> None:
    parse = swift.SwiftClientPlugin(context).parse_last_modified
    assert parse("Tue, 03 Feb 2026 04:05:06 GMT") == datetime.datetime(2026, 2, 3, 4, 5, 6)
    assert parse(None) is None and parse("") is None


def test_errors(context: RequestContext) -> None:
    plugins = (swift.SwiftClientPlugin(context), zaqar.ZaqarClientPlugin(context))
    for plugin in plugins:
        assert plugin.is_not_found(errors.NotFound()) and plugin.is_over_limit(errors.RequestEntityTooLarge())
        assert plugin.is_client_exception(errors.NotFound())
        assert not plugin.is_not_found(ValueError()) and not plugin.is_client_exception(ValueError())
    assert plugins[0].is_conflict(errors.Conflict())


# Zaqar


def queue_of(**answers: Any) -> tuple[zaqar.Queue, Adapter]:
    adapter = Adapter("", **answers)
    return zaqar.Client(adapter, {"X-Project-Id": "p"}).queue("q-1"), adapter


def test_messages() -> None:
    queue, adapter = queue_of(**{"DELETE /queues/q-1/messages": Answer({"messages": [{"body": {"a": 1}, "id": "i"}]})})
    queue.post({"body": 1, "ttl": 60})
    (message,) = queue.pop()
    assert (message.body, message.id) == ({"a": 1}, "i")
    assert queue.messages() == []
    verbs = [(verb, path, sent.get("json"), sent.get("params")) for verb, path, sent in adapter.asked]
    assert verbs == [
        ("POST", "/queues/q-1/messages", {"messages": [{"body": 1, "ttl": 60}]}, None),
        ("DELETE", "/queues/q-1/messages", None, {"pop": 1}),
        ("GET", "/queues/q-1/messages", None, {}),
    ]
    assert adapter.asked[0][2]["headers"].keys() >= {"Client-ID", "X-Project-Id"}


def test_signed_url() -> None:
    path = "/v2/queues/q-1/messages"
    answer = {"project": "p", "paths": [path], "methods": ["GET"], "expires": "e", "signature": "s"}
    queue, adapter = queue_of(**{"POST /queues/q-1/share": Answer(answer)})
    assert queue.signed_url(["messages"], ttl_seconds=60, methods=["GET"]) == answer
    sent = adapter.asked[0][2]["json"]
    assert (sent["paths"], sent["methods"]) == (["messages"], ["GET"]) and sent["expires"]


@pytest.mark.parametrize("name", ["", "a b", "ü", "a/b"])
def test_bad_names(name: str) -> None:
    with pytest.raises(ValueError, match="may only contain ASCII letters"):
        zaqar.Client(None).queue(name)


def test_queue_names_of_the_constraint(context: RequestContext) -> None:
    plugin = zaqar.ZaqarClientPlugin(context)
    assert plugin.get_queue("x" * 64) == "x" * 64
    for bad, error in ((1, TypeError), ("", ValueError), ("x" * 65, ValueError)):
        with pytest.raises(error):
            plugin.get_queue(bad)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://z:8888", "http://z:8888/v2"),
        ("http://z/v2/", "http://z/v2"),
        ("http://z/messaging/v1.1", "http://z/messaging/v2"),
    ],
)
def test_endpoint(context: RequestContext, monkeypatch: pytest.MonkeyPatch, url: str, expected: str) -> None:
    monkeypatch.setattr(zaqar.ZaqarClientPlugin, "url_for", lambda self, **_more: url)
    assert zaqar.ZaqarClientPlugin(context)._endpoint() == expected
