# SPDX-License-Identifier: Apache-2.0
"""Every operation of the native API as every persona: tests/functional/access/native.yaml.

The same table is run against a service whose tokens are faked, and against daemons whose pipeline has
keystonemiddleware and a real Keystone behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fixtures import access, identity
from tests.fixtures.access import Row, Site, Table
from tests.fixtures.access_plugin import Guarded, faked_service

TABLE = Table("native")
ROWS = pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.title.replace(" ", "_"))


def check(site: Site, row: Row) -> None:
    answers = {persona: site.call(TABLE, row, persona) for persona in TABLE.personas}
    wrong = {
        persona: f"{answer.status_code} for {row.statuses[persona]}: {answer.text[:300]}"
        for persona, answer in answers.items()
        if answer.status_code != row.statuses[persona]
    }
    assert not wrong, row.title


@ROWS
def test_faked(faked_site: Site, row: Row) -> None:
    check(faked_site, row)


@pytest.mark.keystone
@pytest.mark.services
@ROWS
def test_keystone(keystone_site: Site, row: Row) -> None:
    check(keystone_site, row)


# --- what an operator can say otherwise


@pytest.fixture(scope="module")
def old_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with the rules from before the personas, and a policy file."""
    folder = tmp_path_factory.mktemp("old")
    rules = {
        "resource_types:OS::Heat::TestResource": "role:tester",
        "build_info:build_info": "!",
        "stacks:global_index": "role:member",
        "cloudformation:ListStacks": "!",
    }
    (folder / "policy.json").write_text(json.dumps(rules))
    service = faked_service(
        folder, {"oslo_policy": {"enforce_new_defaults": False, "policy_file": folder / "policy.json"}}
    )
    try:
        site = access.FakedSite(service.start().url, service.cfn_url)
        site.prepare()
        yield site
    finally:
        service.stop()


@pytest.mark.parametrize(
    "row",
    [row for row in TABLE.rows if not {"/build_info", "/stacks?global_tenant=true"} & {row.path}],
    ids=lambda row: row.title.replace(" ", "_"),
)
def test_deprecated_rules(old_site: Site, row: Row) -> None:
    """Whoever is no stack user may do what a member may; nothing changes for the others."""
    row = row._replace(statuses={**row.statuses, "reader": row.statuses["member"]})
    if row.path == "/services":
        row = row._replace(statuses={**row.statuses, "reader": 403})
    wrong = {}
    for persona in ("reader", "stack_user", "outsider", "nobody"):
        answer = old_site.call(TABLE, row, persona)
        if answer.status_code != row.statuses[persona]:
            wrong[persona] = f"{answer.status_code} for {row.statuses[persona]}: {answer.text[:300]}"
    assert not wrong, row.title


def test_policy_file(old_site: Site) -> None:
    member, outsider = old_site.owner, old_site.api("outsider")
    assert member.send("GET", "/build_info").status_code == 403
    own = old_site.stack("S").id
    assert own in {one["id"] for one in outsider.get("/stacks?global_tenant=true")["stacks"]}
    assert outsider.send("GET", old_site.stack("S").path).status_code == 404
    template = {"heat_template_version": "2018-08-31", "resources": {"r": {"type": "OS::Heat::TestResource"}}}
    for path in ("/stacks", "/stacks/preview"):
        refused = member.send("POST", path, {"stack_name": "typed", "template": template})
        assert refused.status_code == 403
        assert "OS::Heat::TestResource" in refused.json()["error"]["message"]


# --- tokens for something else than a project


@pytest.mark.keystone
@pytest.mark.services
@pytest.mark.parametrize("scope", ["domain", "system", "nothing"])
def test_tokens_for_no_project(guarded: Guarded, keystone_site: Site, scope: str) -> None:
    """Not even an administrator's opens a project, for any operation that has one in its path."""
    realm = guarded.realm
    user = realm.user("wide", {})
    role = realm.roles["admin"]
    realm.admin.call("PUT", f"/domains/default/users/{user['id']}/roles/{role}")
    realm.admin.call("PUT", f"/system/users/{user['id']}/roles/{role}")
    scopes = {"domain": {"domain": {"id": "default"}}, "system": {"system": {"all": True}}, "nothing": {"unscoped": {}}}
    token = identity.login(user, **scopes[scope])
    api = keystone_site.api("admin")
    api.http.headers["X-Auth-Token"] = token.id
    stack = keystone_site.stack("S")
    for method, path in (
        ("GET", "/stacks"),
        ("GET", stack.path),
        ("PATCH", stack.path),
        ("DELETE", stack.path),
        ("POST", stack.path + "/actions"),
        ("GET", "/stacks?global_tenant=1"),
        ("GET", "/services"),
    ):
        reply = api.send(method, path, {"check": None} if method in ("POST", "PATCH") else None)
        assert reply.status_code == 403, (method, path, reply.text)
