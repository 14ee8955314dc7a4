# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::SecurityGroupRule: one rule of a group."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare, rules
from openkeel_heat.resources.neutron.neutron import ALLOWED_SECURITY_GROUP_PROTOCOLS, NeutronResource, without_status


class SecurityGroupRule(NeutronResource):
    """One rule of a security group."""

    required_service_extension = "security-group"

    entity = "security_group_rule"

    support_status = declare.since("7.0.0")

    api_object = without_status("security-group-rules", "security_group_rule", name="")

    renamed = {"security_group": "security_group_id", "remote_group": "remote_group_id"}

    PROPERTIES = (
        SECURITY_GROUP,
        DESCRIPTION,
        DIRECTION,
        ETHERTYPE,
        PORT_RANGE_MIN,
        PORT_RANGE_MAX,
        PROTOCOL,
        REMOTE_GROUP,
        REMOTE_IP_PREFIX,
    ) = (
        "security_group",
        "description",
        "direction",
        "ethertype",
        "port_range_min",
        "port_range_max",
        "protocol",
        "remote_group",
        "remote_ip_prefix",
    )

    properties_schema = {
        SECURITY_GROUP: properties.Schema(
            properties.Schema.STRING,
            _("Group that gets the rule, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.security_group")],
        ),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("Text about the object.")),
        DIRECTION: properties.Schema(
            properties.Schema.STRING,
            _("Whether the rule is for traffic to the port (ingress) or from it (egress)."),
            default="ingress",
            constraints=[constraints.AllowedValues(["ingress", "egress"])],
        ),
        ETHERTYPE: properties.Schema(
            properties.Schema.STRING,
            _("Version of the Internet protocol."),
            default="IPv4",
            constraints=[constraints.AllowedValues(["IPv4", "IPv6"])],
        ),
        PORT_RANGE_MIN: properties.Schema(
            properties.Schema.INTEGER,
            _("First port of the range; for ICMP the type."),
            constraints=[constraints.Range(min=0, max=65535)],
        ),
        PORT_RANGE_MAX: properties.Schema(
            properties.Schema.INTEGER,
            _("Last port of the range; for ICMP the code."),
            constraints=[constraints.Range(min=0, max=65535)],
        ),
        PROTOCOL: properties.Schema(
            properties.Schema.STRING,
            _("Protocol by name or number."),
            default="tcp",
            constraints=[constraints.AllowedValues(ALLOWED_SECURITY_GROUP_PROTOCOLS)],
        ),
        REMOTE_GROUP: properties.Schema(
            properties.Schema.STRING,
            _("Group that the other side is in, by name or id."),
            constraints=[constraints.CustomConstraint("neutron.security_group")],
        ),
        REMOTE_IP_PREFIX: properties.Schema(
            properties.Schema.STRING,
            _("Addresses of the other side in CIDR notation."),
            constraints=[constraints.CustomConstraint("net_cidr")],
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        kind = self.client_plugin().RES_TYPE_SECURITY_GROUP
        return [rules.find(self, props, kind, self.SECURITY_GROUP), rules.find(self, props, kind, self.REMOTE_GROUP)]

    def validate(self) -> Any:
        super().validate()
        props = self.properties
        if props[self.REMOTE_GROUP] is not None and props[self.REMOTE_IP_PREFIX] is not None:
            raise exceptions.ResourcePropertyConflict(self.REMOTE_GROUP, self.REMOTE_IP_PREFIX)
        low, high = props[self.PORT_RANGE_MIN], props[self.PORT_RANGE_MAX]
        # For ICMP they are type and code.
        if (
            low is not None
            and high is not None
            and high < low
            and props[self.PROTOCOL] not in ("icmp", "icmpv6", "ipv6-icmp")
        ):
            raise exceptions.StackValidationFailed(
                message=_("The minimum port number must be less than or equal to the maximum port number.")
            )
        return None

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body = super().create_body(props)
        body.update({key: str(body[key]) for key in (self.PORT_RANGE_MIN, self.PORT_RANGE_MAX) if key in body})
        return body

    def find_physical(self) -> str | None:
        """The service has no two rules alike in a group."""
        wanted = self.create_body(self.given_properties())
        found = self.api.list(
            "/v2.0/security-group-rules",
            "security_group_rules",
            params={key: wanted[key] for key in ("security_group_id", self.DIRECTION, self.ETHERTYPE)},
        )
        same = [
            rule
            for rule in found
            if all(str(rule.get(key)) == str(value) for key, value in wanted.items()) and self._is_younger(rule)
        ]
        return str(same[0]["id"]) if len(same) == 1 else None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::SecurityGroupRule": SecurityGroupRule}
