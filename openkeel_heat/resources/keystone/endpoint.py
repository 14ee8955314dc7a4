# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::Endpoint."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneEndpoint(KeystoneResource):
    """An URL under which a service is found in the catalogue."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="5.0.0")
    entity = "endpoints"
    api_object = ApiObject("/endpoints", "endpoint", update_method="PATCH")
    renamed = {"service": "service_id", "region": "region_id"}

    PROPERTIES = (
        NAME,
        REGION,
        SERVICE,
        INTERFACE,
        SERVICE_URL,
        ENABLED,
    ) = (
        "name",
        "region",
        "service",
        "interface",
        "url",
        "enabled",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the endpoint."), update_allowed=True),
        REGION: properties.Schema(
            properties.Schema.STRING,
            _("Region of the endpoint, by its id."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("keystone.region")],
        ),
        SERVICE: properties.Schema(
            properties.Schema.STRING,
            _("Service that answers there, by id or name."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("keystone.service")],
        ),
        INTERFACE: properties.Schema(
            properties.Schema.STRING,
            _("Who is to use the URL."),
            required=True,
            update_allowed=True,
            constraints=[constraints.AllowedValues(["public", "internal", "admin"])],
        ),
        SERVICE_URL: properties.Schema(properties.Schema.STRING, _("The URL."), required=True, update_allowed=True),
        ENABLED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the endpoint is listed in catalogues."),
            default=True,
            update_allowed=True,
            support_status=support.SupportStatus(version="6.0.0"),
        ),
    }

    finders = {SERVICE: "get_service_id", REGION: "get_region_id"}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::Endpoint": KeystoneEndpoint}
