# SPDX-License-Identifier: Apache-2.0
"""Clients and servers over the bus within the process: calls, casts, errors, watchers."""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import oslo_messaging
import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.common.context import RequestContext
from openkeel_heat.common.identifier import HeatIdentifier
from openkeel_heat.rpc import listener_client, local_bus, messaging, methods, server
from openkeel_heat.rpc.client import EngineClient
from openkeel_heat.rpc.worker_client import WorkerClient


class Engine:
    target = server.target_of(methods.ENGINE)

    def __init__(self, name: str = "one") -> None:
        self.name = name
        self.casts: list[Any] = []
        self.came = threading.Event()

    @server.request_context
    def show_stack(self, ctxt: RequestContext, stack_identity: Any, resolve_outputs: bool) -> Any:
        errors = {
            "missing": lambda: exceptions.EntityNotFound(entity="Stack", name="missing"),
            "odd": lambda: ValueError("odd"),
            "foreign": lambda: oslo_messaging.MessagingException("foreign"),
        }
        if isinstance(stack_identity, str) and stack_identity in errors:
            raise errors[stack_identity]()
        return {"project": ctxt.project_id, "identity": stack_identity, "outputs": resolve_outputs, "by": self.name}

    def delete_stack(self, ctxt: RequestContext, stack_identity: Any) -> None:
        self.casts.append(stack_identity)
        self.came.set()

    def _hidden(self, ctxt: RequestContext) -> int:
        return 1


class Worker:
    target = server.target_of(methods.WORKER)

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.came = threading.Event()

    def check_resource(self, ctxt: RequestContext, **arguments: Any) -> None:
        self.seen.append(arguments)
        self.came.set()

    def cancel_check_resource(self, ctxt: RequestContext, stack_id: str) -> None:
        self.seen.append(stack_id)
        self.came.set()


class Listener:
    def listening(self, ctxt: RequestContext) -> bool:
        return True


@pytest.fixture
def bus(option: Callable[..., None]) -> Iterator[list[Any]]:
    messaging.cleanup()
    messaging.setup(url="fake://")
    servers: list[Any] = []
    yield servers
    messaging.stop_servers(servers)
    messaging.cleanup()
    messaging.watchers.clear()


def serve(servers: list[Any], topic: str, endpoint: Any, name: str = "host") -> Any:
    made = messaging.get_server(oslo_messaging.Target(topic=topic, server=name, version="1.36"), endpoint)
    made.start()
    servers.append(made)
    return made


@pytest.fixture
def context() -> RequestContext:
    return RequestContext(project_id="p", user_id="u", is_admin=False, overwrite=False)


def test_call(bus: list[Any], context: RequestContext) -> None:
    serve(bus, methods.ENGINE, Engine())
    answer = EngineClient().show_stack(context, {"stack_id": "i"}, resolve_outputs=False)
    assert answer == {"project": "p", "identity": {"stack_id": "i"}, "outputs": False, "by": "one"}


def test_errors(bus: list[Any], context: RequestContext, caplog: pytest.LogCaptureFixture) -> None:
    serve(bus, methods.ENGINE, Engine())
    client = EngineClient()
    with pytest.raises(exceptions.EntityNotFound) as known:
        client.show_stack(context, "missing")
    assert type(known.value).__name__ == "EntityNotFound_Remote"
    assert exceptions.local_message(known.value) == "The Stack (missing) could not be found."
    assert "Exception during message handling" not in caplog.text
    with pytest.raises(ValueError, match="odd"):
        client.show_stack(context, "odd")
    assert "Exception during message handling" in caplog.text
    with pytest.raises(oslo_messaging.RemoteError) as foreign:
        client.show_stack(context, "foreign")
    assert foreign.value.exc_type == "MessagingException"
    with client.ignore_error_by_name("EntityNotFound"):
        client.show_stack(context, "missing")
    with pytest.raises(ValueError, match="odd"), client.ignore_error_by_name("EntityNotFound"):
        client.show_stack(context, "odd")


def test_private_methods_are_refused(bus: list[Any], context: RequestContext) -> None:
    serve(bus, methods.ENGINE, Engine())
    with pytest.raises(oslo_messaging.RemoteError):
        EngineClient().call(context, ("_hidden", {}))


def test_cast(bus: list[Any], context: RequestContext) -> None:
    engine = Engine()
    EngineClient().delete_stack(context, "early", cast=True)  # nobody listens yet
    serve(bus, methods.ENGINE, engine)
    assert engine.came.wait(5)
    assert engine.casts == ["early"]


def test_servers_of_a_topic_take_turns(bus: list[Any], context: RequestContext) -> None:
    for name in ("one", "two"):
        serve(bus, methods.ENGINE, Engine(name), name)
    assert [EngineClient().show_stack(context, "s")["by"] for _ in range(4)] == ["one", "two"] * 2
    bus.pop(0).stop()
    assert {EngineClient().show_stack(context, "s")["by"] for _ in range(3)} == {"two"}


def test_worker_messages(bus: list[Any], context: RequestContext) -> None:
    mine, other = Worker(), Worker()
    serve(bus, methods.WORKER, mine, "e1")
    serve(bus, methods.WORKER, other, "e2")
    WorkerClient().cancel_check_resource(context, "stack", "e2")
    assert other.came.wait(5)
    assert (mine.seen, other.seen) == ([], ["stack"])
    other.came.clear()
    WorkerClient().check_resource(context, 1, "t", {"input_data": {"(1, true)": None}}, True, None)
    deadline = time.monotonic() + 5
    while len(mine.seen) + len(other.seen) < 2 and time.monotonic() < deadline:
        other.came.wait(0.01)
    (arguments,) = [one for one in mine.seen + other.seen if one != "stack"]
    assert arguments["data"] == {"input_data": {"(1, true)": None}}
    assert arguments["node_type"] == "resource"


def test_is_alive(bus: list[Any], context: RequestContext, option: Callable[..., None]) -> None:
    serve(bus, methods.LISTENER, Listener(), "e1")
    assert listener_client.engine_alive(context, "e1")
    option("engine_life_check_timeout", 0)
    assert not listener_client.engine_alive(context, "e2")


class Faults:
    def __init__(self, where: str) -> None:
        self.where = where
        self.seen: list[tuple[str, str]] = []

    def before_send(self, message: messaging.Message) -> None:
        self.seen.append((message.kind, message.method))
        if self.where == "before":
            raise oslo_messaging.MessageDeliveryFailure("lost")

    def after_send(self, message: messaging.Message) -> None:
        if self.where == "after":
            raise oslo_messaging.MessagingTimeout("sent, and yet")


@pytest.mark.parametrize(("where", "arrives"), [("before", False), ("after", True), ("nowhere", True)])
def test_watchers(bus: list[Any], context: RequestContext, where: str, arrives: bool) -> None:
    engine = Engine()
    serve(bus, methods.ENGINE, engine)
    watcher = Faults(where)
    messaging.watchers.append(watcher)
    try:
        EngineClient().delete_stack(context, "s", cast=True)
        failed = False
    except oslo_messaging.MessagingException:
        failed = True
    assert failed == (where != "nowhere")
    assert engine.came.wait(5 if arrives else 0.05) == arrives
    assert watcher.seen == [("cast", "delete_stack")]


def test_no_thread_is_left(bus: list[Any], context: RequestContext) -> None:
    before = threading.active_count()
    made = serve(bus, methods.ENGINE, Engine())
    for _ in range(20):
        EngineClient().show_stack(context, "s")
    made.stop()
    made.wait()
    bus.clear()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before
    assert local_bus.bus().backlog() == 0


def test_a_bus_has_to_be_set_up() -> None:
    messaging.cleanup()
    with pytest.raises(RuntimeError, match="not set up"):
        messaging.transport()


def test_trace_travels_with_the_context(monkeypatch: pytest.MonkeyPatch, context: RequestContext) -> None:
    from osprofiler import profiler

    from openkeel_heat.rpc.serializer import RequestContextSerializer

    serializer = RequestContextSerializer()
    assert "trace_info" not in serializer.serialize_context(context)
    try:
        profiler.init("key", base_id="b", parent_id="p")
        sent = serializer.serialize_context(context)
        assert set(sent["trace_info"]) == {"hmac_key", "base_id", "parent_id"}
        profiler.clean()
        back = serializer.deserialize_context(sent)
        assert back.project_id == "p"
        assert profiler.get().get_base_id() == "b"
    finally:
        profiler.clean()


class Odd(dict[str, Any]):
    pass


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": [1, 2.5, "x", None, True, {"b": []}]}, True),
        ([], True),
        (None, True),
        ("text", True),
        ({1: "a"}, False),
        ({"a": (1, 2)}, False),
        ({"a": [{"b": {"c": datetime.datetime(2026, 1, 2, 3, 4, 5)}}]}, False),
        ({"a": {1, 2}}, False),
        ([Odd(a=1)], False),
        (HeatIdentifier("t", "s", "i"), False),
    ],
)
def test_what_is_plain_is_sent_as_it_is(value: Any, plain: bool) -> None:
    from openkeel_heat.rpc.serializer import RequestContextSerializer, is_plain

    assert is_plain(value) is plain
    sent = RequestContextSerializer().serialize_entity(None, value)
    assert (sent is value) is plain
    usual = oslo_messaging.JsonPayloadSerializer().serialize_entity(None, value)
    assert json.dumps(sent) == json.dumps(usual)
