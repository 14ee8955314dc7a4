# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::Segment: a part of a network on layer 2."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare, rules
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status

LAST_VLAN = 4094


class Segment(NeutronResource):
    """A segment of a network. By default only administrators make one."""

    required_service_extension = "segment"

    support_status = declare.since("9.0.0")

    api_object = without_status("segments", "segment")

    renamed = {"network": "network_id"}

    NETWORK_TYPES = (LOCAL, VLAN, VXLAN, GRE, GENEVE, FLAT) = ("local", "vlan", "vxlan", "gre", "geneve", "flat")

    PROPERTIES = (NETWORK, NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID, NAME, DESCRIPTION) = (
        "network",
        "network_type",
        "physical_network",
        "segmentation_id",
        "name",
        "description",
    )

    properties_schema = {
        NETWORK: properties.Schema(
            properties.Schema.STRING,
            _("Network, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.network")],
        ),
        NETWORK_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("How the segment is realised."),
            required=True,
            constraints=[constraints.AllowedValues(NETWORK_TYPES)],
        ),
        PHYSICAL_NETWORK: properties.Schema(properties.Schema.STRING, _("Physical network that carries it.")),
        SEGMENTATION_ID: properties.Schema(
            properties.Schema.INTEGER,
            _("Segment of the physical network, for example the VLAN."),
            constraints=[constraints.Range(min=1)],
        ),
        NAME: declare.NAME,
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("Text about the object."), update_allowed=True),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        return [rules.find(self, props, self.client_plugin().RES_TYPE_NETWORK, self.NETWORK)]

    def validate(self) -> Any:
        super().validate()
        physical, segment = self.properties[self.PHYSICAL_NETWORK], self.properties[self.SEGMENTATION_ID]
        network_type = self.properties[self.NETWORK_TYPE]
        required = _("%(prop)s is required for %(type)s provider network.")
        prohibited = _("%(prop)s is prohibited for %(type)s provider network.")
        checks = (
            (physical is None and network_type in (self.FLAT, self.VLAN), required, self.PHYSICAL_NETWORK),
            (segment is None and network_type == self.VLAN, required, self.SEGMENTATION_ID),
            (segment is not None and network_type in (self.LOCAL, self.FLAT), prohibited, self.SEGMENTATION_ID),
            (
                physical is not None and network_type in (self.VXLAN, self.GRE, self.GENEVE),
                prohibited,
                self.PHYSICAL_NETWORK,
            ),
            (
                network_type == self.VLAN and segment is not None and segment > LAST_VLAN,
                _("Up to 4094 VLAN network segments can exist on each physical_network."),
                "",
            ),
        )
        for wrong, text, prop in checks:
            if wrong:
                raise exceptions.StackValidationFailed(message=text % {"prop": prop, "type": network_type})
        return None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::Segment": Segment}
