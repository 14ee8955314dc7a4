# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::NetworkGateway: a gateway of layer 2."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare, rules
from openkeel_heat.resources.neutron.neutron import NeutronResource, without_status


class NetworkGateway(NeutronResource):
    """A gateway of layer 2 between networks and devices outside."""

    entity = "network_gateway"

    support_status = declare.since("2014.1")

    api_object = without_status("network-gateways", "network_gateway")

    not_sent = ("connections",)

    PROPERTIES = (NAME, DEVICES, CONNECTIONS) = ("name", "devices", "connections")

    ATTRIBUTES = (DEFAULT,) = ("default",)

    _DEVICES_KEYS = (ID, INTERFACE_NAME) = ("id", "interface_name")

    _CONNECTIONS_KEYS = (NETWORK_ID, NETWORK, SEGMENTATION_TYPE, SEGMENTATION_ID) = (
        "network_id",
        "network",
        "segmentation_type",
        "segmentation_id",
    )

    properties_schema = {
        NAME: declare.NAME,
        DEVICES: properties.Schema(
            properties.Schema.LIST,
            _("Devices that make the gateway."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Length(min=1)],
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    ID: properties.Schema(properties.Schema.STRING, _("Id of the device."), required=True),
                    INTERFACE_NAME: properties.Schema(
                        properties.Schema.STRING, _("Interface of the device."), required=True
                    ),
                },
            ),
        ),
        CONNECTIONS: properties.Schema(
            properties.Schema.LIST,
            _("Networks that are connected, and how."),
            update_allowed=True,
            default={},
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    NETWORK_ID: declare.renamed(
                        NETWORK, hidden="5.0.0", deprecated="2014.2", constraint="neutron.network"
                    ),
                    NETWORK: properties.Schema(
                        properties.Schema.STRING,
                        _("Network, by name or id."),
                        required=True,
                        constraints=[constraints.CustomConstraint("neutron.network")],
                        support_status=declare.since("2014.2"),
                    ),
                    SEGMENTATION_TYPE: properties.Schema(
                        properties.Schema.STRING,
                        _("How the network is told apart outside."),
                        default="flat",
                        constraints=[constraints.AllowedValues(["flat", "vlan"])],
                    ),
                    SEGMENTATION_ID: properties.Schema(
                        properties.Schema.INTEGER,
                        _("Segment outside; needed for vlan."),
                        constraints=[constraints.Range(min=0, max=4094)],
                    ),
                },
            ),
        ),
    }

    attributes_schema = {
        DEFAULT: attributes.Schema(_("Whether it is the default gateway."), type=attributes.Schema.STRING),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        return [
            rules.replace(props, self.NETWORK_ID, self.CONNECTIONS, self.NETWORK),
            rules.find(self, props, self.client_plugin().RES_TYPE_NETWORK, self.CONNECTIONS, self.NETWORK),
        ]

    def validate(self) -> Any:
        super().validate()
        for connection in self.properties[self.CONNECTIONS]:
            kind, segment = connection[self.SEGMENTATION_TYPE], connection.get(self.SEGMENTATION_ID)
            if kind == "vlan" and segment is None:
                raise exceptions.StackValidationFailed(message=_("segmentation_id must be specified for using vlan"))
            if kind == "flat" and segment:
                raise exceptions.StackValidationFailed(
                    message=_("segmentation_id cannot be specified except 0 for using flat")
                )
        return None

    def make_parts(self, props: dict[str, Any]) -> None:
        for connection in self._connections(props.get(self.CONNECTIONS)):
            # One that is there already, of a creation that was interrupted, is a conflict.
            try:
                self._connect(connection)
            except Exception as error:
                if not self.client_plugin().is_conflict(error):
                    raise

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if self.DEVICES in prop_diff:
            # The service cannot change them: the gateway is made anew.
            self.handle_delete()
            self.properties.data.update(prop_diff)
            made = self.handle_create()
            self.make_parts(self.given_properties())
            return made
        changed = dict(prop_diff)
        connections = changed.pop(self.CONNECTIONS, None)
        answer = super().handle_update(json_snippet, tmpl_diff, changed)
        if connections:
            self._disconnect_all()
            for connection in self._connections(connections):
                self._connect(connection)
        return answer

    repeatable_update = False

    def handle_delete(self) -> Any:
        if not self.resource_id:
            return None
        self._disconnect_all()
        return super().handle_delete()

    def _connections(self, given: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
        """Connections as the service has them."""
        return [
            {
                "network_id" if key == self.NETWORK else key: value
                for key, value in connection.items()
                if key != self.NETWORK_ID
            }
            for connection in given or ()
        ]

    def _connect(self, connection: dict[str, Any]) -> None:
        self.api.put(f"{self.object_path()}/connect_network", json=connection)

    def _disconnect_all(self) -> None:
        for connection in self._connections(self.properties[self.CONNECTIONS]):
            with self.client_plugin().ignore_not_found:
                self.api.put(f"{self.object_path()}/disconnect_network", json=connection)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::NetworkGateway": NetworkGateway}
