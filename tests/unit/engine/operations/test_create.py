# SPDX-License-Identifier: Apache-2.0
"""Creating stacks: what is stored, what is refused, and that a refusal leaves nothing behind."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.unit.engine.operations.conftest import hot, value


def test_everything_is_there_when_the_call_returns(service: Any) -> None:
    identity = service.create(
        hot({"a": value()}), {"parameters": {}}, args={"tags": ["t1", "t2"], "timeout_mins": 7}, wait=False
    )
    (row,) = service.rows("SELECT * FROM stack WHERE id = :i", i=identity["stack_id"])
    assert (row.name, row.tenant, row.timeout, row.disable_rollback) == (identity["stack_name"], "demo", 7, 1)
    assert row.action == "CREATE" and row.current_traversal and row.user_creds_id
    tags = service.rows("SELECT tag FROM stack_tag WHERE stack_id = :i ORDER BY id", i=identity["stack_id"])
    assert [tag.tag for tag in tags] == ["t1", "t2"]
    assert service.state(identity) == "CREATE_COMPLETE"
    assert service.show(identity)["tags"] == ["t1", "t2"]


def test_files_have_a_row_of_their_own(service: Any) -> None:
    files = {"file:///a.txt": "content"}
    template = hot({"a": value({"get_file": "file:///a.txt"})}, outputs={"o": {"value": {"get_attr": ["a", "value"]}}})
    identity = service.create(template, files=files)
    (row,) = service.rows(
        "SELECT t.files, f.files AS content FROM stack s JOIN raw_template t ON t.id = "
        "s.raw_template_id JOIN raw_template_files f ON f.id = t.files_id WHERE s.id = :i",
        i=identity["stack_id"],
    )
    assert (row.files, json.loads(row.content)) == ("null", files)
    assert service.call("get_files", stack_identity=identity) == files
    assert service.outputs(identity) == {"o": "content"}


REFUSALS = {
    "a bad name": ({"stack_name": "1x"}, "StackValidationFailed", "Invalid stack name 1x"),
    "a name that is no text": ({"stack_name": 5}, "StackValidationFailed", "must be a string"),
    "a name that is a list": ({"stack_name": []}, "StackValidationFailed", "Invalid stack name [], must be a string"),
    "a name that is a map": ({"stack_name": {"a": 1}}, "StackValidationFailed", "must be a string"),
    "a bad version": ({"template": {"heat_template_version": "1999-01-01"}}, "InvalidTemplateVersion", "1999-01-01"),
    "an unknown parameter": ({"params": {"parameters": {"zz": 1}}}, "UnknownUserParameter", "zz"),
    "an unknown type": ({"template": hot({"x": {"type": "OS::No::Such"}})}, "StackValidationFailed", "OS::No::Such"),
    "a cycle": (
        {"template": hot({"x": value(depends_on="y"), "y": value(depends_on="x")})},
        "CircularDependencyException",
        'Value "x"',
    ),
    "a missing reference": ({"template": hot({"x": value({"get_resource": "no"})})}, "InvalidTemplateReference", "no"),
    "a bad timeout": ({"args": {"timeout_mins": -1}}, "ValueError", "Invalid timeout value -1"),
    "a timeout that no database holds": (
        {"args": {"timeout_mins": "99999999999"}},
        "Invalid",
        "Data supplied was not valid: timeout_mins may not be more than 2147483647",
    ),
    "bad tags": ({"args": {"tags": "a"}}, "ValueError", "Invalid tags, not a list: a"),
    "one name for two": (
        {"template": hot({"p": value()}, parameters={"p": {"type": "string", "default": "d"}})},
        "StackValidationFailed",
        "Duplicate names",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_leaves_nothing(service: Any, case: str) -> None:
    changes, error_class, text = REFUSALS[case]
    arguments = {"stack_name": "refused", "template": hot({"a": value()}), "params": {}, "files": {}, "args": {}}
    before = service.census()
    error = service.refused("create_stack", **{**arguments, **changes})
    assert (type(error).__name__, text in str(error)) == (error_class, True), repr(error)
    assert service.census() == before


def test_a_name_in_use(service: Any) -> None:
    service.create(hot(), name="taken")
    before = service.census()
    error = service.refused("create_stack", stack_name="taken", template=hot(), params={}, files={}, args={})
    assert (type(error).__name__, str(error)) == ("StackExists", "The Stack (taken) already exists.")
    assert service.census() == before
    service.create(hot(), name="taken", context=service.context("other"), wait=False)


def test_of_two_at_once_one_wins(service: Any) -> None:
    answers: list[Any] = []
    start = threading.Barrier(4)

    def create() -> None:
        start.wait()
        try:
            answers.append(service.create(hot({"a": value()}), name="race", wait=False))
        except Exception as error:
            answers.append(type(error).__name__)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [one for one in answers if isinstance(one, dict)]
    assert len(made) == 1 and answers.count("StackExists") == 3, answers
    service.settle(made[0])
    orphans = service.rows(
        "SELECT id FROM user_creds WHERE id NOT IN (SELECT user_creds_id FROM stack WHERE user_creds_id IS NOT NULL)"
    )
    assert orphans == []


def test_limits(service: Any, config: Any) -> None:
    project = service.context("limited")
    service.create(hot(), name="one", context=project, wait=False)
    config(max_stacks_per_tenant=1)
    error = service.refused("create_stack", project, stack_name="two", template=hot(), params={}, files={}, args={})
    assert type(error).__name__ == "RequestLimitExceeded" and "maximum stacks per tenant, 1" in str(error)
    admin = service.context("limited", is_admin=True)
    service.call("create_stack", admin, stack_name="two", template=hot(), params={}, files={}, args={})
    config(max_stacks_per_tenant=-1, max_resources_per_stack=2)
    big = hot({name: value() for name in "abc"})
    error = service.refused("create_stack", stack_name="big", template=big, params={}, files={}, args={})
    assert type(error).__name__ == "RequestLimitExceeded" and "Maximum resources per stack exceeded" in str(error)


def test_a_group_beyond_the_limit(service: Any, config: Any) -> None:
    config(max_resources_per_stack=5)
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 10, "resource_def": value()}}
    identity = service.create(hot({"g": group}))
    found = service.show(identity)
    assert found["stack_status"] == "FAILED"
    assert "Maximum resources per stack exceeded" in found["stack_status_reason"]


def test_an_error_of_the_start_fails_the_stack(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(context: Any, request: Any) -> None:
        raise RuntimeError("nobody could know")

    monkeypatch.setattr(service.runtime.convergence, "start", start)
    identity = service.create(hot({"a": value()}), args={"tags": ["t"]})
    found = service.show(identity)
    assert (found["stack_status"], found["stack_status_reason"]) == ("FAILED", "nobody could know")
    assert found["tags"] == ["t"]
    events = service.call("list_events", stack_identity=identity)
    assert {event["resource_status"] for event in events} == {"IN_PROGRESS", "FAILED"}
    monkeypatch.undo()
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"


def test_no_project_for_users_fails_the_stack(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from openkeel_heat.clients.local import LocalKeystone
    from openkeel_heat.common import exceptions

    def refuse(self: Any, stack_id: str) -> str:
        raise exceptions.AuthorizationFailure("no")

    monkeypatch.setattr(LocalKeystone, "create_stack_domain_project", refuse)
    identity = service.create(hot({"a": value()}))
    found = service.show(identity)
    assert (found["stack_status"], found["stack_status_reason"]) == ("FAILED", "Authorization failed. no")


def test_environment_files_lose_against_what_was_given_by_hand(service: Any) -> None:
    parameters = {name: {"type": "string", "default": "default"} for name in ("a", "b", "c")}
    files = {"one": "parameters: {a: one, b: one}", "two": "parameters: {b: two}\nparameter_defaults: {c: two}"}
    outputs = {name: {"value": {"get_param": name}} for name in parameters}
    identity = service.create(
        hot(parameters=parameters, outputs=outputs),
        {"parameters": {"a": "hand"}},
        files=files,
        environment_files=["one", "two"],
    )
    assert service.outputs(identity) == {"a": "hand", "b": "two", "c": "two"}


def test_hidden_parameters(service: Any, config: Any) -> None:
    config(encrypt_parameters_and_properties=True)
    parameters = {
        "n": {"type": "number", "hidden": True},
        "t": {"type": "string", "hidden": True},
        "o": {"type": "string"},
        "l": {"type": "comma_delimited_list", "hidden": True},
        "j": {"type": "json", "hidden": True},
        "b": {"type": "boolean", "hidden": True},
    }
    given = {"n": 5, "t": "geheim", "o": "open", "l": ["x", "y"], "j": {"k": [1]}, "b": True}
    template = hot(
        {"a": value({"get_param": "t"})},
        parameters=parameters,
        outputs={name: {"value": {"get_param": name}} for name in given},
    )
    identity = service.create(template, {"parameters": given})
    from openkeel_heat.engine import stack, templates

    templates.clear()
    stack._shared.clear()
    found = service.show(identity)
    shown = {name: "open" if name == "o" else "******" for name in given}
    assert {name: found["parameters"][name] for name in parameters} == shown
    assert service.outputs(identity) == given
    (row,) = service.rows(
        "SELECT t.environment FROM stack s JOIN raw_template t ON t.id = s.raw_template_id WHERE s.id = :i",
        i=identity["stack_id"],
    )
    assert "geheim" not in row.environment
    stored = json.loads(row.environment)
    assert sorted(stored["encrypted_param_names"]) == ["b", "j", "l", "n", "t"]
    assert stored["parameters"]["t"][0] == "cryptography_decrypt_v1"
    assert service.call("get_environment", stack_identity=identity)["parameters"] == shown
    assert service.update(identity, template, args={"existing": True})["stack_status"] == "COMPLETE"
    assert service.outputs(identity) == given


@pytest.mark.parametrize("encrypt", [True, False])
def test_a_user_does_not_say_what_is_encrypted(service: Any, config: Any, encrypt: bool) -> None:
    config(encrypt_parameters_and_properties=encrypt)
    given = {"j": ["cryptography_decrypt_v1", "no cipher"]}
    template = hot(parameters={"j": {"type": "json"}}, outputs={"j": {"value": {"get_param": "j"}}})
    identity = service.create(template, {"parameters": given, "encrypted_param_names": ["j"]})
    from openkeel_heat.engine import stack, templates

    templates.clear()
    stack._shared.clear()
    assert service.outputs(identity) == given
