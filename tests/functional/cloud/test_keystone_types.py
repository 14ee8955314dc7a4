# SPDX-License-Identifier: Apache-2.0
"""Projects, users, roles and the catalogue as resources, as Heat 27.0.1 makes them in the same Keystone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.api import Stack
from tests.fixtures.comparison import Both
from tests.fixtures.identity import Keystone, administrator, login

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]
compared = pytest.mark.reference


def unique(word: str) -> dict[str, Any]:
    """A name that no other stack gives; the stacks of a pair have other ids."""
    return {"str_replace": {"template": f"{word}-$", "params": {"$": {"get_param": "OS::stack_id"}}}}


def own(name: str) -> dict[str, str]:
    return {"get_resource": name}


def attr(name: str, *path: str) -> dict[str, list[str]]:
    return {"get_attr": [name, *path]}


def keystone(kind: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": f"OS::Keystone::{kind}", "properties": properties}


def hot(resources: dict[str, Any], **outputs: Any) -> dict[str, Any]:
    shown = {f"{name} shows": {"value": attr(name, "show")} for name in resources}
    more = {name.replace("_", " "): {"value": value} for name, value in outputs.items()}
    return {"heat_template_version": "2018-08-31", "resources": resources, "outputs": {**shown, **more}}


PEOPLE = {
    "project": keystone("Project", name=unique("project"), description="first", tags=["a", "b"]),
    "child": keystone("Project", parent=own("project")),
    "role": keystone("Role", name=unique("role")),
    "other": keystone("Role"),
    "group": keystone("Group", roles=[{"role": own("role"), "project": own("project")}]),
    "user": keystone(
        "User", name=unique("user"), description="first", email="a@example.org", password="secret-1",
        default_project=own("project"), groups=[own("group")],
        roles=[{"role": own("role"), "project": own("project")}, {"role": "reader", "domain": "default"}],
    ),
    "granted": keystone("UserRoleAssignment", user=own("user"), roles=[{"role": "member", "project": own("child")}]),
    "shared": keystone("GroupRoleAssignment", group=own("group"), roles=[{"role": own("other"), "domain": "Default"}]),
}  # fmt: skip
PEOPLE_OUTPUTS = {
    "user_name": attr("user", "name"), "user_project": attr("user", "default_project_id"),
    "user_domain": attr("user", "domain_id"), "user_enabled": attr("user", "enabled"),
    "user_expires": attr("user", "password_expires_at"),
    "project_name": attr("project", "name"), "project_parent": attr("project", "parent_id"),
    "child_parent": attr("child", "parent_id"), "child_name": attr("child", "name"),
    "child_domain": attr("child", "domain_id"), "child_enabled": attr("child", "enabled"),
    "child_acts": attr("child", "is_domain"),
    "granted_reference": own("granted"), "user_reference": own("user"),
}  # fmt: skip

CATALOGUE = {
    "region": keystone("Region", id=unique("region"), parent_region="RegionOne", description="first"),
    "made_up": keystone("Region"),
    "service": keystone("Service", name=unique("service"), type="okh-test", description="first"),
    "endpoint": keystone("Endpoint", name=unique("endpoint"), service=own("service"), region=own("region"),
                         interface="public", url="http://example.org/1"),
    "internal": keystone("Endpoint", service=own("service"), interface="internal", url="http://example.org/2"),
}  # fmt: skip


def changed(resources: dict[str, Any], **changes: dict[str, Any]) -> dict[str, Any]:
    """The resources with other properties; None takes one away."""
    made = json.loads(json.dumps(resources))
    for name, properties in changes.items():
        made[name]["properties"].update(properties)
        made[name]["properties"] = {key: value for key, value in made[name]["properties"].items() if value is not None}
    return dict(made)


def grants(kind: str, stack: Stack, resource: str) -> set[tuple[str, str]]:
    """Role and place of the grants of a user or group, by names of resources where they are of the stack."""
    names = {one["physical_resource_id"]: name for name, one in stack.resources().items()}
    admin = administrator()
    who = stack.resource(resource)["physical_resource_id"]
    names |= {role["id"]: role["name"] for role in admin.call("GET", "/roles")["roles"] if role["id"] not in names}
    listed = admin.call("GET", f"/role_assignments?{kind}.id={who}")["role_assignments"]
    return {
        (names[one["role"]["id"]], names.get(place := next(iter(one["scope"].values()))["id"], place)) for one in listed
    }


def members(stack: Stack, group: str) -> set[str]:
    path = f"/groups/{stack.resource(group)['physical_resource_id']}/users"
    return {one["id"] for one in administrator().call("GET", path)["users"]}


def ids(stack: Stack) -> dict[str, str]:
    return {name: one["physical_resource_id"] for name, one in stack.resources().items()}


@compared
def test_people(both_as_admin: Both) -> None:
    pair = both_as_admin.create(hot(PEOPLE, **PEOPLE_OUTPUTS)).compare()
    for stack in pair.stacks:
        assert grants("user", stack, "user") == {("role", "project"), ("reader", "default"), ("member", "child")}
        assert grants("group", stack, "group") == {("role", "project"), ("other", "default")}
        assert members(stack, "group") == {stack.resource("user")["physical_resource_id"]}
    before = [ids(stack) for stack in pair.stacks]

    after = changed(
        PEOPLE,
        project={"description": "second", "tags": ["c"]},
        child={"enabled": False},
        role={"name": unique("renamed")},
        group={"name": unique("group"), "description": "second", "roles": [
            {"role": own("role"), "domain": "default"}]},
        user={"description": "second", "email": "b@example.org", "password": "secret-2", "enabled": False,
              "groups": [], "roles": [{"role": own("role"), "project": own("project")}],
              "default_project": own("child")},
        granted={"roles": [{"role": "reader", "project": own("child")}]},
        shared={"roles": []},
    )  # fmt: skip
    pair.update(hot(after, **PEOPLE_OUTPUTS)).compare()
    assert [ids(stack) for stack in pair.stacks] == before
    for stack in pair.stacks:
        assert grants("user", stack, "user") == {("role", "project"), ("reader", "child")}
        assert grants("group", stack, "group") == {("role", "default")}
        assert members(stack, "group") == set()

    pair.action("check", "CHECK_COMPLETE").compare()
    pair.delete()
    admin = administrator()
    for made in before:
        assert not admin.exists(f"/users/{made['user']}") and not admin.exists(f"/projects/{made['child']}")
        assert not admin.exists(f"/roles/{made['other']}") and not admin.exists(f"/groups/{made['group']}")


@compared
def test_catalogue(both_as_admin: Both) -> None:
    pair = both_as_admin.create(hot(CATALOGUE)).compare()
    before = [ids(stack) for stack in pair.stacks]
    after = changed(
        CATALOGUE,
        region={"description": "second"},
        made_up={"parent_region": own("region")},
        service={"name": unique("renamed"), "description": "second", "type": "okh-other", "enabled": False},
        endpoint={"url": "http://example.org/3", "interface": "admin", "region": "RegionOne", "enabled": False},
    )
    pair.update(hot(after)).compare()
    assert [ids(stack) for stack in pair.stacks] == before
    pair.action("check", "CHECK_COMPLETE").compare()
    # Another id is another region.
    pair.update(hot(changed(after, region={"id": unique("else")}))).compare()
    for stack, old in zip(pair.stacks, before, strict=True):
        assert ids(stack)["region"] != old["region"] and not administrator().exists(f"/regions/{old['region']}")
    pair.delete()


REFUSALS = {
    "no such role": {"u": keystone("User", roles=[{"role": "okh-nobody", "domain": "default"}])},
    "no such project": {"u": keystone("User", default_project="okh-nobody")},
    "no such domain": {"p": keystone("Project", domain="okh-nobody")},
    "no such group": {"u": keystone("User", groups=["okh-nobody"])},
    "no such region": {"r": keystone("Region", parent_region="okh-nobody")},
    "no such service": {"e": keystone("Endpoint", service="okh-nobody", interface="public", url="http://x")},
    "no such user": {"a": keystone("UserRoleAssignment", user="okh-nobody", roles=[])},
    "empty name": {"a": keystone("UserRoleAssignment", user="", roles=[])},
    "of no such domain": {"a": keystone("UserRoleAssignment", user="admin{okh-nobody}", roles=[])},
    "a role in two places": {
        "g": keystone("Group", roles=[{"role": "member", "domain": "default", "project": "admin"}])
    },
    "a role in no place": {"g": keystone("GroupRoleAssignment", group="okh", roles=[{"role": "member"}])},
    "a role nowhere": {"g": keystone("Group", roles=[{"role": "member"}])},
    "another interface": {"e": keystone("Endpoint", service="keystone", interface="private", url="http://x")},
}


@compared
@pytest.mark.parametrize("why", REFUSALS)
def test_refused(both_as_admin: Both, why: str) -> None:
    both_as_admin.refused(hot(REFUSALS[why]))


@compared
def test_a_name_that_is_taken(both_as_admin: Both) -> None:
    """The service's own words are the reason."""
    taken = {"one": keystone("Role", name=unique("role")),
             "two": {**keystone("Role", name=unique("role")), "depends_on": "one"}}  # fmt: skip
    pair = both_as_admin.create(hot(taken), wait=None).wait("CREATE_FAILED").compare(ignore={"outputs"})
    words = "Resource CREATE failed: Conflict: resources.two: Conflict occurred attempting to store role"
    assert pair.ours.show()["stack_status_reason"].startswith(words)


def test_a_domain(deploy: Any) -> None:
    """The service deletes domains only that are not enabled, so it is not before."""
    stack = deploy.as_admin(hot({
        "domain": keystone("Domain", name=unique("domain"), description="first"),
        "project": keystone("Project", domain=own("domain")),
        "user": keystone("User", domain=own("domain"), name="somebody", password="secret",
                         roles=[{"role": "member", "project": own("project")}]),
        "role": keystone("Role", domain=own("domain"), name=unique("role")),
        "by_name": {**keystone("GroupRoleAssignment", group=own("group"), roles=[]), "depends_on": "user"},
        "group": keystone("Group", domain=own("domain")),
    }, project_domain=attr("project", "domain_id")))  # fmt: skip
    made = ids(stack)
    assert stack.outputs()["project domain"] == made["domain"]
    token = login({"name": "somebody", "password": "secret", "domain": {"id": made["domain"]}}, made["project"])
    assert Keystone(token).token.project_id == made["project"]
    assert administrator().call("GET", f"/roles/{made['role']}")["role"]["domain_id"] == made["domain"]
    stack.delete()
    assert not administrator().exists(f"/domains/{made['domain']}")


def test_what_a_template_does_not_give_any_more(deploy: Any) -> None:
    """… is taken back; a password is not."""
    full = {
        "project": keystone("Project", description="first", tags=["a"]),
        "domain": keystone("Domain", description="first"),
        "user": keystone("User", name=unique("user"), description="first", email="a@example.org", password="secret",
                         default_project=own("project"), roles=[{"role": "member", "project": own("project")}]),
    }  # fmt: skip
    stack = deploy.as_admin(hot(full))
    made = ids(stack)
    bare = changed(
        full, project={"description": None, "tags": None}, domain={"description": None},
        user={"description": None, "email": None, "default_project": None, "password": None},
    )  # fmt: skip
    stack.update(hot(bare))
    assert ids(stack) == made
    admin = administrator()
    project = admin.call("GET", f"/projects/{made['project']}")["project"]
    assert (project["description"], project["tags"]) == ("", [])
    assert not admin.call("GET", f"/domains/{made['domain']}")["domain"]["description"]
    user = admin.call("GET", f"/users/{made['user']}")["user"]
    assert (user["description"], user["email"], user.get("default_project_id")) == ("", None, None)
    assert login({"id": made["user"], "password": "secret"}, made["project"]).user_id == made["user"]


def test_an_assignment_goes_to_another_user(deploy: Any) -> None:
    """Who had the roles has them no more."""

    def template(user: str) -> dict[str, Any]:
        return hot({
            "project": keystone("Project"), "one": keystone("User"), "two": keystone("User"),
            "granted": keystone("UserRoleAssignment", user=own(user), roles=[
                {"role": "member", "project": own("project")}]),
        })  # fmt: skip

    stack = deploy.as_admin(template("one"))
    assert grants("user", stack, "one") == {("member", "project")}
    stack.update(template("two"))
    assert (grants("user", stack, "one"), grants("user", stack, "two")) == (set(), {("member", "project")})


def test_a_grant_told_in_another_way_stays(deploy: Any) -> None:
    """Names and ids of one grant are one grant: nobody is without it for a moment, and it is not lost."""
    admin = administrator()
    role = admin.names("roles")["member"]

    def template(told: str) -> dict[str, Any]:
        return hot({"project": keystone("Project"),
                    "user": keystone("User", roles=[{"role": told, "project": own("project")}])})  # fmt: skip

    stack = deploy.as_admin(template("member"))
    stack.update(template(role))
    assert grants("user", stack, "user") == {("member", "project")}


def test_removed_behind_our_back(deploy: Any) -> None:
    """A check tells it, the next update makes it anew, and the deletion does not mind."""
    template = hot({
        "project": keystone("Project"), "user": keystone("User"),
        "granted": keystone("UserRoleAssignment", user=own("user"), roles=[
            {"role": "member", "project": own("project")}]),
    })  # fmt: skip
    stack = deploy.as_admin(template)
    admin = administrator()
    gone = ids(stack)["user"]
    admin.call("DELETE", f"/users/{gone}")
    stack.action("check", "CHECK_FAILED")
    assert "NotFound: resources.user: Could not find user" in stack.resource("user")["resource_status_reason"]
    stack.update(template)
    assert ids(stack)["user"] != gone and grants("user", stack, "user") == {("member", "project")}
    for path in (f"/users/{ids(stack)['user']}", f"/projects/{ids(stack)['project']}"):
        admin.call("DELETE", path)
    stack.delete()


@compared
def test_a_member_may_not(both: Both) -> None:
    """By the default policies of both services."""
    message = both.refused(hot({"role": keystone("Role")}))
    assert message == "You are not authorized to use OS::Keystone::Role."
