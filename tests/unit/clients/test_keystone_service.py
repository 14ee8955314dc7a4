# SPDX-License-Identifier: Apache-2.0
"""Trusts, and projects, users, keys and tokens of stacks, in the Keystone of the test bed."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from oslo_config import cfg

from openkeel_heat.clients.identity import Identity
from openkeel_heat.common import config, exceptions, sessions
from openkeel_heat.common.context import RequestContext, StoredContext
from openkeel_heat.common.options import keystone as options
from tests.fixtures import testbed

pytestmark = [
    pytest.mark.keystone,
    pytest.mark.skipif(not testbed.keystone_up(), reason="the Keystone of the test bed is not up"),
]

DEMO = testbed.demo_environment()


@pytest.fixture(scope="module", autouse=True)
def product() -> Iterator[None]:
    """The configuration that the test bed wrote for this service."""
    config.register_all()
    cfg.CONF(["--config-file", str(testbed.PRODUCT_CONF)], project="heat")
    yield
    from keystoneauth1 import loading

    cfg.CONF.reset()
    with contextlib.suppress(cfg.Error):
        cfg.CONF.unregister_opts(loading.get_auth_plugin_conf_options("password"), group=options.TRUSTEE)
    config._discover_v3.cache_clear()


@pytest.fixture(scope="module")
def token() -> tuple[str, dict[str, Any]]:
    """Id and content of a token of the demo user."""
    user = {"name": DEMO["OS_USERNAME"], "password": DEMO["OS_PASSWORD"], "domain": {"name": "Default"}}
    answer = requests.post(
        f"{testbed.KEYSTONE}/auth/tokens",
        json={
            "auth": {
                "identity": {"methods": ["password"], "password": {"user": user}},
                "scope": {"project": {"name": DEMO["OS_PROJECT_NAME"], "domain": {"name": "Default"}}},
            }
        },
        timeout=30,
    )
    assert answer.status_code == 201, answer.text
    return answer.headers["X-Subject-Token"], answer.json()


@pytest.fixture
def context(token: tuple[str, dict[str, Any]]) -> RequestContext:
    """As the API makes it of a request with that token."""
    token_id, body = token
    return RequestContext(
        auth_token=token_id,
        auth_token_info=body,
        user_id=body["token"]["user"]["id"],
        project_id=body["token"]["project"]["id"],
        roles=[role["name"] for role in body["token"]["roles"]],
        is_admin=False,
        overwrite=False,
    )


def test_trust(context: RequestContext) -> None:
    keystone = context.clients.client("keystone")
    assert context.clients.authenticated()
    trusted = keystone.create_trust_context()
    assert trusted.trustor_user_id == context.user_id
    try:
        stored = StoredContext.from_dict(
            {
                "trust_id": trusted.trust_id,
                "trustor_user_id": trusted.trustor_user_id,
                "project_id": context.project_id,
                "user_id": context.user_id,
            },
            overwrite=False,
            is_admin=False,
        )
        assert set(context.roles) <= set(stored.roles)
        assert stored.user_domain_id == "default"
        assert stored.auth_plugin.get_project_id(stored.keystone_session) == context.project_id
        again = stored.clients.client("keystone")
        assert again.create_trust_context() is stored
    finally:
        trust_id = str(trusted.trust_id)
        keystone.delete_trust(trust_id)
    keystone.delete_trust(trust_id)
    gone = StoredContext.from_dict(
        {"trust_id": trust_id, "trustor_user_id": context.user_id}, overwrite=False, is_admin=False
    )
    with pytest.raises(exceptions.AuthorizationFailure):
        _ = gone.roles


def test_regenerated_trust(context: RequestContext) -> None:
    first = context.clients.client("keystone").create_trust_context()
    context.trust_id = first.trust_id
    context.trustor_user_id = first.trustor_user_id
    keystone = RequestContext.from_dict(context.to_dict(), overwrite=False, is_admin=False)
    keystone.trust_id = None
    second = keystone.clients.client("keystone").regenerate_trust_context()
    assert second.trust_id != first.trust_id
    for made in (first, second):
        keystone.clients.client("keystone").delete_trust(made.trust_id)


def test_roles_that_do_not_exist(context: RequestContext, option: Callable[..., None] | None = None) -> None:
    cfg.CONF.set_override("trusts_delegated_roles", ["no-such-role"])
    try:
        with pytest.raises(exceptions.MissingCredentialError, match="no-such-role"):
            context.clients.client("keystone").create_trust_context()
    finally:
        cfg.CONF.clear_override("trusts_delegated_roles")


def test_project_user_key_token(context: RequestContext) -> None:
    keystone = context.clients.client("keystone")
    project = keystone.create_stack_domain_project(f"okh-rpc-{uuid.uuid4()}")
    admin: Identity = keystone.domain_admin_client
    try:
        assert admin.projects.get(project).domain_id == cfg.CONF.stack_user_domain_id == keystone.stack_domain_id
        user = keystone.create_stack_domain_user(f"stack-user-{uuid.uuid4()}", project, password="Pa55-word!")
        assert admin.users.get(user).default_project_id == project
        token = keystone.stack_domain_user_token(user, project, "Pa55-word!")
        checked = requests.get(
            f"{testbed.KEYSTONE}/auth/tokens",
            headers={"X-Auth-Token": token, "X-Subject-Token": token},
            timeout=30,
        ).json()["token"]
        assert [role["name"] for role in checked["roles"]] == ["heat_stack_user"]
        assert checked["project"]["id"] == project
        keystone.set_stack_domain_user_password(user, project, "An0ther-word!")
        assert keystone.stack_domain_user_token(user, project, "An0ther-word!")
        key = keystone.create_stack_domain_user_keypair(user, project)
        assert key.access and key.secret
        keystone.disable_stack_domain_user(user, project)
        assert admin.users.get(user).enabled is False
        keystone.enable_stack_domain_user(user, project)
        assert admin.users.get(user).enabled is True
        with pytest.raises(ValueError, match="invalid project"):
            keystone.delete_stack_domain_user(user, "another project")
        keystone.delete_stack_domain_user_keypair(user, project, key.id)
        keystone.delete_stack_domain_user_keypair(user, project, key.id)
        keystone.delete_stack_domain_user(user, project)
        keystone.delete_stack_domain_user(user, project)
    finally:
        keystone.delete_stack_domain_project(project)
    keystone.delete_stack_domain_project(project)


def test_projects_of_users_are_safe(context: RequestContext) -> None:
    keystone = context.clients.client("keystone")
    keystone.delete_stack_domain_project(context.project_id)
    assert context.clients.authenticated()
    assert context.keystone_session.get_project_id() == context.project_id


def test_own_keys(context: RequestContext) -> None:
    keystone = context.clients.client("keystone")
    key = keystone.create_ec2_keypair()
    try:
        assert keystone.get_ec2_keypair(credential_id=key.id) == key
        assert keystone.get_ec2_keypair(access=key.access) == key
    finally:
        keystone.delete_ec2_keypair(credential_id=key.id)
    assert keystone.get_ec2_keypair(access=key.access) is None


def test_catalogue(context: RequestContext) -> None:
    heat = context.clients.client_plugin("heat")
    assert heat.url_for(service_type="orchestration").startswith("http")
    assert heat.get_heat_url() == f"http://127.0.0.1:8004/v1/{context.project_id}"
    assert heat.does_endpoint_exist("identity", "keystone")
    assert not heat.does_endpoint_exist("no-such-service", "nobody")


def test_sdk(context: RequestContext) -> None:
    connection = context.clients.client("openstack")
    assert connection.endpoint_for("identity").startswith("http://127.0.0.1:5000")
    assert connection.current_project_id == context.project_id


def test_a_wrong_password_is_no_authentication() -> None:
    context = RequestContext(
        username="demo",
        password="wrong",
        user_domain_id="default",
        project_id="x",
        auth_url=testbed.KEYSTONE,
        is_admin=False,
        overwrite=False,
    )
    assert not context.clients.authenticated()


def test_requests_of_the_life_of_a_stack(token: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A trust and a project are one request each, once this process knows Keystone and has its accounts' tokens."""
    from keystoneauth1 import session

    asked: list[str] = []
    send = session.TCPKeepAliveAdapter.send

    def counting(self: Any, request: Any, **kwargs: Any) -> Any:
        asked.append(f"{request.method} {request.path_url.removeprefix('/v3').split('/')[-2:]}")
        return send(self, request, **kwargs)

    monkeypatch.setattr(session.TCPKeepAliveAdapter, "send", counting)
    token_id, body = token
    sessions.reset()
    counts = []
    for _ in range(3):
        life: list[int] = []
        project = trust = ""
        for step in ("create", "delete"):
            # each request of a user comes to an engine with a context of its own
            context = RequestContext(
                auth_token=token_id,
                auth_token_info=body,
                is_admin=False,
                overwrite=False,
                user_id=body["token"]["user"]["id"],
                project_id=body["token"]["project"]["id"],
            )
            keystone = context.clients.client("keystone")
            asked.clear()
            if step == "create":
                trust = str(keystone.create_trust_context().trust_id)
                project = keystone.create_stack_domain_project(uuid.uuid4().hex)
            else:
                keystone.delete_trust(trust)
                keystone.delete_stack_domain_project(project)
            life.append(len(asked))
        counts.append(life)
    assert counts[1:] == [[2, 3], [2, 3]], (counts, asked)
    assert counts[0][0] <= 7
