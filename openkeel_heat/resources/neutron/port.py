# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::Port: a port of a network, with its addresses.

A port that is replaced gives its addresses up before its replacement is made, for the same may be wanted there; a
rollback gives them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging
from oslo_serialization import jsonutils

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import VALUE_SPECS
from openkeel_heat.resources.neutron import declare, implicit, rules
from openkeel_heat.resources.neutron.neutron import NeutronResource, with_status

LOG = logging.getLogger(__name__)

PROFILE = "binding:profile"

#: resource_data: the addresses that were freed, as JSON.
FREED = "port_fip"


class Port(NeutronResource):
    """A port of a network: the place where a device with its addresses is attached."""

    entity = "port"

    api_object = with_status("ports", "port")

    renamed = {"network": "network_id", "qos_policy": "qos_policy_id"}

    not_sent = ("tags", "replacement_policy", "no_fixed_ips")

    PROPERTIES = (
        NAME,
        NETWORK_ID,
        NETWORK,
        FIXED_IPS,
        SECURITY_GROUPS,
        REPLACEMENT_POLICY,
        DEVICE_ID,
        DEVICE_OWNER,
        DNS_NAME,
        TAGS,
    ) = (
        "name",
        "network_id",
        "network",
        "fixed_ips",
        "security_groups",
        "replacement_policy",
        "device_id",
        "device_owner",
        "dns_name",
        "tags",
    )

    EXTRA_PROPERTIES = (
        VALUE_SPECS,
        ADMIN_STATE_UP,
        MAC_ADDRESS,
        ALLOWED_ADDRESS_PAIRS,
        VNIC_TYPE,
        QOS_POLICY,
        PORT_SECURITY_ENABLED,
        PROPAGATE_UPLINK_STATUS,
        NO_FIXED_IPS,
    ) = (
        "value_specs",
        "admin_state_up",
        "mac_address",
        "allowed_address_pairs",
        "binding:vnic_type",
        "qos_policy",
        "port_security_enabled",
        "propagate_uplink_status",
        "no_fixed_ips",
    )

    _FIXED_IP_KEYS = (FIXED_IP_SUBNET_ID, FIXED_IP_SUBNET, FIXED_IP_IP_ADDRESS) = ("subnet_id", "subnet", "ip_address")

    _ALLOWED_ADDRESS_PAIR_KEYS = (ALLOWED_ADDRESS_PAIR_MAC_ADDRESS, ALLOWED_ADDRESS_PAIR_IP_ADDRESS) = (
        "mac_address",
        "ip_address",
    )

    ATTRIBUTES = (
        ADMIN_STATE_UP_ATTR,
        DEVICE_ID_ATTR,
        DEVICE_OWNER_ATTR,
        FIXED_IPS_ATTR,
        MAC_ADDRESS_ATTR,
        NAME_ATTR,
        NETWORK_ID_ATTR,
        SECURITY_GROUPS_ATTR,
        STATUS,
        TENANT_ID,
        ALLOWED_ADDRESS_PAIRS_ATTR,
        SUBNETS_ATTR,
        PORT_SECURITY_ENABLED_ATTR,
        QOS_POLICY_ATTR,
        DNS_ASSIGNMENT,
        NETWORK_ATTR,
        PROPAGATE_UPLINK_STATUS_ATTR,
    ) = (
        "admin_state_up",
        "device_id",
        "device_owner",
        "fixed_ips",
        "mac_address",
        "name",
        "network_id",
        "security_groups",
        "status",
        "tenant_id",
        "allowed_address_pairs",
        "subnets",
        "port_security_enabled",
        "qos_policy_id",
        "dns_assignment",
        "network",
        "propagate_uplink_status",
    )

    #: What ports that a server makes for itself can be given, too.
    extra_properties_schema = {
        VALUE_SPECS: declare.VALUE_SPECS,
        ADMIN_STATE_UP: declare.ADMIN_STATE_UP,
        MAC_ADDRESS: properties.Schema(
            properties.Schema.STRING, _("MAC address."), constraints=[constraints.CustomConstraint("mac_addr")]
        ),
        ALLOWED_ADDRESS_PAIRS: properties.Schema(
            properties.Schema.LIST,
            _("More addresses that traffic of the port may carry."),
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    ALLOWED_ADDRESS_PAIR_IP_ADDRESS: properties.Schema(
                        properties.Schema.STRING,
                        _("IP address."),
                        required=True,
                        constraints=[constraints.CustomConstraint("ip_or_cidr")],
                    ),
                    ALLOWED_ADDRESS_PAIR_MAC_ADDRESS: properties.Schema(
                        properties.Schema.STRING,
                        _("MAC address."),
                        constraints=[constraints.CustomConstraint("mac_addr")],
                    ),
                },
            ),
        ),
        VNIC_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("Kind of the virtual network card."),
            update_allowed=True,
            default="normal",
            constraints=[
                constraints.AllowedValues(
                    ["normal", "direct", "macvtap", "direct-physical", "baremetal", "virtio-forwarder", "smart-nic"]
                )
            ],
            support_status=declare.since("2015.1"),
        ),
        PORT_SECURITY_ENABLED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether ports filter traffic by security groups and address pairs."),
            update_allowed=True,
            support_status=declare.since("5.0.0"),
        ),
        QOS_POLICY: properties.Schema(
            properties.Schema.STRING,
            _("QoS policy by name or id."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("neutron.qos_policy")],
            support_status=declare.since("6.0.0"),
        ),
        PROPAGATE_UPLINK_STATUS: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the state of the uplink is passed on to the port."),
            update_allowed=True,
            support_status=declare.since("15.0.0"),
        ),
        NO_FIXED_IPS: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the port is to have no address at all."),
            update_allowed=True,
            default=False,
            support_status=declare.since("16.0.0"),
        ),
    }

    properties_schema = {
        NAME: declare.NAME,
        NETWORK_ID: declare.renamed(NETWORK, hidden="5.0.0", deprecated="2014.2", constraint="neutron.network"),
        NETWORK: properties.Schema(
            properties.Schema.STRING,
            _("Network, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.network")],
            support_status=declare.since("2014.2"),
        ),
        DEVICE_ID: properties.Schema(
            properties.Schema.STRING, _("Device that the port is attached to."), update_allowed=True, default=""
        ),
        DEVICE_OWNER: properties.Schema(
            properties.Schema.STRING,
            _("Kind of the device, for example network:dhcp or compute:zone."),
            update_allowed=True,
            default="",
        ),
        FIXED_IPS: properties.Schema(
            properties.Schema.LIST,
            _("Addresses of the port. Not given: the service chooses one."),
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    FIXED_IP_SUBNET_ID: declare.renamed(
                        FIXED_IP_SUBNET, hidden="5.0.0", deprecated="2014.2 ", constraint="neutron.subnet"
                    ),
                    FIXED_IP_SUBNET: properties.Schema(
                        properties.Schema.STRING,
                        _("Subnet, by name or id."),
                        constraints=[constraints.CustomConstraint("neutron.subnet")],
                        support_status=declare.since("2014.2"),
                    ),
                    FIXED_IP_IP_ADDRESS: properties.Schema(
                        properties.Schema.STRING,
                        _("IP address."),
                        constraints=[constraints.CustomConstraint("ip_addr")],
                    ),
                },
            ),
        ),
        SECURITY_GROUPS: properties.Schema(
            properties.Schema.LIST,
            _("Security groups by name or id. Not given: the default group; an empty list: none."),
            update_allowed=True,
        ),
        REPLACEMENT_POLICY: properties.Schema(
            properties.Schema.STRING,
            _("AUTO changes the port in place where that is possible, REPLACE_ALWAYS makes a new one for each change."),
            update_allowed=True,
            default="AUTO",
            constraints=[constraints.AllowedValues(["REPLACE_ALWAYS", "AUTO"])],
            support_status=support.SupportStatus(
                support.HIDDEN,
                version="9.0.0",
                previous_status=support.SupportStatus(
                    support.DEPRECATED,
                    message=_("Servers and ports have got along without it since Liberty."),
                    version="6.0.0",
                    previous_status=declare.since("2014.2"),
                ),
            ),
        ),
        DNS_NAME: properties.Schema(
            properties.Schema.STRING,
            _("Name in the DNS."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("dns_name")],
            support_status=declare.since("7.0.0"),
        ),
        TAGS: declare.tags("9.0.0"),
        **extra_properties_schema,
    }

    attributes_schema = {
        ADMIN_STATE_UP_ATTR: attributes.Schema(_("Whether it is administratively up."), type=attributes.Schema.STRING),
        DEVICE_ID_ATTR: attributes.Schema(_("Device that the port is attached to."), type=attributes.Schema.STRING),
        DEVICE_OWNER_ATTR: attributes.Schema(_("Kind of the device."), type=attributes.Schema.STRING),
        FIXED_IPS_ATTR: attributes.Schema(_("Addresses of the port with their subnets."), type=attributes.Schema.LIST),
        MAC_ADDRESS_ATTR: attributes.Schema(_("MAC address of the port."), type=attributes.Schema.STRING),
        NAME_ATTR: attributes.Schema(_("Name of the object."), type=attributes.Schema.STRING),
        NETWORK_ID_ATTR: attributes.Schema(_("Network of the port."), type=attributes.Schema.STRING),
        SECURITY_GROUPS_ATTR: attributes.Schema(_("Ids of the security groups."), type=attributes.Schema.LIST),
        STATUS: attributes.Schema(_("State of the object in the service."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns it."), type=attributes.Schema.STRING),
        ALLOWED_ADDRESS_PAIRS_ATTR: attributes.Schema(
            _("More addresses that traffic of the port may carry."), type=attributes.Schema.LIST
        ),
        SUBNETS_ATTR: attributes.Schema(
            _("The subnets of the port's addresses with all their fields."), type=attributes.Schema.LIST
        ),
        PORT_SECURITY_ENABLED_ATTR: attributes.Schema(
            _("Whether port security is on."), type=attributes.Schema.BOOLEAN, support_status=declare.since("5.0.0")
        ),
        QOS_POLICY_ATTR: attributes.Schema(
            _("Id of the QoS policy."), type=attributes.Schema.STRING, support_status=declare.since("6.0.0")
        ),
        DNS_ASSIGNMENT: attributes.Schema(
            _("Names in the DNS that the port has got."),
            type=attributes.Schema.MAP,
            support_status=declare.since("7.0.0"),
        ),
        NETWORK_ATTR: attributes.Schema(
            _("The network of the port with all its fields."),
            type=attributes.Schema.MAP,
            support_status=declare.since("11.0.0"),
        ),
        PROPAGATE_UPLINK_STATUS_ATTR: attributes.Schema(
            _("Whether the state of the uplink is passed on."),
            type=attributes.Schema.BOOLEAN,
            support_status=declare.since("15.0.0"),
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        plugin = self.client_plugin()
        return [
            rules.replace(props, self.NETWORK_ID, self.NETWORK),
            rules.replace(props, self.FIXED_IP_SUBNET_ID, self.FIXED_IPS, self.FIXED_IP_SUBNET),
            rules.find(self, props, plugin.RES_TYPE_NETWORK, self.NETWORK),
            rules.find(self, props, plugin.RES_TYPE_SUBNET, self.FIXED_IPS, self.FIXED_IP_SUBNET),
        ]

    def validate(self) -> Any:
        super().validate()
        if self.properties.get(self.FIXED_IPS) and self.properties.get(self.NO_FIXED_IPS):
            raise exceptions.ResourcePropertyConflict(self.FIXED_IPS, self.NO_FIXED_IPS)
        return None

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        implicit.need_subnets(deps, self, implicit.read(self, self.NETWORK))

    # bodies -----------------------------------------------------------
    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        body = super().fields(props)
        if props.get(self.NO_FIXED_IPS):
            body[self.FIXED_IPS] = []
        elif body.get(self.FIXED_IPS):
            body[self.FIXED_IPS] = [_fixed_ip(entry) for entry in body[self.FIXED_IPS]]
        else:
            # An empty list would mean a port without an address; that is what no_fixed_ips is for.
            body.pop(self.FIXED_IPS, None)
        if self.ALLOWED_ADDRESS_PAIRS in body:
            body[self.ALLOWED_ADDRESS_PAIRS] = [_given(pair) for pair in body[self.ALLOWED_ADDRESS_PAIRS] or ()]
        if self.SECURITY_GROUPS in body:
            groups = body[self.SECURITY_GROUPS]
            # No longer given: as if it had never been.
            body[self.SECURITY_GROUPS] = self.client_plugin().get_secgroup_uuids(
                ["default"] if groups is None else groups
            )
        if body.get("qos_policy_id"):
            body["qos_policy_id"] = self.client_plugin().get_qos_policy_id(body["qos_policy_id"])
        return body

    def update_body(self, prop_diff: dict[str, Any]) -> dict[str, Any]:
        body = super().update_body(prop_diff)
        if PROFILE in body:
            body[PROFILE] = self._merged_profile(body[PROFILE])
        return body

    def _merged_profile(self, new: Mapping[str, Any] | None) -> dict[str, Any]:
        """The present profile, of which the hypervisor may have filled a part, with what the template changes."""
        new = new or {}
        before = (self.properties.get(VALUE_SPECS) or {}).get(PROFILE) or {}
        shown = self._show_resource().get(PROFILE)
        if shown is None:
            return dict(new)
        changed = {key: value for key, value in new.items() if value != before.get(key)}
        return {key: value for key, value in {**shown, **changed}.items() if value is not None or key not in changed}

    # what there is ----------------------------------------------------
    def _store_config_default_properties(self, attrs: Mapping[str, Any]) -> None:
        super()._store_config_default_properties(attrs)
        if attrs.get(self.VNIC_TYPE) is not None:
            self.note(self.VNIC_TYPE, attrs[self.VNIC_TYPE])

    def parse_live_resource_data(self, resource_properties: Any, resource_data: Any) -> dict[str, Any]:
        plugin = self.client_plugin()
        found = super().parse_live_resource_data(resource_properties, resource_data)
        if found.get(self.FIXED_IPS):
            found[self.FIXED_IPS] = [
                {self.FIXED_IP_SUBNET: entry.get("subnet_id"), self.FIXED_IP_IP_ADDRESS: entry.get("ip_address")}
                for entry in found[self.FIXED_IPS]
            ]
        if self.SECURITY_GROUPS in found:
            given = plugin.get_secgroup_uuids(resource_properties.get(self.SECURITY_GROUPS) or [])
            if sorted(given) == sorted(found[self.SECURITY_GROUPS]):
                del found[self.SECURITY_GROUPS]
        policy = resource_properties.get(self.QOS_POLICY)
        if policy and found.get(self.QOS_POLICY) == plugin.get_qos_policy_id(policy):
            del found[self.QOS_POLICY]
        return self.drift(resource_properties, found)

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None or name not in (self.SUBNETS_ATTR, self.NETWORK_ATTR):
            return super()._resolve_attribute(name)
        port = self.shown_recently()
        if name == self.NETWORK_ATTR:
            return self.api.show(f"/v2.0/networks/{port['network_id']}", "network")
        ids = [entry["subnet_id"] for entry in port.get(self.FIXED_IPS) or () if entry.get("subnet_id")]
        if not ids:
            return []
        subnets = {subnet["id"]: subnet for subnet in self.api.list("/v2.0/subnets", "subnets", params={"id": ids})}
        return [subnets[subnet_id] for subnet_id in ids if subnet_id in subnets]

    # making room for a replacement ------------------------------------
    def needs_replace(self, after_props: Any) -> bool:
        return bool(after_props.get(self.REPLACEMENT_POLICY) == "REPLACE_ALWAYS")

    def prepare_for_replace(self) -> None:
        """Free the addresses, and remember them for a rollback."""
        if not self.has_object():
            return
        with self.client_plugin().ignore_not_found:
            fixed_ips = self._show_resource().get(self.FIXED_IPS) or []
            # Empty when an engine died just after this.
            if fixed_ips or FREED not in self.data():
                self.data_set(FREED, jsonutils.dumps(fixed_ips))
            try:
                self.change({self.FIXED_IPS: []})
            except Exception as error:
                if not self.client_plugin().is_bad_request(error):
                    raise
                # Floating IPs lead to them: the replacement gets others, if it does not insist on these.
                LOG.info("Port %(name)s keeps its addresses: %(why)s", {"name": self.name, "why": error})
                self.data_delete(FREED)

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        """Give the addresses back that this port had before its replacement got them."""
        replacement = self.stack.replacement_of(self)
        if replacement is not None and replacement.resource_id:
            with self.client_plugin().ignore_not_found:
                self.api.put(f"/v2.0/ports/{replacement.resource_id}", json={"port": {self.FIXED_IPS: []}})
        freed = self.data().get(FREED)
        if freed and self.resource_id:
            self.change({self.FIXED_IPS: jsonutils.loads(freed)})
            self.data_delete(FREED)


def _given(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}


def _fixed_ip(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An address as the service wants it."""
    return {"subnet_id" if key == Port.FIXED_IP_SUBNET else key: value for key, value in _given(entry).items()}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::Port": Port}
