# SPDX-License-Identifier: Apache-2.0
"""Snapshots in every mix of engines and APIs: made, told, restored, deleted, left to the deletion of the stack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures import templates
from tests.fixtures.api import Api, Stack
from tests.fixtures.polling import until
from tests.fixtures.service import OURS, THEIRS
from tests.interop.land import Land

pytestmark = [pytest.mark.services, pytest.mark.keystone, pytest.mark.reference, pytest.mark.timeout(600)]


def take(stack: Stack, name: str) -> str:
    snapshot = str(stack.api.post(stack.path + "/snapshots", {"name": name})["id"])
    path = f"{stack.path}/snapshots/{snapshot}"
    until(lambda: stack.api.get(path)["snapshot"]["status"] == "COMPLETE", f"snapshot {name} is made")
    stack.wait("SNAPSHOT_COMPLETE")
    return snapshot


def known(api: Api, stack: Stack) -> list[dict[str, Any]]:
    return list(api.get(stack.path + "/snapshots")["snapshots"])


def restore(stack: Stack, snapshot: str) -> None:
    stack.api.post(f"{stack.path}/snapshots/{snapshot}/restore")
    stack.wait("RESTORE_COMPLETE")


def drop(stack: Stack, snapshot: str) -> None:
    stack.api.delete(f"{stack.path}/snapshots/{snapshot}")
    until(lambda: [one["id"] for one in known(stack.api, stack)].count(snapshot) == 0, "the snapshot is deleted")


def at_rest(land: Land, stack: Stack) -> None:
    """As everywhere; but a snapshot that Python Heat deletes leaves its sync points for ever."""
    left = "SELECT traversal_id, entity_id FROM sync_point WHERE stack_id = :id"

    def unrest() -> list[object]:
        found: list[object] = [line for line in land.database.unrest() if not line.startswith("sync point")]
        return found if land.running[THEIRS] else [*found, *land.database.rows(left, id=stack.id)]

    until(lambda: not unrest(), "the database is at rest", 30)


def life(land: Land, first: Api, second: Api) -> None:
    """Snapshots are made through the first and restored through the second."""
    stack = first.create(templates.flat())
    before = {name: row["physical_resource_id"] for name, row in stack.resources().items()}
    snapshot = take(stack, "first")
    shown = [api.get(f"{stack.path}/snapshots/{snapshot}")["snapshot"] for api in (first, second)]
    assert shown[0] == shown[1]
    assert sorted(shown[0]["data"]["resources"]) == ["a", "b", "c", "d"]
    assert {name: row["resource_id"] for name, row in shown[0]["data"]["resources"].items()} == before

    stack.update(templates.flat(salt="2", generation="y", extra="e"))
    assert stack.outputs()["last"] == "a2"
    again = second.stack(stack.name, stack.id)
    restore(again, snapshot)
    assert again.outputs()["last"] == "a1"
    assert sorted(again.resources()) == ["a", "b", "c", "d"]

    other = take(again, "second")
    assert {one["id"]: one["name"] for one in known(first, stack)} == {snapshot: "first", other: "second"}
    drop(stack, snapshot)
    assert [one["id"] for one in known(second, stack)] == [other]
    at_rest(land, stack)
    again.delete()
    assert second.send("GET", f"{stack.path}/snapshots/{other}").status_code == 404
    count = "SELECT COUNT(*) FROM snapshot WHERE stack_id = :id"
    until(lambda: not land.database.value(count, id=stack.id), "no snapshot is left", 30)


def test_snapshots(mixed: Land, api: Api) -> None:
    life(mixed, api, api)


@pytest.mark.parametrize(("first", "second"), [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours-first", "theirs-first"])
def test_a_snapshot_of_the_other(land: Land, first: str, second: str) -> None:
    """One engine makes it, the other shows, restores and deletes it."""
    land.engines(first)
    stack = land.api(first).create(templates.flat())
    snapshot = take(stack, "shot")
    stack.update(templates.flat(salt="2", generation="y", extra="e"))
    land.engines(second)
    other = land.api(second).stack(stack.name, stack.id)
    assert [one["id"] for one in known(other.api, other)] == [snapshot]
    restore(other, snapshot)
    assert other.outputs()["last"] == "a1"
    assert sorted(other.resources()) == ["a", "b", "c", "d"]
    drop(other, snapshot)
    at_rest(land, stack)
    other.delete()
