# SPDX-License-Identifier: Apache-2.0
"""Signals, wait conditions and software deployments in every mix of engines, native APIs and CloudFormation APIs."""

from __future__ import annotations

import concurrent.futures
import json
from typing import Any

import pytest

from tests.fixtures.api import Api, Stack
from tests.fixtures.identity import login
from tests.fixtures.polling import until
from tests.fixtures.service import OURS, THEIRS
from tests.interop.land import Land, at_rest

pytestmark = [pytest.mark.services, pytest.mark.keystone, pytest.mark.reference, pytest.mark.timeout(600)]

SIGNALS = [{"id": str(number), "data": f"data {number}", "status": "SUCCESS", "reason": ""} for number in range(3)]
AWS_SIGNALS = [{"UniqueId": one["id"], "Data": one["data"], "Status": "SUCCESS", "Reason": ""} for one in SIGNALS]
DATA = {one["id"]: one["data"] for one in SIGNALS}


@pytest.fixture(params=[OURS, THEIRS], ids=["cfn-ours", "cfn-theirs"])
def cfn(request: pytest.FixtureRequest) -> str:
    """Of which kind the CloudFormation API is."""
    return str(request.param)


def template(resources: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "heat_template_version": "2018-08-31",
        "resources": resources,
        "outputs": {name: {"value": value} for name, value in outputs.items()},
    }


def attribute(resource: str, name: str) -> dict[str, Any]:
    return {"get_attr": [resource, name]}


def reference(resource: str) -> dict[str, Any]:
    return {"get_resource": resource}


def all_at_once(land: Land, kind: str, calls: list[tuple[str, Any, str]]) -> None:
    """Signals that reach the engine together: each counts."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        for reply in pool.map(lambda call: land.signal(kind, *call), calls):
            assert reply.status_code == 200, reply.text


# wait conditions ----------------------------------------------------------------------------------------------------

WAITING = template(
    {
        "handle": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "CFN_SIGNAL"}},
        "wait": {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": reference("handle"), "count": len(SIGNALS), "timeout": 300},
        },
        "aws_handle": {"type": "AWS::CloudFormation::WaitConditionHandle"},
        "aws_wait": {
            "type": "AWS::CloudFormation::WaitCondition",
            "properties": {"Handle": reference("aws_handle"), "Count": len(SIGNALS), "Timeout": 300},
        },
    },
    {
        "signal": attribute("handle", "signal"),
        "data": attribute("wait", "data"),
        "aws_signal": reference("aws_handle"),
        "aws_data": attribute("aws_wait", "Data"),
    },
)


def urls(stack: Stack) -> tuple[str, str]:
    """Of the handle and of the handle as AWS has it."""
    for name in ("wait", "aws_wait"):
        stack.wait_resource(name, "IN_PROGRESS")
    outputs = until(lambda: (found := stack.outputs()) and found["signal"] and found, "the handles are made")
    return json.loads(outputs["signal"])["alarm_url"], outputs["aws_signal"]


def test_wait_conditions(mixed: Land, api: Api, cfn: str) -> None:
    stack = api.create(WAITING, wait=False)
    url, aws_url = urls(stack)
    calls = [(url, one, "PUT") for one in SIGNALS] + [(aws_url, one, "PUT") for one in AWS_SIGNALS]
    all_at_once(mixed, cfn, calls)
    stack.wait("CREATE_COMPLETE")
    outputs = stack.outputs()
    assert json.loads(outputs["data"]) == json.loads(outputs["aws_data"]) == DATA
    signals = [
        event["resource_name"] for event in stack.events() if event["resource_status_reason"].startswith("Signal")
    ]
    assert sorted(signals) == ["aws_handle"] * 3 + ["handle"] * 3
    assert mixed.signal(cfn, url.replace("&Signature=", "&Signature=A"), SIGNALS[0], "PUT").status_code == 403
    at_rest(mixed)
    stack.delete()
    mixed.database.expect_nothing_of(stack.id)


# deployments --------------------------------------------------------------------------------------------------------


def deploying(script: str) -> dict[str, Any]:
    def deployment(transport: str) -> dict[str, Any]:
        return {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "config": reference("config"),
                "server": reference("server"),
                "signal_transport": transport,
                "actions": ["CREATE", "UPDATE"],
            },
        }

    return template(
        {
            "config": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {"group": "script", "config": script, "outputs": [{"name": "y"}]},
            },
            "server": {
                "type": "OS::Heat::DeployedServer",
                "properties": {"software_config_transport": "POLL_SERVER_CFN"},
            },
            "by_url": deployment("CFN_SIGNAL"),
            "by_heat": deployment("HEAT_SIGNAL"),
        },
        {name: attribute(name, "y") for name in ("by_url", "by_heat")},
    )


def told(stack: Stack, name: str, script: str) -> dict[str, Any]:
    """What the server is told of a deployment that waits with this script; {} while there is none."""
    metadata = stack.api.get(f"{stack.path}/resources/server/metadata")["metadata"]
    for entry in metadata.get("deployments", []):
        inputs = {one["name"]: one.get("value") for one in entry["inputs"]}
        if entry["config"] == script and inputs.get("deploy_resource_name", inputs.get("deploy_signal_id")):
            if name == _resource_of(inputs):
                return inputs
    return {}


def _resource_of(inputs: dict[str, Any]) -> str:
    if "deploy_resource_name" in inputs:
        return str(inputs["deploy_resource_name"])
    return str(inputs["deploy_signal_id"]).partition("/resources/")[2].partition("?")[0]


def wait_told(stack: Stack, name: str, script: str) -> dict[str, Any]:
    return until(lambda: told(stack, name, script), f"the server is told of {name} with {script!r}")


def by_url(land: Land, kind: str, stack: Stack, script: str, output: str) -> None:
    """As the hooks of heat-agents do with CFN_SIGNAL."""
    inputs = wait_told(stack, "by_url", script)
    reply = land.signal(kind, inputs["deploy_signal_id"], {"y": output, "deploy_status_code": 0})
    assert reply.status_code == 200, reply.text


def by_heat(stack: Stack, script: str, output: str) -> None:
    """As the hooks of heat-agents do with HEAT_SIGNAL: as the user of the deployment."""
    inputs = wait_told(stack, "by_heat", script)
    user = {"id": inputs["deploy_user_id"], "password": inputs["deploy_password"]}
    api = Api(stack.api.root, inputs["deploy_project_id"], login(user, inputs["deploy_project_id"]).id)
    path = f"/stacks/{inputs['deploy_stack_id']}/resources/{inputs['deploy_resource_name']}"
    api.post(path + "/signal", {"y": output, "deploy_status_code": 0})


def test_deployments(mixed: Land, api: Api, cfn: str) -> None:
    stack = api.create(deploying("one"), wait=False)
    by_url(mixed, cfn, stack, "one", "1")
    by_heat(stack, "one", "2")
    stack.wait("CREATE_COMPLETE")
    assert stack.outputs() == {"by_url": "1", "by_heat": "2"}
    at_rest(mixed)

    stack.update(deploying("two"), wait=None)
    by_heat(stack, "two", "4")
    by_url(mixed, cfn, stack, "two", "3")
    stack.wait("UPDATE_COMPLETE")
    assert stack.outputs() == {"by_url": "3", "by_heat": "4"}
    at_rest(mixed)
    server = stack.resources()["server"]["physical_resource_id"]
    for other in mixed.apis.values():
        listed = other.get(f"/software_deployments?server_id={server}")["software_deployments"]
        assert sorted(one["output_values"]["y"] for one in listed) == ["3", "4"]
        assert {one["status"] for one in listed} == {"COMPLETE"}

    stack.delete()
    mixed.database.expect_nothing_of(stack.id)
    for other in mixed.apis.values():
        assert other.get(f"/software_deployments?server_id={server}")["software_deployments"] == []


# one goes on with what the other began --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"), [(OURS, THEIRS), (THEIRS, OURS)], ids=["theirs-after-ours", "ours-after-theirs"]
)
def test_a_url_outlives_the_engine_that_made_it(land: Land, cfn: str, first: str, second: str) -> None:
    land.engines(first)
    handles = template(
        {name: body for name, body in WAITING["resources"].items() if "handle" in name},
        {"signal": attribute("handle", "signal"), "aws_signal": reference("aws_handle")},
    )
    stack = land.api(first).create(handles)
    outputs = stack.outputs()
    url, aws_url = json.loads(outputs["signal"])["alarm_url"], outputs["aws_signal"]
    land.engines(second)
    all_at_once(land, cfn, [(url, SIGNALS[0], "PUT"), (aws_url, AWS_SIGNALS[0], "PUT")])
    other = land.api(second).stack(stack.name, stack.id)
    other.update(WAITING, wait=None)
    calls = [(url, one, "PUT") for one in SIGNALS[1:]] + [(aws_url, one, "PUT") for one in AWS_SIGNALS[1:]]
    all_at_once(land, cfn, calls)
    other.wait("UPDATE_COMPLETE")
    assert json.loads(other.outputs()["data"]) == json.loads(other.outputs()["aws_data"]) == DATA
    assert (json.loads(other.outputs()["signal"])["alarm_url"], other.outputs()["aws_signal"]) == (url, aws_url)
    at_rest(land)
    other.delete()


def test_ours_goes_on_waiting_where_theirs_died(land: Land, cfn: str) -> None:
    land.engines(THEIRS)
    stack = land.api(THEIRS).create(WAITING, wait=False)
    url, aws_url = urls(stack)
    all_at_once(land, cfn, [(url, SIGNALS[0], "PUT"), (aws_url, AWS_SIGNALS[0], "PUT")])
    land.kill(THEIRS)
    land.add(OURS)
    calls = [(url, one, "PUT") for one in SIGNALS[1:]] + [(aws_url, one, "PUT") for one in AWS_SIGNALS[1:]]
    all_at_once(land, cfn, calls)
    stack.wait("CREATE_COMPLETE")
    assert json.loads(stack.outputs()["data"]) == json.loads(stack.outputs()["aws_data"]) == DATA
    at_rest(land)
    stack.delete()


def test_a_deployment_that_theirs_left_waiting(land: Land, cfn: str) -> None:
    land.engines(THEIRS)
    stack = land.api(THEIRS).create(deploying("one"), wait=False)
    before = {name: wait_told(stack, name, "one") for name in ("by_url", "by_heat")}
    land.kill(THEIRS)
    land.add(OURS)
    by_url(land, cfn, stack, "one", "1")
    by_heat(stack, "one", "2")
    stack.wait("CREATE_COMPLETE")
    assert stack.outputs() == {"by_url": "1", "by_heat": "2"}
    assert {name: told(stack, name, "one") for name in before} == before, "nothing was deployed twice"
    at_rest(land)
    stack.delete()
