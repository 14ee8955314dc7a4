# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::PortPairGroup."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status
from openkeel_heat.resources.neutron.sfc.rules import find_extension


class PortPairGroup(NeutronResource):
    """Service functions of one kind among which traffic is spread."""

    support_status = support.SupportStatus(status=support.UNSUPPORTED, version="8.0.0")
    required_service_extension = "sfc"
    api_object = without_status("sfc/port_pair_groups", "port_pair_group")

    PROPERTIES = (NAME, DESCRIPTION, PORT_PAIRS) = ("name", "description", "port_pairs")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the group."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the group is for."), update_allowed=True),
        PORT_PAIRS: properties.Schema(
            properties.Schema.LIST,
            _("The pairs of the group."),
            required=True,
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.STRING,
                _("Id or name of a pair."),
                constraints=[constraints.CustomConstraint("neutron.port_pair")],
            ),
        ),
    }

    def translation_rules(self, props: Any) -> list[TranslationRule]:
        return [
            find_extension(self, props, "port_pair", self.PORT_PAIRS),
        ]


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::PortPairGroup": PortPairGroup,
    }
