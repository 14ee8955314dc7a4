# SPDX-License-Identifier: Apache-2.0
"""OS::Neutron::Trunk: a port that carries several networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.neutron import declare, rules
from openkeel_heat.resources.neutron.neutron import NeutronResource, with_status


class Trunk(NeutronResource):
    """A trunk: one port of a server that carries several networks, each on a subport."""

    required_service_extension = "trunk"

    entity = "trunk"

    support_status = declare.since("9.0.0")

    api_object = with_status("trunks", "trunk")

    renamed = {"port": "port_id"}

    PROPERTIES = (NAME, PARENT_PORT, SUB_PORTS, DESCRIPTION, ADMIN_STATE_UP) = (
        "name",
        "port",
        "sub_ports",
        "description",
        "admin_state_up",
    )

    _SUBPORT_KEYS = (PORT, SEGMENTATION_TYPE, SEGMENTATION_ID) = ("port", "segmentation_type", "segmentation_id")

    ATTRIBUTES = (PORT_ATTR,) = ("port_id",)

    properties_schema = {
        NAME: declare.NAME,
        PARENT_PORT: properties.Schema(
            properties.Schema.STRING,
            _("Port that carries the trunk (as a subport: port that is carried), by name or id."),
            required=True,
            immutable=True,
            constraints=[constraints.CustomConstraint("neutron.port")],
        ),
        SUB_PORTS: properties.Schema(
            properties.Schema.LIST,
            _("Ports that the trunk carries."),
            update_allowed=True,
            schema=properties.Schema(
                properties.Schema.MAP,
                schema={
                    PARENT_PORT: properties.Schema(
                        properties.Schema.STRING,
                        _("Port that carries the trunk (as a subport: port that is carried), by name or id."),
                        required=True,
                        constraints=[constraints.CustomConstraint("neutron.port")],
                    ),
                    SEGMENTATION_TYPE: properties.Schema(
                        properties.Schema.STRING,
                        _("How traffic of the subport is told apart."),
                        required=True,
                        constraints=[constraints.AllowedValues(["vlan"])],
                    ),
                    SEGMENTATION_ID: properties.Schema(
                        properties.Schema.INTEGER,
                        _("Segment, for example the VLAN, of the subport inside the server."),
                        required=True,
                        constraints=[constraints.Range(min=1, max=4094)],
                    ),
                },
            ),
        ),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _("Text about the object."), update_allowed=True),
        ADMIN_STATE_UP: properties.Schema(
            properties.Schema.BOOLEAN, _("Whether it is administratively up."), update_allowed=True
        ),
    }

    attributes_schema = {
        PORT_ATTR: attributes.Schema(_("Port that carries the trunk."), type=attributes.Schema.STRING),
    }

    def translation_rules(self, props: Any) -> list[Any]:
        kind = self.client_plugin().RES_TYPE_PORT
        return [
            rules.find(self, props, kind, self.PARENT_PORT),
            rules.find(self, props, kind, self.SUB_PORTS, self.PORT),
        ]

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body = super().create_body(props)
        if body.get(self.SUB_PORTS):
            body[self.SUB_PORTS] = [_sub_port(entry) for entry in body[self.SUB_PORTS]]
        return body

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        changed = dict(prop_diff)
        sub_ports = changed.pop(self.SUB_PORTS, None)
        answer = super().handle_update(json_snippet, tmpl_diff, changed)
        if self.SUB_PORTS in prop_diff:
            answer = self._change_sub_ports(sub_ports or [])
        return answer

    # Only what is not as it should be is changed.
    repeatable_update = True

    def _change_sub_ports(self, wanted: list[dict[str, Any]]) -> Any:
        """Take out the subports that the template does not have any more, then add those that it has got.

        A port is on one trunk with one segment only, so what changes is taken out first.
        """
        new = [_sub_port(entry) for entry in wanted]
        managed = {entry[self.PORT] for entry in self.properties[self.SUB_PORTS] or ()} | {
            entry["port_id"] for entry in new
        }
        there = self._show_resource()["sub_ports"]
        out = [entry for entry in there if entry["port_id"] in managed and entry not in new]
        answer = None
        if out:
            answer = self._put("remove_subports", [{"port_id": entry["port_id"]} for entry in out])
        missing = [entry for entry in new if entry not in there]
        return self._put("add_subports", missing) if missing else answer

    def _put(self, action: str, sub_ports: list[dict[str, Any]]) -> Any:
        self._seen = None
        return self.api.put(f"{self.object_path()}/{action}", json={"sub_ports": sub_ports})

    def parse_live_resource_data(self, resource_properties: Any, resource_data: Any) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        if self.SUB_PORTS in found:
            found[self.SUB_PORTS] = [
                {self.PORT if key == "port_id" else key: value for key, value in entry.items()}
                for entry in found[self.SUB_PORTS]
            ]
        return self.drift(resource_properties, found)


def _sub_port(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A subport as the service has it."""
    return {"port_id" if key == Trunk.PORT else key: value for key, value in entry.items()}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Neutron::Trunk": Trunk}
