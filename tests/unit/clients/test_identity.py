# SPDX-License-Identifier: Apache-2.0
"""What the Keystone backend asks for, against an identity service of canned answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from keystoneauth1 import exceptions as errors
from oslo_config import cfg

from openkeel_heat.clients import keystone_backend, patience, rest
from openkeel_heat.clients.identity import Identity
from openkeel_heat.clients.keystone import KeystoneClientPlugin
from openkeel_heat.clients.keystone_backend import KeystoneBackend
from openkeel_heat.common import config, exceptions
from openkeel_heat.common.context import RequestContext


class Answer:
    headers: dict[str, str] = {}
    content = b"{}"
    url = "http://keystone"
    request = SimpleNamespace(method="")

    def __init__(self, body: Any, status: int = 200) -> None:
        self.body, self.status_code = body, status

    def json(self) -> Any:
        return self.body


class Adapter:
    """Answers by verb and path, and remembers what it was asked; an error is an answer with its status."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = answers
        self.asked: list[tuple[str, str, Any]] = []

    def request(self, path: str, verb: str, params: Any = None, json: Any = None, **more: Any) -> Answer:
        self.asked.append((verb, path, params if verb == "GET" else json))
        found = self.answers.get(f"{verb} {path}", {})
        if isinstance(found, errors.HttpError):
            return Answer({}, found.http_status)
        return Answer(found)


class Auth:
    def __init__(self, user: str = "trustor", project: str = "project") -> None:
        self.user, self.project = user, project

    def get_user_id(self, session: Any) -> str:
        return self.user

    def get_project_id(self, session: Any) -> str:
        return self.project


@pytest.fixture
def adapter() -> Adapter:
    return Adapter(
        **{
            "GET /roles": {"roles": [{"id": "role-id", "name": "heat_stack_user"}]},
            "POST /users": {"user": {"id": "user-id"}},
            "GET /users/user-id": {
                "user": {"id": "user-id", "domain_id": "domain", "default_project_id": "stack-project"}
            },
            "PATCH /users/user-id": {"user": {"id": "user-id"}},
            "POST /projects": {"project": {"id": "stack-project"}},
            "GET /projects/stack-project": {"project": {"id": "stack-project", "domain_id": "domain"}},
            "POST /credentials": {"credential": {"id": "credential-id"}},
            "POST /OS-TRUST/trusts": {"trust": {"id": "trust-id"}},
        }
    )


@pytest.fixture
def context(option: Callable[..., None]) -> RequestContext:
    config.register_keystone()
    option("stack_user_domain_id", "domain")
    return RequestContext(
        project_id="project",
        user_id="trustor",
        roles=["member", "reader"],
        auth_url="http://keystone/v3",
        auth_plugin=Auth(),  # type: ignore[arg-type]
        trusts_auth_plugin=Auth("trustee"),  # type: ignore[arg-type]
        is_admin=False,
        overwrite=False,
    )


@pytest.fixture
def backend(context: RequestContext, adapter: Adapter) -> KeystoneBackend:
    made = KeystoneBackend(context)
    made._client = made._domain_admin_client = Identity(adapter)
    return made


def sent(adapter: Adapter, verb: str, path: str) -> Any:
    (found,) = [body for v, p, body in adapter.asked if (v, p) == (verb, path)]
    return found


def test_trust(backend: KeystoneBackend, adapter: Adapter, context: RequestContext) -> None:
    made = backend.create_trust_context()
    assert (made.trust_id, made.trustor_user_id, made.project_id) == ("trust-id", "trustor", "project")
    assert made is not context
    assert sent(adapter, "POST", "/OS-TRUST/trusts") == {
        "trust": {
            "trustor_user_id": "trustor",
            "trustee_user_id": "trustee",
            "project_id": "project",
            "impersonation": True,
            "allow_redelegation": False,
            "roles": [{"name": "member"}, {"name": "reader"}],
        }
    }


def test_roles_of_a_trust(backend: KeystoneBackend, context: RequestContext, option: Callable[..., None]) -> None:
    context.auth_token_info = {"token": {"roles": [{"id": "r1", "name": "x"}]}}
    assert backend._roles_to_delegate() == [{"id": "r1"}]
    option("trusts_delegated_roles", ["heat_stack_owner"])
    assert backend._roles_to_delegate() == [{"name": "heat_stack_owner"}]


def test_roles_that_are_missing(backend: KeystoneBackend, adapter: Adapter) -> None:
    adapter.answers["POST /OS-TRUST/trusts"] = errors.NotFound()
    with pytest.raises(exceptions.MissingCredentialError) as error:
        backend.create_trust_context()
    assert str(error.value) == "Missing required credential: roles {'role_names': ['member', 'reader']}"


def test_refused_trustee(backend: KeystoneBackend, context: RequestContext, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(session: Any) -> str:
        raise errors.Unauthorized()

    monkeypatch.setattr(context.trusts_auth_plugin, "get_user_id", refuse)
    with pytest.raises(exceptions.AuthorizationFailure):
        backend.create_trust_context()


def test_trust_stays(backend: KeystoneBackend, adapter: Adapter, context: RequestContext) -> None:
    context.trust_id = "old"
    assert backend.create_trust_context() is context
    made = backend.regenerate_trust_context()
    assert made.trust_id == "trust-id"
    assert ("DELETE", "/OS-TRUST/trusts/old", None) in adapter.asked
    adapter.answers["DELETE /OS-TRUST/trusts/old"] = errors.NotFound()
    backend.delete_trust("old")


def test_project(backend: KeystoneBackend, adapter: Adapter) -> None:
    assert backend.create_stack_domain_project("s" * 80) == "stack-project"
    body = sent(adapter, "POST", "/projects")["project"]
    assert body["name"] == ("project-" + "s" * 80)[:64]
    assert body["domain_id"] == "domain"
    backend.delete_stack_domain_project("stack-project")
    assert adapter.asked[-1] == ("DELETE", "/projects/stack-project", None)


@pytest.mark.parametrize(
    "answer", [errors.NotFound(), errors.Forbidden(), {"project": {"id": "stack-project", "domain_id": "other"}}]
)
def test_projects_that_are_not_deleted(backend: KeystoneBackend, adapter: Adapter, answer: Any) -> None:
    adapter.answers["GET /projects/stack-project"] = answer
    backend.delete_stack_domain_project("stack-project")
    assert not [asked for asked in adapter.asked if asked[0] == "DELETE"]


def test_user(backend: KeystoneBackend, adapter: Adapter) -> None:
    assert backend.create_stack_domain_user("n" * 300, "stack-project", "pw") == "user-id"
    body = sent(adapter, "POST", "/users")["user"]
    assert body["name"] == "n" * 255
    assert body["domain_id"] == "domain"
    assert body["default_project_id"] == "stack-project"
    assert body["options"]["ignore_password_expiry"] is True
    assert ("PUT", "/projects/stack-project/users/user-id/roles/role-id", None) in adapter.asked
    backend.disable_stack_domain_user("user-id", "stack-project")
    assert adapter.asked[-1] == ("PATCH", "/users/user-id", {"user": {"enabled": False}})
    backend.enable_stack_domain_user("user-id", "stack-project")
    backend.set_stack_domain_user_password("user-id", "stack-project", "other")
    assert adapter.asked[-1] == ("PATCH", "/users/user-id", {"user": {"password": "other"}})
    with pytest.raises(ValueError, match="User update in invalid project"):
        backend.set_stack_domain_user_password("user-id", "another", "other")
    backend.delete_stack_domain_user("user-id", "stack-project")
    assert adapter.asked[-1] == ("DELETE", "/users/user-id", None)


def test_a_user_is_made_once_though_keystone_says_later(
    backend: KeystoneBackend, adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.001)
    adapter.answers["PUT /projects/stack-project/users/user-id/roles/role-id"] = errors.ServiceUnavailable()
    with patience.may_pause(), pytest.raises(errors.ServiceUnavailable) as caught:
        backend.create_stack_domain_user("n", "stack-project", "pw")
    assert patience.asked_pause(caught.value) is None, "or the user would be made again"
    assert len([asked for asked in adapter.asked if asked[0] == "PUT"]) == 3


def test_users_of_others_are_not_touched(backend: KeystoneBackend, adapter: Adapter) -> None:
    with pytest.raises(ValueError, match="User delete in invalid project"):
        backend.delete_stack_domain_user("user-id", "another")
    adapter.answers["GET /users/user-id"] = {"user": {"id": "user-id", "domain_id": "other"}}
    with pytest.raises(ValueError, match="User delete in invalid domain"):
        backend.delete_stack_domain_user("user-id", "stack-project")
    adapter.answers["GET /users/user-id"] = errors.NotFound()
    backend.delete_stack_domain_user("user-id", "stack-project")
    assert not [asked for asked in adapter.asked if asked[0] == "DELETE"]


def test_no_such_role(backend: KeystoneBackend, adapter: Adapter) -> None:
    adapter.answers["GET /roles"] = {"roles": []}
    with pytest.raises(exceptions.Error, match="Can't find role heat_stack_user"):
        backend.create_stack_domain_user("n", "stack-project")
    assert not [asked for asked in adapter.asked if asked[0] == "POST"]


def test_keys(backend: KeystoneBackend, adapter: Adapter) -> None:
    key = backend.create_stack_domain_user_keypair("user-id", "stack-project")
    body = sent(adapter, "POST", "/credentials")["credential"]
    assert (body["type"], body["user_id"], body["project_id"]) == ("ec2", "user-id", "stack-project")
    assert json.loads(body["blob"]) == {"access": key.access, "secret": key.secret}
    adapter.answers["GET /credentials/credential-id"] = {"credential": {"id": key.id, "blob": body["blob"]}}
    listed = [{"id": "other", "blob": "{}"}, {"id": key.id, "blob": body["blob"]}]
    adapter.answers["GET /credentials"] = {"credentials": listed}
    assert backend.get_ec2_keypair(credential_id=key.id) == key
    assert backend.get_ec2_keypair(access=key.access) == key
    assert backend.get_ec2_keypair(access="unknown") is None
    with pytest.raises(ValueError, match="Must specify"):
        backend.get_ec2_keypair()
    backend.delete_stack_domain_user_keypair("user-id", "stack-project", key.id)
    adapter.answers["DELETE /credentials/credential-id"] = errors.NotFound()
    backend.delete_ec2_keypair(credential_id=key.id)


def test_without_a_domain(
    context: RequestContext, adapter: Adapter, option: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    option("stack_user_domain_id", None)
    backend = KeystoneBackend(context)
    backend._client = Identity(adapter)
    assert backend.create_stack_domain_project("s") == "project"
    backend.delete_stack_domain_project("project")
    assert backend.create_stack_domain_user("n", "project", "pw") == "user-id"
    assert "domain_id" not in sent(adapter, "POST", "/users")["user"]
    with pytest.raises(exceptions.Error, match="no stack domain id configured"):
        backend.stack_domain_user_token("user-id", "project", "pw")


def test_backend_of_the_configuration(context: RequestContext, option: Callable[..., None]) -> None:
    assert isinstance(keystone_backend.make_backend(context), KeystoneBackend)
    option("keystone_backend", "openkeel_heat.clients.local.LocalKeystone")
    assert type(keystone_backend.make_backend(context)).__name__ == "LocalKeystone"


class Trusted:
    def __init__(self, scoped: bool, user: str) -> None:
        self.trust_scoped, self.user_id = scoped, user


@pytest.mark.parametrize(
    ("access", "fine"), [((True, "trustor"), True), ((False, "trustor"), False), ((True, "another"), False)]
)
def test_a_trust_is_checked(context: RequestContext, access: tuple[bool, str], fine: bool) -> None:
    context.trust_id, context.trustor_user_id = "t", "trustor"
    context.auth_plugin.get_access = lambda session: Trusted(*access)  # type: ignore[attr-defined]
    if fine:
        assert KeystoneBackend(context).client is not None
    else:
        with pytest.raises(exceptions.AuthorizationFailure):
            KeystoneBackend(context)


# --- finders ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def plugin(context: RequestContext, backend: KeystoneBackend, adapter: Adapter) -> KeystoneClientPlugin:
    made = KeystoneClientPlugin(context)
    made._client_instances[None] = backend
    for collection in ("roles", "projects", "groups", "users", "domains", "services", "regions"):
        key = collection[:-1]
        adapter.answers[f"GET /{collection}/known"] = {key: {"id": "known"}}
        adapter.answers[f"GET /{collection}/name"] = errors.NotFound()
        adapter.answers[f"GET /{collection}/nobody"] = errors.NotFound()
        adapter.answers[f"GET /{collection}"] = {collection: [{"id": "found", "name": "name"}]}
    return made


@pytest.mark.parametrize("kind", ["role", "project", "group", "user", "domain", "service"])
def test_finders(plugin: KeystoneClientPlugin, adapter: Adapter, kind: str) -> None:
    find = getattr(plugin, f"get_{kind}_id")
    assert find("known") == "known"
    assert find("name") == "found"
    assert find(None) is None
    adapter.answers[f"GET /{kind}s"] = {f"{kind}s": []}
    with pytest.raises(exceptions.EntityNotFound) as error:
        find("nobody")
    assert str(error.value) == f"The Keystone{kind.title()} (nobody) could not be found."


def test_finders_in_a_domain(plugin: KeystoneClientPlugin, adapter: Adapter) -> None:
    assert plugin.get_user_id("name{known}") == "found"
    assert ("GET", "/users", {"name": "name", "domain_id": "known"}) in adapter.asked
    adapter.answers["GET /domains"] = {"domains": []}
    with pytest.raises(exceptions.EntityNotFound, match=r"KeystoneUser \(name\{nobody\}\)"):
        plugin.get_user_id("name{nobody}")


def test_services_and_regions(plugin: KeystoneClientPlugin, adapter: Adapter) -> None:
    adapter.answers["GET /services"] = {"services": [{"id": "1"}, {"id": "2"}]}
    with pytest.raises(exceptions.KeystoneServiceNameConflict):
        plugin.get_service_id("name")
    assert plugin.get_region_id("known") == "known"
    with pytest.raises(exceptions.EntityNotFound, match="KeystoneRegion"):
        plugin.get_region_id("nobody")


def test_options_are_read() -> None:
    assert cfg.CONF.heat_stack_user_role == "heat_stack_user"


@pytest.mark.parametrize("error", [errors.NotFound, errors.Unauthorized])
def test_a_trust_that_is_gone_is_not_a_user_that_is_gone(context: RequestContext, error: Any) -> None:
    """Who deletes a user passes over what is not found."""

    class Gone(Auth):
        def get_access(self, session: Any) -> Any:
            raise error()

    context.trust_id, context._auth_plugin = "t", Gone()  # type: ignore[assignment]
    plugin = KeystoneClientPlugin(context)
    with pytest.raises(exceptions.AuthorizationFailure), plugin.ignore_not_found:
        plugin.client().delete_stack_domain_user("u", "p")
