# SPDX-License-Identifier: Apache-2.0
"""The life cycle of a resource, step by step."""

from __future__ import annotations

from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.lifecycle import HookPause, Lock, Note, Pause
from tests.unit.resources.fakes import Driver, FakeStack, drive, hot, test_resource

TEST = "OS::Heat::TestResource"


def one(action: str = "CREATE", env: Any = None, **props: Any) -> Any:
    return FakeStack(hot({"r": test_resource(**props)}), action=action, env=env)["r"]


def created(**props: Any) -> Any:
    resource = one(**props)
    drive(lifecycle.create(resource), resource)
    return resource


def after_of(resource: Any, **props: Any) -> Any:
    """The definition of an updated template, and the stack in an update."""
    stack = FakeStack(hot({"r": test_resource(**props)}), action="UPDATE")
    resource.stack.action = "UPDATE"
    return stack.defn.resource_definition("r")


def test_create() -> None:
    resource = one(value="v")
    driver = drive(lifecycle.create(resource), resource)
    assert driver.states == [("CREATE", "IN_PROGRESS", "state changed"), ("CREATE", "COMPLETE", "state changed")]
    first, last = driver.steps
    assert (first.lock, last.lock) == (Lock.ACQUIRE, Lock.RELEASE)
    assert first.properties == {"value": "v"} and last.properties is None
    assert "metadata" in first.values and "metadata" not in last.values
    name = "st-r-" + resource.physical_resource_name().rpartition("-")[2]
    assert last.values["nova_instance"] == name == resource.physical_resource_name()
    assert first.physical_resource_id == name
    assert resource.FnGetAtt("output") == "v"
    assert (first.data, last.data) == ([], [("value", "v", False)])


def test_data_that_waits_for_the_next_state_is_seen_at_once() -> None:
    resource = one(value="v", wait_secs=-1)
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    assert resource.data() == {"value": "v"} and resource.stack.store.writes == []
    resource.record.data = None
    assert resource.data() == {"value": "v"}
    driver.throw(Cancelled("enough"))
    assert driver.steps[-1].data == [("value", "v", False)]
    # Outside of an action there is no state to wait for.
    resource.data_set("other", 1)
    assert resource.stack.store.writes[-1] == ("data", "other", 1, False)


def test_create_not_from_another_state() -> None:
    resource = created()
    with pytest.raises(exception.ResourceFailure, match=r"State \('CREATE', 'COMPLETE'\) invalid for create"):
        drive(lifecycle.create(resource), resource)


def test_poll_back_off() -> None:
    resource = one(wait_secs=-1, client_name="x", entity_name="y")
    driver = Driver(lifecycle.create(resource), resource)
    for _round in range(9):
        driver.step()
    assert driver.pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]


def test_poll_at_the_time_the_type_names() -> None:
    resource = one(wait_secs=30)
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    assert 29 < driver.pauses[0] <= 30


def test_failure_is_recorded_and_raised() -> None:
    resource = one(fail=True)
    driver = Driver(lifecycle.create(resource), resource)
    with pytest.raises(exception.ResourceFailure) as caught:
        driver.run()
    text = "ValueError: resources.r: Test Resource failed r"
    assert driver.states[-1] == ("CREATE", "FAILED", text)
    assert driver.steps[-1].lock is Lock.RELEASE
    assert str(caught.value) == text


def test_invalid_property_fails_the_create() -> None:
    resource = one(wait_secs="soon")
    driver = Driver(lifecycle.create(resource), resource)
    with pytest.raises(exception.ResourceFailure) as caught:
        driver.run()
    assert driver.short == ["CREATE_IN_PROGRESS", "CREATE_FAILED"]
    assert "resources.r.r.Properties.wait_secs" in str(caught.value) or "wait_secs" in str(caught.value)


def test_failed_create_is_deleted_and_tried_again() -> None:
    resource = one()
    tries = []

    def fails_once(cookie: Any) -> bool:
        tries.append(cookie)
        if len(tries) == 1:
            raise exception.ResourceInError(resource_status="ERROR", status_reason="no luck")
        return True

    resource.check_create_complete = fails_once
    driver = drive(lifecycle.create(resource), resource)
    assert driver.short == [
        "CREATE_IN_PROGRESS",
        "CREATE_FAILED",
        "DELETE_IN_PROGRESS",
        "DELETE_COMPLETE",
        "CREATE_IN_PROGRESS",
        "CREATE_COMPLETE",
    ]
    assert len(driver.pauses) == 1 and 2 <= driver.pauses[0] <= 4


def test_retries_end() -> None:
    resource = one()
    cfg.CONF.set_override("action_retry_limit", 2)

    def fails(cookie: Any) -> bool:
        raise exception.ResourceInError(resource_status="ERROR", status_reason="no luck")

    resource.check_create_complete = fails
    driver = Driver(lifecycle.create(resource), resource)
    try:
        with pytest.raises(exception.ResourceFailure, match="no luck"):
            driver.run()
    finally:
        cfg.CONF.clear_override("action_retry_limit")
    assert driver.short.count("CREATE_FAILED") == 3


class Cancelled(BaseException):
    pass


def test_cancellation_calls_the_plugin_and_says_so() -> None:
    resource = one(wait_secs=-1)
    cancelled = []
    resource.handle_create_cancel = cancelled.append
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    driver.throw(Cancelled("user triggered cancel"))
    assert driver.states[-1] == ("CREATE", "FAILED", "CREATE aborted (user triggered cancel)")
    assert len(cancelled) == 1
    with pytest.raises(Cancelled):
        driver.step()


def test_closing_writes_nothing() -> None:
    resource = one(wait_secs=-1)
    resource.handle_create_cancel = lambda data: pytest.fail("cancelled")
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    driver.generator.close()
    assert driver.short == ["CREATE_IN_PROGRESS"]


def test_a_row_lost_to_another_engine_is_left_alone() -> None:
    resource = one()
    driver = Driver(lifecycle.create(resource), resource)
    driver.step()
    with pytest.raises(exception.UpdateInProgress):
        driver.generator.throw(exception.UpdateInProgress("r"))


HOOKED = {"resource_registry": {"resources": {"r": {"hooks": ["pre-create", "post-create"]}}}}


def test_hooks() -> None:
    resource = one(env=HOOKED)
    driver = Driver(lifecycle.create(resource), resource).run(until=HookPause)
    note = driver.steps[0]
    assert isinstance(note, Note)
    assert (note.action, note.status, note.reason) == (
        "INIT",
        "COMPLETE",
        "CREATE paused until Hook pre-create is cleared",
    )
    assert note.data == [("pre-create", "True", False)]
    assert resource.has_hook("pre-create")
    resource.signal({"unset_hook": "pre-create"})
    assert resource.stack.store.events == [("INIT", "COMPLETE", "Hook pre-create is cleared")]
    driver.run(until=HookPause)
    assert driver.short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    resource.clear_hook("post-create")
    driver.run()


def test_hooks_of_a_replacement_are_passed_already() -> None:
    resource = one(env=HOOKED, action="UPDATE")
    assert drive(lifecycle.create(resource), resource).short == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]


def test_cancellation_while_waiting_for_a_user() -> None:
    resource = one(env=HOOKED)
    driver = Driver(lifecycle.create(resource), resource).run(until=HookPause)
    with pytest.raises(Cancelled):
        driver.throw(Cancelled())
    assert resource.stack.store.events == [("INIT", "COMPLETE", "Failure occurred while waiting.")]
    resource.record.data = None
    assert resource.data() == {}


@pytest.mark.parametrize(
    "details, text",
    [
        ({"unset_hook": "sometime"}, 'Invalid hook type "sometime" for TestResource "r"'),
        ({"unset_hook": "pre-update"}, 'The "pre-update" hook is not defined on TestResource "r"'),
    ],
)
def test_hooks_that_cannot_be_cleared(details: dict[str, str], text: str) -> None:
    with pytest.raises(exception.InvalidBreakPointHook, match=text):
        created().signal(details)


# --- update


def test_update_without_change() -> None:
    resource = created(value="v")
    driver = drive(lifecycle.update(resource, after_of(resource, value="v"), new_template_id=7), resource)
    (step,) = driver.steps
    assert (step.action, step.status, step.event, step.lock) == ("CREATE", "COMPLETE", False, Lock.RESPECT)
    assert step.values["current_template_id"] == 7


def test_update_in_place() -> None:
    resource = created(value="v")
    driver = drive(
        lifecycle.update(resource, after_of(resource, value="w"), new_template_id=7, new_requires={3, 9}), resource
    )
    assert driver.short == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]
    first, last = driver.steps
    assert first.values["current_template_id"] is None and last.values["current_template_id"] == 7
    assert last.properties == {"value": "w"} and first.properties is None
    assert last.values["requires"] == [9, 3]
    assert resource.FnGetAtt("output") == "w"
    assert first.values["updated_at"] is not None


def test_update_that_replaces() -> None:
    resource = created(value="v")
    driver = Driver(
        lifecycle.update(resource, after_of(resource, update_replace_value="x"), new_template_id=7), resource
    )
    with pytest.raises(exception.UpdateReplace):
        driver.run()
    assert driver.states == [
        ("UPDATE", "IN_PROGRESS", "state changed"),
        ("UPDATE", "COMPLETE", "The Resource r requires replacement."),
    ]
    assert driver.steps[-1].values["current_template_id"] is None


def test_update_of_a_failed_resource_replaces_it() -> None:
    resource = created()
    resource.status = "FAILED"
    driver = Driver(lifecycle.update(resource, after_of(resource, value="x")), resource)
    with pytest.raises(exception.UpdateReplace):
        driver.run()
    assert driver.steps == []


def test_failed_resource_that_need_not_be_replaced() -> None:
    resource = created()
    resource.status = "FAILED"
    resource.needs_replace_failed = lambda: False
    driver = drive(lifecycle.update(resource, after_of(resource), new_template_id=2), resource)
    assert driver.states == [
        ("CREATE", "COMPLETE", "Update status to COMPLETE for FAILED resource neither update nor replace.")
    ]


def test_check_failed_is_always_replaced() -> None:
    resource = created()
    resource.action, resource.status = "CHECK", "FAILED"
    resource.needs_replace_failed = lambda: False
    with pytest.raises(exception.UpdateReplace):
        drive(lifecycle.update(resource, after_of(resource)), resource)


def test_another_type_replaces() -> None:
    resource = created()
    with pytest.raises(exception.UpdateReplace):
        drive(lifecycle.update(resource, after_of(resource), new_class=str), resource)


@pytest.mark.parametrize(
    "restricted, props, text",
    [
        ("update", {"value": "w"}, "update is restricted for resource."),
        ("replace", {"update_replace_value": "w"}, "replace is restricted for resource."),
    ],
)
def test_restricted_actions(restricted: str, props: dict[str, Any], text: str) -> None:
    env = {"resource_registry": {"resources": {"r": {"restricted_actions": restricted}}}}
    resource = one(env=env)
    drive(lifecycle.create(resource), resource)
    driver = Driver(lifecycle.update(resource, after_of(resource, **props)), resource)
    with pytest.raises(exception.ResourceFailure, match=text):
        driver.run()
    (note,) = driver.steps
    assert (note.action, note.status, note.reason) == ("UPDATE", "FAILED", text)
    assert resource.state == ("CREATE", "COMPLETE")


def test_prepare_for_replace_runs_under_the_lock() -> None:
    resource = created()
    cls = type("Prepared", (type(resource),), {"prepare_for_replace": lambda self: prepared.append(self)})
    prepared: list[Any] = []
    resource.__class__ = cls
    resource.status = "FAILED"
    driver = Driver(lifecycle.update(resource, after_of(resource, value="x")), resource)
    with pytest.raises(exception.UpdateReplace):
        driver.run()
    assert [(step.lock, step.event) for step in driver.steps] == [(Lock.ACQUIRE, False), (Lock.RELEASE, False)]
    assert prepared == [resource]


# --- delete


def test_delete() -> None:
    resource = created()
    resource.stack.action = "DELETE"
    assert drive(lifecycle.delete(resource), resource).short == ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    assert drive(lifecycle.delete(resource), resource).steps == []


def test_delete_of_what_never_was() -> None:
    resource = one()
    assert drive(lifecycle.delete(resource), resource).steps == []


def test_retain() -> None:
    stack = FakeStack(hot({"r": {**test_resource(), "deletion_policy": "Retain"}}))
    resource = stack["r"]
    drive(lifecycle.create(resource), resource)
    resource.handle_delete = lambda: pytest.fail("deleted")
    assert drive(lifecycle.delete(resource), resource).short == ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]


def test_snapshot_policy() -> None:
    resource = created()
    seen = []
    resource.handle_snapshot_delete = seen.append
    resource.check_delete_complete = lambda data: True
    resource.t._deletion_policy = "Snapshot"
    drive(lifecycle.delete(resource), resource)
    assert seen == [("CREATE", "COMPLETE")]


def test_delete_is_tried_again() -> None:
    resource = created()
    tries = []

    def busy() -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise exception.PhysicalResourceExists(name="x")

    resource.handle_delete = busy
    resource.check_delete_complete = lambda data: True
    driver = drive(lifecycle.delete(resource), resource)
    assert driver.short == ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    assert len(driver.pauses) == 2


# --- other actions


def test_check() -> None:
    resource = created()
    assert drive(lifecycle.check(resource), resource).short == ["CHECK_IN_PROGRESS", "CHECK_COMPLETE"]
    resource.resource_id = None
    with pytest.raises(exception.ResourceFailure, match="Resource not created"):
        drive(lifecycle.check(resource), resource)


def test_check_of_what_never_was() -> None:
    resource = one()
    driver = Driver(lifecycle.check(resource), resource)
    with pytest.raises(exception.ResourceFailure, match="Resource r not created yet."):
        driver.run()
    assert driver.states == [("CHECK", "FAILED", "Can not check r, resource not created yet.")]


def test_check_without_a_handler() -> None:
    stack = FakeStack(hot({"r": {"type": "OS::Heat::RandomString"}}))
    resource = stack["r"]
    assert drive(lifecycle.check(resource), resource).steps == []
    drive(lifecycle.create(resource), resource)
    assert drive(lifecycle.check(resource), resource).states == [
        ("CHECK", "COMPLETE", "CHECK not supported for OS::Heat::RandomString")
    ]


def test_suspend_and_resume() -> None:
    resource = created()
    with pytest.raises(exception.ResourceFailure, match="invalid for resume"):
        drive(lifecycle.resume(resource), resource)
    assert drive(lifecycle.suspend(resource), resource).short == ["SUSPEND_IN_PROGRESS", "SUSPEND_COMPLETE"]
    assert drive(lifecycle.resume(resource), resource).short == ["RESUME_IN_PROGRESS", "RESUME_COMPLETE"]
    resource.action, resource.status = "UPDATE", "FAILED"
    with pytest.raises(exception.ResourceFailure, match="invalid for suspend"):
        drive(lifecycle.suspend(resource), resource)


def test_snapshot() -> None:
    resource = created(value="v")
    assert drive(lifecycle.snapshot(resource), resource).short == ["SNAPSHOT_IN_PROGRESS", "SNAPSHOT_COMPLETE"]
    stored = resource.stack.store.snapshots["traversal"]
    assert stored["resource_data"] == {"value": "v"}
    assert stored["type"] == TEST and stored["resource_id"] == resource.resource_id


def test_adopt() -> None:
    resource = one()
    data = {"resource_id": "xyz", "resource_data": {"value": "old"}, "metadata": {"a": 1}}
    assert drive(lifecycle.adopt(resource, data), resource).short == ["ADOPT_IN_PROGRESS", "ADOPT_COMPLETE"]
    assert resource.resource_id == "xyz" and resource.data() == {"value": "old"}


def test_adopt_without_data() -> None:
    resource = one()
    driver = Driver(lifecycle.adopt(resource, None), resource)
    with pytest.raises(exception.ResourceFailure, match="Resource ID was not provided."):
        driver.run()


@pytest.mark.parametrize("given", [[1], {"a": 1}, "x" * 256], ids=lambda it: str(it)[:4])
def test_adopt_what_has_no_such_id(given: Any) -> None:
    """The resource fails, not the database."""
    resource = one()
    driver = Driver(lifecycle.adopt(resource, {"resource_id": given}), resource)
    with pytest.raises(exception.ResourceFailure, match='"resource_id" must be a string of no more than 255'):
        driver.run()
    assert resource.state == ("ADOPT", "FAILED")


def test_external_resource() -> None:
    stack = FakeStack(hot({"r": {"type": TEST, "external_id": "there"}}))
    resource = stack["r"]
    driver = drive(lifecycle.create(resource), resource)
    assert driver.short == ["ADOPT_IN_PROGRESS", "ADOPT_COMPLETE", "CHECK_IN_PROGRESS", "CHECK_COMPLETE"]
    assert resource.resource_id == "there"
    other = FakeStack(hot({"r": {"type": TEST, "external_id": "elsewhere"}})).defn.resource_definition("r")
    with pytest.raises(exception.ResourceFailure, match="external_id of r"):
        drive(lifecycle.update(resource, other), resource)
    same = FakeStack(hot({"r": {"type": TEST, "external_id": "there"}})).defn.resource_definition("r")
    assert drive(lifecycle.update(resource, same, new_template_id=3), resource).short == ["CHECK_COMPLETE"]
    assert drive(lifecycle.delete(resource), resource).short == ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]


# --- resuming


def interrupted(resource: Any, generator: lifecycle.Lifecycle) -> Any:
    """Run up to the first pause, then die."""
    Driver(generator, resource).run(until=Pause).generator.close()
    return resource


def test_resume_of_a_create_polls_on() -> None:
    resource = interrupted(*_with(one(wait_secs=30), lifecycle.create))
    resource.handle_create = lambda: pytest.fail("made twice")
    resource.handler_data_on_resume = lambda action: (resource.physical_resource_name(), action)
    resource.check_create_complete = lambda data: data == (resource.physical_resource_name(), "CREATE")
    driver = drive(lifecycle.resume_action(resource), resource)
    assert driver.short == ["CREATE_COMPLETE"] and driver.steps[0].lock is Lock.RELEASE


def _with(resource: Any, action: Any, *args: Any) -> tuple[Any, Any]:
    return resource, action(resource, *args)


def test_resume_of_a_create_runs_again_what_may_be_repeated() -> None:
    resource = one()
    Driver(lifecycle.create(resource), resource).step()
    assert resource.resource_id is None
    driver = drive(lifecycle.resume_action(resource), resource)
    assert driver.short == ["CREATE_COMPLETE"] and resource.resource_id == resource.physical_resource_name()


def test_resume_finds_the_object_by_its_name() -> None:
    resource = one()
    resource.__class__ = type(
        "Found",
        (type(resource),),
        {
            "repeatable_create": False,
            "deferred_resource_id": False,
            "find_physical": lambda self: "found",
            "check_create_complete": lambda self, data: data == "found",
            "handler_data_on_resume": lambda self, action: self.resource_id,
        },
    )
    Driver(lifecycle.create(resource), resource).step()
    assert drive(lifecycle.resume_action(resource), resource).short == ["CREATE_COMPLETE"]
    assert resource.stack.store.writes == [("physical_id", "found")]


def test_what_cannot_be_resumed() -> None:
    resource = one()
    resource.__class__ = type("Opaque", (type(resource),), {"repeatable_create": False, "repeatable_update": False})
    Driver(lifecycle.create(resource), resource).step()
    with pytest.raises(lifecycle.CannotResume):
        lifecycle.resume_action(resource)
    resource.action = "UPDATE"
    with pytest.raises(lifecycle.CannotResume):
        lifecycle.resume_action(resource, resource.t)


def test_resume_of_an_update() -> None:
    resource = created(value="v")
    after = after_of(resource, value="w", wait_secs=30)
    interrupted(resource, lifecycle.update(resource, after, new_template_id=7))
    assert resource.state == ("UPDATE", "IN_PROGRESS")
    after = after_of(resource, value="w")
    driver = drive(lifecycle.resume_action(resource, after, new_template_id=8), resource)
    assert driver.short == ["UPDATE_COMPLETE"]
    assert driver.steps[0].values["current_template_id"] == 8
    assert resource.FnGetAtt("output") == "w"


@pytest.mark.parametrize("action", ["delete", "check", "suspend", "snapshot"])
def test_resume_of_what_may_always_be_repeated(action: str) -> None:
    resource = created()
    Driver(getattr(lifecycle, action)(resource), resource).step()
    assert drive(lifecycle.resume_action(resource), resource).short == ["%s_COMPLETE" % action.upper()]
