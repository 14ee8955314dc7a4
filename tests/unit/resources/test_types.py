# SPDX-License-Identifier: Apache-2.0
"""What is peculiar to single types."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.resources.aws.cfn.wait_condition_handle import WaitConditionHandle
from openkeel_heat.resources.kit import lifecycle, signal_responder
from openkeel_heat.resources.kit.lifecycle import Pause
from tests.unit.resources.fakes import Driver, FakeClients, FakeStack, drive, hot, test_resource


def only(definition: dict[str, Any], **kwargs: Any) -> Any:
    return FakeStack(hot({"r": definition}), **kwargs)["r"]


def created(resource: Any) -> Any:
    drive(lifecycle.create(resource), resource)
    return resource


# --- OS::Heat::None


def test_none_takes_anything() -> None:
    resource = only({"type": "OS::Heat::None", "properties": {"any": {"thing": 1}}})
    assert resource.validate() is None
    created(resource)
    assert resource.FnGetAtt("whatever", "path") is None
    assert resource.data() == {"is_placeholder": "True"}
    after = FakeStack(hot({"r": {"type": "OS::Heat::None", "properties": {"other": 2}}})).defn
    driver = drive(lifecycle.update(resource, after.resource_definition("r"), new_template_id=3), resource)
    assert driver.short == ["CREATE_COMPLETE"]
    assert drive(lifecycle.delete(resource), resource).short[-1] == "DELETE_COMPLETE"


# --- OS::Heat::Value


@pytest.mark.parametrize(
    "kind, value, expected",
    [
        (None, {"a": [1, None]}, {"a": [1, None]}),
        ("string", 5, 5),
        ("comma_delimited_list", ["a"], ["a"]),
        ("boolean", "true", "true"),
    ],
)
def test_value(kind: Any, value: Any, expected: Any) -> None:
    props = {"value": value, **({"type": kind} if kind else {})}
    resource = only({"type": "OS::Heat::Value", "properties": props})
    resource.validate()
    assert created(resource).FnGetAtt("value") == expected


def test_value_of_the_wrong_type() -> None:
    resource = only({"type": "OS::Heat::Value", "properties": {"value": "x", "type": "number"}})
    with pytest.raises(exception.StackValidationFailed, match=r"resources.r.properties.value: "):
        resource.validate()


def test_value_of_a_type_that_is_none() -> None:
    resource = only({"type": "OS::Heat::Value", "properties": {"value": "x", "type": ["string"]}})
    with pytest.raises(exception.StackValidationFailed, match=r"resources.r.properties.type: Value must be a string"):
        resource.validate()


def test_value_changes_in_place() -> None:
    resource = created(only({"type": "OS::Heat::Value", "properties": {"value": 1}}))
    assert resource.FnGetAtt("value") == 1
    after = FakeStack(hot({"r": {"type": "OS::Heat::Value", "properties": {"value": 2}}})).defn
    drive(lifecycle.update(resource, after.resource_definition("r")), resource)
    assert resource.FnGetAtt("value") == 2


# --- OS::Heat::RandomString


def random_string(**props: Any) -> Any:
    return only({"type": "OS::Heat::RandomString", "properties": props})


def test_random_string() -> None:
    resource = created(random_string(length=10))
    value = resource.FnGetAtt("value")
    assert len(value) == 10 and value.isalnum()
    assert resource.FnGetRefId() == value
    assert resource.stack.store.writes == [("data", "value", value, True)]


@pytest.mark.parametrize(
    "props, allowed",
    [
        ({"sequence": "digits"}, "0123456789"),
        ({"character_classes": [{"class": "octdigits", "min": 32}]}, "01234567"),
    ],
)
def test_characters(props: dict[str, Any], allowed: str) -> None:
    resource = random_string(**props)
    resource.validate()
    value = created(resource).FnGetAtt("value")
    if "sequence" in props:
        # The hidden property adds its class to the default one.
        assert len(value) == 32
    else:
        assert set(value) <= set(allowed)


def test_minimums_that_do_not_fit() -> None:
    with pytest.raises(exception.StackValidationFailed, match="Length property cannot be smaller than combined"):
        random_string(length=2, character_sequences=[{"sequence": "ab", "min": 3}]).validate()


def test_a_secret_is_made_once() -> None:
    resource = random_string()
    Driver(lifecycle.create(resource), resource).step()
    resource.data_set("value", "made before", redact=True)
    drive(lifecycle.resume_action(resource), resource)
    assert resource.FnGetAtt("value") == "made before"


# --- wait conditions


class FakeKeystone:
    v3_endpoint = "http://keystone/v3"
    stack_domain_id = "domain"

    def __init__(self) -> None:
        self.users: dict[str, Any] = {}

    def create_stack_domain_project(self, stack_id: str) -> str:
        return "made-project"

    def create_stack_domain_user(self, username: str, password: Any, project_id: str) -> str:
        self.users["user"] = (username, password, project_id)
        return "user"

    def set_stack_domain_user_password(self, user_id: str, project_id: str, password: str) -> None:
        name, _password, project = self.users[user_id]
        assert project == project_id
        self.users[user_id] = (name, password, project)

    def stack_domain_user_token(self, user_id: str, project_id: str, password: str) -> str:
        assert self.users[user_id][1:] == (password, project_id)
        return "a-token"

    def create_stack_domain_user_keypair(self, user_id: str, project_id: str) -> Any:
        return type("Pair", (), {"id": "cred", "access": "AK", "secret": "SK"})

    def delete_stack_domain_user_keypair(self, **kwargs: Any) -> None:
        self.users["pair deleted"] = kwargs

    def delete_stack_domain_user(self, user_id: str, project_id: str) -> None:
        del self.users[user_id]

    def disable_stack_domain_user(self, **kwargs: Any) -> None:
        self.users["disabled"] = kwargs

    def server_keystone_endpoint_url(self, fallback_endpoint: str) -> str:
        return fallback_endpoint


class Plugin:
    def __init__(self, client: Any = None) -> None:
        self._client = client

    def client(self) -> Any:
        return self._client

    def get_heat_url(self) -> str:
        return "http://heat:8004/v1/project"

    def get_heat_cfn_url(self) -> str:
        return "http://heat:8000/v1"

    def get_insecure_option(self) -> bool:
        return False

    def _get_region_name(self) -> str:
        return "RegionOne"

    @property
    @contextlib.contextmanager
    def ignore_not_found(self) -> Iterator[None]:
        yield


def waiting_stack(count: int = 1, **handle: Any) -> FakeStack:
    clients = FakeClients(keystone=Plugin(FakeKeystone()), heat=Plugin())
    stack = FakeStack(
        hot(
            {
                "h": {"type": "OS::Heat::WaitConditionHandle", "properties": handle},
                "w": {
                    "type": "OS::Heat::WaitCondition",
                    "properties": {"handle": "user", "timeout": 10, "count": count},
                },
            }
        ),
        clients=clients,
    )
    created(stack["h"])
    return stack


def test_token_signal() -> None:
    handle = waiting_stack()["h"]
    assert handle.FnGetRefId() == "user"
    assert handle.FnGetAtt("token") == "a-token"
    endpoint = handle.FnGetAtt("endpoint")
    assert endpoint == ("http://heat:8004/v1/stack-user-project/stacks/st/%s/resources/h/signal" % handle.stack.id)
    assert handle.FnGetAtt("curl_cli") == (
        "curl -i -X POST -H 'X-Auth-Token: a-token' -H 'Content-Type: application/json' "
        "-H 'Accept: application/json' " + endpoint
    )
    assert handle.FnGetAtt("signal") == "null"
    assert ("data", "token", "a-token", True) in handle.stack.store.writes


def test_cfn_signal() -> None:
    handle = waiting_stack(signal_transport="CFN_SIGNAL")["h"]
    url = json.loads(handle.FnGetAtt("signal"))["alarm_url"]
    assert url.startswith("http://heat:8000/v1/waitcondition/arn%3Aopenstack%3Aheat%3A%3Aproject%3Astacks/st/")
    assert "SignatureVersion=2" in url and "AWSAccessKeyId=AK" in url
    # The URL is made once.
    assert json.loads(handle.FnGetAtt("signal"))["alarm_url"] == url


def test_heat_signal() -> None:
    handle = waiting_stack(signal_transport="HEAT_SIGNAL")["h"]
    signal = json.loads(handle.FnGetAtt("signal"))
    assert signal.pop("password") == handle.data()["password"]
    assert signal == {
        "auth_url": "http://keystone/v3",
        "username": handle.physical_resource_name(),
        "user_id": "user",
        "project_id": "stack-user-project",
        "domain_id": "domain",
        "region_name": "RegionOne",
        "alarm_url": "http://heat:8004/v1/stack-user-project/stacks/st/%s/resources/h/signal" % handle.stack.id,
    }


def test_signature() -> None:
    params = {
        "AWSAccessKeyId": "AK",
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        "Timestamp": "2020-01-01T00:00:00Z",
    }
    assert signal_responder.ec2_signature("SK", "PUT", "heat:8000", "/v1/waitcondition/arn:x", params) == (
        EXPECTED_SIGNATURE
    )


# Made with keystoneclient's Ec2Signer of the reference installation.
EXPECTED_SIGNATURE = "qlKPSHxplK6fv/nwDP40u/LJMx6FJsSsNwmhmT6UIqM="


def test_deleting_a_handle_deletes_its_user() -> None:
    handle = waiting_stack(signal_transport="CFN_SIGNAL")["h"]
    handle.FnGetAtt("signal")
    drive(lifecycle.delete(handle), handle)
    assert set(handle.keystone().users) == {"pair deleted"}
    assert set(handle.data()) == {"password"}


def test_suspended_handle_takes_no_signals() -> None:
    handle = waiting_stack()["h"]
    drive(lifecycle.suspend(handle), handle)
    assert "disabled" in handle.keystone().users
    with pytest.raises(exception.NotSupported, match="Signal resource during SUSPEND is not supported."):
        handle.signal({})
    assert handle.stack.store.events[-1][2] == "Cannot signal resource during SUSPEND"


def test_wait_condition() -> None:
    stack = waiting_stack(count=2)
    handle, condition = stack["h"], stack["w"]
    driver = Driver(lifecycle.create(condition), condition).run(until=Pause)
    assert driver.steps[-1].wake_on == ("resource", handle.id)
    handle.signal({"data": "one"})
    driver.step()
    assert not driver.done
    handle.signal({"data": "two", "id": "x", "reason": "because"})
    driver.run()
    assert driver.short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    assert json.loads(condition.FnGetAtt("data")) == {"1": "one", "x": "two"}
    assert [event[2] for event in stack.store.events] == [
        "Signal: status:SUCCESS reason:Signal 1 received",
        "Signal: status:SUCCESS reason:because",
    ]
    drive(lifecycle.delete(condition), condition)
    assert handle.metadata_get(refresh=True) == {}


def test_failure_by_signal() -> None:
    stack = waiting_stack()
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)
    stack["h"].signal({"status": "FAILURE", "reason": "broken", "id": 1})
    with pytest.raises(exception.ResourceFailure, match="WaitConditionFailure: resources.w: broken"):
        driver.run()


def test_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = waiting_stack(count=3)
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)
    stack["h"].signal({})
    monkeypatch.setattr(clock, "seconds_since", lambda moment: 11)
    with pytest.raises(
        exception.ResourceFailure, match="WaitConditionTimeout: resources.w: 1 of 3 received - Signal 1 received"
    ):
        driver.run()


@pytest.mark.parametrize("signal", [{"status": "MAYBE"}, {"more": 1}])
def test_bad_signals(signal: dict[str, Any]) -> None:
    handle = waiting_stack()["h"]
    with pytest.raises(exception.ResourceFailure, match="Metadata format invalid"):
        handle.signal(signal)


def test_not_a_handle() -> None:
    stack = FakeStack(
        hot(
            {
                "a": test_resource(),
                "w": {"type": "OS::Heat::WaitCondition", "properties": {"handle": "a", "timeout": 1}},
            }
        )
    )
    with pytest.raises(exception.ResourceFailure, match="a is not a valid wait condition handle."):
        drive(lifecycle.create(stack["w"]), stack["w"])


def test_no_signal() -> None:
    stack = waiting_stack(signal_transport="NO_SIGNAL")
    assert drive(lifecycle.create(stack["w"]), stack["w"]).short[-1] == "CREATE_COMPLETE"


# --- OS::Heat::Stack


class FakeApi:
    """The adapter of another Heat."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.status = "CREATE_COMPLETE"

    def request(self, path: str, method: str, json: Any = None, **_options: Any) -> Any:
        self.calls.append((method, path, json))
        body: Any = None
        if method == "POST" and path == "/stacks":
            body = {"stack": {"id": "remote"}}
        elif method == "GET":
            body = {
                "stack": {
                    "id": "remote",
                    "stack_name": "n",
                    "stack_status": self.status,
                    "stack_status_reason": "why",
                    "outputs": [{"output_key": "k", "output_value": "v"}],
                }
            }
        kind = "application/json" if body else "text/plain"
        content = {"status_code": 200, "headers": {"Content-Type": kind}, "json": lambda self: body}
        return type("Response", (), content)()


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Any:
    api = FakeApi()
    plugin = Plugin(api)
    resource = only(
        {
            "type": "OS::Heat::Stack",
            "properties": {"template": "heat_template_version: 2016-10-14", "parameters": {"p": 1}, "timeout": 5},
        }
    )
    context = type("Context", (), {"clients": FakeClients(heat=plugin)})()
    monkeypatch.setattr(type(resource), "_context", lambda self: context)
    resource.stack.clients = context.clients
    resource.api = api
    return resource


def test_remote_stack(remote: Any) -> None:
    created(remote)
    method, path, body = remote.api.calls[0]
    assert (method, path) == ("POST", "/stacks")
    assert body["stack_name"] == remote.physical_resource_name() and body["disable_rollback"] is True
    assert body["template"] == {"heat_template_version": "2016-10-14"} and body["timeout_mins"] == 5
    assert body["parameters"] == {"p": 1}
    assert remote.FnGetRefId() == "remote"
    assert remote.FnGetAtt("outputs") == {"k": "v"} and remote.FnGetAtt("stack_name") == "n"


def test_remote_stack_that_fails(remote: Any) -> None:
    remote.api.status = "CREATE_FAILED"
    cfg.CONF.set_override("action_retry_limit", 0)
    try:
        with pytest.raises(exception.ResourceFailure, match='Went to status CREATE_FAILED due to "why"'):
            drive(lifecycle.create(remote), remote)
    finally:
        cfg.CONF.clear_override("action_retry_limit")


@pytest.mark.parametrize("ended", ["ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_an_update_of_a_remote_stack_that_was_rolled_back_there_has_failed(remote: Any, ended: str) -> None:
    """It would be waited for until the time of the stack is over."""
    created(remote)
    remote.stack.action = "UPDATE"
    remote.api.status = "ROLLBACK_IN_PROGRESS"
    driver = Driver(lifecycle.update(remote, remote.t), remote).run(until=Pause)
    remote.api.status = ended
    with pytest.raises(exception.ResourceFailure, match='Went to status %s due to "why"' % ended):
        driver.run()


# --- OS::Heat::Delay


def delay(**props: Any) -> Any:
    return only({"type": "OS::Heat::Delay", "properties": props})


def test_delay() -> None:
    resource = delay(min_wait=5, actions=["CREATE", "RESUME"])
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    assert 4.9 < driver.pauses[0] <= 5
    resource._check_complete = lambda *cookie: True
    driver.run()
    del resource._check_complete
    assert drive(lifecycle.suspend(resource), resource).pauses == []
    driver = Driver(lifecycle.resume(resource), resource).run(until=Pause)
    assert 4.9 < driver.pauses[0] <= 5


def test_another_delay_is_that_of_the_next_action() -> None:
    """Heat replaces it, which delays the update."""
    resource = created(delay(min_wait=0, actions=["CREATE", "SUSPEND"]))
    after = FakeStack(hot({"r": {"type": "OS::Heat::Delay", "properties": {"min_wait": 7, "actions": ["SUSPEND"]}}}))
    updated = drive(lifecycle.update(resource, after.defn.resource_definition("r")), resource)
    assert updated.short[-1] == "UPDATE_COMPLETE" and updated.pauses == []
    suspended = Driver(lifecycle.suspend(resource), resource).run(until=Pause)
    assert 6.9 < suspended.pauses[0] <= 7


def test_delay_beyond_the_timeout() -> None:
    with pytest.raises(
        exception.StackValidationFailed, match=r"OS::Heat::Delay maximum delay 3601(\.0)?s exceeds stack timeout."
    ):
        delay(min_wait=3600, max_jitter=1).validate()
    with pytest.raises(exception.StackValidationFailed, match="is not an allowed value"):
        delay(actions=["CHECK"]).validate()


# --- the CloudFormation dialect


def cfn_stack() -> FakeStack:
    clients = FakeClients(keystone=Plugin(FakeKeystone()), heat=Plugin())
    stack = FakeStack(
        hot(
            {
                "h": {"type": "AWS::CloudFormation::WaitConditionHandle"},
                "w": {
                    "type": "AWS::CloudFormation::WaitCondition",
                    "properties": {"Handle": {"get_resource": "h"}, "Timeout": 10},
                },
            }
        ),
        clients=clients,
    )
    created(stack["h"])
    stack.defn.update_resource_data("h", stack["h"].node_data())
    return stack


def test_cfn_wait_condition() -> None:
    stack = cfn_stack()
    driver = Driver(lifecycle.create(stack["w"]), stack["w"]).run(until=Pause)
    with pytest.raises(exception.ResourceFailure, match="Metadata format invalid"):
        stack["h"].signal({"Status": "SUCCESS"})
    stack["h"].signal({"Status": "SUCCESS", "UniqueId": "u", "Data": "d", "Reason": "r"})
    driver.run()
    assert driver.short[-1] == "CREATE_COMPLETE"
    assert json.loads(stack["w"].FnGetAtt("Data")) == {"u": "d"}


def test_the_url_is_stored_before_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sees the id sees the URL, and makes no other."""
    stored = []
    resource_id_set = WaitConditionHandle.resource_id_set

    def watched(self: WaitConditionHandle, value: Any) -> None:
        stored.append(self.data().get("ec2_signed_url"))
        resource_id_set(self, value)

    monkeypatch.setattr(WaitConditionHandle, "resource_id_set", watched)
    stack = cfn_stack()
    assert stored == [stack["h"].FnGetRefId()]


def test_handle_of_another_stack() -> None:
    stack = cfn_stack()
    stack.name = "other"
    with pytest.raises(exception.ResourceFailure, match="WaitCondition invalid Handle stack st"):
        drive(lifecycle.create(stack["w"]), stack["w"])


def test_update_handle_is_always_replaced() -> None:
    clients = FakeClients(keystone=Plugin(FakeKeystone()), heat=Plugin())
    definition = {"type": "OS::Heat::UpdateWaitConditionHandle"}
    resource = created(only(definition, clients=clients))
    assert resource.FnGetRefId().startswith("http://heat:8000/v1/waitcondition/")
    with pytest.raises(exception.UpdateReplace):
        drive(lifecycle.update(resource, FakeStack(hot({"r": definition})).defn.resource_definition("r")), resource)


def test_nested_stack_by_url(monkeypatch: pytest.MonkeyPatch) -> None:
    from openkeel_heat.common import urlfetch

    text = b'{"AWSTemplateFormatVersion": "2010-09-09", "Outputs": {"o": {"Value": "x"}}}'
    monkeypatch.setattr(urlfetch, "get", lambda url: text)
    resource = only(
        {"type": "AWS::CloudFormation::Stack", "properties": {"TemplateURL": "http://x/t", "Parameters": {}}}
    )
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    resource.stack.nested_stacks.finish(o="x")
    driver.run()
    assert resource.FnGetAtt("Outputs.o") == "x"
    assert resource.FnGetRefId().startswith("arn:openstack:heat::project:stacks/")
    for wrong in ("o", "Outputs", "Outputs.other"):
        with pytest.raises(exception.InvalidTemplateAttribute):
            resource.FnGetAtt(wrong)


# --- OS::Heat::ResourceChain


@pytest.mark.parametrize("concurrent, depends", [(False, ["0"]), (True, None)])
def test_chain(concurrent: bool, depends: Any) -> None:
    props = {
        "resources": ["OS::Heat::TestResource", "OS::Heat::None"],
        "concurrent": concurrent,
        "resource_properties": {"value": "v"},
    }
    resource = only({"type": "OS::Heat::ResourceChain", "properties": props})
    resource.validate()
    members = resource.child_template()["resources"]
    assert members["0"] == {"type": "OS::Heat::TestResource", "properties": {"value": "v"}}
    assert members["1"].get("depends_on") == depends
