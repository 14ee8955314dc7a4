# SPDX-License-Identifier: Apache-2.0
"""What the types of the identity service have in common.

They are plain objects of the API's version 3, without a state: made when the service has answered. A property that an
update leaves out is taken back, which the service understands as null.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.rest import RestResource

NEEDS_V3 = _("Needs version 3 of the identity API.")


class KeystoneResource(RestResource):
    default_client_name = "keystone"

    def client(self, name: str | None = None, version: str | None = None) -> Any:
        """Collections by name, ``client().users``: what plugins that build on these types call."""
        found = super().client(name, version)
        return found.client if name in (None, self.default_client_name) else found
