# SPDX-License-Identifier: Apache-2.0
"""Software deployments and groups of them, through their lives and after the death of an engine."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.resources.heat.structured_config import StructuredDeployment
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.lifecycle import Pause
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, FakeStack, drive, hot
from tests.unit.resources.software import SERVER, clients, updated
from tests.unit.resources.test_types import created, only

# --- deployments


def deployment(
    kind: str = "SoftwareDeployment", source: dict[str, Any] | None = None, more: Any = None, **props: Any
) -> Any:
    """A deployment of the config ``source``, not created yet."""
    properties = {"config": "the-config", "server": SERVER, **props}
    stack = FakeStack(
        hot({"r": {"type": "OS::Heat::" + kind, "properties": properties}}), clients=clients(**(more or {}))
    )
    stack.software.configs["the-config"] = {
        "id": "the-config",
        "name": "c",
        "group": "script",
        "config": "echo",
        "inputs": [],
        "outputs": [],
        "options": {},
        **(source or {}),
    }
    return stack["r"]


def started(resource: Any) -> Driver:
    return Driver(lifecycle.create(resource), resource).run(until=Pause)


def derived_of(resource: Any) -> dict[str, Any]:
    software = resource.stack.software
    return software.configs[software.deployments[resource.resource_id]["config_id"]]


def values_of(resource: Any) -> dict[str, Any]:
    return {entry["name"]: entry.get("value") for entry in derived_of(resource)["inputs"]}


def test_not_waiting() -> None:
    resource = deployment(
        signal_transport="NO_SIGNAL",
        input_values={"a": 1, "b": [2]},
        source={
            "inputs": [{"name": "a", "type": "Number", "default": 5}, {"name": "c", "default": "d"}],
            "outputs": [{"name": "o"}],
            "options": {"x": 1},
        },
    )
    resource.validate()
    assert created(resource).state == ("CREATE", "COMPLETE")
    made = resource.stack.software.deployments[resource.resource_id]
    assert (made["status"], made["status_reason"], made["action"], made["server_id"]) == (
        "COMPLETE",
        "Not waiting for outputs signal",
        "CREATE",
        SERVER,
    )
    config = derived_of(resource)
    assert (config["name"], config["group"], config["config"], config["options"]) == ("c", "script", "echo", {"x": 1})
    assert values_of(resource) == {
        "a": 1,
        "b": [2],
        "c": "d",
        "deploy_server_id": SERVER,
        "deploy_action": "CREATE",
        "deploy_stack_id": "st/" + resource.stack.id,
        "deploy_resource_name": "r",
        "deploy_signal_transport": "NO_SIGNAL",
    }
    assert resource.FnGetAtt("o") is None and resource.FnGetAtt("deploy_stdout") is None
    with pytest.raises(exception.InvalidTemplateAttribute):
        resource.FnGetAtt("other")


def test_outputs_by_signal() -> None:
    resource = deployment(signal_transport="HEAT_SIGNAL", name="own", source={"outputs": [{"name": "o"}]})
    driver = started(resource)
    assert driver.steps[-1].wake_on == ("deployment", resource.resource_id)
    values = values_of(resource)
    assert derived_of(resource)["name"] == "own"
    assert (
        values["deploy_user_id"],
        values["deploy_auth_url"],
        values["deploy_project_id"],
        values["deploy_region_name"],
        values["deploy_username"],
        values["deploy_password"],
    ) == (
        "user",
        "http://keystone/v3",
        "stack-user-project",
        "RegionOne",
        resource.physical_resource_name(),
        resource.data()["password"],
    )
    resource.signal({"o": 1})
    assert resource.stack.software.calls[-1] == ("signal", {"o": 1})
    assert resource.stack.store.events == [
        ("SIGNAL", "IN_PROGRESS", "Signal: deployment %s succeeded" % resource.resource_id)
    ]
    resource.stack.software.answer(resource.resource_id, o={"k": [1]}, deploy_status_code=0)
    assert driver.run().short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    assert resource.FnGetAtt("o", "k", 0) == 1 and resource.FnGetAtt("deploy_status_code") == 0


def test_failure() -> None:
    resource = deployment(signal_transport="HEAT_SIGNAL")
    driver = started(resource)
    resource.stack.software.answer(
        resource.resource_id, "FAILED", "deploy_status_code : Deployment exited with non-zero status code: 3"
    )
    with pytest.raises(exception.ResourceFailure):
        driver.run()
    assert resource.status_reason == (
        "Error: resources.r: Deployment to server failed: deploy_status_code : "
        "Deployment exited with non-zero status code: 3"
    )


def test_signed_url() -> None:
    resource = deployment()  # CFN_SIGNAL is the default
    started(resource)
    values = values_of(resource)
    assert values["deploy_signal_verb"] == "POST" and values["deploy_signal_transport"] == "CFN_SIGNAL"
    url = urlparse(values["deploy_signal_id"])
    assert url.path.startswith("/v1/signal/arn%3Aopenstack%3Aheat") and parse_qs(url.query)["AWSAccessKeyId"] == ["AK"]


def test_no_config() -> None:
    resource = only(
        {"type": "OS::Heat::SoftwareDeployment", "properties": {"server": SERVER, "signal_transport": "NO_SIGNAL"}},
        clients=clients(),
    )
    created(resource)
    config = derived_of(resource)
    assert (config["group"], config["config"], config["name"]) == (
        "Heat::Ungrouped",
        "",
        resource.physical_resource_name(),
    )
    with pytest.raises(exception.InvalidTemplateAttribute):
        resource.FnGetAtt("other")


def test_config_that_is_not_there() -> None:
    resource = deployment(config="none", signal_transport="NO_SIGNAL")
    with pytest.raises(exception.ResourceFailure, match="NotFound: resources.r: Software config with id none not "):
        created(resource)


def test_actions() -> None:
    """The config is applied in the actions it is for; DELETE alone makes a deployment then."""
    resource = created(deployment(actions=["SUSPEND", "RESUME", "DELETE"], signal_transport="NO_SIGNAL"))
    assert resource.resource_id is None and resource.state == ("CREATE", "COMPLETE")
    for action in (lifecycle.suspend, lifecycle.resume, lifecycle.delete):
        drive(action(resource), resource)
    assert [call for call in resource.stack.software.calls if call[0] == "deploy"] == [
        ("deploy", "SUSPEND"),
        ("deploy", "RESUME"),
        ("deploy", "DELETE"),
    ]
    assert not resource.stack.software.deployments and list(resource.stack.software.configs) == ["the-config"]


def test_actions_of_a_component() -> None:
    source = {"group": "component", "config": {"configs": [{"actions": ["DELETE"], "tool": "t"}]}}
    resource = created(deployment(source=source, signal_transport="NO_SIGNAL"))
    assert not resource.stack.software.deployments
    drive(lifecycle.delete(resource), resource)
    assert resource.stack.software.calls[0] == ("deploy", "DELETE")


def test_update() -> None:
    resource = created(deployment(signal_transport="NO_SIGNAL"))
    before = resource.stack.software.deployments[resource.resource_id]["config_id"]
    assert (
        updated(resource, config="the-config", server=SERVER, signal_transport="NO_SIGNAL", input_values={"x": 1})
        .run()
        .short[-1]
        == "UPDATE_COMPLETE"
    )
    assert values_of(resource)["x"] == 1 and values_of(resource)["deploy_action"] == "UPDATE"
    assert before not in resource.stack.software.configs
    with pytest.raises(exception.UpdateReplace):
        updated(resource, config="the-config", server="another", signal_transport="NO_SIGNAL").run()


@pytest.mark.parametrize("replaces", [True, False])
def test_replace_on_change(replaces: bool) -> None:
    resource = created(
        deployment(
            signal_transport="NO_SIGNAL",
            input_values={"i": 1},
            source={"inputs": [{"name": "i", "replace_on_change": replaces}]},
        )
    )
    same = {"config": "the-config", "server": SERVER, "signal_transport": "NO_SIGNAL"}
    updated(resource, **same, input_values={"i": 1, "other": 1}).run()
    driver = updated(resource, **same, input_values={"i": 2})
    if replaces:
        with pytest.raises(exception.UpdateReplace):
            driver.run()
    else:
        driver.run()


@pytest.mark.parametrize(
    ("given", "stored", "again"),
    [
        ({}, {}, False),
        ({"input_values": {}}, {}, False),
        ({"input_values": {"a": 1}}, {"a": 1}, False),
        ({}, {"a": 1}, True),
        ({"input_values": {"a": 1}}, {"a": 2}, True),
    ],
)
def test_what_is_as_it_was_is_not_deployed_again(
    option: Option, given: dict[str, Any], stored: dict[str, Any], again: bool
) -> None:
    """With observe_on_update; Heat deploys what has no input values at each update."""
    props = {"signal_transport": "NO_SIGNAL", **given}
    resource = created(deployment(**props))
    software = resource.stack.software
    software.deployments[resource.resource_id]["input_values"] = stored
    software.calls.clear()
    option("observe_on_update", True)
    updated(resource, config="the-config", server=SERVER, **props).run()
    assert [call for call in software.calls if call[0] == "deploy"] == ([("deploy", "UPDATE")] if again else [])


def test_cancelled() -> None:
    resource = deployment(signal_transport="HEAT_SIGNAL")
    driver = started(resource)

    class Cancelled(BaseException):
        pass

    driver.throw(Cancelled("stop"))
    made = resource.stack.software.deployments[resource.resource_id]
    assert (made["status"], made["status_reason"]) == ("FAILED", "Deployment cancelled.")


@pytest.mark.parametrize("format_, fails", [("RAW", True), ("SOFTWARE_CONFIG", False), (None, False)])
def test_servers_must_take_part(monkeypatch: pytest.MonkeyPatch, format_: Any, fails: bool) -> None:
    resource = deployment(signal_transport="NO_SIGNAL")
    server = type("Server", (), {"properties": {"user_data_format": format_}})
    monkeypatch.setattr(resource.stack, "resource_by_refid", lambda reference: server)
    if not fails:
        return resource.validate()
    with pytest.raises(exception.StackValidationFailed, match="user_data_format should be set to SOFTWARE_CONFIG"):
        resource.validate()


# --- deployments: deleting


class Nova:
    """The part of a Nova plug-in that is needed."""

    def __init__(self, *servers: str) -> None:
        self.servers = servers

    def get_server(self, server: str) -> None:
        if server not in self.servers:
            raise exception.EntityNotFound(entity="Server", name=server)


def deleting(more: Any = None) -> tuple[Any, Driver]:
    resource = deployment(actions=["CREATE", "DELETE"], signal_transport="HEAT_SIGNAL", more=more)
    driver = started(resource)
    resource.stack.software.answer(resource.resource_id)
    driver.run()
    return resource, Driver(lifecycle.delete(resource), resource)


def test_delete_waits_for_the_server() -> None:
    resource, driver = deleting({"nova": Nova(SERVER)})
    driver.run(until=Pause)
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == "DELETE_COMPLETE"
    assert not resource.stack.software.deployments and "user" not in resource.keystone().users


def test_delete_fails_with_the_server() -> None:
    resource, driver = deleting({"nova": Nova(SERVER)})
    driver.run(until=Pause)
    resource.stack.software.answer(resource.resource_id, "FAILED", "bad")
    with pytest.raises(exception.ResourceFailure, match="Deployment to server failed: bad"):
        driver.run()


def test_delete_does_not_wait_for_a_server_that_is_gone() -> None:
    resource, driver = deleting({"nova": Nova()})
    assert driver.run().short[-1] == "DELETE_COMPLETE" and not driver.pauses


def test_delete_without_nova() -> None:
    """A server that is a resource of ours is waited for; of another nothing can be known."""
    resource, driver = deleting()
    with pytest.raises(
        exception.ResourceFailure, match=r"ClientNotAvailable: resources.r: The client \(nova\) is not available."
    ):
        driver.run()
    resource, driver = deleting()
    resource.stack.software.servers = {SERVER}
    driver.run(until=Pause)
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == "DELETE_COMPLETE"


def test_delete_without_the_config() -> None:
    resource, driver = deleting()
    del resource.stack.software.configs["the-config"]
    assert driver.run().short[-1] == "DELETE_COMPLETE" and not resource.stack.software.deployments


# --- deployments: after the death of an engine


def deploys(resource: Any) -> int:
    return len([call for call in resource.stack.software.calls if call[0] == "deploy"])


def test_resumed_before_the_deployment_was_made() -> None:
    resource = deployment(signal_transport="HEAT_SIGNAL")
    Driver(lifecycle.create(resource), resource).step()
    resource.resource_id_set(resource.uuid)
    driver = Driver(lifecycle.resume_action(resource), resource).run(until=Pause)
    assert deploys(resource) == 1
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == "CREATE_COMPLETE"


def test_resumed_while_waiting() -> None:
    resource = deployment(signal_transport="CFN_SIGNAL")
    started(resource)
    driver = Driver(lifecycle.resume_action(resource), resource).run(until=Pause)
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == "CREATE_COMPLETE" and deploys(resource) == 1


@pytest.mark.parametrize(
    "meanwhile, again",
    [
        (lambda software, key: None, False),
        (lambda software, key: software.answer(key), True),  # perhaps of an update before
        (
            lambda software, key: software.deployments[key].update(
                status="COMPLETE", updated_time=clock.isotime(clock.utcnow() + datetime.timedelta(minutes=1))
            ),
            False,
        ),
        (lambda software, key: software.answer(key, "FAILED"), True),
        (lambda software, key: software.configs[software.deployments[key]["config_id"]].update(config="x"), True),
    ],
    ids=["waiting", "answered", "answered since", "failed", "another config"],
)
def test_an_update_is_deployed_once(meanwhile: Callable[[Any, str], None], again: bool) -> None:
    resource = deployment(signal_transport="CFN_SIGNAL")
    driver = started(resource)
    software = resource.stack.software
    software.answer(resource.resource_id)
    driver.run()
    after = FakeStack(
        hot(
            {
                "r": {
                    "type": "OS::Heat::SoftwareDeployment",
                    "properties": {"config": "the-config", "server": SERVER, "input_values": {"x": 1}},
                }
            }
        )
    ).defn.resource_definition("r")
    Driver(lifecycle.update(resource, after), resource).run(until=Pause)
    meanwhile(software, resource.resource_id)
    resource.reparse()
    driver = Driver(lifecycle.resume_action(resource, after), resource)
    while not driver.done and not isinstance(driver.step(), Pause):
        pass
    assert deploys(resource) == (3 if again else 2)


# --- structured deployments


@pytest.mark.parametrize(
    "data, expected",
    [
        ({"a": {"get_input": "x"}}, {"a": 1}),
        ({"a": [{"get_input": "none"}, "text", 2, None]}, {"a": [None, "text", 2, None]}),
        ({"a": {"get_input": "x", "more": 1}}, {"a": {"get_input": "x", "more": 1}}),
        ({"a": {"get_input": ["x"]}}, {"a": {"get_input": ["x"]}}),
        ({"get_input": "x"}, 1),
        (None, None),
    ],
)
def test_inputs_in_data(data: Any, expected: Any) -> None:
    assert StructuredDeployment.parse({"x": 1}, "get_input", data) == expected


def test_inputs_that_must_be_there() -> None:
    with pytest.raises(exception.UserParameterMissing, match=r"The Parameter \(y\) was not provided."):
        StructuredDeployment.parse({"x": 1}, "in", {"a": {"in": "y"}}, "STRICT")


def test_structured_deployment() -> None:
    resource = created(
        deployment(
            "StructuredDeployment",
            signal_transport="NO_SIGNAL",
            input_key="in",
            input_values={"x": {"k": 1}},
            source={"config": {"a": {"in": "x"}, "b": {"in": "deploy_action"}, "c": {"get_input": "x"}}},
        )
    )
    assert derived_of(resource)["config"] == {"a": {"k": 1}, "b": "CREATE", "c": {"get_input": "x"}}
    resource = created(deployment("StructuredDeployment", signal_transport="NO_SIGNAL", source={"config": None}))
    assert derived_of(resource)["config"] == {}


# --- groups


def group(kind: str = "SoftwareDeploymentGroup", outputs: Any = None, update_policy: Any = None, **props: Any) -> Any:
    definition = {"type": "OS::Heat::" + kind, "properties": {"config": "c", **props}}
    if update_policy:
        definition["update_policy"] = update_policy
    return FakeStack(hot({"r": definition}, outputs=outputs or {}), clients=clients())["r"]


def members(resource: Any) -> dict[str, Any]:
    return resource.stack.nested_stacks.children[resource.resource_id]["template"].t.get("resources") or {}


def test_group() -> None:
    read = {
        key: {"value": {"get_attr": path}}
        for key, path in {"a": ["r", "deploy_stdouts"], "b": ["r", "own", "one"]}.items()
    }
    resource = group(servers={"one": "s1", "two": "s2"}, input_values={"x": 1}, outputs=read)
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    assert {name: member["properties"]["server"] for name, member in members(resource).items()} == {
        "one": "s1",
        "two": "s2",
    }
    member = members(resource)["one"]
    assert member["type"] == "OS::Heat::SoftwareDeployment" and member["properties"] == {
        "server": "s1",
        "config": "c",
        "input_values": {"x": 1},
        "actions": ["CREATE", "UPDATE"],
        "name": None,
        "signal_transport": "CFN_SIGNAL",
    }
    outputs = resource.stack.nested_stacks.children[resource.resource_id]["template"].t["outputs"]
    assert outputs == {
        "attributes, deploy_stdout": {
            "value": {name: {"get_attr": [name, "deploy_stdout"]} for name in members(resource)}
        },
        "attributes, own": {"value": {name: {"get_attr": [name, "own"]} for name in members(resource)}},
    }
    resource.stack.nested_stacks.finish(
        **{"attributes, deploy_stdout": {"one": "text", "two": None}, "attributes, own": {"one": 1, "two": 2}}
    )
    driver.run()
    assert resource.FnGetAtt("deploy_stdouts") == {"one": "text", "two": None}
    assert resource.FnGetAtt("own", "two") == 2


def test_structured_group() -> None:
    resource = group("StructuredDeploymentGroup", servers={"one": "s1"}, input_key="k")
    Driver(lifecycle.create(resource), resource).run(until=Pause)
    member = members(resource)["one"]
    assert member["type"] == "OS::Heat::StructuredDeployment"
    assert (member["properties"]["input_key"], member["properties"]["input_values_validate"]) == ("k", "LAX")


def test_group_in_batches() -> None:
    servers = {str(number): "s%d" % number for number in range(3)}
    resource = group(
        servers=servers, update_policy={"batch_create": {"max_batch_size": 2}, "rolling_update": {"max_batch_size": 1}}
    )
    driver = Driver(lifecycle.create(resource), resource)
    sizes = []
    while not driver.done:
        if isinstance(driver.step(), Pause):
            if not sizes or sizes[-1] != len(members(resource)):
                sizes.append(len(members(resource)))
            resource.stack.nested_stacks.finish()
    assert sizes[-2:] == [2, 3]
    policy = {"update_policy": {"rolling_update": {"max_batch_size": 1}}}
    after = FakeStack(
        hot(
            {
                "r": {
                    "type": "OS::Heat::SoftwareDeploymentGroup",
                    **policy,
                    "properties": {"config": "c", "servers": servers, "input_values": {"x": 1}},
                }
            }
        )
    ).defn.resource_definition("r")
    driver = Driver(lifecycle.update(resource, after), resource)
    changed = []
    while not driver.done:
        if isinstance(driver.step(), Pause):
            changed.append(sum(bool(member["properties"]["input_values"]) for member in members(resource).values()))
            resource.stack.nested_stacks.finish()
    assert sorted(set(changed)) == [1, 2, 3]


def test_other_servers_in_a_rolling_update() -> None:
    """A member whose server is not named any more goes, one for a new server comes."""
    policy = {"rolling_update": {"max_batch_size": 1}}
    resource = group(servers={"one": "s1", "two": "s2"}, update_policy=policy)
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    resource.stack.nested_stacks.finish()
    driver.run()
    after = FakeStack(
        hot(
            {
                "r": {
                    "type": "OS::Heat::SoftwareDeploymentGroup",
                    "update_policy": policy,
                    "properties": {"config": "c", "servers": {"two": "s2", "three": "s3"}},
                }
            }
        )
    ).defn.resource_definition("r")
    driver = Driver(lifecycle.update(resource, after), resource)
    while not driver.done:
        if isinstance(driver.step(), Pause):
            assert "one" not in members(resource)
            resource.stack.nested_stacks.finish()
    assert {name: member["properties"]["server"] for name, member in members(resource).items()} == {
        "two": "s2",
        "three": "s3",
    }
