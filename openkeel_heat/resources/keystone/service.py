# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::Service."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource
from openkeel_heat.resources.kit import properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneService(KeystoneResource):
    """A service of the catalogue."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="5.0.0")
    entity = "services"
    api_object = ApiObject("/services", "service", update_method="PATCH")

    PROPERTIES = (NAME, DESCRIPTION, TYPE, ENABLED) = ("name", "description", "type", "enabled")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the service."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the service is for."), update_allowed=True),
        TYPE: properties.Schema(
            properties.Schema.STRING, _("Type by which clients look for it."), required=True, update_allowed=True
        ),
        ENABLED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the service is listed in catalogues."),
            default=True,
            update_allowed=True,
            support_status=support.SupportStatus(version="6.0.0"),
        ),
    }


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::Service": KeystoneService}
