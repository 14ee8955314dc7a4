# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::PortPair."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status
from openkeel_heat.resources.neutron.rules import find


class PortPair(NeutronResource):
    """The ports by which traffic enters and leaves a service function; they may be the same."""

    support_status = support.SupportStatus(status=support.UNSUPPORTED, version="7.0.0")
    api_object = without_status("sfc/port_pairs", "port_pair")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        INGRESS,
        EGRESS,
        SERVICE_FUNCTION_PARAMETERS,
    ) = (
        "name",
        "description",
        "ingress",
        "egress",
        "service_function_parameters",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the pair."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the pair is for."), update_allowed=True),
        INGRESS: properties.Schema(
            properties.Schema.STRING,
            _("Port by which traffic enters, by id or name."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        EGRESS: properties.Schema(
            properties.Schema.STRING,
            _("Port by which traffic leaves, by id or name."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        SERVICE_FUNCTION_PARAMETERS: properties.Schema(
            properties.Schema.MAP, _("Parameters of the service function."), default={"correlation": None}
        ),
    }

    def translation_rules(self, props: Any) -> list[TranslationRule]:
        return [
            find(self, props, "port", self.INGRESS),
            find(self, props, "port", self.EGRESS),
        ]


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::PortPair": PortPair,
    }
