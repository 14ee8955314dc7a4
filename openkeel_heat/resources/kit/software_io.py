# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of software configs: their schemata, and each of them checked, in the form that is stored.

InputConfig(name='x', type='Number', default=3).as_dict()
InputConfig(name='x', value=5).input_data()     # ('x', 5)
OutputConfig(name='failed', error_output=True).error_output()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties

IO_NAME, DESCRIPTION, TYPE, DEFAULT, REPLACE_ON_CHANGE, VALUE, ERROR_OUTPUT = (
    "name",
    "description",
    "type",
    "default",
    "replace_on_change",
    "value",
    "error_output",
)

TYPES = (STRING_TYPE, NUMBER_TYPE, LIST_TYPE, JSON_TYPE, BOOLEAN_TYPE) = (
    "String",
    "Number",
    "CommaDelimitedList",
    "Json",
    "Boolean",
)

_Schema = properties.Schema

input_config_schema = {
    IO_NAME: _Schema(_Schema.STRING, _("What the input is called."), required=True),
    DESCRIPTION: _Schema(_Schema.STRING, _("What the input is for.")),
    TYPE: _Schema(
        _Schema.STRING,
        _("Type that a value of the input has."),
        default=STRING_TYPE,
        constraints=[constraints.AllowedValues(TYPES)],
    ),
    DEFAULT: _Schema(_Schema.ANY, _("The value when a deployment gives none.")),
    REPLACE_ON_CHANGE: _Schema(
        _Schema.BOOLEAN, _("Whether another value replaces the deployment instead of updating it."), default=False
    ),
}

output_config_schema = {
    IO_NAME: _Schema(_Schema.STRING, _("What the output is called."), required=True),
    DESCRIPTION: _Schema(_Schema.STRING, _("What the output is for.")),
    TYPE: _Schema(
        _Schema.STRING,
        _("Type that a value of the output has."),
        default=STRING_TYPE,
        constraints=[constraints.AllowedValues(TYPES)],
    ),
    ERROR_OUTPUT: _Schema(
        _Schema.BOOLEAN, _("Whether a value of the output means that the deployment failed."), default=False
    ),
}

_NO_VALUE = object()


class IOConfig:
    """One input or output. ValueError: it does not fit the schema."""

    schema: Mapping[str, Any] = {}

    def __init__(self, **config: Any) -> None:
        self._props = properties.Properties(dict(self.schema), config)
        try:
            self._props.validate()
        except exception.StackValidationFailed as error:
            raise ValueError(str(error)) from error

    def name(self) -> str:
        return self._props[IO_NAME]

    def as_dict(self) -> dict[str, Any]:
        """The form that is stored."""
        return {key: value for key, value in self._props.items() if value is not None}

    def __repr__(self) -> str:
        inside = ", ".join("%s=%r" % item for item in self.as_dict().items())
        return "%s(%s)" % (type(self).__name__, inside)


def _schema_of_default(type_name: Any) -> Any:
    from openkeel_heat.template import parameters

    return _Schema.from_parameter(parameters.Schema.from_dict("config", {"Type": type_name}))


class InputConfig(IOConfig):
    """An input; with the value it has in a deployment, or without any."""

    schema = input_config_schema

    def __init__(self, value: Any = _NO_VALUE, **config: Any) -> None:
        # Configs of long ago have '' as default of any type.
        unset = config.get(DEFAULT) == "" and config.get(TYPE) != STRING_TYPE
        if TYPE in config and DEFAULT in config and not unset:
            self.schema = {**self.schema, DEFAULT: _schema_of_default(config[TYPE])}
        super().__init__(**config)
        self._value = value

    def default(self) -> Any:
        return self._props[DEFAULT]

    def replace_on_change(self) -> bool:
        return self._props[REPLACE_ON_CHANGE]

    def as_dict(self) -> dict[str, Any]:
        found = super().as_dict()
        if not self.replace_on_change():
            found.pop(REPLACE_ON_CHANGE, None)
        if self._value is not _NO_VALUE:
            found[VALUE] = self._value
        return found

    def input_data(self) -> tuple[str, Any]:
        """(name, value); the value is None where none was given."""
        return self.name(), None if self._value is _NO_VALUE else self._value


class OutputConfig(IOConfig):
    """An output."""

    schema = output_config_schema

    def error_output(self) -> bool:
        return self._props[ERROR_OUTPUT]


def check_io_schema_list(io_configs: Any) -> None:
    """TypeError for anything but a list of mappings."""
    if not isinstance(io_configs, Sequence) or isinstance(io_configs, str):
        raise TypeError("Software Config I/O Schema must be in a list")
    if not all(isinstance(config, Mapping) for config in io_configs):
        raise TypeError("Software Config I/O Schema must be a dict")
