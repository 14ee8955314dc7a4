# SPDX-License-Identifier: Apache-2.0
"""In place of Keystone where there is none: the embedded default.

It makes no calls and no users. A stack's users, projects, tokens and trusts are names only: whoever can reach the
service may do everything, with or without a signature or a token.
"""

from __future__ import annotations

import uuid
import weakref
from typing import Any, NamedTuple

from oslo_log import log as logging

from openkeel_heat.common import context as contexts, passwords

LOG = logging.getLogger(__name__)

_said = False


class AccessKey(NamedTuple):
    id: str
    access: str
    secret: str


class LocalKeystone:
    """The methods of :class:`~openkeel_heat.clients.keystone_backend.KeystoneBackend`, without a Keystone."""

    stack_domain = stack_domain_name = None
    stack_domain_id = "default"

    def __init__(self, context: contexts.RequestContext, region_name: str | None = None) -> None:
        global _said
        self._context = weakref.ref(context)
        self.v3_endpoint = context.auth_url or ""
        if not _said:
            _said = True
            LOG.warning("This service runs without Keystone: no trusts, users or projects of stacks are made")

    @property
    def context(self) -> contexts.RequestContext:
        context = self._context()
        assert context is not None, "the context of this client is gone"
        return context

    # trusts

    def create_trust_context(self) -> contexts.RequestContext:
        return self.context

    regenerate_trust_context = create_trust_context

    def delete_trust(self, trust_id: str) -> None:
        """There is none."""

    # projects and users of stacks

    def create_stack_domain_project(self, stack_id: str) -> str:
        """A name that is not the user's own project: what instances may reach is told apart by it."""
        return uuid.uuid4().hex

    def delete_stack_domain_project(self, project_id: str) -> None:
        """There is none."""

    def create_stack_domain_user(self, username: str, project_id: str, password: str | None = None) -> str:
        return uuid.uuid4().hex

    def create_stack_user(self, username: str, password: str = "") -> str:
        return uuid.uuid4().hex

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        return None

    delete_stack_domain_user = delete_stack_user = _nothing
    disable_stack_domain_user = disable_stack_user = _nothing
    enable_stack_domain_user = enable_stack_user = _nothing
    set_stack_domain_user_password = _nothing

    def stack_domain_user_token(self, user_id: str, project_id: str, password: str) -> str:
        """Some text: nobody checks tokens."""
        return uuid.uuid4().hex

    # keys for signed requests

    def create_stack_domain_user_keypair(self, user_id: str, project_id: str) -> AccessKey:
        return AccessKey(uuid.uuid4().hex, uuid.uuid4().hex, passwords.generate_openstack_password())

    def create_ec2_keypair(self, user_id: str | None = None) -> AccessKey:
        return self.create_stack_domain_user_keypair(user_id or uuid.uuid4().hex, str(self.context.project_id))

    def get_ec2_keypair(
        self, credential_id: str | None = None, access: str | None = None, user_id: str | None = None
    ) -> AccessKey | None:
        """None are kept; the resource that had one made knows it."""
        return None

    delete_ec2_keypair = delete_stack_domain_user_keypair = _nothing

    def server_keystone_endpoint_url(self, fallback_endpoint: str) -> str:
        return fallback_endpoint
