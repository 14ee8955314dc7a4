# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::PortChain."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status
from openkeel_heat.resources.neutron.sfc.rules import find_extension


class PortChain(NeutronResource):
    """The service functions that classified traffic passes through, in order."""

    support_status = support.SupportStatus(status=support.UNSUPPORTED, version="8.0.0")
    required_service_extension = "sfc"
    api_object = without_status("sfc/port_chains", "port_chain")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        PORT_PAIR_GROUPS,
        FLOW_CLASSIFIERS,
        CHAIN_PARAMETERS,
    ) = (
        "name",
        "description",
        "port_pair_groups",
        "flow_classifiers",
        "chain_parameters",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the chain."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the chain is for."), update_allowed=True),
        PORT_PAIR_GROUPS: properties.Schema(
            properties.Schema.LIST,
            _("Groups of port pairs in the order in which traffic passes them."),
            required=True,
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.STRING,
                _("Id or name of a group."),
                constraints=[constraints.CustomConstraint("neutron.port_pair_group")],
            ),
        ),
        FLOW_CLASSIFIERS: properties.Schema(
            properties.Schema.LIST,
            _("Classifiers whose traffic enters the chain."),
            default=[],
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.STRING,
                _("Id or name of a classifier."),
                constraints=[constraints.CustomConstraint("neutron.flow_classifier")],
            ),
        ),
        CHAIN_PARAMETERS: properties.Schema(
            properties.Schema.MAP,
            _("Parameters of the chain, such as how packets carry their place in it."),
            default={"correlation": "mpls"},
        ),
    }

    def translation_rules(self, props: Any) -> list[TranslationRule]:
        return [
            find_extension(self, props, "port_pair_group", self.PORT_PAIR_GROUPS),
            find_extension(self, props, "flow_classifier", self.FLOW_CLASSIFIERS),
        ]


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::PortChain": PortChain,
    }
