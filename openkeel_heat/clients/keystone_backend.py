# SPDX-License-Identifier: Apache-2.0
"""What stacks need from Keystone: trusts, the projects and users of stacks, their keys and tokens.

Two identities act here. Trusts are made with the credentials of the user (``client``). Projects and users of stacks
live in a domain of their own, which only its administrator may touch (``domain_admin_client``); without such a domain
users are made in the user's own project, as old installations have it.

``keystone_backend`` may name another class with these methods; :mod:`openkeel_heat.clients.local` is one for clouds
without Keystone.
"""

from __future__ import annotations

import importlib
import json
import uuid
import weakref
from typing import Any, NamedTuple

from keystoneauth1 import adapter, exceptions as errors
from keystoneauth1.identity import generic
from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.clients import patience
from openkeel_heat.clients.identity import Identity
from openkeel_heat.common import config, context as contexts, exceptions, passwords, sessions
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

DEFAULT_BACKEND = "heat.engine.clients.os.keystone.heat_keystoneclient.KsClientWrapper"
USER_NAME_MAX = 255
PROJECT_NAME_MAX = 64

#: Rules for people's passwords that users of stacks are free of.
STACK_USER_OPTIONS = {
    "ignore_change_password_upon_first_use": True,
    "ignore_password_expiry": True,
    "ignore_lockout_failure_attempts": True,
}


class AccessKey(NamedTuple):
    """A key for signed requests; *id* is that of the credential in Keystone."""

    id: str
    access: str
    secret: str


class KeystoneBackend:
    def __init__(self, context: contexts.RequestContext, region_name: str | None = None) -> None:
        self._context = weakref.ref(context)
        self._region_name = region_name
        self._interface = config.get_client_option("keystone", "endpoint_type").removesuffix("URL")
        self.session = context.keystone_session
        self.v3_endpoint = context.keystone_v3_endpoint
        self._client: Identity | None = None
        self._domain_admin_auth: generic.Password | None = None
        self._domain_admin_client: Identity | None = None
        self._stack_domain_id: str | None = cfg.CONF.stack_user_domain_id
        self.stack_domain_name: str | None = cfg.CONF.stack_user_domain_name
        if context.trust_id:
            # Errors of the trust show now, not in the middle of something.
            _ = self.client

    @property
    def context(self) -> contexts.RequestContext:
        context = self._context()
        assert context is not None, "the context of this client is gone"
        return context

    # --- the two clients

    def _identity(self, auth: Any = None) -> Identity:
        return Identity(
            adapter.Adapter(
                self.session,
                auth=auth,
                service_type="identity",
                interface=self._interface,
                region_name=self.auth_region_name,
                min_version="3",
                max_version="3.latest",
                connect_retries=cfg.CONF.client_retry_limit,
            )
        )

    @property
    def client(self) -> Identity:
        """Identity with the credentials of the context; a trust is checked to be what it should."""
        if self._client is None:
            client = self._identity()
            if hasattr(self.context.auth_plugin, "get_access"):
                self._check_access()
            self._client = client
        return self._client

    def _check_access(self) -> None:
        try:
            access = self.context.auth_plugin.get_access(self.session)  # type: ignore[attr-defined]
        except (errors.Unauthorized, errors.NotFound):
            # A trust that is gone is not found: as an answer to what is asked next it would tell of something else.
            LOG.error("Keystone refuses the credentials of the context")
            raise exceptions.AuthorizationFailure() from None
        if not self.context.trust_id:
            return
        if not access.trust_scoped:
            LOG.error("The token is not scoped to the trust")
            raise exceptions.AuthorizationFailure()
        if access.user_id != self.context.trustor_user_id:
            LOG.error("The trust does not impersonate its trustor")
            raise exceptions.AuthorizationFailure()

    @property
    def auth_region_name(self) -> str | None:
        from keystonemiddleware import auth_token  # noqa: F401  (registers its group)

        return cfg.CONF.keystone_authtoken.region_name or self._region_name

    @property
    def stack_domain(self) -> str | None:
        """Whether there is a domain for users of stacks: its id or name."""
        return self._stack_domain_id or self.stack_domain_name

    @property
    def domain_admin_auth(self) -> generic.Password:
        if self._domain_admin_auth is None:
            auth = sessions.shared(
                generic.Password(
                    auth_url=self.v3_endpoint,
                    username=cfg.CONF.stack_domain_admin,
                    password=cfg.CONF.stack_domain_admin_password,
                    user_domain_id=self._stack_domain_id,
                    user_domain_name=self.stack_domain_name,
                    domain_id=self._stack_domain_id,
                    domain_name=self.stack_domain_name,
                )
            )
            try:
                auth.get_token(self.session)
            except errors.Unauthorized:
                LOG.error("Keystone refuses the administrator of the stacks' domain")
                raise exceptions.AuthorizationFailure() from None
            self._domain_admin_auth = auth
        return self._domain_admin_auth

    @property
    def domain_admin_client(self) -> Identity:
        if self._domain_admin_client is None:
            self._domain_admin_client = self._identity(self.domain_admin_auth)
        return self._domain_admin_client

    @property
    def stack_domain_id(self) -> str:
        if not self._stack_domain_id:
            self._stack_domain_id = self.domain_admin_auth.get_access(self.session).domain_id
        return str(self._stack_domain_id)

    # --- trusts

    def create_trust_context(self) -> contexts.RequestContext:
        """A context that acts by a new trust of the user to this service; one that has a trust stays as it is."""
        if self.context.trust_id:
            return self.context
        return self._new_trust()

    def regenerate_trust_context(self) -> contexts.RequestContext:
        """A context with a new trust; the trust of the present context, if it has one, is deleted."""
        made = self._new_trust()
        if self.context.trust_id:
            self.delete_trust(self.context.trust_id)
        return made

    def _new_trust(self) -> contexts.RequestContext:
        auth = self.context.auth_plugin
        trustor = auth.get_user_id(self.session) or self.context.user_id
        project = auth.get_project_id(self.session) or self.context.project_id
        try:
            trustee = self.context.trusts_auth_plugin.get_user_id(self.session)
        except errors.Unauthorized:
            LOG.error("Keystone refuses the credentials of the [trustee] section")
            raise exceptions.AuthorizationFailure() from None
        roles = self._roles_to_delegate()
        redelegate = cfg.CONF.reauthentication_auth_method == "trusts" and cfg.CONF.allow_trusts_redelegation
        try:
            trust = self.client.trusts.create(
                trustor_user_id=trustor,
                trustee_user_id=trustee,
                project_id=project,
                impersonation=True,
                allow_redelegation=redelegate,
                roles=roles,
            )
        except errors.NotFound:
            raise exceptions.MissingCredentialError(required=_("roles %s") % _described(roles)) from None
        except errors.Forbidden as refusal:
            LOG.warning("Keystone lets user %s make no trust with these credentials: %s", trustor, refusal)
            raise exceptions.Forbidden(action=_("these credentials to make a trust")) from None
        made = contexts.RequestContext.from_dict(self.context.to_dict(), overwrite=False)
        made.trust_id = trust.id
        made.trustor_user_id = trustor
        return made

    def _roles_to_delegate(self) -> list[dict[str, str]]:
        """The roles of the configuration, else those of the token, by id where the token tells."""
        if cfg.CONF.trusts_delegated_roles:
            return [{"name": name} for name in cfg.CONF.trusts_delegated_roles]
        of_token = ((self.context.auth_token_info or {}).get("token") or {}).get("roles")
        if of_token:
            return [{"id": role["id"]} for role in of_token]
        return [{"name": name} for name in self.context.roles]

    def delete_trust(self, trust_id: str) -> None:
        try:
            self.client.trusts.delete(trust_id)
        except (errors.NotFound, errors.Unauthorized):
            LOG.debug("Trust %s is gone already", trust_id)
        sessions.forget_trust(trust_id)

    # --- projects and users of stacks

    def create_stack_domain_project(self, stack_id: str) -> str:
        """The id of a new project in the stacks' domain (without a domain: the user's own)."""
        if not self.stack_domain:
            return str(self.context.project_id)
        project = self.domain_admin_client.projects.create(
            name=f"{self.context.project_id}-{stack_id}"[:PROJECT_NAME_MAX],
            domain_id=self.stack_domain_id,
            description="Heat stack user project",
        )
        return str(project.id)

    def delete_stack_domain_project(self, project_id: str) -> None:
        """Delete a project of the stacks' domain, never one of any other."""
        if not self.stack_domain:
            return
        try:
            project = self.domain_admin_client.projects.get(project_id)
        except errors.NotFound:
            return
        except errors.Forbidden:
            LOG.warning("Project %s cannot be looked at and is not deleted", project_id)
            return
        if project.domain_id != self.stack_domain_id:
            LOG.warning("Project %s is not in the stacks' domain and is not deleted", project_id)
            return
        self._unless_gone(self.domain_admin_client.projects.delete, project_id)

    def create_stack_user(self, username: str, password: str = "") -> str:
        """A user in the project of the context, for clouds without a domain for stacks."""
        return self._make_user(self.client, username, password, self.context.project_id)

    def create_stack_domain_user(self, username: str, project_id: str, password: str | None = None) -> str:
        """A user of the stacks' domain with the stack user role in *project_id*; its id."""
        if not self.stack_domain:
            return self.create_stack_user(username, password or "")
        return self._make_user(
            self.domain_admin_client,
            username,
            password,
            project_id,
            domain_id=self.stack_domain_id,
            options=STACK_USER_OPTIONS,
        )

    def _make_user(
        self, client: Identity, username: str, password: str | None, project_id: str | None, **values: Any
    ) -> str:
        roles = client.roles.list(name=cfg.CONF.heat_stack_user_role)
        if len(roles) != 1:
            LOG.error("User %s cannot get role %s: there is no such role", username, cfg.CONF.heat_stack_user_role)
            raise exceptions.Error(_("Can't find role %s") % cfg.CONF.heat_stack_user_role)
        if len(username) > USER_NAME_MAX:
            LOG.warning("Of the user name %s only the end is used", username)
        user = client.users.create(
            name=username[-USER_NAME_MAX:], password=password, default_project_id=project_id, **values
        )
        # Who came again after a pause would make another user, or meet this one.
        with patience.may_pause(False):
            client.roles.grant(roles[0].id, user=user.id, project=project_id)
        return str(user.id)

    def delete_stack_user(self, user_id: str) -> None:
        self._unless_gone(self.client.users.delete, user_id)

    def delete_stack_domain_user(self, user_id: str, project_id: str) -> None:
        if not self.stack_domain:
            return self.delete_stack_user(user_id)
        try:
            self._check_stack_domain_user(user_id, project_id, "delete")
            self.domain_admin_client.users.delete(user_id)
        except errors.NotFound:
            LOG.debug("User %s is gone already", user_id)
        return None

    def disable_stack_user(self, user_id: str) -> None:
        self.client.users.update(user_id, enabled=False)

    def enable_stack_user(self, user_id: str) -> None:
        self.client.users.update(user_id, enabled=True)

    def disable_stack_domain_user(self, user_id: str, project_id: str) -> None:
        self._switch_stack_domain_user(user_id, project_id, False)

    def enable_stack_domain_user(self, user_id: str, project_id: str) -> None:
        self._switch_stack_domain_user(user_id, project_id, True)

    def set_stack_domain_user_password(self, user_id: str, project_id: str, password: str) -> None:
        """Give a user that was made without a password one."""
        if not self.stack_domain:
            self.client.users.update(user_id, password=password)
            return
        self._check_stack_domain_user(user_id, project_id, "update")
        self.domain_admin_client.users.update(user_id, password=password)

    def _switch_stack_domain_user(self, user_id: str, project_id: str, enabled: bool) -> None:
        if not self.stack_domain:
            self.client.users.update(user_id, enabled=enabled)
            return
        self._check_stack_domain_user(user_id, project_id, "enable" if enabled else "disable")
        self.domain_admin_client.users.update(user_id, enabled=enabled)

    def _check_stack_domain_user(self, user_id: str, project_id: str, action: str) -> None:
        """What a resource stored may have been tampered with: touch only users of the domain and of that project."""
        user = self.domain_admin_client.users.get(user_id)
        if user.domain_id != self.stack_domain_id:
            raise ValueError(_("User %s in invalid domain") % action)
        if user.get("default_project_id") != project_id:
            raise ValueError(_("User %s in invalid project") % action)

    def stack_domain_user_token(self, user_id: str, project_id: str, password: str) -> str:
        """A token for a user of the stacks' domain, to be used inside of an instance."""
        if not self.stack_domain:
            raise exceptions.Error(
                _("Cannot get stack domain user token, no stack domain id configured, please fix your heat.conf")
            )
        auth = generic.Password(auth_url=self.v3_endpoint, user_id=user_id, password=password, project_id=project_id)
        return str(auth.get_token(self.session))

    # --- keys for signed requests

    def create_ec2_keypair(self, user_id: str | None = None) -> AccessKey:
        user_id = user_id or self.context.auth_plugin.get_user_id(self.session) or self.context.user_id
        return _new_key(self.client, user_id, self.context.project_id)

    def create_stack_domain_user_keypair(self, user_id: str, project_id: str) -> AccessKey:
        if not self.stack_domain:
            return self.create_ec2_keypair(user_id)
        return _new_key(self.domain_admin_client, user_id, project_id)

    def get_ec2_keypair(
        self, credential_id: str | None = None, access: str | None = None, user_id: str | None = None
    ) -> AccessKey | None:
        if credential_id:
            return _key_of(self.client.credentials.get(credential_id))
        if access:
            return self._find_ec2_keypair(access, user_id)
        raise ValueError("Must specify either credential_id or access")

    def _find_ec2_keypair(self, access: str, user_id: str | None = None) -> AccessKey | None:
        """By the access key, which Keystone cannot search for: stored keys without an id are old."""
        for credential in self.client.credentials.list(user_id=user_id, type="ec2"):
            key = _key_of(credential)
            if key.access == access:
                return key
        return None

    def delete_ec2_keypair(
        self, credential_id: str | None = None, access: str | None = None, user_id: str | None = None
    ) -> None:
        if credential_id:
            self._unless_gone(self.client.credentials.delete, credential_id)
        elif access:
            found = self._find_ec2_keypair(access, user_id)
            if found is not None:
                self.client.credentials.delete(found.id)
        else:
            raise ValueError("Must specify either credential_id or access")

    def delete_stack_domain_user_keypair(self, user_id: str, project_id: str, credential_id: str) -> None:
        if not self.stack_domain:
            self.delete_ec2_keypair(credential_id=credential_id)
            return
        self._check_stack_domain_user(user_id, project_id, "delete_keypair")
        self._unless_gone(self.domain_admin_client.credentials.delete, credential_id)

    # --- other things

    def server_keystone_endpoint_url(self, fallback_endpoint: str) -> str:
        """The identity endpoint that servers are told, by ``server_keystone_endpoint_type``."""
        interface = cfg.CONF.server_keystone_endpoint_type
        if not interface or not hasattr(self.context.auth_plugin, "get_access"):
            return fallback_endpoint
        try:
            access = self.context.auth_plugin.get_access(self.session)
        except errors.Unauthorized:
            LOG.error("Keystone refuses the credentials of the context")
            return fallback_endpoint
        urls = access.service_catalog.get_urls(service_type="identity", interface=interface)
        if not urls:
            return fallback_endpoint
        url = str(urls[0]).rstrip("/")
        return url if url.endswith("/v3") else f"{url}/v3"

    @staticmethod
    def _unless_gone(delete: Any, id_: str) -> None:
        try:
            delete(id_)
        except errors.NotFound:
            LOG.debug("%s is gone already", id_)


def _new_key(client: Identity, user_id: str | None, project_id: str | None) -> AccessKey:
    blob = {"access": uuid.uuid4().hex, "secret": passwords.generate_openstack_password()}
    made = client.credentials.create(user_id=user_id, type="ec2", blob=json.dumps(blob), project_id=project_id)
    return AccessKey(made.id, blob["access"], blob["secret"])


def _key_of(credential: Any) -> AccessKey:
    blob = json.loads(credential.blob)
    return AccessKey(credential.id, blob.get("access"), blob.get("secret"))


def _described(roles: list[dict[str, str]]) -> dict[str, list[str]]:
    """As error texts have it: the argument that named the roles, and the roles."""
    if roles and "id" in roles[0]:
        return {"role_ids": [role["id"] for role in roles]}
    return {"role_names": [role["name"] for role in roles]}


def make_backend(context: contexts.RequestContext, region_name: str | None = None) -> Any:
    """The backend that ``keystone_backend`` names, for a context."""
    name = cfg.CONF.keystone_backend
    if name == DEFAULT_BACKEND:
        return KeystoneBackend(context, region_name)
    module, _sep, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)(context)


KsClientWrapper = KeystoneBackend
KeystoneClient = make_backend
