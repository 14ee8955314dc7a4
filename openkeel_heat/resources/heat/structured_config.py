# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::StructuredConfig and its deployments: configs that are data, with inputs put in when deployed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.software_config import SoftwareConfig
from openkeel_heat.resources.heat.software_deployment import SoftwareDeployment, SoftwareDeploymentGroup
from openkeel_heat.resources.kit import constraints, properties, software_io, support
from openkeel_heat.resources.kit.resource import Resource


class StructuredConfig(SoftwareConfig):
    """Keeps a configuration that is a map instead of a text, for tools that read JSON or YAML."""

    support_status = support.SupportStatus(version="2014.1")

    PROPERTIES = (GROUP, CONFIG, OPTIONS, INPUTS, OUTPUTS) = (
        SoftwareConfig.GROUP,
        SoftwareConfig.CONFIG,
        SoftwareConfig.OPTIONS,
        SoftwareConfig.INPUTS,
        SoftwareConfig.OUTPUTS,
    )

    properties_schema = {
        GROUP: SoftwareConfig.properties_schema[GROUP],
        OPTIONS: SoftwareConfig.properties_schema[OPTIONS],
        INPUTS: SoftwareConfig.properties_schema[INPUTS],
        OUTPUTS: SoftwareConfig.properties_schema[OUTPUTS],
        CONFIG: properties.Schema(properties.Schema.MAP, _("The data.")),
    }


class StructuredDeployment(SoftwareDeployment):
    """Applies a structured config to a server.

    Each ``{get_input: NAME}`` in the data is replaced by the value of that input. Where the tool wants to see
    such maps itself, ``input_key`` names another key.
    """

    support_status = support.SupportStatus(version="2014.1")

    PROPERTIES = (
        CONFIG,
        SERVER,
        INPUT_VALUES,
        DEPLOY_ACTIONS,
        NAME,
        SIGNAL_TRANSPORT,
        INPUT_KEY,
        INPUT_VALUES_VALIDATE,
    ) = (
        SoftwareDeployment.CONFIG,
        SoftwareDeployment.SERVER,
        SoftwareDeployment.INPUT_VALUES,
        SoftwareDeployment.DEPLOY_ACTIONS,
        SoftwareDeployment.NAME,
        SoftwareDeployment.SIGNAL_TRANSPORT,
        "input_key",
        "input_values_validate",
    )

    LAX, STRICT = "LAX", "STRICT"

    _schema = SoftwareDeployment.properties_schema

    properties_schema = {
        CONFIG: _schema[CONFIG],
        SERVER: _schema[SERVER],
        INPUT_VALUES: _schema[INPUT_VALUES],
        DEPLOY_ACTIONS: _schema[DEPLOY_ACTIONS],
        SIGNAL_TRANSPORT: _schema[SIGNAL_TRANSPORT],
        NAME: _schema[NAME],
        INPUT_KEY: properties.Schema(
            properties.Schema.STRING, _("Key of the maps that stand for inputs."), default="get_input"
        ),
        INPUT_VALUES_VALIDATE: properties.Schema(
            properties.Schema.STRING,
            _('Whether an input that the data name must have a value ("STRICT"), or is null without one ("LAX").'),
            default=LAX,
            constraints=[constraints.AllowedValues([LAX, STRICT])],
        ),
    }

    def empty_config(self) -> Any:
        return {}

    def _build_derived_config(
        self,
        action: str,
        source: Mapping[str, Any],
        derived_inputs: Sequence[software_io.InputConfig],
        derived_options: Any,
    ) -> Any:
        values = dict(entry.input_data() for entry in derived_inputs)
        return self.parse(
            values, self.properties[self.INPUT_KEY], source.get("config"), self.properties[self.INPUT_VALUES_VALIDATE]
        )

    @staticmethod
    def get_input_key_arg(snippet: Mapping[str, Any], input_key: str) -> str | None:
        """The name of the input that a map stands for, None for other maps."""
        argument = snippet.get(input_key) if len(snippet) == 1 else None
        return argument if isinstance(argument, str) else None

    @staticmethod
    def get_input_key_value(fn_arg: str, inputs: Mapping[str, Any], check_input_val: str = LAX) -> Any:
        if fn_arg not in inputs and check_input_val == StructuredDeployment.STRICT:
            raise exception.UserParameterMissing(key=fn_arg)
        return inputs.get(fn_arg)

    @staticmethod
    def parse(inputs: Mapping[str, Any], input_key: str, snippet: Any, check_input_val: str = LAX) -> Any:
        """The data with the values of inputs in them."""

        def parsed(value: Any) -> Any:
            if isinstance(value, Mapping):
                name = StructuredDeployment.get_input_key_arg(value, input_key)
                if name is not None:
                    return StructuredDeployment.get_input_key_value(name, inputs, check_input_val)
                return {key: parsed(entry) for key, entry in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, str):
                return [parsed(entry) for entry in value]
            return value

        return parsed(snippet)


class StructuredDeploymentGroup(SoftwareDeploymentGroup):
    """Applies a structured config to a number of servers, as a group of software deployments does."""

    PROPERTIES = (
        SERVERS,
        CONFIG,
        INPUT_VALUES,
        DEPLOY_ACTIONS,
        NAME,
        SIGNAL_TRANSPORT,
        INPUT_KEY,
        INPUT_VALUES_VALIDATE,
    ) = (
        SoftwareDeploymentGroup.SERVERS,
        SoftwareDeploymentGroup.CONFIG,
        SoftwareDeploymentGroup.INPUT_VALUES,
        SoftwareDeploymentGroup.DEPLOY_ACTIONS,
        SoftwareDeploymentGroup.NAME,
        SoftwareDeploymentGroup.SIGNAL_TRANSPORT,
        StructuredDeployment.INPUT_KEY,
        StructuredDeployment.INPUT_VALUES_VALIDATE,
    )

    MEMBER_TYPE = "OS::Heat::StructuredDeployment"

    _group_schema = SoftwareDeploymentGroup.properties_schema

    properties_schema = {
        SERVERS: _group_schema[SERVERS],
        CONFIG: _group_schema[CONFIG],
        INPUT_VALUES: _group_schema[INPUT_VALUES],
        DEPLOY_ACTIONS: _group_schema[DEPLOY_ACTIONS],
        SIGNAL_TRANSPORT: _group_schema[SIGNAL_TRANSPORT],
        NAME: _group_schema[NAME],
        INPUT_KEY: StructuredDeployment.properties_schema[INPUT_KEY],
        INPUT_VALUES_VALIDATE: StructuredDeployment.properties_schema[INPUT_VALUES_VALIDATE],
    }


class StructuredDeployments(StructuredDeploymentGroup):
    """The name that the group had in the beginning."""

    hidden_msg = _("Please use OS::Heat::StructuredDeploymentGroup instead.")

    support_status = support.SupportStatus(
        status=support.HIDDEN,
        message=hidden_msg,
        version="7.0.0",
        previous_status=support.SupportStatus(status=support.DEPRECATED, version="2014.2"),
        substitute_class=StructuredDeploymentGroup,
    )


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Heat::StructuredConfig": StructuredConfig,
        "OS::Heat::StructuredDeployment": StructuredDeployment,
        "OS::Heat::StructuredDeploymentGroup": StructuredDeploymentGroup,
        "OS::Heat::StructuredDeployments": StructuredDeployments,
    }
