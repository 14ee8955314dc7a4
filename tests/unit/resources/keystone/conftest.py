# SPDX-License-Identifier: Apache-2.0
"""``realm``: resources of the identity service against a small one in this process.

``realm.create(type, **properties)`` makes a resource, ``realm.update`` and ``realm.delete`` go on with it;
``realm.sent()`` are the requests that changed something since it was asked last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import rest
from openkeel_heat.common import clock
from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.rest_server import Body, Collection, FakeCloud, Refusal, Request, RestServer
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive, hot, replace

KINDS = ("domain", "project", "user", "group", "role", "region", "service", "endpoint")


class FakeKeystone(RestServer):
    prefix = "/v3"

    def setup(self) -> None:
        self.kinds: dict[str, Collection] = {key: self.collection(f"/{key}s", key) for key in KINDS}
        #: Paths of memberships and grants, as they were put.
        self.links: set[str] = set()
        linked = r"/(?:groups/[^/]+/users/[^/]+|(?:projects|domains)/[^/]+/(?:users|groups)/[^/]+/roles/[^/]+)"
        self.route("PUT", linked, self._link)
        self.route("DELETE", linked, self._unlink)
        self.route("GET", "/role_assignments", lambda request: (200, {"role_assignments": self.assignments}))
        self.route("GET", "/users/[^/]+/groups", lambda request: (200, {"groups": self.groups}))
        self.route("DELETE", "/domains/([^/]+)", self._delete_domain)
        self.assignments: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []

    def error_body(self, refusal: Refusal) -> Body:
        return {"error": {"code": refusal.status, "message": refusal.message, "title": refusal.kind}}

    def _link(self, request: Request) -> tuple[int, Body]:
        self.links.add(request.path)
        return 204, None

    def _unlink(self, request: Request) -> tuple[int, Body]:
        if request.path not in self.links:
            raise Refusal(404, "Could not find it.")
        self.links.discard(request.path)
        return 204, None

    def _delete_domain(self, request: Request, id_: str) -> tuple[int, Body]:
        if self.kinds["domain"].objects.get(id_, {}).get("enabled"):
            raise Refusal(403, "Cannot delete a domain that is enabled, please disable it first.")
        return self.kinds["domain"].delete(request, id_)


class Realm:
    def __init__(self, keystone: FakeKeystone, network: RestServer) -> None:
        self.keystone, self.network = keystone, network
        self.cloud = FakeCloud(identity=keystone, network=network)
        self.cloud.context.auth_url = keystone.url
        self.security_groups = network.collection("/v2.0/security-groups", "security_group")
        self._told = 0

    def make(self, kind: str, /, **props: Any) -> Any:
        stack = self.cloud.stack(hot({"r": {"type": f"OS::Keystone::{kind}", "properties": props}}))
        resource = stack["r"]
        resource.record.created_at = clock.utcnow()
        return resource

    def create(self, kind: str, /, **props: Any) -> Any:
        resource = self.make(kind, **props)
        drive(lifecycle.create(resource), resource)
        assert resource.state == ("CREATE", "COMPLETE")
        return resource

    def update(self, resource: Any, /, **props: Any) -> Driver:
        stack = self.cloud.stack(hot({"r": {"type": resource.type(), "properties": props}}))
        done = drive(lifecycle.update(resource, stack.defn.resource_definition("r")), resource)
        assert resource.state == ("UPDATE", "COMPLETE")
        return done

    def replace(self, resource: Any, /, **props: Any) -> Any:
        return replace(resource, self.cloud.stack(hot({"r": {"type": resource.type(), "properties": props}})))

    def delete(self, resource: Any) -> None:
        drive(lifecycle.delete(resource), resource)
        assert resource.state == ("DELETE", "COMPLETE")

    def sent(self) -> list[tuple[str, Any]]:
        requests = self.keystone.requests[self._told :]
        self._told = len(self.keystone.requests)
        return [(str(one), one.json) for one in requests if one.method != "GET"]


@pytest.fixture
def realm(option: Option, monkeypatch: pytest.MonkeyPatch) -> Iterator[Realm]:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    with FakeKeystone() as keystone, RestServer() as network:
        yield Realm(keystone, network)
