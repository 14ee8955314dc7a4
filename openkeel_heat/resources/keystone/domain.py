# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::Domain."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource
from openkeel_heat.resources.kit import properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneDomain(KeystoneResource):
    """A domain: the top of projects, users and groups."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="8.0.0")
    entity = "domains"
    api_object = ApiObject("/domains", "domain", update_method="PATCH")

    PROPERTIES = (NAME, DESCRIPTION, ENABLED) = ("name", "description", "enabled")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the domain."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the domain is for."), update_allowed=True),
        ENABLED: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the domain can be used."), default=True, update_allowed=True
        ),
    }

    def handle_delete(self) -> Any:
        # The service deletes no domain that can be used.
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.change({"enabled": False})
        return super().handle_delete()


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::Domain": KeystoneDomain}
