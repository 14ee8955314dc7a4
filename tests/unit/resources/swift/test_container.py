# SPDX-License-Identifier: Apache-2.0
"""OS::Swift::Container and AWS::S3::Bucket on an object store in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.resources.kit import lifecycle
from openkeel_heat.resources.kit.resource import UpdateReplace
from tests.fixtures.rest_server import Body, FakeCloud, Refusal, Request, RestServer
from tests.unit.conftest import Option
from tests.unit.resources.cinder.conftest import World
from tests.unit.resources.fakes import drive

CONTAINER, BUCKET = "OS::Swift::Container", "AWS::S3::Bucket"


class Store(RestServer):
    """Containers, their headers and the names of their objects; a page has two."""

    prefix = "/v1/AUTH_project"

    def setup(self) -> None:
        self.containers: dict[str, list[str]] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.account: dict[str, str] = {}
        self.route("POST", "", self._change_account)
        self.route("PUT", "/([^/]+)", self._make)
        self.route("GET", "/([^/]+)", self._list)
        self.route("DELETE", "/([^/]+)", self._delete)
        self.route("DELETE", "/([^/]+)/(.+)", self._delete_object)

    def _change_account(self, request: Request) -> tuple[int, Body]:
        self.account = {name: value for name, value in request.headers.items() if name.startswith("X-Account")}
        return 204, None

    def _make(self, request: Request, name: str) -> tuple[int, Body]:
        self.containers.setdefault(name, [])
        self.headers[name] = {key: value for key, value in request.headers.items() if key.startswith("X-Container")}
        return 201, None

    def _get(self, name: str) -> list[str]:
        if name not in self.containers:
            raise Refusal(404, "no such container")
        return self.containers[name]

    def _list(self, request: Request, name: str) -> tuple[int, Body]:
        return 200, [{"name": one} for one in self._get(name)[:2]]

    def _delete(self, request: Request, name: str) -> tuple[int, Body]:
        if self._get(name):
            raise Refusal(409, "not empty")
        del self.containers[name]
        return 204, None

    def _delete_object(self, request: Request, name: str, thing: str) -> tuple[int, Body]:
        self._get(name).remove(thing)
        return 204, None


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as running:
        yield running


@pytest.fixture
def world(option: Option, store: Store) -> World:
    return World(FakeCloud(object_store=store))


def test_a_container(world: World, store: Store) -> None:
    made = world.create(
        CONTAINER, **{"X-Container-Read": ".r:*", "X-Container-Meta": {"A": "b"}, "X-Account-Meta": {"C": "d"}}
    )
    name = made.physical_resource_name()
    assert made.resource_id == name == made.FnGetRefId()
    assert store.headers[name] == {"X-Container-Read": ".r:*", "X-Container-Meta-A": "b"}
    assert store.account == {"X-Account-Meta-C": "d"}
    assert made.FnGetAtt("RootURL") == store.url and made.FnGetAtt("WebsiteURL") == f"{store.url}/{name}"
    assert made.FnGetAtt("DomainName") == "127.0.0.1"
    assert drive(lifecycle.check(made), made).short[-1] == "CHECK_COMPLETE"
    world.delete(made)
    assert store.containers == {}


def test_a_container_shows_the_headers_that_are_its_own(world: World, store: Store) -> None:
    made = world.create(CONTAINER, name="c")
    said = {"X-Container-Object-Count": "3", "Connection": "keep-alive"}
    store.fault("HEAD", "/c", status=200, headers=said)
    shown = made.FnGetAtt("HeadContainer")
    assert shown["x-container-object-count"] == "3" and "connection" not in shown


def test_a_container_with_objects_is_deleted_only_if_the_template_says_so(world: World, store: Store) -> None:
    made = world.create(CONTAINER, name="c")
    store.containers["c"] = ["a"]
    reason = world.fails(lifecycle.delete(made), made)
    assert reason == (
        "ResourceActionNotSupported: resources.r: Deleting non-empty container (c) when PurgeOnDelete is False is not "
        "supported for resource."
    )


def test_all_pages_of_objects_are_deleted(world: World, store: Store) -> None:
    made = world.create(CONTAINER, name="c", PurgeOnDelete=True)
    store.containers["c"] = list("abcde")
    world.delete(made)
    assert store.containers == {}


READ, META = "X-Container-Read", "X-Container-Meta"


def test_values_of_metadata_are_told_as_texts(world: World, store: Store, option: Option) -> None:
    given = {"A": 5, "B": True, "C": 0.5, "D": "Zoë"}
    made = world.create(CONTAINER, name="c", **{META: given})
    sent = store.headers["c"]
    assert [sent[f"{META}-{key}"].encode("latin-1").decode() for key in given] == ["5", "True", "0.5", "Zoë"]
    store.fault("HEAD", "/c", times=2, status=200, headers=sent)
    assert made.FnGetAtt("HeadContainer")["x-container-meta-d"] == "Zoë"
    option("observe_on_update", True)
    store.fault("HEAD", "", status=200)
    world.update(made, name="c", **{META: given})


def replaced(world: World, before: dict[str, Any], after: dict[str, Any]) -> tuple[Any, Any]:
    """A container and its replacement."""
    old = world.create(CONTAINER, **before)
    new = world.make(CONTAINER, **after)
    new.record.id, new.record.uuid = 2, "00000000-0000-4000-8000-000000000002"
    old.stack.action = new.stack.action = "UPDATE"
    old.stack.others, new.stack.others = [new], [old]
    drive(lifecycle.create(new), new)
    return old, new


def test_a_replacement_of_the_same_name_keeps_the_container(world: World, store: Store) -> None:
    """Heat deletes it, with all that is in it, after the replacement has taken it for its own."""
    before = {"name": "c", READ: ".r:*", META: {"A": "1", "B": "2"}, "PurgeOnDelete": True}
    old, new = replaced(world, before, {"name": "c", META: {"A": "3"}})
    assert store.headers["c"] == {READ: "", "X-Container-Meta-A": "3", "X-Container-Meta-B": ""}
    store.containers["c"] = ["a"]
    world.delete(old)
    assert store.containers == {"c": ["a"]}
    new.stack.others = []
    store.containers["c"] = []
    world.delete(new)
    assert store.containers == {}


def test_a_rollback_gives_the_container_its_headers_back(world: World, store: Store) -> None:
    old, new = replaced(world, {"name": "c", META: {"A": "1"}}, {"name": "c", READ: ".r:*"})
    old.stack.action = new.stack.action = "ROLLBACK"
    old.restore_prev_rsrc(convergence=True)
    assert store.headers["c"] == {"X-Container-Meta-A": "1", READ: ""}
    world.delete(new)
    assert store.containers == {"c": []}


def test_a_replacement_of_another_name_is_another_container(world: World, store: Store) -> None:
    old, new = replaced(world, {"name": "c"}, {READ: ".r:*"})
    assert set(store.containers) == {"c", new.resource_id}
    old.restore_prev_rsrc(convergence=True)
    assert store.headers["c"] == {}
    world.delete(old)
    assert set(store.containers) == {new.resource_id}


def test_the_container_of_both_goes_with_the_last_of_them(world: World, store: Store) -> None:
    old, new = replaced(world, {"name": "c"}, {"name": "c", READ: ".r:*"})
    old.stack.action = new.stack.action = "DELETE"
    world.delete(old)
    assert store.containers == {"c": []}
    world.delete(new)
    assert store.containers == {}


@pytest.mark.parametrize(
    ("given", "live", "drifted"),
    [
        ({READ: ".r:*", META: {"A": 1}}, {READ: ".r:*", "X-Container-Meta-A": "1"}, False),
        ({}, {READ: ".r:*", "X-Container-Meta-A": "1"}, False),
        ({META: {"A": None}}, {}, False),
        ({READ: ".r:*"}, {}, True),
        ({META: {"A": 1}}, {"X-Container-Meta-A": "2"}, True),
        ({META: {"A": 1}}, {}, True),
    ],
)
def test_drift_of_a_container(
    world: World, store: Store, option: Option, given: dict[str, Any], live: dict[str, str], drifted: bool
) -> None:
    """Heat replaces a container whose owner has given rights to it by hand."""
    option("observe_on_update", True)
    props = {"name": "c", **given}
    made = world.create(CONTAINER, **props)
    store.fault("HEAD", "/c", status=200, headers={name.lower(): value for name, value in live.items()})
    store.fault("HEAD", "", status=200)
    if drifted:
        with pytest.raises(UpdateReplace):
            world.update(made, **props)
    else:
        world.update(made, **props)


@pytest.mark.parametrize(
    ("access", "read", "write"),
    [
        ("PublicRead", ".r:*", "None:user"),
        ("PublicReadWrite", ".r:*", ".r:*"),
        ("Private", "None:user", "None:user"),
    ],
)
def test_a_bucket(world: World, store: Store, access: str, read: str, write: str) -> None:
    made = world.create(
        BUCKET,
        AccessControl=access,
        Tags=[{"Key": "K", "Value": "v"}],
        WebsiteConfiguration={"IndexDocument": "index.html", "ErrorDocument": "error.html"},
    )
    assert store.headers[made.resource_id] == {
        "X-Container-Meta-S3-Tag-K": "v",
        "X-Container-Meta-Web-Index": "index.html",
        "X-Container-Meta-Web-Error": "error.html",
        "X-Container-Read": read,
        "X-Container-Write": write,
    }
    store.containers[made.resource_id] = ["a"]
    reason = world.fails(lifecycle.delete(made), made)
    assert f"The bucket you tried to delete is not empty ({made.resource_id})." in reason
    store.containers[made.resource_id] = []
    world.delete(made)
    assert store.containers == {}


def test_what_is_gone_already_is_right(world: World, store: Store) -> None:
    kinds: tuple[tuple[str, dict[str, Any]], ...] = ((BUCKET, {}), (CONTAINER, {"name": "c"}))
    for kind, props in kinds:
        made = world.create(kind, **props)
        store.containers.clear()
        assert world.delete(made).short[-1] == "DELETE_COMPLETE"
