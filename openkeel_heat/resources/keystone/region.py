# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::Region."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneRegion(KeystoneResource):
    """A region: a part of the cloud with endpoints of its own."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="6.0.0")
    entity = "regions"
    api_object = ApiObject("/regions", "region", name="", update_method="PATCH")
    renamed = {"parent_region": "parent_region_id"}

    PROPERTIES = (ID, PARENT_REGION, DESCRIPTION, ENABLED) = ("id", "parent_region", "description", "enabled")

    properties_schema = {
        ID: properties.Schema(properties.Schema.STRING, _("Id of the region; made up by the service when not given.")),
        PARENT_REGION: properties.Schema(
            properties.Schema.STRING,
            _("Region above it, by its id."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("keystone.region")],
        ),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the region is for."), update_allowed=True),
        ENABLED: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the region can be used."), default=True, update_allowed=True
        ),
    }

    finders = {PARENT_REGION: "get_region_id"}

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body = super().create_body(props)
        if body.get("id"):
            # It is to be a part of paths.
            body["id"] = quote(body["id"])
        return body


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::Region": KeystoneRegion}
