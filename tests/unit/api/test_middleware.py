# SPDX-License-Identifier: Apache-2.0
"""The filters, one by one and as api-paste files put them together."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from keystoneauth1 import exceptions as keystone
from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

from openkeel_heat.api import paste
from openkeel_heat.api.middleware import auth_password, auth_url, context, custom_backend, fault, noauth, versions
from openkeel_heat.common.context import RequestContext
from tests.contract import api_harness as harness


class Inner:
    """An application that remembers the environment it was called with."""

    def __init__(self) -> None:
        self.environ: dict[str, Any] = {}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        self.environ = environ
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"inner"]

    @property
    def context(self) -> Any:
        return self.environ["webob.adhoc_attrs"]["context"]


@pytest.fixture
def inner() -> Inner:
    return Inner()


# --- versions


@pytest.mark.parametrize(
    ("path", "accept", "status", "rest"),
    [
        ("/v1/x", "", 200, ("/v1", "/x")),
        ("/v1.0/x/", "", 200, ("/v1.0", "/x/")),
        ("/v1", "", 200, ("/v1", "")),
        ("/v1.1/x", "", 300, None),
        ("/v2", "", 300, None),
        ("/", "", 300, None),
        ("/versions", "", 300, None),
        ("/x", "", 404, None),
        ("/x", "application/json", 404, None),
        ("/x", versions.ACCEPT_PREFIX + "v1", 200, ("", "/x")),
        ("/x", versions.ACCEPT_PREFIX + "v1.0", 200, ("", "/x")),
        ("/x", versions.ACCEPT_PREFIX + "v1.1", 300, None),
        ("/x", versions.ACCEPT_PREFIX + "?", 200, ("", "/x")),
        ("/%ff", "", 400, None),
    ],
)
def test_versions(inner: Inner, path: str, accept: str, status: int, rest: Any) -> None:
    reply = harness.request(versions.VersionNegotiation(inner), "GET", path, headers={"Accept": accept})
    assert reply.status == status
    if rest:
        assert (inner.environ["SCRIPT_NAME"], inner.environ["PATH_INFO"]) == rest


# --- context


def test_context_of_keystones_headers(inner: Inner) -> None:
    headers = {
        "X-Project-Id": "p",
        "X-Project-Name": "pn",
        "X-User-Id": "u",
        "X-User-Name": "un",
        "X-User-Domain-Id": "ud",
        "X-Roles": "member,reader",
        "X-Auth-Token": "t",
        "X-Region-Name": "r",
        "X-Auth-Url": "http://k",
    }
    harness.request(context.filter_factory({})(inner), "GET", "/", headers=headers)
    found = inner.context
    assert isinstance(found, RequestContext)
    assert (found.project_id, found.user_id, found.user_domain_id) == ("p", "u", "ud")
    assert (found.roles, found.auth_token, found.region_name) == (["member", "reader"], "t", "r")
    assert (found.auth_url, found.username, found.password, found.is_admin) == ("http://k", "un", None, False)


def test_context_of_a_password(inner: Inner) -> None:
    headers = {"X-Auth-User": "joe", "X-Auth-Key": "pw", "X-Auth-EC2-Creds": "c"}
    harness.request(context.filter_factory({})(inner), "GET", "/", headers=headers)
    assert (inner.context.username, inner.context.password, inner.context.aws_creds) == ("joe", "pw", None)


def test_context_of_a_signature(inner: Inner) -> None:
    """An access key counts where the signature that it is of was checked, and nowhere else."""
    headers = {"X-Auth-EC2-Creds": '{"ec2Credentials": {"access": "a"}}'}
    app = context.filter_factory({})(inner)
    harness.request(app, "GET", "/", headers=headers)
    assert inner.context.aws_creds is None
    signed = lambda environ, start: app({**environ, context.SIGNED: True}, start)  # noqa: E731
    harness.request(signed, "GET", "/", headers=headers)
    assert inner.context.aws_creds == headers["X-Auth-EC2-Creds"]


class OtherContext(RequestContext):
    pass


def test_context_class_of_the_section(inner: Inner) -> None:
    name = f"{__name__}.OtherContext"
    harness.request(context.filter_factory({}, context_class=name)(inner), "GET", "/")
    assert type(inner.context).__name__ == "OtherContext"


# --- noauth


@pytest.mark.parametrize(
    ("path", "headers", "project"),
    [
        ("/v1/demo/stacks", {}, "demo"),
        ("//v1.0/demo/stacks", {}, "demo"),
        ("/v1/demo/stacks", {"X-Auth-Project": "p"}, "p"),
        ("/v1/waitcondition/arn:openstack:heat::t%40x:stacks/a/b/resources/c", {}, "t@x"),
        ("/v1/signal/arn:openstack:heat::t:stacks/a/b/resources/c", {}, "t"),
        ("/v1/", {}, "admin"),
        ("/", {}, "admin"),
    ],
)
def test_noauth(inner: Inner, path: str, headers: dict[str, str], project: str) -> None:
    pipeline = noauth.filter_factory({})(context.filter_factory({})(inner))
    harness.request(pipeline, "GET", path, headers=headers)
    assert inner.context.project_id == project
    assert inner.context.is_admin
    assert set(inner.context.roles) == {"admin", "member", "reader"}


def test_noauth_with_fewer_roles(inner: Inner) -> None:
    pipeline = noauth.filter_factory({})(context.filter_factory({})(inner))
    harness.request(pipeline, "GET", "/v1/demo/stacks", headers={"X-Roles": "reader", "X-Auth-User": "joe"})
    assert (inner.context.roles, inner.context.is_admin, inner.context.user_id) == (["reader"], False, "joe")


def test_noauth_token_data(inner: Inner, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token.json"
    file.write_text('{"token": {}}')
    cfg.CONF.set_override("token_response", str(file), group="noauth")
    harness.request(noauth.filter_factory({})(inner), "GET", "/")
    assert inner.environ["keystone.token_info"] == {"token": {}}


# --- auth_url


def test_auth_url_of_the_section(inner: Inner) -> None:
    harness.request(auth_url.filter_factory({}, auth_uri="http://k/v3")(inner), "GET", "/", headers={"X-Auth-Url": "x"})
    assert inner.environ["HTTP_X_AUTH_URL"] == "http://k/v3"


@pytest.mark.parametrize(
    ("url", "status", "text"),
    [
        (None, 400, "Request missing required header X-Auth-Url"),
        ("http://evil", 401, 'Header X-Auth-Url "http://evil" not an allowed endpoint'),
        ("http://good/v3", 200, "inner"),
    ],
)
def test_auth_url_of_the_client(inner: Inner, url: str | None, status: int, text: str) -> None:
    cfg.CONF.set_override("multi_cloud", True, group="auth_password")
    cfg.CONF.set_override("allowed_auth_uris", ["http://good/v3"], group="auth_password")
    headers = {"X-Auth-Url": url} if url else {}
    reply = harness.request(auth_url.filter_factory({})(inner), "GET", "/", headers=headers)
    assert reply.status == status
    assert text in reply.text


# --- auth_password


class Access:
    project_id, project_name, user_id, username = "p", "pn", "u", "un"
    role_names = ["member", "reader"]
    service_catalog: list[Any] = []
    auth_token, user_domain_id = "token", "ud"


CREDENTIALS = {"X-Auth-User": "joe", "X-Auth-Key": "pw", "X-Auth-Url": "http://k"}


def test_password(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth_password.PasswordAuth, "_access", lambda *args: Access())
    reply = harness.request(auth_password.filter_factory({})(inner), "GET", "/p/stacks", headers=CREDENTIALS)
    assert reply.status == 200
    assert inner.environ["HTTP_X_ROLES"] == "member,reader"
    assert inner.environ["HTTP_X_AUTH_TOKEN"] == "token"


@pytest.mark.parametrize("error", [keystone.Unauthorized, keystone.NotFound, keystone.AuthorizationFailure])
def test_wrong_password(inner: Inner, monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def refuse(*args: Any) -> None:
        raise error

    monkeypatch.setattr(auth_password.PasswordAuth, "_access", refuse)
    reply = harness.request(auth_password.filter_factory({})(inner), "GET", "/p/stacks", headers=CREDENTIALS)
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == "Keystone uri='http://k'"
    assert inner.environ == {}


@pytest.mark.parametrize(("path", "headers"), [("/", CREDENTIALS), ("/p/stacks", {}), ("", {})])
def test_nothing_to_authenticate_with(inner: Inner, path: str, headers: dict[str, str]) -> None:
    assert harness.request(auth_password.filter_factory({})(inner), "GET", path, headers=headers).status == 401


# --- custom backend


@pytest.mark.parametrize(("answer", "status"), [(True, 200), (False, 401)])
def test_custom_backend(inner: Inner, answer: bool, status: int) -> None:
    engine = harness.RecordedEngine({"authenticated_to_backend": answer})
    pipeline = context.filter_factory({})(custom_backend.BackendAuth(inner, engine))
    assert harness.request(pipeline, "GET", "/").status == status


# --- faults


def test_debug_shows_the_traceback() -> None:
    cfg.CONF.set_override("debug", True)

    def broken(environ: Any, start_response: Any) -> None:
        raise ValueError("x")

    error = harness.request(fault.FaultWrapper(broken), "GET", "/").json["error"]
    assert error["type"] == "ValueError"
    assert "in broken" in error["traceback"]


def test_fault_for_head() -> None:
    def broken(environ: Any, start_response: Any) -> None:
        raise ValueError("x")

    reply = harness.request(fault.FaultWrapper(broken), "HEAD", "/")
    assert (reply.status, reply.body) == (400, b"")
    assert int(reply.headers["content-length"]) > 0


# --- paste

HEATS_NAMES = """
[composite:heat-api]
use = egg:Paste#urlmap
/: api
/healthcheck: healthcheck
[composite:api]
paste.composite_factory = heat.api:pipeline_factory
default = versionnegotiation apiv1app
noauth = cors request_id faultwrap noauth context http_proxy_to_wsgi versionnegotiation apiv1app
[app:apiv1app]
paste.app_factory = heat.common.wsgi:app_factory
heat.app_factory = heat.api.openstack.v1:API
[app:healthcheck]
paste.app_factory = oslo_middleware:Healthcheck.app_factory
[filter:versionnegotiation]
paste.filter_factory = heat.common.wsgi:filter_factory
heat.filter_factory = heat.api.openstack:version_negotiation_filter
[filter:cors]
paste.filter_factory = oslo_middleware.cors:filter_factory
oslo_config_project = heat
[filter:faultwrap]
paste.filter_factory = heat.common.wsgi:filter_factory
heat.filter_factory = heat.api.openstack:faultwrap_filter
[filter:context]
paste.filter_factory = heat.common.context:ContextMiddleware_filter_factory
[filter:http_proxy_to_wsgi]
paste.filter_factory = oslo_middleware:HTTPProxyToWSGI.factory
[filter:noauth]
paste.filter_factory = heat.common.noauth:filter_factory
[filter:request_id]
paste.filter_factory = oslo_middleware.request_id:RequestId.factory
"""


@pytest.fixture(params=["heat's names", "ours"])
def application(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Any:
    cfg.CONF.set_override("flavor", "noauth", group="paste_deploy")
    cfg.CONF.register_opts(http_proxy_to_wsgi.OPTS, group="oslo_middleware")
    cfg.CONF.register_opts(cors.OPTS, group="cors")
    cfg.CONF.set_override("allowed_origin", ["https://dashboard"], group="cors")
    cfg.CONF.set_override("enable_proxy_headers_parsing", True, group="oslo_middleware")
    file = pathlib.Path(__file__).parents[3] / "etc" / "heat" / "api-paste.ini"
    if request.param != "ours":
        file = tmp_path / "api-paste.ini"
        file.write_text(HEATS_NAMES)
    return paste.load_app("heat-api", cfg.CONF, str(file))


def test_pipeline_of_a_flavor(application: Any) -> None:
    reply = harness.request(application, "GET", "/v1/demo/stacks?limit=x")
    assert reply.status == 400
    assert reply.headers["x-openstack-request-id"].startswith("req-")
    assert harness.request(application, "GET", "/healthcheck").status == 200


def test_proxy_headers(application: Any) -> None:
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "cloud.example", "X-Forwarded-Prefix": "/heat"}
    href = harness.request(application, "GET", "/", headers=forwarded).json["versions"][0]["links"][0]["href"]
    assert href == "https://cloud.example/heat/v1/"


@pytest.mark.parametrize("application", ["ours"], indirect=True)
def test_cors(application: Any) -> None:
    reply = harness.request(application, "GET", "/v1/demo/stacks?limit=x", headers={"Origin": "https://dashboard"})
    assert reply.headers["access-control-allow-origin"] == "https://dashboard"
    assert "X-OpenStack-Request-ID" in reply.headers["access-control-expose-headers"]
    asked = {"Origin": "https://dashboard", "Access-Control-Request-Method": "PATCH"}
    reply = harness.request(application, "OPTIONS", "/v1/demo/stacks", headers=asked)
    assert (reply.status, reply.headers["access-control-allow-methods"]) == (204, "PATCH")


def test_no_such_paste_file() -> None:
    cfg.CONF.set_override("api_paste_config", "/nowhere/else.ini", group="paste_deploy")
    with pytest.raises(RuntimeError, match="Unable to locate config file"):
        paste.load_app("heat-api", cfg.CONF)


def test_no_such_application(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "api-paste.ini"
    file.write_text("[app:other]\npaste.app_factory = heat.common.wsgi:app_factory\n")
    with pytest.raises(RuntimeError, match="Unable to load heat-api"):
        paste.load_app("heat-api", cfg.CONF, str(file))


def test_errors_are_json(application: Any) -> None:
    body = harness.request(application, "POST", "/v1/demo/stacks", b"{").body
    assert json.loads(body)["code"] == 400


def test_flavor_that_only_the_native_api_has(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "api-paste.ini"
    file.write_text(HEATS_NAMES.replace("\nnoauth =", "\nother ="))
    cfg.CONF.set_override("flavor", "noauth", group="paste_deploy")
    application = paste.load_app("heat-api", cfg.CONF, str(file))
    assert harness.request(application, "GET", "/").status == 300


def test_cfn_without_authentication() -> None:
    cfg.CONF.set_override("flavor", "noauth", group="paste_deploy")
    application = paste.load_app("heat-api-cfn", cfg.CONF)
    assert harness.request(application, "GET", "/v1/?Action=EstimateTemplateCost").status == 200
