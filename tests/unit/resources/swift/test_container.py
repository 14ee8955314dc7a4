# SPDX-License-Identifier: Apache-2.0
"""OS::Swift::Container and AWS::S3::Bucket on an object store in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.resources.kit import lifecycle
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
