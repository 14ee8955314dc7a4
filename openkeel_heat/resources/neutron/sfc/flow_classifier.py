# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::FlowClassifier."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status
from openkeel_heat.resources.neutron.rules import find


class FlowClassifier(NeutronResource):
    """Says which traffic enters a service chain."""

    support_status = support.SupportStatus(status=support.UNSUPPORTED, version="8.0.0")
    api_object = without_status("sfc/flow_classifiers", "flow_classifier")

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        PROTOCOL,
        ETHERTYPE,
        SOURCE_IP_PREFIX,
        DESTINATION_IP_PREFIX,
        SOURCE_PORT_RANGE_MIN,
        SOURCE_PORT_RANGE_MAX,
        DESTINATION_PORT_RANGE_MIN,
        DESTINATION_PORT_RANGE_MAX,
        LOGICAL_SOURCE_PORT,
        LOGICAL_DESTINATION_PORT,
        L7_PARAMETERS,
    ) = (
        "name",
        "description",
        "protocol",
        "ethertype",
        "source_ip_prefix",
        "destination_ip_prefix",
        "source_port_range_min",
        "source_port_range_max",
        "destination_port_range_min",
        "destination_port_range_max",
        "logical_source_port",
        "logical_destination_port",
        "l7_parameters",
    )

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the classifier."), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the classifier is for."), update_allowed=True),
        PROTOCOL: properties.Schema(
            properties.Schema.STRING,
            _("Protocol over IP."),
            constraints=[constraints.AllowedValues(["tcp", "udp", "icmp"])],
        ),
        ETHERTYPE: properties.Schema(
            properties.Schema.STRING,
            _("Version of IP."),
            default="IPv4",
            constraints=[constraints.AllowedValues(["IPv4", "IPv6"])],
        ),
        SOURCE_IP_PREFIX: properties.Schema(
            properties.Schema.STRING,
            _("Network that packets come from, as CIDR."),
            constraints=[constraints.CustomConstraint("net_cidr")],
        ),
        DESTINATION_IP_PREFIX: properties.Schema(
            properties.Schema.STRING,
            _("Network that packets go to, as CIDR."),
            constraints=[constraints.CustomConstraint("net_cidr")],
        ),
        SOURCE_PORT_RANGE_MIN: properties.Schema(
            properties.Schema.INTEGER,
            _("First port that packets come from."),
            constraints=[constraints.Range(1, 65535)],
        ),
        SOURCE_PORT_RANGE_MAX: properties.Schema(
            properties.Schema.INTEGER,
            _("Last port that packets come from."),
            constraints=[constraints.Range(1, 65535)],
        ),
        DESTINATION_PORT_RANGE_MIN: properties.Schema(
            properties.Schema.INTEGER, _("First port that packets go to."), constraints=[constraints.Range(1, 65535)]
        ),
        DESTINATION_PORT_RANGE_MAX: properties.Schema(
            properties.Schema.INTEGER, _("Last port that packets go to."), constraints=[constraints.Range(1, 65535)]
        ),
        LOGICAL_SOURCE_PORT: properties.Schema(
            properties.Schema.STRING,
            _("Port of the network that sends the traffic, by id or name."),
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        LOGICAL_DESTINATION_PORT: properties.Schema(
            properties.Schema.STRING,
            _("Port of the network that gets the traffic, by id or name."),
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        L7_PARAMETERS: properties.Schema(
            properties.Schema.MAP,
            _("Parameters of layer 7."),
            support_status=support.SupportStatus(
                status=support.UNSUPPORTED, message=_("The service takes no value for it yet.")
            ),
        ),
    }

    def translation_rules(self, props: Any) -> list[TranslationRule]:
        return [
            find(self, props, "port", self.LOGICAL_SOURCE_PORT),
            find(self, props, "port", self.LOGICAL_DESTINATION_PORT),
        ]


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::FlowClassifier": FlowClassifier,
    }
