# SPDX-License-Identifier: Apache-2.0
"""QoS policies, and the types of their rules."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status

_DSCP_MARKS = [0, *range(8, 41, 2), 46, 48, 56]


class QoSPolicy(NeutronResource):
    """A policy of quality of service for ports and networks. By default only administrators make one."""

    required_service_extension = "qos"

    entity = "qos_policy"

    support_status = declare.since("6.0.0")

    api_object = without_status("qos/policies", "policy", "policies")

    res_info_key = "policy"

    PROPERTIES = (NAME, DESCRIPTION, SHARED, TENANT_ID) = ("name", "description", "shared", "tenant_id")

    ATTRIBUTES = (RULES_ATTR,) = ("rules",)

    properties_schema = {
        NAME: declare.NAME,
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("Text about the object."), update_allowed=True),
        SHARED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether all projects may use it. By default only administrators may say so."),
            update_allowed=True,
            default=False,
        ),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING, _("Project that owns it. Only administrators give another than their own.")
        ),
    }

    attributes_schema = {
        RULES_ATTR: attributes.Schema(_("Rules of the policy."), type=attributes.Schema.LIST),
    }


class QoSRule(NeutronResource):
    """A rule of a QoS policy."""

    required_service_extension = "qos"

    support_status = declare.since("6.0.0")

    not_sent = ("policy",)

    POLICY, TENANT_ID = "policy", "tenant_id"

    properties_schema = {
        POLICY: properties.Schema(
            properties.Schema.STRING,
            _("QoS policy that gets the rule, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.qos_policy")],
        ),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING, _("Project that owns it. Only administrators give another than their own.")
        ),
    }

    _policy_id: str | None = None

    @property
    def policy_id(self) -> str:
        if self._policy_id is None:
            self._policy_id = self.client_plugin().get_qos_policy_id(self.properties[self.POLICY])
        assert self._policy_id is not None
        return self._policy_id

    def collection_path(self) -> str:
        return f"{self.api_object.path}/{self.policy_id}/{self.api_object.key}s"

    def find_physical(self) -> str | None:
        """A policy has no two rules of a kind alike."""
        wanted = self.create_body(self.given_properties())
        same = [
            rule
            for rule in self.api.list(self.collection_path(), self.api_object.collection)
            if all(rule.get(key) == value for key, value in wanted.items() if key != self.TENANT_ID)
        ]
        return str(same[0]["id"]) if len(same) == 1 else None


class QoSBandwidthLimitRule(QoSRule):
    """A rule that limits the bandwidth. By default only administrators make one."""

    entity = "bandwidth_limit_rule"

    api_object = without_status("qos/policies", "bandwidth_limit_rule", name="")

    PROPERTIES = (MAX_BANDWIDTH, MAX_BURST_BANDWIDTH, DIRECTION) = ("max_kbps", "max_burst_kbps", "direction")

    properties_schema = {
        MAX_BANDWIDTH: properties.Schema(
            properties.Schema.INTEGER,
            _("Most kilobits per second."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        MAX_BURST_BANDWIDTH: properties.Schema(
            properties.Schema.INTEGER,
            _("Most kilobits of a burst."),
            update_allowed=True,
            default=0,
            constraints=[constraints.Range(min=0)],
        ),
        DIRECTION: properties.Schema(
            properties.Schema.STRING,
            _("Direction of the traffic as seen from the port."),
            update_allowed=True,
            default="egress",
            constraints=[constraints.AllowedValues(["egress", "ingress"])],
            support_status=declare.since("13.0.0"),
        ),
        **QoSRule.properties_schema,
    }


class QoSDscpMarkingRule(QoSRule):
    """A rule that marks packets for DSCP. By default only administrators make one."""

    entity = "dscp_marking_rule"

    support_status = declare.since("7.0.0")

    api_object = without_status("qos/policies", "dscp_marking_rule", name="")

    PROPERTIES = (DSCP_MARK,) = ("dscp_mark",)

    properties_schema = {
        DSCP_MARK: properties.Schema(
            properties.Schema.INTEGER,
            _("The mark."),
            required=True,
            update_allowed=True,
            constraints=[constraints.AllowedValues(_DSCP_MARKS)],
        ),
        **QoSRule.properties_schema,
    }


class QoSMinimumBandwidthRule(QoSRule):
    """A rule that guarantees bandwidth. By default only administrators make one."""

    required_service_extension = "qos-bw-minimum-ingress"

    entity = "minimum_bandwidth_rule"

    support_status = declare.since("14.0.0")

    api_object = without_status("qos/policies", "minimum_bandwidth_rule", name="")

    PROPERTIES = (MIN_BANDWIDTH, DIRECTION) = ("min_kbps", "direction")

    properties_schema = {
        MIN_BANDWIDTH: properties.Schema(
            properties.Schema.INTEGER,
            _("Kilobits per second that are guaranteed."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        DIRECTION: properties.Schema(
            properties.Schema.STRING,
            _("Direction of the traffic as seen from the port."),
            update_allowed=True,
            default="egress",
            constraints=[constraints.AllowedValues(["egress", "ingress"])],
        ),
        **QoSRule.properties_schema,
    }


class QoSMinimumPacketRateRule(QoSRule):
    """A rule that guarantees a rate of packets. By default only administrators make one."""

    required_service_extension = "qos-pps-minimum"

    entity = "minimum_packet_rate_rule"

    support_status = declare.since("19.0.0")

    api_object = without_status("qos/policies", "minimum_packet_rate_rule", name="")

    PROPERTIES = (MIN_PACKET_RATE, DIRECTION) = ("min_kpps", "direction")

    properties_schema = {
        MIN_PACKET_RATE: properties.Schema(
            properties.Schema.INTEGER,
            _("Thousands of packets per second that are guaranteed."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        DIRECTION: properties.Schema(
            properties.Schema.STRING,
            _("Direction of the traffic as seen from the port."),
            update_allowed=True,
            default="egress",
            constraints=[constraints.AllowedValues(["any", "egress", "ingress"])],
        ),
        **QoSRule.properties_schema,
    }


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::QoSPolicy": QoSPolicy,
        "OS::Neutron::QoSBandwidthLimitRule": QoSBandwidthLimitRule,
        "OS::Neutron::QoSDscpMarkingRule": QoSDscpMarkingRule,
        "OS::Neutron::QoSMinimumBandwidthRule": QoSMinimumBandwidthRule,
        "OS::Neutron::QoSMinimumPacketRateRule": QoSMinimumPacketRateRule,
    }
