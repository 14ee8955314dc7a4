# SPDX-License-Identifier: Apache-2.0
"""Lifecycle plugins of an operator, around operations on stacks in an engine of this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.engine import lifecycle_plugins
from openkeel_heat.resources.kit import registry
from tests.fixtures.polling import until
from tests.fixtures.templates import resource as sample
from tests.unit.engine.operations.conftest import Service, hot, value

heard: list[tuple[Any, ...]] = []
objections: dict[str, str] = {}


class First:
    def do_pre_op(self, cnxt: Any, stack: Any, current_stack: Any = None, action: str | None = None) -> None:
        heard.append(("first", "pre", stack, action, current_stack is not None))

    def do_post_op(
        self,
        cnxt: Any,
        stack: Any,
        current_stack: Any = None,
        action: str | None = None,
        is_stack_failure: bool = False,
    ) -> None:
        heard.append(("first", "post", stack, action, is_stack_failure))

    def get_ordinal(self) -> int:
        return 1


class Second(First):
    """After the first, and hard to please."""

    def do_pre_op(self, cnxt: Any, stack: Any, current_stack: Any = None, action: str | None = None) -> None:
        heard.append(("second", "pre", stack, action, current_stack is not None))
        if action in objections:
            raise ValueError(objections[action])

    def do_post_op(
        self,
        cnxt: Any,
        stack: Any,
        current_stack: Any = None,
        action: str | None = None,
        is_stack_failure: bool = False,
    ) -> None:
        heard.append(("second", "post", stack, action, is_stack_failure))
        raise RuntimeError("nobody hears this")

    def get_ordinal(self) -> int:
        return 2


class Broken:
    """Cannot be made: the others work all the same."""

    def __init__(self) -> None:
        raise RuntimeError("no")


@pytest.fixture(autouse=True)
def installed(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    heard.clear()
    objections.clear()
    monkeypatch.setattr(
        registry.global_env(), "stack_lifecycle_plugins", [("second", Second), ("broken", Broken), ("first", First)]
    )
    monkeypatch.setattr(lifecycle_plugins, "_known", None)
    yield
    lifecycle_plugins._known = None


def of(identity: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What was heard of one stack: an engine of the test before may have something left to tell."""
    return [(who, when, action, what) for who, when, stack, action, what in heard if stack.id == identity["stack_id"]]


def told(identity: dict[str, Any], operations: int = 1) -> list[tuple[Any, ...]]:
    """What was heard of so many operations on the stack, once the end of the last was told."""
    until(lambda: len(of(identity)) >= 4 * operations, "both plugins are told of beginning and end")
    found = of(identity)
    heard.clear()
    return found


def both(action: str, new_stack: bool = False, failed: bool = False) -> list[tuple[Any, ...]]:
    return [
        ("first", "pre", action, new_stack),
        ("second", "pre", action, new_stack),
        ("first", "post", action, failed),
        ("second", "post", action, failed),
    ]


def refused_by_second(action: str, new_stack: bool = False) -> list[tuple[Any, ...]]:
    return [("first", "pre", action, new_stack), ("second", "pre", action, new_stack), ("first", "post", action, True)]


def test_each_operation_in_order(service: Service) -> None:
    identity = service.create(hot({"a": value()}))
    assert told(identity) == both("CREATE")
    service.update(identity, hot({"a": value("2")}))
    assert told(identity) == both("UPDATE", new_stack=True)
    for method, action in (("stack_suspend", "SUSPEND"), ("stack_resume", "RESUME"), ("stack_check", "CHECK")):
        service.call(method, stack_identity=identity)
        service.settle(identity)
        assert told(identity) == both(action)
    snapshot = service.call("stack_snapshot", stack_identity=identity, name="s")
    service.settle(identity)
    assert told(identity) == both("SNAPSHOT")
    service.call("stack_restore", stack_identity=identity, snapshot_id=snapshot["id"])
    service.settle(identity)
    assert told(identity) == both("RESTORE", new_stack=True)
    service.call("delete_stack", stack_identity=identity)
    assert told(identity) == both("DELETE")


def test_a_failure_and_its_rollback(service: Service) -> None:
    identity = service.create(hot({"a": sample()}))
    told(identity)
    service.update(identity, hot({"a": sample(fail=True)}), args={"disable_rollback": False})
    until(lambda: service.state(identity) == "ROLLBACK_COMPLETE", "it is rolled back")
    found = told(identity, operations=2)
    assert sorted(found) == sorted(both("UPDATE", new_stack=True, failed=True) + both("ROLLBACK"))
    assert found[:2] == both("UPDATE", new_stack=True)[:2] and found[-2:] == both("ROLLBACK")[2:]


def test_nested_stacks_are_stacks(service: Service) -> None:
    files = {"member.yaml": json.dumps(hot({"a": value()}))}
    service.create(hot({"n": {"type": "member.yaml"}}), files=files, name="outer")

    def names() -> list[str]:
        return sorted(stack.name[:7] for _who, _when, stack, _action, _what in heard if stack.name.startswith("outer"))

    until(lambda: names() == ["outer"] * 4 + ["outer-n"] * 4, "both stacks are told of")


def test_an_operation_over_another(service: Service) -> None:
    """The one that was cut off has failed."""
    identity = service.create(hot({"a": sample()}))
    told(identity)
    slow = hot({"a": sample(value="2", action_wait_secs={"update": 30})})
    service.update(identity, slow, wait=False)
    service.call("delete_stack", stack_identity=identity)
    until(lambda: service.show(identity)["stack_status"] == "COMPLETE", "it is deleted", 15)
    assert sorted(told(identity, operations=2)) == sorted(both("UPDATE", new_stack=True, failed=True) + both("DELETE"))


@pytest.mark.parametrize(
    "method, action",
    [
        ("stack_suspend", "SUSPEND"),
        ("stack_check", "CHECK"),
        ("delete_stack", "DELETE"),
        ("update_stack", "UPDATE"),
        ("stack_restore", "RESTORE"),
    ],
)
def test_what_a_plugin_does_not_want_fails(service: Service, method: str, action: str) -> None:
    """Before anything is written: the stack is as it was, and FAILED for the plugin's reason."""
    identity = service.create(hot({"a": value()}))
    snapshot = service.call("stack_snapshot", stack_identity=identity, name="s")
    service.settle(identity)
    told(identity, operations=2)
    before = service.show(identity)
    objections[action] = "not on a Friday"
    more: dict[str, Any] = {
        "stack_restore": {"snapshot_id": snapshot["id"]},
        "update_stack": {"template": hot({"b": value()}), "params": {}, "files": {}, "args": {}},
    }.get(method, {})
    service.call(method, stack_identity=identity, **more)
    after = service.show(identity)
    assert (after["stack_action"], after["stack_status"], after["stack_status_reason"]) == (
        action,
        "FAILED",
        "not on a Friday",
    )
    assert of(identity) == refused_by_second(action, new_stack=action in ("UPDATE", "RESTORE"))
    assert [one["resource_name"] for one in service.call("list_stack_resources", stack_identity=identity)] == ["a"]
    assert before["updated_time"] == after["updated_time"]
    objections.clear()
    service.call(method, stack_identity=identity, **more)
    assert service.state(identity) == f"{action}_COMPLETE"


def test_a_creation_that_a_plugin_does_not_want(service: Service) -> None:
    objections["CREATE"] = "no room"
    identity = service.create(hot({"a": value()}))
    assert service.state(identity) == "CREATE_FAILED"
    assert service.show(identity)["stack_status_reason"] == "no room"
    assert of(identity) == refused_by_second("CREATE")
    assert service.call("list_stack_resources", stack_identity=identity) == []
    service.call("delete_stack", stack_identity=identity)


def test_a_snapshot_that_a_plugin_does_not_want(service: Service) -> None:
    identity = service.create(hot({"a": value()}))
    objections["SNAPSHOT"] = "no"
    assert isinstance(service.refused("stack_snapshot", stack_identity=identity, name="s"), exceptions.Invalid)
    assert service.state(identity) == "CREATE_COMPLETE"
    assert service.call("stack_list_snapshots", stack_identity=identity) == []


def test_a_rollback_that_a_plugin_does_not_want(service: Service) -> None:
    identity = service.create(hot({"a": sample()}))
    objections["ROLLBACK"] = "leave it"
    service.update(identity, hot({"a": sample(fail=True)}), args={"disable_rollback": False}, wait=False)
    until(lambda: service.state(identity) == "ROLLBACK_FAILED", "it is not rolled back")
    assert service.show(identity)["stack_status_reason"] == "leave it"


def test_an_update_over_an_update_that_a_plugin_does_not_want(service: Service) -> None:
    """What is going on goes on."""
    identity = service.create(hot({"a": sample()}))
    slow = hot({"a": sample(value="2", action_wait_secs={"update": 1})})
    service.update(identity, slow, wait=False)
    objections["UPDATE"] = "one after the other"
    error = service.refused("update_stack", stack_identity=identity, template=hot({}), params={}, files={}, args={})
    assert isinstance(error, exceptions.Invalid) and "one after the other" in str(error)
    assert service.state(identity) == "UPDATE_COMPLETE"
    assert [one["resource_name"] for one in service.call("list_stack_resources", stack_identity=identity)] == ["a"]
