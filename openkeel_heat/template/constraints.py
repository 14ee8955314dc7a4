# SPDX-License-Identifier: Apache-2.0
"""Schemata of values and the constraints on them.

Parameters and resource properties share these classes.  A schema or constraint
is also a mapping: the form in which the API shows it.
"""

from __future__ import annotations

import json
import numbers
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oslo_log import log as logging
from oslo_utils import strutils

from openkeel_heat.common import exceptions as exception, strict_json
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits, patterns

LOG = logging.getLogger(__name__)


class Schema(Mapping[str, Any]):
    """Base of the schemata of properties and parameters."""

    KEYS: tuple[str, ...]
    KEYS = (
        TYPE,
        DESCRIPTION,
        DEFAULT,
        SCHEMA,
        REQUIRED,
        CONSTRAINTS,
        IMMUTABLE,
    ) = (
        "type",
        "description",
        "default",
        "schema",
        "required",
        "constraints",
        "immutable",
    )

    #: names of the class attributes that hold a data type
    TYPE_KEYS = (
        INTEGER_TYPE,
        STRING_TYPE,
        NUMBER_TYPE,
        BOOLEAN_TYPE,
        MAP_TYPE,
        LIST_TYPE,
    ) = (
        "INTEGER",
        "STRING",
        "NUMBER",
        "BOOLEAN",
        "MAP",
        "LIST",
    )

    TYPES: tuple[Any, ...]
    TYPES = (
        INTEGER,
        STRING,
        NUMBER,
        BOOLEAN,
        MAP,
        LIST,
        ANY,
    ) = (
        "Integer",
        "String",
        "Number",
        "Boolean",
        "Map",
        "List",
        "Any",
    )

    def __init__(
        self,
        data_type: Any,
        description: str | None = None,
        default: Any = None,
        schema: Any = None,
        required: bool = False,
        constraints: list[Constraint] | None = None,
        label: str | None = None,
        immutable: bool = False,
    ) -> None:
        self._len: int | None = None
        self.label = label
        self.type = data_type
        if self.type not in self.TYPES:
            raise exception.InvalidSchemaError(message=_("Invalid type (%s)") % self.type)
        if required and default is not None:
            LOG.warning("Option 'required=True' should not be used with any 'default' value (%s)", default)
        self.description = description
        self.required = required
        self.immutable = immutable
        self.schema: Any = schema
        if isinstance(schema, type(self)):
            if self.type != self.LIST:
                raise exception.InvalidSchemaError(
                    message=_("Single schema valid only for %(ltype)s, not %(utype)s")
                    % {"ltype": self.LIST, "utype": self.type}
                )
            self.schema = AnyIndexDict(schema)
        if self.schema is not None and self.type not in (self.LIST, self.MAP):
            raise exception.InvalidSchemaError(
                message=_("Schema valid only for %(ltype)s or %(mtype)s, not %(utype)s")
                % {"ltype": self.LIST, "mtype": self.MAP, "utype": self.type}
            )
        self.constraints: list[Constraint] = constraints or []
        self.default = default

    def validate(self, context: Any = None) -> None:
        """Check the schema itself, with its default, and those nested in it."""
        for constraint in self.constraints:
            if not self._is_valid_constraint(constraint):
                raise exception.InvalidSchemaError(
                    message=_("%(name)s constraint invalid for %(utype)s")
                    % {"name": type(constraint).__name__, "utype": self.type}
                )
        self._validate_default(context)
        if self.schema:
            nested = [self.schema.value] if isinstance(self.schema, AnyIndexDict) else self.schema.values()
            for schema in nested:
                schema.validate(context)

    def _validate_default(self, context: Any) -> None:
        if self.default is not None:
            try:
                self.validate_constraints(self.default, context, [CustomConstraint])
            except (ValueError, TypeError) as exc:
                raise exception.InvalidSchemaError(
                    message=_("Invalid default %(default)s (%(exc)s)") % {"default": self.default, "exc": exc}
                ) from None

    def set_default(self, default: Any = None) -> None:
        """Change the default value."""
        self.default = default

    def _is_valid_constraint(self, constraint: Any) -> bool:
        return any(self.type == getattr(self, name, None) for name in getattr(constraint, "valid_types", ()))

    @staticmethod
    def str_to_num(value: Any) -> Any:
        """A number from its text; numbers stay."""
        number = value
        if not isinstance(value, numbers.Number):
            try:
                number = int(value)
            except ValueError:
                number = float(value)
        if not strict_json.is_finite(number):
            shown = value if isinstance(value, float) or isinstance(value, str) and len(value) < 50 else "..."
            raise ValueError(_('"%s" is not a number that JSON can hold') % shown)
        return number

    def to_schema_type(self, value: Any) -> Any:
        """The value in the data type of the schema."""
        try:
            if self.type == self.INTEGER:
                number = Schema.str_to_num(value)
                if isinstance(number, float):
                    raise ValueError(_("%s is not an integer.") % number)
                return number
            if self.type == self.NUMBER:
                return Schema.str_to_num(value)
            if self.type == self.STRING:
                return str(value)
            if self.type == self.BOOLEAN:
                return strutils.bool_from_string(str(value), strict=True)
        except ValueError:
            raise ValueError(
                _('Value "%(val)s" is invalid for data type "%(type)s".') % {"val": value, "type": self.type}
            ) from None
        return value

    def validate_constraints(self, value: Any, context: Any = None, skipped: Sequence[type] | None = None) -> None:
        """Check a value against all constraints but those of the skipped classes."""
        try:
            for constraint in self.constraints:
                if type(constraint) not in (skipped or ()):
                    constraint.validate(value, self, context)
        except ValueError as exc:
            raise exception.StackValidationFailed(message=str(exc)) from None

    def __getitem__(self, key: str) -> Any:
        if key == self.TYPE:
            return self.type.lower()
        if key == self.DESCRIPTION and self.description is not None:
            return self.description
        if key == self.DEFAULT and self.default is not None:
            return self.default
        if key == self.SCHEMA and self.schema is not None:
            return {name: dict(schema) for name, schema in self.schema.items()}
        if key == self.REQUIRED:
            return self.required
        if key == self.CONSTRAINTS and self.constraints:
            return [dict(constraint) for constraint in self.constraints]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        for key in self.KEYS:
            try:
                self[key]
            except KeyError:
                continue
            yield key

    def __len__(self) -> int:
        if self._len is None:
            self._len = sum(1 for _key in self)
        return self._len


class AnyIndexDict(Mapping[Any, Any]):
    """The schema of a list's elements: one value for every index, shown as ``*``."""

    ANYTHING = "*"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, key: Any) -> Any:
        if key != self.ANYTHING and not isinstance(key, int):
            raise KeyError(_("Invalid key %s") % key)
        return self.value

    def __iter__(self) -> Iterator[Any]:
        yield self.ANYTHING

    def __len__(self) -> int:
        return 1


class Constraint(Mapping[str, Any]):
    """Base of all constraints."""

    (DESCRIPTION,) = ("description",)

    valid_types: tuple[str, ...] = ()

    def __init__(self, description: str | None = None) -> None:
        self.description = description

    def _str(self) -> str:
        raise NotImplementedError

    def _err_msg(self, value: Any) -> str:
        raise NotImplementedError

    def _is_valid(self, value: Any, schema: Any, context: Any) -> bool:
        raise NotImplementedError

    def _constraint(self) -> Any:
        raise NotImplementedError

    def validate(self, value: Any, schema: Any = None, context: Any = None) -> None:
        """Raise ValueError unless the value is fine."""
        if not self._is_valid(value, schema, context):
            raise ValueError(self.description or self._err_msg(value))

    def __str__(self) -> str:
        return "%s\n%s" % (self.description, self._str()) if self.description else self._str()

    @classmethod
    def _name(cls) -> str:
        return "_".join(word.lower() for word in re.findall("[A-Z]?[a-z]+", cls.__name__))

    def __getitem__(self, key: str) -> Any:
        if key == self.DESCRIPTION and self.description is not None:
            return self.description
        if key == self._name():
            return self._constraint()
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        if self.description is not None:
            yield self.DESCRIPTION
        yield self._name()

    def __len__(self) -> int:
        return 2 if self.description is not None else 1


class Range(Constraint):
    """A number between two bounds, either of which may be missing."""

    (MIN, MAX) = ("min", "max")

    valid_types: tuple[str, ...] = (Schema.INTEGER_TYPE, Schema.NUMBER_TYPE)

    def __init__(self, min: Any = None, max: Any = None, description: str | None = None) -> None:
        super().__init__(description)
        self.min = min
        self.max = max
        for bound in (min, max):
            if not isinstance(bound, (float, int, type(None))):
                raise exception.InvalidSchemaError(message=_("min/max must be numeric"))
        if min is max is None:
            raise exception.InvalidSchemaError(
                message=_("A range constraint must have a min value and/or a max value specified.")
            )

    def _str(self) -> str:
        return self._wording(
            _("The value must be at least %(min)s."),
            _("The value must be no greater than %(max)s."),
            _("The value must be in the range %(min)s to %(max)s."),
        )

    def _wording(self, at_least: str, at_most: str, between: str) -> str:
        wording = at_least if self.max is None else at_most if self.min is None else between
        return wording % self._constraint()

    def _err_msg(self, value: Any) -> str:
        return _("%(value)s is out of range (min: %(min)s, max: %(max)s)") % {
            "value": value,
            "min": self.min,
            "max": self.max,
        }

    def _is_valid(self, value: Any, schema: Any, context: Any) -> bool:
        value = Schema.str_to_num(value)
        if self.min is not None and value < self.min:
            return False
        return not (self.max is not None and value > self.max)

    def _constraint(self) -> dict[str, Any]:
        pairs = ((self.MIN, self.min), (self.MAX, self.max))
        return {key: bound for key, bound in pairs if bound is not None}


class Length(Range):
    """The length of a text, list or map between two bounds."""

    valid_types = (Schema.STRING_TYPE, Schema.LIST_TYPE, Schema.MAP_TYPE)

    def __init__(self, min: Any = None, max: Any = None, description: str | None = None) -> None:
        if min is max is None:
            raise exception.InvalidSchemaError(
                message=_("A length constraint must have a min value and/or a max value specified.")
            )
        super().__init__(min, max, description)
        for bound in (min, max):
            if not isinstance(bound, (int, type(None))):
                raise exception.InvalidSchemaError(message=_("min/max length must be integral"))

    def _str(self) -> str:
        return self._wording(
            _("The length must be at least %(min)s."),
            _("The length must be no greater than %(max)s."),
            _("The length must be in the range %(min)s to %(max)s."),
        )

    def _err_msg(self, value: Any) -> str:
        return _("length (%(length)d) is out of range (min: %(min)s, max: %(max)s)") % {
            "length": len(value),
            "min": self.min,
            "max": self.max,
        }

    def _is_valid(self, value: Any, schema: Any, context: Any) -> bool:
        return super()._is_valid(len(value), schema, context)


class Modulo(Constraint):
    """A number that is a multiple of a step, plus an offset."""

    (STEP, OFFSET) = ("step", "offset")

    valid_types: tuple[str, ...] = (Schema.INTEGER_TYPE, Schema.NUMBER_TYPE)

    def __init__(self, step: Any = None, offset: Any = None, description: str | None = None) -> None:
        super().__init__(description)
        self.step = step
        self.offset = offset
        if step is None or offset is None:
            raise exception.InvalidSchemaError(
                message=_("A modulo constraint must have a step value and an offset value specified.")
            )
        for number in (step, offset):
            if not isinstance(number, (float, int)):
                raise exception.InvalidSchemaError(message=_("step/offset must be numeric"))
            if int(number) != number:
                raise exception.InvalidSchemaError(message=_("step/offset must be integer"))
        step, offset = int(step), int(offset)
        if step == 0:
            raise exception.InvalidSchemaError(message=_("step cannot be 0."))
        if abs(offset) >= abs(step):
            raise exception.InvalidSchemaError(message=_("offset must be smaller (by absolute value) than step."))
        if step * offset < 0:
            raise exception.InvalidSchemaError(message=_("step and offset must be both positive or both negative."))

    def _str(self) -> str:
        return _("The value must be a multiple of %(step)s with an offset of %(offset)s.") % self._constraint()

    def _err_msg(self, value: Any) -> str:
        return _("%(value)s is not a multiple of %(step)s with an offset of %(offset)s") % {
            "value": value,
            "step": self.step,
            "offset": self.offset,
        }

    def _is_valid(self, value: Any, schema: Any, context: Any) -> bool:
        return bool(Schema.str_to_num(value) % self.step == self.offset)

    def _constraint(self) -> dict[str, Any]:
        return {self.STEP: self.step, self.OFFSET: self.offset}


class AllowedValues(Constraint):
    """One of a set of values; of a list, each element."""

    valid_types = (Schema.STRING_TYPE, Schema.INTEGER_TYPE, Schema.NUMBER_TYPE, Schema.BOOLEAN_TYPE, Schema.LIST_TYPE)

    def __init__(self, allowed: Any, description: str | None = None) -> None:
        super().__init__(description)
        if not isinstance(allowed, Sequence) or isinstance(allowed, str):
            raise exception.InvalidSchemaError(message=_("AllowedValues must be a list"))
        self.allowed = tuple(allowed)

    def _str(self) -> str:
        return _("Allowed values: %s") % ", ".join(map(json.dumps, self.allowed))

    def _err_msg(self, value: Any) -> str:
        return _("%(value)s is not an allowed value %(allowed)s") % {
            "value": json.dumps(value),
            "allowed": "[%s]" % ", ".join(map(json.dumps, self.allowed)),
        }

    def _is_valid(self, value: Any, schema: Any, context: Any) -> bool:
        if isinstance(value, list):
            return self._has_all(value)
        if schema is not None:
            return schema.to_schema_type(value) in tuple(map(schema.to_schema_type, self.allowed))
        return value in self.allowed

    def _has_all(self, items: list[Any]) -> bool:
        simple = {item for item in self.allowed if type(item).__hash__ is not None}
        others = [item for item in self.allowed if type(item).__hash__ is None]
        limits.charge("allowed_values", 4 * len(items) + len(self.allowed))
        for item in items:
            if type(item).__hash__ is not None:
                if item not in simple:
                    return False
                continue
            limits.charge("allowed_values", len(others))
            if item not in others:
                return False
        return True

    def _constraint(self) -> list[Any]:
        return list(self.allowed)


class AllowedPattern(Constraint):
    """A text that a regular expression matches as a whole."""

    valid_types = (Schema.STRING_TYPE,)

    def __init__(self, pattern: Any, description: str | None = None) -> None:
        super().__init__(description)
        if not isinstance(pattern, str):
            raise exception.InvalidSchemaError(message=_("AllowedPattern must be a string"))
        self.pattern = pattern
        try:
            self.match = patterns.compiled(pattern).match
        except patterns.BadPattern as exc:
            raise exception.InvalidSchemaError(
                message=_('AllowedPattern "%(pattern)s" is not valid: %(error)s')
                % {"pattern": pattern[:200], "error": exc}
            ) from None

    def _str(self) -> str:
        return _("Value must match pattern: %s") % self.pattern

    def _err_msg(self, value: Any) -> str:
        return _('"%(value)s" does not match pattern "%(pattern)s"') % {"value": value, "pattern": self.pattern}

    def _is_valid(self, value: Any, schema: Any, context: Any) -> bool:
        if not isinstance(value, str):
            return bool(self.match(value))  # raises TypeError
        return patterns.matches_whole(self.pattern, value)

    def _constraint(self) -> str:
        return self.pattern


_custom_lookup: Callable[[str], Any] | None = None


def set_custom_lookup(lookup: Callable[[str], Any]) -> None:
    """Say where classes of custom constraints are found by name."""
    global _custom_lookup
    _custom_lookup = lookup


_making = threading.Lock()


class CustomConstraint(Constraint):
    """A constraint that a class known by name decides, usually by asking a service."""

    valid_types = (Schema.STRING_TYPE, Schema.INTEGER_TYPE, Schema.NUMBER_TYPE, Schema.BOOLEAN_TYPE, Schema.LIST_TYPE)

    def __init__(self, name: str, description: str | None = None, environment: Any = None) -> None:
        super().__init__(description)
        self.name = name
        self._environment = environment
        self._custom_constraint: Any = None

    def _constraint(self) -> str:
        return self.name

    @property
    def custom_constraint(self) -> Any:
        if self._custom_constraint is None:
            lookup = _custom_lookup if self._environment is None else self._environment.get_constraint
            found = lookup(self.name) if lookup is not None else None
            if found:
                # One for all threads that are here at once: it is the checked one that knows what was wrong.
                with _making:
                    if self._custom_constraint is None:
                        self._custom_constraint = found()
        return self._custom_constraint

    def _str(self) -> str:
        return getattr(self.custom_constraint, "message", None) or _("Value must be of type %s") % self.name

    def _err_msg(self, value: Any) -> str:
        constraint = self.custom_constraint
        if constraint is None:
            return _('"%(value)s" does not validate %(name)s (constraint not found)') % {
                "value": value,
                "name": self.name,
            }
        error = getattr(constraint, "error", None)
        if error:
            return str(error(value))
        return _('"%(value)s" does not validate %(name)s') % {"value": value, "name": self.name}

    def _is_valid(self, value: Any, schema: Any, context: Any) -> bool:
        constraint = self.custom_constraint
        return bool(constraint and constraint.validate(value, context))
