# SPDX-License-Identifier: Apache-2.0
"""Object store and messages: what is asked again, how much is read, and what is in no log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from keystoneauth1 import exceptions as errors

from openkeel_heat.clients import rest
from openkeel_heat.clients.rest_errors import InvalidResponse
from openkeel_heat.common import exceptions
from tests.fixtures.rest_server import FakeCloud, Refusal, Request, RestServer
from tests.unit.conftest import Option

KEY = "X-Account-Meta-Temp-URL-Key"


class Swift(RestServer):
    """Containers with objects, as far as it goes: an object may be larger than the list says."""

    prefix = "/v1/AUTH_project"

    def setup(self) -> None:
        self.containers: dict[str, dict[str, bytes]] = {}
        self.listed: dict[str, int] = {}
        self.route("PUT", "/([^/]+)", self.put_container)
        self.route("GET", "/([^/]+)", self.get_container)
        self.route("PUT", "/([^/]+)/(.+)", self.put)
        self.route("GET", "/([^/]+)/(.+)", self.get)

    def put_container(self, request: Request, name: str) -> tuple[int, Any]:
        self.containers.setdefault(name, {})
        return 201, None

    def get_container(self, request: Request, name: str) -> tuple[int, Any]:
        if name not in self.containers:
            raise Refusal(404)
        return 200, [{"name": key, "bytes": 0} for key in self.containers[name]]

    def put(self, request: Request, container: str, name: str) -> tuple[int, Any]:
        self.containers[container][name] = request.body
        return 201, None

    def get(self, request: Request, container: str, name: str) -> tuple[int, Any]:
        if name not in self.containers[container]:
            raise Refusal(404)
        return 200, self.containers[container][name]


@pytest.fixture
def store() -> Iterator[Swift]:
    with Swift() as running:
        yield running


@pytest.fixture
def plugin(store: Swift, option: Option, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    return FakeCloud(object_store=store).plugin("swift")


def test_a_store_that_says_later_is_asked_again(store: Swift, plugin: Any) -> None:
    swift = plugin.client()
    for verb in ("PUT", "GET"):
        store.fault(verb, ".*", times=2, status=503)
    swift.put_container("c")
    swift.put_object("c", "dir/", b"x")
    assert swift.get_object("c", "dir/")[1] == b"x"
    store.fault("GET", ".*", status=404)
    with pytest.raises(errors.NotFound) as caught:
        swift.get_object("c", "o")
    assert plugin.is_not_found(caught.value)


def test_an_object_that_grows_when_it_is_read_is_not_read_to_its_end(store: Swift, plugin: Any, option: Option) -> None:
    """Whoever makes a stack of files in a container may have an object there that is made of thousands of others."""
    option("max_json_body_size", 100_000)
    store.containers["c"] = {"small": b"x" * 60_000, "whole": b"{}"}
    assert plugin.get_files_from_container("c") == {"small": "x" * 60_000, "whole": "{}"}
    store.containers["c"]["huge"] = b"x" * 20_000_000
    with pytest.raises(exceptions.DownloadLimitExceeded, match="Object huge of container c is larger than"):
        plugin.get_files_from_container("c")
    assert plugin.get_files_from_container("c", ["huge"]).keys() == {"small", "whole"}
    store.containers["c"] = {"one": b"x" * 60_000, "two": b"x" * 60_000}
    with pytest.raises(exceptions.DownloadLimitExceeded):
        plugin.get_files_from_container("c")


@pytest.mark.parametrize(("container", "obj"), [("", None), ("c", ""), ("", "o")])
def test_a_name_of_nothing_is_not_what_is_above_it(store: Swift, plugin: Any, container: str, obj: str | None) -> None:
    """The deletion of an object must not be that of its container."""
    swift = plugin.client()
    asks: list[Callable[[], Any]] = [lambda: swift.delete_container(container), lambda: swift.put_container(container)]
    if obj is not None:
        asks = [lambda: swift.delete_object(container, obj), lambda: swift.get_object(container, obj)]
    for ask in asks:
        with pytest.raises(errors.NotFound):
            ask()
    assert not store.requests


def test_keys_of_accounts_and_what_objects_hold_are_in_no_log(
    store: Swift, plugin: Any, debug_log: pytest.LogCaptureFixture
) -> None:
    store.route("POST", "/?", lambda request: (204, None))
    swift = plugin.client()
    swift.post_account({KEY: "h1dden"})
    swift.put_container("c")
    swift.put_object("c", "o", '{"password": "h1dden"}')
    assert b"h1dden" in swift.get_object("c", "o")[1]
    assert "h1dden" not in debug_log.text and "PUT" in debug_log.text


class Zaqar(RestServer):
    prefix = "/v2"

    def setup(self) -> None:
        self.posted: list[Any] = []
        self.answer_with: Any = {"messages": []}
        self.route("POST", "/queues/q/messages", self.post)
        self.route("GET", "/queues/q/messages", lambda request: (200, self.answer_with))
        self.route("POST", "/queues/q/share", lambda request: (200, {"signature": "h1dden"}))

    def post(self, request: Request) -> tuple[int, Any]:
        self.posted.append(request.json)
        return 201, {}


@pytest.fixture
def messages() -> Iterator[Zaqar]:
    with Zaqar() as running:
        yield running


@pytest.fixture
def queue(messages: Zaqar, option: Option, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    return FakeCloud(messaging=messages).plugin("zaqar").client().queue("q")


def test_a_message_is_posted_once(messages: Zaqar, queue: Any) -> None:
    messages.fault("POST", ".*", status=503)
    queue.post({"body": 1})
    assert len(messages.posted) == 1
    messages.fault("POST", ".*", cut=True, after=True)
    with pytest.raises(errors.ConnectFailure):
        queue.post({"body": 2})
    assert len(messages.posted) == 2


@pytest.mark.parametrize("answer", [b"<html>Welcome</html>", []])
def test_an_answer_that_has_no_messages_is_not_an_empty_queue(messages: Zaqar, queue: Any, answer: Any) -> None:
    messages.answer_with = answer
    with pytest.raises(InvalidResponse):
        queue.messages()


def test_messages_and_signatures_are_in_no_log(
    messages: Zaqar, queue: Any, debug_log: pytest.LogCaptureFixture
) -> None:
    messages.answer_with = {"messages": [{"body": "h1dden"}]}
    queue.post({"body": {"password": "h1dden"}})
    assert queue.messages()[0].body == "h1dden" and queue.signed_url()["signature"] == "h1dden"
    assert "h1dden" not in debug_log.text
