# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::SecurityGroup.

The rules of a group are brought to what the template says, at creation and at updates alike: those that are not wanted
are deleted, those that are missing are made. A group without rules for what goes out has those that the service gives
each group: everything may go out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2.unshown import UnshownResource
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron.neutron import without_status

RULES = "/v2.0/security-group-rules"


class Rule(NamedTuple):
    """What makes a rule, by the names of its fields."""

    direction: str
    ethertype: str = "IPv4"
    protocol: str | None = None
    port_range_min: int | None = None
    port_range_max: int | None = None
    remote_ip_prefix: str | None = None
    remote_group_id: str | None = None


#: As EC2 says it; Neutron does so by saying nothing.
ALL_PROTOCOLS = "-1"

#: What the service gives a new group.
ALL_GOES_OUT = (Rule("egress", "IPv4"), Rule("egress", "IPv6"))


class SecurityGroup(UnshownResource):
    """Which traffic instances may have."""

    PROPERTIES = (GROUP_DESCRIPTION, VPC_ID, SECURITY_GROUP_INGRESS, SECURITY_GROUP_EGRESS) = (
        "GroupDescription",
        "VpcId",
        "SecurityGroupIngress",
        "SecurityGroupEgress",
    )

    _RULE_KEYS = (
        RULE_CIDR_IP,
        RULE_FROM_PORT,
        RULE_TO_PORT,
        RULE_IP_PROTOCOL,
        RULE_SOURCE_SECURITY_GROUP_ID,
        RULE_SOURCE_SECURITY_GROUP_NAME,
        RULE_SOURCE_SECURITY_GROUP_OWNER_ID,
    ) = (
        "CidrIp",
        "FromPort",
        "ToPort",
        "IpProtocol",
        "SourceSecurityGroupId",
        "SourceSecurityGroupName",
        "SourceSecurityGroupOwnerId",
    )

    _rule_schema = {
        RULE_CIDR_IP: Schema(Schema.STRING, _("Addresses on the other side, as a CIDR block.")),
        RULE_FROM_PORT: Schema(Schema.STRING, _("First port, or type of ICMP; -1 is any.")),
        RULE_TO_PORT: Schema(Schema.STRING, _("Last port, or code of ICMP; -1 is any.")),
        RULE_IP_PROTOCOL: Schema(Schema.STRING, _("Protocol by name or number; -1 is any.")),
        RULE_SOURCE_SECURITY_GROUP_ID: Schema(Schema.STRING, _("Id of the group on the other side.")),
        RULE_SOURCE_SECURITY_GROUP_NAME: Schema(Schema.STRING, _("Name of the group on the other side.")),
        RULE_SOURCE_SECURITY_GROUP_OWNER_ID: Schema(
            Schema.STRING, _("Owner of the group on the other side."), implemented=False
        ),
    }

    properties_schema = {
        GROUP_DESCRIPTION: Schema(Schema.STRING, _("Description of the group."), required=True),
        VPC_ID: Schema(Schema.STRING, _("Reference to a VPC; of no effect.")),
        SECURITY_GROUP_INGRESS: Schema(
            Schema.LIST,
            _("Rules for what comes in."),
            update_allowed=True,
            schema=Schema(Schema.MAP, _("One rule."), schema=_rule_schema),
        ),
        SECURITY_GROUP_EGRESS: Schema(
            Schema.LIST,
            _("Rules for what goes out."),
            update_allowed=True,
            schema=Schema(Schema.MAP, _("One rule."), schema=_rule_schema),
        ),
    }

    api_object = without_status("security-groups", "security_group")
    renamed = {GROUP_DESCRIPTION: "description"}
    not_sent = (VPC_ID, SECURITY_GROUP_INGRESS, SECURITY_GROUP_EGRESS)

    # The type is shown as one without a service, yet has one.
    def client_plugin(self, name: str | None = None) -> Any:
        return super().client_plugin(name or "neutron")

    def _default_client_plugin(self) -> Any:
        return self.client_plugin()

    # rules
    def _wanted(self, props: Mapping[str, Any]) -> list[Rule]:
        ingress = [self._rule("ingress", given) for given in props[self.SECURITY_GROUP_INGRESS] or ()]
        egress = [self._rule("egress", given) for given in props[self.SECURITY_GROUP_EGRESS] or ALL_GOES_OUT]
        return list(dict.fromkeys(ingress + egress))

    def _rule(self, direction: str, given: Any) -> Rule:
        if isinstance(given, Rule):
            return given
        group = given[self.RULE_SOURCE_SECURITY_GROUP_ID] or given[self.RULE_SOURCE_SECURITY_GROUP_NAME]
        protocol = given[self.RULE_IP_PROTOCOL]
        if protocol == ALL_PROTOCOLS:
            # All protocols are those of all ports, whichever are named.
            protocol, given = None, {**given, self.RULE_FROM_PORT: None, self.RULE_TO_PORT: None}
        return Rule(
            direction,
            protocol=protocol,
            port_range_min=_port(given[self.RULE_FROM_PORT]),
            port_range_max=_port(given[self.RULE_TO_PORT]),
            remote_ip_prefix=given[self.RULE_CIDR_IP],
            remote_group_id=self.client_plugin().get_secgroup_uuids([group])[0] if group else None,
        )

    def _bring_rules_to(self, wanted: list[Rule]) -> None:
        there = {one["id"]: _rule_of(one) for one in self.shown()["security_group_rules"]}
        for rule_id, rule in there.items():
            if rule not in wanted:
                with self.client_plugin().ignore_not_found:
                    self.api.delete("%s/%s" % (RULES, rule_id))
        missing = [rule._asdict() for rule in wanted if rule not in there.values()]
        if missing:
            self._make_rules([{**rule, "security_group_id": self.resource_id} for rule in missing])

    def _make_rules(self, rules: list[dict[str, Any]]) -> None:
        try:
            self.api.post(RULES, json={"security_group_rules": rules})
        except Exception as ex:
            if not self.client_plugin().is_conflict(ex):
                raise
            # One of them is there already, in other words.
            for rule in rules:
                self._make_rule(rule)

    def _make_rule(self, rule: dict[str, Any]) -> None:
        try:
            self.api.post(RULES, json={"security_group_rule": rule})
        except Exception as ex:
            if not self.client_plugin().is_conflict(ex):
                raise

    # life cycle
    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        self._bring_rules_to(self._wanted(self.properties))
        return True

    repeatable_update = True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        if prop_diff:
            self._bring_rules_to(self._wanted(json_snippet.properties(self.properties_schema, self.context)))


def _port(text: Any) -> int | None:
    number = None if text is None else int(text)
    return None if number is None or number < 0 else number


def _rule_of(shown: Mapping[str, Any]) -> Rule:
    return Rule(**{field: shown[field] for field in Rule._fields})


class SecurityGroupNotFound(exception.HeatException):
    msg_fmt = _('Security Group "%(group_name)s" not found')


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::EC2::SecurityGroup": SecurityGroup}
