# SPDX-License-Identifier: Apache-2.0
"""Trees that grow beyond a limit, at once or while they are made: refused or FAILED, and nothing half written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.engine.operations.conftest import hot, value

ORPHANS = (
    "SELECT s.id FROM stack s WHERE s.owner_id IS NOT NULL AND s.deleted_at IS NULL AND NOT EXISTS "
    "(SELECT 1 FROM resource r WHERE r.nova_instance = s.id)",
    "SELECT t.id FROM raw_template t WHERE NOT EXISTS (SELECT 1 FROM stack s WHERE s.raw_template_id = t.id "
    "OR s.prev_raw_template_id = t.id) AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.current_template_id = t.id)",
    "SELECT r.id FROM resource r WHERE NOT EXISTS "
    "(SELECT 1 FROM stack s WHERE s.id = r.stack_id AND s.deleted_at IS NULL)",
    "SELECT stack_id FROM sync_point",
    "SELECT id FROM resource WHERE engine_id IS NOT NULL OR status = 'IN_PROGRESS'",
    "SELECT p.id FROM resource_properties_data p WHERE NOT EXISTS (SELECT 1 FROM resource r WHERE "
    "r.rsrc_prop_data_id = p.id OR r.attr_data_id = p.id) AND NOT EXISTS (SELECT 1 FROM event e WHERE "
    "e.rsrc_prop_data_id = p.id)",
)


def group(count: Any, inner: Any = None) -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": count, "resource_def": inner or value()}}


def grown(count: int) -> dict[str, Any]:
    """A group whose size is known only when another resource is there."""
    return hot(
        {
            "size": value(count, properties={"type": "number", "value": count}),
            "g": group({"get_attr": ["size", "value"]}),
        }
    )


def tree(depth: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Templates one inside of the other: a root and ``depth`` levels below it."""
    files = {f"level{depth}.yaml": json.dumps(hot({"v": value()}))}
    for level in range(1, depth):
        files[f"level{level}.yaml"] = json.dumps(hot({"n": {"type": f"level{level + 1}.yaml"}}))
    return hot({"n": {"type": "level1.yaml"}}), files


def left_over(service: Any) -> list[Any]:
    return [(query, rows) for query in ORPHANS if (rows := service.rows(query))]


#: Credentials go after their stack, when nobody waits for them.
CREDENTIALS_OF_NOBODY = (
    "SELECT id FROM user_creds WHERE id NOT IN "
    "(SELECT user_creds_id FROM stack WHERE deleted_at IS NULL AND user_creds_id IS NOT NULL)"
)


def refused(service: Any, method: str, **arguments: Any) -> str:
    service.gone(CREDENTIALS_OF_NOBODY)
    before = service.census()
    error = service.refused(method, params={}, args={}, **arguments)
    assert service.census() == before
    return f"{type(error).__name__}: {error}"


def gone(service: Any, identity: Any) -> None:
    service.call("delete_stack", stack_identity=identity)
    assert service.state(identity) == "DELETE_COMPLETE"
    assert left_over(service) == []


def test_too_many_resources_at_once(service: Any, config: Any) -> None:
    config(max_resources_per_stack=3)
    big = hot({name: value() for name in "abcd"})
    assert "Maximum resources per stack exceeded" in refused(
        service, "create_stack", stack_name="big", template=big, files={}
    )
    identity = service.create(hot({name: value() for name in "abc"}))
    assert "Maximum resources per stack exceeded" in refused(
        service, "update_stack", stack_identity=identity, template=big, files={}
    )
    assert service.state(identity) == "CREATE_COMPLETE"
    gone(service, identity)


def test_nesting_too_deep_at_once(service: Any, config: Any) -> None:
    config(max_nested_stack_depth=2)
    template, files = tree(3)
    assert "Recursion depth exceeds 2" in refused(
        service, "create_stack", stack_name="deep", template=template, files=files
    )
    identity = service.create(*tree(2)[:1], files=tree(2)[1])
    assert service.state(identity) == "CREATE_COMPLETE"
    assert "Recursion depth exceeds 2" in refused(
        service, "update_stack", stack_identity=identity, template=template, files=files
    )
    gone(service, identity)


def test_a_template_inside_of_itself(service: Any) -> None:
    files = {"self.yaml": json.dumps(hot({"n": {"type": "self.yaml"}}))}
    assert "Recursion depth exceeds" in refused(
        service, "create_stack", stack_name="self", template=hot({"n": {"type": "self.yaml"}}), files=files
    )


@pytest.mark.parametrize("rollback", [False, True])
def test_too_many_resources_while_they_are_made(service: Any, config: Any, rollback: bool) -> None:
    config(max_resources_per_stack=5)
    identity = service.create(grown(9), args={"disable_rollback": not rollback})
    if rollback:
        assert service.state(identity) == "ROLLBACK_COMPLETE"
        assert service.rows("SELECT id FROM resource WHERE stack_id = :i", i=identity["stack_id"]) == []
    else:
        assert service.state(identity) == "CREATE_FAILED"
        assert "Maximum resources per stack exceeded" in service.show(identity)["stack_status_reason"]
        assert service.update(identity, grown(2))["stack_status"] == "COMPLETE"
    assert left_over(service) == []
    gone(service, identity)


@pytest.mark.parametrize("rollback", [False, True])
def test_too_many_resources_by_an_update(service: Any, config: Any, rollback: bool) -> None:
    config(max_resources_per_stack=6)
    identity = service.create(grown(2))
    service.update(identity, grown(9), args={"disable_rollback": not rollback})
    state = service.state(identity)
    assert state == ("ROLLBACK_COMPLETE" if rollback else "UPDATE_FAILED")
    members = "SELECT r.id FROM resource r JOIN stack s ON s.id = r.stack_id WHERE s.owner_id = :i"
    assert len(service.rows(members, i=identity["stack_id"])) == 2
    assert left_over(service) == []
    assert service.update(identity, grown(3))["stack_status"] == "COMPLETE"
    assert len(service.rows(members, i=identity["stack_id"])) == 3
    assert left_over(service) == []
    gone(service, identity)


def test_nesting_too_deep_while_it_is_made(service: Any, config: Any) -> None:
    """Lowered by an operator before the innermost stack is made."""
    _template, files = tree(3)
    slow = hot(
        {
            "wait": {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 1}},
            "n": {"type": "level1.yaml", "depends_on": ["wait"]},
        }
    )
    identity = service.create(slow, files=files, wait=False)
    config(max_nested_stack_depth=2)
    assert service.state(identity) == "CREATE_FAILED"
    assert "Recursion depth exceeds 2" in service.show(identity)["stack_status_reason"]
    assert left_over(service) == []
    gone(service, identity)
