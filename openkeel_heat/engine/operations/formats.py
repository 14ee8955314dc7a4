# SPDX-License-Identifier: Apache-2.0
"""What engine calls reply with: ``reply_shapes`` of the RPC contract, made of stacks, resources and rows.

Rows are those of ``openkeel_heat.db``; stacks and resources are the live objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock, identifier
from openkeel_heat.engine import hidden

LOG = logging.getLogger(__name__)

_isotime = clock.isotime


# stacks -------------------------------------------------------------------------------------------------------------
def output(definition: Any, resolve_value: bool = True) -> dict[str, Any]:
    """One output; what fails while resolving is told in ``output_error``."""
    result: dict[str, Any] = {"output_key": definition.name, "description": definition.description()}
    if resolve_value:
        value = None
        try:
            value = definition.get_value()
        except Exception as error:
            result["output_error"] = str(error)
        result["output_value"] = value
    return result


def outputs(definitions: Mapping[str, Any], resolve_value: bool = False) -> list[dict[str, Any]]:
    return [output(definition, resolve_value) for definition in definitions.values()]


def stack(stk: Any, preview: bool = False, resolve_outputs: bool = True) -> dict[str, Any]:
    """``stack_full``, or the same without its state for a preview."""
    description = stk.t[stk.t.DESCRIPTION]
    info = {
        "stack_name": stk.name,
        "stack_identity": stk.identifier().as_dict(),
        "creation_time": _isotime(stk.created_time or clock.utcnow()),
        "updated_time": _isotime(stk.updated_time),
        "deletion_time": _isotime(stk.deleted_time),
        "notification_topics": [],
        "parameters": stk.parameters.map(str),
        "description": description,
        "template_description": description,
        "capabilities": [],
        "disable_rollback": stk.disable_rollback,
        "timeout_mins": stk.timeout_mins,
        "stack_owner": stk.username,
        "parent": stk.owner_id,
        "stack_user_project_id": stk.stack_user_project_id,
        "tags": stk.tags,
    }
    if not preview:
        info.update(stack_action=stk.action or "", stack_status=stk.status or "", stack_status_reason=stk.status_reason)
    if resolve_outputs and stk.state != (stk.DELETE, stk.COMPLETE):
        info["outputs"] = outputs(stk.outputs, resolve_value=True)
    return info


def stack_summary(row: Any, tags: list[str] | None) -> dict[str, Any]:
    """One row of a list of stacks."""
    return {
        "stack_identity": identifier.HeatIdentifier(row.tenant, row.name, row.id).as_dict(),
        "stack_name": row.name,
        "description": "",
        "stack_action": row.action,
        "stack_status": row.status,
        "stack_status_reason": row.status_reason,
        "creation_time": _isotime(row.created_at),
        "updated_time": _isotime(row.updated_at),
        "deletion_time": _isotime(row.deleted_at),
        "stack_owner": row.username,
        "parent": row.owner_id,
        "stack_user_project_id": row.stack_user_project_id,
        "tags": tags or None,
    }


def stack_preview(stk: Any) -> dict[str, Any]:
    """A stack that would be made; nested stacks are lists inside ``resources``."""

    def shown(item: Any) -> Any:
        if isinstance(item, list):
            return [shown(one) for one in item]
        return resource(item, with_props=True)

    info = stack(stk, preview=True)
    info["resources"] = [shown(item) for item in stk.preview_resources()]
    return info


# resources ----------------------------------------------------------------------------------------------------------
def resource_attributes(res: Any, with_attr: Any = None) -> dict[str, Any]:
    """Live values of the attributes; one that cannot be had is None."""
    attributes = res.attributes
    attributes.reset_resolved_values()

    def resolve(name: str) -> Any:
        try:
            return attributes._resolver(name)
        except Exception:
            return None

    wanted = list(with_attr or [])
    names = set(attributes)
    if "show" in names:
        show = resolve("show")
        if isinstance(show, Mapping):
            found = dict(show)
            found.update((name, resolve(name)) for name in wanted if name not in found)
            return found
        names.discard("show")
    return {name: resolve(name) for name in names | set(wanted)}


def resource_properties(res: Any) -> dict[str, Any]:
    def value(name: str) -> Any:
        try:
            return res.properties[name]
        except (KeyError, ValueError):
            LOG.info("Property %s of resource %s has no value", name, res.name)
            return None

    return {name: value(name) for name in res.properties_schema}


def resource_state(stk: Any, name: str, type_name: str, record: Any) -> dict[str, Any]:
    """What a row or a record says of a resource: all that a list shows of most types."""
    identity = stk.identifier().as_dict()
    info: dict[str, Any] = {
        "updated_time": _isotime(record.updated_at or record.created_at),
        "creation_time": _isotime(record.created_at),
        "resource_name": name,
        "physical_resource_id": record.nova_instance or "",
        "resource_action": record.action or "INIT",
        "resource_status": record.status or "COMPLETE",
        "resource_status_reason": record.status_reason or "",
        "resource_type": type_name,
        "resource_identity": {**identity, "path": f"/resources/{name}"},
        "stack_identity": identity,
        "stack_name": stk.name,
        "required_by": stk.required_by(name),
    }
    if stk.parent_resource_name:
        info["parent_resource"] = stk.parent_resource_name
    return info


def resource(res: Any, detail: bool = True, with_props: bool = False, with_attr: Any = None) -> dict[str, Any]:
    """A resource. ``detail``: description, metadata and attributes (these not when ``with_attr`` is False)."""
    info = resource_state(res.stack, res.name, res.type(), res.record)
    if res.has_nested():
        info["nested_stack_id"] = dict(res.nested_identifier())
    if detail:
        info["description"] = res.t.description
        info["metadata"] = res.metadata_get()
        if with_attr is not False:
            info["attributes"] = hidden.of_resource(res).data(resource_attributes(res, with_attr))
    if with_props:
        info["properties"] = hidden.of_resource(res).data(resource_properties(res))
    return info


# events -------------------------------------------------------------------------------------------------------------
def event(
    row: Any, stack_identifier: Any, root_stack_identifier: Any = None, properties: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """An event; ``properties`` only where one event is shown in full."""
    of_stack = stack_identifier.as_dict()
    path = f"{of_stack['path'].rstrip('/')}/resources/{row.resource_name}/events/{row.uuid}"
    info = {
        "event_identity": {**of_stack, "path": path},
        "stack_identity": of_stack,
        "stack_name": stack_identifier.stack_name,
        "event_time": _isotime(row.created_at),
        "resource_name": row.resource_name,
        "physical_resource_id": row.physical_resource_id,
        "resource_action": row.resource_action,
        "resource_status": row.resource_status,
        "resource_status_reason": row.resource_status_reason,
        "resource_type": row.resource_type,
    }
    if root_stack_identifier:
        info["root_stack_id"] = root_stack_identifier.as_dict()
    if properties is not None:
        info["resource_properties"] = dict(properties)
    return info


# snapshots ----------------------------------------------------------------------------------------------------------
def snapshot(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "action": row.action,
        "status": row.status,
        "status_reason": row.status_reason,
        "data": hidden.snapshot(row.data),
        "creation_time": _isotime(row.created_at),
    }


# parameters of a template -------------------------------------------------------------------------------------------
_API_TYPES = {
    "string": "String",
    "number": "Number",
    "comma_delimited_list": "CommaDelimitedList",
    "json": "Json",
    "boolean": "Boolean",
}


def validate_parameter(param: Any) -> dict[str, Any]:
    """A parameter as ``validate_template`` shows it."""
    info: dict[str, Any] = {
        "Type": _API_TYPES.get(param.schema.type, param.schema.type),
        "Description": param.description(),
        "NoEcho": "true" if param.hidden() else "false",
        "Label": param.label(),
    }
    if param.has_default():
        info["Default"] = param.default()
    if param.user_value:
        info["Value"] = param.user_value
    if param.tags():
        info["Tags"] = param.tags()
    info.update(parameter_constraints(param.schema.constraints))
    return info


def parameter_constraints(constraints: Any) -> dict[str, Any]:
    from openkeel_heat.template import constraints as kinds

    shown: dict[type, tuple[tuple[str, Callable[[Any], Any]], ...]] = {
        kinds.Length: (("MinLength", lambda c: c.min), ("MaxLength", lambda c: c.max)),
        kinds.Range: (("MinValue", lambda c: c.min), ("MaxValue", lambda c: c.max)),
        kinds.Modulo: (("Step", lambda c: c.step), ("Offset", lambda c: c.offset)),
        kinds.AllowedValues: (("AllowedValues", lambda c: list(c.allowed)),),
        kinds.AllowedPattern: (("AllowedPattern", lambda c: c.pattern),),
        kinds.CustomConstraint: (("CustomConstraint", lambda c: c.name),),
    }
    info: dict[str, Any] = {}
    descriptions = []
    for constraint in constraints:
        for kind, fields in shown.items():
            if isinstance(constraint, kind):
                info.update((key, value) for key, get in fields if (value := get(constraint)) is not None)
                break
        if constraint.description:
            descriptions.append(constraint.description)
    if descriptions:
        info["ConstraintDescription"] = " ".join(descriptions)
    return info


# software configuration ---------------------------------------------------------------------------------------------
def software_config(row: Any, detail: bool = True, include_project: bool = False) -> dict[str, Any]:
    info = {"id": row.id, "name": row.name, "group": row.group, "creation_time": _isotime(row.created_at)}
    if detail:
        config = row.config
        info.update((key, config[key]) for key in ("config", "inputs", "outputs", "options"))
    if include_project:
        info["project"] = row.tenant
    return info


def software_deployment(row: Any) -> dict[str, Any]:
    info = {
        "id": row.id,
        "server_id": row.server_id,
        "input_values": row.input_values,
        "output_values": row.output_values,
        "action": row.action,
        "status": row.status,
        "status_reason": row.status_reason,
        "config_id": row.config_id,
        "creation_time": _isotime(row.created_at),
    }
    if row.updated_at:
        info["updated_time"] = _isotime(row.updated_at)
    return info
