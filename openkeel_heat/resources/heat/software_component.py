# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::SoftwareComponent: the configs of one software for all actions of its life."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.software_config import SoftwareConfig
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource

COMPONENT_GROUP = "component"


class SoftwareComponent(SoftwareConfig):
    """Keeps several configurations of one software, each for some of CREATE, UPDATE, SUSPEND, RESUME, DELETE.

    It is a software config whose content is the list of them.
    """

    support_status = support.SupportStatus(version="2014.2")

    PROPERTIES = (CONFIGS, INPUTS, OUTPUTS, OPTIONS) = (
        "configs",
        SoftwareConfig.INPUTS,
        SoftwareConfig.OUTPUTS,
        SoftwareConfig.OPTIONS,
    )

    CONFIG_PROPERTIES = (CONFIG_ACTIONS, CONFIG_CONFIG, CONFIG_TOOL) = ("actions", "config", "tool")

    ATTRIBUTES = (CONFIGS_ATTR,) = ("configs",)

    config_schema = properties.Schema(
        properties.Schema.MAP,
        schema={
            CONFIG_ACTIONS: properties.Schema(
                properties.Schema.LIST,
                _("Actions in which it is applied: those of resources, or others that the tool on the server knows."),
                default=[Resource.CREATE, Resource.UPDATE],
                schema=properties.Schema(properties.Schema.STRING),
                constraints=[constraints.Length(min=1)],
            ),
            CONFIG_CONFIG: SoftwareConfig.properties_schema[SoftwareConfig.CONFIG],
            CONFIG_TOOL: properties.Schema(
                properties.Schema.STRING, _("Tool that applies it; the server has to know it."), required=True
            ),
        },
    )

    properties_schema = {
        CONFIGS: properties.Schema(
            properties.Schema.LIST,
            _("The configurations."),
            schema=config_schema,
            constraints=[constraints.Length(min=1)],
            required=True,
        ),
        INPUTS: SoftwareConfig.properties_schema[SoftwareConfig.INPUTS],
        OUTPUTS: SoftwareConfig.properties_schema[SoftwareConfig.OUTPUTS],
        OPTIONS: SoftwareConfig.properties_schema[SoftwareConfig.OPTIONS],
    }

    def config_values(self) -> dict[str, Any]:
        values = dict(self.properties)
        return {**values, "config": {self.CONFIGS: values.pop(self.CONFIGS)}, "group": COMPONENT_GROUP}

    def _resolve_attribute(self, name: str) -> Any:
        found = self._stored_config() if name == self.CONFIGS_ATTR else None
        return None if found is None else found["config"].get(self.CONFIGS)

    def validate(self) -> Any:
        super().validate()
        # Of two configs for one action nobody could tell which comes first.
        seen: set[str] = set()
        for config in self.properties[self.CONFIGS]:
            actions = config.get(self.CONFIG_ACTIONS)
            if seen.intersection(actions):
                raise exception.StackValidationFailed(
                    message=_(
                        'Defining more than one configuration for the same action in SoftwareComponent "%s" is not '
                        "allowed."
                    )
                    % self.name
                )
            seen.update(actions)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::SoftwareComponent": SoftwareComponent}
