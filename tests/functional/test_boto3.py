# SPDX-License-Identifier: Apache-2.0
"""boto3's CloudFormation client, and the aws command, against heat-api-cfn, with keys of Keystone."""

from __future__ import annotations

import json
import pathlib
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.fixtures import client_venv, identity, stores, templates
from tests.fixtures.api import Api
from tests.fixtures.checks import Database
from tests.fixtures.polling import until
from tests.fixtures.processes import run
from tests.fixtures.service import OURS, Installation

boto3 = pytest.importorskip("boto3")

pytestmark = [pytest.mark.services, pytest.mark.keystone]

# The actions of the API; boto3 knows more, which only Amazon has.
ACTIONS = {
    "cancel_update_stack",
    "create_stack",
    "delete_stack",
    "describe_stack_events",
    "describe_stack_resource",
    "describe_stack_resources",
    "describe_stacks",
    "estimate_template_cost",
    "get_template",
    "list_stack_resources",
    "list_stacks",
    "update_stack",
    "validate_template",
}
TEMPLATE = json.dumps(
    {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "in the dialect of Amazon",
        "Parameters": {
            "Salt": {"Type": "String", "Default": "1", "Description": "changes a"},
            "Secret": {"Type": "String", "Default": "hush", "NoEcho": "true"},
            "Slow": {"Type": "Number", "Default": "0"},
        },
        "Resources": {
            "a": {
                "Type": "OS::Heat::TestResource",
                "Metadata": {"colour": "blue"},
                "Properties": {
                    "value": {"Fn::Join": ["", ["a", {"Ref": "Salt"}]]},
                    "wait_secs": {"Ref": "Slow"},
                },
            },
            "b": {"Type": "OS::Heat::TestResource", "Properties": {"value": {"Fn::GetAtt": ["a", "output"]}}},
        },
        "Outputs": {"Last": {"Description": "the last", "Value": {"Fn::GetAtt": ["b", "output"]}}},
    }
)
QUICK = {"Delay": 1, "MaxAttempts": 60}


class Recorder:
    """The client, and the actions that were called."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(self.client, name)

    def wait(self, waiter: str, stack: str) -> None:
        self.client.get_waiter(waiter).wait(StackName=stack, WaiterConfig=QUICK)

    def status(self, stack: str) -> str:
        return str(self.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"])


@pytest.fixture(scope="module")
def realm() -> Iterator[identity.Realm]:
    realm = identity.Realm()
    yield realm
    realm.close()


@pytest.fixture(scope="module")
def user(realm: identity.Realm) -> tuple[str, str]:
    """Access key and secret of a new member of a new project."""
    project = realm.project("boto")
    token = identity.login(realm.user("boto", {project: ["member"]}), project)
    return realm.admin.ec2_key(token.user_id, project)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with stores.mariadb_database("boto") as (_, connection), stores.rabbitmq_vhost("boto") as (_, transport):
        installation = Installation(tmp_path_factory.mktemp("boto"), connection, transport)
        try:
            installation.manage(OURS, "db_sync")
            installation.engine(OURS)
            yield installation
        finally:
            installation.stop()


@pytest.fixture(scope="module")
def endpoint(installation: Installation) -> str:
    return installation.cfn() + "/v1/"


def client(endpoint: str, keys: tuple[str, str], **config: Any) -> Any:
    return boto3.client(
        "cloudformation",
        endpoint_url=endpoint,
        region_name="RegionOne",
        aws_access_key_id=keys[0],
        aws_secret_access_key=keys[1],
        config=boto3.session.Config(retries={"max_attempts": 0}, **config),
    )


@pytest.fixture
def cloudformation(endpoint: str, user: tuple[str, str]) -> Recorder:
    return Recorder(client(endpoint, user))


@pytest.fixture
def name() -> str:
    return "boto-" + secrets.token_hex(4)


def test_every_action(cloudformation: Recorder, name: str) -> None:
    cfn = cloudformation
    valid = cfn.validate_template(TemplateBody=TEMPLATE)
    assert valid["Description"] == "in the dialect of Amazon"
    parameters = {p["ParameterKey"]: p for p in valid["Parameters"]}
    assert parameters["Secret"]["NoEcho"] is True and parameters["Salt"]["DefaultValue"] == "1"
    assert cfn.estimate_template_cost(TemplateBody=TEMPLATE)["Url"].startswith("http")
    created = cfn.create_stack(
        StackName=name,
        TemplateBody=TEMPLATE,
        Parameters=[{"ParameterKey": "Salt", "ParameterValue": "2"}],
        TimeoutInMinutes=7,
        OnFailure="DO_NOTHING",
    )
    arn = created["StackId"]
    assert arn.startswith("arn:openstack:heat::") and f":stacks/{name}/" in arn
    cfn.wait("stack_exists", name)
    cfn.wait("stack_create_complete", arn)
    stack = cfn.describe_stacks(StackName=name)["Stacks"][0]
    assert (stack["StackId"], stack["StackStatus"], stack["TimeoutInMinutes"]) == (arn, "CREATE_COMPLETE", 7)
    assert stack["DisableRollback"] is True and stack["CreationTime"].year >= 2020
    assert {p["ParameterKey"]: p["ParameterValue"] for p in stack["Parameters"]}["Secret"] == "******"
    assert [(o["OutputKey"], o["OutputValue"]) for o in stack["Outputs"]] == [("Last", "a2")]
    assert name in {s["StackName"] for s in cfn.list_stacks()["StackSummaries"]}
    resources = cfn.list_stack_resources(StackName=name)["StackResourceSummaries"]
    assert {r["LogicalResourceId"]: r["ResourceStatus"] for r in resources} == {
        "a": "CREATE_COMPLETE",
        "b": "CREATE_COMPLETE",
    }
    detail = cfn.describe_stack_resource(StackName=name, LogicalResourceId="a")["StackResourceDetail"]
    assert json.loads(detail["Metadata"]) == {"colour": "blue"} and detail["StackName"] == name
    assert detail["LastUpdatedTimestamp"].year >= 2020
    described = cfn.describe_stack_resources(StackName=name)["StackResources"]
    assert {r["LogicalResourceId"] for r in described} == {"a", "b"}
    one = cfn.describe_stack_resources(PhysicalResourceId=detail["PhysicalResourceId"])["StackResources"]
    assert "a" in {r["LogicalResourceId"] for r in one}
    events = cfn.describe_stack_events(StackName=name)["StackEvents"]
    assert {(e["LogicalResourceId"], e["ResourceStatus"]) for e in events} >= {
        ("a", "CREATE_IN_PROGRESS"),
        ("a", "CREATE_COMPLETE"),
        (name, "CREATE_COMPLETE"),
    }
    assert all(e["Timestamp"].year >= 2020 and e["EventId"] for e in events)
    body = cfn.get_template(StackName=name)["TemplateBody"]
    assert (body if isinstance(body, dict) else json.loads(body))["Description"] == "in the dialect of Amazon"
    updated = cfn.update_stack(
        StackName=name, TemplateBody=TEMPLATE, Parameters=[{"ParameterKey": "Salt", "ParameterValue": "3"}]
    )
    assert updated["StackId"] == arn
    cfn.wait("stack_update_complete", name)
    assert cfn.describe_stacks(StackName=arn)["Stacks"][0]["Outputs"][0]["OutputValue"] == "a3"
    slow = [{"ParameterKey": k, "ParameterValue": v} for k, v in (("Salt", "4"), ("Slow", "3"))]
    cfn.update_stack(StackName=name, TemplateBody=TEMPLATE, Parameters=slow)
    assert cfn.status(name) == "UPDATE_IN_PROGRESS"
    cfn.cancel_update_stack(StackName=name)
    until(lambda: cfn.status(name) == "ROLLBACK_COMPLETE", "the update is rolled back")
    cfn.delete_stack(StackName=name)
    cfn.wait("stack_delete_complete", name)
    with pytest.raises(cfn.client.exceptions.ClientError) as caught:
        cfn.describe_stacks(StackName=name)
    assert caught.value.response["Error"]["Code"] == "ValidationError"
    assert not ACTIONS - cfn.called, ACTIONS - cfn.called


def test_paginators(cloudformation: Recorder, name: str) -> None:
    cfn = cloudformation
    cfn.create_stack(StackName=name, TemplateBody=json.dumps(templates.flat()))
    cfn.wait("stack_create_complete", name)
    pages = {
        "list_stacks": ("StackSummaries", {}),
        "describe_stacks": ("Stacks", {}),
        "describe_stack_events": ("StackEvents", {"StackName": name}),
        "list_stack_resources": ("StackResourceSummaries", {"StackName": name}),
    }
    for action, (key, arguments) in pages.items():
        found = list(cfn.get_paginator(action).paginate(**arguments).search(key))
        assert found and all(found), action
    cfn.delete_stack(StackName=name)
    cfn.wait("stack_delete_complete", name)


def refused(call: Any, **arguments: Any) -> tuple[int, str]:
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError) as caught:
        call(**arguments)
    answer = caught.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


def test_refusals(cloudformation: Recorder, endpoint: str, user: tuple[str, str], name: str) -> None:
    cfn = cloudformation
    assert refused(cfn.describe_stacks, StackName=name) == (400, "ValidationError")
    assert refused(cfn.validate_template, TemplateBody="{") == (400, "InvalidParameterValue")
    unknown = json.dumps(templates.hot({"a": {"type": "No::Such::Type"}}))
    assert refused(cfn.create_stack, StackName=name, TemplateBody=unknown)[0] == 400
    assert refused(client(endpoint, (user[0], "wrong")).list_stacks) == (403, "AccessDenied")
    assert refused(client(endpoint, ("unknown", "wrong")).list_stacks) == (403, "InvalidClientTokenId")


def test_waiter_of_a_failure(cloudformation: Recorder, name: str) -> None:
    from botocore.exceptions import WaiterError

    cfn = cloudformation
    cfn.create_stack(StackName=name, TemplateBody=json.dumps(templates.flat(fail=True)), OnFailure="DO_NOTHING")
    with pytest.raises(WaiterError, match="CREATE_FAILED"):
        cfn.wait("stack_create_complete", name)
    cfn.delete_stack(StackName=name)
    cfn.wait("stack_delete_complete", name)


@pytest.mark.parametrize("version", ["v2", "v4"])
def test_signatures(endpoint: str, user: tuple[str, str], version: str) -> None:
    config = {"signature_version": version} if version == "v2" else {}
    assert "StackSummaries" in client(endpoint, user, **config).list_stacks()


WAITING = json.dumps({
    "AWSTemplateFormatVersion": "2010-09-09",
    "Resources": {
        "handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
        "wait": {
            "Type": "AWS::CloudFormation::WaitCondition",
            "Properties": {"Handle": {"Ref": "handle"}, "Timeout": "300"},
        },
        "group": {
            "Type": "OS::Heat::ResourceGroup",
            "Properties": {"count": 1, "resource_def": {"type": "OS::Heat::TestResource"}},
        },
    },
    "Outputs": {"Url": {"Value": {"Ref": "handle"}}, "Data": {"Value": {"Fn::GetAtt": ["wait", "Data"]}}},
})  # fmt: skip
SCALING = json.dumps(
    templates.hot({
        "group": {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {"min_size": 0, "max_size": 1, "resource": {"type": "OS::Heat::TestResource"}},
        },
    })
)  # fmt: skip


def credentials(installation: Installation, stack: str) -> dict[str, Any]:
    rows = Database(installation.connection).rows(
        "SELECT c.* FROM user_creds c JOIN stack s ON s.user_creds_id = c.id WHERE s.name = :name", name=stack
    )
    return rows[0]


def test_a_stack_without_a_trust(installation: Installation, endpoint: str, user: tuple[str, str], name: str) -> None:
    """Keystone lets nobody make one who signed the request: what needs none is made, and outlives the engine."""
    cfn = client(endpoint, user)
    cfn.create_stack(StackName=name, TemplateBody=WAITING)

    def url() -> Any:
        outputs = cfn.describe_stacks(StackName=name)["Stacks"][0]["Outputs"]
        return next((one["OutputValue"] for one in outputs if one["OutputKey"] == "Url" and "://" in str(one)), None)

    signal = until(url, "the handle is made")
    row = credentials(installation, name)
    assert (row["trust_id"], row["password"]) == (None, None) and row["tenant_id"]
    engine = next(program for program in installation.programs if "engine" in program.name)
    engine.kill()
    engine.start()
    reply = requests.put(signal, json={"Status": "SUCCESS", "UniqueId": "1", "Data": "d", "Reason": ""}, timeout=60)
    assert reply.status_code == 200, reply.text
    cfn.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig=QUICK)
    cfn.update_stack(StackName=name, TemplateBody=WAITING.replace('"count": 1', '"count": 2'))
    cfn.get_waiter("stack_update_complete").wait(StackName=name, WaiterConfig=QUICK)
    cfn.delete_stack(StackName=name)
    cfn.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig=QUICK)


def test_what_acts_by_itself_needs_a_trust(
    installation: Installation, endpoint: str, realm: identity.Realm, user: tuple[str, str], name: str
) -> None:
    """Said at once, by a refusal. A later update by somebody who can make a trust gives the stack one."""
    cfn = client(endpoint, user)
    assert refused(cfn.create_stack, StackName=name, TemplateBody=SCALING) == (403, "AccessDenied")
    assert name not in {stack["StackName"] for stack in cfn.list_stacks()["StackSummaries"]}
    plain = json.dumps(templates.hot({"a": templates.resource()}))
    cfn.create_stack(StackName=name, TemplateBody=plain)
    cfn.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig=QUICK)
    assert refused(cfn.update_stack, StackName=name, TemplateBody=SCALING) == (403, "AccessDenied")
    project = credentials(installation, name)["tenant_id"]
    token = identity.login(realm.user("trusting", {project: ["member"]}), project)
    api = Api(installation.api(OURS), project, token.id)
    stack = api.stack(name, api.send("GET", f"/stacks/{name}").headers["Location"].rpartition("/")[2])
    stack.update(SCALING)
    assert credentials(installation, name)["trust_id"]
    stack.delete()


def test_rest_of_the_interface_is_refused(cloudformation: Recorder) -> None:
    """Actions that only Amazon has."""
    assert refused(cloudformation.list_exports)[0] == 400


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_aws_command_line(endpoint: str, user: tuple[str, str], name: str, tmp_path: pathlib.Path) -> None:
    try:
        aws = client_venv.environment("aws") / "aws"
    except client_venv.NotInstallable as exc:
        pytest.skip(str(exc))
    env = {"AWS_ACCESS_KEY_ID": user[0], "AWS_SECRET_ACCESS_KEY": user[1], "AWS_DEFAULT_REGION": "RegionOne"}
    env |= {"AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_MAX_ATTEMPTS": "1"}
    template = tmp_path / "template.json"
    template.write_text(TEMPLATE)

    def call(*words: str) -> Any:
        done = run([aws, "--endpoint-url", endpoint, "--output", "json", "cloudformation", *words], env=env)
        return json.loads(done.stdout) if done.stdout.strip() else None

    body = ("--template-body", f"file://{template}")
    assert call("validate-template", *body)["Description"] == "in the dialect of Amazon"
    parameters = ("--parameters", "ParameterKey=Salt,ParameterValue=2")
    assert call("create-stack", "--stack-name", name, *body, *parameters)["StackId"]
    call("wait", "stack-create-complete", "--stack-name", name)
    assert call("describe-stacks", "--stack-name", name)["Stacks"][0]["Outputs"][0]["OutputValue"] == "a2"
    events = call("describe-stack-events", "--stack-name", name, "--max-items", "3")
    assert len(events["StackEvents"]) == 3
    call("delete-stack", "--stack-name", name)
    call("wait", "stack-delete-complete", "--stack-name", name)
