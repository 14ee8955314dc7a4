# SPDX-License-Identifier: Apache-2.0
"""The context of a request: who asks, for which project, with which credentials.

It crosses the bus as :meth:`RequestContext.to_dict` and is the same in both APIs, the engine and every plug-in. What
costs something (sessions, the plug-in that authenticates, the manager of clients, whether the user is an
administrator) is made when it is asked for. One context may be used by several threads at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from oslo_config import cfg
from oslo_context import context as oslo_context
from oslo_log import log as logging

from openkeel_heat.common import config, exceptions
from openkeel_heat.common.options import keystone as keystone_options

if TYPE_CHECKING:
    from keystoneauth1 import plugin, session

LOG = logging.getLogger(__name__)

#: Where a user is looked for whose domain nobody knows.
DEFAULT_DOMAIN = "default"
#: Makes the manager of clients of a context; :mod:`openkeel_heat.clients` sets it (a layer above this one).
clients_factory: Callable[[RequestContext], Any] | None = None


class RequestContext(oslo_context.RequestContext):
    FROM_DICT_EXTRA_KEYS = [
        "username",
        "password",
        "aws_creds",
        "trust_id",
        "trustor_user_id",
        "auth_token_info",
        "auth_url",
        "region_name",
    ]
    #: Older processes say these for the fields on the left.
    _OLD_KEYS = {
        "project_id": "tenant_id",
        "project_name": "tenant",
        "user_id": "user_id",
        "user_domain_id": "user_domain_id",
        "project_domain_id": "project_domain_id",
    }

    def __init__(
        self,
        username: str | None = None,
        password: str | None = None,
        aws_creds: Any = None,
        auth_url: str | None = None,
        is_admin: bool | None = None,
        trust_id: str | None = None,
        trustor_user_id: str | None = None,
        auth_token_info: dict[str, Any] | None = None,
        region_name: str | None = None,
        auth_plugin: plugin.BaseAuthPlugin | None = None,
        trusts_auth_plugin: plugin.BaseAuthPlugin | None = None,
        **kwargs: Any,
    ) -> None:
        self._lock = threading.RLock()
        super().__init__(is_admin=is_admin, **kwargs)
        self.username = self.user_name if username is None and password is None else username
        self.password = password
        self.aws_creds = aws_creds
        self.auth_url = auth_url
        self.trust_id = trust_id
        self.trustor_user_id = trustor_user_id
        self.auth_token_info = auth_token_info
        self.region_name = region_name
        self._auth_plugin = auth_plugin
        self._trusts_auth_plugin = trusts_auth_plugin
        self._session: session.Session | None = None
        self._clients: Any = None
        self._caches: dict[type, Any] = {}
        self._successor: Callable[[], Any] | None = None

    # --- administrators and policy

    @property
    def is_admin(self) -> bool:
        """Whether the policy takes the user for an administrator; asked at first use."""
        if self._is_admin is None:
            self._is_admin = self.policy.check_values_is_admin(self._policy_values(None))
        return self._is_admin

    @is_admin.setter
    def is_admin(self, value: bool | None) -> None:
        self._is_admin = value

    @property
    def policy(self) -> Any:
        from openkeel_heat.common import policy

        return policy.get_enforcer()

    def to_policy_values(self) -> Any:
        return self._policy_values(self.is_admin)

    def _policy_values(self, is_admin: bool | None) -> Any:
        values = super().to_policy_values()
        values["user"] = self.user_id
        values["tenant"] = self.project_id
        values["is_admin"] = is_admin
        values["auth_token_info"] = self.auth_token_info
        return values

    # --- logs

    def get_logging_values(self) -> dict[str, Any]:
        """What formats of log lines may name: who asks, for which project, in which request.

        Nothing of it lets a reader of the log act as the user, and nobody is asked: whoever is asked logs, too.
        """
        user_domain, project_domain = self._known("user_domain_id"), self._known("project_domain_id")
        identity = (self.user_id, self.project_id, self.domain_id, user_domain, project_domain)
        return {
            "request_id": self.request_id,
            "global_request_id": self.global_request_id,
            "resource_uuid": self.resource_uuid,
            "user": self.user_id,
            "user_id": self.user_id,
            "user_name": self.user_name,
            "tenant": self.project_id,
            "project": self.project_id,
            "project_id": self.project_id,
            "project_name": self.project_name,
            "domain": self.domain_id,
            "domain_name": self.domain_name,
            "user_domain": user_domain,
            "user_domain_name": self.user_domain_name,
            "project_domain": project_domain,
            "project_domain_name": self.project_domain_name,
            "user_identity": " ".join(part or "-" for part in identity),
            "roles": self._known("roles"),
            "system_scope": self.system_scope,
            "is_admin": self._is_admin,
            "is_admin_project": self.is_admin_project,
            "read_only": self.read_only,
            "show_deleted": self.show_deleted,
            "auth_token": "***" if self.auth_token else None,
        }

    def _known(self, name: str) -> Any:
        """An attribute, as far as it is known already."""
        return getattr(self, name)

    # --- crossing the bus

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        for key in self.FROM_DICT_EXTRA_KEYS:
            values[key] = getattr(self, key)
        values["project_name"] = self.project_name
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any], **kwargs: Any) -> Self:
        for key, old_key in cls._OLD_KEYS.items():
            if old_key in values:
                kwargs.setdefault(key, values[old_key])
        return super().from_dict(values, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Another context for the same request; sessions and clients are made anew."""
        copied = type(self).from_dict(
            self.to_dict(),
            overwrite=False,
            auth_plugin=self._auth_plugin,
            trusts_auth_plugin=self._trusts_auth_plugin,
        )
        copied._successor = self._successor
        return copied

    # --- what is made when it is asked for

    def cache(self, cache_cls: type) -> Any:
        """The object of *cache_cls* that belongs to this context; it lives as long."""
        with self._lock:
            if cache_cls not in self._caches:
                self._caches[cache_cls] = cache_cls()
            return self._caches[cache_cls]

    @property
    def clients(self) -> Any:
        with self._lock:
            if self._clients is None:
                if clients_factory is None:
                    import importlib

                    importlib.import_module("openkeel_heat.clients")
                assert clients_factory is not None
                self._clients = clients_factory(self)
            return self._clients

    @property
    def keystone_session(self) -> session.Session:
        """The HTTP session that carries the credentials of this context."""
        with self._lock:
            if self._session is None:
                from openkeel_heat.common import sessions

                self._session = sessions.make(
                    connect_retries=cfg.CONF.client_retry_limit, **config.get_ssl_options("keystone")
                )
            if not self._session.auth:
                self._session.auth = self.auth_plugin
            return self._session

    @property
    def keystone_v3_endpoint(self) -> str:
        if self.auth_url:
            return self.auth_url.replace("v2.0", "v3")
        uri = config.get_auth_uri()
        if not uri:
            LOG.error("There is no identity endpoint: set auth_uri in [clients_keystone]")
            raise exceptions.AuthorizationFailure()
        return uri

    @property
    def auth_plugin(self) -> plugin.BaseAuthPlugin:
        """What authenticates calls to other services: the trust if there is one, else the user's credentials."""
        with self._lock:
            if not self._auth_plugin:
                self._auth_plugin = self.trusts_auth_plugin if self.trust_id else self._create_auth_plugin()
            return self._auth_plugin

    def outlive_token(self, successor: Callable[[], Any]) -> None:
        """Have *successor* asked for an authentication plug-in (or None) when the token of the request is over."""
        self._successor = successor

    @property
    def outlives_token(self) -> bool:
        return self._successor is not None

    def _next_auth_plugin(self) -> Any:
        return None if self._successor is None else self._successor()

    def reload_auth_plugin(self) -> None:
        with self._lock:
            self._auth_plugin = None
            if self._session is not None:
                self._session.auth = None

    @property
    def trusts_auth_plugin(self) -> plugin.BaseAuthPlugin:
        with self._lock:
            if not self._trusts_auth_plugin:
                from keystoneauth1 import exceptions as keystone_errors, loading

                from openkeel_heat.common import sessions

                keystone_options.register_trustee(cfg.CONF)
                try:
                    made = loading.load_auth_from_conf_options(
                        cfg.CONF, keystone_options.TRUSTEE, trust_id=self.trust_id
                    )
                except keystone_errors.MissingRequiredOptions as error:
                    LOG.error("The [%s] section is incomplete: %s", keystone_options.TRUSTEE, error)
                    raise exceptions.AuthorizationFailure() from None
                if not made:
                    LOG.error("The [%s] section has no credentials", keystone_options.TRUSTEE)
                    raise exceptions.AuthorizationFailure()
                # Without a trust it is the service's own account.
                self._trusts_auth_plugin = sessions.shared(made, self.trust_id)
            return self._trusts_auth_plugin

    def _create_auth_plugin(self) -> plugin.BaseAuthPlugin:
        if self.auth_token_info:
            from keystoneauth1 import access

            from openkeel_heat.common import expiring_token

            return expiring_token.ExpiringToken(
                access.create(body=self.auth_token_info, auth_token=self.auth_token),
                self.keystone_v3_endpoint,
                self._next_auth_plugin,
            )
        if self.password:
            from keystoneauth1.identity import generic

            return generic.Password(
                username=self.username,
                password=self.password,
                project_id=self.project_id,
                user_domain_id=self.user_domain_id,
                default_domain_id=DEFAULT_DOMAIN,  # stored credentials do not say it
                auth_url=self.keystone_v3_endpoint,
            )
        if self.auth_token:
            # A bare token has no catalogue: only the identity service can be called with it.
            from keystoneauth1 import token_endpoint

            return token_endpoint.Token(endpoint=self.keystone_v3_endpoint, token=self.auth_token)
        LOG.error("The request has no password, trust or token to call other services with")
        raise exceptions.AuthorizationFailure()


class _FromKeystone:
    """An attribute that is asked from Keystone when nobody has said it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.slot = f"_{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if not getattr(instance, self.slot, None):
            instance._load_keystone_data()
        return getattr(instance, self.slot, None)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(instance, self.slot, value)


class StoredContext(RequestContext):
    """A context made of the credentials that a stack keeps: roles and domains are not stored but asked for."""

    roles = _FromKeystone()
    user_domain_id = _FromKeystone()
    project_domain_id = _FromKeystone()

    _keystone_loaded = False

    def _known(self, name: str) -> Any:
        return getattr(self, f"_{name}", None)

    def _load_keystone_data(self) -> None:
        with self._lock:
            if self._keystone_loaded:
                return
            self._keystone_loaded = True
            if not config.has_keystone():
                return
            from keystoneauth1 import exceptions as keystone_errors

            try:
                access: Any = self.auth_plugin.get_access(self.keystone_session)  # type: ignore[attr-defined]
            except Exception as error:
                # Who asks again must not be told that there are no roles.
                self._keystone_loaded = False
                if isinstance(error, (keystone_errors.Unauthorized, keystone_errors.NotFound)):
                    raise exceptions.AuthorizationFailure() from None
                raise
            self.roles = access.role_names
            self.user_domain_id = access.user_domain_id
            self.project_domain_id = access.project_domain_id


def get_admin_context(show_deleted: bool = False) -> RequestContext:
    return RequestContext(is_admin=True, show_deleted=show_deleted)
