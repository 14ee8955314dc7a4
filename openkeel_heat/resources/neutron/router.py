# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::Router and what connects it: RouterInterface and RouterGateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.clients.neutron import NotFound
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.translation import TranslationRule
from openkeel_heat.resources.neutron import declare, implicit, rules
from openkeel_heat.resources.neutron.connection import Connection
from openkeel_heat.resources.neutron.neutron import NeutronResource, with_status

#: Owners of ports by which a router is on a subnet; a gateway is another thing.
INTERFACE_OWNERS = (
    "network:router_interface",
    "network:router_interface_distributed",
    "network:ha_router_replicated_interface",
)


class Router(NeutronResource):
    """A router between networks."""

    required_service_extension = "router"

    entity = "router"

    api_object = with_status("routers", "router")

    not_sent = ("tags", "l3_agent_id", "l3_agent_ids")

    PROPERTIES = (
        NAME,
        EXTERNAL_GATEWAY,
        VALUE_SPECS,
        ADMIN_STATE_UP,
        L3_AGENT_ID,
        L3_AGENT_IDS,
        DISTRIBUTED,
        HA,
        AVAILABILITY_ZONE_HINTS,
        TAGS,
        TENANT_ID,
    ) = (
        "name",
        "external_gateway_info",
        "value_specs",
        "admin_state_up",
        "l3_agent_id",
        "l3_agent_ids",
        "distributed",
        "ha",
        "availability_zone_hints",
        "tags",
        "tenant_id",
    )

    _EXTERNAL_GATEWAY_KEYS = (EXTERNAL_GATEWAY_NETWORK, EXTERNAL_GATEWAY_ENABLE_SNAT, EXTERNAL_GATEWAY_FIXED_IPS) = (
        "network",
        "enable_snat",
        "external_fixed_ips",
    )

    _EXTERNAL_GATEWAY_FIXED_IPS_KEYS = (IP_ADDRESS, SUBNET) = ("ip_address", "subnet")

    ATTRIBUTES = (STATUS, EXTERNAL_GATEWAY_INFO_ATTR, NAME_ATTR, ADMIN_STATE_UP_ATTR, TENANT_ID) = (
        "status",
        "external_gateway_info",
        "name",
        "admin_state_up",
        "tenant_id",
    )

    properties_schema = {
        NAME: declare.NAME,
        EXTERNAL_GATEWAY: properties.Schema(
            properties.Schema.MAP,
            _("Gateway to an external network."),
            update_allowed=True,
            schema={
                EXTERNAL_GATEWAY_NETWORK: properties.Schema(
                    properties.Schema.STRING, _("Network, by name or id."), required=True, update_allowed=True
                ),
                EXTERNAL_GATEWAY_ENABLE_SNAT: properties.Schema(
                    properties.Schema.BOOLEAN,
                    _(
                        "Whether outgoing traffic gets the address of the gateway. By default only administrators "
                        "may say so."
                    ),
                    update_allowed=True,
                ),
                EXTERNAL_GATEWAY_FIXED_IPS: properties.Schema(
                    properties.Schema.LIST,
                    _("Addresses of the gateway."),
                    update_allowed=True,
                    support_status=declare.since("6.0.0"),
                    schema=properties.Schema(
                        properties.Schema.MAP,
                        schema={
                            IP_ADDRESS: properties.Schema(
                                properties.Schema.STRING,
                                _("IP address."),
                                constraints=[constraints.CustomConstraint("ip_addr")],
                            ),
                            SUBNET: properties.Schema(
                                properties.Schema.STRING,
                                _("Subnet, by name or id."),
                                constraints=[constraints.CustomConstraint("neutron.subnet")],
                            ),
                        },
                    ),
                ),
            },
        ),
        VALUE_SPECS: declare.VALUE_SPECS,
        ADMIN_STATE_UP: declare.ADMIN_STATE_UP,
        L3_AGENT_ID: declare.renamed(
            L3_AGENT_IDS, hidden="6.0.0", deprecated="2015.1", supported="2014.1", update_allowed=True
        ),
        L3_AGENT_IDS: properties.Schema(
            properties.Schema.LIST,
            _(
                "L3 agents that host the router; several for one that is highly available. By default only "
                "administrators may choose."
            ),
            update_allowed=True,
            support_status=declare.since("2015.1"),
            schema=properties.Schema(properties.Schema.STRING),
        ),
        DISTRIBUTED: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the router is distributed. By default only administrators may say so."),
            support_status=declare.since("2015.1"),
        ),
        HA: properties.Schema(
            properties.Schema.BOOLEAN,
            _("Whether the router is highly available. By default only administrators may say so."),
            support_status=declare.since("2015.1"),
        ),
        AVAILABILITY_ZONE_HINTS: properties.Schema(
            properties.Schema.LIST,
            _("Availability zones that are preferred for it."),
            update_allowed=True,
            support_status=declare.since("19.0.0"),
        ),
        TAGS: declare.tags("9.0.0"),
        TENANT_ID: properties.Schema(
            properties.Schema.STRING,
            _("Project that owns it. Only administrators give another than their own."),
            support_status=declare.since("24.0.0"),
        ),
    }

    attributes_schema = {
        STATUS: attributes.Schema(_("State of the object in the service."), type=attributes.Schema.STRING),
        EXTERNAL_GATEWAY_INFO_ATTR: attributes.Schema(
            _("Gateway to the external network."), type=attributes.Schema.MAP
        ),
        NAME_ATTR: attributes.Schema(_("Name of the object."), type=attributes.Schema.STRING),
        ADMIN_STATE_UP_ATTR: attributes.Schema(_("Whether it is administratively up."), type=attributes.Schema.STRING),
        TENANT_ID: attributes.Schema(_("Project that owns it."), type=attributes.Schema.STRING),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        plugin = self.client_plugin()
        found = [
            rules.find(self, props, plugin.RES_TYPE_NETWORK, self.EXTERNAL_GATEWAY, self.EXTERNAL_GATEWAY_NETWORK),
            rules.find(
                self, props, plugin.RES_TYPE_SUBNET, self.EXTERNAL_GATEWAY, self.EXTERNAL_GATEWAY_FIXED_IPS, self.SUBNET
            ),
        ]
        agent = props.get(self.L3_AGENT_ID)
        if agent:
            found += [
                TranslationRule(props, TranslationRule.ADD, [self.L3_AGENT_IDS], [agent]),
                TranslationRule(props, TranslationRule.DELETE, [self.L3_AGENT_ID]),
            ]
        return found

    def validate(self) -> Any:
        super().validate()
        props = self.properties
        distributed, ha = props[self.DISTRIBUTED], props[self.HA]
        agent, agents = props[self.L3_AGENT_ID], props[self.L3_AGENT_IDS]
        if agent and agents:
            raise exceptions.ResourcePropertyConflict(self.L3_AGENT_ID, self.L3_AGENT_IDS)
        if distributed and (agent or agents):
            raise exceptions.ResourcePropertyConflict(self.DISTRIBUTED, f"{self.L3_AGENT_ID}/{self.L3_AGENT_IDS}")
        if ha and distributed:
            raise exceptions.ResourcePropertyConflict(self.DISTRIBUTED, self.HA)
        if not ha and agents and len(agents) > 1:
            raise exceptions.StackValidationFailed(message=_("Non HA routers can only have one L3 agent."))
        return None

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        gateway = self.properties[self.EXTERNAL_GATEWAY]
        if gateway:
            implicit.need_subnets(deps, self, gateway.get(self.EXTERNAL_GATEWAY_NETWORK))

    def fields(self, props: Mapping[str, Any]) -> dict[str, Any]:
        body = super().fields(props)
        gateway = body.get(self.EXTERNAL_GATEWAY)
        if gateway:
            made = {"network_id": gateway[self.EXTERNAL_GATEWAY_NETWORK]}
            for key in (self.EXTERNAL_GATEWAY_ENABLE_SNAT, self.EXTERNAL_GATEWAY_FIXED_IPS):
                if gateway.get(key) is not None:
                    made[key] = gateway[key]
            if self.EXTERNAL_GATEWAY_FIXED_IPS in made:
                made[self.EXTERNAL_GATEWAY_FIXED_IPS] = [
                    {
                        "subnet_id" if key == self.SUBNET else key: value
                        for key, value in entry.items()
                        if value is not None
                    }
                    for entry in made[self.EXTERNAL_GATEWAY_FIXED_IPS]
                ]
            body[self.EXTERNAL_GATEWAY] = made
        return body

    # the agents that host it ------------------------------------------
    def make_parts(self, props: dict[str, Any]) -> None:
        if props.get(self.L3_AGENT_IDS):
            self._replace_agents(props[self.L3_AGENT_IDS])
        super().make_parts(props)

    def change_parts(self, prop_diff: dict[str, Any]) -> None:
        if self.L3_AGENT_IDS in prop_diff or self.L3_AGENT_ID in prop_diff:
            alone = prop_diff.pop(self.L3_AGENT_ID, None)
            self._replace_agents(prop_diff.pop(self.L3_AGENT_IDS, None) or ([alone] if alone else []))
        super().change_parts(prop_diff)

    def check_update_complete(self, answer: Any) -> bool:
        """The service has done it when it answers; in what state the router is has other reasons."""
        return True

    def _agents(self) -> list[str]:
        return [agent["id"] for agent in self.api.list(f"{self.object_path()}/l3-agents", "agents")]

    def _replace_agents(self, wanted: list[str]) -> None:
        there = self._agents()
        # A router that is not highly available leaves its agent before it comes to another.
        for agent in there:
            if agent not in wanted:
                with self.client_plugin().ignore_not_found:
                    self.api.delete(f"/v2.0/agents/{agent}/l3-routers/{self.resource_id}")
        for agent in wanted:
            if agent not in there:
                self.api.post(f"/v2.0/agents/{agent}/l3-routers", json={"router_id": self.resource_id})

    # what there is ----------------------------------------------------
    def parse_live_resource_data(self, resource_properties: Any, resource_data: Any) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        gateway = found.pop(self.EXTERNAL_GATEWAY, None)
        if gateway is not None:
            found[self.EXTERNAL_GATEWAY] = {
                self.EXTERNAL_GATEWAY_NETWORK: gateway.get("network_id"),
                self.EXTERNAL_GATEWAY_ENABLE_SNAT: gateway.get("enable_snat"),
                self.EXTERNAL_GATEWAY_FIXED_IPS: [
                    {self.SUBNET: entry.get("subnet_id"), self.IP_ADDRESS: entry.get("ip_address")}
                    for entry in gateway.get("external_fixed_ips") or ()
                ],
            }
        elif resource_properties.get(self.EXTERNAL_GATEWAY):
            found[self.EXTERNAL_GATEWAY] = None
        if resource_properties.get(self.L3_AGENT_IDS):
            try:
                found[self.L3_AGENT_IDS] = self._agents()
            except Exception as error:
                if not self.client_plugin().is_forbidden(error):
                    raise
        return self.drift(resource_properties, found)


class RouterInterface(Connection):
    """A connection of a router with a subnet, or with one port of it."""

    required_service_extension = "router"

    PROPERTIES = (ROUTER, ROUTER_ID, SUBNET_ID, SUBNET, PORT_ID, PORT) = (
        "router",
        "router_id",
        "subnet_id",
        "subnet",
        "port_id",
        "port",
    )

    properties_schema = {
        ROUTER: properties.Schema(
            properties.Schema.STRING,
            _("Router, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.router")],
        ),
        ROUTER_ID: declare.renamed(
            ROUTER, hidden="6.0.0", deprecated="2015.1", supported="2013.1", constraint="neutron.router"
        ),
        SUBNET_ID: declare.renamed(SUBNET, hidden="5.0.0", deprecated="2014.2", constraint="neutron.subnet"),
        SUBNET: properties.Schema(
            properties.Schema.STRING,
            _("Subnet by name or id; either it or a port is given."),
            constraints=[constraints.CustomConstraint("neutron.subnet")],
        ),
        PORT_ID: declare.renamed(
            PORT, hidden="6.0.0", deprecated="2015.1", supported="2014.1", constraint="neutron.port"
        ),
        PORT: properties.Schema(
            properties.Schema.STRING,
            _("Port by name or id; either it or a subnet is given."),
            constraints=[constraints.CustomConstraint("neutron.port")],
            support_status=declare.since("2015.1"),
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        plugin = self.client_plugin()
        return [
            rules.replace(props, self.PORT_ID, self.PORT),
            rules.replace(props, self.ROUTER_ID, self.ROUTER),
            rules.replace(props, self.SUBNET_ID, self.SUBNET),
            rules.find(self, props, plugin.RES_TYPE_PORT, self.PORT),
            rules.find(self, props, plugin.RES_TYPE_ROUTER, self.ROUTER),
            rules.find(self, props, plugin.RES_TYPE_SUBNET, self.SUBNET),
        ]

    def validate(self) -> Any:
        super().validate()
        given = [self.properties.get(name) is not None for name in (self.SUBNET, self.PORT)]
        if all(given):
            raise exceptions.ResourcePropertyConflict(self.SUBNET, self.PORT)
        if not any(given):
            raise exceptions.PropertyUnspecifiedError(self.SUBNET, self.PORT)
        return None

    # A second request is refused; then the interface is found.
    repeatable_create = True

    def handle_create(self) -> None:
        router, key, value = self._connected()
        try:
            self.api.put(f"/v2.0/routers/{router}/add_router_interface", json={key: value})
        except Exception as error:
            plugin = self.client_plugin()
            # Whoever asks again may be stopped before that.
            self.note_doubt(error)
            if not (plugin.is_conflict(error) or plugin.is_bad_request(error)) or self.find_physical() is None:
                raise
        self.resource_id_set(f"{router}:{key}={value}")
        self.forget_doubt()

    def _connected(self) -> tuple[str, str, str]:
        router, subnet = self.properties[self.ROUTER], self.properties[self.SUBNET]
        return (router, "subnet_id", subnet) if subnet else (router, "port_id", self.properties[self.PORT])

    def find_physical(self) -> str | None:
        """The interface is there, and no older than this resource: then it was made for it."""
        router, key, value = self._connected()
        port = self._port(router, key, value)
        return f"{router}:{key}={value}" if port is not None and self._is_younger(port) else None

    def _port(self, router: str, key: str, value: str) -> dict[str, Any] | None:
        """The port of the router that is the interface."""
        where = {"id": value} if key == "port_id" else {"fixed_ips": f"subnet_id={value}"}
        ports = self.api.list("/v2.0/ports", "ports", params={"device_id": router, **where})
        return next((port for port in ports if port["device_owner"] in INTERFACE_OWNERS), None)

    def _parts_of_id(self) -> tuple[str, str, str]:
        parts = str(self.resource_id).replace("=", ":").split(":")
        # Ids of old times had no word for the subnet.
        router, key, value = parts if len(parts) == 3 else (parts[0], "subnet_id", parts[1])
        return router, key, value

    def disconnect(self) -> None:
        router, key, value = self._parts_of_id()
        self.api.put(f"/v2.0/routers/{router}/remove_router_interface", json={key: value})

    def look(self) -> Any:
        router, key, value = self._parts_of_id()
        port = self._port(router, key, value)
        if port is None:
            raise NotFound(
                _("Router %(router)s has no interface with %(key)s %(value)s")
                % {"router": router, "key": key, "value": value},
                status=404,
            )
        return port


class RouterGateway(Connection):
    """The gateway of a router. Superseded by external_gateway_info of the router."""

    support_status = support.SupportStatus(
        support.HIDDEN,
        message=_("Give external_gateway_info of the router in its place."),
        version="5.0.0",
        previous_status=support.SupportStatus(support.DEPRECATED, version="2014.1"),
    )

    PROPERTIES = (ROUTER_ID, NETWORK_ID, NETWORK) = ("router_id", "network_id", "network")

    properties_schema = {
        ROUTER_ID: properties.Schema(
            properties.Schema.STRING,
            _("Router, by name or id."),
            required=True,
            constraints=[constraints.CustomConstraint("neutron.router")],
        ),
        NETWORK_ID: declare.renamed(NETWORK, hidden="9.0.0", deprecated="2014.2", constraint="neutron.network"),
        NETWORK: properties.Schema(
            properties.Schema.STRING,
            _("External network by name or id."),
            constraints=[constraints.CustomConstraint("neutron.network")],
        ),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        return [
            rules.replace(props, self.NETWORK_ID, self.NETWORK),
            rules.find(self, props, self.client_plugin().RES_TYPE_NETWORK, self.NETWORK),
        ]

    def add_dependencies(self, deps: Any) -> None:
        super().add_dependencies(deps)
        implicit.need(deps, self, implicit.INTERFACE, implicit.read(self, self.ROUTER_ID), "router", "router_id")
        # The gateway is a port on one of these.
        implicit.need_subnets(deps, self, implicit.read(self, self.NETWORK))

    repeatable_create = True

    def handle_create(self) -> None:
        router, network = self._connected()
        try:
            self._set_gateway(router, {"network_id": network})
        except Exception as error:
            self.note_doubt(error)
            raise
        self.resource_id_set(f"{router}:{network}")

    def _connected(self) -> tuple[str, str | None]:
        return self.properties[self.ROUTER_ID], self.properties.get(self.NETWORK)

    def find_physical(self) -> str | None:
        """The gateway is there. It may have been before: a creation takes that over, too."""
        router, network = self._connected()
        return f"{router}:{network}" if self._gateway(router).get("network_id") == network else None

    def disconnect(self) -> None:
        """Unless the router has got another gateway meanwhile."""
        self.look()
        self._set_gateway(str(self.resource_id).split(":")[0], {})

    def _gateway(self, router: str) -> dict[str, Any]:
        return self.api.show(f"/v2.0/routers/{router}", "router").get("external_gateway_info") or {}

    def _set_gateway(self, router: str, gateway: dict[str, Any]) -> None:
        self.api.put(f"/v2.0/routers/{router}", json={"router": {"external_gateway_info": gateway}})

    def look(self) -> Any:
        router, network = str(self.resource_id).split(":")
        gateway = self._gateway(router)
        if gateway.get("network_id") != network:
            raise NotFound(
                _("Router %(router)s has no gateway to network %(network)s") % {"router": router, "network": network},
                status=404,
            )
        return gateway


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::Router": Router,
        "OS::Neutron::RouterInterface": RouterInterface,
        "OS::Neutron::RouterGateway": RouterGateway,
    }
