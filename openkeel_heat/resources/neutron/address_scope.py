# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::AddressScope: where addresses do not overlap."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status


class AddressScope(NeutronResource):
    """A scope in which addresses do not overlap; pools of subnets belong to it."""

    required_service_extension = "address-scope"

    entity = "address_scope"

    support_status = declare.since("6.0.0")

    api_object = without_status("address-scopes", "address_scope")

    PROPERTIES = (NAME, SHARED, TENANT_ID, IP_VERSION) = ("name", "shared", "tenant_id", "ip_version")

    properties_schema = {
        NAME: declare.NAME,
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether all projects may use it. By default only administrators may say so."),
            update_allowed=True,
            default=False,
        ),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING,
            _("Project that owns it. Only administrators give another than their own."),
            constraints=[constraints.CustomConstraint("keystone.project")],
        ),
        IP_VERSION: properties.Schema(
            properties.Schema.INTEGER,
            _("Version of the Internet protocol, 4 or 6."),
            default=4,
            constraints=[constraints.AllowedValues([4, 6])],
        ),
    }


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::AddressScope": AddressScope}
