# SPDX-License-Identifier: Apache-2.0
"""The manager of clients, the base of plug-ins, and memories of answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from keystoneauth1 import exceptions as errors, token_endpoint
from oslo_config import cfg

from openkeel_heat import clients
from openkeel_heat.clients import cache, local, plugin
from openkeel_heat.clients.heat import HeatClientPlugin
from openkeel_heat.clients.keystone import KeystoneClientPlugin
from openkeel_heat.common import config, exceptions
from openkeel_heat.common.context import RequestContext


@pytest.fixture
def context(option: Callable[..., None]) -> RequestContext:
    option("keystone_backend", config.LOCAL_KEYSTONE)
    return RequestContext(project_id="p", user_id="u", username="n", password="pw", is_admin=False, overwrite=False)


class Missing(Exception):
    pass


class Clash(Exception):
    pass


class Plugin(plugin.ClientPlugin):
    service_types = ["volumev3"]
    supported_versions = ["1", "2"]

    def _create(self, version: str | None = None) -> Any:
        return ["client", version]

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, Missing)

    def is_conflict(self, ex: BaseException) -> bool:
        return isinstance(ex, Clash)


def test_one_plugin_per_context(context: RequestContext) -> None:
    made = context.clients
    assert isinstance(made, clients.OpenStackClients)
    assert made.client_plugin("keystone") is made.client_plugin("keystone")
    assert made.client("keystone") is made.client("keystone")
    assert made.client_plugin("nonsense") is None
    assert made.client("nonsense") is None
    assert clients.has_client("heat")
    assert not clients.has_client("nonsense")
    assert made.authenticated()


def test_versions(context: RequestContext) -> None:
    made = Plugin(context)
    assert made.client() == ["client", None]
    assert made.client(version="2") is made.client("2")
    with pytest.raises(exceptions.InvalidServiceVersion):
        made.client("3")


@pytest.mark.parametrize(
    ("filter_name", "error", "passes"),
    [
        ("ignore_not_found", Missing(), True),
        ("ignore_not_found", Clash(), False),
        ("ignore_conflict_and_not_found", Missing(), True),
        ("ignore_conflict_and_not_found", Clash(), True),
        ("ignore_conflict_and_not_found", ValueError(), False),
    ],
)
def test_error_filters(context: RequestContext, filter_name: str, error: Exception, passes: bool) -> None:
    made = Plugin(context)
    guard = getattr(made, filter_name)

    def with_statement() -> None:
        with guard:
            raise error

    def with_call() -> None:
        try:
            raise error
        except Exception as caught:
            guard(caught)

    for way in (with_statement, with_call):
        if passes:
            way()
        else:
            with pytest.raises(type(error)):
                way()


def test_region(context: RequestContext, option: Callable[..., None]) -> None:
    made = Plugin(context)
    assert made._get_region_name() is None
    option("region_name_for_services", "service")
    assert made._get_region_name() == "service"
    context.region_name = "mine"
    assert made._get_region_name() == "mine"
    option("region_name_for_shared_services", "shared")
    assert made._get_region_name() == "shared"
    assert HeatClientPlugin(context)._get_region_name() == "mine"


class Session:
    def __init__(self, catalog: dict[str, str]) -> None:
        self.catalog = catalog
        self.asked: list[dict[str, Any]] = []

    def get_endpoint(self, **kwargs: Any) -> str | None:
        self.asked.append(kwargs)
        return self.catalog.get(kwargs["service_type"])


def test_endpoints(context: RequestContext, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session({"volumev3": "http://v"})
    monkeypatch.setattr(RequestContext, "keystone_session", session)
    made = Plugin(context)
    assert made.url_for(service_type="volumev3", endpoint_type="internalURL") == "http://v"
    assert session.asked == [{"service_type": "volumev3", "interface": "internalURL", "region_name": None}]
    with pytest.raises(errors.EndpointNotFound):
        made.url_for(service_type="image")
    assert made.does_endpoint_exist("volumev3", "cinder")
    assert not made.does_endpoint_exist("image", "glance")


def test_heat_urls(context: RequestContext, option: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session({"orchestration": "http://cat/v1/p", "cloudformation": "http://cat:8000"})
    monkeypatch.setattr(RequestContext, "keystone_session", session)
    made = HeatClientPlugin(context)
    assert made.get_heat_url() == "http://cat/v1/p"
    assert made.get_cfn_metadata_server_url() == "http://cat:8000/v1/"
    option("heat_metadata_server_url", "http://set/v1")
    assert made.get_cfn_metadata_server_url() == "http://set/v1/"
    option("url", "http://own/v1/%(tenant_id)s", "clients_heat")
    assert made.get_heat_url() == "http://own/v1/p"
    adapter = made.client()
    assert adapter.endpoint_override == "http://own/v1/p"
    assert adapter.additional_headers == {"X-Auth-User": "n", "X-Auth-Key": "pw"}
    assert made.is_not_found(errors.NotFound())
    assert made.is_conflict(errors.Conflict())
    assert made.is_over_limit(errors.RequestEntityTooLarge())
    assert not made.is_not_found(ValueError())


def test_keystone_errors(context: RequestContext) -> None:
    made = KeystoneClientPlugin(context)
    assert made.is_not_found(errors.NotFound())
    assert made.is_not_found(exceptions.EntityNotFound("x", "y"))
    assert made.is_conflict(errors.Conflict())
    assert made.is_client_exception(errors.Conflict())
    assert not made.is_client_exception(ValueError())


def test_sdk(context: RequestContext) -> None:
    from openstack import exceptions as sdk_errors

    made = context.clients.client_plugin("openstack")
    missing = sdk_errors.NotFoundException("nobody")
    assert made.is_not_found(missing)
    assert made.is_client_exception(missing)
    assert not made.is_conflict(missing)
    assert made.is_conflict(sdk_errors.ConflictException("twice"))


def test_sdk_takes_the_endpoint_that_each_service_is_configured_with(
    context: RequestContext, option: Callable[..., None]
) -> None:
    from keystoneauth1 import session

    option("endpoint_type", "internalURL", "clients_neutron")
    option("endpoint_type", "adminURL", "clients_keystone")
    context._session = session.Session()
    context._auth_plugin = context._session.auth = token_endpoint.Token("http://nowhere", "t")
    told = context.clients.client_plugin("openstack")._create().config.get_interface
    assert {name: told(name) for name in ("network", "identity", "compute", "block-storage")} == {
        "network": "internal", "identity": "admin", "compute": "public", "block-storage": "public"}  # fmt: skip


@pytest.mark.parametrize(
    ("finder", "kind"),
    [("find_network_segment", "segment"), ("find_network_port", "port"), ("find_network_ip", "floatingip")],
)
def test_sdk_finds_in_the_network_service(
    context: RequestContext, monkeypatch: pytest.MonkeyPatch, finder: str, kind: str
) -> None:
    network = context.clients.client_plugin("neutron")
    monkeypatch.setattr(network, "find_resourceid_by_name_or_id", lambda *args: "/".join(args))
    assert getattr(context.clients.client_plugin("openstack"), finder)("name") == f"{kind}/name"


def test_another_cloud_backend(option: Callable[..., None]) -> None:
    option("cloud_backend", f"{__name__}.nothing.Backend")
    with pytest.raises(exceptions.Invalid, match="Invalid cloud_backend setting"):
        _ = RequestContext(is_admin=False, overwrite=False).clients
    option("cloud_backend", "types.SimpleNamespace")
    with pytest.raises(TypeError):
        _ = RequestContext(is_admin=False, overwrite=False).clients


# --- without a Keystone -----------------------------------------------------------------------------------------------


def test_local_keystone(context: RequestContext, caplog: pytest.LogCaptureFixture) -> None:
    local._said = False
    keystone = context.clients.client("keystone")
    assert isinstance(keystone, local.LocalKeystone)
    assert "without Keystone" in caplog.text
    assert keystone.create_trust_context() is context
    assert keystone.create_stack_domain_project("stack") != "p"
    user = keystone.create_stack_domain_user("name", "p")
    key = keystone.create_stack_domain_user_keypair(user, "p")
    assert key.access and key.secret
    assert (keystone.v3_endpoint, keystone.stack_domain_id) == ("", "default")
    assert keystone.stack_domain_user_token(user, "p", "x")
    keystone.delete_stack_domain_user_keypair(user_id=user, project_id="p", credential_id=key.id)
    keystone.delete_stack_domain_user(user_id=user, project_id="p")
    keystone.delete_stack_domain_project(project_id="p")


def test_local_has_every_method_of_the_real_one() -> None:
    from openkeel_heat.clients.keystone_backend import KeystoneBackend

    # without a Keystone there are no clients of it to hand out
    clients_of_it = {"client", "auth_region_name", "domain_admin_auth", "domain_admin_client"}
    wanted = {name for name in vars(KeystoneBackend) if not name.startswith("_")} - clients_of_it
    assert wanted <= set(dir(local.LocalKeystone))


def test_nothing_heavy_is_imported_without_a_keystone() -> None:
    code = (
        "from openkeel_heat.common import config, context; from oslo_config import cfg; import sys\n"
        "config.register_all(); cfg.CONF([], project='heat', default_config_files=[])\n"
        "cfg.CONF.set_override('keystone_backend', config.LOCAL_KEYSTONE)\n"
        "c = context.RequestContext(project_id='p', is_admin=False)\n"
        "c.clients.client('keystone').create_stack_domain_project('s')\n"
        "c.clients.client_plugin('keystone').is_not_found(ValueError())\n"
        "print([m for m in ('keystoneauth1', 'requests', 'openstack', 'keystoneclient', 'heat') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- memories ---------------------------------------------------------------------------------------------------------


def test_memo_is_off_by_default(option: Callable[..., None]) -> None:
    calls: list[int] = []
    for _ in range(2):
        assert cache.MEMOIZE_FINDER.get_or_create("k", lambda: calls.append(1) or "v") == "v"
    assert len(calls) == 2


def test_memo(option: Callable[..., None]) -> None:
    from oslo_cache import core

    core.configure(cfg.CONF)
    option("enabled", True, "cache")
    option("backend", "oslo_cache.dict", "cache")
    cache.get_cache_region.cache_clear()
    calls: list[str] = []

    class Finder:
        @cache.MEMOIZE_FINDER
        def find(self, name: str) -> str:
            calls.append(name)
            return f"id of {name}"

    finder = Finder()
    assert [finder.find("a"), finder.find("a"), finder.find("b")] == ["id of a", "id of a", "id of b"]
    assert calls == ["a", "b"]
    Finder.find.invalidate(finder, "a")  # type: ignore[attr-defined]
    finder.find("a")
    assert calls == ["a", "b", "a"]
    refused: list[int] = []
    for _ in range(2):
        cache.MEMOIZE_CONSTRAINTS.get_or_create("bad", lambda: refused.append(1), keep=lambda value: value is True)
    assert len(refused) == 2
    option("caching", False, "resource_finder_cache")
    finder.find("b")
    assert calls == ["a", "b", "a", "b"]
    cache.get_cache_region.cache_clear()


def test_what_functions_found_is_apart_by_each_argument(option: Callable[..., None]) -> None:
    """Also by the first, which is no object with such a method though texts have one of that name."""
    from oslo_cache import core

    core.configure(cfg.CONF)
    option("enabled", True, "cache")
    option("backend", "oslo_cache.dict", "cache")
    cache.get_cache_region.cache_clear()

    @cache.MEMOIZE_FINDER
    def find(project: str, name: str) -> str:
        return f"{name} of {project}"

    try:
        assert [find("p1", "n"), find("p2", "n")] == ["n of p1", "n of p2"]
        assert [find("p", "a|b"), find("p|a", "b")] == ["a|b of p", "b of p|a"]
    finally:
        cache.get_cache_region.cache_clear()


def test_a_cache_that_is_away_is_nobodys_error(option: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Above all it does not make of what a service has done an error, so that nobody notes what was made."""

    class Away:
        def __getattr__(self, name: str) -> Any:
            def refuse(*args: Any, **kwargs: Any) -> Any:
                raise ConnectionRefusedError("memcached")

            return refuse

    from oslo_cache import core

    core.configure(cfg.CONF)
    option("enabled", True, "cache")
    monkeypatch.setattr(cache, "get_cache_region", Away)
    assert cache.MEMOIZE_FINDER.get_or_create("k", lambda: "v") == "v"
    assert cache.MEMOIZE_FINDER.find("k", lambda: "id") == "id"
    cache.MEMOIZE_FINDER.forget("k")
    cache.MEMOIZE_FINDER.forget_id("id")
    with pytest.raises(LookupError):
        cache.MEMOIZE_FINDER.find("k", lambda: {}["absent"])


def test_an_error_of_who_is_asked_is_told_and_asked_for_once(option: Callable[..., None]) -> None:
    from oslo_cache import core

    core.configure(cfg.CONF)
    option("enabled", True, "cache")
    option("backend", "oslo_cache.dict", "cache")
    cache.get_cache_region.cache_clear()
    asked: list[int] = []

    def fail() -> str:
        asked.append(1)
        raise LookupError("no such name")

    try:
        with pytest.raises(LookupError, match="no such name"):
            cache.MEMOIZE_FINDER.find("k", fail)
        assert len(asked) == 1
        assert cache.MEMOIZE_FINDER.find("k", lambda: "id") == "id", "errors are not remembered"
    finally:
        cache.get_cache_region.cache_clear()
