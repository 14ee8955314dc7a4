# SPDX-License-Identifier: Apache-2.0
"""Python Heat 27.0.1 and this service on one database and one bus, in every mix of APIs and engines.

Both APIs run all the time; the engines are theirs, both, ours, in this order, so that each mix goes on with a
database that the others have written to. The same life of a flat and of a nested stack is led through each mix.
"""

from __future__ import annotations

import pytest

from tests.fixtures import stores, templates
from tests.fixtures.api import Api, Stack
from tests.fixtures.polling import until
from tests.fixtures.service import OURS, THEIRS, Installation
from tests.interop.land import Land, at_rest

pytestmark = [pytest.mark.services, pytest.mark.keystone, pytest.mark.reference, pytest.mark.timeout(600)]


def physical(stack: Stack) -> dict[str, str]:
    return {name: r["physical_resource_id"] for name, r in stack.resources().items()}


# Lives


def test_flat_stack(mixed: Land, api: Api) -> None:
    stack = api.create(templates.flat())
    assert stack.outputs()["last"] == "a1"
    first = physical(stack)
    assert sorted(first) == ["a", "b", "c", "d"]

    stack.update(templates.flat(salt="2", generation="y", extra="e"))
    second = physical(stack)
    assert sorted(second) == ["a", "b", "d", "e"]
    assert second["a"] == first["a"] and second["b"] == first["b"], "updated in place"
    assert second["d"] != first["d"], "replaced"
    assert stack.outputs()["last"] == "a2"
    at_rest(mixed)

    stack.update(templates.flat(salt="3", generation="z", extra="e", fail=True), wait=None, disable_rollback=False)
    stack.wait("ROLLBACK_COMPLETE")
    third = physical(stack)
    assert sorted(third) == ["a", "b", "d", "e"]
    assert third["a"] == second["a"]
    assert stack.outputs()["last"] == "a2"
    at_rest(mixed)

    stack.update(templates.flat(salt="4", generation="z", extra="f", slow=6), wait=None)
    stack.wait_resource("b", "IN_PROGRESS")
    stack.action("cancel_update")
    stack.wait("ROLLBACK_COMPLETE")
    assert sorted(physical(stack)) == ["a", "b", "d", "e"]
    assert stack.outputs()["last"] == "a2"
    at_rest(mixed)

    stack.delete()
    mixed.database.expect_nothing_of(stack.id)


def test_nested_stack(mixed: Land, api: Api) -> None:
    stack = api.create(templates.nested(), files=templates.files())
    assert stack.outputs()["all"] == ["b1", "b1"]

    stack.update(templates.nested(count=3, salt="2", generation="y"), files=templates.files())
    assert stack.outputs()["all"] == ["b2", "b2", "b2"]
    assert len(stack.resources(depth=3)) == 3 + 3 + 6

    broken = templates.nested(count=2, salt="3")
    broken["resources"]["after"]["properties"]["fail"] = True
    stack.update(broken, wait=None, files=templates.files(), disable_rollback=False)
    stack.wait("ROLLBACK_COMPLETE")
    assert stack.outputs()["all"] == ["b2", "b2", "b2"]
    at_rest(mixed)

    slow = templates.nested(count=3, salt="4")
    slow["resources"]["after"]["properties"]["wait_secs"] = 6
    stack.update(slow, wait=None, files=templates.files())
    stack.wait_resource("after", "IN_PROGRESS")
    stack.action("cancel_update")
    stack.wait("ROLLBACK_COMPLETE")
    assert stack.outputs()["all"] == ["b2", "b2", "b2"]

    stack.delete()
    mixed.database.expect_nothing_of(stack.id)


def test_delete_over_create(mixed: Land, api: Api) -> None:
    stack = api.create(templates.flat(slow=6), wait=False)
    stack.wait_resource("b", "IN_PROGRESS")
    stack.delete()
    mixed.database.expect_nothing_of(stack.id)


def test_update_over_update(mixed: Land, api: Api) -> None:
    stack = api.create(templates.flat())
    stack.update(templates.flat(salt="2", slow=6), wait=None)
    stack.wait_resource("b", "IN_PROGRESS")
    stack.update(templates.flat(salt="3"), wait=None)
    stack.wait("UPDATE_COMPLETE")
    until(lambda: stack.outputs()["last"] == "a3", "the second update is done")
    stack.delete()


# Exceptions across


REFUSALS = [
    ("GET", "/stacks/no-such-stack", None),
    ("POST", "/stacks", {"stack_name": "bad", "template": templates.hot({"a": {"type": "No::Such::Type"}})}),
    ("POST", "/stacks", {"stack_name": "bad", "template": templates.hot({"a": templates.resource(nonsense=1)})}),
    (
        "POST",
        "/stacks",
        {
            "stack_name": "bad",
            "template": templates.hot(
                {
                    "a": templates.resource({"get_attr": ["b", "output"]}),
                    "b": templates.resource({"get_attr": ["a", "output"]}),
                }
            ),
        },
    ),
    ("POST", "/stacks", {"stack_name": "bad name!", "template": templates.flat()}),
    ("POST", "/stacks", {"stack_name": "bad", "template": {"heat_template_version": "1999-01-01"}}),
    ("POST", "/stacks", {"stack_name": "bad", "template": templates.hot({}, parameters={"p": {"type": "string"}})}),
    ("GET", "/resource_types/No::Such::Type", None),
    ("POST", "/validate", {"template": templates.hot({"a": templates.resource({"get_param": "nothing"})})}),
]


@pytest.mark.parametrize("case", range(len(REFUSALS)))
def test_exceptions_of_the_other(mixed: Land, case: int) -> None:
    method, path, body = REFUSALS[case]
    answers = {}
    for kind, api in mixed.apis.items():
        reply = api.send(method, path, body, allow_redirects=True)
        error = reply.json().get("error", {})
        message = str(error.get("message"))
        if message.startswith("Circular"):  # which of the two comes first differs from process to process
            message = message.replace('"b"', '"a"')
        answers[kind] = (reply.status_code, error.get("type"), message)
    assert answers[OURS] == answers[THEIRS]


def test_duplicate_name(mixed: Land) -> None:
    stack = mixed.api(OURS).create(templates.hot({}))
    for api in mixed.apis.values():
        reply = api.send("POST", "/stacks", {"stack_name": stack.name, "template": templates.hot({})})
        assert (reply.status_code, reply.json()["error"]["type"]) == (409, "StackExists")
    stack.delete()


# One goes on with what the other began


CHAIN = templates.hot(
    {
        "a": templates.resource("a"),
        "b": templates.resource(templates.attr("a"), wait_secs=6),
        "c": templates.resource(templates.attr("b")),
    },
    {"last": templates.attr("c")},
)


def begin(land: Land, kind: str, nested: bool) -> Stack:
    if nested:
        import yaml

        outer = templates.hot(
            {
                "x": templates.resource("a"),
                "n": {"type": "chain.yaml"},
                "y": templates.resource(templates.attr("n", "last")),
            },
            {"last": templates.attr("y")},
        )
        return land.api(kind).create(outer, wait=False, files={"chain.yaml": yaml.safe_dump(CHAIN)})
    return land.api(kind).create(CHAIN, wait=False)


def in_the_middle(land: Land) -> bool:
    return bool(
        land.database.rows(
            "SELECT r.id FROM resource r JOIN stack s ON s.id = r.stack_id "
            "WHERE r.name = 'b' AND r.status = 'IN_PROGRESS' AND s.status = 'IN_PROGRESS' AND s.deleted_at IS NULL"
        )
    )


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_ours_finishes_what_theirs_began(land: Land, nested: bool) -> None:
    land.engines(THEIRS)
    stack = begin(land, THEIRS, nested)
    until(lambda: in_the_middle(land), "b is being created", 60)
    land.kill(THEIRS)
    land.add(OURS)
    stack.wait("CREATE_COMPLETE")
    assert stack.outputs()["last"] == "a"
    at_rest(land)
    stack.delete()


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_theirs_finishes_what_ours_began(land: Land, nested: bool) -> None:
    """Python Heat adopts nothing by itself; with the user's next request it goes on from our rows."""
    land.engines(OURS)
    stack = begin(land, OURS, nested)
    until(lambda: in_the_middle(land), "b is being created", 60)
    land.kill(OURS)
    land.add(THEIRS)
    stack.api.call("PATCH", stack.path, {"tags": "again"}, expect=202)
    stack.wait("UPDATE_COMPLETE")
    assert stack.outputs()["last"] == "a"
    stack.delete()
    land.database.expect_nothing_of(stack.id)


# The tools


def test_heat_manage_of_either(land: Land) -> None:
    for kind in (OURS, THEIRS):
        version = land.installation.manage(kind, "db_version").stdout.split()
        assert version[-1] == land.database.value("SELECT version_num FROM alembic_version")
        land.installation.manage(kind, "db_sync")
        land.installation.manage(kind, "purge_deleted", "-g", "days", "0")
        assert "heat-engine" in land.installation.manage(kind, "service", "list").stdout


def test_heat_manage_on_the_database_of_the_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    for maker, user in ((OURS, THEIRS), (THEIRS, OURS)):
        with stores.mariadb_database("manage") as (_, connection):
            other = Installation(tmp_path_factory.mktemp("manage"), connection, "fake://")
            other.manage(maker, "db_sync")
            other.manage(user, "db_sync")
            versions = {other.manage(kind, "db_version").stdout.split()[-1] for kind in (maker, user)}
            assert len(versions) == 1
