# SPDX-License-Identifier: Apache-2.0
"""What HOT and CFN templates have in common: how sections are compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import nodes
from openkeel_heat.template.conditions import Conditions
from openkeel_heat.template.definition import ResourceDefinition, invalid_deletion_policy
from openkeel_heat.template.output import OutputDefinition
from openkeel_heat.template.template import Template

#: concrete types come first because they are faster to tell
_OBJECT = (dict, nodes.Node, Mapping)
_NAMES = (list, str, Sequence)
_STRING = (str, nodes.FunctionNode)


@dataclasses.dataclass
class _CompiledOutput:
    """One entry of the outputs section."""

    condition: Any = None
    value: Any = None
    description: Any = None
    failure: Exception | None = None


def map_of_things(content: Any) -> Mapping[Any, Any]:
    """The content of a section that is a map of things by their names; StackValidationFailed if it is none."""
    if not isinstance(content, Mapping):
        # the words in which clients know this mistake
        raise exception.StackValidationFailed(message="'%s' object has no attribute 'items'" % type(content).__name__)
    return content


class CommonTemplate(Template):
    """A template with resources, outputs and perhaps conditions."""

    RES_TYPE: ClassVar[str]
    RES_PROPERTIES: ClassVar[str]
    RES_METADATA: ClassVar[str]
    RES_DEPENDS_ON: ClassVar[str]
    RES_DELETION_POLICY: ClassVar[str]
    RES_UPDATE_POLICY: ClassVar[str]
    RES_DESCRIPTION: ClassVar[str]
    OUTPUT_VALUE: ClassVar[str]
    OUTPUT_DESCRIPTION: ClassVar[str]

    #: None in the versions that know no conditions
    CONDITIONS: ClassVar[str | None] = None
    RES_CONDITION: ClassVar[str | None] = None
    RES_EXTERNAL_ID: ClassVar[str | None] = None
    OUTPUT_CONDITION: ClassVar[str | None] = None
    #: how the type of a condition is named in errors
    CONDITION_TYPE_NAME: ClassVar[str] = "string or boolean"

    #: keys allowed in a resource, None if all are
    allowed_resource_keys: ClassVar[frozenset[str] | None] = None

    # resources

    def compile_definitions(self) -> dict[str, ResourceDefinition]:
        return {name: self._compile_definition(name, snippet) for name, snippet in self._map_of(self.RESOURCES).items()}

    def _map_of(self, section: str) -> Mapping[Any, Any]:
        """A section that is a map of things by their names."""
        return map_of_things(self.t.get(section) or {})

    def _compile_definition(self, name: Any, data: Any) -> ResourceDefinition:
        fields: dict[str, Any] = {}
        head: dict[str, Any] = {}
        failure: exception.HeatException | None = None
        try:
            if self.allowed_resource_keys is not None:
                unknown = set(data) - self.allowed_resource_keys
                if unknown:
                    raise ValueError(_("Invalid keyword(s) inside a resource definition: %s") % ", ".join(unknown))
            if self.RES_TYPE not in data:
                raise KeyError(
                    _('Resource %(name)s is missing "%(type_key)s"') % {"name": name, "type_key": self.RES_TYPE}
                )
            self._compile_fields(name, data, head, fields)
        except (TypeError, ValueError, KeyError) as exc:
            failure = exception.StackValidationFailed(message=str(exc))
        except exception.HeatException as exc:
            failure = exc
        return ResourceDefinition(
            name,
            head.get("resource_type"),
            head.get("description"),
            fields,
            head.get("depends_on"),
            self.deletion_policies,
            failure,
            [self.RESOURCES, name, self.RES_CONDITION or "condition"],
        )

    def _compile_fields(self, name: Any, data: Mapping[str, Any], head: dict[str, Any], fields: dict[str, Any]) -> None:
        context = self.compile_context
        head["resource_type"] = self._field(name, data, self.RES_TYPE, (str,), "string", context)
        if self.RES_PROPERTIES in data:
            fields["properties"] = self._field(name, data, self.RES_PROPERTIES, _OBJECT, "object", context)
        if self.RES_METADATA in data:
            fields["metadata"] = self._field(name, data, self.RES_METADATA, _OBJECT, "object", context)
        if self.RES_DEPENDS_ON in data:
            depends = self._field(name, data, self.RES_DEPENDS_ON, _NAMES, "list or string", None)
            if isinstance(depends, str):
                depends = [depends]
            elif not all(isinstance(item, str) for item in depends):
                raise exception.StackValidationFailed(
                    message=_("Resource %(name)s %(key)s must be a list of strings")
                    % {"name": name, "key": self.RES_DEPENDS_ON}
                )
            head["depends_on"] = depends
        if self.RES_DELETION_POLICY in data:
            policy = self._field(name, data, self.RES_DELETION_POLICY, _STRING, "string", context)
            if isinstance(policy, str) and policy not in self.deletion_policies:
                raise exception.StackValidationFailed(message=invalid_deletion_policy(policy))
            fields["deletion_policy"] = policy
        if self.RES_UPDATE_POLICY in data:
            fields["update_policy"] = self._field(name, data, self.RES_UPDATE_POLICY, _OBJECT, "object", context)
        if self.RES_DESCRIPTION in data:
            head["description"] = self._field(name, data, self.RES_DESCRIPTION, (str,), "string", None)
        if self.RES_EXTERNAL_ID is not None and self.RES_EXTERNAL_ID in data:
            fields["external_id"] = self._field(name, data, self.RES_EXTERNAL_ID, _STRING, "string", context)
        if self.RES_CONDITION is not None and self.RES_CONDITION in data:
            fields["condition"] = self._field(
                name, data, self.RES_CONDITION, (*_STRING, bool), self.CONDITION_TYPE_NAME, context.for_conditions()
            )

    def _field(
        self,
        name: Any,
        data: Mapping[str, Any],
        key: str,
        kinds: tuple[Any, ...],
        kind_name: str,
        context: nodes.CompileContext | None,
    ) -> Any:
        """One field of a resource, compiled if there is something to compile it with."""
        value = data[key]
        kind = type(value)
        if context is not None:
            if kind is str and type(name) is str:
                if str in kinds:
                    return value
            else:
                value = nodes.compile_snippet(value, context, ".".join([self.RESOURCES, name, key]))
                if isinstance(value, nodes.Node) and value.flags & nodes.UNSETTLED:
                    broken = nodes.first_broken(value)
                    if broken is not None:
                        raise broken.error
            kind = type(value)
        if kind in kinds:
            return value
        if not isinstance(value, kinds) or (kinds is _OBJECT and isinstance(value, nodes.ListNode)):
            raise TypeError(
                _("Resource %(name)s %(key)s type must be %(typename)s")
                % {"name": name, "key": key, "typename": kind_name}
            )
        return value

    # conditions

    def conditions(self, scope: Any) -> Conditions:
        if self._compiled_conditions is None:
            self._compiled_conditions = self._compile_conditions()
        for condition in self._compiled_conditions.values():
            nodes.prepare(condition, scope)
        return Conditions(self._compiled_conditions, scope)

    def _compile_conditions(self) -> dict[str, Any]:
        if self.CONDITIONS is None:
            return {}
        section = self.t.get(self.CONDITIONS, {})
        if not isinstance(section, Mapping):
            raise exception.StackValidationFailed(
                error="Conditions validation error",
                message=_("Condition definitions must be a map. Found a %s instead") % type(section).__name__,
            )
        return {
            name: nodes.compile_condition(condition, self.compile_context, "%s.%s" % (self.CONDITIONS, name))
            for name, condition in section.items()
        }

    # outputs

    def outputs(self, scope: Any) -> dict[str, OutputDefinition]:
        compiled = self._all_outputs()
        conditions = scope.conditions if scope is not None else self.conditions(None)
        return {name: self._bind_output(name, output, conditions, scope) for name, output in compiled.items()}

    def _all_outputs(self) -> dict[str, _CompiledOutput]:
        if self._compiled_outputs is None:
            self._compiled_outputs = {
                name: self._compile_output(name, data) for name, data in self._map_of(self.OUTPUTS).items()
            }
        return self._compiled_outputs  # type: ignore[no-any-return]

    def _outputs_static(self) -> bool:
        return not any(
            nodes.flags_of(output.value) & (nodes.UNSETTLED | nodes.DYNAMIC) for output in self._all_outputs().values()
        )

    def _compile_output(self, name: str, data: Any) -> _CompiledOutput:
        failure = None
        if not isinstance(data, Mapping):
            failure = _("Output definitions must be a map. Found a %s instead") % type(data).__name__
        elif self.OUTPUT_VALUE not in data:
            failure = _("Each output definition must contain a %s key.") % self.OUTPUT_VALUE
        if failure:
            return _CompiledOutput(
                failure=exception.StackValidationFailed(
                    error="Output validation error", path=[self.OUTPUTS, name], message=failure
                )
            )
        output = _CompiledOutput(description=data.get(self.OUTPUT_DESCRIPTION))
        if self.OUTPUT_CONDITION is not None:
            output.condition = nodes.compile_condition(
                data.get(self.OUTPUT_CONDITION),
                self.compile_context,
                ".".join([self.OUTPUTS, str(name), self.OUTPUT_CONDITION]),
            )
        output.value = nodes.compile_snippet(
            data[self.OUTPUT_VALUE], self.compile_context, ".".join([self.OUTPUTS, str(name), self.OUTPUT_VALUE])
        )
        return output

    def _bind_output(self, name: str, output: _CompiledOutput, conditions: Conditions, scope: Any) -> OutputDefinition:
        if output.failure is not None:
            raise output.failure.with_traceback(None)
        nodes.prepare(output.condition, scope)
        try:
            enabled = conditions.is_enabled(nodes.resolve(output.condition, scope))
        except ValueError as exc:
            raise exception.StackValidationFailed(
                path=[self.OUTPUTS, name, self.OUTPUT_CONDITION or ""], message=str(exc)
            ) from None
        if not enabled:
            return OutputDefinition(name, None, output.description)
        nodes.prepare(output.value, scope)
        return OutputDefinition(name, nodes.bind(output.value, scope), output.description)

    # parameters

    #: class of the schemata, and the key of the default in the format
    param_schema_class: ClassVar[Any]
    parameters_class: ClassVar[Any]
    PARAM_DEFAULT: ClassVar[str]

    def param_schemata(self, param_defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
        section = self.t.get(self.PARAMETERS) or {}
        if not isinstance(section, Mapping):
            raise exception.StackValidationFailed(
                message=_('"%(section)s" must contain a map of parameters. Found a [%(_type)s] instead')
                % {"section": self.PARAMETERS, "_type": type(section)}
            )
        make = self.param_schema_class.from_dict
        if param_defaults:
            return {
                name: make(
                    name, {**schema, self.PARAM_DEFAULT: param_defaults[name]} if name in param_defaults else schema
                )
                for name, schema in section.items()
            }
        if self._schemata is None:
            self._schemata = {name: make(name, schema) for name, schema in section.items()}
        return dict(self._schemata)

    def parameters(
        self, stack_identifier: Any, user_params: Mapping[str, Any], param_defaults: Mapping[str, Any] | None = None
    ) -> Any:
        return self.parameters_class(stack_identifier, self, user_params=user_params, param_defaults=param_defaults)
