# SPDX-License-Identifier: Apache-2.0
"""Deployed servers: their metadata by each transport. Signals by Swift and by queues."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.lifecycle import Pause
from tests.unit.resources.fakes import Driver, FakeClients, FakeStack, drive, hot
from tests.unit.resources.test_types import FakeKeystone, Plugin, created


class Missing(Exception):
    pass


class Clash(Exception):
    pass


class ServicePlugin(Plugin):
    """Errors of the fakes below."""

    service_types: list[str] = []
    DEFAULT_TTL = 3600

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, Missing)

    def is_conflict(self, ex: BaseException) -> bool:
        return isinstance(ex, Clash)

    def does_endpoint_exist(self, service_type: str, service_name: str) -> bool:
        return (service_type, service_name) in (("object-store", "swift"), ("messaging", "zaqar"))

    def get_cfn_metadata_server_url(self) -> str:
        return "http://heat:8000/v1/"

    @property
    @contextlib.contextmanager
    def ignore_not_found(self) -> Iterator[None]:
        with contextlib.suppress(Missing):
            yield

    @property
    @contextlib.contextmanager
    def ignore_conflict_and_not_found(self) -> Iterator[None]:
        with contextlib.suppress(Missing, Clash):
            yield


class Version(bytes):
    """What an object held from some moment on."""

    moment = ""


class FakeSwift:
    """Containers of objects, each a list of versions. All but the last are objects of their own, by when they came."""

    def __init__(self) -> None:
        self.containers: dict[str, dict[str, list[Version]]] = {}
        self.puts = 0
        self.after_reading: list[Callable[[], None]] = []  # what happens next

    def _place(self, container: str, name: str) -> tuple[list[Version], int]:
        for object_name, versions in self.containers.get(container, {}).items():
            for number in range(len(versions)):
                if name == self._name(object_name, versions, number):
                    return versions, number
        raise Missing()

    @staticmethod
    def _name(object_name: str, versions: list[Version], number: int) -> str:
        if number == len(versions) - 1:
            return object_name
        return "%03x%s/%s" % (len(object_name), object_name, versions[number].moment)

    def put_container(self, container: str, headers: Any = None) -> None:
        self.containers.setdefault(container, {})

    def get_container(self, container: str) -> tuple[Any, list[dict[str, Any]]]:
        if container not in self.containers:
            raise Missing()
        return {}, sorted(
            [
                {"name": self._name(name, versions, number), "bytes": len(versions[number])}
                for name, versions in self.containers[container].items()
                for number in range(len(versions))
            ],
            key=lambda entry: entry["name"],
        )

    def head_container(self, container: str) -> dict[str, str]:
        return {"x-container-object-count": str(len(self.get_container(container)[1]))}

    def delete_container(self, container: str) -> None:
        if self.containers.get(container):
            raise Clash()
        if self.containers.pop(container, None) is None:
            raise Missing()

    def put_object(self, container: str, name: str, contents: Any, add: bool = False) -> None:
        body = Version(contents.encode() if isinstance(contents, str) else contents)
        body.moment = "17000000%02d.12345" % self.puts
        self.puts += 1
        versions = self.containers[container].setdefault(name, [])
        if not add:
            versions.clear()
        versions.append(body)

    def get_object(self, container: str, name: str) -> tuple[Any, bytes]:
        versions, number = self._place(container, name)
        found = {"x-timestamp": versions[number].moment}, versions[number]
        if self.after_reading:
            self.after_reading.pop(0)()
        return found

    def delete_object(self, container: str, name: str) -> None:
        versions, number = self._place(container, name)
        del versions[number]
        if not versions:
            del self.containers[container][name]


class SwiftPlugin(ServicePlugin):
    def get_temp_url(self, container: str, name: str, timeout: Any = None, method: str = "PUT") -> str:
        return "http://swift/v1/AUTH_project/%s/%s?method=%s" % (container, name, method)

    def get_signal_url(self, container: str, name: str, timeout: Any = None) -> str:
        self.client().put_container(container)
        self.client().put_object(container, name, "in progress")
        return self.get_temp_url(container, name)

    def is_valid_temp_url_path(self, path: str) -> bool:
        return path.startswith("/v1/AUTH_project/")


class FakeQueue:
    def __init__(self, queues: dict[str, list[Any]], name: str) -> None:
        self.queues, self.name = queues, name

    def post(self, message: Any) -> None:
        self.queues.setdefault(self.name, []).append(message["body"])

    def pop(self) -> list[Any]:
        found = self.queues.get(self.name)
        return [type("Message", (), {"body": found.pop(0)})] if found else []

    def signed_url(self, paths: Any, methods: Any) -> dict[str, Any]:
        return {"paths": paths, "methods": methods, "signature": "s", "expires": "e", "project": "p"}

    def delete(self) -> None:
        if self.queues.pop(self.name, None) is None:
            raise Missing()


class ZaqarPlugin(ServicePlugin):
    def __init__(self) -> None:
        super().__init__()
        self.queues: dict[str, list[Any]] = {}

    def create_for_tenant(self, project: str, token: str) -> Any:
        assert (project, token) == ("stack-user-project", "a-token")
        return type("Client", (), {"queue": lambda _self, name: FakeQueue(self.queues, name)})()


def services() -> FakeClients:
    return FakeClients(
        keystone=Plugin(FakeKeystone()), heat=ServicePlugin(), swift=SwiftPlugin(FakeSwift()), zaqar=ZaqarPlugin()
    )


# --- deployed servers


def server(**props: Any) -> Any:
    stack = FakeStack(
        hot({"r": {"type": "OS::Heat::DeployedServer", "metadata": {"mine": 1}, "properties": props}}),
        clients=services(),
    )
    stack.handlers = {}
    stack.register_access_allowed_handler = stack.handlers.__setitem__
    stack.context.auth_url = "http://keystone/v3"
    return stack["r"]


def metadata(resource: Any) -> dict[str, Any]:
    return resource.metadata_get(refresh=True)


def updated(resource: Any, meta: Any = None, **props: Any) -> Driver:
    after = FakeStack(hot({"r": {"type": resource.type(), "metadata": meta or {"mine": 1}, "properties": props}})).defn
    driver = drive(lifecycle.update(resource, after.resource_definition("r")), resource)
    assert driver.short[-1] == "UPDATE_COMPLETE"
    return driver


def test_poll_cfn() -> None:
    resource = created(server(name="n"))  # the default
    assert resource.resource_id == resource.uuid
    section = {
        "metadata_url": "http://heat:8000/v1/",
        "access_key_id": "AK",
        "secret_access_key": "SK",
        "stack_name": "st",
        "path": "r.Metadata",
    }
    collect = {"collectors": ["cfn", "local"], "cfn": section}
    assert metadata(resource) == {"mine": 1, "deployments": [], "os-collect-config": collect}
    assert resource.FnGetAtt("os_collect_config") == collect and resource.FnGetAtt("name") == "n"
    assert set(resource.stack.handlers) == {"AK", "user"}
    assert resource.stack.handlers["AK"]("r") and not resource.stack.handlers["AK"]("other")
    drive(lifecycle.delete(resource), resource)
    assert "user" not in resource.keystone().users


def test_poll_heat() -> None:
    resource = created(server(software_config_transport="POLL_SERVER_HEAT"))
    assert metadata(resource)["os-collect-config"] == {
        "collectors": ["heat", "local"],
        "heat": {
            "user_id": "user",
            "password": resource.data()["password"],
            "auth_url": "http://keystone/v3",
            "project_id": "stack-user-project",
            "stack_id": "st/" + resource.stack.id,
            "resource_name": "r",
            "region_name": "RegionOne",
        },
    }
    assert set(resource.stack.handlers) == {"user"}


def test_poll_temporary_url() -> None:
    resource = created(server(software_config_transport="POLL_TEMP_URL", deployment_swift_data={"object": "o"}))
    container = resource.physical_resource_name()
    assert metadata(resource)["os-collect-config"] == {
        "collectors": ["request", "local"],
        "request": {"metadata_url": "http://swift/v1/AUTH_project/%s/o?method=GET" % container},
    }
    assert resource.data()["metadata_put_url"] == "http://swift/v1/AUTH_project/%s/o?method=PUT" % container
    swift = resource.client("swift")
    assert json.loads(swift.get_object(container, "o")[1]) == metadata(resource)
    drive(lifecycle.delete(resource), resource)
    assert swift.containers == {}


def test_queue() -> None:
    resource = created(server(software_config_transport="ZAQAR_MESSAGE"))
    name, queues = resource.physical_resource_name(), resource.client_plugin("zaqar").queues
    section = metadata(resource)["os-collect-config"]["zaqar"]
    assert (section["queue_id"], section["user_id"]) == (name, "user")
    assert queues == {name: [metadata(resource)]}
    drive(lifecycle.delete(resource), resource)
    assert queues == {}


def test_another_transport() -> None:
    resource = created(server(software_config_transport="ZAQAR_MESSAGE"))
    resource.stack.store._metadata[resource.id]["deployments"] = ["kept"]
    updated(resource, software_config_transport="POLL_SERVER_HEAT")
    collect = metadata(resource)["os-collect-config"]
    assert collect["collectors"] == ["heat", "local"] and set(collect["zaqar"].values()) == {None}
    assert metadata(resource)["deployments"] == ["kept"] and resource.client_plugin("zaqar").queues == {}
    assert "metadata_queue_id" not in resource.data()


@pytest.mark.parametrize("transport", ["POLL_SERVER_HEAT", "ZAQAR_MESSAGE"])
def test_a_transport_that_needs_a_password(transport: str) -> None:
    """The user was made without one. In 27.0.1 it stays so: nobody can sign in, and the update fails if we have to."""
    resource = created(server())
    assert resource.keystone().users["user"][1] is None
    updated(resource, software_config_transport=transport)
    assert resource.keystone().users["user"][1] == resource.data()["password"]
    assert resource.data()["access_key"] == "AK", "the agent learns of it by the transport of before"


def test_other_metadata() -> None:
    """Deployments and what the agent needs stay."""
    resource = created(server())
    resource.stack.store._metadata[resource.id]["deployments"] = ["kept"]
    collect = metadata(resource)["os-collect-config"]
    updated(resource, {"new": 1, "deployments": ["not mine"], "os-collect-config": {"own": 1}})
    assert metadata(resource) == {"new": 1, "deployments": ["kept"], "os-collect-config": {**collect, "own": 1}}


def test_metadata_of_attributes() -> None:
    resource = created(server())
    resource.stack.store._metadata[resource.id]["mine"] = "old"
    resource.metadata_update()
    assert metadata(resource)["mine"] == 1 and metadata(resource)["deployments"] == []
    resource.metadata_update({"mine": 2})
    assert metadata(resource)["mine"] == 1


def test_resumed_after_the_id_was_stored() -> None:
    resource = server()
    Driver(lifecycle.create(resource), resource).step()
    resource.resource_id_set(resource.uuid)
    drive(lifecycle.resume_action(resource), resource)
    assert metadata(resource)["os-collect-config"]["collectors"] == ["cfn", "local"]


def test_with_a_snapshot_it_is_just_deleted() -> None:
    resource = created(server())
    assert resource.handle_snapshot_delete(resource.state) is None
    assert "user" not in resource.keystone().users


# --- wait conditions by Swift and by queues


def waiting(transport: str, count: int = 2) -> FakeStack:
    stack = FakeStack(
        hot(
            {
                "h": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": transport}},
                "w": {
                    "type": "OS::Heat::WaitCondition",
                    "properties": {"handle": "user", "timeout": 10, "count": count},
                },
            }
        ),
        clients=services(),
    )
    created(stack["h"])
    stack["h"].FnGetAtt("signal")
    return stack


def test_wait_condition_by_temporary_url() -> None:
    stack = waiting("TEMP_URL_SIGNAL")
    swift, name = stack["h"].client("swift"), stack["h"].physical_resource_name()
    assert swift.containers == {stack.id: {name: [b"in progress"]}}
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)
    assert metadata(stack["h"]) == {}  # the first version of the object is no signal
    swift.put_object(stack.id, name, '{"id": "a", "data": 1}', add=True)
    swift.put_object(stack.id, name, "", add=True)
    driver.run()
    assert {key: signal["data"] for key, signal in metadata(stack["h"]).items()} == {"a": 1, "2": None}
    drive(lifecycle.delete(stack["h"]), stack["h"])
    assert swift.containers == {}


@pytest.mark.parametrize("when", [0, 1, 2])
def test_a_signal_that_comes_while_another_is_taken(when: int) -> None:
    """Also between the reading of the object and what is done with it: each counts, and counts once."""
    stack = waiting("TEMP_URL_SIGNAL", count=4)
    swift, name = stack["h"].client("swift"), stack["h"].physical_resource_name()
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)

    def come(what: str) -> Callable[[], None]:
        return lambda: swift.put_object(stack.id, name, '{"data": "%s"}' % what, add=True)

    come("a")()
    swift.after_reading = [lambda: None] * when + [come("b"), come("c")]
    for _poll in range(8):
        driver.step()
    assert sorted(signal["data"] for signal in metadata(stack["h"]).values()) == ["a", "b", "c"]
    come("d")()
    driver.run()
    assert len(metadata(stack["h"])) == 4
    drive(lifecycle.delete(stack["h"]), stack["h"])
    assert swift.containers == {}


def test_wait_condition_by_queue() -> None:
    stack = waiting("ZAQAR_SIGNAL")
    handle, queues = stack["h"], stack["h"].client_plugin("zaqar").queues
    signal = json.loads(handle.FnGetAtt("signal"))
    assert signal["queue_id"] == handle.physical_resource_name() and signal["user_id"] == "user"
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)
    queue = FakeQueue(queues, signal["queue_id"])
    for number in range(2):
        queue.post({"body": {"data": number}})
    driver.run()
    assert sorted(entry["data"] for entry in metadata(handle).values()) == [0, 1]
    drive(lifecycle.delete(handle), handle)
    assert queues == {}


def test_no_signal_takes_the_place_of_another() -> None:
    """A sender has chosen the id that the next signal without one would get."""
    stack = waiting("TOKEN_SIGNAL")
    for signal in ({"id": 2}, {}, {}):
        stack["h"].signal(signal)
    assert sorted(metadata(stack["h"])) == ["2", "3", "4"]


# --- OS::Heat::SwiftSignal


def swift_signal(count: int = 1, url: str | None = None) -> FakeStack:
    stack = FakeStack(hot({"h": {"type": "OS::Heat::SwiftSignalHandle"}}), clients=services())
    created(stack["h"])
    other = FakeStack(
        hot(
            {
                "h": {"type": "OS::Heat::SwiftSignalHandle"},
                "w": {
                    "type": "OS::Heat::SwiftSignal",
                    "properties": {"handle": url or stack["h"].FnGetRefId(), "timeout": 10, "count": count},
                },
            }
        ),
        clients=stack.clients,
    )
    created(other["h"])
    return other


def put(stack: FakeStack, body: str) -> None:
    stack["h"].client("swift").put_object(stack.id, stack["h"].physical_resource_name(), body, add=True)


def test_swift_signal() -> None:
    stack = swift_signal(count=2)
    handle, condition = stack["h"], stack["w"]
    condition.validate()
    url = handle.FnGetAtt("endpoint")
    assert handle.FnGetRefId() == url and handle.FnGetAtt("token") == ""
    assert handle.FnGetAtt("curl_cli") == "curl -i -X PUT '%s'" % url
    driver = Driver(lifecycle.create(condition), condition).run(until=Pause)
    put(stack, '{"id": 7, "data": "first"}')
    put(stack, '{"id": 7, "data": "again"}')
    driver.step()
    assert not driver.done
    put(stack, "")
    driver.run()
    assert json.loads(condition.FnGetAtt("data")) == {"7": "again", "3": None}
    drive(lifecycle.delete(condition), condition)
    drive(lifecycle.delete(handle), handle)
    assert handle.client("swift").containers == {}
    # once more, when all is gone
    handle.handle_delete()


@pytest.mark.parametrize(
    "body, text",
    [
        ('{"status": "FAILURE", "reason": "broken"}', "SwiftSignalFailure: resources.w: broken"),
        ('{"status": "MAYBE"}', "Error: resources.w: Unknown status: MAYBE"),
        ("{", "Error: resources.w: Failed to parse JSON data: {"),
        ("[1]", r"Error: resources.w: Failed to parse JSON data: \[1\]"),
        ('{"id": [1]}', r'Error: resources.w: Failed to parse JSON data: \{"id": \[1\]\}'),
        ('{"data": NaN}', r'Error: resources.w: Failed to parse JSON data: \{"data": NaN\}'),
        ("[" * 100000, r"Error: resources.w: Failed to parse JSON data: \["),
        ('{"data": "%s"}' % ("x" * 2**20), r"Error: resources.w: Signal of 1048588 bytes is too large"),
        ('{"status": "FAILURE", "reason": 5}', r"SwiftSignalFailure: resources.w: 5"),
    ],
)
def test_bad_swift_signals(body: str, text: str) -> None:
    stack = swift_signal()
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)
    put(stack, body)
    with pytest.raises(exception.ResourceFailure, match=text):
        driver.run()


@pytest.mark.parametrize("signals, text", [(0, "0 of 2 received"), (1, "1 of 2 received - Signal 1 received")])
def test_swift_signals_that_do_not_come(monkeypatch: pytest.MonkeyPatch, signals: int, text: str) -> None:
    stack = swift_signal(count=2)
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)
    for _number in range(signals):
        put(stack, "{}")
    monkeypatch.setattr(clock, "seconds_since", lambda moment: 11)
    with pytest.raises(exception.ResourceFailure, match="SwiftSignalTimeout: resources.w: %s$" % text):
        driver.run()


@pytest.mark.parametrize(
    "url, part",
    [("http://swift/v2/x/c/o", "Swift TempURL path"), ("http://swift/v1/AUTH_project/another/o", "container name")],
)
def test_not_the_url_of_a_handle(url: str, part: str) -> None:
    stack = swift_signal(url=url)
    with pytest.raises(exception.ResourceFailure, match='"/v.*" is not a valid SwiftSignalHandle.  The %s is' % part):
        created(stack["w"])
