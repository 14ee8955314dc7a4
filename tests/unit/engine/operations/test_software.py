# SPDX-License-Identifier: Apache-2.0
"""Stacks with software configs, deployments and servers; signals that come at once."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from openkeel_heat import clients
from openkeel_heat.common import exceptions
from tests.contract.rpc_replay import poll
from tests.unit.engine.operations.conftest import hot

SERVER = "5f1e7a34-0000-4000-8000-00000000000%d"

CONFIG = {
    "type": "OS::Heat::SoftwareConfig",
    "properties": {
        "group": "script",
        "config": "echo",
        "inputs": [{"name": "x"}],
        "outputs": [{"name": "y"}, {"name": "e", "error_output": True}],
    },
}


def deployment(transport: str = "NO_SIGNAL", server: Any = SERVER % 1, **props: Any) -> dict[str, Any]:
    return {
        "type": "OS::Heat::SoftwareDeployment",
        "properties": {"config": {"get_resource": "config"}, "server": server, "signal_transport": transport, **props},
    }


def template(outputs: Any = None, **resources: Any) -> dict[str, Any]:
    return hot({"config": CONFIG, **resources}, outputs=outputs or {})


def resource(service: Any, identity: Any, name: str) -> dict[str, Any]:
    return dict(service.call("describe_stack_resource", stack_identity=identity, resource_name=name))


def events(service: Any, identity: Any, name: str) -> list[tuple[str, str]]:
    found = service.call(
        "list_events",
        stack_identity=identity,
        filters=None,
        limit=None,
        marker=None,
        sort_keys=None,
        sort_dir=None,
        nested_depth=None,
    )
    return [
        (f"{one['resource_action']}_{one['resource_status']}", one["resource_status_reason"])
        for one in found
        if one["resource_name"] == name
    ][::-1]


def signal(service: Any, identity: Any, name: str, details: Any, **more: Any) -> Any:
    return service.call("resource_signal", stack_identity=identity, resource_name=name, details=details, **more)


def deployed(service: Any, server: str = SERVER % 1) -> Any:
    """The deployment of a server once it waits for a signal."""
    found: list[Any] = []

    def waiting() -> bool:
        found[:] = [
            one for one in service.call("list_software_deployments", server_id=server) if one["status"] == "IN_PROGRESS"
        ]
        return bool(found)

    assert poll(waiting)
    return found[0]


def left(service: Any) -> tuple[int, int]:
    return tuple(service.rows(f"SELECT COUNT(*) FROM software_{table}")[0][0] for table in ("config", "deployment"))


def at_once(number: int, function: Callable[[int], Any]) -> list[Any]:
    """What the function gives to that many threads that start together."""
    barrier = threading.Barrier(number)
    answers: list[Any] = [None] * number

    def run(index: int) -> None:
        barrier.wait()
        answers[index] = function(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return answers


# whole lives --------------------------------------------------------------------------------------------------------
def test_without_a_signal(service: Any) -> None:
    before = left(service)
    identity = service.create(template(d=deployment(input_values={"x": 1})))
    assert service.state(identity) == "CREATE_COMPLETE"
    (config,) = service.call("metadata_software_deployments", server_id=SERVER % 1)
    assert {entry["name"]: entry["value"] for entry in config["inputs"]}["x"] == 1
    assert left(service) == (before[0] + 2, before[1] + 1)
    signal(service, identity, "d", {"deploy_status_code": 1})  # none is awaited
    assert poll(lambda: ("SIGNAL_COMPLETE", "Unknown") in events(service, identity, "d"))
    service.update(identity, template(d=deployment(input_values={"x": 2})))
    assert service.state(identity) == "UPDATE_COMPLETE"
    (config,) = service.call("metadata_software_deployments", server_id=SERVER % 1)
    assert {entry["name"]: entry["value"] for entry in config["inputs"]}["x"] == 2
    assert left(service) == (before[0] + 2, before[1] + 1)
    service.update(identity, template(d=deployment()))
    assert service.call("list_software_deployments", server_id=SERVER % 1)[0]["input_values"] == {}
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE" and left(service) == before


@pytest.mark.parametrize("transport", ["HEAT_SIGNAL", "CFN_SIGNAL"])
def test_by_signal(service: Any, config: Any, transport: str) -> None:
    config(heat_waitcondition_server_url="http://heat:8000/v1/waitcondition")
    outputs = {"y": {"value": {"get_attr": ["d", "y", "k"]}}, "c": {"value": {"get_attr": ["d", "deploy_status_code"]}}}
    identity = service.create(template(outputs, d=deployment(transport)), wait=False)
    made = deployed(service)
    assert resource(service, identity, "d")["resource_action"] == "CREATE"
    began = time.monotonic()
    signal(service, identity, "d", {"y": {"k": "v"}, "deploy_status_code": 0})
    assert service.state(identity) == "CREATE_COMPLETE"
    assert time.monotonic() - began < 0.9, "the resource was not woken"
    assert service.outputs(identity) == {"y": "v", "c": 0}
    assert events(service, identity, "d") == [
        ("CREATE_IN_PROGRESS", "state changed"),
        ("SIGNAL_IN_PROGRESS", f"Signal: deployment {made['id']} succeeded"),
        ("CREATE_COMPLETE", "state changed"),
    ]
    service.update(identity, template(outputs, d=deployment(transport, input_values={"x": 1})), wait=False)
    deployed(service)
    signal(service, identity, "d", {"deploy_status_code": 3})
    found = service.settle(identity)
    assert found["stack_status_reason"] == (
        "Resource UPDATE failed: Error: resources.d: Deployment to server failed: deploy_status_code : Deployment "
        "exited with non-zero status code: 3"
    )
    assert ("SIGNAL_IN_PROGRESS", f"Signal: deployment {made['id']} failed (3)") in events(service, identity, "d")
    # a failed deployment is replaced
    service.update(identity, template(outputs, d=deployment(transport, input_values={"x": 2})), wait=False)
    again = deployed(service)
    assert again["id"] != made["id"] and again["action"] == "CREATE"
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_answered_by_the_api_of_deployments(service: Any) -> None:
    identity = service.create(template(d=deployment("HEAT_SIGNAL")), wait=False)
    made = deployed(service)
    service.call(
        "update_software_deployment",
        deployment_id=made["id"],
        config_id=None,
        input_values=None,
        output_values={"y": 1},
        action=None,
        status="COMPLETE",
        status_reason="done",
        updated_at=None,
    )
    assert service.state(identity) == "CREATE_COMPLETE"
    assert service.call("check_software_deployment", deployment_id=made["id"], timeout=5)["output_values"] == {"y": 1}
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_an_error_output(service: Any) -> None:
    identity = service.create(template(d=deployment("HEAT_SIGNAL")), wait=False)
    made = deployed(service)
    signal(service, identity, "d", {"e": "it broke", "deploy_status_code": 0})
    assert "Deployment to server failed: e : it broke" in service.settle(identity)["stack_status_reason"]
    assert ("SIGNAL_IN_PROGRESS", f"Signal: deployment {made['id']} failed") in events(service, identity, "d")
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_a_config_in_use_stays(service: Any) -> None:
    identity = service.create(template(d=deployment()))
    used = service.call(
        "show_software_deployment", deployment_id=resource(service, identity, "d")["physical_resource_id"]
    )["config_id"]
    error = service.refused("delete_software_config", config_id=used)
    assert type(error).__name__ == "InvalidRestrictedAction"
    assert str(error) == f"Software config with id {used} can not be deleted as it is referenced."
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


@pytest.mark.parametrize(
    "method, values, error",
    [
        (
            "create_software_deployment",
            {"server_id": None},
            'Data supplied was not valid: "server_id" must be specified',
        ),
        (
            "create_software_deployment",
            {"server_id": "x" * 37},
            'Data supplied was not valid: "server_id" should be no more than 36 characters',
        ),
        (
            "create_software_deployment",
            {"stack_user_project_id": "x" * 65},
            'Data supplied was not valid: "stack_user_project_id" should be no more than 64 characters',
        ),
        ("create_software_deployment", {"config_id": None}, "Software config with id None not found"),
        ("update_software_deployment", {"config_id": "none"}, "Software config with id none not found"),
        ("update_software_deployment", {"deployment_id": "none"}, "Deployment with id none not found"),
        (
            "create_software_config",
            {"name": "x" * 256},
            'Data supplied was not valid: "name" should be no more than 255 characters',
        ),
        ("check_software_deployment", {"timeout": 0}, "Timed out waiting for deployment the-id"),
    ],
)
def test_refused(service: Any, method: str, values: dict[str, Any], error: str) -> None:
    made = service.call("create_software_config", group="g", name="n", config="", inputs=[], outputs=[], options={})
    deploying = {
        "server_id": "s",
        "config_id": made["id"],
        "input_values": {},
        "action": "CREATE",
        "status": "IN_PROGRESS",
        "status_reason": "",
        "stack_user_project_id": None,
    }
    one = service.call("create_software_deployment", **deploying)
    arguments = {
        "create_software_deployment": deploying,
        "update_software_deployment": {
            "deployment_id": one["id"],
            **dict.fromkeys(
                ("config_id", "input_values", "output_values", "action", "status", "status_reason", "updated_at")
            ),
        },
        "create_software_config": {"group": "g", "name": "n", "config": "", "inputs": [], "outputs": [], "options": {}},
        "check_software_deployment": {"deployment_id": one["id"]},
    }[method]
    refused = service.refused(method, **{**arguments, **values})
    assert str(refused).replace(one["id"], "the-id") == error
    service.call("delete_software_deployment", deployment_id=one["id"])
    service.call("delete_software_config", config_id=made["id"])


def test_quota(service: Any, config: Any) -> None:
    config(max_software_deployments_per_tenant=0)
    identity = service.create(template(d=deployment()))
    assert (
        "You have reached the maximum software deployments per tenant, 0. Please delete some deployments."
        in (service.show(identity)["stack_status_reason"])
    )
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_group(service: Any) -> None:
    group = {
        "type": "OS::Heat::SoftwareDeploymentGroup",
        "properties": {
            "config": {"get_resource": "config"},
            "signal_transport": "HEAT_SIGNAL",
            "servers": {"one": SERVER % 2, "two": SERVER % 3},
        },
    }
    outputs = {"codes": {"value": {"get_attr": ["g", "deploy_status_codes"]}}, "y": {"value": {"get_attr": ["g", "y"]}}}
    identity = service.create(template(outputs, g=group), wait=False)
    for number, server in enumerate((SERVER % 2, SERVER % 3)):
        made = deployed(service, server)
        service.call(
            "signal_software_deployment",
            deployment_id=made["id"],
            details={"deploy_status_code": 0, "y": number},
            updated_at=None,
        )
    assert service.state(identity) == "CREATE_COMPLETE"
    assert service.outputs(identity) == {"codes": {"one": 0, "two": 0}, "y": {"one": 0, "two": 1}}
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


# what clients and servers may send ---------------------------------------------------------------------------------
TEXTS = {"name": 255, "group": 255, "server_id": 36, "action": 255, "status": 255, "stack_user_project_id": 64}
BARE = {"group": "script", "name": "c", "config": "true", "inputs": [], "outputs": [], "options": {}}


def bare(service: Any, config_id: Any, **more: Any) -> dict[str, Any]:
    """A deployment that no resource made."""
    return dict(
        service.call(
            "create_software_deployment",
            **{
                "server_id": SERVER % 7,
                "config_id": config_id,
                "input_values": {},
                "action": "CREATE",
                "status": "IN_PROGRESS",
                "status_reason": "",
                "stack_user_project_id": None,
                **more,
            },
        )
    )


def new_config(service: Any, **more: Any) -> dict[str, Any]:
    return dict(service.call("create_software_config", **{**BARE, **more}))


@pytest.mark.parametrize("given", [[], ["x"], ["x", "y"], {}, {"a": 1}, "x" * 256, 10**256], ids=lambda it: str(it)[:9])
@pytest.mark.parametrize("field", TEXTS)
def test_what_is_no_text_is_refused(service: Any, field: str, given: Any) -> None:
    make = new_config if field in BARE else bare
    config_id = new_config(service)["id"]
    refusal = f'"{field}" (must be a string|should be no more than {TEXTS[field]} c)'
    with pytest.raises(exceptions.Invalid, match=refusal):
        make(service, **({} if field in BARE else {"config_id": config_id}), **{field: given})
    if field in ("action", "status") and given:
        made = bare(service, config_id)
        with pytest.raises(exceptions.Invalid, match=f'"{field}" '):
            service.call(
                "update_software_deployment",
                deployment_id=made["id"],
                config_id=None,
                input_values=None,
                output_values=None,
                status_reason=None,
                updated_at=None,
                **{"action": None, "status": None, field: given},
            )


@pytest.mark.parametrize("given, stored", [(5, "5"), (1.5, "1.5"), (True, "1"), (False, "0"), (None, None), ("", "")])
def test_a_number_is_stored_as_a_text(service: Any, given: Any, stored: Any) -> None:
    assert new_config(service, name=given)["name"] == stored
    assert bare(service, new_config(service)["id"], action=given)["action"] == stored


@pytest.mark.parametrize("given", [None, 5, True, [], ["x"], {}, {"a": 1}])
def test_what_is_no_text_is_no_config(service: Any, given: Any) -> None:
    made = new_config(service)["id"]
    for config_id in (given, [made] if isinstance(given, list) else given):
        with pytest.raises(exceptions.NotFound, match="Software config with id .* not found"):
            bare(service, config_id)


@pytest.mark.parametrize("details", [[1], "x", 5, True])
def test_a_signal_has_a_map(service: Any, details: Any) -> None:
    made = bare(service, new_config(service)["id"])
    error = service.refused("signal_software_deployment", deployment_id=made["id"], details=details, updated_at=None)
    assert isinstance(error, exceptions.Invalid) and "the data of a signal has to be a map" in str(error)
    assert service.call("show_software_deployment", deployment_id=made["id"])["status"] == "IN_PROGRESS"


@pytest.mark.parametrize("stored", [5, "x", [1], True])
def test_outputs_may_be_anything(service: Any, stored: Any) -> None:
    """A client has stored them; a signal takes their place, and until then no output has a value."""
    outputs = {"y": {"value": {"get_attr": ["d", "y"]}}}
    identity = service.create(template(outputs, d=deployment("HEAT_SIGNAL")), wait=False)
    made = deployed(service)
    service.call(
        "update_software_deployment",
        deployment_id=made["id"],
        config_id=None,
        input_values=None,
        output_values=stored,
        action=None,
        status=None,
        status_reason=None,
        updated_at=None,
    )
    assert service.outputs(identity) == {"y": None}
    signal(service, identity, "d", {"y": 1})
    assert service.state(identity) == "CREATE_COMPLETE" and service.outputs(identity) == {"y": 1}
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


class Swift:
    """The object store of a server that has left something."""

    def __init__(self, body: bytes, size: int | None = None) -> None:
        self.body, self.size = body, len(body) if size is None else size
        self.reads = 0

    def client(self) -> Swift:
        return self

    def parse_last_modified(self, text: str) -> datetime.datetime:
        return datetime.datetime.fromisoformat(text)

    def head_object(self, container: str, name: str) -> dict[str, str]:
        return {"last-modified": "2026-01-01T00:00:00", "content-length": str(self.size)}

    def get_object(self, container: str, name: str) -> tuple[dict[str, str], bytes]:
        self.reads += 1
        return {}, self.body

    def is_not_found(self, error: BaseException) -> bool:
        return False


@pytest.mark.parametrize(
    "swift, reason",
    [
        (Swift(b"{"), "Failed to parse JSON data: {"),
        (Swift(b"\xff{"), "Failed to parse JSON data: \ufffd{"),
        (Swift(b'{"y": NaN}'), 'Failed to parse JSON data: {"y": NaN}'),
        (Swift(b"[" * 100000), "Failed to parse JSON data: ["),
        (Swift(b"[1]"), "the data of a signal has to be a map"),
        (Swift(b'"x"'), "the data of a signal has to be a map"),
        (Swift(b"{}", size=2**40), "is too large"),
    ],
    ids=lambda it: it.body[:5].decode(errors="replace") if isinstance(it, Swift) else "",
)
def test_a_server_that_leaves_no_signal_has_failed(service: Any, monkeypatch: Any, swift: Swift, reason: str) -> None:
    """Nobody who looks at the deployment is to blame for that."""
    monkeypatch.setattr(clients.OpenStackClients, "client_plugin", lambda self, name: swift)
    made = bare(
        service,
        new_config(
            service,
            inputs=[
                {"name": "deploy_signal_transport", "value": "TEMP_URL_SIGNAL"},
                {"name": "deploy_signal_id", "value": "http://swift/v1/AUTH_x/container/name"},
            ],
        )["id"],
    )
    shown = service.call("show_software_deployment", deployment_id=made["id"])
    assert shown["status"] == "FAILED" and reason in shown["status_reason"]
    assert swift.reads == (0 if swift.size > 10**9 else 1)


@pytest.mark.parametrize(
    "url",
    [None, "", "x", "http://x/", "http://x/../../etc", "http://x/a/..", "http://[x/a/b", 5, True, ["x"], {"a": 1}],
    ids=str,
)
def test_a_place_that_cannot_have_a_signal(service: Any, monkeypatch: Any, url: Any) -> None:
    """A client may have stored anything as one. The deployment is shown, and the object store is not asked."""
    asked: list[str] = []
    monkeypatch.setattr(clients.OpenStackClients, "client_plugin", lambda self, name: asked.append(name))
    inputs = [
        {"name": "deploy_signal_transport", "value": "TEMP_URL_SIGNAL"},
        {"name": "deploy_signal_id", "value": url},
    ]
    made = bare(service, new_config(service, inputs=inputs)["id"])
    shown = service.call("show_software_deployment", deployment_id=made["id"])
    assert (shown["status"], asked) == ("IN_PROGRESS", [])


# servers ------------------------------------------------------------------------------------------------------------
DEPLOYED_SERVER = {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_HEAT"}}


def test_metadata_of_a_server(service: Any) -> None:
    identity = service.create(
        template(s=DEPLOYED_SERVER, **{name: deployment(server={"get_resource": "s"}, name=name) for name in "cba"})
    )
    assert service.state(identity) == "CREATE_COMPLETE"
    shown = resource(service, identity, "s")
    assert [one["name"] for one in shown["metadata"]["deployments"]] == ["a", "b", "c"]
    assert shown["metadata"]["os-collect-config"]["collectors"] == ["heat", "local"]
    service.update(identity, template(s=DEPLOYED_SERVER, a=deployment(server={"get_resource": "s"}, name="a")))
    assert service.state(identity) == "UPDATE_COMPLETE"
    assert [one["name"] for one in resource(service, identity, "s")["metadata"]["deployments"]] == ["a"]
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_a_server_of_the_stack_is_waited_for_where_there_is_no_nova(service: Any) -> None:
    """Also with the last deployment, that of the deletion."""
    both = deployment("HEAT_SIGNAL", server={"get_resource": "s"}, actions=["CREATE", "DELETE"])
    identity = service.create(template(s=DEPLOYED_SERVER, d=both), wait=False)
    assert poll(lambda: resource(service, identity, "s")["physical_resource_id"])
    server = resource(service, identity, "s")["physical_resource_id"]
    assert deployed(service, server)["action"] == "CREATE"
    signal(service, identity, "d", {})
    assert service.state(identity) == "CREATE_COMPLETE"
    service.call("delete_stack", stack_identity=identity)
    assert deployed(service, server)["action"] == "DELETE"
    signal(service, identity, "d", {})
    assert service.state(identity) == "DELETE_COMPLETE"


def test_the_user_of_a_server_reaches_that_only(service: Any) -> None:
    identity = service.create(template(s=DEPLOYED_SERVER, other=DEPLOYED_SERVER))
    section = resource(service, identity, "s")["metadata"]["os-collect-config"]["heat"]
    user = service.context(section["project_id"], user_id=section["user_id"], roles=["heat_stack_user"])
    seen = service.call("describe_stack_resource", user, stack_identity=identity, resource_name="s")
    assert seen["metadata"]["deployments"] == []
    for name in ("other", "config"):
        error = service.refused("describe_stack_resource", user, stack_identity=identity, resource_name=name)
        assert type(error).__name__ == "Forbidden"
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_deployments_at_once_all_reach_the_server(service: Any) -> None:
    identity = service.create(template(s=DEPLOYED_SERVER))
    server = resource(service, identity, "s")["physical_resource_id"]
    config_id = resource(service, identity, "config")["physical_resource_id"]

    def deploy(_index: int) -> str:
        return str(
            service.call(
                "create_software_deployment",
                server_id=server,
                config_id=config_id,
                input_values={},
                action="CREATE",
                status="COMPLETE",
                status_reason="",
                stack_user_project_id=None,
            )["id"]
        )

    made = at_once(8, deploy)
    assert len(resource(service, identity, "s")["metadata"]["deployments"]) == 8
    at_once(8, lambda index: service.call("delete_software_deployment", deployment_id=made[index]))
    assert resource(service, identity, "s")["metadata"]["deployments"] == []


# signals at once ----------------------------------------------------------------------------------------------------
def test_signals_at_once_all_count(service: Any) -> None:
    number = 16
    identity = service.create(
        hot(
            {
                "h": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}},
                "w": {
                    "type": "OS::Heat::WaitCondition",
                    "properties": {"handle": {"get_resource": "h"}, "timeout": 60, "count": number},
                },
            }
        ),
        wait=False,
    )
    assert poll(
        lambda: (
            service.call("describe_stack_resource", stack_identity=identity, resource_name="w")["resource_status"]
            == "IN_PROGRESS"
        )
    )
    at_once(number, lambda index: signal(service, identity, "h", {"data": index}, sync_call=True))
    assert service.state(identity) == "CREATE_COMPLETE"
    signals = resource(service, identity, "h")["metadata"]
    assert sorted(entry["data"] for entry in signals.values()) == list(range(number))
    assert len([1 for state, _reason in events(service, identity, "h") if state == "SIGNAL_COMPLETE"]) == number
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_a_config_is_not_deleted_under_a_deployment_that_is_made(service: Any) -> None:
    for _time in range(5):
        config_id = new_config(service)["id"]

        def do(index: int, config_id: str = config_id) -> str:
            try:
                if index % 2:
                    service.call("delete_software_config", config_id=config_id)
                else:
                    bare(service, config_id)
            except exceptions.HeatException as error:
                return type(error).__name__
            return "done"

        made = at_once(6, do)
        assert set(made[::2]) <= {"done", "NotFound"} and set(made[1::2]) <= {
            "done",
            "NotFound",
            "InvalidRestrictedAction",
        }
    orphans = "SELECT id FROM software_deployment WHERE config_id NOT IN (SELECT id FROM software_config)"
    assert service.rows(orphans) == []


def test_of_signals_at_once_a_deployment_takes_one(service: Any) -> None:
    identity = service.create(template(d=deployment("HEAT_SIGNAL")), wait=False)
    made = deployed(service)
    answers = at_once(
        8,
        lambda index: service.call(
            "signal_software_deployment", deployment_id=made["id"], details={"y": index}, updated_at=None
        ),
    )
    taken = [index for index, answer in enumerate(answers) if answer]
    assert len(taken) == 1 and service.state(identity) == "CREATE_COMPLETE"
    shown = service.call("show_software_deployment", deployment_id=made["id"])
    assert shown["output_values"]["y"] == taken[0]
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"
