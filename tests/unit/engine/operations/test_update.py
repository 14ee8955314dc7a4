# SPDX-License-Identifier: Apache-2.0
"""Updating stacks: PUT and PATCH, what is kept, what is refused, and what two at once do to each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.engine.operations.conftest import hot, value

TWO = {"p": {"type": "string", "default": "pd"}, "q": {"type": "string", "default": "qd"}}
OUTPUTS = {"p": {"value": {"get_param": "p"}}, "q": {"value": {"get_param": "q"}}}


def slow(seconds: int = 30) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": {"value": "v", "action_wait_secs": {"create": seconds}}}


def test_put_replaces_everything(service: Any) -> None:
    template = hot({"a": value()}, parameters=TWO, outputs=OUTPUTS)
    identity = service.create(template, {"parameters": {"p": "1", "q": "2"}}, args={"tags": ["t"], "timeout_mins": 5})
    found = service.update(identity, template, {"parameters": {"q": "3"}})
    assert (found["stack_action"], found["stack_status"]) == ("UPDATE", "COMPLETE")
    assert service.outputs(identity) == {"p": "pd", "q": "3"}
    assert found["tags"] == [] and found["timeout_mins"] == 5 and found["updated_time"]


def test_patch_keeps_what_is_not_sent(service: Any) -> None:
    files = {"f": "content"}
    template = hot({"a": value({"get_file": "f"})}, parameters=TWO, outputs=OUTPUTS)
    identity = service.create(template, {"parameters": {"p": "1", "q": "2"}}, files=files, args={"tags": ["t"]})
    found = service.update(identity, None, {"parameters": {"q": "3"}}, args={"existing": True})
    assert found["tags"] == ["t"]
    assert service.outputs(identity) == {"p": "1", "q": "3"}
    assert service.call("get_files", stack_identity=identity) == files
    service.update(identity, None, {}, args={"existing": True, "clear_parameters": ["p"]})
    assert service.outputs(identity) == {"p": "pd", "q": "3"}
    smaller = hot({"a": value()}, parameters={"q": TWO["q"]}, outputs={"q": OUTPUTS["q"]})
    service.update(identity, smaller, {}, args={"existing": True, "tags": ["u"]})
    assert service.outputs(identity) == {"q": "3"}
    assert service.show(identity)["tags"] == ["u"]
    assert service.call("get_environment", stack_identity=identity)["parameters"] == {"q": "3"}


def test_refusals_change_nothing(service: Any) -> None:
    template = hot({"a": value()}, parameters={"p": {"type": "string", "default": "d", "immutable": True}})
    identity = service.create(template, {"parameters": {"p": "1"}})
    before = service.census()
    error = service.refused(
        "update_stack", stack_identity=identity, template=template, params={"parameters": {"p": "2"}}, files={}, args={}
    )
    assert type(error).__name__ == "ImmutableParameterModified" and "p" in str(error)
    error = service.refused(
        "update_stack",
        stack_identity=identity,
        template=hot({"x": {"type": "No"}}),
        params={"parameters": {"p": "1"}},
        files={},
        args={},
    )
    assert type(error).__name__ == "StackValidationFailed"
    assert service.census() == before
    assert service.show(identity)["stack_action"] == "CREATE"


def test_a_suspended_stack_is_not_updated(service: Any) -> None:
    identity = service.create(hot({"a": value()}))
    service.call("stack_suspend", stack_identity=identity)
    assert service.state(identity) == "SUSPEND_COMPLETE"
    service.call("stack_suspend", stack_identity=identity)  # once more is no error, and nothing happens
    assert service.show(identity)["stack_status"] == "COMPLETE"
    error = service.refused("update_stack", stack_identity=identity, template=hot(), params={}, files={}, args={})
    assert str(error) == "Updating a stack when it is suspended is not supported."
    service.call("stack_resume", stack_identity=identity)
    assert service.state(identity) == "RESUME_COMPLETE"


def test_update_over_a_running_one(service: Any) -> None:
    identity = service.create(hot({"a": value("1")}, outputs={"o": {"value": {"get_attr": ["a", "value"]}}}))
    service.update(identity, hot({"a": value("2"), "s": slow(1)}), wait=False)
    service.update(identity, hot({"a": value("3")}, outputs={"o": {"value": {"get_attr": ["a", "value"]}}}), wait=False)
    assert service.state(identity) == "UPDATE_COMPLETE"
    assert service.outputs(identity) == {"o": "3"}


def test_delete_over_a_running_create(service: Any) -> None:
    identity = service.create(hot({"s": slow()}), wait=False)
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"
    error = service.refused("update_stack", stack_identity=identity, template=hot(), params={}, files={}, args={})
    assert type(error).__name__ == "EntityNotFound"
    assert service.rows("SELECT * FROM resource WHERE stack_id = :i", i=identity["stack_id"]) == []
    assert service.rows("SELECT * FROM sync_point WHERE stack_id = :i", i=identity["stack_id"]) == []
    (row,) = service.rows("SELECT deleted_at FROM stack WHERE id = :i", i=identity["stack_id"])
    assert row.deleted_at is not None
    service.gone("SELECT id FROM stack WHERE id = :i AND user_creds_id IS NOT NULL", i=identity["stack_id"])


def test_a_lost_race_is_run_again(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = service.create(hot({"a": value("1")}))
    hub = service.runtime.convergence
    real, lost = hub.start, []

    def start(context: Any, request: Any) -> Any:
        if len(lost) < 2:
            lost.append(request)
            return None
        return real(context, request)

    monkeypatch.setattr(hub, "start", start)
    assert service.update(identity, hot({"a": value("2")}))["stack_status"] == "COMPLETE"
    assert len(lost) == 2


def test_cancel(service: Any) -> None:
    identity = service.create(hot({"a": value("1")}))
    error = service.refused("stack_cancel_update", stack_identity=identity)
    assert str(error) == "Cancelling update when stack is CREATE_COMPLETE is not supported."
    service.update(identity, hot({"a": value("2"), "s": slow()}), wait=False)
    service.call("stack_cancel_update", stack_identity=identity, cancel_with_rollback=False)
    found = service.settle(identity)
    assert (found["stack_action"], found["stack_status"], found["stack_status_reason"]) == (
        "UPDATE",
        "FAILED",
        "Stack UPDATE cancelled",
    )


def test_failing_update_with_rollback(service: Any) -> None:
    good = hot(
        {"a": value("1"), "t": {"type": "OS::Heat::TestResource", "properties": {"value": "v"}}},
        outputs={"o": {"value": {"get_attr": ["a", "value"]}}},
    )
    bad = hot(
        {"a": value("2"), "n": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}},
        outputs=good["outputs"],
    )
    identity = service.create(good)
    found = service.update(identity, bad, args={"disable_rollback": False})
    assert (found["stack_action"], found["stack_status"]) == ("ROLLBACK", "COMPLETE")
    assert service.outputs(identity) == {"o": "1"}
    names = {one["resource_name"] for one in service.call("list_stack_resources", stack_identity=identity)}
    assert names == {"a", "t"}


def test_credentials_of_another_user(service: Any, config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from openkeel_heat.clients.local import LocalKeystone

    trusts: list[str] = []
    deleted: list[str] = []

    def create_trust(self: Any) -> Any:
        trusts.append(f"trust-{len(trusts)}")
        return service.context(
            self.context.project_id,
            trust_id=trusts[-1],
            trustor_user_id=self.context.user_id,
            auth_url="http://keystone",
        )

    config(deferred_auth_method="trusts")
    monkeypatch.setattr(LocalKeystone, "create_trust_context", create_trust)
    monkeypatch.setattr(LocalKeystone, "regenerate_trust_context", create_trust)
    monkeypatch.setattr(LocalKeystone, "delete_trust", lambda self, trust_id: deleted.append(trust_id))
    identity = service.create(hot({"a": value()}))
    service.update(identity, hot({"a": value("2")}))
    assert (trusts, deleted) == (["trust-0"], [])
    other = service.context(user_id="another", username="another")
    service.call("update_stack", other, stack_identity=identity, template=hot(), params={}, files={}, args={})
    assert service.state(identity) == "UPDATE_COMPLETE"
    assert (trusts, deleted) == (["trust-0", "trust-1"], ["trust-0"])
    assert len(service.rows("SELECT id FROM user_creds c WHERE trustor_user_id IS NOT NULL")) == 1
    service.call("delete_stack", other, stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"
    service.gone("SELECT id FROM user_creds c WHERE trustor_user_id IS NOT NULL")
    assert deleted == ["trust-0", "trust-1"]
