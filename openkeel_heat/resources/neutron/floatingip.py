# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::FloatingIP, and what brings it to a port: FloatingIPAssociation and FloatingIPPortForward."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients.neutron import NotFound
from openkeel_heat.clients.rest import RestClient
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron import declare, implicit, rules
from openkeel_heat.resources.neutron.connection import Connection
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status

#: The extension by which floating IPs have a description.
DESCRIPTIONS = "standard-attr-description"


class FloatingIP(NeutronResource):
    """An address of an external network that can be given to a port."""

    entity = "floatingip"

    api_object = without_status("floatingips", "floatingip", name="")

    renamed = {"floating_network": "floating_network_id", "floating_subnet": "subnet_id"}

    PROPERTIES = (
        FLOATING_NETWORK_ID,
        FLOATING_NETWORK,
        FLOATING_SUBNET,
        VALUE_SPECS,
        PORT_ID,
        FIXED_IP_ADDRESS,
        FLOATING_IP_ADDRESS,
        DNS_NAME,
        DNS_DOMAIN,
    ) = (
        "floating_network_id",
        "floating_network",
        "floating_subnet",
        "value_specs",
        "port_id",
        "fixed_ip_address",
        "floating_ip_address",
        "dns_name",
        "dns_domain",
    )

    ATTRIBUTES = (
        ROUTER_ID,
        TENANT_ID,
        FLOATING_NETWORK_ID_ATTR,
        FIXED_IP_ADDRESS_ATTR,
        FLOATING_IP_ADDRESS_ATTR,
        PORT_ID_ATTR,
    ) = (
        "router_id",
        "tenant_id",
        "floating_network_id",
        "fixed_ip_address",
        "floating_ip_address",
        "port_id",
    )

    properties_schema = {
        FLOATING_NETWORK_ID: declare.renamed(
            FLOATING_NETWORK, hidden="5.0.0", deprecated="2014.2", constraint="neutron.network"
        ),
        FLOATING_NETWORK: properties.Schema(
            properties.Schema.STRING,
            _("External network that the address is taken from, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.network")],
            support_status=declare.since("2014.2"),
        ),
        FLOATING_SUBNET: properties.Schema(
            properties.Schema.STRING,
            _("Subnet that the address is taken from, by name or id."),
            constraints=[constraints.CustomConstraint("neutron.subnet")],
            support_status=declare.since("9.0.0"),
        ),
        VALUE_SPECS: properties.Schema(
            properties.Schema.MAP, _("More fields of the request, as extensions of the service want them."), default={}
        ),
        PORT_ID: properties.Schema(
            properties.Schema.STRING,
            _("Port that the address is given to."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        FIXED_IP_ADDRESS: properties.Schema(
            properties.Schema.STRING,
            _("Which address of the port is meant, where it has several."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("ip_addr")],
        ),
        FLOATING_IP_ADDRESS: properties.Schema(
            properties.Schema.STRING,
            _("The address to take. By default only administrators may choose."),
            constraints=[constraints.CustomConstraint("ip_addr")],
            support_status=declare.since("5.0.0"),
        ),
        DNS_NAME: properties.Schema(
            properties.Schema.STRING,
            _("Name in the DNS."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("rel_dns_name")],
            support_status=declare.since("7.0.0"),
        ),
        DNS_DOMAIN: properties.Schema(
            properties.Schema.STRING,
            _("DNS domain, with its final dot."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("dns_domain")],
            support_status=declare.since("7.0.0"),
        ),
    }

    attributes_schema = {
        ROUTER_ID: attributes.Schema(_("Router that translates the address."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns it."), type=attributes.Schema.STRING),
        FLOATING_NETWORK_ID_ATTR: attributes.Schema(
            _("External network of the address."), type=attributes.Schema.STRING
        ),
        FIXED_IP_ADDRESS_ATTR: attributes.Schema(
            _("Address of the port."), cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING
        ),
        FLOATING_IP_ADDRESS_ATTR: attributes.Schema(_("The address."), type=attributes.Schema.STRING),
        PORT_ID_ATTR: attributes.Schema(
            _("Port that has the address."), cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        plugin = self.client_plugin()
        return [
            rules.replace(props, self.FLOATING_NETWORK_ID, self.FLOATING_NETWORK),
            rules.find(self, props, plugin.RES_TYPE_NETWORK, self.FLOATING_NETWORK),
            rules.find(self, props, plugin.RES_TYPE_SUBNET, self.FLOATING_SUBNET),
        ]

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        implicit.need_gateways(deps, self, implicit.read(self, self.FLOATING_NETWORK))
        implicit.need_interfaces(deps, self)

    def validate(self) -> Any:
        super().validate()
        if self.properties[self.PORT_ID] is None and self.properties[self.FIXED_IP_ADDRESS] is not None:
            raise exceptions.ResourcePropertyDependency(prop1=self.FIXED_IP_ADDRESS, prop2=self.PORT_ID)
        return None

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body = super().create_body(props)
        if not body.get(self.PORT_ID) and self.client_plugin().has_extension(DESCRIPTIONS):
            # It has no name; a request without an answer would leave an address that nobody finds.
            body.setdefault("description", self.physical_resource_name())
        return body

    def find_physical(self) -> str | None:
        """By the port that it was made for; without one, by what was written in its description."""
        port, address = self.properties[self.PORT_ID], self.properties[self.FIXED_IP_ADDRESS]
        if port:
            wanted = {self.PORT_ID: port, **({self.FIXED_IP_ADDRESS: address} if address else {})}
        elif (name := self.physical_resource_name()) and self.client_plugin().has_extension(DESCRIPTIONS):
            wanted = {"description": name}
        else:
            return None
        listed = self.api.list("/v2.0/floatingips", "floatingips", params=wanted)
        found = [
            one for one in listed
            if all(one.get(key) == value for key, value in wanted.items()) and (not port or self._is_younger(one))
        ]  # fmt: skip
        return str(found[0]["id"]) if len(found) == 1 else None

    def update_body(self, prop_diff: dict[str, Any]) -> dict[str, Any]:
        """The service takes another port and address of it; names in the DNS stay as they were made."""
        return {key: prop_diff.get(key, self.properties[key]) for key in (self.PORT_ID, self.FIXED_IP_ADDRESS)}


class FloatingIPAssociation(Connection):
    """The connection of a floating IP with a port."""

    PROPERTIES = (FLOATINGIP_ID, PORT_ID, FIXED_IP_ADDRESS) = ("floatingip_id", "port_id", "fixed_ip_address")

    properties_schema = {
        FLOATINGIP_ID: properties.Schema(
            properties.Schema.STRING, _("Id of the floating IP."), required=True, update_allowed=True
        ),
        PORT_ID: properties.Schema(
            properties.Schema.STRING,
            _("Port that gets the address."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        FIXED_IP_ADDRESS: properties.Schema(
            properties.Schema.STRING,
            _("Which address of the port is meant, where it has several."),
            update_allowed=True,
            constraints=[constraints.CustomConstraint("ip_addr")],
        ),
    }

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        implicit.need_interfaces(deps, self)

    repeatable_create = repeatable_update = True

    def handle_create(self) -> None:
        props = self.given_properties()
        try:
            self._associate(props.pop(self.FLOATINGIP_ID), props)
        except Exception as error:
            self.note_doubt(error)
            raise
        self.resource_id_set(str(self.id))
        self.forget_doubt()

    def find_physical(self) -> str | None:
        with self.client_plugin().ignore_not_found:
            return str(self.id) if self._show_floating_ip()["port_id"] == self.properties[self.PORT_ID] else None
        return None

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        if not prop_diff:
            return
        if self.FLOATINGIP_ID in prop_diff:
            self._dissociate()
        after = {key: prop_diff.get(key) or self.properties[key] for key in self.PROPERTIES}
        self._associate(after.pop(self.FLOATINGIP_ID), after)
        self.resource_id_set(str(self.id))

    def disconnect(self) -> None:
        self._dissociate()

    def identity(self) -> tuple[Any, ...]:
        return self.properties[self.FLOATINGIP_ID], self.properties[self.PORT_ID]

    def _associate(self, floating_ip: str, body: dict[str, Any]) -> None:
        self.api.put(f"/v2.0/floatingips/{floating_ip}", json={"floatingip": body})

    def _dissociate(self) -> None:
        """Take the floating IP from the port, unless another has got it meanwhile."""
        with self.client_plugin().ignore_not_found:
            if self._show_floating_ip()["port_id"] == self.properties[self.PORT_ID]:
                self._associate(self.properties[self.FLOATINGIP_ID], {"port_id": None})

    def _show_floating_ip(self) -> dict[str, Any]:
        return self.api.show(f"/v2.0/floatingips/{self.properties[self.FLOATINGIP_ID]}", "floatingip")

    def look(self) -> Any:
        shown = self._show_floating_ip()
        if shown["port_id"] != self.properties[self.PORT_ID]:
            raise NotFound(
                _("Floating IP %(ip)s is not associated with port %(port)s")
                % {"ip": shown["id"], "port": self.properties[self.PORT_ID]},
                status=404,
            )
        return shown


class FloatingIPPortForward(NeutronResource):
    """A port of a floating IP whose traffic is passed on to a port of an internal address."""

    required_service_extension = "floating-ip-port-forwarding"

    support_status = declare.since("19.0.0")

    default_client_name = "openstack"

    api_object = without_status("floatingips", "port_forwarding", name="")

    renamed = {"internal_port_number": "internal_port", "internal_port": "internal_port_id"}

    not_sent = ("floating_ip",)

    PROPERTIES = (INTERNAL_IP_ADDRESS, INTERNAL_PORT_NUMBER, EXTERNAL_PORT, INTERNAL_PORT, PROTOCOL, FLOATINGIP) = (
        "internal_ip_address",
        "internal_port_number",
        "external_port",
        "internal_port",
        "protocol",
        "floating_ip",
    )

    properties_schema = {
        INTERNAL_IP_ADDRESS: properties.Schema(
            properties.Schema.STRING,
            _("Address that traffic is passed on to."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("ip_addr")],
        ),
        INTERNAL_PORT_NUMBER: properties.Schema(
            properties.Schema.INTEGER,
            _("TCP or UDP port there."),
            update_allowed=True,
            constraints=[constraints.Range(min=1, max=65535)],
        ),
        EXTERNAL_PORT: properties.Schema(
            properties.Schema.INTEGER,
            _("TCP or UDP port of the floating IP."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Range(min=1, max=65535)],
        ),
        INTERNAL_PORT: properties.Schema(
            properties.Schema.STRING,
            _("Network port that has the internal address, by name or id."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        PROTOCOL: properties.Schema(
            properties.Schema.STRING,
            _("Protocol of the traffic."),
            required=True,
            update_allowed=True,
            constraints=[constraints.AllowedValues(["tcp", "udp", "icmp", "icmp6", "sctp", "dccp"])],
        ),
        FLOATINGIP: properties.Schema(properties.Schema.STRING, _("Floating IP, by address or id."), required=True),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        plugin = self.client_plugin()
        return [
            TranslationRule(props, TranslationRule.RESOLVE, [name], client_plugin=plugin, finder=finder)
            for name, finder in ((self.FLOATINGIP, "find_network_ip"), (self.INTERNAL_PORT, "find_network_port"))
        ]

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        implicit.need_interfaces(deps, self)

    @property
    def api(self) -> RestClient:
        client: RestClient = self.client_plugin("neutron").api
        return client

    def collection_path(self) -> str:
        return f"/v2.0/floatingips/{self.properties[self.FLOATINGIP]}/port_forwardings"

    def handle_check(self) -> None:
        self.check_object()

    def find_physical(self) -> str | None:
        """There is one at most for a port and a protocol."""
        wanted = self.create_body(self.given_properties())
        found = self.api.list(
            self.collection_path(),
            "port_forwardings",
            params={key: wanted[key] for key in (self.EXTERNAL_PORT, self.PROTOCOL)},
        )
        same = [one for one in found if all(one.get(key) == value for key, value in wanted.items())]
        return str(same[0]["id"]) if len(same) == 1 else None


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::FloatingIP": FloatingIP,
        "OS::Neutron::FloatingIPAssociation": FloatingIPAssociation,
        "OS::Neutron::FloatingIPPortForward": FloatingIPPortForward,
    }
