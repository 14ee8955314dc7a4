# SPDX-License-Identifier: Apache-2.0
"""Stacks on the real services of the test bed (mark ``cloud``).

``tenant``
    A project with users: ``tenant.member`` as people are, ``tenant.boss`` with the role admin. One per session.
``ours``, ``ours_as_admin``
    The API of our three daemons for those users.
``deploy``
    Makes stacks there and deletes them after the test: ``deploy(template, parameters={…})``; ``deploy.as_admin(…)``.
``both``, ``both_as_admin``
    The same on ours and on Heat 27.0.1: see :mod:`tests.fixtures.comparison`.
``both_apart``
    27.0.1 works in a project of its own: it takes a floating IP for that of each server of the project which has the
    same inner address, also in another network.
``service``
    The services themselves with the credentials of the admin: ``service.get("network", "/v2.0/ports?device_id=…")``.
``faulty``
    Ours in a project of its own, behind a proxy that makes the services fail: see :mod:`tests.fixtures.faulty_proxy`.
    Conflicts and servers in error are tried again once.
``outside``
    Nobody else makes external networks, or takes the only one, as long as the test goes on.
"""

from __future__ import annotations

import fcntl
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.fixtures import identity, stores, testbed
from tests.fixtures.api import Api, Stack
from tests.fixtures.comparison import Both
from tests.fixtures.faulty_proxy import FaultyProxy
from tests.fixtures.identity import Realm, Token, login
from tests.fixtures.service import OURS, Installation

ROLES = ("member", "reader", "heat_stack_owner", "creator", "load-balancer_member")

_NETWORK = ("network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule")
#: Enough for every test at once.
QUOTAS = {
    "compute": ("/os-quota-sets/{project}", {"quota_set": {"cores": 500, "instances": 300, "ram": -1}}),
    "network": ("/v2.0/quotas/{project}", {"quota": dict.fromkeys(_NETWORK, -1)}),
    "volumev3": ("/os-quota-sets/{project}", {"quota_set": {"volumes": 300, "gigabytes": 2000, "snapshots": 100}}),
}


class Services:
    """The APIs of the catalogue with one token."""

    def __init__(self, token: Token) -> None:
        self.token = token
        self.urls = {
            entry["type"]: next(one["url"] for one in entry["endpoints"] if one["interface"] == "public")
            for entry in token.body["catalog"]
            if entry["endpoints"]
        }

    def send(self, method: str, service: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        return requests.request(
            method,
            self.urls[service].rstrip("/") + path,
            json=body,
            headers={"X-Auth-Token": self.token.id, **headers},
            timeout=60,
        )

    def call(self, method: str, service: str, path: str, body: Any = None, **headers: str) -> Any:
        reply = self.send(method, service, path, body, **headers)
        assert reply.status_code < 400, f"{method} {reply.url}: {reply.status_code} {reply.text[:500]}"
        return reply.json() if reply.content else None

    def get(self, service: str, path: str, **headers: str) -> Any:
        return self.call("GET", service, path, **headers)


class Tenant:
    """A project of the test bed for this run, its users and its quotas."""

    def __init__(self) -> None:
        self.realm = Realm()
        self.project = self.realm.project("cloud")
        self.other_project = self.realm.project("cloud-other")
        self.member = self.realm.user("member", {self.project: ROLES, self.other_project: ROLES})
        self.boss = self.realm.user("boss", {self.project: (*ROLES, "admin")})
        for project in (self.project, self.other_project):
            self._give_quotas(project)

    def another_project(self, name: str) -> str:
        """One more project for the member."""
        project = self.realm.project(name)
        for role in ROLES:
            self.realm.grant(self.member["id"], project, role)
        self._give_quotas(project)
        return project

    @staticmethod
    def _give_quotas(project: str) -> None:
        services = Services(identity.administrator().token)
        for service, (path, body) in QUOTAS.items():
            if service in services.urls:
                services.call("PUT", service, path.format(project=project), body)

    def token(self, user: dict[str, Any]) -> Token:
        return login(user, self.project)

    def api(self, root: str, user: dict[str, Any], project: str | None = None) -> Api:
        project = project or self.project
        return Api(root, project, login(user, project).id)


@pytest.fixture(scope="session")
def tenant() -> Iterator[Tenant]:
    made = Tenant()
    yield made
    made.realm.close()


@pytest.fixture(scope="session")
def daemons(three_daemons: tuple[Installation, str]) -> Installation:
    return three_daemons[0]


@pytest.fixture(scope="session")
def ours(three_daemons: tuple[Installation, str], tenant: Tenant) -> Api:
    return tenant.api(three_daemons[1], tenant.member)


@pytest.fixture(scope="session")
def ours_as_admin(three_daemons: tuple[Installation, str], tenant: Tenant) -> Api:
    return tenant.api(three_daemons[1], tenant.boss)


@pytest.fixture(scope="session")
def service(tenant: Tenant) -> Services:
    return Services(tenant.token(tenant.boss))


class Deploy:
    """Makes stacks and remembers them."""

    def __init__(self, member: Api, admin: Api) -> None:
        self.member, self.admin = member, admin
        self.made: list[Stack] = []

    def __call__(
        self, template: Any, name: str | None = None, wait: str | None = "CREATE_COMPLETE", **body: Any
    ) -> Stack:
        return self._make(self.member, template, name, wait, body)

    def as_admin(
        self, template: Any, name: str | None = None, wait: str | None = "CREATE_COMPLETE", **body: Any
    ) -> Stack:
        return self._make(self.admin, template, name, wait, body)

    def _make(self, api: Api, template: Any, name: str | None, wait: str | None, body: dict[str, Any]) -> Stack:
        stack = api.create(template, name, wait=False, **body)
        self.made.append(stack)
        if wait:
            stack.wait(wait, limit=240)
        return stack

    def clean(self) -> None:
        for stack in reversed(self.made):
            stack.delete(wait=False)
        for stack in self.made:
            stack.wait_gone(limit=240)


@pytest.fixture
def deploy(ours: Api, ours_as_admin: Api) -> Iterator[Deploy]:
    made = Deploy(ours, ours_as_admin)
    yield made
    made.clean()


def _both(root: str, tenant: Tenant, user: dict[str, Any]) -> Iterator[Both]:
    made = Both(tenant.api(root, user), tenant.api(testbed.REFERENCE_URL, user))
    yield made
    made.clean()


@pytest.fixture
def both(three_daemons: tuple[Installation, str], tenant: Tenant) -> Iterator[Both]:
    yield from _both(three_daemons[1], tenant, tenant.member)


@pytest.fixture
def both_as_admin(three_daemons: tuple[Installation, str], tenant: Tenant) -> Iterator[Both]:
    yield from _both(three_daemons[1], tenant, tenant.boss)


@pytest.fixture
def both_apart(three_daemons: tuple[Installation, str], tenant: Tenant) -> Iterator[Both]:
    made = Both(
        tenant.api(three_daemons[1], tenant.member),
        tenant.api(testbed.REFERENCE_URL, tenant.member, tenant.other_project),
    )
    yield made
    made.clean()


@pytest.fixture
def outside(service: Services) -> Iterator[None]:
    """What leads outside is this test's alone: EC2 types take the one external network of the cloud, whoever made it.

    Tests with such types, and tests that make external networks, may run at the same time.
    """
    with open(pathlib.Path(tempfile.gettempdir()) / "openkeel-test-outside", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = service.get("network", "/v2.0/networks?router:external=True&fields=name")["networks"]
        assert [network["name"] for network in found] == ["public"], "external networks of others are left over"
        yield


#: Services that can fail, by their types in the catalogue.
FAULTY = ("identity", "compute", "network", "volumev3")
#: Where a service lists what a project has: service, path, envelope.
LISTS = (
    ("compute", "/servers/detail?all_tenants=1&project_id={project}", "servers"),
    ("volumev3", "/volumes/detail?all_tenants=1&project_id={project}", "volumes"),
    ("network", "/v2.0/ports?project_id={project}", "ports"),
    ("network", "/v2.0/floatingips?project_id={project}", "floatingips"),
    ("network", "/v2.0/routers?project_id={project}", "routers"),
    ("network", "/v2.0/networks?project_id={project}", "networks"),
    ("identity", "/projects", "projects"),
)


class Faulty:
    """A project that is worked on through a proxy: who works there, and what is there."""

    def __init__(self, tenant: Tenant, proxy: FaultyProxy, installation: Installation, services: Services) -> None:
        self.tenant, self.proxy, self.installation, self.services = tenant, proxy, installation, services
        self.project = services.token.project_id
        self.root = ""

    def api(self) -> Api:
        """As an administrator, with a fresh token."""
        return self.tenant.api(self.root, self.tenant.boss, self.project)

    def objects(self, part: str = "") -> list[tuple[str, str]]:
        """Kind and name of what the services have of the project with *part* in its name (or description)."""
        found = []
        for service, path, kind in LISTS:
            for one in self.services.get(service, path.format(project=self.project))[kind]:
                name = (one.get("description") if kind == "floatingips" else one["name"]) or ""
                # Nova lists a server for a moment after it has deleted it.
                if part in name and one.get("status") != "DELETED":
                    found.append((kind, name))
        return sorted(found)


@pytest.fixture(scope="session")
def _faulty(tenant: Tenant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    project = tenant.another_project("faulty")
    for role in (*ROLES, "admin"):
        tenant.realm.grant(tenant.boss["id"], project, role)
    services = Services(login(tenant.boss, project))
    upstreams = {service: urlsplit(services.urls[service]).netloc for service in FAULTY}
    with (
        FaultyProxy(upstreams) as proxy,
        stores.mariadb_database("faulty") as (_, connection),
        stores.rabbitmq_vhost("faulty") as (_, transport),
    ):
        sections = testbed.product_options_behind(proxy.addresses)
        sections.setdefault("DEFAULT", {}).update(action_retry_limit="1", rpc_response_timeout="300")
        installation = Installation(tmp_path_factory.mktemp("faulty"), connection, transport, sections)
        made = Faulty(tenant, proxy, installation, services)
        try:
            installation.manage(OURS, "db_sync")
            installation.engine(OURS)
            made.root = installation.api(OURS)
            yield made
        finally:
            installation.stop()


@pytest.fixture
def faulty(_faulty: Faulty) -> Iterator[Faulty]:
    yield _faulty
    _faulty.proxy.mend()
