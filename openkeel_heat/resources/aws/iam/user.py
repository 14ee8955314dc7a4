# SPDX-License-Identifier: Apache-2.0
"""AWS::IAM::User and AWS::IAM::AccessKey: a user in the stack domain, and a key pair of it for EC2 signatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, stack_user
from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

#: In place of a secret key that nobody knows.
UNKNOWN_SECRET = "000-000-000"


class User(stack_user.StackUser):
    """A user for programs in instances, who may read what the policies allow: all of the stack if there are none."""

    PROPERTIES = (PATH, GROUPS, LOGIN_PROFILE, POLICIES) = ("Path", "Groups", "LoginProfile", "Policies")

    _LOGIN_PROFILE_KEYS = (LOGIN_PROFILE_PASSWORD,) = ("Password",)

    # The user is found in the resource data when it was made already.
    repeatable_create = True

    properties_schema = {
        PATH: properties.Schema(properties.Schema.STRING, _("Has no effect.")),
        GROUPS: properties.Schema(properties.Schema.LIST, _("Has no effect.")),
        LOGIN_PROFILE: properties.Schema(
            properties.Schema.MAP,
            _("How the user signs in."),
            schema={
                LOGIN_PROFILE_PASSWORD: properties.Schema(properties.Schema.STRING, _("Password of the user.")),
            },
        ),
        POLICIES: properties.Schema(
            properties.Schema.LIST,
            _(
                "Names of access policies of the stack (OS::Heat::AccessPolicy), each of which has to allow what is "
                "read."
            ),
        ),
    }

    password: str | None = None

    def _policies(self) -> Iterator[str]:
        """Names of policies. Policies in the form of IAM have never meant anything."""
        for policy in self.properties[self.POLICIES] or []:
            if isinstance(policy, str):
                yield policy
            else:
                LOG.debug("Ignoring policy %s, which is not a name", policy)

    def _is_policy(self, name: str) -> bool:
        return name in self.stack and callable(getattr(self.stack[name], "access_allowed", None))

    def handle_create(self) -> Any:
        profile = self.properties[self.LOGIN_PROFILE]
        if profile and self.LOGIN_PROFILE_PASSWORD in profile:
            self.password = profile[self.LOGIN_PROFILE_PASSWORD]
        if not all(self._is_policy(name) for name in self._policies()):
            raise exception.InvalidTemplateAttribute(resource=self.name, key=self.POLICIES)
        super().handle_create()
        self.resource_id_set(self._get_user_id())

    def get_reference_id(self) -> Any:
        return self.physical_resource_name_or_FnGetRefId()

    def access_allowed(self, resource_name: str) -> bool:
        return all(self.stack[name].access_allowed(resource_name) for name in self._policies())


class AccessKey(Resource):
    """A key pair of a user of the stack. Its reference is the access key; the secret key is an attribute."""

    PROPERTIES = (SERIAL, USER_NAME, STATUS) = ("Serial", "UserName", "Status")

    ATTRIBUTES = (_USER_NAME, SECRET_ACCESS_KEY) = (USER_NAME, "SecretAccessKey")

    # The key pair is found in the data of the user when it was made already.
    repeatable_create = True

    properties_schema = {
        SERIAL: properties.Schema(properties.Schema.INTEGER, _("Has no effect."), implemented=False),
        USER_NAME: properties.Schema(properties.Schema.STRING, _("Reference of the user."), required=True),
        STATUS: properties.Schema(
            properties.Schema.STRING,
            _("Has no effect."),
            constraints=[constraints.AllowedValues(["Active", "Inactive"])],
            implemented=False,
        ),
    }

    attributes_schema = {
        USER_NAME: attributes.Schema(
            _("Reference of the user."), cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING
        ),
        SECRET_ACCESS_KEY: attributes.Schema(
            _("The secret key."), cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING
        ),
    }

    def _get_user(self) -> Any:
        return self.stack.resource_by_refid(self.properties[self.USER_NAME])

    def can_resume_polling(self, action: str) -> bool:
        # The id is stored before the secret: making it again finds both.
        return False

    def handle_create(self) -> Any:
        user = self._get_user()
        if user is None:
            raise exception.NotFound(_("could not find user %s") % self.properties[self.USER_NAME])
        user._create_keypair()
        pair = user.data()
        self._keep(pair["secret_key"], pair["credential_id"])
        self.resource_id_set(pair["access_key"])

    def _keep(self, secret: str, credential_id: str) -> None:
        self.data_set("secret_key", secret, redact=True)
        self.data_set("credential_id", credential_id, redact=True)

    def handle_delete(self) -> Any:
        if self.resource_id is None:
            return
        user = self._get_user()
        if user is None:
            LOG.debug("The user of %s is gone", self)
            return
        user._delete_keypair()

    def _secret_accesskey(self) -> str:
        """The secret key, from the resource data, or from Keystone in old stacks."""
        if not self.resource_id:
            LOG.info("The secret key of %s is asked for before it exists", self.properties[self.USER_NAME])
            return UNKNOWN_SECRET
        secret: str | None = self.data().get("secret_key")
        if secret is None:
            try:
                pair = self.keystone().get_ec2_keypair(user_id=self._get_user().resource_id, access=self.resource_id)
                secret = pair.secret
                self._keep(pair.secret, pair.id)
            except Exception as ex:
                LOG.info(
                    "could not get secret for %(username)s Error:%(msg)s",
                    {"username": self.properties[self.USER_NAME], "msg": ex},
                )
        return secret or UNKNOWN_SECRET

    def _resolve_attribute(self, name: str) -> Any:
        if name == self.USER_NAME:
            return self.properties[self.USER_NAME]
        return self._secret_accesskey() if name == self.SECRET_ACCESS_KEY else None

    def register_access(self) -> None:
        """Whoever has the key reaches what the policies of its user allow."""
        if self.resource_id is not None:
            self.stack.register_access_allowed_handler(
                self.resource_id, lambda resource_name: bool(self._get_user().access_allowed(resource_name))
            )


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::IAM::User": User, "AWS::IAM::AccessKey": AccessKey}
