# SPDX-License-Identifier: Apache-2.0
"""What a create or an update would do, and whether a template is valid. Nothing is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.engine import hidden, validation
from openkeel_heat.engine.operations import formats, lookup, prepare
from openkeel_heat.engine.stack import Stack
from openkeel_heat.template.parameter_groups import ParameterGroups

LISTS = ("unchanged", "updated", "replaced", "added", "deleted")


def preview_create(stack: Stack) -> dict[str, Any]:
    with validation.told():
        return formats.stack_preview(stack)


# update -------------------------------------------------------------------------------------------------------------
def preview_update(
    context: Any,
    identity: Mapping[str, str],
    template: Mapping[str, Any] | None,
    params: Mapping[str, Any] | None,
    files: Mapping[str, str] | None,
    args: Mapping[str, Any] | None,
    environment_files: list[str] | None = None,
    files_container: str | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Resources in five lists; with ``show_nested`` those of nested stacks too."""
    current = lookup.get_stack(context, identity)
    new = prepare.updated_stack(context, current, template, params, files, args, environment_files, files_container)
    current.load_resource_data(for_resources=True, for_outputs=False)
    names = changes(current, new)
    new.id = current.id
    found = _shown(current, new, names)
    if (args or {}).get("show_nested"):
        new.preview_resources()  # makes the nested stacks in memory
        _add_nested(found, current, new, names)
    return found


def changes(current: Stack, new: Stack) -> dict[str, list[str]]:
    """Names of resources by what would happen to them."""
    from openkeel_heat.resources.kit.resource import UpdateReplace

    before, after = current.resources, new.resources
    result: dict[str, list[str]] = {name: [] for name in LISTS}
    for name in before.keys() & after.keys():
        old, wanted = before[name], after[name]
        if type(old) is not type(wanted):
            result["replaced"].append(name)
            continue
        frozen, target = old.frozen_definition(), wanted.frozen_definition()
        old_props = frozen.properties(old.properties_schema, old.context)
        new_props = target.properties(wanted.properties_schema, wanted.context)
        try:
            updated = old.preview_update(target, frozen, new_props, old_props, None)
            result["updated" if updated else "unchanged"].append(name)
        except UpdateReplace:
            result["replaced"].append(name)
    result["added"] = list(after.keys() - before.keys())
    result["deleted"] = list(before.keys() - after.keys())
    return result


def _shown(current: Stack | None, new: Stack | None, names: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The lists with resources in full: as they are (updated, deleted) or as they would be."""

    def shown(stack: Stack | None, wanted: Iterable[str]) -> list[Any]:
        return [formats.resource(stack.resources[name]) for name in wanted] if stack is not None else []

    return {name: shown(current if name in ("updated", "deleted") else new, names.get(name, ())) for name in LISTS}


def _add_nested(found: dict[str, list[Any]], current: Stack, new: Stack, names: Mapping[str, list[str]]) -> None:
    new.id = current.id
    _add_whole(found, "deleted", current, [*names["deleted"], *names["replaced"]])
    _add_whole(found, "added", new, [*names["added"], *names["replaced"]])
    for name in names["updated"]:
        old, wanted = current.resources[name], new.resources[name]
        if not (old.has_nested() and wanted.has_nested()):
            continue
        inner_old, inner_new = old.nested(), wanted.nested()
        inner = changes(inner_old, inner_new)
        inner_new.id = inner_old.id
        for key, items in _shown(inner_old, inner_new, inner).items():
            found[key].extend(items)
        _add_nested(found, inner_old, inner_new, inner)


def _add_whole(found: dict[str, list[Any]], key: str, stack: Stack, names: Iterable[str]) -> None:
    """All that is below template resources which come or go as a whole."""
    for name in names:
        resource = stack.resources[name]
        if resource.has_nested():
            nested = resource.nested()
            inner = list(nested.resources)
            found[key].extend(formats.resource(nested.resources[one]) for one in inner)
            _add_whole(found, key, nested, inner)


# validate -----------------------------------------------------------------------------------------------------------
def validate_template(
    context: Any,
    template: Mapping[str, Any] | None,
    params: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    environment_files: list[str] | None = None,
    files_container: str | None = None,
    show_nested: bool = False,
    ignorable_errors: Collection[str] | None = None,
) -> dict[str, Any]:
    """Parameters, groups and environment of a template; or ``{'Error': why}`` when it is not valid."""
    if template is None:
        raise exceptions.StackValidationFailed(message=_("No Template provided."))
    if ignorable_errors:
        unknown = set(ignorable_errors) - set(exceptions.ERROR_CODE_MAP)
        if unknown:
            raise exceptions.Invalid(reason=_("Invalid codes in ignore_errors : %s") % sorted(unknown))
    compiled = prepare.new_template(context, template, params, files, environment_files, files_container)
    try:
        prepare.check_template(compiled)
    except exceptions.HeatException as error:
        return {"Error": str(error)}
    stack = Stack(context, "dummy", compiled, strict_validate=False)
    try:
        stack.validate(ignorable_errors=ignorable_errors, validate_res_tmpl_only=True)
    except exceptions.StackValidationFailed as error:
        return {"Error": hidden.of(stack).text(str(error))}

    result = {
        "Description": compiled.get("Description", ""),
        "Parameters": stack.parameters.map(formats.validate_parameter, filter_func=_is_users(stack)),
    }
    groups = ParameterGroups(compiled).parameter_groups
    if groups:
        result["ParameterGroups"] = groups
    if show_nested:
        result.update(nested_parameters(stack))
    result["Environment"] = compiled.env.user_env_as_dict()
    return result


def _is_users(stack: Stack) -> Any:
    pseudo = stack.parameters.PSEUDO_PARAMETERS
    return lambda parameter: parameter.name not in pseudo


def nested_parameters(stack: Stack) -> dict[str, Any]:
    """``NestedParameters`` of the template resources of a stack, all the way down."""
    found = {}
    for name, resource in stack.resources.items():
        try:
            nested = resource.get_nested_parameters_stack()
        except exceptions.HeatException:
            raise
        except (ValueError, TypeError) as error:
            raise exceptions.StackValidationFailed(error=error, resource=resource) from error
        if nested is None:
            continue
        entry = {
            "Type": resource.type(),
            "Description": nested.t.get("Description", ""),
            "Parameters": nested.parameters.map(formats.validate_parameter, filter_func=_is_users(nested)),
        }
        groups = ParameterGroups(nested.t).parameter_groups
        if groups:
            entry["ParameterGroups"] = groups
        entry.update(nested_parameters(nested))
        found[name] = entry
    return {"NestedParameters": found} if found else {}
