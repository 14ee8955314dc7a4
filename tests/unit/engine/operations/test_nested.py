# SPDX-License-Identifier: Apache-2.0
"""Nested stacks: made once however often they are asked for, changed in place, gone with their parent."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.engine.operations.conftest import hot, value

INNER = hot(
    {"v": value({"get_param": "q"}), "f": value({"resource_facade": "metadata"})},
    parameters={"q": {"type": "string"}},
    outputs={"o": {"value": {"get_attr": ["v", "value"]}}, "f": {"value": {"get_attr": ["f", "value"]}}},
)
FILES = {"inner.yaml": json.dumps(INNER)}


def outer(q: str, **more: Any) -> dict[str, Any]:
    return hot(
        {"t": {"type": "inner.yaml", "properties": {"q": q}, "metadata": {"k": "v"}, **more}},
        outputs={name: {"value": {"get_attr": ["t", name]}} for name in ("o", "f")},
    )


def child_of(service: Any, identity: Any) -> dict[str, str]:
    found = service.call("describe_stack_resource", stack_identity=identity, resource_name="t", with_attr=False)
    return dict(found["nested_stack_id"])


def test_a_life(service: Any) -> None:
    identity = service.create(outer("1"), files=FILES)
    assert service.outputs(identity) == {"o": "1", "f": {"k": "v"}}
    child = child_of(service, identity)
    (row,) = service.rows("SELECT * FROM stack WHERE id = :i", i=child["stack_id"])
    assert (row.owner_id, row.parent_resource_name, row.nested_depth, row.disable_rollback) == (
        identity["stack_id"],
        "t",
        1,
        1,
    )
    (parent,) = service.rows("SELECT * FROM stack WHERE id = :i", i=identity["stack_id"])
    assert (row.user_creds_id, row.stack_user_project_id) == (parent.user_creds_id, parent.stack_user_project_id)
    assert service.update(identity, outer("2"), files=FILES)["stack_status"] == "COMPLETE"
    assert service.outputs(identity)["o"] == "2" and child_of(service, identity) == child
    for action in ("suspend", "resume", "check"):
        service.call(f"stack_{action}", stack_identity=identity)
        assert service.state(identity) == service.state(child) == f"{action.upper()}_COMPLETE"
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE" == service.state(child)
    ids = {"i": identity["stack_id"], "c": child["stack_id"]}
    assert service.rows("SELECT * FROM resource WHERE stack_id IN (:i, :c)", **ids) == []
    assert service.rows("SELECT * FROM sync_point WHERE stack_id IN (:i, :c)", **ids) == []
    service.gone("SELECT * FROM user_creds WHERE id = :u", u=parent.user_creds_id)


def test_a_child_is_made_once(service: Any) -> None:
    from openkeel_heat.engine.nested import NESTED
    from openkeel_heat.engine.stack import Stack

    identity = service.create(outer("1"), files=FILES)
    child = child_of(service, identity)
    resource = Stack.load(service.context(), identity["stack_id"]).resources["t"]
    template = NESTED.template(child["stack_id"])
    assert NESTED.create(resource, template, name=child["stack_name"]) == child["stack_id"]
    assert NESTED.find(resource, child["stack_name"]) == child["stack_id"]
    assert NESTED.find(resource, "another") is None
    assert len(service.rows("SELECT id FROM stack WHERE owner_id = :i", i=identity["stack_id"])) == 1


def test_the_path_of_a_child(service: Any) -> None:
    from openkeel_heat.engine.stack import Stack

    identity = service.create(outer("1"), files=FILES)
    child = child_of(service, identity)
    stack = Stack.load(service.context(), child["stack_id"])
    assert stack.path_in_stack() == [(None, identity["stack_name"]), ("t", child["stack_name"])]
    assert stack.root_stack_id() == identity["stack_id"]
    assert stack.parent_resource is not None and stack.parent_resource.metadata_get() == {"k": "v"}
    assert Stack.load(service.context(), identity["stack_id"]).total_resources() == 3


def test_a_failing_child(service: Any) -> None:
    files = {"inner.yaml": json.dumps(hot({"bad": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}}))}
    identity = service.create(hot({"t": {"type": "inner.yaml"}}), files=files)
    assert service.show(identity)["stack_status_reason"] == (
        "Resource CREATE failed: ValueError: resources.t.resources.bad: Test Resource failed bad"
    )
    again = {"inner.yaml": json.dumps(hot({"good": value()}))}
    assert service.update(identity, hot({"t": {"type": "inner.yaml"}}), files=again)["stack_status"] == "COMPLETE"


def test_deleting_while_the_child_is_made(service: Any) -> None:
    slow = {"type": "OS::Heat::TestResource", "properties": {"action_wait_secs": {"create": 30}}}
    files = {"inner.yaml": json.dumps(hot({"s": slow, "a": value()}))}
    identity = service.create(hot({"t": {"type": "inner.yaml"}, "b": value(depends_on="t")}), files=files, wait=False)
    from tests.contract.rpc_replay import poll

    assert poll(
        lambda: bool(
            service.rows(
                "SELECT 1 FROM resource r JOIN stack s ON s.id = r.stack_id WHERE "
                "s.owner_id = :i AND r.engine_id IS NOT NULL",
                i=identity["stack_id"],
            )
        )
    )
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"
    assert service.rows("SELECT 1 FROM stack WHERE owner_id = :i AND deleted_at IS NULL", i=identity["stack_id"]) == []


def test_a_suspension_that_failed_half_way_is_not_the_end(service: Any) -> None:
    """A nested stack was suspended, another resource could not be: an update makes the whole good again."""

    def template(text: str) -> dict[str, Any]:
        group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": value(text)}}
        return hot({"g": {**group, "depends_on": "broken"}, "broken": value(text)})

    identity = service.create(template("1"))
    service.call(
        "resource_mark_unhealthy",
        stack_identity=identity,
        resource_name="broken",
        mark_unhealthy=True,
        resource_status_reason="",
    )
    for method in ("stack_suspend", "stack_resume"):
        service.call(method, stack_identity=identity)
        assert service.settle(identity)["stack_status"] == "FAILED"
    inside = "SELECT action, status FROM stack WHERE owner_id = :i"
    assert [tuple(row) for row in service.rows(inside, i=identity["stack_id"])] == [("SUSPEND", "COMPLETE")]
    service.update(identity, template("2"))
    assert service.state(identity) == "UPDATE_COMPLETE"
    assert [tuple(row) for row in service.rows(inside, i=identity["stack_id"])] == [("UPDATE", "COMPLETE")]
    for method, state in (("stack_suspend", "SUSPEND_COMPLETE"), ("stack_resume", "RESUME_COMPLETE")):
        service.call(method, stack_identity=identity)
        assert service.state(identity) == state
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"
