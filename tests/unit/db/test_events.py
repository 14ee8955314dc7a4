# SPDX-License-Identifier: Apache-2.0
"""Events: pages, filters, and the limit per stack."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import exceptions
from openkeel_heat.db import events, models, properties, stacks
from openkeel_heat.db.session import StatementCounter, watching
from tests.unit.db.rows import T0, make_stack, rows_of


def event(stack_id: str, number: int, **values: Any) -> dict[str, Any]:
    return {
        "stack_id": stack_id,
        "uuid": f"u{number}",
        "created_at": T0 + timedelta(seconds=number // 2),
        "resource_name": f"r{number}",
        "resource_action": "CREATE",
        "resource_status": "COMPLETE" if number % 2 else "IN_PROGRESS",
        "resource_type": "B" if number % 3 else "A",
        **values,
    }


def uuids(rows: list[Any]) -> str:
    return "".join(row.uuid[1:] for row in rows)


@pytest.fixture
def six(db: str) -> str:
    key = make_stack()
    events.insert_many([event(key, number) for number in range(6)])
    return key


LISTS: list[tuple[dict[str, Any], str]] = [
    ({}, "543210"),
    ({"sort_dir": "asc"}, "012345"),
    ({"sort_keys": ["event_time"]}, "012345"),
    ({"sort_keys": ["nonsense"]}, "543210"),
    ({"sort_keys": ["resource_type"]}, "031245"),
    ({"sort_keys": "resource_type", "sort_dir": "desc"}, "542130"),
    ({"limit": 2}, "54"),
    ({"limit": 10**21}, "543210"),
    ({"limit": 2, "marker": "u4"}, "32"),
    ({"marker": "u0"}, ""),
    ({"marker": "unknown", "limit": 1}, "5"),
    ({"filters": {"resource_status": "COMPLETE"}}, "531"),
    ({"filters": {"resource_name": ["r1", "r2"]}}, "21"),
    ({"filters": {"uuid": "u3"}}, "3"),
    ({"filters": {"resource_type": "A", "resource_action": "CREATE"}}, "30"),
    ({"filters": {"resource_action": "DELETE"}}, ""),
]


@pytest.mark.parametrize(("arguments", "expected"), LISTS)
def test_lists(six: str, arguments: dict[str, Any], expected: str) -> None:
    assert uuids(events.list_by_stacks(six, **arguments)) == expected
    assert uuids(events.list_by_tenant("t1", **arguments)) == expected


def test_many_stacks_and_tenants(six: str) -> None:
    other = make_stack("other")
    foreign = make_stack("foreign", tenant="t2")
    events.insert(event(other, 7))
    events.insert(event(foreign, 8))
    assert uuids(events.list_by_stacks([six, other], limit=2)) == "75"
    assert uuids(events.list_by_tenant("t1", limit=1)) == "7"
    assert uuids(events.list_by_tenant("t2")) == "8"
    stacks.delete(other)
    assert uuids(events.list_by_tenant("t1", limit=1)) == "5"
    assert uuids(events.list_by_stacks(other)) == "7"
    assert events.count(six) == 6


def test_refusals(six: str) -> None:
    with pytest.raises(exceptions.Invalid, match="unknown filter: colour"):
        events.list_by_stacks(six, filters={"colour": "red"})
    with pytest.raises(exceptions.Invalid, match="sort direction"):
        events.list_by_tenant("t1", sort_dir="sideways")


def test_reason_is_cut_and_never_null(db: str) -> None:
    key = make_stack()
    events.insert({"stack_id": key, "resource_status_reason": "x" * 300})
    events.insert({"stack_id": key, "resource_status_reason": None})
    assert [row.resource_status_reason for row in rows_of(models.event)] == ["x" * 255, ""]
    assert rows_of(models.event)[0].resource_properties is None


@pytest.mark.parametrize("encrypt", [False, True])
def test_properties(db: str, encrypt: bool) -> None:
    cfg.CONF.set_override("encrypt_parameters_and_properties", encrypt)
    key = make_stack()
    events.insert({"stack_id": key, "uuid": "u1", "rsrc_prop_data_id": properties.insert({"a": 1})})
    events.insert({"stack_id": key, "uuid": "u2"})
    assert events.get("u1").resource_properties_data == {"a": 1}
    assert events.get("u2", key).resource_properties_data is None
    assert events.get("u2", "other") is None
    counter = StatementCounter()
    with watching(counter):
        rows = events.list_by_stacks(key, properties=True, sort_dir="asc")
    assert counter.statements == 1
    assert [row.resource_properties_data for row in rows] == [{"a": 1}, None]


def test_purge_keeps_what_is_shared(db: str) -> None:
    key, partner = make_stack(), make_stack("s1*", owner_id="x")
    mine, shared = properties.insert({"a": 1}), properties.insert({"b": 2})
    for number, data in enumerate([mine, shared, mine, None]):
        events.insert(event(key, number, rsrc_prop_data_id=data))
    events.insert(event(partner, 9, rsrc_prop_data_id=shared))
    assert events.purge(key, 2) == 2
    assert uuids(events.list_by_stacks(key)) == "32"
    assert properties.get(mine) == {"a": 1}
    assert events.purge(key, 5) == 2
    assert properties.get(mine) is None
    assert properties.get(shared) == {"b": 2}
    assert events.purge(key, 5) == 0


def test_limit_per_stack(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cfg.CONF.set_override("max_events_per_stack", 10)
    cfg.CONF.set_override("event_purge_batch_size", 4)
    monkeypatch.setattr("random.uniform", lambda low, high: 0.0)  # look every time
    try:
        key = make_stack()
        for number in range(30):
            events.insert(event(key, number))
            assert events.count(key) <= 10
        assert events.list_by_stacks(key)[0].uuid == "u29"
        monkeypatch.setattr("random.uniform", lambda low, high: 0.99)  # hardly ever
        events.insert_many([event(key, number) for number in range(30, 31)])
        cfg.CONF.set_override("max_events_per_stack", 0)  # no limit
        monkeypatch.setattr("random.uniform", lambda low, high: 0.0)
        events.insert_many([event(key, number) for number in range(31, 60)])
        assert events.count(key) > 30
    finally:
        cfg.CONF.clear_override("event_purge_batch_size")


def test_ordinary_insert_is_one_statement(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: 0.5)
    key = make_stack()
    counter = StatementCounter()
    with watching(counter):
        events.insert(event(key, 1))
    assert (counter.statements, counter.commits) == (1, 1)
