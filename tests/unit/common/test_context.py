# SPDX-License-Identifier: Apache-2.0
"""What a context makes when it is asked for, and stored contexts."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import config, context as contexts, exceptions, policy
from openkeel_heat.common.context import RequestContext, StoredContext


@pytest.fixture(autouse=True)
def _options(option: Callable[..., None]) -> None:
    policy.reset()


class Plugin:
    calls = 0

    def __init__(self, access: Any = None) -> None:
        self.access = access

    def get_access(self, session: Any) -> Any:
        Plugin.calls += 1
        return self.access

    def get_cache_id(self) -> None:
        return None


class Access:
    role_names = ["member"]
    user_domain_id = "ud"
    project_domain_id = "pd"


def test_clients_are_made_once_by_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[RequestContext] = []

    def factory(context: RequestContext) -> object:
        made.append(context)
        return object()

    monkeypatch.setattr(contexts, "clients_factory", factory)
    context = RequestContext(overwrite=False)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(context.clients)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(set(map(id, found))) == 1


def test_stored_context_asks_keystone_once() -> None:
    Plugin.calls = 0
    context = StoredContext(auth_plugin=Plugin(Access()), user_id="u", overwrite=False, is_admin=False)
    assert Plugin.calls == 0
    assert context.roles == ["member"]
    assert context.user_domain_id == "ud"
    assert context.project_domain_id == "pd"
    assert Plugin.calls == 1


@pytest.mark.parametrize("error", ["ConnectFailure", "ServiceUnavailable", "Unauthorized"])
def test_stored_context_does_not_take_an_error_for_an_answer(error: str) -> None:
    """Who asks again after a pause would be told that there are no roles."""
    from keystoneauth1 import exceptions as errors

    class Away(Plugin):
        def get_access(self, session: Any) -> Any:
            if self.access is None:
                raise getattr(errors, error)()
            return self.access

    plugin = Away()
    context = StoredContext(auth_plugin=plugin, user_id="u", overwrite=False, is_admin=False)
    for _time in range(2):
        with pytest.raises((errors.ClientException, exceptions.AuthorizationFailure)):
            _ = context.roles
    plugin.access = Access()
    assert context.roles == ["member"] and context.user_domain_id == "ud"


def test_stored_context_without_a_keystone_asks_nobody(option: Callable[..., None]) -> None:
    option("keystone_backend", config.LOCAL_KEYSTONE)
    context = StoredContext(user_id="u", overwrite=False, is_admin=False)
    assert not context.roles
    assert context.to_dict()["user"] == "u"


def test_no_credentials_is_an_authorization_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(exceptions.AuthorizationFailure):
        _ = RequestContext(auth_url="http://k/v3", overwrite=False).auth_plugin


def test_kinds_of_credentials() -> None:
    password = RequestContext(username="u", password="p", auth_url="http://k/v2.0", project_id="x", overwrite=False)
    assert type(password.auth_plugin).__name__ == "Password"
    assert password.keystone_v3_endpoint == "http://k/v3"
    token = RequestContext(auth_token="t", auth_url="http://k/v3", overwrite=False)
    assert token.auth_plugin.get_token(None) == "t"
    info = {"token": {"user": {"id": "u", "name": "n", "domain": {"id": "d", "name": "dn"}}, "methods": ["token"]}}
    known = RequestContext(auth_token="t", auth_url="http://k/v3", auth_token_info=info, overwrite=False)
    assert known.auth_plugin.get_user_id(None) == "u"
    known.reload_auth_plugin()
    assert known.auth_plugin.get_user_id(None) == "u"


def test_trust_plugin_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    from keystoneauth1 import exceptions as errors, loading

    asked: list[tuple[str, str]] = []
    plugin = Plugin()

    def load(conf: cfg.ConfigOpts, group: str, trust_id: str) -> Any:
        asked.append((group, trust_id))
        return plugin if trust_id == "tr" else None

    monkeypatch.setattr(loading, "load_auth_from_conf_options", load)
    context = RequestContext(trust_id="tr", auth_url="http://k/v3", overwrite=False)
    assert context.auth_plugin is plugin
    assert context.auth_plugin is plugin
    assert asked == [("trustee", "tr")]
    with pytest.raises(exceptions.AuthorizationFailure):
        _ = RequestContext(trust_id="none", overwrite=False).auth_plugin

    def incomplete(*args: Any, **kwargs: Any) -> None:
        raise errors.MissingRequiredOptions([])

    monkeypatch.setattr(loading, "load_auth_from_conf_options", incomplete)
    with pytest.raises(exceptions.AuthorizationFailure):
        _ = RequestContext(trust_id="x", overwrite=False).auth_plugin


def test_deep_copies() -> None:
    context = RequestContext(project_id="p", auth_plugin=Plugin(), roles=["r"], is_admin=False, overwrite=False)
    again = copy.deepcopy(context)
    assert again is not context
    assert again.to_dict() == context.to_dict()
    assert again.auth_plugin is context.auth_plugin


def test_cache_belongs_to_the_context() -> None:
    class Thing:
        pass

    context = RequestContext(overwrite=False)
    assert context.cache(Thing) is context.cache(Thing)
    assert context.cache(Thing) is not RequestContext(overwrite=False).cache(Thing)


SECRETS = {
    "password": "pw-secret",
    "auth_token": "tk-secret",
    "trust_id": "tr-secret",
    "aws_creds": "aws-secret",
    "auth_token_info": {"token": {"secret": "info-secret"}},
}


@pytest.mark.parametrize("formatter", ["ContextFormatter", "JSONFormatter", "FluentFormatter"])
@pytest.mark.parametrize("kind", [RequestContext, StoredContext])
def test_log_lines_name_the_user_and_no_secret(
    formatter: str, kind: type[RequestContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing a line asks neither a policy (which would log in turn) nor Keystone."""
    from oslo_log import formatters, log

    def asked(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("asked while logging")

    monkeypatch.setattr(policy, "get_enforcer", asked)
    monkeypatch.setattr(StoredContext, "_load_keystone_data", asked)
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([])
    context = kind(user_id="u1", project_id="p1", username="name", overwrite=False, **SECRETS)
    record = logging.LogRecord("heat", logging.INFO, "f.py", 1, "something", (), None)
    record.__dict__["context"] = context
    line = str(
        getattr(formatters, formatter)(**({"config": conf} if formatter == "ContextFormatter" else {})).format(record)
    )
    assert "p1" in line and context.request_id in line
    assert "secret" not in line + str(record.__dict__.values())


def test_log_values_have_all_that_formats_name() -> None:
    from oslo_context import context as oslo_context

    context = RequestContext(user_id="u1", project_id="p1", is_admin=False, overwrite=False, **SECRETS)
    usual = oslo_context.RequestContext(
        user_id="u1", project_id="p1", request_id=context.request_id, auth_token="tk-secret", overwrite=False
    ).get_logging_values()
    ours = context.get_logging_values()
    assert {name: ours.get(name, "missing") for name in usual} == usual
