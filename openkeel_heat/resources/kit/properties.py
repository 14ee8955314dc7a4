# SPDX-License-Identifier: Apache-2.0
"""Properties of resources: schema, conversion, defaults, validation.

:class:`Properties` is a lazy mapping over what the template gives for a resource: a value is
resolved, translated, converted and (in ``validate``) checked when it is asked for. Maps and
lists with a schema of their own are Properties inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from oslo_serialization import jsonutils

from openkeel_heat.clients import patience
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints as constr, support, translation as trans
from openkeel_heat.template import definition, nodes

SCHEMA_KEYS = (
    REQUIRED,
    IMPLEMENTED,
    DEFAULT,
    TYPE,
    SCHEMA,
    ALLOWED_PATTERN,
    MIN_VALUE,
    MAX_VALUE,
    ALLOWED_VALUES,
    MIN_LENGTH,
    MAX_LENGTH,
    DESCRIPTION,
    UPDATE_ALLOWED,
    IMMUTABLE,
) = (
    "Required",
    "Implemented",
    "Default",
    "Type",
    "Schema",
    "AllowedPattern",
    "MinValue",
    "MaxValue",
    "AllowedValues",
    "MinLength",
    "MaxLength",
    "Description",
    "UpdateAllowed",
    "Immutable",
)


class Schema(constr.Schema):
    """What a property may be, and what changing it means for the resource."""

    KEYS = (  # type: ignore[assignment]
        TYPE,
        DESCRIPTION,
        DEFAULT,
        SCHEMA,
        REQUIRED,
        CONSTRAINTS,
        UPDATE_ALLOWED,
        IMMUTABLE,
    ) = (
        "type",
        "description",
        "default",
        "schema",
        "required",
        "constraints",
        "update_allowed",
        "immutable",
    )

    def __init__(
        self,
        data_type: str,
        description: str | None = None,
        default: Any = None,
        schema: Any = None,
        required: bool = False,
        constraints: list[Any] | None = None,
        implemented: bool = True,
        update_allowed: bool = False,
        immutable: bool = False,
        support_status: support.SupportStatus = support.PLAIN,
        allow_conversion: bool = False,
    ) -> None:
        super().__init__(data_type, description, default, schema, required, constraints, immutable=immutable)
        self.implemented = implemented
        self.update_allowed = update_allowed
        self.support_status = support_status
        self.allow_conversion = allow_conversion
        self.validate()

    def validate(self, context: Any = None) -> None:
        super().validate()
        if self.update_allowed and self.immutable:
            raise exception.InvalidSchemaError(
                message=_("Options %(ua)s and %(im)s cannot both be True") % {"ua": UPDATE_ALLOWED, "im": IMMUTABLE}
            )

    @classmethod
    def from_legacy(cls, schema_dict: Any) -> Schema:
        """A Schema as it is, or made of the dictionary form of old plugins."""
        if isinstance(schema_dict, cls):
            return schema_dict
        unknown = [key for key in schema_dict if key not in SCHEMA_KEYS]
        if unknown:
            raise exception.InvalidSchemaError(message=_("Unknown key(s) %s") % unknown)
        if TYPE not in schema_dict:
            raise exception.InvalidSchemaError(message=_("No %s specified") % TYPE)
        data_type = schema_dict[TYPE]
        inner: Any = None
        if SCHEMA in schema_dict:
            if data_type == cls.LIST:
                inner = cls.from_legacy(schema_dict[SCHEMA])
            elif data_type == cls.MAP:
                inner = schemata(schema_dict[SCHEMA])
            else:
                raise exception.InvalidSchemaError(
                    message=_("%(schema)s supplied for %(type)s %(data)s")
                    % {"schema": SCHEMA, "type": TYPE, "data": data_type}
                )
        return cls(
            data_type,
            description=schema_dict.get(DESCRIPTION),
            default=schema_dict.get(DEFAULT),
            schema=inner,
            required=schema_dict.get(REQUIRED, False),
            constraints=list(_legacy_constraints(schema_dict)),
            implemented=schema_dict.get(IMPLEMENTED, True),
            update_allowed=schema_dict.get(UPDATE_ALLOWED, False),
            immutable=schema_dict.get(IMMUTABLE, False),
        )

    @classmethod
    def from_parameter(cls, param: Any) -> Schema:
        """The property of a template resource for a parameter of its template."""
        kinds = {
            param.STRING: cls.STRING,
            param.NUMBER: cls.NUMBER,
            param.LIST: cls.LIST,
            param.MAP: cls.MAP,
            param.BOOLEAN: cls.BOOLEAN,
        }
        # JSON parameters take lists and texts too, lists take comma separated texts.
        return cls(
            kinds.get(param.type, cls.MAP),
            description=param.description,
            required=param.required,
            constraints=param.constraints,
            update_allowed=True,
            immutable=False,
            allow_conversion=param.type in (param.MAP, param.LIST),
        )

    def allowed_param_prop_type(self) -> str:
        """The type that a parameter standing for this property has."""
        return self.NUMBER if self.type == self.INTEGER else self.type

    def __getitem__(self, key: str) -> Any:
        if key == self.UPDATE_ALLOWED:
            return self.update_allowed
        if key == self.IMMUTABLE:
            return self.immutable
        return super().__getitem__(key)


def _legacy_constraints(schema_dict: Mapping[str, Any]) -> Iterator[Any]:
    def number(key: str) -> Any:
        value = schema_dict.get(key)
        return None if value is None else Schema.str_to_num(value)

    if MIN_VALUE in schema_dict or MAX_VALUE in schema_dict:
        yield constr.Range(number(MIN_VALUE), number(MAX_VALUE))
    if MIN_LENGTH in schema_dict or MAX_LENGTH in schema_dict:
        yield constr.Length(number(MIN_LENGTH), number(MAX_LENGTH))
    if ALLOWED_VALUES in schema_dict:
        yield constr.AllowedValues(schema_dict[ALLOWED_VALUES])
    if ALLOWED_PATTERN in schema_dict:
        yield constr.AllowedPattern(schema_dict[ALLOWED_PATTERN])


def schemata(schema_dicts: Mapping[str, Any]) -> dict[str, Schema]:
    return {name: Schema.from_legacy(entry) for name, entry in schema_dicts.items()}


def delim_string_to_list(value: str | None) -> list[str] | None:
    """``'a, b'`` → ``['a', 'b']``; an empty text is an empty list."""
    if value is None:
        return None
    return [part.strip() for part in value.split(",")] if value else []


class Property:
    """One property: its schema, its name and its dotted path below the resource."""

    def __init__(self, schema: Any, name: Any = None, context: Any = None, path: str | None = None) -> None:
        self.schema = Schema.from_legacy(schema)
        self.name = name
        self.context = context
        self.path = self.make_path(name, path)

    def required(self) -> bool:
        return self.schema.required

    def implemented(self) -> bool:
        return self.schema.implemented

    def update_allowed(self) -> bool:
        return self.schema.update_allowed

    def immutable(self) -> bool:
        return self.schema.immutable

    def has_default(self) -> bool:
        return self.schema.default is not None

    def default(self) -> Any:
        return self.schema.default

    def type(self) -> str:
        return self.schema.type

    def support_status(self) -> support.SupportStatus:
        return self.schema.support_status

    def make_path(self, name: Any, path: str | None = None) -> str:
        path = path or ""
        name = "" if name is None else str(name)
        return path + ("" if not path or path.endswith(".") else ".") + name

    def _default_or(self, fallback: Any) -> Any:
        return self.schema.default or fallback

    def _get_integer(self, value: Any) -> int:
        if value is None:
            value = self._default_or(0)
        try:
            return int(value)
        except ValueError:
            raise TypeError(_("Value '%s' is not an integer") % value) from None

    def _get_number(self, value: Any) -> Any:
        return Schema.str_to_num(self._default_or(0) if value is None else value)

    def _get_string(self, value: Any) -> str:
        if value is None:
            value = self._default_or("")
        if isinstance(value, str):
            return value
        if isinstance(value, (bool, int)):
            return str(value)
        raise ValueError(_("Value must be a string; got %r") % value)

    def _get_children(
        self,
        child_values: Iterable[tuple[Any, Any]],
        keys: Sequence[Any] | None = None,
        validate: bool = False,
        translation: trans.Translation | None = None,
    ) -> Iterable[tuple[Any, Any]]:
        inner = self.schema.schema
        if inner is None:
            return child_values
        if keys is None:
            keys = list(inner)
        children = Properties(
            {key: inner[key] for key in keys},
            dict(child_values),
            context=self.context,
            parent_name=self.path,
            translation=translation,
        )
        if validate:
            children.validate()
        return ((key, children[key]) for key in keys)

    def _get_map(self, value: Any, validate: bool = False, translation: trans.Translation | None = None) -> Any:
        if value is None:
            value = self.default() if self.has_default() else {}
        if not isinstance(value, Mapping):
            if self.schema.allow_conversion:
                if isinstance(value, str):
                    return value
                if isinstance(value, Sequence):
                    return jsonutils.dumps(value)
            raise TypeError(_('"%s" is not a map') % value)
        return dict(self._get_children(value.items(), validate=validate, translation=translation))

    def _get_list(self, value: Any, validate: bool = False, translation: trans.Translation | None = None) -> list[Any]:
        if value is None:
            value = self._default_or([])
        if self.schema.allow_conversion and isinstance(value, str):
            value = delim_string_to_list(value)
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise TypeError(_('"%s" is not a list') % repr(value))
        children = self._get_children(enumerate(value), range(len(value)), validate=validate, translation=translation)
        return [child for _index, child in children]

    def _get_bool(self, value: Any) -> bool:
        if value is None:
            value = self._default_or(False)
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            lowered = value.lower()
            if lowered not in ("true", "false"):
                raise ValueError(_('"%s" is not a valid boolean') % lowered)
            return lowered == "true"
        # Numbers are no booleans.
        raise TypeError(_('"%s" is not a valid boolean') % value)

    def get_value(self, value: Any, validate: bool = False, translation: trans.Translation | None = None) -> Any:
        """The value converted to the property's type (and checked against its constraints)."""
        kind = self.schema.type
        converted: Any
        if kind == Schema.STRING:
            converted = self._get_string(value)
        elif kind == Schema.MAP:
            converted = self._get_map(value, validate, translation)
        elif kind == Schema.LIST:
            converted = self._get_list(value, validate, translation)
        elif kind == Schema.INTEGER:
            converted = self._get_integer(value)
        elif kind == Schema.NUMBER:
            converted = self._get_number(value)
        elif kind == Schema.BOOLEAN:
            converted = self._get_bool(value)
        else:
            converted = value
        if validate:
            self.schema.validate_constraints(converted, self.context)
        return converted


def _as_it_is(value: Any, nullable: bool = False) -> Any:
    return value


def _refers_to_uncreated(value: Any) -> bool:
    """Whether a snippet refers to a resource without a value yet: it cannot be checked, only converted."""
    scope = getattr(value, "scope", None)
    if scope is not None and hasattr(value, "node"):
        return any(scope.resource(name).action == "INIT" for name in nodes.dependencies(value))
    if isinstance(value, Mapping):
        return any(_refers_to_uncreated(entry) for entry in value.values())
    if isinstance(value, (list, tuple)):
        return any(_refers_to_uncreated(entry) for entry in value)
    return False


Resolver = Callable[..., Any]


class Properties(Mapping[str, Any]):
    """Values of a set of properties, by name.

    ``resolver(value, nullable=...)`` gives what a snippet of the template stands for.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        data: Any,
        resolver: Resolver = _as_it_is,
        parent_name: str | None = None,
        context: Any = None,
        section: str | None = None,
        translation: trans.Translation | None = None,
        rsrc_description: str | None = None,
    ) -> None:
        self._schema = schema
        self._made: dict[str, Property] = {}
        self.resolve = resolver
        self.data = data
        self.error_prefix = [] if section is None else [section]
        self.parent_name = parent_name
        self.context = context
        self.translation = trans.Translation(properties=self) if translation is None else translation
        self.rsrc_description = rsrc_description or None

    @property
    def props(self) -> dict[str, Property]:
        """All properties, in the order of the schema."""
        if len(self._made) < len(self._schema):
            made = self._made
            self._made = {name: made.get(name) or self._make(name) for name in self._schema}
        return self._made

    def _make(self, name: str) -> Property:
        return Property(self._schema[name], name, self.context, path=self.parent_name)

    def _prop(self, name: str) -> Property:
        prop = self._made.get(name)
        if prop is None:
            prop = self._made[name] = self._make(name)
        return prop

    def update_translation(
        self,
        rules: Sequence[trans.TranslationRule] | None,
        client_resolve: bool = True,
        ignore_resolve_error: bool = False,
    ) -> None:
        self.translation.set_rules(rules, client_resolve=client_resolve, ignore_resolve_error=ignore_resolve_error)

    @staticmethod
    def schema_from_params(params_snippet: Mapping[str, Any] | None) -> dict[str, Schema]:
        """The properties of a template resource for the parameters of its template."""
        return {name: Schema.from_parameter(param) for name, param in (params_snippet or {}).items()}

    def validate(self, with_value: bool = True) -> None:
        """Raise StackValidationFailed for the first thing wrong; ``with_value``: look at values too."""
        try:
            for key in self.data:
                if key not in self.props:
                    raise exception.StackValidationFailed(message=_("Unknown Property %s") % key)
            for key, prop in self.props.items():
                if self.translation.is_deleted(prop.path) or self.translation.is_replaced(prop.path):
                    continue
                if with_value:
                    self._validate_value(key, prop)
                if key in self.data and not prop.implemented():
                    raise exception.StackValidationFailed(message=_("Property %s not implemented yet") % key)
        except exception.StackValidationFailed as ex:
            raise exception.StackValidationFailed(
                error=ex.error or "Property error", path=self.error_prefix + ex.path, message=ex.error_message
            ) from ex

    def _validate_value(self, key: str, prop: Property) -> None:
        try:
            self._get_property_value(key, validate=True)
        except exception.StackValidationFailed as ex:
            raise exception.StackValidationFailed(path=[key, *ex.path], message=ex.error_message) from ex
        except ValueError as ex:
            missing = prop.required() and key not in self.data
            raise exception.StackValidationFailed(path=[] if missing else [key], message=str(ex)) from ex

    def _find_deps_any_in_init(self, unresolved_value: Any) -> bool:
        return _refers_to_uncreated(unresolved_value)

    def get_user_value(self, key: str) -> Any:
        """What the user gave, or None; defaults do not count."""
        if key not in self:
            raise KeyError(_("Invalid Property %s") % key)
        return self._resolve_user_value(key, self._prop(key), validate=False)[0]

    def _resolve_user_value(self, key: str, prop: Property, validate: bool) -> tuple[Any, bool]:
        """The value given and whether one was given (a macro may resolve to "nothing given")."""
        if key not in self.data:
            return None, False
        if self.translation.is_deleted(prop.path) or self.translation.is_replaced(prop.path):
            return None, False
        try:
            raw = self.data[key]
            if validate and self._find_deps_any_in_init(raw):
                validate = False
            value = self.resolve(raw, nullable=True)
            if value is Ellipsis:
                return None, False
            if self.translation.has_translation(prop.path):
                value = self.translation.translate(prop.path, value, self.data)
            return prop.get_value(value, validate, translation=self.translation), True
        except exception.StackValidationFailed as ex:
            raise exception.StackValidationFailed(path=ex.path, message=ex.error_message) from ex
        except Exception as ex:
            if patience.asked_pause(ex) is not None:
                # Not wrong: the service that was asked for a name wants to be asked later.
                raise
            # Resolving runs functions and clients: anything may come up.
            raise ValueError(str(ex)) from ex

    def _get_property_value(self, key: str, validate: bool = False) -> Any:
        if key not in self._schema:
            raise KeyError(_("Invalid Property %s") % key)
        prop = self._prop(key)
        value, found = self._resolve_user_value(key, prop, validate)
        if found:
            return value
        if self.translation.has_translation(prop.path):
            value = self.translation.translate(prop.path, prop_data=self.data, validate=validate)
            if value is not None or prop.has_default():
                return prop.get_value(value)
        if prop.has_default():
            return prop.get_value(None, validate, translation=self.translation)
        if prop.required():
            raise ValueError(_("Property %s not assigned") % key)
        if key == "description" and prop.schema.update_allowed:
            return self.rsrc_description
        return None

    def __getitem__(self, key: str) -> Any:
        return self._get_property_value(key)

    def __len__(self) -> int:
        return len(self._schema)

    def __contains__(self, key: object) -> bool:
        return key in self._schema

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema)

    @classmethod
    def schema_to_parameters_and_properties(
        cls,
        schema: Mapping[str, Any],
        template_type: str = "cfn",
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and properties of a template that hands every property through."""
        from openkeel_heat.resources.kit import generated

        return generated.parameters_and_properties(schemata(schema), template_type)


def make_properties(
    schema: Mapping[str, Any],
    data: Any,
    resolver: Resolver,
    context: Any = None,
    section: str | None = None,
    rsrc_description: str | None = None,
    rules: Sequence[trans.TranslationRule] | None = None,
    client_resolve: bool = True,
) -> Properties:
    """Properties of a definition; see ``template.definition.set_properties_factory``."""
    props = Properties(schema, data, resolver, context=context, section=section, rsrc_description=rsrc_description)
    props.update_translation(rules, client_resolve)
    return props


definition.set_properties_factory(make_properties)
