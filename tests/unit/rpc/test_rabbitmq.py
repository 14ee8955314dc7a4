# SPDX-License-Identifier: Apache-2.0
"""The same through RabbitMQ: ours to ours, and between ours and Heat 27.0.1 in both directions."""

from __future__ import annotations

import json
import subprocess
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging._drivers import impl_rabbit

from openkeel_heat.common import exceptions
from openkeel_heat.common.context import RequestContext
from openkeel_heat.rpc import listener_client, messaging, methods, rabbit, server
from openkeel_heat.rpc.client import EngineClient
from openkeel_heat.rpc.worker_client import WorkerClient
from tests.fixtures import stores, testbed

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not stores.have_rabbitmq(), reason="RabbitMQ is not running on this machine"),
]
reference = pytest.mark.skipif(not testbed.reference_installed(), reason="Heat 27.0.1 of the test bed is not installed")


class Engine:
    target = server.target_of(methods.ENGINE)

    @server.request_context
    def show_stack(self, ctxt: RequestContext, stack_identity: Any, resolve_outputs: bool) -> Any:
        if stack_identity == "missing":
            raise exceptions.EntityNotFound(entity="Stack", name="missing")
        if stack_identity == "bad":
            raise exceptions.StackValidationFailed(error="Error", path=["resources", "r", 0], message="bad")
        if stack_identity == "odd":
            raise ValueError("odd")
        return [ctxt.project_id, ctxt.roles, stack_identity, resolve_outputs]


class Worker:
    target = server.target_of(methods.WORKER)

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.came = threading.Event()

    def check_resource(self, ctxt: RequestContext, **arguments: Any) -> None:
        self.seen.append((ctxt.project_id, arguments))
        self.came.set()

    def cancel_check_resource(self, ctxt: RequestContext, stack_id: str) -> None:
        self.seen.append((ctxt.project_id, stack_id))
        self.came.set()


class Listener:
    def listening(self, ctxt: RequestContext) -> bool:
        return True


@pytest.fixture(scope="module")
def vhost() -> Iterator[str]:
    with stores.rabbitmq_vhost("rpc") as (_, url):
        yield url


@pytest.fixture
def bus(vhost: str, option: Callable[..., None]) -> Iterator[list[Any]]:
    messaging.cleanup()
    messaging.setup(url=vhost)
    servers: list[Any] = []
    yield servers
    messaging.stop_servers(servers)
    messaging.cleanup()


@pytest.fixture
def context() -> RequestContext:
    return RequestContext(project_id="p", user_id="u", roles=["member"], is_admin=False, overwrite=False)


def serve(servers: list[Any], topic: str, endpoint: Any, name: str) -> None:
    made = messaging.get_server(
        oslo_messaging.Target(topic=topic, server=name, version=methods.TOPICS[topic].version), endpoint
    )
    made.start()
    servers.append(made)


def test_a_call_that_reaches_a_server_which_ends(bus: list[Any], context: RequestContext) -> None:
    """Its broker does not know that it stops; another one answers, and nobody waits in vain."""
    serve(bus, methods.ENGINE, Engine(), "ends")
    ending = bus.pop()
    ending.stop()
    answers: list[Any] = []
    caller = threading.Thread(target=lambda: answers.append(EngineClient().show_stack(context, "s")), daemon=True)
    caller.start()
    caller.join(1)  # by then the call was delivered
    ending.wait()
    serve(bus, methods.ENGINE, Engine(), "stays")
    caller.join(30)
    assert answers == [["p", ["member"], "s", True]]


def test_calls_and_errors(bus: list[Any], context: RequestContext) -> None:
    serve(bus, methods.ENGINE, Engine(), "host")
    client = EngineClient()
    assert client.show_stack(context, {"stack_id": "i"}) == ["p", ["member"], {"stack_id": "i"}, True]
    with pytest.raises(exceptions.EntityNotFound) as known:
        client.show_stack(context, "missing")
    assert exceptions.local_error_name(known.value) == "EntityNotFound"
    assert known.value.message == "The Stack (missing) could not be found."
    with pytest.raises(exceptions.StackValidationFailed) as placed:
        client.show_stack(context, "bad")
    assert placed.value.message == "Error: : resources.r[0]: : bad"
    with pytest.raises(ValueError, match="odd"):
        client.show_stack(context, "odd")


def test_casts_and_one_engine(bus: list[Any], context: RequestContext) -> None:
    worker = Worker()
    serve(bus, methods.WORKER, worker, "e1")
    serve(bus, methods.LISTENER, Listener(), "e1")
    WorkerClient().check_resource(context, 7, "t", {"input_data": {"(1, true)": {"id": 1}}}, True, None)
    assert worker.came.wait(10)
    assert worker.seen[0][1]["data"] == {"input_data": {"(1, true)": {"id": 1}}}
    worker.came.clear()
    WorkerClient().cancel_check_resource(context, "stack", "e1")
    assert worker.came.wait(10)
    assert worker.seen[1] == ("p", "stack")
    assert listener_client.engine_alive(context, "e1")
    cfg.CONF.set_override("engine_life_check_timeout", 1)
    assert not listener_client.engine_alive(context, "nobody")
    cfg.CONF.clear_override("engine_life_check_timeout")


def test_a_broken_connection_is_made_anew(bus: list[Any], vhost: str, context: RequestContext) -> None:
    serve(bus, methods.ENGINE, Engine(), "host")
    client = EngineClient()
    assert client.show_stack(context, {"stack_id": "i"})
    pool = messaging.transport()._driver._connection_pool
    assert pool.connection_cls is rabbit.direct_connection(impl_rabbit.Connection)
    name = vhost.rpartition("/")[2]
    subprocess.run(["rabbitmqctl", "-q", "close_all_connections", "--vhost", name, "test"], check=True)
    assert client.show_stack(context, {"stack_id": "j"}) == ["p", ["member"], {"stack_id": "j"}, True]


# --- with the other implementation ------------------------------------------------------------------------------------

SETUP = """
import json, sys, warnings
warnings.simplefilter("ignore")
from oslo_service import backend
backend.init_backend(backend.BackendType.THREADING)
from oslo_config import cfg
from heat.common import config, context, exception, messaging
cfg.CONF([], project="heat", default_config_files=[])
messaging.setup(url=sys.argv[1])
ctxt = context.RequestContext(project_id="theirs", user_id="u", roles=["member"], is_admin=False)
"""

THEIR_CLIENT = """
from heat.rpc import client, listener_client, worker_client
engine = client.EngineClient()
out = {"answer": engine.show_stack(ctxt, {"stack_id": "i"})}
for case in ("missing", "bad", "odd"):
    try:
        engine.show_stack(ctxt, case)
    except Exception as error:
        out[case] = [type(error).__name__, getattr(error, "message", None), str(error).splitlines()[0]]
worker_client.WorkerClient().check_resource(ctxt, 1, "t", {"input_data": {}}, True, None)
worker_client.WorkerClient().cancel_check_resource(ctxt, "stack", "e1")
out["alive"] = listener_client.EngineListenerClient("e1").is_alive(ctxt)
print(json.dumps(out))
messaging.cleanup()
"""

THEIR_SERVER = """
import oslo_messaging
class Engine:
    target = oslo_messaging.Target(version="1.36")
    @context.request_context
    def show_stack(self, cnxt, stack_identity, resolve_outputs=True):
        if stack_identity == "missing":
            raise exception.EntityNotFound(entity="Stack", name="missing")
        if stack_identity == "bad":
            raise exception.StackValidationFailed(error="Error", path=["resources", "r", 0], message="bad")
        if stack_identity == "odd":
            raise ValueError("odd")
        return [cnxt.project_id, cnxt.roles, stack_identity, resolve_outputs]
server = messaging.get_rpc_server(oslo_messaging.Target(topic="engine", server="h", version="1.36"), Engine())
server.start()
print("ready", flush=True)
sys.stdin.readline()
server.stop()
server.wait()
messaging.cleanup()
"""

PYTHON = str(testbed.REFERENCE_VENV / "bin" / "python")


def script(body: str) -> str:
    return textwrap.dedent(SETUP) + textwrap.dedent(body)


@pytest.mark.reference
@reference
def test_their_client_and_our_servers(bus: list[Any], vhost: str) -> None:
    worker = Worker()
    serve(bus, methods.ENGINE, Engine(), "host")
    serve(bus, methods.WORKER, worker, "e1")
    serve(bus, methods.LISTENER, Listener(), "e1")
    done = subprocess.run([PYTHON, "-c", script(THEIR_CLIENT), vhost], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout.splitlines()[-1])
    assert out["answer"] == ["theirs", ["member"], {"stack_id": "i"}, True]
    assert out["missing"][:2] == ["EntityNotFound_Remote", "The Stack (missing) could not be found."]
    assert out["bad"] == [
        "StackValidationFailed_Remote",
        "Error: : resources.r[0]: : bad",
        "Error: resources.r[0]: bad",
    ]
    assert out["odd"][0] == "ValueError"
    assert out["alive"] is True
    assert [seen[0] for seen in worker.seen] == ["theirs", "theirs"]


@pytest.mark.reference
@reference
def test_our_client_and_their_server(bus: list[Any], vhost: str, context: RequestContext) -> None:
    process = subprocess.Popen(
        [PYTHON, "-c", script(THEIR_SERVER), vhost],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready", process.stderr.read() if process.stderr else ""
        client = EngineClient()
        assert client.show_stack(context, {"stack_id": "i"}) == ["p", ["member"], {"stack_id": "i"}, True]
        with pytest.raises(exceptions.EntityNotFound) as known:
            client.show_stack(context, "missing")
        assert known.value.message == "The Stack (missing) could not be found."
        with pytest.raises(exceptions.StackValidationFailed) as placed:
            client.show_stack(context, "bad")
        assert exceptions.local_message(placed.value) == "Error: : resources.r[0]: : bad"
        with pytest.raises(ValueError, match="odd"):
            client.show_stack(context, "odd")
    finally:
        process.communicate("stop\n", timeout=30)
