# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::TaaS::TapFlow."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron.rules import find
from openkeel_heat.resources.neutron.taas.tap import TapResource, tap_object


class TapFlow(TapResource):
    """A port whose traffic is copied to a tap service."""

    support_status = support.SupportStatus(version="12.0.0")
    required_service_extension = "taas"
    entity = "tap_flow"
    api_object = tap_object("tap_flow")
    renamed = {"port": "source_port", "tap_service": "tap_service_id"}

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        PORT,
        TAP_SERVICE,
        DIRECTION,
        VLAN_FILTER,
    ) = (
        "name",
        "description",
        "port",
        "tap_service",
        "direction",
        "vlan_filter",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the flow."), default="", update_allowed=True),
        DESCRIPTION: properties.Schema(
            properties.Schema.STRING, _("What the flow is for."), default="", update_allowed=True
        ),
        PORT: properties.Schema(
            properties.Schema.STRING,
            _("Port to copy from, by id or name."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        TAP_SERVICE: properties.Schema(
            properties.Schema.STRING,
            _("Tap service to copy to, by id or name."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.taas.tap_service")],
        ),
        DIRECTION: properties.Schema(
            properties.Schema.STRING,
            _("Direction of the traffic that is copied, seen from the port."),
            default="BOTH",
            constraints=[constraints.AllowedValues(["IN", "OUT", "BOTH"])],
        ),
        VLAN_FILTER: properties.Schema(
            properties.Schema.STRING,
            _("VLANs to copy: numbers and ranges, with commas between them."),
            constraints=[constraints.AllowedPattern("^([0-9]+(-[0-9]+)?)(,([0-9]+(-[0-9]+)?))*$")],
        ),
    }

    def translation_rules(self, props: Any) -> list[TranslationRule]:
        return [
            find(self, props, "port", self.PORT),
            find(self, props, "tap_service", self.TAP_SERVICE),
        ]


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::TaaS::TapFlow": TapFlow,
    }
