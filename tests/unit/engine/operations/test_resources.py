# SPDX-License-Identifier: Apache-2.0
"""Resources and events of stacks: lists through nested stacks, signals, hooks, marking, what they cost."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.fixtures.polling import until
from tests.unit.engine.operations.conftest import hot, value


def group(count: int, definition: Any = None) -> dict[str, Any]:
    return {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": count, "resource_def": definition or {"type": "OS::Heat::RandomString"}},
    }


@pytest.fixture(scope="module")
def tree(service: Any) -> dict[str, str]:
    """A stack with a group of groups: g -> 0, 1 -> two random strings each; beside it a value."""
    return service.create(hot({"a": value(), "g": group(2, group(2))}))


def names(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one.get("parent_resource", ""), one["resource_name"]) for one in found]


def test_nested_lists(service: Any, tree: Any) -> None:
    listed = {
        depth: names(service.call("list_stack_resources", stack_identity=tree, nested_depth=depth))
        for depth in range(4)
    }
    assert sorted(listed[0]) == [("", "a"), ("", "g")]
    assert sorted(listed[1][2:]) == [("g", "0"), ("g", "1")]
    inner = [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
    assert sorted(listed[2][4:]) == inner == sorted(listed[3][4:])
    assert listed[2][:4] == listed[1]


def test_filters(service: Any, tree: Any) -> None:
    def listed(**filters: Any) -> list[tuple[str, str]]:
        return names(service.call("list_stack_resources", stack_identity=tree, nested_depth=2, filters=filters))

    assert len(listed(type="OS::Heat::RandomString")) == 4
    assert listed(name="a") == [("", "a")]
    assert sorted(listed(name=["a", "g"])) == [("", "a"), ("", "g")]
    assert listed(status="FAILED") == []
    assert len(listed(status="CREATE_COMPLETE")) == 8
    error = service.refused("list_stack_resources", stack_identity=tree, filters={"bogus": 1})
    assert type(error).__name__ == "Invalid" and "bogus" in str(error)


def test_nested_details(service: Any, tree: Any) -> None:
    found = service.call("describe_stack_resource", stack_identity=tree, resource_name="g")
    nested = found["nested_stack_id"]
    assert nested["stack_id"] == found["physical_resource_id"]
    assert found["attributes"]["removed_rsrc_list"] == []
    child = service.show(nested)
    assert child["parent"] == tree["stack_id"] and child["stack_status"] == "COMPLETE"
    inside = service.call("list_stack_resources", stack_identity=nested, nested_depth=1)
    assert len(inside) == 2 + 4
    assert {one["parent_resource"] for one in inside} == {"g", "0", "1"}


def test_events(service: Any, tree: Any) -> None:
    own = service.call("list_events", stack_identity=tree)
    every = service.call("list_events", stack_identity=tree, nested_depth=2)
    assert len(own) == 6 and len(every) > 6 + 8
    assert all(event["root_stack_id"] == tree for event in every)
    assert service.call("list_events", stack_identity=tree, nested_depth=10**30) == every  # more than databases hold
    page = service.call("list_events", stack_identity=tree, nested_depth=2, limit=3)
    rest = service.call(
        "list_events", stack_identity=tree, nested_depth=2, marker=page[-1]["event_identity"]["path"].rpartition("/")[2]
    )
    assert page + rest == every
    uuid = own[1]["event_identity"]["path"].rpartition("/")[2]
    (one,) = service.call("list_events", stack_identity=tree, filters={"uuid": uuid})
    assert "resource_properties" in one and "resource_properties" not in own[1]
    assert len(service.call("list_events", service.context(), stack_identity=None)) >= len(every)


def test_reads_cost_a_handful_of_statements(service: Any, tree: Any) -> None:
    from openkeel_heat.db import session

    big = service.create(
        hot(
            {f"r{n}": value(str(n)) for n in range(60)},
            outputs={f"o{n}": {"value": {"get_attr": [f"r{n}", "value"]}} for n in range(20)},
        )
    )
    calls = {
        "show_stack": ({"stack_identity": big}, 2),
        "list_stack_resources": ({"stack_identity": big}, 2),
        "list_events": ({"stack_identity": big, "limit": 100}, 2),
        "get_template": ({"stack_identity": big}, 1),
        "list_stacks": ({}, 1),
        "show_output": ({"stack_identity": big, "output_key": "o1"}, 2),
    }
    for method, (arguments, allowed) in calls.items():
        service.call(method, **arguments)
        counter = session.StatementCounter()
        with session.watching(counter):
            service.call(method, **arguments)
        assert (counter.statements <= allowed, counter.commits) == (True, 0), (method, counter.by_operation)
    counter = session.StatementCounter()
    with session.watching(counter):
        service.call("list_stack_resources", stack_identity=tree, nested_depth=3)
    assert counter.statements == 3


def test_what_is_read_of_one_resource_hangs_on_no_other(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from openkeel_heat.db import sql
    from openkeel_heat.resources.kit.resource import Resource

    made: list[str] = []
    rows: list[Any] = []
    make, read = Resource.__init__, sql.many
    monkeypatch.setattr(Resource, "__init__", lambda self, name, *args: made.append(name) or make(self, name, *args))

    def many(result: Any) -> Any:
        found = read(result)
        rows.extend(found)
        return found

    def cost(method: str, **arguments: Any) -> tuple[int, int]:
        service.call(method, **arguments)
        made.clear()
        rows.clear()
        service.call(method, **arguments)
        return len(made), len(rows)

    costs = []
    for size in (2, 40):
        chain = {f"r{n}": value({"get_attr": [f"r{n - 1}", "value"]} if n else "x") for n in range(size)}
        identity = service.create(hot(chain))
        monkeypatch.setattr(sql, "many", many)
        costs.append(cost("describe_stack_resource", stack_identity=identity, resource_name="r0"))
        assert cost("list_stack_resources", stack_identity=identity) == (0, size)
        monkeypatch.setattr(sql, "many", read)
        found = service.call("describe_stack_resource", stack_identity=identity, resource_name="r0")
        assert found["required_by"] == ["r1"]
        assert found["attributes"] == {"value": "x"}
    assert costs[0] == costs[1]
    assert costs[0][0] == 1


def test_lists_show_what_details_show(service: Any, tree: Any) -> None:
    names = ("a", "b", "c", "off")
    more = {"conditions": {"never": {"equals": ["x", "y"]}}}
    first = hot(
        {
            "a": value(),
            "b": value({"get_attr": ["a", "value"]}),
            "c": value(depends_on=["a", "b"]),
            "off": value(condition="never"),
        },
        **more,
    )
    flat = service.create(first)
    second = json.loads(json.dumps(first))
    second["resources"]["c"] = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
    half = service.create(first)
    service.update(half, second)
    assert service.state(half) == "UPDATE_FAILED"
    shown = 0
    for identity, depth in ((flat, 0), (half, 0), (tree, 0), (tree, 3)):
        call = {"stack_identity": identity, "nested_depth": depth}
        details = service.call("list_stack_resources", with_detail=True, **call)
        for one in details:
            for key in ("description", "metadata", "attributes"):
                del one[key]
        glance = service.call("list_stack_resources", **call)
        assert glance == details
        shown += len(glance)
        for kind in {one["resource_type"] for one in glance}:
            of_kind = service.call("list_stack_resources", filters={"type": kind}, **call)
            assert of_kind == [one for one in glance if one["resource_type"] == kind]
    assert shown == 3 + 3 + 2 + 8
    by_name = {one["resource_name"]: one for one in service.call("list_stack_resources", stack_identity=flat)}
    assert {name: by_name[name]["required_by"] for name in names if name in by_name} == {
        "a": ["b", "c"],
        "b": ["c"],
        "c": [],
    }


def test_hooks(service: Any) -> None:
    registry = {"resource_registry": {"resources": {"a": {"hooks": ["pre-create"]}}}}
    identity = service.create(hot({"a": value()}), registry, wait=False)
    for hook, text in (("bogus", 'Invalid hook type "bogus"'), ("pre-update", 'The "pre-update" hook is not defined')):
        error = service.refused(
            "resource_signal", stack_identity=identity, resource_name="a", details={"unset_hook": hook}
        )
        assert type(error).__name__ == "InvalidBreakPointHook" and text in str(error)
    from tests.contract.rpc_replay import poll

    assert poll(
        lambda: any(
            "paused until Hook pre-create is cleared" in event["resource_status_reason"]
            for event in service.call("list_events", stack_identity=identity)
        )
    )
    service.call("resource_signal", stack_identity=identity, resource_name="a", details={"unset_hook": "pre-create"})
    assert service.state(identity) == "CREATE_COMPLETE"
    reasons = [event["resource_status_reason"] for event in service.call("list_events", stack_identity=identity)]
    assert "Hook pre-create is cleared" in reasons


def test_mark_unhealthy(service: Any) -> None:
    identity = service.create(hot({"a": value("1"), "s": {"type": "OS::Heat::TestResource"}}))

    def mark(name: str, unhealthy: Any, reason: str | None = None) -> None:
        service.call(
            "resource_mark_unhealthy",
            stack_identity=identity,
            resource_name=name,
            mark_unhealthy=unhealthy,
            resource_status_reason=reason,
        )

    def shown() -> tuple[str, str]:
        found = service.call("describe_stack_resource", stack_identity=identity, resource_name="a")
        return f"{found['resource_action']}_{found['resource_status']}", found["resource_status_reason"]

    mark("a", False)
    assert shown()[0] == "CREATE_COMPLETE"
    mark("a", True, "sick")
    assert shown() == ("CHECK_FAILED", "sick")
    mark("a", False)
    assert shown() == ("CHECK_COMPLETE", "state changed by resource_mark_unhealthy api")
    before = service.call("describe_stack_resource", stack_identity=identity, resource_name="a")
    mark(before["physical_resource_id"], True)
    service.update(identity, hot({"a": value("1"), "s": {"type": "OS::Heat::TestResource"}}))
    after = service.call("describe_stack_resource", stack_identity=identity, resource_name="a")
    assert after["physical_resource_id"] != before["physical_resource_id"]
    assert (
        type(
            service.refused("resource_mark_unhealthy", stack_identity=identity, resource_name="no", mark_unhealthy=True)
        ).__name__
        == "ResourceNotFound"
    )
    busy = hot({"a": value("1"), "s": {"type": "OS::Heat::TestResource", "properties": {"value": "n", "wait_secs": 3}}})
    service.update(identity, busy, wait=False)
    from tests.contract.rpc_replay import poll

    assert poll(
        lambda: bool(
            service.rows("SELECT 1 FROM resource WHERE engine_id IS NOT NULL AND stack_id = :i", i=identity["stack_id"])
        )
    )
    error = service.refused("resource_mark_unhealthy", stack_identity=identity, resource_name="s", mark_unhealthy=True)
    assert type(error).__name__ == "ActionInProgress"


def test_find_physical(service: Any, tree: Any) -> None:
    found = service.call("describe_stack_resource", stack_identity=tree, resource_name="a")
    identity = service.call("find_physical_resource", physical_resource_id=found["physical_resource_id"])
    assert identity == {**tree, "path": "/resources/a"}
    other = service.context("somebody else")
    assert (
        type(
            service.refused("find_physical_resource", other, physical_resource_id=found["physical_resource_id"])
        ).__name__
        == "EntityNotFound"
    )


def test_all_concurrent_signals_count(service: Any) -> None:
    handle = {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}}
    wait = {
        "type": "OS::Heat::WaitCondition",
        "properties": {"handle": {"get_resource": "handle"}, "count": 8, "timeout": 20},
    }
    identity = service.create(
        hot({"handle": handle, "wait": wait}, outputs={"o": {"value": {"get_attr": ["wait", "data"]}}}), wait=False
    )
    from tests.contract.rpc_replay import poll

    assert poll(
        lambda: (
            service.call("describe_stack_resource", stack_identity=identity, resource_name="handle")["resource_action"]
            == "CREATE"
        )
    )

    def signal(number: int) -> None:
        service.call(
            "resource_signal",
            stack_identity=identity,
            resource_name="handle",
            details={"id": str(number), "data": str(number), "status": "SUCCESS", "reason": "r"},
            sync_call=number % 2 == 0,
        )

    threads = [threading.Thread(target=signal, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert service.state(identity) == "CREATE_COMPLETE"
    assert len(json.loads(service.outputs(identity)["o"])) == 8


def test_a_signal_brings_metadata_up_to_date(service: Any) -> None:
    """Metadata made of other resources know their ids and attributes: an instance finds its keys in them."""
    handle = {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}}
    wait = {"type": "OS::Heat::WaitCondition", "properties": {"handle": {"get_resource": "handle"}, "timeout": 60}}
    made_of = {
        "id": {"get_resource": "word"},
        "attribute": {"get_attr": ["word", "value"]},
        "told": {"get_attr": ["wait", "data"]},
        "own": "k",
    }
    resources = {
        "word": value("w"),
        "handle": handle,
        "wait": wait,
        "inner": {"type": "inner.yaml", "metadata": made_of},
    }
    files = {"inner.yaml": json.dumps(hot({"v": value()}))}
    identity = service.create(hot(resources), files=files, wait=False)

    def shown(name: str) -> Any:
        return service.call("describe_stack_resource", stack_identity=identity, resource_name=name)

    def signal(name: str) -> None:
        details = {"id": name, "data": name, "status": "SUCCESS", "reason": "r"}
        service.call("resource_signal", stack_identity=identity, resource_name="handle", details=details)

    until(lambda: shown("handle")["resource_action"] == "CREATE", "the handle is there")
    signal("a")
    until(lambda: service.state(identity) == "CREATE_COMPLETE", "the stack is there")
    word = shown("word")["physical_resource_id"]
    before = shown("inner")["metadata"]
    assert (before["id"], before["attribute"], before["own"]) == (word, "w", "k")
    signal("b")
    until(lambda: json.loads(shown("inner")["metadata"]["told"]) == {"a": "a", "b": "b"}, "what was told is there")
    assert shown("inner")["metadata"] == {**before, "told": shown("inner")["metadata"]["told"]}


def test_a_stack_user_reaches_what_its_resource_allows(service: Any) -> None:
    identity = service.create(hot({"a": value()}))
    user = service.context(user_id="stranger", roles=["heat_stack_user"])
    error = service.refused("describe_stack_resource", user, stack_identity=identity, resource_name="a")
    assert type(error).__name__ == "Forbidden"
