# SPDX-License-Identifier: Apache-2.0
"""Trusts, projects, users and keys over the life of stacks, with daemons of ours and the Keystone of the test bed."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.fixtures import identity
from tests.fixtures.access_plugin import Guarded
from tests.fixtures.api import Api, Stack
from tests.fixtures.checks import Database
from tests.fixtures.identity import Keystone
from tests.fixtures.polling import until

pytestmark = [pytest.mark.keystone, pytest.mark.services]


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2018-08-31", "resources": resources, **more}


def handle(transport: str) -> dict[str, Any]:
    return {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": transport}}


def asks(when: pathlib.Path | str) -> dict[str, Any]:
    return {"type": "Test::Keystone::Asks", "properties": {"when": str(when)}}


MEMBER = hot({"inner": asks("/"), "handle": handle("CFN_SIGNAL")})
NESTED = hot({"outer": asks("/"), "nested": {"type": "member.yaml"}})
FILES = {"member.yaml": json.dumps(MEMBER)}


class People(NamedTuple):
    """Two members of a project, and who cleans up after them."""

    guarded: Guarded
    project: str
    alice: dict[str, Any]
    bob: dict[str, Any]

    @property
    def admin(self) -> Keystone:
        return self.guarded.realm.admin

    def api(self, user: dict[str, Any]) -> Api:
        return Api(self.guarded.root, self.project, identity.login(user, self.project).id)

    def trusts(self, user: dict[str, Any]) -> list[dict[str, Any]]:
        return Keystone(identity.login(user, self.project)).trusts(user["id"])

    def no_trusts(self, user: dict[str, Any]) -> None:
        """Soon: a stack's trust goes when the stack is gone and nobody waits for it."""
        until(lambda: self.trusts(user) == [], "the trusts of the user are gone", 30)

    def creds(self, stack: Stack) -> dict[str, Any]:
        """The row that a stack points to."""
        statement = "SELECT c.* FROM user_creds c JOIN stack s ON s.user_creds_id = c.id WHERE s.id = :id"
        return self.database.rows(statement, id=stack.id)[0]

    @property
    def database(self) -> Database:
        return Database(self.guarded.installation.connection)


@pytest.fixture(scope="module")
def people(guarded: Guarded) -> Iterator[People]:
    realm = guarded.realm
    project = realm.project("people")
    alice, bob = (realm.user(name, {project: ["member"]}) for name in ("alice", "bob"))
    found = People(guarded, project, alice, bob)
    yield found
    api = found.api(found.bob)
    for one in api.get("/stacks")["stacks"]:
        api.stack(one["stack_name"], one["id"]).delete()


def test_from_creation_to_deletion(people: People) -> None:
    """A trust, a project in the stacks' domain, a user and keys per resource: made, and all gone with the stack."""
    api = people.api(people.alice)
    stack = api.create(
        hot({"signed": handle("CFN_SIGNAL"), "native": handle("HEAT_SIGNAL"), "nested": {"type": "member.yaml"}}),
        files=FILES,
    )
    [trust] = people.trusts(people.alice)
    assert (trust["project_id"], trust["impersonation"]) == (people.project, True)
    trustee = people.admin.call("GET", f"/users/{trust['trustee_user_id']}")["user"]["name"]
    assert trustee == "heat"
    row = people.creds(stack)
    assert (row["tenant_id"], row["trustor_user_id"]) == (people.project, people.alice["id"])
    assert row["password"] is None and trust["id"] not in row["trust_id"]
    inner = people.database.rows("SELECT user_creds_id FROM stack WHERE owner_id = :id", id=stack.id)
    assert [one["user_creds_id"] for one in inner] == [row["id"]]

    domain_project = people.database.value("SELECT stack_user_project_id FROM stack WHERE id = :id", id=stack.id)
    project = people.admin.call("GET", f"/projects/{domain_project}")["project"]
    assert project["domain_id"] != "default" and project["name"].startswith(people.project)
    users = people.admin.call("GET", f"/users?domain_id={project['domain_id']}")["users"]
    mine = [user["id"] for user in users if user.get("default_project_id") == domain_project]
    assert len(mine) == 3
    keys = [key for user in mine for key in people.admin.call("GET", f"/credentials?user_id={user}")["credentials"]]
    # keys are made when somebody asks for a signed address: nobody has
    until_signed = api.get(f"{stack.path}/resources/signed?with_attr=signal")["resource"]["attributes"]
    assert "waitcondition" in str(until_signed)
    keys = [key for user in mine for key in people.admin.call("GET", f"/credentials?user_id={user}")["credentials"]]
    assert {key["type"] for key in keys} == {"ec2"}

    stack.delete()
    people.no_trusts(people.alice)
    count = "SELECT COUNT(*) FROM user_creds WHERE id = :id"
    until(lambda: people.database.value(count, id=row["id"]) == 0, "the row is gone, which is the last")
    assert not people.admin.exists(f"/projects/{domain_project}")
    assert not any(people.admin.exists(f"/users/{user}") for user in mine)
    assert not any(people.admin.exists(f"/credentials/{key['id']}") for key in keys)


def test_another_user_updates(people: People) -> None:
    """The trust becomes the other user's; nested stacks act by it too."""
    stack = people.api(people.alice).create(NESTED, files=FILES)
    nested = stack.resource("nested")["physical_resource_id"]
    before = people.creds(stack)
    bob = people.api(people.bob)
    again = bob.stack(stack.name, stack.id)
    again.update(NESTED, files=FILES)
    people.no_trusts(people.alice)
    assert len(people.trusts(people.bob)) == 1
    row = people.creds(stack)
    assert row["id"] != before["id"] and row["trustor_user_id"] == people.bob["id"]
    assert people.database.value("SELECT COUNT(*) FROM user_creds WHERE id = :id", id=before["id"]) == 0

    def signalled(one: Stack, name: str) -> bool:
        return any(
            f"as {people.bob['id']}" in event["resource_status_reason"]
            for event in one.events()
            if event["resource_name"] == name
        )

    inner = bob.stack(bob.send("GET", f"/stacks/{nested}").headers["Location"].split("/")[-2], nested)
    for one, name in ((again, "outer"), (inner, "inner")):
        bob.post(f"{one.path}/resources/{name}/signal", {})
        until(lambda one=one, name=name: signalled(one, name), f"{name} was signalled as bob", 30)  # type: ignore[misc]
    again.delete()
    people.no_trusts(people.bob)


def test_an_administrator_of_another_project_updates(people: People) -> None:
    """A trust for another project could not act for the stack: its own stays."""
    stack = people.api(people.alice).create(hot({"one": asks("/")}))
    before = people.creds(stack)
    Api(people.guarded.root, people.project, people.admin.token.id).stack(stack.name, stack.id).update(
        hot({"one": asks("/"), "two": {"type": "OS::Heat::RandomString"}})
    )
    assert people.creds(stack) == before
    assert len(people.trusts(people.alice)) == 1
    stack.delete()
    people.no_trusts(people.alice)


@pytest.mark.parametrize("what", ["update", "delete"])
def test_a_vanished_trust(people: People, what: str) -> None:
    stack = people.api(people.alice).create(hot({"one": asks("/"), "two": handle("HEAT_SIGNAL")}))
    [trust] = people.trusts(people.alice)
    Keystone(identity.login(people.alice, people.project)).call("DELETE", f"/OS-TRUST/trusts/{trust['id']}")
    if what == "update":
        stack.update(hot({"one": asks("/tmp")}))
        [renewed] = people.trusts(people.alice)
        assert renewed["id"] != trust["id"]
    stack.delete()
    people.no_trusts(people.alice)


def test_an_owner_who_left_the_project(people: People) -> None:
    """The trust is of no use any more: another member can update the stack, and delete it."""
    realm = people.guarded.realm
    carol = realm.user("carol", {people.project: ["member"]})
    stack = people.api(carol).create(hot({"one": asks("/"), "two": handle("CFN_SIGNAL")}))
    other = people.api(carol).create(hot({"one": asks("/"), "two": handle("CFN_SIGNAL")}))
    realm.grant(carol["id"], people.project, "member", "DELETE")
    bob = people.api(people.bob)
    bob.stack(stack.name, stack.id).update(hot({"one": asks("/tmp")})).delete()
    bob.stack(other.name, other.id).delete()
    people.no_trusts(people.bob)


@pytest.mark.parametrize("how", ["create", "update", "nested"])
def test_a_token_that_ends_while_work_goes_on(people: People, how: str, tmp_path: pathlib.Path) -> None:
    """A resource that asks Keystone after the token was revoked does so by the trust, as the same user."""
    token = identity.login(people.alice, people.project)
    api = Api(people.guarded.root, people.project, token.id)
    when = tmp_path / "go"
    late = hot(
        {
            "slow": asks(when),
            "after": {**asks("/"), "depends_on": "slow"},
            "handle": {**handle("CFN_SIGNAL"), "depends_on": "slow"},
        }
    )
    files = {"late.yaml": json.dumps(late)}
    if how == "update":
        stack = api.create(hot({"slow": asks("/")}))
        stack.update(late, wait=None)
    elif how == "nested":
        stack = api.create(hot({"nested": {"type": "late.yaml"}}), files=files, wait=False)
    else:
        stack = api.create(late, wait=False)

    def waits() -> bool:
        found = stack.resources(depth=2) if how == "nested" else stack.resources()
        return any(
            name.endswith("slow") and one["resource_status"].endswith("IN_PROGRESS") for name, one in found.items()
        )

    until(waits, "the resource waits", 60)
    Keystone(token).call("DELETE", "/auth/tokens", headers={"X-Subject-Token": token.id})
    when.touch()
    again = people.api(people.alice).stack(stack.name, stack.id)
    again.wait("UPDATE_COMPLETE" if how == "update" else "CREATE_COMPLETE")
    if how != "nested":
        assert again.resource("after")["physical_resource_id"] == people.alice["id"]
    again.delete()
    people.no_trusts(people.alice)


def test_credentials_that_may_not_make_a_trust(people: People) -> None:
    """An application credential can do much, but no trust: what needs one is refused, with the reason."""
    token = identity.login(people.alice, people.project)
    body = {"application_credential": {"name": "app", "secret": "app-secret"}}
    made = Keystone(token).call("POST", f"/users/{people.alice['id']}/application_credentials", body)
    app = {
        "identity": {
            "methods": ["application_credential"],
            "application_credential": {"id": made["application_credential"]["id"], "secret": "app-secret"},
        }
    }
    import requests

    from tests.fixtures import testbed

    reply = requests.post(testbed.KEYSTONE + "/auth/tokens", json={"auth": app}, timeout=30)
    api = Api(people.guarded.root, people.project, identity.Token(reply).id)
    scaling = {
        "type": "OS::Heat::AutoScalingGroup",
        "properties": {"min_size": 0, "max_size": 1, "resource": {"type": "OS::Heat::RandomString"}},
    }
    refused = api.send("POST", "/stacks", {"stack_name": "never", "template": hot({"group": scaling})})
    assert refused.status_code == 403
    assert "a trust, which is needed by group" in refused.json()["error"]["message"]
    assert people.api(people.alice).send("GET", "/stacks/never").status_code == 404
    stack = api.create(hot({"one": asks("/")}))
    row = people.creds(stack)
    assert (row["trust_id"], row["password"]) == (None, None)
    stack.delete()
