# SPDX-License-Identifier: Apache-2.0
"""Reading stacks: one in full, lists, counts, outputs, template, environment, files."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions, params
from openkeel_heat.common.i18n import _
from openkeel_heat.db import stacks, templates as raw_templates
from openkeel_heat.engine import templates
from openkeel_heat.engine.operations import formats, lookup
from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)

_HIDDEN = "******"


# stacks -------------------------------------------------------------------------------------------------------------
def show(context: Any, identity: Mapping[str, str] | None, resolve_outputs: bool = True) -> list[dict[str, Any]]:
    """One stack (a deleted one too) in a list; without an identity, all of the project."""
    if identity is not None:
        return [_show(lookup.get_stack(context, identity, show_deleted=True, tags=True), resolve_outputs)]
    found = []
    for row in stacks.list_stacks(lookup.tenant_of(context)):
        try:
            stack = Stack.from_row(context, row)
        except exceptions.NotFound:  # deleted since it was listed
            continue
        found.append(_show(stack, resolve_outputs))
    return found


def _show(stack: Stack, resolve_outputs: bool) -> dict[str, Any]:
    gone = stack.state == (stack.DELETE, stack.COMPLETE)
    if resolve_outputs and not gone and stack.outputs:
        load_output_data(stack)
    return formats.stack(stack, resolve_outputs=resolve_outputs)


def load_output_data(stack: Stack, output_names: Any = True) -> None:
    """Give functions what outputs refer to; attribute values read for it are kept with their resources."""
    wanted = _wanted_resources(stack, output_names)
    for name in wanted:
        resource = stack.resources[name]
        resource.reads_stored = True
        stack.defn.set_data([resource.node_data(for_resources=False, for_outputs=output_names)])
        if resource.record.id is not None:
            resource.store_attributes()
    stack.reset_outputs()


def _wanted_resources(stack: Stack, output_names: Any) -> list[str]:
    """Names of enabled resources that the outputs refer to."""
    outputs = stack.outputs
    names = outputs if output_names is True else output_names
    wanted: dict[str, None] = {}
    for name in names:
        wanted.update(dict.fromkeys(outputs[name].required_resource_names()))
    return [name for name in wanted if name in stack.defn]


_LIST_ARGUMENTS = ("tags", "tags_any", "not_tags", "not_tags_any", "show_deleted", "show_nested", "show_hidden")


def list_stacks(
    context: Any,
    filters: Mapping[str, Any] | None,
    tenant_safe: bool,
    limit: Any = None,
    marker: Any = None,
    sort_keys: Any = None,
    sort_dir: str | None = None,
    **which: Any,
) -> list[dict[str, Any]]:
    rows = stacks.list_stacks(
        _list_tenant(context, tenant_safe),
        limit=limit,
        marker=marker,
        sort_keys=sort_keys,
        sort_dir=sort_dir,
        filters=params.translate_filters(filters or {}),
        **which,
    )
    return [formats.stack_summary(row, row.tags) for row in rows]


def count_stacks(context: Any, filters: Mapping[str, Any] | None, tenant_safe: bool, **which: Any) -> int:
    return stacks.count(_list_tenant(context, tenant_safe), filters=params.translate_filters(filters or {}), **which)


def _list_tenant(context: Any, tenant_safe: bool) -> str | None:
    """The project a list is limited to; None: all projects."""
    return lookup.tenant_of(context) if tenant_safe else None


# outputs ------------------------------------------------------------------------------------------------------------
def list_outputs(context: Any, identity: Mapping[str, str]) -> list[dict[str, Any]]:
    return formats.outputs(lookup.get_stack(context, identity).outputs, resolve_value=False)


def show_output(context: Any, identity: Mapping[str, str], output_key: str) -> dict[str, Any]:
    stack = lookup.get_stack(context, identity)
    if output_key not in stack.outputs:
        raise exceptions.NotFound(_("Specified output key %s not found.") % output_key)
    load_output_data(stack, {output_key})
    return formats.output(stack.outputs[output_key])


def all_outputs(stack: Stack) -> dict[str, dict[str, Any]]:
    """Every output by its key, resolved (for the parent of a nested stack)."""
    load_output_data(stack)
    return {item["output_key"]: item for item in formats.outputs(stack.outputs, resolve_value=True)}


# what the stack was made of -----------------------------------------------------------------------------------------
def _raw(row: Any) -> Any:
    raw = raw_templates.get(row.raw_template_id)
    if raw is None:
        raise exceptions.EntityNotFound(entity="Stack", name=row.name)
    return raw


def template(context: Any, identity: Mapping[str, str]) -> Any:
    row = lookup.get_row(context, identity, show_deleted=True)
    known = templates.known(row.raw_template_id) if row.convergence else None  # the old engine rewrites templates
    return _raw(row).template if known is None else known.t


def environment(context: Any, identity: Mapping[str, str]) -> dict[str, Any]:
    """The environment with hidden parameters masked (those of templates among the files too)."""
    raw = _raw(lookup.get_row(context, identity, show_deleted=True))
    compiled = templates.load(raw.id)
    schemata = compiled.all_param_schemata(compiled.files)
    found = copy.deepcopy(templates.clear_environment(raw.environment))
    for section in ("parameters", "parameter_defaults"):
        values = found.get(section) or {}
        for name in values:
            if name in schemata and schemata[name].hidden:
                values[name] = _HIDDEN
    return found


def files(context: Any, identity: Mapping[str, str]) -> dict[str, str]:
    row = lookup.get_row(context, identity, show_deleted=True)
    return dict(templates.load(row.raw_template_id).files)
