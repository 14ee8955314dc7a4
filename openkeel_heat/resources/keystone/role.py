# SPDX-License-Identifier: Apache-2.0
"""OS::Keystone::Role."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.keystone.keystone import NEEDS_V3, KeystoneResource
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject


class KeystoneRole(KeystoneResource):
    """A role that users and groups can be given."""

    support_status = support.SupportStatus(message=NEEDS_V3, version="2015.1")
    entity = "roles"
    api_object = ApiObject("/roles", "role", update_method="PATCH")
    renamed = {"domain": "domain_id"}

    PROPERTIES = (NAME, DOMAIN) = ("name", "domain")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the role."), update_allowed=True),
        DOMAIN: properties.Schema(
            properties.Schema.STRING,
            _("Domain that the role belongs to, by id or name; none for a role of all domains."),
            constraints=[constraints.CustomConstraint("keystone.domain")],
            support_status=support.SupportStatus(version="16.0.0"),
        ),
    }

    finders = {DOMAIN: "get_domain_id"}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Keystone::Role": KeystoneRole}
