# SPDX-License-Identifier: Apache-2.0
"""Resources with a user of their own in the stack domain, for programs that talk back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)


class StackUser(Resource):
    """Creates a user in the project of the stack in the stack user domain, and key pairs for it."""

    def handle_create(self) -> Any:
        self._create_user()

    def _create_user(self) -> None:
        if self.data().get("user_id"):
            return
        keystone = self.keystone()
        if not self.stack.stack_user_project_id:
            self.stack.set_stack_user_project_id(keystone.create_stack_domain_project(self.stack.id))
        user_id = keystone.create_stack_domain_user(
            username=self.physical_resource_name(),
            password=getattr(self, "password", None),
            project_id=self.stack.stack_user_project_id,
        )
        self.data_set("user_id", user_id)

    def _user_token(self) -> str:
        project_id = self.stack.stack_user_project_id
        if not project_id:
            raise ValueError(_("Can't get user token, user not yet created"))
        password = getattr(self, "password", None)
        if password is None:
            raise ValueError(_("Can't get user token without password"))
        return self.keystone().stack_domain_user_token(
            user_id=self._get_user_id(), project_id=project_id, password=password
        )

    def _get_user_id(self) -> str | None:
        return self.data().get("user_id") or None

    def handle_delete(self) -> Any:
        self._delete_user()
        return super().handle_delete()

    def _in_domain(self, current: Callable[[], Any], legacy: Callable[[], Any]) -> None:
        """Do something with a stack domain user; ValueError means one from before there was the domain."""
        try:
            current()
        except ValueError:
            LOG.warning("Reverting to legacy user path of %s", self)
            legacy()

    def _ignoring_gone(self, current: Callable[[], Any], legacy: Callable[[], Any]) -> None:
        try:
            self._in_domain(current, legacy)
        except Exception as ex:
            from keystoneauth1 import exceptions as keystone_exceptions

            if not isinstance(ex, keystone_exceptions.NotFound):
                raise

    def _delete_user(self) -> None:
        user_id = self._get_user_id()
        if user_id is None:
            return
        self._delete_keypair()
        project_id = self.stack.stack_user_project_id
        self._ignoring_gone(
            lambda: self.keystone().delete_stack_domain_user(user_id=user_id, project_id=project_id),
            lambda: self.keystone().delete_stack_user(user_id),
        )
        self.data_delete("user_id")

    def handle_suspend(self) -> Any:
        user_id, project_id = self._get_user_id(), self.stack.stack_user_project_id
        self._in_domain(
            lambda: self.keystone().disable_stack_domain_user(user_id=user_id, project_id=project_id),
            lambda: self.keystone().disable_stack_user(user_id=user_id),
        )

    def handle_resume(self) -> Any:
        user_id, project_id = self._get_user_id(), self.stack.stack_user_project_id
        self._in_domain(
            lambda: self.keystone().enable_stack_domain_user(user_id=user_id, project_id=project_id),
            lambda: self.keystone().enable_stack_user(user_id=user_id),
        )

    def _create_keypair(self) -> Any:
        """An EC2 key pair for the user, kept in the resource data."""
        if self.data().get("credential_id"):
            return None
        user_id = self._get_user_id()
        pair = self.keystone().create_stack_domain_user_keypair(
            user_id=user_id, project_id=self.stack.stack_user_project_id
        )
        if not pair:
            raise exception.Error(_("Error creating ec2 keypair for user %s") % user_id)
        self.data_set("credential_id", getattr(pair, "id", pair.access), redact=True)
        self.data_set("access_key", pair.access, redact=True)
        self.data_set("secret_key", pair.secret, redact=True)
        return pair

    def _delete_keypair(self) -> None:
        credential_id = self.data().get("credential_id")
        user_id = self._get_user_id()
        if not credential_id or user_id is None:
            return
        project_id = self.stack.stack_user_project_id
        self._ignoring_gone(
            lambda: self.keystone().delete_stack_domain_user_keypair(
                user_id=user_id, project_id=project_id, credential_id=credential_id
            ),
            lambda: self.keystone().delete_ec2_keypair(user_id=user_id, credential_id=credential_id),
        )
        for key in ("access_key", "secret_key", "credential_id"):
            self.data_delete(key)

    # A type that calls _register_access_key() in its constructor asks for it.
    _access_wanted = False

    def _register_access_key(self) -> None:
        """The user may see this resource and no other of the stack.

        Before the data of the resource are there this is only noted: see register_access().
        """
        self._access_wanted = True
        if self.record.data is not None:
            self.register_access()

    def register_access(self) -> None:
        """Tell the stack which credentials reach the resource; called when somebody has to be checked."""
        if not self._access_wanted:
            return

        def access_allowed(resource_name: str) -> bool:
            return resource_name == self.name

        for credential in (getattr(self, "access_key", None), self._get_user_id()):
            if credential is not None:
                self.stack.register_access_allowed_handler(credential, access_allowed)
