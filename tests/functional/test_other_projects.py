# SPDX-License-Identifier: Apache-2.0
"""Ids of other projects wherever a request can carry one: path, query, body, ARN."""

from __future__ import annotations

import re
import secrets
import uuid
from typing import Any

import pytest

from openkeel_heat.api.native import routes
from tests.fixtures.access import SERVER, SMALL, Site

CONFIG = {"name": "c", "group": "script", "config": "true"}


def paths() -> list[tuple[str, str]]:
    """Every operation, with something in the place of its variables."""
    found = []
    for row in routes.table():
        if isinstance(row, routes.Route):
            path = row.path.removeprefix("/{tenant_id}").replace("{stack_name:arn\\x3A.*}", "arn:x")
            path = re.sub(r"\{path:(\w+)[^}]*\}", r"\1", path)
            found += [(method, re.sub(r"\{\w+\}", "x", path)) for method in row.methods.split(",")]
    return found


@pytest.mark.parametrize("persona", ["admin", "member", "reader", "stack_user", "outsider"])
def test_project_of_the_path(faked_site: Site, persona: str) -> None:
    """No project but one's own may be in the path, for any operation; administrators may name any."""
    api = faked_site.api(persona)
    api.project = "somebody-elses"
    answers = {
        f"{method} {path}": api.send(method, path, {"suspend": None} if method != "GET" else None).status_code
        for method, path in paths()
    }
    assert len(answers) == 61
    if persona == "admin":
        assert set(answers.values()) <= {200, 302, 400, 404}
    else:
        assert set(answers.values()) == {403}


def test_queries_show_the_own_project_only(faked_site: Site) -> None:
    owner, outsider = faked_site.owner, faked_site.api("outsider")
    stack = faked_site.stack("S")
    config, deployment = faked_site.config(), faked_site.deployment()
    for query in (
        "",
        "?tenant=owner",
        f"?id={stack.id}",
        f"?name={stack.name}",
        f"?stack_name={stack.name}",
        "?show_nested=true",
        "?show_deleted=true",
        "?global_tenant=false",
        f"?marker={stack.id}",
        "?tenant=owner&tenant=elsewhere",
        "?username=member",
        "?with_count=true&tenant=owner",
    ):
        for path in ("/stacks", "/stacks/detail"):
            answer = outsider.get(path + query)
            assert not [one for one in answer["stacks"] if one["id"] == stack.id], query
            assert not any(link["href"].find("/owner/") >= 0 for one in answer["stacks"] for link in one["links"])
    assert [one["id"] for one in owner.get(f"/stacks?id={stack.id}")["stacks"]] == [stack.id]
    configs = outsider.get(f"/software_configs?marker={config}&limit=1000")["software_configs"]
    assert config not in {one["id"] for one in configs}
    for query in ("", f"?server_id={SERVER}"):
        found = outsider.get("/software_deployments" + query)["software_deployments"]
        assert deployment not in {one["id"] for one in found}
    deployed = owner.get(f"/software_deployments/{deployment}")["software_deployment"]["config_id"]
    assert deployed in {one["id"] for one in owner.get(f"/software_deployments/metadata/{SERVER}")["metadata"]}
    shown = outsider.get(f"/software_deployments/metadata/{SERVER}")["metadata"]  # its own, if it has any there
    assert deployed not in {one["id"] for one in shown}


@pytest.mark.parametrize(
    "key",
    [
        "owner_id",
        "tenant",
        "tenant_id",
        "project_id",
        "user_creds_id",
        "username",
        "stack_user_project_id",
        "parent_resource_name",
        "nested_depth",
        "template_id",
        "id",
    ],
)
def test_arguments_of_the_engine_are_no_keys_of_a_body(faked_site: Site, key: str) -> None:
    """What one service tells another about a new stack cannot be told by a user."""
    victim = faked_site.stack("S")
    value: Any = {"owner_id": victim.id, "user_creds_id": 1, "nested_depth": 1, "template_id": 1}.get(key, "owner")
    name = "acc-" + secrets.token_hex(4)
    outsider = faked_site.api("outsider")
    body = {"stack_name": name, "template": SMALL, key: value}
    reply = outsider.send("POST", "/stacks", body)
    if reply.status_code == 201:
        made = outsider.stack(name, reply.json()["stack"]["id"])
        made.wait("CREATE_COMPLETE")
        shown = made.show()
        assert (shown["parent"], shown["stack_owner"]) == (None, "outsider")
        assert shown["id"] != value and "/elsewhere/" in shown["links"][0]["href"]
        assert name in {one["stack_name"] for one in outsider.get("/stacks")["stacks"]}
        made.delete()
    else:
        assert reply.status_code == 400


def test_bodies_name_things_of_the_own_project(faked_site: Site) -> None:
    owner, outsider = faked_site.owner, faked_site.api("outsider")
    theirs = faked_site.config()
    mine = outsider.post("/software_configs", CONFIG)["software_config"]["id"]
    server = str(uuid.uuid4())  # its own: what is made here stays, and others look at SERVER
    deployment = {"server_id": server, "action": "CREATE", "status": "COMPLETE"}
    assert outsider.send("POST", "/software_deployments", {**deployment, "config_id": theirs}).status_code == 404
    made = outsider.post("/software_deployments", {**deployment, "config_id": mine})["software_deployment"]["id"]
    assert outsider.send("PUT", f"/software_deployments/{made}", {"config_id": theirs}).status_code == 404
    assert outsider.get(f"/software_deployments/{made}")["software_deployment"]["config_id"] == mine
    before = owner.get(f"/software_deployments/metadata/{server}")["metadata"]
    # a deployment shows up in the project of the stack's users: not in anybody's but one's own
    for project in ("owner", faked_site.personas["stack_user"].project):
        reply = outsider.send(
            "POST", "/software_deployments", {**deployment, "config_id": mine, "stack_user_project_id": project}
        )
        assert reply.status_code == 403
    assert owner.get(f"/software_deployments/metadata/{server}")["metadata"] == before
    own = faked_site.config()
    for project in ("owner", faked_site.personas["stack_user"].project):
        body = {**deployment, "config_id": own, "stack_user_project_id": project}
        assert owner.post("/software_deployments", body)["software_deployment"]["config_id"] == own


def test_arns(faked_site: Site) -> None:
    """The project in an ARN opens nothing."""
    stack = faked_site.stack("S")
    outsider, member = faked_site.api("outsider"), faked_site.api("member")
    for project in ("owner", "elsewhere"):
        arn = f"arn:openstack:heat::{project}:stacks/{stack.name}/{stack.id}"
        reply = outsider.send("GET", f"/stacks/{arn}")
        assert reply.status_code == 302
        location = reply.headers["Location"]
        assert outsider.http.get(location).status_code == (403 if project == "owner" else 404)
    arn = f"arn:openstack:heat::elsewhere:stacks/{stack.name}/{stack.id}"
    location = member.send("GET", f"/stacks/{arn}").headers["Location"]
    assert member.http.get(location).status_code == 403


def test_names_of_other_projects_are_free(faked_site: Site) -> None:
    """Names are unique in a project; an administrator's stack does not run into another project's name either."""
    stack = faked_site.stack("S")
    cloud_admin = faked_site.api("cloud_admin")
    cloud_admin.project = "elsewhere"
    for api in (cloud_admin, faked_site.api("outsider")):
        api.create(SMALL, stack.name).delete()
    assert faked_site.owner.send("POST", "/stacks", {"stack_name": stack.name, "template": SMALL}).status_code == 409
