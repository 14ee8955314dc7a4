# SPDX-License-Identifier: Apache-2.0
"""Parameters of a stack: their schemata, values and checks.

A value comes from the user, else from ``parameter_defaults`` of the
environment, else from the template.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from oslo_utils import strutils

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import constraints as constr, text as texts

PARAMETER_KEYS = (
    TYPE,
    DEFAULT,
    NO_ECHO,
    ALLOWED_VALUES,
    ALLOWED_PATTERN,
    MAX_LENGTH,
    MIN_LENGTH,
    MAX_VALUE,
    MIN_VALUE,
    DESCRIPTION,
    CONSTRAINT_DESCRIPTION,
    LABEL,
) = (
    "Type",
    "Default",
    "NoEcho",
    "AllowedValues",
    "AllowedPattern",
    "MaxLength",
    "MinLength",
    "MaxValue",
    "MinValue",
    "Description",
    "ConstraintDescription",
    "Label",
)


class Schema(constr.Schema):
    """Schema of a parameter in the form of CFN templates."""

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
        TAGS,
    ) = (
        "Type",
        "Description",
        "Default",
        "Schema",
        "Constraints",
        "NoEcho",
        "Label",
        "Immutable",
        "Tags",
    )

    PARAMETER_KEYS: ClassVar[tuple[str, ...]] = PARAMETER_KEYS

    TYPES: tuple[Any, ...]
    TYPES = (
        STRING,
        NUMBER,
        LIST,
        MAP,
        BOOLEAN,
    ) = (
        "String",
        "Number",
        "CommaDelimitedList",
        "Json",
        "Boolean",
    )

    def __init__(
        self,
        data_type: Any,
        description: str | None = None,
        default: Any = None,
        schema: Any = None,
        constraints: list[constr.Constraint] | None = None,
        hidden: Any = False,
        label: str | None = None,
        immutable: Any = False,
        tags: Any = None,
    ) -> None:
        super().__init__(
            data_type=data_type,
            description=description,
            default=default,
            schema=schema,
            required=default is None,
            constraints=constraints,
            label=label,
            immutable=immutable,
        )
        self.hidden = hidden
        self.tags = tags

    def _validate_default(self, context: Any) -> None:
        if self.default is None:
            return
        value = self.default
        if self.type == self.LIST and not isinstance(value, list):
            try:
                value = value.split(",")
            except (KeyError, AttributeError) as exc:
                raise exception.InvalidSchemaError(
                    message=_("Default must be a comma-delimited list string: %s") % exc
                ) from None
        elif self.type == self.LIST:
            value = [str(item) for item in value]
        try:
            self.validate_constraints(value, context, [constr.CustomConstraint])
        except (ValueError, TypeError, exception.StackValidationFailed) as exc:
            raise exception.InvalidSchemaError(
                message=_("Invalid default %(default)s (%(exc)s)") % {"default": self.default, "exc": exc}
            ) from None

    def set_default(self, default: Any = None) -> None:
        super().set_default(default)
        self.required = default is None

    @staticmethod
    def get_num(key: str, context: Mapping[str, Any]) -> Any:
        """A number of a schema by its key, None if absent."""
        value = context.get(key)
        try:
            return None if value is None else constr.Schema.str_to_num(value)
        except (ValueError, TypeError) as exc:
            raise exception.InvalidSchemaError(message=str(exc)) from None

    @staticmethod
    def _check_dict(schema_dict: Any, allowed_keys: Sequence[str], entity: str) -> None:
        if not isinstance(schema_dict, dict):
            raise exception.InvalidSchemaError(message=_("Invalid %s, expected a mapping") % entity)
        for key in schema_dict:
            if key not in allowed_keys:
                raise exception.InvalidSchemaError(
                    message=_("Invalid key '%(key)s' for %(entity)s") % {"key": key, "entity": entity}
                )

    @classmethod
    def _validate_dict(cls, param_name: str, schema_dict: Any) -> None:
        cls._check_dict(schema_dict, cls.PARAMETER_KEYS, "parameter (%s)" % param_name)
        if cls.TYPE not in schema_dict:
            raise exception.InvalidSchemaError(message=_("Missing parameter type for parameter: %s") % param_name)
        if not isinstance(schema_dict.get(cls.TAGS, []), list):
            raise exception.InvalidSchemaError(
                message=_("Tags property should be a list for parameter: %s") % param_name
            )

    @classmethod
    def _legacy_constraints(cls, data: Mapping[str, Any]) -> Iterator[constr.Constraint]:
        desc = data.get(CONSTRAINT_DESCRIPTION)
        if MIN_VALUE in data or MAX_VALUE in data:
            yield constr.Range(cls.get_num(MIN_VALUE, data), cls.get_num(MAX_VALUE, data), desc)
        if MIN_LENGTH in data or MAX_LENGTH in data:
            yield constr.Length(cls.get_num(MIN_LENGTH, data), cls.get_num(MAX_LENGTH, data), desc)
        if ALLOWED_VALUES in data:
            yield constr.AllowedValues(data[ALLOWED_VALUES], desc)
        if ALLOWED_PATTERN in data:
            yield constr.AllowedPattern(data[ALLOWED_PATTERN], desc)

    @classmethod
    def from_dict(cls, param_name: str, schema_dict: Any) -> Schema:
        """The schema of one entry of a template's parameters section."""
        cls._validate_dict(param_name, schema_dict)
        return cls(
            schema_dict[TYPE],
            description=schema_dict.get(DESCRIPTION),
            default=schema_dict.get(DEFAULT),
            constraints=list(cls._legacy_constraints(schema_dict)),
            hidden=str(schema_dict.get(NO_ECHO, "false")).lower() == "true",
            label=schema_dict.get(LABEL),
        )

    def validate_value(self, value: Any, context: Any = None) -> None:
        self.validate_constraints(value, context)

    def __getitem__(self, key: str) -> Any:
        if key == self.TYPE:
            return self.type
        if key == self.HIDDEN:
            return self.hidden
        return super().__getitem__(key)


class Parameter:
    """One parameter; creating one gives the class for its type."""

    __slots__ = ("name", "schema", "user_value", "user_default")

    def __new__(cls, name: str, schema: Any, value: Any = None) -> Parameter:
        if cls is not Parameter:
            return super().__new__(cls)
        if not isinstance(schema, Schema):
            schema = Schema.from_dict(name, schema)
        kinds = {
            schema.STRING: StringParam,
            schema.NUMBER: NumberParam,
            schema.LIST: CommaDelimitedListParam,
            schema.MAP: JsonParam,
            schema.BOOLEAN: BooleanParam,
        }
        if schema.type not in kinds:
            raise ValueError(_('Invalid Parameter type "%s"') % schema.type)
        return super().__new__(kinds[schema.type])

    def __init__(self, name: str, schema: Any, value: Any = None) -> None:
        self.name = name
        self.schema = schema if isinstance(schema, Schema) else Schema.from_dict(name, schema)
        self.user_value = value
        self.user_default: Any = None

    def validate(self, validate_value: bool = True, context: Any = None) -> None:
        """Check the schema and, if asked to, the value or the default."""
        wording = _("Parameter '%(name)s' is invalid: %(exp)s")
        try:
            self.schema.validate(context)
            if not validate_value:
                return
            if self.user_value is not None:
                self._validate(self.user_value, context)
            elif self.has_default():
                self._validate(self.default(), context)
            else:
                raise exception.UserParameterMissing(key=self.name)
        except (exception.StackValidationFailed, exception.InvalidSchemaError) as exc:
            kind = type(exc)
            raise kind(message=wording % {"name": self.name, "exp": str(exc)}) from None

    def _validate(self, value: Any, context: Any) -> None:
        raise NotImplementedError

    def _raw_value(self) -> Any:
        if self.user_value is not None:
            return self.user_value
        if self.has_default():
            return self.default()
        raise exception.UserParameterMissing(key=self.name)

    def value(self) -> Any:
        """The value in the type of the parameter; UserParameterMissing if there is none."""
        return self._raw_value()

    def has_value(self) -> bool:
        return self.user_value is not None or self.has_default()

    def hidden(self) -> Any:
        """Whether the value is to be kept from the eyes of users."""
        return self.schema.hidden

    def description(self) -> str:
        return self.schema.description or ""

    def label(self) -> str:
        return self.schema.label or self.name

    def tags(self) -> Any:
        return self.schema.tags or []

    def has_default(self) -> bool:
        return self.schema.default is not None or self.user_default is not None

    def default(self) -> Any:
        return self.schema.default if self.user_default is None else self.user_default

    def set_default(self, value: Any) -> None:
        """Override the default of the template."""
        self.user_default = value

    @classmethod
    def _value_as_text(cls, value: Any) -> str:
        return str(value)

    def __str__(self) -> str:
        value = self.value()
        return "******" if self.hidden() else self._value_as_text(value)


class NumberParam(Parameter):
    """A parameter of type number."""

    __slots__ = ()

    def __int__(self) -> int:
        return int(self._raw_value())

    def __float__(self) -> float:
        return float(self._raw_value())

    def _validate(self, value: Any, context: Any) -> None:
        try:
            Schema.str_to_num(value)
        except (ValueError, TypeError) as exc:
            raise exception.StackValidationFailed(message=str(exc)) from None
        self.schema.validate_value(value, context)

    def value(self) -> Any:
        return Schema.str_to_num(self._raw_value())

    def __str__(self) -> str:
        try:
            return super().__str__()
        except ValueError:
            raw = self._raw_value()
            if not math.isfinite(float(raw)):
                # a stack may have what is refused now
                return str(raw)
            raise


class BooleanParam(Parameter):
    """A parameter of type boolean."""

    __slots__ = ()

    def _validate(self, value: Any, context: Any) -> None:
        try:
            strutils.bool_from_string(value, strict=True)
        except ValueError as exc:
            raise exception.StackValidationFailed(message=str(exc)) from None
        self.schema.validate_value(value, context)

    def value(self) -> bool:
        raw = self.user_value if self.user_value is not None else self.default()
        return strutils.bool_from_string(str(raw), strict=True)


class StringParam(Parameter):
    """A parameter of type string."""

    __slots__ = ()

    def _validate(self, value: Any, context: Any) -> None:
        self.schema.validate_value(value, context=context)

    def value(self) -> str:
        return str(self.schema.to_schema_type(self._raw_value()))


class ParsedParameter(Parameter):
    """A parameter whose text has to be parsed; the outcome is kept."""

    __slots__ = ("_parsed",)

    def __init__(self, name: str, schema: Any, value: Any = None) -> None:
        super().__init__(name, schema, value)
        self._parsed: Any = None

    def parse(self, value: Any) -> Any:
        raise NotImplementedError

    def default_parsed(self) -> Any:
        raise NotImplementedError

    @property
    def parsed(self) -> Any:
        if self._parsed is None:
            self._parsed = self.parse(self._raw_value()) if self.has_value() else self.default_parsed()
        return self._parsed

    def set_default(self, value: Any) -> None:
        super().set_default(value)
        self._parsed = None

    def value(self) -> Any:
        if self.has_value():
            return self.parsed
        raise exception.UserParameterMissing(key=self.name)

    def _validate(self, value: Any, context: Any) -> None:
        try:
            parsed = self.parse(value)
        except ValueError as exc:
            raise exception.StackValidationFailed(message=str(exc)) from None
        self.schema.validate_value(parsed, context)

    def __len__(self) -> int:
        return len(self.parsed)

    def __getitem__(self, key: Any) -> Any:
        return self.parsed[key]


class CommaDelimitedListParam(ParsedParameter, Sequence[Any]):
    """A parameter of type comma_delimited_list."""

    __slots__ = ()

    def default_parsed(self) -> list[Any]:
        return []

    def parse(self, value: Any) -> Any:
        if isinstance(value, list):
            return [str(item) for item in value]
        if value is None:
            return None
        if value == "":
            return []
        try:
            return value.split(",")
        except (KeyError, AttributeError) as exc:
            raise ValueError(_("Value must be a comma-delimited list string: %s") % str(exc)) from None

    @classmethod
    def _value_as_text(cls, value: Any) -> str:
        return ",".join(value)


class JsonParam(ParsedParameter):
    """A parameter of type json."""

    __slots__ = ()

    def default_parsed(self) -> dict[Any, Any]:
        return {}

    def parse(self, value: Any) -> Any:
        try:
            text = value if isinstance(value, str) else json.dumps(value)
            return texts.load_json(text) if text else value
        except (exception.RequestLimitExceeded, RecursionError):
            raise ValueError(_("Value must be valid JSON: %s") % _("it is nested too deeply")) from None
        except (ValueError, TypeError) as exc:
            raise ValueError(_("Value must be valid JSON: %s") % exc) from None

    @classmethod
    def _value_as_text(cls, value: Any) -> str:
        return json.dumps(value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parsed)


class Parameters(Mapping[str, Any]):
    """All parameters of a stack: a mapping of names to values."""

    PSEUDO_PARAMETERS: ClassVar[tuple[str, ...]] = ()
    PARAM_STACK_ID: ClassVar[str] = ""

    def __init__(
        self,
        stack_identifier: Any,
        tmpl: Any,
        user_params: Mapping[str, Any] | None = None,
        param_defaults: Mapping[str, Any] | None = None,
    ) -> None:
        user_params = user_params or {}
        self.tmpl = tmpl
        self.user_params = user_params
        self.params: dict[str, Parameter] = {p.name: p for p in self._pseudo_parameters(stack_identifier)}
        for name, schema in tmpl.param_schemata().items():
            self.params[name] = Parameter(name, schema, user_params.get(name))
        self.non_pseudo_param_keys = [name for name in self.params if name not in self.PSEUDO_PARAMETERS]
        for name, default in (param_defaults or {}).items():
            if name in self.params:
                self.params[name].set_default(default)

    def _pseudo_parameters(self, stack_identifier: Any) -> Iterator[Parameter]:
        raise NotImplementedError

    def _stack_id(self, stack_identifier: Any) -> str:
        raise NotImplementedError

    def validate(self, validate_value: bool = True, context: Any = None) -> None:
        """Check that every given parameter is known and every known one is valid."""
        schemata = self.tmpl.param_schemata()
        for name in self.user_params:
            if name not in schemata:
                raise exception.UnknownUserParameter(key=name)
        for param in self.params.values():
            param.validate(validate_value, context)

    def __contains__(self, key: object) -> bool:
        return key in self.params

    def __iter__(self) -> Iterator[str]:
        return iter(self.params)

    def __len__(self) -> int:
        return len(self.params)

    def __getitem__(self, key: str) -> Any:
        return self.params[key].value()

    def map(self, func: Callable[[Any], Any], filter_func: Callable[[Any], Any] = lambda p: True) -> dict[str, Any]:
        """The result of a function for each parameter that passes the filter."""
        return {name: func(param) for name, param in self.params.items() if filter_func(param)}

    def set_stack_id(self, stack_identifier: Any) -> bool:
        """Set the pseudo parameter that is the id, once it is known."""
        if stack_identifier is None:
            return False
        self.params[self.PARAM_STACK_ID].schema.set_default(self._stack_id(stack_identifier))
        return True

    def immutable_params_modified(
        self, new_parameters: Parameters, input_params: Mapping[str, Any]
    ) -> list[str] | None:
        """Names of immutable parameters, present before and after, whose value would change."""
        changed = []
        for name in set(new_parameters.non_pseudo_param_keys) & set(self.non_pseudo_param_keys):
            new = new_parameters.params[name]
            if not new.schema.immutable:
                continue
            try:
                new_value = new.value()
            except (ValueError, TypeError):
                # not a value of its type; that is for validation to say
                new_value = input_params.get(name)
            if self.params[name].value() != new_value:
                changed.append(name)
        return changed or None
