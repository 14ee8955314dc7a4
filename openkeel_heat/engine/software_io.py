# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of software configs: checked, with their defaults, in the form that is stored."""
from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

NAME, DESCRIPTION, TYPE, DEFAULT = "name", "description", "type", "default"
REPLACE_ON_CHANGE, VALUE, ERROR_OUTPUT = "replace_on_change", "value", "error_output"

TYPES = (STRING, NUMBER, LIST, JSON, BOOLEAN) = ("String", "Number", "CommaDelimitedList", "Json", "Boolean")

_NO_VALUE = object()


def _schemata() -> tuple[dict[str, Any], dict[str, Any]]:
    """Schemata of an input and of an output."""
    from openkeel_heat.resources.kit import properties
    from openkeel_heat.template import constraints

    schema = properties.Schema
    common = {
        NAME: schema(schema.STRING, _("What it is called."), required=True),
        DESCRIPTION: schema(schema.STRING, _("What it is for.")),
        TYPE: schema(schema.STRING, _("The type of its value."), default=STRING,
                     constraints=[constraints.AllowedValues(TYPES)]),
    }
    inputs = {
        **common,
        DEFAULT: schema(schema.ANY, _("The value when none is given.")),
        REPLACE_ON_CHANGE: schema(schema.BOOLEAN, _("Whether another value replaces the deployment."), default=False),
    }
    outputs = {
        **common,
        ERROR_OUTPUT: schema(schema.BOOLEAN, _("Whether having a value means an error."), default=False),
    }
    return inputs, outputs


def check_list(configs: Any) -> None:
    """TypeError for anything but a list of mappings."""
    if not isinstance(configs, Sequence) or isinstance(configs, str):
        raise TypeError("Software Config I/O Schema must be in a list")
    if not all(isinstance(config, Mapping) for config in configs):
        raise TypeError("Software Config I/O Schema must be a dict")


class _IOConfig:
    def __init__(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        from openkeel_heat.resources.kit import properties

        self._props = properties.Properties(dict(schema), dict(config))
        try:
            self._props.validate()
        except exceptions.StackValidationFailed as error:
            raise ValueError(str(error)) from error

    def name(self) -> str:
        return str(self._props[NAME])

    def as_dict(self) -> dict[str, Any]:
        """The form that is stored."""
        return {key: value for key, value in self._props.items() if value is not None}


class InputConfig(_IOConfig):
    """An input, perhaps with a value."""

    def __init__(self, value: Any = _NO_VALUE, **config: Any) -> None:
        schema = _schemata()[0]
        typed = TYPE in config and DEFAULT in config
        if typed and not (config[DEFAULT] == "" and config[TYPE] != STRING):  # old rows have '' for any type
            schema = copy.copy(schema)
            schema[DEFAULT] = _schema_of_type(config[TYPE])
        super().__init__(schema, config)
        self._value = value

    def default(self) -> Any:
        return self._props[DEFAULT]

    def replace_on_change(self) -> bool:
        return bool(self._props[REPLACE_ON_CHANGE])

    def as_dict(self) -> dict[str, Any]:
        found = super().as_dict()
        if not self.replace_on_change():
            found.pop(REPLACE_ON_CHANGE, None)
        if self._value is not _NO_VALUE:
            found[VALUE] = self._value
        return found

    def input_data(self) -> tuple[str, Any]:
        return self.name(), None if self._value is _NO_VALUE else self._value


class OutputConfig(_IOConfig):
    """An output."""

    def __init__(self, **config: Any) -> None:
        super().__init__(_schemata()[1], config)

    def error_output(self) -> bool:
        return bool(self._props[ERROR_OUTPUT])


def _schema_of_type(type_name: Any) -> Any:
    from openkeel_heat.resources.kit import properties
    from openkeel_heat.template import parameters

    return properties.Schema.from_parameter(parameters.Schema.from_dict("config", {"Type": type_name}))
