# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::SecurityGroup: a group with its rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare
from openkeel_heat.resources.neutron.neutron import ALLOWED_SECURITY_GROUP_PROTOCOLS, NeutronResource, without_status

_COMPARED = (
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_group_id",
    "remote_ip_prefix",
    "security_group_id",
)


class SecurityGroup(NeutronResource):
    """A set of rules that say which traffic reaches and leaves a port."""

    required_service_extension = "security-group"

    entity = "security_group"

    support_status = declare.since("2014.1")

    api_object = without_status("security-groups", "security_group")

    not_sent = ("rules",)

    PROPERTIES = (NAME, DESCRIPTION, RULES, STATEFUL) = ("name", "description", "rules", "stateful")

    _RULE_KEYS = (
        RULE_DIRECTION,
        RULE_ETHERTYPE,
        RULE_PORT_RANGE_MIN,
        RULE_PORT_RANGE_MAX,
        RULE_PROTOCOL,
        RULE_REMOTE_MODE,
        RULE_REMOTE_GROUP_ID,
        RULE_REMOTE_IP_PREFIX,
        RULE_DESCRIPTION,
    ) = (
        "direction",
        "ethertype",
        "port_range_min",
        "port_range_max",
        "protocol",
        "remote_mode",
        "remote_group_id",
        "remote_ip_prefix",
        "description",
    )

    properties_schema = {
        NAME: declare.NAME,
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("Text about the object."), update_allowed=True),
        RULES: properties.Schema(
            properties.Schema.LIST,
            _("Rules of the group."),
            update_allowed=True,
            default=[],
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    RULE_DIRECTION: properties.Schema(
                        properties.Schema.STRING,
                        _("Whether the rule is for traffic to the port (ingress) or from it (egress)."),
                        default="ingress",
                        constraints=[constraints.AllowedValues(["ingress", "egress"])],
                    ),
                    RULE_ETHERTYPE: properties.Schema(
                        properties.Schema.STRING,
                        _("Version of the Internet protocol."),
                        default="IPv4",
                        constraints=[constraints.AllowedValues(["IPv4", "IPv6"])],
                    ),
                    RULE_PORT_RANGE_MIN: properties.Schema(
                        properties.Schema.INTEGER,
                        _("First port of the range; for ICMP the type."),
                        constraints=[constraints.Range(min=0, max=65535)],
                    ),
                    RULE_PORT_RANGE_MAX: properties.Schema(
                        properties.Schema.INTEGER,
                        _("Last port of the range; for ICMP the code."),
                        constraints=[constraints.Range(min=0, max=65535)],
                    ),
                    RULE_PROTOCOL: properties.Schema(
                        properties.Schema.STRING,
                        _("Protocol by name or number. Not given: all."),
                        constraints=[constraints.AllowedValues(ALLOWED_SECURITY_GROUP_PROTOCOLS)],
                    ),
                    RULE_REMOTE_MODE: properties.Schema(
                        properties.Schema.STRING,
                        _("Whether the other side is given by addresses or by a group."),
                        default="remote_ip_prefix",
                        constraints=[constraints.AllowedValues(["remote_ip_prefix", "remote_group_id"])],
                    ),
                    RULE_REMOTE_GROUP_ID: properties.Schema(
                        properties.Schema.STRING,
                        _(
                            "Group that the other side is in. With remote_mode remote_group_id and no value it is "
                            "this group itself."
                        ),
                        constraints=[constraints.CustomConstraint("neutron.security_group")],
                    ),
                    RULE_REMOTE_IP_PREFIX: properties.Schema(
                        properties.Schema.STRING,
                        _("Addresses of the other side in CIDR notation."),
                        constraints=[constraints.CustomConstraint("net_cidr")],
                    ),
                    DESCRIPTION: properties.Schema(
                        properties.Schema.STRING, _("Text about the object."), support_status=declare.since("27.0.0")
                    ),
                },
            ),
        ),
        STATEFUL: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether answers to allowed traffic are let through by themselves."),
            update_allowed=True,
            support_status=declare.since("27.0.0"),
        ),
    }

    default_egress_rules = [
        {"direction": "egress", "ethertype": "IPv4"},
        {"direction": "egress", "ethertype": "IPv6"},
    ]

    def validate(self) -> Any:
        super().validate()
        if self.properties[self.NAME] == "default":
            raise exceptions.StackValidationFailed(message=_('Security groups cannot be assigned the name "default".'))
        if self.properties.get(self.STATEFUL) is False and not self._knows_stateless():
            raise exceptions.StackValidationFailed(
                message=_(
                    "Neutron does not support stateless security groups; remove the "
                    '"stateful" property or set it to true.'
                )
            )
        return None

    def _knows_stateless(self) -> bool:
        return bool(self.client_plugin().has_extension("stateful-security-group"))

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body = super().create_body(props)
        if self.STATEFUL in body and not self._knows_stateless():
            del body[self.STATEFUL]
        return body

    def make_parts(self, props: dict[str, Any]) -> None:
        """A cloud may give rules of its own to each new group: only those for outgoing traffic make way for others."""
        rules = props.get(self.RULES)
        if rules:
            tells_egress = _tells_egress(rules)
            there = (self.answer or {}).get("security_group_rules")
            self._set_rules(rules, there, lambda rule: tells_egress and rule[self.RULE_DIRECTION] == "egress")

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        changed = dict(prop_diff)
        rules = changed.pop(self.RULES, None)
        if changed.get(self.STATEFUL, self.properties[self.STATEFUL]) != self.properties[self.STATEFUL]:
            self._refuse_while_used()
        answer = super().handle_update(json_snippet, tmpl_diff, changed)
        if rules is not None:
            self._update_rules(rules)
        return answer

    repeatable_update = True

    def _refuse_while_used(self) -> None:
        """The service refuses it, too, for ports that we may not see; but then rules would have been changed."""
        if self.api.list("/v2.0/ports", "ports", params={"security_groups": self.resource_id, "fields": "id"}):
            raise exceptions.NotSupported(
                feature=_(
                    'Updating the "stateful" property while security group "%(sg)s" is attached to ports. Detach all '
                    "ports from the security group and retry."
                )
                % {"sg": self.resource_id}
            )

    # rules ------------------------------------------------------------
    def _update_rules(self, rules: list[dict[str, Any]]) -> None:
        """The group gets these rules and no others; without one for outgoing traffic it lets everything out."""
        if not _tells_egress(rules):
            rules = [*rules, *self.default_egress_rules]
        self._set_rules(rules, None, lambda _rule: True)

    def _set_rules(
        self,
        rules: list[dict[str, Any]],
        there: list[dict[str, Any]] | None,
        replaceable: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        """Add the rules that are missing, and remove those that are not wanted and replaceable."""
        wanted = [self._format_rule(rule) for rule in rules]
        if there is None:
            there = self._show_resource()["security_group_rules"]
        wanted_keys, keys_there = {_key(rule) for rule in wanted}, {_key(rule) for rule in there}
        for rule in there:
            if _key(rule) not in wanted_keys and replaceable(rule):
                with self.client_plugin().ignore_not_found:
                    self.api.delete(f"/v2.0/security-group-rules/{rule['id']}")
        missing = [rule for rule in wanted if _key(rule) not in keys_there]
        if missing:
            self.api.post("/v2.0/security-group-rules", json={"security_group_rules": missing})

    def _format_rule(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A rule as the service wants it."""
        rule = {**given, "security_group_id": self.resource_id}
        if self.RULE_REMOTE_MODE in rule:
            if rule.pop(self.RULE_REMOTE_MODE) == self.RULE_REMOTE_GROUP_ID:
                rule[self.RULE_REMOTE_IP_PREFIX] = None
                rule[self.RULE_REMOTE_GROUP_ID] = rule.get(self.RULE_REMOTE_GROUP_ID) or self.resource_id
            else:
                rule[self.RULE_REMOTE_GROUP_ID] = None
        for key in (self.RULE_PORT_RANGE_MIN, self.RULE_PORT_RANGE_MAX):
            if rule.get(key) is not None:
                rule[key] = str(rule[key])
        if rule.get(self.RULE_DESCRIPTION) is None:
            rule.pop(self.RULE_DESCRIPTION, None)
        return rule


def _tells_egress(rules: list[dict[str, Any]]) -> bool:
    return any(rule[SecurityGroup.RULE_DIRECTION] == "egress" for rule in rules)


def _key(rule: Mapping[str, Any]) -> tuple[str | None, ...]:
    """What makes two rules the same."""
    return tuple(None if rule.get(key) is None else str(rule[key]) for key in _COMPARED)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::SecurityGroup": SecurityGroup}
