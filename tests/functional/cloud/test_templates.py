# SPDX-License-Identifier: Apache-2.0
"""Public templates lead the same life on ours and on Heat 27.0.1: made, changed, deleted over the same services.

The templates are those of ``tools/testbed/templates`` and of ``hot/`` in the collection openstack/heat-templates, where
that is there (:mod:`tests.fixtures.corpus`). ``templates.yaml`` beside this file says of each what it is given, what
changes in its update, or why it cannot run. A run takes all of the test bed's, and of the collection those that bring a
resource type which none before them has brought; ``OPENKEEL_TEMPLATES=all`` takes every one. ``OPENKEEL_LIVES`` names a
folder in which both lives of each are written down.
"""

from __future__ import annotations

import copy
import fnmatch
import json
import os
import pathlib
import queue
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.fixtures import testbed
from tests.fixtures.api import Api
from tests.fixtures.comparison import differences
from tests.fixtures.corpus import CORPUS
from tests.fixtures.identity import login
from tests.fixtures.lives import Life, Plan
from tests.fixtures.polling import until
from tests.fixtures.processes import ROOT
from tests.fixtures.service import Installation
from tests.fixtures.template_files import files_of, load, parse
from tests.functional.cloud.conftest import Services, Tenant

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]

CASES: dict[str, dict[str, Any]] = load(pathlib.Path(__file__).with_name("templates.yaml"))
FOLDERS = {
    "testbed": ROOT / "tools" / "testbed" / "templates",
    "hot": CORPUS / "heat-templates" / "hot" if CORPUS else None,
}
#: Our floating IPs without a port are described by the name by which a lost answer is found again. Nova tells one of a
#: server as soon as it looks at the network again; of its port, the second address of its network, 27.0.1 says nothing.
EVERYWHERE = [
    "*.floating_ip.attributes.description",
    "create.resources.*.attributes.addresses.*",
    "*.attributes.addresses.*.1.port",
]
#: Stacks of so many templates are led at the same time.
WORKERS = 4
WHOLE = os.environ.get("OPENKEEL_TEMPLATES") == "all"


def path_of(case: str) -> pathlib.Path | None:
    """The file of a case; ``with …`` after it tells cases of one file apart."""
    kind, _, rest = case.partition("/")
    folder = FOLDERS[kind]
    return folder / rest.partition(" with ")[0] if folder else None


def types_of(case: str) -> set[str]:
    path = path_of(case)
    if path is None:
        return set()
    return {resource["type"] for resource in (load(path).get("resources") or {}).values()}


def chosen() -> list[str]:
    """All of the test bed's; of the collection each with a type that none before it has, or every one."""
    taken, others = [], []
    known: set[str] = set()
    for case in CASES:
        if "cannot" not in CASES[case] and path_of(case):
            new = types_of(case) - known
            (taken if new or case.startswith("testbed/") else others).append(case)
            known |= new
    return taken + others if WHOLE else taken


class Place:
    """What templates take for granted in a project: a network which leads outside, an image, a server."""

    def __init__(self, services: Services, project: str) -> None:
        self.services, self.project = services, project
        self.made: list[tuple[str, str]] = []
        self.router = self.network = self.subnet = self.image = self._server = ""

    def settle(self) -> None:
        services = self.services
        network = self.network = self.make("network", "/v2.0/networks", network={"name": "private"})
        subnet = self.make("network", "/v2.0/subnets", subnet={
            "name": "private-subnet", "network_id": network, "cidr": "10.99.0.0/24", "ip_version": 4,
        })  # fmt: skip
        public = services.get("network", "/v2.0/networks?name=public&fields=id")["networks"][0]["id"]
        router = self.make("network", "/v2.0/routers", router={"external_gateway_info": {"network_id": public}})
        self.router, self.subnet = f"/v2.0/routers/{router}", subnet
        services.call("PUT", "network", f"{self.router}/add_router_interface", {"subnet_id": subnet})
        self.image = services.call("POST", "image", "/v2/images", {
            "name": "F18-x86_64-cfntools", "disk_format": "raw", "container_format": "bare",
        })["id"]  # fmt: skip
        self.made.append(("image", f"/v2/images/{self.image}"))
        self._upload()

    def server(self) -> str:
        """One that no stack has made; few templates want it, so it is made when the first does."""
        if not self._server:
            flavors = self.services.get("compute", "/flavors")["flavors"]
            self._server = self.make("compute", "/servers", server={
                "name": "found", "imageRef": self.image, "networks": [{"uuid": self.network}],
                "flavorRef": next(one["id"] for one in flavors if one["name"] == "m1.tiny"),
            })  # fmt: skip
            until(self._active, "the server that is found is active", 300)
        return self._server

    def make(self, service: str, path: str, **body: Any) -> str:
        made = next(iter(self.services.call("POST", service, path, body).values()))["id"]
        self.made.append((service, f"{path}/{made}"))
        return str(made)

    def _upload(self) -> None:
        reply = requests.put(
            f"{self.services.urls['image'].rstrip('/')}/v2/images/{self.image}/file",
            data=b"\0" * 1024,
            headers={"X-Auth-Token": self.token, "Content-Type": "application/octet-stream"},
            timeout=60,
        )
        assert reply.status_code == 204, reply.text

    def _active(self) -> bool:
        status = self.services.get("compute", f"/servers/{self._server}")["server"]["status"]
        assert status != "ERROR"
        return bool(status == "ACTIVE")

    def words(self, case: str) -> dict[str, str]:
        """What the data of a case mean by words that begin with ``$``."""
        words = {"$project": self.project, "$network": self.network}
        if "$server" in json.dumps(CASES[case]):
            words["$server"] = self.server()
        return words

    @property
    def token(self) -> str:
        return self.services.token.id

    def clean(self) -> None:
        self.services.send("PUT", "network", f"{self.router}/remove_router_interface", {"subnet_id": self.subnet})
        for service, path in reversed(self.made):
            self.services.send("DELETE", service, path)
            if service == "compute":
                until(lambda path=path: self.services.send("GET", "compute", path).status_code == 404, "it is gone")  # type: ignore[misc]


class Crew:
    """Workers that lead lives at the same time, each in projects of its own; one does what administrators do.

    Names of what administrators make are the cloud's, so that one leads one life after the other. In the two projects
    of another worker ours and 27.0.1 work at once, apart: 27.0.1 takes floating IPs of other servers for its own. No
    worker has a project of another: a server that names no network gets the only one of its project.
    """

    def __init__(self, tenant: Tenant, ours: str) -> None:
        self.tenant, self.roots = tenant, (ours, testbed.REFERENCE_URL)
        self.lives: dict[str, Future[list[Life]]] = {}
        self.places: list[Place] = []
        #: Where the administrator works.
        self.office: Place
        self._idle: queue.Queue[list[Place]] = queue.Queue()
        self._members = ThreadPoolExecutor(WORKERS)
        self._admin = ThreadPoolExecutor(1)
        self._pairs = ThreadPoolExecutor(2 * WORKERS)

    def assemble(self, workers: int) -> None:
        for services in self._key_owners():
            services.call("POST", "compute", "/os-keypairs", {"keypair": {"name": "key"}})
        projects = [self.tenant.project]
        projects += [self.tenant.another_project(f"templates-{number}") for number in range(2 * workers)]
        for project in projects:
            self.places.append(Place(Services(login(self.tenant.member, project)), project))
        list(self._pairs.map(Place.settle, self.places))
        self.office, *apart = self.places
        for number in range(workers):
            self._idle.put(apart[2 * number : 2 * number + 2])

    def start(self, case: str) -> None:
        if case not in self.lives:
            pool, lead = (self._admin, self._alone) if CASES[case].get("admin") else (self._members, self._apart)
            self.lives[case] = pool.submit(self._written, lead, case)

    def _written(self, lead: Callable[[str], list[Life]], case: str) -> list[Life]:
        """Lives as they were led, also in the folder that a reader names."""
        lives = lead(case)
        if folder := os.environ.get("OPENKEEL_LIVES"):
            told = json.dumps([life.written for life in lives], indent=1, sort_keys=True)
            file = pathlib.Path(folder, case.replace("/", "_") + ".json")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(told)
        return lives

    def _alone(self, case: str) -> list[Life]:
        return [
            Life(self.tenant.api(root, self.tenant.boss), name, plan_of(case, self.office.words(case))).lead()
            for root, name in zip(self.roots_of(case), names(), strict=False)
        ]

    def roots_of(self, case: str) -> tuple[str, ...]:
        """Where a case leads its lives: ours, and 27.0.1 if that can."""
        return self.roots[:1] if "ours_alone" in CASES[case] else self.roots

    def _apart(self, case: str) -> list[Life]:
        pair = self._idle.get()
        try:
            lives = [
                Life(Api(root, place.project, place.token), name, plan_of(case, place.words(case)))
                for root, place, name in zip(self.roots_of(case), pair, names(), strict=False)
            ]
            return [running.result() for running in [self._pairs.submit(life.lead) for life in lives]]
        finally:
            self._idle.put(pair)

    def dismiss(self) -> None:
        for pool in (self._members, self._admin):
            pool.shutdown(cancel_futures=True)
        list(self._pairs.map(Place.clean, self.places))
        self._pairs.shutdown()
        for services in self._key_owners():
            services.send("DELETE", "compute", "/os-keypairs/key")

    def _key_owners(self) -> list[Services]:
        return [Services(self.tenant.token(user)) for user in (self.tenant.member, self.tenant.boss)]


def names() -> list[str]:
    stem = secrets.token_hex(3)  # short, so that names made of it are not cut
    return [f"t-{stem}o", f"t-{stem}t"]


@pytest.fixture(scope="module")
def crew(tenant: Tenant, three_daemons: tuple[Installation, str], request: pytest.FixtureRequest) -> Iterator[Crew]:
    made = Crew(tenant, three_daemons[1])
    asked = [item.callspec.params["case"] for item in request.session.items if getattr(item, "callspec", None)
             and item.nodeid.partition("::")[0] == request.node.nodeid]  # fmt: skip
    try:
        made.assemble(min(WORKERS, len(asked)))
        for case in asked:
            if not CASES[case].get("outside"):
                made.start(case)
        yield made
    finally:
        made.dismiss()


def substituted(value: Any, words: dict[str, str]) -> Any:
    text = json.dumps(value)
    for word, meaning in words.items():
        text = text.replace(f'"{word}"', json.dumps(meaning))
    return json.loads(text)


def connected(template: dict[str, Any]) -> dict[str, Any]:
    """The template with its servers on a network: without one 27.0.1 asks Nova for what that refuses."""
    for resource in template["resources"].values():
        if resource["type"] == "OS::Nova::Server" and "external_id" not in resource:
            resource["properties"].setdefault("networks", [{"network": "private"}])
    return template


def connected_text(text: str) -> str:
    parsed = parse(text)
    if not isinstance(parsed, dict) or "OS::Nova::Server" not in text:
        return text
    return json.dumps(connected(parsed))


def plan_of(case: str, words: dict[str, str]) -> Plan:
    path = path_of(case)
    assert path is not None
    given, template = substituted(CASES[case], words), load(path)
    environment = dict(given.get("environment") or {})
    folder = path.parent
    if "environment_file" in given:
        file = folder / given["environment_file"]
        environment, folder = load(file), file.parent
    files = files_of(environment, folder, files_of(template, path.parent))
    files = {name: connected_text(text) if name.endswith(".yaml") else text for name, text in files.items()}
    template = connected(template)
    template["resources"].update(given.get("resources") or {})
    for name, properties in (given.get("properties") or {}).items():
        template["resources"][name].setdefault("properties", {}).update(properties)
    create = {
        "template": template,
        "parameters": given.get("parameters") or {},
        "environment": environment,
        "files": files,
    }
    changes, update = given.get("update") or {}, copy.deepcopy(create)
    if "template" in changes:
        update["template"] = connected(load(path.parent / changes["template"]))
    update["parameters"] |= changes.get("parameters") or {}
    for name, properties in (changes.get("properties") or {}).items():
        update["template"]["resources"][name].setdefault("properties", {}).update(properties)
    update["template"]["resources"].update(changes.get("resources") or {})
    return Plan(create, update)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", chosen())
def test_template(case: str, crew: Crew, request: pytest.FixtureRequest) -> None:
    given = CASES[case]
    if given.get("outside"):
        request.getfixturevalue("outside")
    crew.start(case)
    ours, *theirs = (life.written for life in crew.lives[case].result())
    for life in theirs:
        if failed_as_known(life, given):
            life["update"] = ours["update"]
        compare(ours, life, [*EVERYWHERE, *given.get("ignore", ())])
    expect(ours, given)


def failed_as_known(life: dict[str, Any], given: dict[str, Any]) -> bool:
    """Whether the update is one that 27.0.1 cannot, as the data say."""
    update = life.get("update", {})
    return (
        "theirs_fails" in given and update.get("state") == "UPDATE_FAILED" and given["theirs_fails"] in update["reason"]
    )


def compare(ours: dict[str, Any], theirs: dict[str, Any], ignore: list[str]) -> None:
    found = [
        line
        for line in differences(ours, theirs)
        if not any(fnmatch.fnmatchcase(line.partition(": ")[0], pattern) for pattern in ignore)
    ]
    assert not found, "ours | theirs differ:\n" + "\n".join(found)


def expect(life: dict[str, Any], given: dict[str, Any]) -> None:
    if "refused" in given:
        assert given["refused"] in life["create"]["message"]
        return
    expected = {"create": "CREATE_COMPLETE", "update": "UPDATE_COMPLETE", "delete": "DELETE_COMPLETE"}
    assert {action: told.get("state", told) for action, told in life.items()} == expected


@pytest.mark.skipif(CORPUS is None, reason="the heat-templates collection is not there")
def test_no_template_is_left_out() -> None:
    for kind, folder in FOLDERS.items():
        assert folder is not None
        there = {f"{kind}/{path.relative_to(folder)}" for path in folder.rglob("*.yaml")}
        assert there == {case.partition(" with ")[0] for case in CASES if case.startswith(kind + "/")}
