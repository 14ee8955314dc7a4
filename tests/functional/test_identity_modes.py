# SPDX-License-Identifier: Apache-2.0
"""Other ways of keeping credentials than the default one: passwords, reauthentication by trusts with redelegation."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures import identity, stores
from tests.fixtures.access_plugin import OPTIONS
from tests.fixtures.api import Api, Stack
from tests.fixtures.checks import Database
from tests.fixtures.identity import Keystone
from tests.fixtures.polling import until
from tests.fixtures.processes import free_port
from tests.fixtures.service import OURS, Installation, merge

pytestmark = [pytest.mark.keystone, pytest.mark.services]


class Site:
    """An installation of its own, with a project and a user."""

    def __init__(self, installation: Installation, root: str, realm: identity.Realm) -> None:
        self.root, self.realm = root, realm
        self.project = realm.project("modes")
        self.user = realm.user("dora", {self.project: ["member"]})
        self.database = Database(installation.connection)

    def api(self, **headers: str) -> Api:
        api = Api(self.root, self.project, identity.login(self.user, self.project).id)
        api.http.headers.update(headers)
        return api

    def no_trusts(self) -> None:
        """Soon: they go when the stack is gone and nobody waits for them."""
        keystone = Keystone(identity.login(self.user, self.project))
        until(lambda: keystone.trusts(self.user["id"]) == [], "the trusts are gone", 30)

    def trusts(self) -> list[dict[str, Any]]:
        keystone = Keystone(identity.login(self.user, self.project))
        ids = [one["id"] for one in keystone.trusts(self.user["id"])]
        return [keystone.call("GET", f"/OS-TRUST/trusts/{one}")["trust"] for one in ids]


def made(folder: pathlib.Path, options: dict[str, dict[str, Any]]) -> Iterator[Site]:
    port = free_port()
    own = {
        "clients_heat": {"url": f"http://127.0.0.1:{port}/v1/%(tenant_id)s"},
        "heat_api": {"bind_host": "127.0.0.1", "bind_port": port, "workers": 0},
    }
    with stores.mariadb_database("acc") as (_, connection), stores.rabbitmq_vhost("acc") as (_, transport):
        installation = Installation(folder, connection, transport, merge(OPTIONS, own, options))
        realm = identity.Realm()
        try:
            installation.manage(OURS, "db_sync")
            installation.engine(OURS)
            argv, env = installation._command(OURS, "api", "heat-api")
            installation._start("api", [*argv, "--config-file", installation.conf], env).wait_for_port(port)
            yield Site(installation, f"http://127.0.0.1:{port}", realm)
        finally:
            installation.stop()
            realm.close()


@pytest.fixture(scope="module")
def by_password(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from made(tmp_path_factory.mktemp("password"), {"DEFAULT": {"deferred_auth_method": "password"}})


@pytest.fixture(scope="module")
def by_trust(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from made(
        tmp_path_factory.mktemp("trust"),
        {
            "DEFAULT": {
                "reauthentication_auth_method": "trusts",
                "allow_trusts_redelegation": True,
                "trusts_delegated_roles": "member",
            }
        },
    )


def hot(resources: dict[str, Any]) -> dict[str, Any]:
    return {"heat_template_version": "2018-08-31", "resources": resources}


def asks(when: pathlib.Path | str) -> dict[str, Any]:
    return {"type": "Test::Keystone::Asks", "properties": {"when": str(when)}}


HANDLE = {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}}


def signalled_as(site: Site, stack: Stack, name: str) -> None:
    site.api().post(f"{stack.path}/resources/{name}/signal", {})
    until(
        lambda: any(f"as {site.user['id']}" in event["resource_status_reason"] for event in stack.events()),
        "the signal was handled as the owner",
        30,
    )


def test_password(by_password: Site, tmp_path: pathlib.Path) -> None:
    """The password that comes beside the token is kept, and works when the token does no more."""
    document = hot({"asks": asks("/"), "handle": HANDLE})
    refused = by_password.api().send("POST", "/stacks", {"stack_name": "without", "template": document})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "Missing required credential: X-Auth-Key"
    plain = by_password.api().create(hot({"asks": asks("/")}))
    plain.delete()
    name = by_password.realm.admin.call("GET", f"/users/{by_password.user['id']}")["user"]["name"]
    headers = {"X-Auth-User": name, "X-Auth-Key": by_password.user["password"]}
    token = identity.login(by_password.user, by_password.project)
    api = Api(by_password.root, by_password.project, token.id)
    api.http.headers.update(headers)
    when = tmp_path / "go"
    stack = api.create(hot({"asks": asks(when), "handle": HANDLE}), wait=False)
    stack.wait_resource("asks", "IN_PROGRESS")
    Keystone(token).call("DELETE", "/auth/tokens", headers={"X-Subject-Token": token.id})
    when.touch()
    again = by_password.api().stack(stack.name, stack.id)
    again.wait("CREATE_COMPLETE")
    assert by_password.trusts() == []
    statement = "SELECT c.* FROM user_creds c JOIN stack s ON s.user_creds_id = c.id WHERE s.id = :id"
    [row] = by_password.database.rows(statement, id=stack.id)
    assert (row["username"], row["trust_id"], row["tenant_id"]) == (name, None, by_password.project)
    assert row["password"] and by_password.user["password"] not in row["password"]
    signalled_as(by_password, again, "asks")
    again.delete()
    count = "SELECT COUNT(*) FROM user_creds WHERE id = :id"
    until(lambda: by_password.database.value(count, id=row["id"]) == 0, "the credentials are gone, soon after", 30)


def test_reauthentication(by_trust: Site, tmp_path: pathlib.Path) -> None:
    """The stack acts by its trust from the start; the trust has the roles of the configuration."""
    token = identity.login(by_trust.user, by_trust.project)
    api = Api(by_trust.root, by_trust.project, token.id)
    when = tmp_path / "go"
    inner = hot({"inner": asks("/")})
    stack = api.create(
        hot({"asks": asks(when), "nested": {"type": "inner.yaml", "depends_on": "asks"}}),
        files={"inner.yaml": json.dumps(inner)},
        wait=False,
    )
    stack.wait_resource("asks", "IN_PROGRESS")
    Keystone(token).call("DELETE", "/auth/tokens", headers={"X-Subject-Token": token.id})
    when.touch()
    again = by_trust.api().stack(stack.name, stack.id)
    again.wait("CREATE_COMPLETE")
    [trust] = by_trust.trusts()
    assert [role["name"] for role in trust["roles"]][0] == "member"
    assert trust["redelegation_count"] > 0
    again.update(hot({"asks": asks(tmp_path / ".")}))
    signalled_as(by_trust, again, "asks")
    again.delete()
    by_trust.no_trusts()


def test_redelegation(by_trust: Site) -> None:
    """A stack that a stack makes through the API comes with a token of a trust, and gets a trust made of that."""
    remote = {"type": "OS::Heat::Stack", "properties": {"template": json.dumps(hot({"asks": asks("/")}))}}
    api = by_trust.api()
    stack = api.create(hot({"remote": remote}))
    other = stack.resource("remote")["physical_resource_id"]
    trusts = by_trust.trusts()
    assert len(trusts) == 2
    assert len([one for one in trusts if one.get("redelegated_trust_id")]) == 1
    found = api.send("GET", f"/stacks/{other}").headers["Location"].split("/")
    signalled_as(by_trust, api.stack(found[-2], other), "asks")
    stack.delete()
    by_trust.no_trusts()
