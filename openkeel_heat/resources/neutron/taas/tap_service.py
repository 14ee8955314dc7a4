# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::TaaS::TapService."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron.rules import find
from openkeel_heat.resources.neutron.taas.tap import TapResource, tap_object


class TapService(TapResource):
    """A port that copies of other ports' traffic arrive at."""

    support_status = support.SupportStatus(version="12.0.0")
    required_service_extension = "taas"
    entity = "tap_service"
    api_object = tap_object("tap_service")
    renamed = {"port": "port_id"}

    PROPERTIES = (NAME, DESCRIPTION, PORT) = ("name", "description", "port")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the service."), default="", update_allowed=True),
        DESCRIPTION: properties.Schema(
            properties.Schema.STRING, _("What the service is for."), default="", update_allowed=True
        ),
        PORT: properties.Schema(
            properties.Schema.STRING,
            _("Port at which copies arrive, by id or name."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
    }

    def translation_rules(self, props: Any) -> list[TranslationRule]:
        return [
            find(self, props, "port", self.PORT),
        ]


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::TaaS::TapService": TapService,
    }
