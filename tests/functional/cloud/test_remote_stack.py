# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::Stack across services: ours makes stacks on Heat 27.0.1, and 27.0.1 makes stacks on ours.

Each of the two finds the other in the catalogue, in a region that has nothing but an orchestration service. What both
tell of a stack that holds a remote one is compared, and so is what the other says of that one. The services are two of
this test: that of the test bed has a URL in its configuration, which it takes for that of every region.

Stacks of other clouds (``credential_secret_id``) have their credentials in Barbican. Of them only ours makes one: with
the credentials of the secret 27.0.1 does no more than to see that they are good.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fixtures import catalogue, stores, templates, testbed
from tests.fixtures.api import Api, Stack
from tests.fixtures.comparison import Pair, differences, seen
from tests.fixtures.identity import login
from tests.fixtures.polling import until
from tests.fixtures.service import OURS, THEIRS, Installation
from tests.functional.cloud.conftest import Services, Tenant

pytestmark = [
    pytest.mark.cloud,
    pytest.mark.services,
    pytest.mark.keystone,
    pytest.mark.reference,
    pytest.mark.timeout(900),
]

#: A loaded machine takes its time.
LIMIT = 240.0
OPTIONS = {"DEFAULT": {"rpc_response_timeout": 120, "action_retry_limit": 0}}


@dataclasses.dataclass
class Side:
    """A service that makes stacks on another one."""

    api: Api
    other: Api
    region: str
    #: Where the service finds itself.
    own_region: str

    def remote(self, stack: Stack) -> Stack:
        """The stack that a stack holds, as the service that has it tells of it."""
        physical = stack.resource("remote")["physical_resource_id"]
        return at(self.other, physical)


def at(api: Api, stack_id: str) -> Stack:
    """A stack by its id."""
    found = api.send("GET", f"/stacks/{stack_id}", allow_redirects=True).json()["stack"]
    return Stack(api, found["stack_name"], found["id"])


def gone(api: Api, stack_id: str) -> bool:
    reply = api.send("GET", f"/stacks/{stack_id}", allow_redirects=True)
    return reply.status_code == 404 or reply.json()["stack"]["stack_status"] == "DELETE_COMPLETE"


@contextlib.contextmanager
def running(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An engine and an API of a kind; the root of the API."""
    with stores.mariadb_database("remote") as (_, connection), stores.rabbitmq_vhost("remote") as (_, transport):
        installation = Installation(tmp_path_factory.mktemp(f"remote-{kind}"), connection, transport, OPTIONS)
        # A URL of its own would be that of every region.
        lines = installation.conf.read_text().splitlines()
        installation.conf.write_text("\n".join(line for line in lines if not line.endswith("/v1/%(tenant_id)s")))
        try:
            installation.manage(kind, "db_sync")
            root = installation.api(kind)
            installation.engine(kind)
            yield root
        finally:
            installation.stop()


@pytest.fixture(scope="module")
def sides(tenant: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Ours with 27.0.1 for the other one, and 27.0.1 with ours."""
    with contextlib.ExitStack() as stack:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            services = [running(kind, tmp_path_factory) for kind in (OURS, THEIRS)]
            ours_root, theirs_root = pool.map(stack.enter_context, services)
        mark = secrets.token_hex(4)
        ours, theirs = (
            stack.enter_context(catalogue.orchestration(f"{word}-{mark}", root))
            for word, root in (("ours", ours_root), ("theirs", theirs_root))
        )
        # Tokens have the catalogue of the moment.
        our_api, their_api = (tenant.api(root, tenant.member) for root in (ours_root, theirs_root))
        yield Side(our_api, their_api, theirs, ours), Side(their_api, our_api, ours, theirs)


def inner(*, extra: bool = False, fail: bool = False) -> dict[str, Any]:
    """What the remote stack has: one resource after the other, and a third with *extra*."""
    resources = {
        "a": templates.resource({"get_param": "word"}),
        "b": templates.resource(templates.attr("a"), fail=fail),
    }
    if extra:
        resources["c"] = templates.resource("more", depends_on=["b"])
    return templates.hot(resources, {"last": templates.attr("b")}, {"word": {"type": "string", "default": "none"}})


def outer(region: str, remote: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    properties = {"template": json.dumps(remote), "context": {"region_name": region}, "parameters": parameters}
    return templates.hot(
        {"remote": {"type": "OS::Heat::Stack", "properties": properties}},
        {
            "outputs": templates.attr("remote", "outputs"),
            "last": {"get_attr": ["remote", "outputs", "last"]},
            "name": templates.attr("remote", "stack_name"),
            "id": {"get_resource": "remote"},
        },
    )


class Across:
    """The same stack on both sides; its remote one is on the other side of each."""

    def __init__(self, sides: tuple[Side, Side]) -> None:
        self.sides = sides
        self.pairs: list[Pair] = []

    def create(self, remote: dict[str, Any], wait: str | None = "CREATE_COMPLETE", **parameters: Any) -> Pair:
        name = "t-" + secrets.token_hex(5)
        ours, theirs = (
            side.api.create(outer(side.region, remote, **parameters), name, wait=False) for side in self.sides
        )
        pair = Pair(ours, theirs, remote)
        self.pairs.append(pair)
        return pair.wait(wait, limit=LIMIT) if wait else pair

    def update(
        self, pair: Pair, remote: dict[str, Any], wait: str | None = "UPDATE_COMPLETE", **parameters: Any
    ) -> Pair:
        for side, stack in zip(self.sides, pair.stacks, strict=True):
            stack.update(outer(side.region, remote, **parameters), wait=None)
        return pair.wait(wait, limit=LIMIT) if wait else pair

    def remotes(self, pair: Pair) -> list[Stack]:
        return [side.remote(stack) for side, stack in zip(self.sides, pair.stacks, strict=True)]

    def compare(self, pair: Pair) -> None:
        """Both, and what each has made on the other side."""
        # For all else that there is to show of the remote stack 27.0.1 asks itself, and knows of none.
        pair.compare(attributes=False)
        ours, theirs = (seen(stack, "") for stack in self.remotes(pair))
        assert not (found := differences(ours, theirs)), "ours made | theirs made:\n" + "\n".join(found)

    def clean(self) -> None:
        for pair in self.pairs:
            for stack in pair.stacks:
                stack.delete(wait=False)
        for pair in self.pairs:
            for stack in pair.stacks:
                stack.wait_gone(limit=LIMIT)


def lasts(pair: Pair) -> list[Any]:
    return [stack.outputs()["last"] for stack in pair.stacks]


def the_life_of_a_remote_stack(across: Across) -> None:
    pair = across.create(inner(), word="one")
    across.compare(pair)
    first = across.remotes(pair)
    for stack, remote in zip(pair.stacks, first, strict=True):
        outputs = stack.outputs()
        assert (outputs["last"], outputs["id"], outputs["name"]) == ("one", remote.id, remote.name)
        assert remote.name.startswith(f"{stack.name}-remote-") and remote.show()["disable_rollback"] is True

    across.update(pair, inner(), word="two")
    across.update(pair, inner(extra=True), word="two")
    across.compare(pair)
    assert [remote.id for remote in across.remotes(pair)] == [remote.id for remote in first], "in place"
    assert lasts(pair) == ["two", "two"]
    for remote in first:
        assert sorted(remote.resources()) == ["a", "b", "c"]

    for action in ("check", "suspend", "resume"):
        pair.action(action, f"{action.upper()}_COMPLETE")
        assert [remote.status for remote in first] == [f"{action.upper()}_COMPLETE"] * 2
        across.compare(pair)

    pair.delete()
    assert all(gone(side.other, remote.id) for side, remote in zip(across.sides, first, strict=True))


def a_snapshot_of_a_remote_stack(across: Across) -> None:
    pair = across.create(inner(), word="one")
    first = across.remotes(pair)
    made = [stack.api.post(f"{stack.path}/snapshots", {"name": "shot"})["id"] for stack in pair.stacks]
    pair.wait("SNAPSHOT_COMPLETE", limit=LIMIT)
    across.compare(pair)
    for remote in first:
        assert [one["status"] for one in remote.api.get(f"{remote.path}/snapshots")["snapshots"]] == ["COMPLETE"]
    across.update(pair, inner(extra=True), word="two")
    for stack, snapshot in zip(pair.stacks, made, strict=True):
        stack.api.post(f"{stack.path}/snapshots/{snapshot}/restore")
    pair.wait("RESTORE_COMPLETE", limit=LIMIT)
    across.compare(pair)
    assert lasts(pair) == ["one", "one"]
    for remote in first:
        assert sorted(remote.resources()) == ["a", "b"]

    stack, snapshot, remote = pair.ours, made[0], first[0]
    stack.api.delete(f"{stack.path}/snapshots/{snapshot}")
    # That of 27.0.1 stays; after five the other service makes no more of the stack.
    until(lambda: remote.api.get(f"{remote.path}/snapshots")["snapshots"] == [], "the other's snapshot is gone, too")
    pair.delete()


def what_fails_there_fails_here(across: Across) -> None:
    pair = across.create(inner(fail=True), wait="CREATE_FAILED", word="one")
    across.compare(pair)
    first = across.remotes(pair)
    assert [remote.status for remote in first] == ["CREATE_FAILED"] * 2
    across.update(pair, inner(), word="one")
    across.compare(pair)
    assert [remote.id for remote in across.remotes(pair)] == [remote.id for remote in first], "what failed is mended"
    across.update(pair, inner(fail=True), wait="UPDATE_FAILED", word="two")
    across.compare(pair)
    reason = pair.ours.show()["stack_status_reason"]
    assert "Went to status UPDATE_FAILED due to" in reason and "Test Resource failed b" in reason


def remove(stacks: list[Stack]) -> None:
    """27.0.1 takes a check of a stack that it deletes for one of nothing, until the very end: then its name is free."""
    for stack in stacks:
        stack.delete(wait=False)
    for stack in stacks:
        until(lambda stack=stack: unnamed(stack), f"the name {stack.name} is free", LIMIT)  # type: ignore[misc]


def unnamed(stack: Stack) -> bool:
    return stack.api.send("GET", f"/stacks/{stack.name}").status_code == 404


def a_remote_stack_that_somebody_removed(across: Across) -> None:
    pair = across.create(inner(), word="one")
    first = across.remotes(pair)
    remove(first)
    pair.action("check", "CHECK_FAILED")
    pair.compare(attributes=False)
    across.update(pair, inner(), word="one")
    across.compare(pair)
    second = across.remotes(pair)
    assert not {remote.id for remote in first} & {remote.id for remote in second}, "made anew"
    remove(second)
    # Without a check the next update fails; from then on 27.0.1 fails until somebody has the stack checked.
    across.update(pair, inner(), wait="UPDATE_FAILED", word="two")
    pair.ours.update(outer(across.sides[0].region, inner(), word="two"))
    assert pair.ours.outputs()["last"] == "two"
    pair.delete()


def a_stack_moves_to_another_region(across: Across) -> None:
    pair = across.create(inner(), word="one")
    first = across.remotes(pair)
    for side, stack in zip(across.sides, pair.stacks, strict=True):
        stack.update(outer(side.own_region, inner(), word="one"), wait=None)
    pair.wait("UPDATE_COMPLETE", limit=LIMIT).compare(attributes=False)
    for side, stack, remote in zip(across.sides, pair.stacks, first, strict=True):
        here = stack.resource("remote")["physical_resource_id"]
        assert here != remote.id and gone(side.other, remote.id)
        assert at(side.api, here).status == "CREATE_COMPLETE"


#: They mostly wait, and so two are led at a time; with more Python Heat falls behind.
LIVES: tuple[Callable[[Across], None], ...] = (
    the_life_of_a_remote_stack,
    a_snapshot_of_a_remote_stack,
    what_fails_there_fails_here,
    a_remote_stack_that_somebody_removed,
    a_stack_moves_to_another_region,
)


@pytest.fixture(scope="module")
def led(sides: tuple[Side, Side]) -> Iterator[dict[str, concurrent.futures.Future[None]]]:
    def lead(life: Callable[[Across], None]) -> None:
        across = Across(sides)
        try:
            life(across)
        finally:
            across.clean()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {life.__name__: pool.submit(lead, life) for life in LIVES}


@pytest.mark.parametrize("name", [life.__name__ for life in LIVES])
def test_lives(led: dict[str, concurrent.futures.Future[None]], name: str) -> None:
    led[name].result()


def credentials_of(tenant: Tenant, project: str) -> dict[str, Any]:
    """Those of the member in a project, as a secret has them.

    With an application credential a service that works with trusts makes no stack: Keystone lets it make no trust.
    """
    auth = {
        "auth_url": testbed.KEYSTONE,
        "user_id": tenant.member["id"],
        "password": tenant.member["password"],
        "project_id": project,
    }
    return {"auth_type": "v3password", "auth": auth}


@contextlib.contextmanager
def stored(services: Services, payload: str) -> Iterator[str]:
    """A secret of Barbican, by its reference."""
    body = {"name": "credentials", "payload": payload, "payload_content_type": "text/plain"}
    ref = services.call("POST", "key-manager", "/v1/secrets", body)["secret_ref"]
    try:
        yield ref
    finally:
        services.send("DELETE", "key-manager", "/v1/secrets/" + ref.rpartition("/")[2])


def with_secret(ref: str, side: Side, **parameters: Any) -> dict[str, Any]:
    """The stack around the remote one, which has credentials."""
    made = outer(side.region, inner(), **parameters)
    made["resources"]["remote"]["properties"]["context"]["credential_secret_id"] = ref
    return made


def test_a_stack_by_the_credentials_of_a_secret(sides: tuple[Side, Side], tenant: Tenant) -> None:
    """Made, changed and deleted in the project of those, not in that of the request."""
    side = sides[0]
    here = Services(login(tenant.member, tenant.project))
    there = tenant.api(side.other.root, tenant.member, tenant.other_project)
    with stored(here, json.dumps(credentials_of(tenant, tenant.other_project))) as ref:
        stack = side.api.create(with_secret(ref, side, word="one"), wait=False)
        try:
            stack.wait("CREATE_COMPLETE", limit=LIMIT)
            made = at(there, stack.resource("remote")["physical_resource_id"])
            assert (stack.outputs()["last"], made.outputs()["last"]) == ("one", "one")
            assert gone(side.other, made.id), "it is not in the project of the request"
            stack.update(with_secret(ref, side, word="two"), wait=None).wait("UPDATE_COMPLETE", limit=LIMIT)
            assert (stack.outputs()["last"], made.outputs()["last"]) == ("two", "two")
        finally:
            stack.delete(wait=False)
            stack.wait_gone(limit=LIMIT)
        assert gone(there, made.id)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("no JSON", "Failed to parse credential"),
        ('{"auth_type": "password"}', "Missing key in auth information"),
        (
            json.dumps({"auth_type": "v3applicationcredential", "auth": {
                "auth_url": testbed.KEYSTONE, "application_credential_id": "none", "application_credential_secret": "x",
            }}),
            "Failed to validate auth_plugin",
        ),
    ],
    ids=["no JSON", "half", "wrong"],
)  # fmt: skip
def test_bad_credentials(sides: tuple[Side, Side], tenant: Tenant, payload: str, reason: str) -> None:
    told = []
    with stored(Services(login(tenant.member, tenant.project)), payload) as ref:
        for side in sides:
            reply = side.api.send("POST", "/stacks", {"stack_name": "refused", "template": with_secret(ref, side)})
            told.append((reply.status_code, reply.json()["error"]["message"]))
    assert all(status == 400 and message.startswith(BEGINNING) for status, message in told)
    assert reason in told[0][1] and payload not in told[0][1]


NOWHERE = {"region_name": "nowhere"}
SECRET = {"credential_secret_id": "8a3f0a8a-5a37-4a61-9d29-f2f2a4fd1a1c"}
#: How the refusal begins, where its end is that of a client.
BEGINNING = 'Cannot establish connection to Heat endpoint at remote cloud due to "'
BROKEN = json.dumps(templates.hot({"a": {"type": "No::Such::Type"}}))


@pytest.mark.parametrize(
    "properties",
    [{"context": NOWHERE}, {"context": SECRET}, {"template": BROKEN}, {"parameters": {"none": "x"}}],
    ids=["no such region", "no such secret", "a bad template", "no such parameter"],
)
def test_what_is_refused(sides: tuple[Side, Side], properties: dict[str, Any]) -> None:
    told = []
    for side in sides:
        given = {"template": json.dumps(inner()), "context": {"region_name": side.region}, **properties}
        template = templates.hot({"remote": {"type": "OS::Heat::Stack", "properties": given}})
        reply = side.api.send("POST", "/stacks", {"stack_name": "refused", "template": template})
        told.append((reply.status_code, reply.json()["error"]["message"].replace(side.region, "<region>")))
    if properties.get("context") == SECRET:
        assert all(message.startswith(BEGINNING) for _status, message in told)
        told = [(status, BEGINNING) for status, _message in told]
    assert told[0] == told[1] and told[0][0] == 400
