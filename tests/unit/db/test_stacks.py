# SPDX-License-Identifier: Apache-2.0
"""Stacks: finding, listing, fenced updates, deletion, tags."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import exceptions
from openkeel_heat.db import models, resources, session, sql, stacks
from openkeel_heat.db.session import StatementCounter, watching
from tests.unit.db.rows import make_resource, make_stack, make_template, rows_of


def names(rows: list[Any]) -> list[str]:
    return [row.name for row in rows]


def test_get_find_and_tenants(db: str) -> None:
    key = make_stack("a", stack_user_project_id="p9", current_deps={"edges": []})
    assert stacks.get(key).name == "a"
    assert "current_deps" not in stacks.get(key)
    assert stacks.get(key, deps=True).current_deps == {"edges": []}
    for tenant, seen in ((None, True), ("t1", True), ("p9", True), ("t2", False)):
        assert bool(stacks.get(key, tenant)) is seen
        assert bool(stacks.get_by_name("a", tenant)) is seen
        assert bool(stacks.find("a", tenant)) is seen
        assert bool(stacks.find(key, tenant)) is seen
    assert stacks.get("nope") is None
    assert stacks.get_state(key) == {
        "action": "CREATE", "status": "COMPLETE", "status_reason": None, "current_traversal": None,
        "created_at": stacks.get(key).created_at, "updated_at": None, "deleted_at": None,
    }  # fmt: skip


def test_deleted_is_found_by_id_not_by_name(db: str) -> None:
    key = make_stack("a", tags=["x"])
    resource_id = make_resource(key)
    resources.set_datum(resource_id, "k", "v")
    assert stacks.delete(key, {"action": "DELETE", "status": "COMPLETE"})
    assert not stacks.delete(key)
    assert stacks.find("a", show_deleted=True) is None
    assert stacks.find(key) is None
    found = stacks.find(key, show_deleted=True)
    assert (found.action, found.status) == ("DELETE", "COMPLETE")
    assert found.deleted_at is not None
    assert resources.list_by_stack(key) == []
    assert rows_of(models.resource_data) == []
    assert make_stack("a") != key  # the name is free


def test_delete_is_fenced(db: str) -> None:
    key = make_stack("a", current_traversal="one")
    make_resource(key)
    assert not stacks.delete(key, expected_traversal="two")
    assert stacks.get(key) is not None
    assert len(resources.list_by_stack(key)) == 1
    assert stacks.delete(key, expected_traversal="one")


def test_name_is_unique_in_a_project(db: str) -> None:
    make_stack("a")
    with pytest.raises(exceptions.StackExists, match=r"The Stack \(a\) already exists."):
        make_stack("a")
    make_stack("a", tenant="t2")
    assert stacks.count() == 2


def test_name_is_unique_when_created_at_once(db: str) -> None:
    template_id = make_template()
    results: list[str] = []

    def create() -> None:
        try:
            make_stack("same", raw_template_id=template_id)
            results.append("made")
        except exceptions.StackExists:
            results.append("exists")

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["exists", "exists", "exists", "made"]
    assert stacks.count() == 1


def test_update_is_fenced(db: str) -> None:
    key = make_stack("a", current_traversal="one")
    assert stacks.update(key, {"status": "FAILED"}, expected_traversal="one")
    assert not stacks.update(key, {"status": "COMPLETE", "current_traversal": "x"}, expected_traversal="two")
    row = stacks.get(key)
    assert (row.status, row.current_traversal, row.updated_at) == ("FAILED", "one", None)
    assert stacks.update(key, {"status_reason": "x"}, tags=["n"])
    assert stacks.get_tags(key) == ["n"]
    stacks.delete(key)
    assert not stacks.update(key, {"status": "COMPLETE"})


def test_long_status_reason(db: str) -> None:
    key = make_stack("a", status_reason="é" * 50000)
    reason = stacks.get(key).status_reason
    assert len(reason.encode()) == (65534 if db == "mariadb" else 100000)


def test_threads_race_for_the_traversal(db: str) -> None:
    """Of many fenced updates that expect the same traversal exactly one wins each round."""
    key = make_stack("a", current_traversal="0")
    wins: list[tuple[int, int]] = []
    barrier = threading.Barrier(6)

    def run(me: int) -> None:
        for turn in range(15):
            barrier.wait()
            if stacks.update(key, {"current_traversal": f"{turn + 1}"}, expected_traversal=f"{turn}"):
                wins.append((turn, me))
            barrier.wait()

    threads = [threading.Thread(target=run, args=(me,)) for me in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [turn for turn, _me in wins] == list(range(15))
    assert stacks.get(key).current_traversal == "15"


@pytest.fixture
def five(db: str) -> dict[str, str]:
    """Five stacks: a, b tagged; c hidden; d below a; e deleted."""
    keys = {
        "a": make_stack("a", 1, ["x", "y"], updated_at=models.utcnow()),
        "b": make_stack("b", 2, ["x"], status="FAILED", action="UPDATE"),
        "c": make_stack("c", 3, ["hide"]),
    }
    keys["d"] = make_stack("d", 4, owner_id=keys["a"])
    keys["e"] = make_stack("e", 5, tenant="t2")
    keys["f"] = make_stack("f", 6)
    stacks.delete(keys["f"])
    cfg.CONF.set_override("hidden_stack_tags", ["hide"])
    return keys


LISTS: list[tuple[dict[str, Any], str]] = [
    ({}, "eba"),
    ({"tenant": "t1"}, "ba"),
    ({"show_hidden": True}, "ecba"),
    ({"show_nested": True}, "edba"),
    ({"show_deleted": True}, "feba"),
    ({"tags": ["x"]}, "ba"),
    ({"tags": ["x", "y"]}, "a"),
    ({"tags": ["x", "nope"]}, ""),
    ({"tags_any": ["y", "nope"]}, "a"),
    ({"tags_any": ["x", "y"]}, "ba"),
    ({"not_tags": ["x"]}, "e"),
    ({"not_tags": ["x", "y"]}, "eb"),
    ({"not_tags_any": ["y"]}, "eb"),
    ({"tags": ["x"], "filters": {"status": "FAILED"}}, "b"),
    ({"tags": ["x"], "filters": {"id": ["nope"]}}, ""),
    ({"tags": ["x"], "sort_keys": ["stack_name"]}, "ab"),
    ({"filters": {"status": "COMPLETE"}}, "ea"),
    ({"filters": {"status": ["CREATE_COMPLETE", "FAILED"]}}, "eba"),
    ({"filters": {"status": "UPDATE_FAILED"}}, "b"),
    ({"filters": {"status": "UPDATE_COMPLETE"}}, ""),
    ({"filters": {"stack_name": "a"}}, "a"),
    ({"filters": {"name": ["a", "b"], "action": "CREATE"}}, "a"),
    ({"filters": {"tenant": "t2"}}, "e"),
    ({"filters": {"timeout": "x"}}, ""),
    ({"filters": {"timeout": str(10**20)}}, ""),
    ({"filters": {"disable_rollback": "x"}}, ""),
    ({"filters": {"disable_rollback": "False"}}, ""),
    ({"filters": {"disable_rollback": "true", "stack_name": "a"}}, "a"),
    ({"sort_keys": ["stack_name"]}, "abe"),
    ({"sort_keys": ["stack_name"], "sort_dir": "desc"}, "eba"),
    ({"sort_keys": "creation_time"}, "abe"),
    ({"sort_keys": ["nonsense"]}, "eba"),
    ({"sort_dir": "asc"}, "abe"),
    ({"sort_keys": ["stack_status", "stack_name"]}, "aeb"),
    ({"sort_keys": ["updated_time", "stack_name"]}, "bea"),
    ({"sort_keys": ["updated_time", "stack_name"], "sort_dir": "desc"}, "aeb"),
    ({"limit": 2}, "eb"),
    ({"limit": "1"}, "e"),
    ({"limit": 0}, ""),
]


@pytest.mark.parametrize(("arguments", "expected"), LISTS)
def test_lists(five: dict[str, str], arguments: dict[str, Any], expected: str) -> None:
    found = stacks.list_stacks(**arguments)
    assert "".join(names(found)) == expected
    if not {"limit", "sort_keys", "sort_dir"} & set(arguments):
        assert stacks.count(**arguments) == len(expected)


def test_list_count_of_cases() -> None:
    assert len(LISTS) == 39


@pytest.mark.parametrize("sort", [None, "stack_name", "stack_status", "creation_time", "updated_time"])
@pytest.mark.parametrize("direction", [None, "asc", "desc"])
def test_pages_join_up(five: dict[str, str], sort: str | None, direction: str | None) -> None:
    whole = names(stacks.list_stacks(sort_keys=sort, sort_dir=direction, show_nested=True, show_hidden=True))
    paged: list[str] = []
    marker = None
    while True:
        page = stacks.list_stacks(
            sort_keys=sort, sort_dir=direction, show_nested=True, show_hidden=True, limit=2, marker=marker
        )
        if not page:
            break
        paged += names(page)
        marker = page[-1].id
    assert paged == whole
    assert len(whole) == 5


def test_list_refuses_what_it_does_not_know(five: dict[str, str]) -> None:
    with pytest.raises(exceptions.Invalid, match="unknown filter: colour"):
        stacks.list_stacks(filters={"colour": "red"})
    with pytest.raises(exceptions.Invalid, match="unknown filter: colour"):
        stacks.count(filters={"colour": ["red"]})
    with pytest.raises(exceptions.Invalid, match="sort direction"):
        stacks.list_stacks(sort_dir="sideways")
    assert names(stacks.list_stacks(marker="nope")) == ["e", "b", "a"]


def test_list_reads_tags_in_one_query(five: dict[str, str]) -> None:
    counter = StatementCounter()
    with watching(counter):
        found = stacks.list_stacks()
    assert counter.statements == 2
    assert [row.tags for row in found] == [[], ["x"], ["x", "y"]]


def test_hidden_tags_come_from_the_configuration(five: dict[str, str]) -> None:
    cfg.CONF.set_override("hidden_stack_tags", ["x"])
    assert names(stacks.list_stacks()) == ["e", "c"]
    cfg.CONF.set_override("hidden_stack_tags", [])
    assert names(stacks.list_stacks()) == ["e", "c", "b", "a"]


def test_trees(db: str) -> None:
    root = make_stack("root")
    child = make_stack("child", 1, owner_id=root, parent_resource_name="rc")
    other = make_stack("other", 2, owner_id=root)
    leaf = make_stack("leaf", 3, owner_id=child, parent_resource_name="rl")
    make_stack("root*", 4, owner_id=root, backup=True)
    gone = make_stack("gone", 5, owner_id=child)
    stacks.delete(gone)
    assert [(row.name, row.depth) for row in stacks.list_descendants(root)] == [("child", 1), ("other", 1), ("leaf", 2)]
    assert names(stacks.list_descendants(root, max_depth=1)) == ["child", "other"]
    assert names(stacks.list_descendants(root, show_deleted=True)) == ["child", "other", "leaf", "gone"]
    assert stacks.list_descendants(leaf) == []
    assert {stacks.get_root_id(key) for key in (root, child, other, leaf)} == {root}
    assert stacks.get_root_id("nope") is None
    assert [row.parent_resource_name for row in stacks.ancestors(leaf)] == ["rl", "rc", None]
    assert stacks.get_by_name_and_owner("leaf", child).id == leaf
    assert stacks.get_by_name_and_owner("leaf", root) is None
    assert sorted(names(stacks.list_by_ids([root, leaf, gone]))) == ["gone", "leaf", "root"]


def test_tags(db: str) -> None:
    key, other = make_stack("a", tags=["b", "a"]), make_stack("b")
    assert stacks.get_tags(key) == ["b", "a"]
    for deps in (False, True):
        for one, given in ((key, ["b", "a"]), (other, [])):
            assert stacks.get(one, deps=deps, tags=True) == {**(stacks.get(one, deps=deps) or {}), "tags": given}
    assert stacks.get("no such stack", tags=True) is None
    counter = StatementCounter()
    with watching(counter):
        stacks.get(key, tags=True)
    assert counter.statements == 1
    stacks.set_tags(key, ["c"])
    assert (stacks.get_tags(key), stacks.get_tags(other)) == (["c"], [])
    stacks.set_tags(key, [])
    assert stacks.get_tags(key) == []


def test_statement_budget(sqlite: str) -> None:
    key = make_stack("a", current_traversal="1")
    counter = StatementCounter()
    with watching(counter):
        stacks.get(key)
        stacks.update(key, {"status": "FAILED"}, expected_traversal="1")
    assert (counter.statements, counter.commits) == (2, 1)
    assert session.watchers == []
    assert sql.Record(a=1).a == 1
