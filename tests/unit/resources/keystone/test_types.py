# SPDX-License-Identifier: Apache-2.0
"""What the identity types ask of Keystone when they are made, changed and deleted."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import lifecycle, rest as kit
from openkeel_heat.resources.kit.resuming import resume_action
from tests.unit.conftest import Option
from tests.unit.resources.fakes import drive, hot
from tests.unit.resources.keystone.conftest import Realm

NAME, ID = "(the made-up name)", "(the id)"
Sent = list[tuple[str, Any]]


def post(key: str, **body: Any) -> tuple[str, Any]:
    return f"POST /{key}s", {key: body}


def patch(key: str, **body: Any) -> tuple[str, Any]:
    return f"PATCH /{key}s/{ID}", {key: body}


def link(path: str) -> tuple[str, Any]:
    return f"PUT {path}", None


def unlink(path: str) -> tuple[str, Any]:
    return f"DELETE {path}", None


IN_PROJECT, IN_DOMAIN = {"role": "r1", "project": "p1"}, {"role": "reader", "domain": "Default"}

#: type → key, properties, requests of the creation, other properties, requests of the update
LIVES: dict[str, tuple[str, dict[str, Any], Sent, dict[str, Any], Sent]] = {
    "Domain": (
        "domain", {"description": "d"}, [post("domain", name=NAME, description="d", enabled=True)],
        {"name": "n", "enabled": False}, [patch("domain", name="n", description=None, enabled=False)]),
    "Project": (
        "project", {"name": "p", "parent": "One", "tags": ["a"]},
        [post("project", name="p", parent_id="p1", domain_id="default", description="", enabled=True, tags=["a"])],
        {"parent": "p1", "description": "d"}, [patch("project", name=NAME, description="d", tags=[])]),
    "Region": (
        "region", {"id": "a b", "parent_region": "east"},
        [post("region", id="a%20b", parent_region_id="east", enabled=True)],
        {"id": "a b", "description": "d"}, [patch("region", parent_region_id=None, description="d")]),
    "Role": (
        "role", {"domain": "Default"}, [post("role", name=NAME, domain_id="default")],
        {"domain": "default", "name": "n"}, [patch("role", name="n")]),
    "Service": (
        "service", {"type": "t"}, [post("service", name=NAME, type="t", enabled=True)],
        {"type": "u", "description": "d"}, [patch("service", type="u", description="d")]),
    "Endpoint": (
        "endpoint", {"service": "compute", "region": "east", "interface": "public", "url": "http://a"},
        [post("endpoint", name=NAME, service_id="s1", region_id="east", interface="public", url="http://a",
              enabled=True)],
        {"service": "s1", "interface": "admin", "url": "http://a"},
        [patch("endpoint", region_id=None, interface="admin")]),
    "Group": (
        "group", {"roles": [IN_PROJECT]},
        [post("group", name=NAME, domain_id="default", description=""), link(f"/projects/p1/groups/{ID}/roles/r1")],
        {"roles": [IN_DOMAIN], "description": "d"},
        [patch("group", description="d"), link(f"/domains/default/groups/{ID}/roles/r2"),
         unlink(f"/projects/p1/groups/{ID}/roles/r1")]),
    "User": (
        "user", {"name": "u", "password": "secret", "default_project": "One", "groups": ["g1", "Two"],
                 "roles": [IN_PROJECT, IN_DOMAIN], "email": "e"},
        [post("user", name="u", domain_id="default", description="", enabled=True, password="secret", email="e",
              default_project_id="p1"),
         link(f"/groups/g1/users/{ID}"), link(f"/groups/g2/users/{ID}"),
         link(f"/projects/p1/users/{ID}/roles/r1"), link(f"/domains/default/users/{ID}/roles/r2")],
        {"name": "u", "groups": ["g2"], "roles": [{"role": "r2", "domain": "default"}]},
        [patch("user", email=None, default_project_id=None), unlink(f"/groups/g1/users/{ID}"),
         unlink(f"/projects/p1/users/{ID}/roles/r1")]),
}  # fmt: skip


@pytest.fixture
def objects(realm: Realm) -> Realm:
    kinds = realm.keystone.kinds
    for key, id_, name in (
        ("domain", "default", "Default"), ("project", "p1", "One"), ("role", "r1", "member"), ("role", "r2", "reader"),
        ("group", "g1", "One"), ("group", "g2", "Two"), ("service", "s1", "compute"), ("region", "east", ""),
        ("user", "u1", "alice"), ("user", "u2", "bob"),
    ):  # fmt: skip
        kinds[key].add(id_, name=name, domain_id="default")
    return realm


def plain(resource: Any, requests: Sent) -> Sent:
    words = {quote(resource.resource_id): ID, resource.resource_id: ID, resource.physical_resource_name(): NAME}
    return [
        ("/".join(words.get(part, part) for part in request.split("/")),
         body and {key: {name: words.get(value, value) if isinstance(value, str) else value
                         for name, value in inner.items()} for key, inner in body.items()})
        for request, body in requests
    ]  # fmt: skip


@pytest.mark.parametrize("kind", LIVES)
def test_a_life(objects: Realm, kind: str) -> None:
    key, before, creation, after, update = LIVES[kind]
    resource = objects.create(kind, **before)
    assert resource.resource_id in objects.keystone.kinds[key].objects
    made = plain(resource, objects.sent())
    if kind == "Region":
        creation = [(creation[0][0], {"region": {**creation[0][1]["region"], "id": ID}})]
        assert resource.resource_id == "a%20b"
    assert made == creation
    objects.update(resource, **after)
    assert plain(resource, objects.sent()) == update
    objects.delete(resource)
    assert objects.sent()[-1][0].startswith(f"DELETE /{key}s/")
    assert resource.resource_id not in objects.keystone.kinds[key].objects


@pytest.mark.parametrize("kind", LIVES)
def test_the_object_is_gone_before_it_is_deleted(objects: Realm, kind: str) -> None:
    resource = objects.create(kind, **LIVES[kind][1])
    del objects.keystone.kinds[LIVES[kind][0]].objects[resource.resource_id]
    objects.delete(resource)


@pytest.mark.parametrize("kind", [kind for kind, life in LIVES.items() if NAME in str(life[2])])
def test_a_creation_without_an_answer(objects: Realm, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit, "LOOK_PAUSE", 0.01)
    key, before, *_rest = LIVES[kind]
    there = set(objects.keystone.kinds[key].objects)
    objects.keystone.fault("POST", f"/{key}s", cut=True, after=True)
    resource = objects.create(kind, **before)
    assert set(objects.keystone.kinds[key].objects) - there == {resource.resource_id}


@pytest.mark.parametrize("kind", ["Group", "User"])
def test_an_engine_dies_between_the_object_and_its_roles(objects: Realm, kind: str) -> None:
    """Its heir grants what is not granted yet."""
    whole = objects.create(kind, **LIVES[kind][1])
    links = {path.replace(whole.resource_id, ID) for path in objects.keystone.links}
    objects.keystone.links.clear()
    resource = objects.make(kind, **LIVES[kind][1])
    resource.record.action, resource.record.status = "CREATE", "IN_PROGRESS"
    made = objects.keystone.kinds[LIVES[kind][0]].add("heir", name="heir")
    resource.record.nova_instance = made["id"]
    drive(resume_action(resource), resource)
    assert resource.state == ("CREATE", "COMPLETE")
    assert {path.replace("heir", ID) for path in objects.keystone.links} == links


def fails(objects: Realm, resource: Any, action: Any) -> None:
    with pytest.raises(exceptions.ResourceFailure):
        drive(action, resource)
    assert resource.status == "FAILED" and resource.resource_id


def definition(objects: Realm, resource: Any, **props: Any) -> Any:
    stack = objects.cloud.stack(hot({"r": {"type": resource.type(), "properties": props}}))
    return stack.defn.resource_definition("r")


def test_a_user_whose_creation_came_half_way_is_completed(objects: Realm) -> None:
    """27.0.1 makes another of the same name, which Keystone refuses for ever."""
    props = {"name": "u", "groups": ["g1"], "roles": [IN_PROJECT]}
    resource = objects.make("User", **props)
    objects.keystone.fault("PUT", "/projects/.*", status=403)
    fails(objects, resource, lifecycle.create(resource))
    objects.keystone.groups = [{"id": "g1"}]
    objects.sent()
    objects.update(resource, **props)
    assert plain(resource, objects.sent()) == [link(f"/projects/p1/users/{ID}/roles/r1")]


def test_a_project_that_could_not_be_changed_stays_and_is_changed(objects: Realm) -> None:
    """27.0.1 replaces it: all that is in it would be gone."""
    resource = objects.create("Project", description="a")
    objects.keystone.fault("PATCH", ".*", status=400)
    fails(objects, resource, lifecycle.update(resource, definition(objects, resource, description="b")))
    objects.sent()
    objects.update(resource, description="c")
    assert plain(resource, objects.sent()) == [patch("project", description="c")]


def test_a_rollback_of_an_update_that_came_half_way(objects: Realm) -> None:
    """The template is that of before, but not the object."""
    resource = objects.create("User", name="u", description="a")
    objects.keystone.fault("PUT", "/groups/.*", status=403)
    changed = definition(objects, resource, name="v", description="a", groups=["g1"])
    fails(objects, resource, lifecycle.update(resource, changed))
    objects.sent()
    objects.update(resource, name="u", description="a")
    assert plain(resource, objects.sent()) == [patch("user", name="u")]


def test_a_failed_object_that_is_gone_is_replaced(objects: Realm) -> None:
    resource = objects.create("Role")
    resource.record.status = "FAILED"
    objects.keystone.kinds["role"].objects.pop(resource.resource_id)
    with pytest.raises(exceptions.UpdateReplace):
        drive(lifecycle.update(resource, definition(objects, resource)), resource)


def test_a_password_is_in_no_log(objects: Realm, debug_log: pytest.LogCaptureFixture) -> None:
    resource = objects.create("User", password="very-secret-one")
    objects.update(resource, password="very-secret-two")
    assert "very-secret" not in debug_log.text


def test_a_password_stays(objects: Realm) -> None:
    """Nobody is locked out because a template does not tell the password any more."""
    resource = objects.create("User", name="u", password="secret")
    objects.sent()
    objects.update(resource, name="u")
    assert objects.sent() == []


def test_a_domain_is_taken_out_of_use_first(objects: Realm) -> None:
    resource = objects.create("Domain")
    objects.sent()
    objects.delete(resource)
    assert plain(resource, objects.sent()) == [patch("domain", enabled=False), unlink(f"/domains/{ID}")]


def test_the_default_security_group_goes_with_the_project(objects: Realm) -> None:
    groups = objects.security_groups
    resource = objects.create("Project")
    for name, project in (("default", resource.resource_id), ("other", resource.resource_id), ("default", "p1")):
        groups.add(f"{name} of {project}", name=name, project_id=project)
    objects.delete(resource)
    assert set(groups.objects) == {f"other of {resource.resource_id}", "default of p1"}


def test_a_cloud_without_networks(objects: Realm) -> None:
    del objects.cloud.services["network"]
    resource = objects.create("Project")
    objects.delete(resource)
    assert objects.network.requests == []


ASSIGNMENTS = {"UserRoleAssignment": ("user", "alice", "bob", "u1", "u2"),
               "GroupRoleAssignment": ("group", "One", "Two", "g1", "g2")}  # fmt: skip


@pytest.mark.parametrize("kind", ASSIGNMENTS)
def test_an_assignment(objects: Realm, kind: str) -> None:
    key, one, two, first, second = ASSIGNMENTS[kind]
    resource = objects.create(kind, **{key: one, "roles": [IN_PROJECT, IN_DOMAIN]})
    in_project, in_domain = f"/projects/p1/{key}s/{first}/roles/r1", f"/domains/default/{key}s/{first}/roles/r2"
    assert objects.keystone.links == {in_project, in_domain}
    # What is told in another way is the same.
    objects.sent()
    objects.update(resource, **{key: one, "roles": [{"role": "member", "project": "One"}]})
    assert objects.sent() == [unlink(in_domain)]
    objects.update(resource, **{key: first, "roles": [{"role": "member", "project": "One"}]})
    assert objects.sent() == []
    objects.update(resource, **{key: two, "roles": [IN_DOMAIN]})
    assert objects.keystone.links == {f"/domains/default/{key}s/{second}/roles/r2"}
    objects.delete(resource)
    assert objects.keystone.links == set()


def test_an_assignment_that_replaces_another_keeps_what_both_have(objects: Realm) -> None:
    """In 27.0.1 the user has lost the role after the assignment that had failed is deleted."""
    old = objects.create("UserRoleAssignment", user="alice", roles=[IN_PROJECT, IN_DOMAIN])
    old.record.status = "FAILED"
    new = objects.replace(old, user="u1", roles=[{"role": "member", "project": "One"}])
    assert objects.keystone.links == {"/projects/p1/users/u1/roles/r1"}
    objects.delete(new)
    assert objects.keystone.links == set()


@pytest.mark.parametrize("gone", ["user", "project", "role", "grant"])
def test_what_an_assignment_is_of_is_gone(objects: Realm, gone: str) -> None:
    resource = objects.create("UserRoleAssignment", user="alice", roles=[IN_PROJECT])
    if gone == "grant":
        objects.keystone.links.clear()
    else:
        del objects.keystone.kinds[gone].objects[{"user": "u1", "project": "p1", "role": "r1"}[gone]]
    objects.delete(resource)


@pytest.mark.parametrize(("roles", "message"), [
    ([{"role": "r1"}], "Either project or domain must be specified for role r1"),
    ([{"role": "r1", "project": "p1", "domain": "default"}],
     "Cannot define the following properties at the same time: project, domain."),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["User", "Group", "UserRoleAssignment", "GroupRoleAssignment"])
def test_one_place_for_each_role(objects: Realm, kind: str, roles: Any, message: str) -> None:
    who = {"UserRoleAssignment": {"user": "u1"}, "GroupRoleAssignment": {"group": "g1"}}.get(kind, {})
    with pytest.raises(exceptions.HeatException, match=message):
        objects.make(kind, **who, roles=roles).validate()


def live(resource: Any, **shown: Any) -> Any:
    return resource.parse_live_resource_data(resource.properties, shown)


def test_live_roles_and_groups(objects: Realm) -> None:
    """Of those that were asked for; 27.0.1 takes away what somebody else gave, or another resource of the stack."""
    objects.keystone.groups = [{"id": "g2"}]
    in_project = {"role": {"id": "r1"}, "scope": {"project": {"id": "p1"}}}
    in_domain = {"role": {"id": "r2"}, "scope": {"domain": {"id": "default"}}}
    inherited = {"role": {"id": "r2"}, "scope": {**in_domain["scope"], "OS-INHERIT:inherited_to": "projects"}}
    by_name = {"role": "member", "project": "One"}
    resource = objects.create("User", name="u", groups=["g1", "g2"], roles=[by_name, IN_DOMAIN])
    objects.keystone.assignments = [in_project, inherited]
    assert live(resource, name="v", default_project_id="p1") == {"name": "v", "groups": ["g2"], "roles": [by_name]}
    objects.keystone.assignments = [in_domain, {"role": {"id": "r9"}, "scope": {"project": {"id": "p1"}}}]
    assert live(resource, name="v")["roles"] == [IN_DOMAIN]


def observed(objects: Realm, resource: Any, **props: Any) -> list[str]:
    """The requests of an update with ``observe_on_update`` that changes nothing of the template."""
    objects.sent()
    stack = objects.cloud.stack(hot({"r": {"type": resource.type(), "properties": props}}))
    drive(lifecycle.update(resource, stack.defn.resource_definition("r")), resource)
    return [request.replace(resource.resource_id, ID) for request, _body in objects.sent()]


@pytest.mark.parametrize(
    ("kind", "props"),
    [("Domain", {}), ("Project", {"tags": ["b", "a"]}), ("User", {}), ("Group", {}), ("Region", {}),
     ("Service", {"type": "x"})],
)  # fmt: skip
def test_what_nobody_asked_for_is_no_change(objects: Realm, option: Option, kind: str, props: dict[str, Any]) -> None:
    option("observe_on_update", True)
    resource = objects.create(kind, **props)
    shown = objects.keystone.kinds[kind.lower()].objects[resource.resource_id]
    shown.setdefault("description", "")
    shown.update(
        {"Project": {"tags": ["a", "b"]}, "User": {"email": "u@e.org", "default_project_id": "p1"}}.get(kind, {})
    )
    objects.keystone.groups = [{"id": "g1"}]
    objects.keystone.assignments = [{"role": {"id": "r1"}, "scope": {"project": {"id": "p1"}}}]
    assert observed(objects, resource, **props) == [] and resource.state == ("CREATE", "COMPLETE")


def test_what_was_asked_for_and_is_gone_comes_again(objects: Realm, option: Option) -> None:
    option("observe_on_update", True)
    props = {"name": "u", "groups": ["g1"], "roles": [IN_PROJECT]}
    resource = objects.create("User", **props)
    grant, membership = f"/projects/p1/users/{ID}/roles/r1", f"/groups/g1/users/{ID}"
    assert observed(objects, resource, **props) == [f"PUT {membership}", f"PUT {grant}"]


def test_names_of_users_in_several_domains(objects: Realm) -> None:
    """Such a name is nobody's, unless the domain is told."""
    objects.keystone.kinds["domain"].add("other", name="Other")
    objects.keystone.kinds["user"].add("u3", name="alice", domain_id="other")
    plugin = objects.cloud.plugin("keystone")
    assert plugin.get_user_id("alice{Other}") == "u3"
    with pytest.raises(exceptions.PhysicalResourceNameAmbiguity):
        plugin.get_user_id("alice")


def test_a_refusal_is_told(objects: Realm) -> None:
    objects.keystone.fault("POST", "/roles", status=403, message="You are not authorized")
    resource = objects.make("Role")
    words = r"Forbidden: resources.r: You are not authorized \(HTTP 403\)"
    with pytest.raises(exceptions.ResourceFailure, match=words):
        drive(lifecycle.create(resource), resource)
