# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::SoftwareConfig: a piece of configuration for servers, kept to be deployed."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, properties, software_io, support
from openkeel_heat.resources.kit.resource import Resource


class SoftwareConfig(Resource):
    """Keeps a configuration script or manifest, with the inputs it takes and the outputs it gives.

    Configs never change: another definition is another config. They are referred to by deployments, by the
    user data of servers and by multi-part messages, in the same stack or by their ids in others.
    """

    support_status = support.SupportStatus(version="2014.1")

    default_client_name = "heat"

    entity = "software_configs"

    # The id of the config is that of the resource, so it may be made twice.
    deferred_resource_id = True
    repeatable_create = True

    PROPERTIES: Any
    ATTRIBUTES: Any
    PROPERTIES = (GROUP, CONFIG, OPTIONS, INPUTS, OUTPUTS) = ("group", "config", "options", "inputs", "outputs")

    ATTRIBUTES = (CONFIG_ATTR,) = ("config",)

    # What every config that is not of the group of a tool has.
    DEFAULT_GROUP = "Heat::Ungrouped"

    properties_schema = {
        GROUP: properties.Schema(
            properties.Schema.STRING,
            _("Group of the config as servers see it; it may say which tool applies it."),
            default=DEFAULT_GROUP,
        ),
        CONFIG: properties.Schema(properties.Schema.STRING, _("The script or manifest.")),
        OPTIONS: properties.Schema(properties.Schema.MAP, _("Options for the tool that applies it.")),
        INPUTS: properties.Schema(
            properties.Schema.LIST,
            _("What it takes."),
            schema=properties.Schema(properties.Schema.MAP, schema=software_io.input_config_schema),
        ),
        OUTPUTS: properties.Schema(
            properties.Schema.LIST,
            _("What it gives."),
            schema=properties.Schema(properties.Schema.MAP, schema=software_io.output_config_schema),
        ),
    }

    attributes_schema = {
        CONFIG_ATTR: attributes.Schema(_("The script or manifest as it is kept."), type=attributes.Schema.STRING),
    }

    def config_values(self) -> dict[str, Any]:
        """What makes the config, apart from its name."""
        return dict(self.properties)

    def handle_create(self) -> Any:
        made = self.stack.software.create_config(
            self, {**self.config_values(), "name": self.physical_resource_name(), "id": self.uuid}
        )
        self.resource_id_set(made["id"])

    def handle_delete(self) -> Any:
        config_id = self.resource_id or self.find_physical()
        if config_id is not None:
            self.stack.software.delete_config(self, config_id)

    def find_physical(self) -> str | None:
        """The id that it has if it was made at all."""
        return self.uuid

    def _stored_config(self) -> dict[str, Any] | None:
        if self.resource_id is None:
            return None
        try:
            return self.stack.software.show_config(self, self.resource_id)
        except exception.NotFound:
            return None

    def _resolve_attribute(self, name: str) -> Any:
        found = self._stored_config() if name == self.CONFIG_ATTR else None
        return None if found is None else found["config"]

    def _show_resource(self) -> Any:
        return self.stack.software.show_config(self, self.resource_id)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::SoftwareConfig": SoftwareConfig}
