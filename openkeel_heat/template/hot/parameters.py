# SPDX-License-Identifier: Apache-2.0
"""Parameters as HOT templates write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import constraints as constr, parameters

PARAM_CONSTRAINTS = (
    DESCRIPTION,
    LENGTH,
    RANGE,
    MODULO,
    ALLOWED_VALUES,
    ALLOWED_PATTERN,
    CUSTOM_CONSTRAINT,
) = (
    "description",
    "length",
    "range",
    "modulo",
    "allowed_values",
    "allowed_pattern",
    "custom_constraint",
)

RANGE_KEYS = (MIN, MAX) = ("min", "max")
MODULO_KEYS = (STEP, OFFSET) = ("step", "offset")


class HOTParamSchema(parameters.Schema):
    """Schema of a HOT parameter."""

    KEYS: tuple[str, ...]
    KEYS = (
        TYPE,
        DESCRIPTION,
        DEFAULT,
        SCHEMA,
        CONSTRAINTS,
        HIDDEN,
        LABEL,
        IMMUTABLE,
    ) = (
        "type",
        "description",
        "default",
        "schema",
        "constraints",
        "hidden",
        "label",
        "immutable",
    )

    TYPES: tuple[Any, ...]
    TYPES = (
        STRING,
        NUMBER,
        LIST,
        MAP,
        BOOLEAN,
    ) = (
        "string",
        "number",
        "comma_delimited_list",
        "json",
        "boolean",
    )

    PARAMETER_KEYS: ClassVar[tuple[str, ...]] = KEYS

    @classmethod
    def _constraint_from_def(cls, definition: Mapping[str, Any]) -> constr.Constraint:
        desc = definition.get(DESCRIPTION)
        for key, kind in ((RANGE, constr.Range), (LENGTH, constr.Length)):
            if key in definition:
                bounds = definition[key]
                cls._check_dict(bounds, RANGE_KEYS, "%s constraint" % key)
                return kind(cls.get_num(MIN, bounds), cls.get_num(MAX, bounds), desc)
        if ALLOWED_VALUES in definition:
            return constr.AllowedValues(definition[ALLOWED_VALUES], desc)
        if ALLOWED_PATTERN in definition:
            return constr.AllowedPattern(definition[ALLOWED_PATTERN], desc)
        if CUSTOM_CONSTRAINT in definition:
            return constr.CustomConstraint(definition[CUSTOM_CONSTRAINT], desc)
        raise exception.InvalidSchemaError(message=_("No constraint expressed"))

    @classmethod
    def _constraints(cls, param_name: str, schema_dict: Mapping[str, Any]) -> Iterator[constr.Constraint]:
        definitions = schema_dict.get(cls.CONSTRAINTS)
        if definitions is None:
            return
        if not isinstance(definitions, list):
            raise exception.InvalidSchemaError(
                message=_("Invalid parameter constraints for parameter %s, expected a list") % param_name
            )
        for definition in definitions:
            cls._check_dict(definition, PARAM_CONSTRAINTS, "parameter constraints")
            yield cls._constraint_from_def(definition)

    @classmethod
    def _arguments(cls, param_name: str, schema_dict: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "description": schema_dict.get(cls.DESCRIPTION),
            "default": schema_dict.get(cls.DEFAULT),
            "constraints": list(cls._constraints(param_name, schema_dict)),
            "hidden": schema_dict.get(cls.HIDDEN, False),
            "label": schema_dict.get(cls.LABEL),
            "immutable": schema_dict.get(cls.IMMUTABLE, False),
        }

    @classmethod
    def from_dict(cls, param_name: str, schema_dict: Any) -> HOTParamSchema:
        cls._validate_dict(param_name, schema_dict)
        return cls(schema_dict[cls.TYPE], **cls._arguments(param_name, schema_dict))


class HOTParamSchema20170224(HOTParamSchema):
    """Adds the modulo constraint."""

    @classmethod
    def _constraint_from_def(cls, definition: Mapping[str, Any]) -> constr.Constraint:
        if MODULO in definition:
            modulo = definition[MODULO]
            cls._check_dict(modulo, MODULO_KEYS, "modulo constraint")
            return constr.Modulo(cls.get_num(STEP, modulo), cls.get_num(OFFSET, modulo), definition.get(DESCRIPTION))
        return super()._constraint_from_def(definition)


class HOTParamSchema20180302(HOTParamSchema20170224):
    """Adds tags."""

    TAGS = "tags"
    KEYS = (*HOTParamSchema20170224.KEYS, TAGS)
    PARAMETER_KEYS = KEYS

    @classmethod
    def _arguments(cls, param_name: str, schema_dict: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._arguments(param_name, schema_dict), "tags": schema_dict.get(cls.TAGS)}


class HOTParameters(parameters.Parameters):
    """Parameters of a HOT stack."""

    PSEUDO_PARAMETERS = (
        PARAM_STACK_ID,
        PARAM_STACK_NAME,
        PARAM_REGION,
        PARAM_PROJECT_ID,
    ) = (
        "OS::stack_id",
        "OS::stack_name",
        "OS::region",
        "OS::project_id",
    )

    def _stack_id(self, stack_identifier: Any) -> str:
        return str(stack_identifier.stack_id)

    def _pseudo_parameters(self, stack_identifier: Any) -> Iterator[parameters.Parameter]:
        schema = parameters.Schema
        name = getattr(stack_identifier, "stack_name", "")
        yield parameters.Parameter(
            self.PARAM_STACK_ID,
            schema(schema.STRING, _("Stack ID"), default=str(getattr(stack_identifier, "stack_id", ""))),
        )
        yield parameters.Parameter(
            self.PARAM_PROJECT_ID,
            schema(schema.STRING, _("Project ID"), default=str(getattr(stack_identifier, "tenant", ""))),
        )
        if name:
            yield parameters.Parameter(self.PARAM_STACK_NAME, schema(schema.STRING, _("Stack Name"), default=name))
