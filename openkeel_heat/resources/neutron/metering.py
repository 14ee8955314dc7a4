# SPDX-License-Identifier: Apache-2.0
"""Counting the traffic of networks at routers."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status


class MeteringLabel(NeutronResource):
    """A label under which routers count the traffic of some networks."""

    support_status = support.SupportStatus(version="2014.1")
    entity = "metering_label"
    api_object = without_status("metering/metering-labels", "metering_label")

    PROPERTIES = (NAME, DESCRIPTION, SHARED) = ("name", "description", "shared")
    ATTRIBUTES = (NAME_ATTR, DESCRIPTION_ATTR, SHARED_ATTR) = ("name", "description", "shared")

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _("Name of the label.")),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("What the label is for.")),
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the label counts for all projects."),
            default=False,
            support_status=support.SupportStatus(version="2015.1"),
        ),
    }

    attributes_schema = {
        NAME_ATTR: attributes.Schema(_("Name of the label."), type=attributes.Schema.STRING),
        DESCRIPTION_ATTR: attributes.Schema(_("What the label is for."), type=attributes.Schema.STRING),
        SHARED_ATTR: attributes.Schema(_("Whether the label counts for all projects."), type=attributes.Schema.STRING),
    }


class MeteringRule(NeutronResource):
    """A network whose traffic is counted under a label, or left out of it."""

    support_status = support.SupportStatus(version="2014.1")
    entity = "metering_label_rule"
    api_object = without_status("metering/metering-label-rules", "metering_label_rule", name="")

    PROPERTIES = (
        METERING_LABEL_ID,
        REMOTE_IP_PREFIX,
        DIRECTION,
        EXCLUDED,
    ) = (
        "metering_label_id",
        "remote_ip_prefix",
        "direction",
        "excluded",
    )
    ATTRIBUTES = (
        DIRECTION_ATTR,
        EXCLUDED_ATTR,
        METERING_LABEL_ID_ATTR,
        REMOTE_IP_PREFIX_ATTR,
    ) = (
        "direction",
        "excluded",
        "metering_label_id",
        "remote_ip_prefix",
    )

    properties_schema = {
        METERING_LABEL_ID: properties.Schema(properties.Schema.STRING, _("Label to count under."), required=True),
        REMOTE_IP_PREFIX: properties.Schema(
            properties.Schema.STRING, _("Network at the other end, as CIDR."), required=True
        ),
        DIRECTION: properties.Schema(
            properties.Schema.STRING,
            _("Direction of the traffic that is counted."),
            default="ingress",
            constraints=[constraints.AllowedValues(["ingress", "egress"])],
        ),
        EXCLUDED: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether the network is left out of what is counted."), default="False"
        ),
    }

    attributes_schema = {
        DIRECTION_ATTR: attributes.Schema(_("Direction of the traffic."), type=attributes.Schema.STRING),
        EXCLUDED_ATTR: attributes.Schema(_("Whether the network is left out."), type=attributes.Schema.STRING),
        METERING_LABEL_ID_ATTR: attributes.Schema(_("Label to count under."), type=attributes.Schema.STRING),
        REMOTE_IP_PREFIX_ATTR: attributes.Schema(_("Network at the other end."), type=attributes.Schema.STRING),
    }


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::MeteringLabel": MeteringLabel,
        "OS::Neutron::MeteringRule": MeteringRule,
    }
