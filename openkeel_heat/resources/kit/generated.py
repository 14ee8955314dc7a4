# SPDX-License-Identifier: Apache-2.0
"""Templates generated from a resource type (``GET /resource_types/TYPE/template``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.resources.kit import attributes, constraints, properties, support

Schema = properties.Schema

# A property of type Any is offered as JSON, which takes texts, numbers, lists and maps.
_CFN_TYPES = {
    Schema.INTEGER: "Number",
    Schema.STRING: "String",
    Schema.NUMBER: "Number",
    Schema.BOOLEAN: "Boolean",
    Schema.MAP: "Json",
    Schema.LIST: "CommaDelimitedList",
    Schema.ANY: "Json",
}
_HOT_TYPES = {
    Schema.INTEGER: "number",
    Schema.STRING: "string",
    Schema.NUMBER: "number",
    Schema.BOOLEAN: "boolean",
    Schema.MAP: "json",
    Schema.LIST: "comma_delimited_list",
    Schema.ANY: "json",
}


def _limits(constraint: Any, low: str, high: str) -> Iterator[tuple[str, Any]]:
    if constraint.min is not None:
        yield low, constraint.min
    if constraint.max is not None:
        yield high, constraint.max


def _cfn_parameter(schema: properties.Schema) -> dict[str, Any]:
    entry: dict[str, Any] = {"Type": _CFN_TYPES[schema.type]}
    if schema.description is not None:
        entry["Description"] = schema.description
    if schema.default is not None:
        entry["Default"] = schema.default
    for constraint in schema.constraints:
        # A length is a range too, so it is asked for first.
        if isinstance(constraint, constraints.Length):
            entry.update(_limits(constraint, "MinLength", "MaxLength"))
        elif isinstance(constraint, constraints.Range):
            entry.update(_limits(constraint, "MinValue", "MaxValue"))
        elif isinstance(constraint, constraints.AllowedValues):
            entry["AllowedValues"] = list(constraint.allowed)
        elif isinstance(constraint, constraints.AllowedPattern):
            entry["AllowedPattern"] = constraint.pattern
    if schema.type == Schema.BOOLEAN:
        entry["AllowedValues"] = ["True", "true", "False", "false"]
    return entry


def _hot_constraint(constraint: Any) -> dict[str, Any]:
    if isinstance(constraint, constraints.Length):
        return {"length": dict(_limits(constraint, "min", "max"))}
    if isinstance(constraint, constraints.Range):
        return {"range": dict(_limits(constraint, "min", "max"))}
    if isinstance(constraint, constraints.AllowedValues):
        return {"allowed_values": list(constraint.allowed)}
    if isinstance(constraint, constraints.AllowedPattern):
        return {"allowed_pattern": constraint.pattern}
    return {}


def _hot_parameter(schema: properties.Schema) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": _HOT_TYPES[schema.type]}
    if schema.description is not None:
        entry["description"] = schema.description
    if schema.default is not None:
        entry["default"] = schema.default
    if schema.constraints:
        entry["constraints"] = [_hot_constraint(constraint) for constraint in schema.constraints]
    return entry


def parameters_and_properties(
    schema: Mapping[str, properties.Schema], template_type: str = "cfn"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One parameter for each property, and the properties that refer to them."""
    params: dict[str, Any] = {}
    props: dict[str, Any] = {}
    for name, entry in schema.items():
        if not entry.implemented:
            continue
        if template_type == "hot":
            params[name] = _hot_parameter(entry)
            props[name] = {"get_param": name}
        else:
            params[name] = _cfn_parameter(entry)
            ref = {"Ref": name}
            props[name] = {"Fn::Split": [",", ref]} if entry.type == Schema.LIST else ref
    return params, props


def resource_to_template(resource_class: Any, resource_type: str, template_type: str = "cfn") -> dict[str, Any]:
    """A template with one resource of the type, all of whose properties are parameters."""
    schema = {
        name: entry
        for name, entry in properties.schemata(resource_class.properties_schema).items()
        if entry.support_status.status != support.HIDDEN
    }
    params, props = parameters_and_properties(schema, template_type)
    name = resource_class.__name__
    outputs = attributes.Attributes.as_outputs(name, resource_class, template_type)
    return build_template_dict(
        name, resource_type, template_type, params, props, outputs, "Initial template of %s" % name
    )


def build_template_dict(
    res_name: str, res_type: str, tmpl_type: str, params: Any, props: Any, outputs: Any, description: str
) -> dict[str, Any]:
    if tmpl_type == "hot":
        return {
            "heat_template_version": "2016-10-14",
            "description": description,
            "parameters": params,
            "outputs": outputs,
            "resources": {res_name: {"type": res_type, "properties": props}},
        }
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Description": description,
        "Parameters": params,
        "Resources": {res_name: {"Type": res_type, "Properties": props}},
        "Outputs": outputs,
    }
