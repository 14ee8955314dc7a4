# SPDX-License-Identifier: Apache-2.0
"""Helpers of resources that are groups: looking at members, templates of the next step, batches.

The last three functions are pure: how a group moves from the members it has to those it
shall have, a batch at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _

Member = tuple[str, dict[str, Any]]


class GroupInspector:
    """The members of a group as stored, read once without loading their stack."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self._member_data: list[dict[str, Any]] | None = None

    @classmethod
    def from_parent_resource(cls, parent_resource: Any) -> GroupInspector:
        return cls(parent_resource)

    def _get_member_data(self) -> list[dict[str, Any]]:
        """Failed ones first, then by age, then by name."""
        group = self._group
        if group.resource_id is None:
            return []
        if self._member_data is None:
            found = group.stack.nested_stacks.resources(group, group.resource_id)
            self._member_data = sorted(
                found,
                key=lambda member: (
                    member["resource_status"] != "FAILED",
                    member["creation_time"],
                    member["resource_name"],
                ),
            )
        return self._member_data

    def _members(self, include_failed: bool) -> Iterator[dict[str, Any]]:
        return (member for member in self._get_member_data() if include_failed or member["resource_status"] != "FAILED")

    def size(self, include_failed: bool) -> int:
        return sum(1 for _member in self._members(include_failed))

    def member_names(self, include_failed: bool) -> Iterator[str]:
        return (member["resource_name"] for member in self._members(include_failed))

    def template(self) -> Any:
        group = self._group
        return None if group.resource_id is None else group.stack.nested_stacks.template(group.resource_id)


def get_size(group: Any, include_failed: bool = False) -> int:
    return GroupInspector(group).size(include_failed)


def get_member_names(group: Any) -> list[str]:
    return list(GroupInspector(group).member_names(include_failed=False))


def get_members(group: Any, include_failed: bool = False) -> list[Any]:
    """Resource objects of the members, in the inspector's order."""
    nested = group.nested()
    if not nested:
        return []
    found = [member for member in nested.values() if include_failed or member.status != member.FAILED]
    return sorted(found, key=lambda member: (member.status != member.FAILED, member.created_time, member.name))


def get_member_refids(group: Any) -> list[Any]:
    return [member.FnGetRefId() for member in get_members(group)]


def get_resource(group: Any, resource_name: str, use_indices: bool, key: Any = None) -> Any:
    nested = group.nested()
    if not nested:
        return None
    try:
        return get_members(group)[int(resource_name)] if use_indices else nested[resource_name]
    except (IndexError, KeyError):
        raise exception.NotFound(
            _("Member '%(mem)s' not found in group resource '%(grp)s'.") % {"mem": resource_name, "grp": group.name}
        ) from None


def get_rsrc_attr(group: Any, key: Any, use_indices: bool, resource_name: str, *attr_path: Any) -> Any:
    member = get_resource(group, resource_name, use_indices)
    return member.FnGetAtt(*attr_path) if member else None


def get_rsrc_id(group: Any, key: Any, use_indices: bool, resource_name: str) -> Any:
    member = get_resource(group, resource_name, use_indices)
    return member.FnGetRefId() if member else None


def get_nested_attrs(group: Any, key: str, use_indices: bool, *path: Any) -> Any:
    """The value of ``resource.NAME[.ATTRIBUTE]``."""
    parts = key.split(".", 2)[1:] + list(path)
    if len(parts) > 1:
        return get_rsrc_attr(group, key, use_indices, *parts)
    return get_rsrc_id(group, key, use_indices, *parts)


def get_member_definitions(group: Any, include_failed: bool = False) -> list[Member]:
    """(name, snippet) of the members, as the child's template has them, in the inspector's order."""
    inspector = GroupInspector(group)
    template = inspector.template()
    if template is None:
        return []
    snippets = member_snippets(template.t)
    return [(name, snippets[name]) for name in inspector.member_names(include_failed) if name in snippets]


# --- pure -----------------------------------------------------------------------------------------------------------


def _as_it_is(_name: str, definition: Any) -> Any:
    return definition


def member_definitions(
    old_resources: Sequence[Member],
    new_definition: Any,
    num_resources: int,
    num_new: int,
    get_new_id: Callable[[], str],
    customise: Callable[[str, Any], Any] = _as_it_is,
) -> Iterator[Member]:
    """The members of the next step.

    ``old_resources`` are sorted so that the first to be removed or changed come first;
    at most ``num_new`` members, those added included, get the new definition.
    """
    kept = list(old_resources[-num_resources:])
    changes_left = num_new - (num_resources - len(kept))
    for name, old in kept[:num_resources]:
        new = customise(name, new_definition)
        if old != new and changes_left > 0:
            changes_left -= 1
            yield name, new
        else:
            yield name, old
    for _index in range(len(kept), num_resources):
        name = get_new_id()
        yield name, customise(name, new_definition)


_CFN_KEYS = {
    "type": "Type",
    "properties": "Properties",
    "metadata": "Metadata",
    "depends_on": "DependsOn",
    "deletion_policy": "DeletionPolicy",
    "update_policy": "UpdatePolicy",
    "condition": "Condition",
}
_HOT_KEYS = {cfn: hot for hot, cfn in _CFN_KEYS.items()}


def _is_hot(version_key: str) -> bool:
    return version_key == "heat_template_version"


def _with_keys(snippet: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in snippet.items()}


def member_snippets(template: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The members of a group's template (of either format), as HOT."""
    if "resources" in template or "Resources" not in template:
        return dict(template.get("resources") or {})
    return {name: _with_keys(snippet, _HOT_KEYS) for name, snippet in (template["Resources"] or {}).items()}


def make_template(
    members: Iterable[Member],
    outputs: Mapping[str, Any] | None = None,
    version: tuple[str, str] = ("heat_template_version", "2015-04-30"),
) -> dict[str, Any]:
    """The template with these members (as HOT) and outputs (name -> value, in the format of the template)."""
    hot = _is_hot(version[0])
    template: dict[str, Any] = dict([version])
    resources = {name: snippet if hot else _with_keys(snippet, _CFN_KEYS) for name, snippet in members}
    if resources:
        template["resources" if hot else "Resources"] = resources
    if outputs:
        value_key = "value" if hot else "Value"
        template["outputs" if hot else "Outputs"] = {name: {value_key: value} for name, value in outputs.items()}
    return template


def needs_update(targ_capacity: int, curr_capacity: int, num_up_to_date: int) -> bool:
    """Whether a further batch is needed."""
    return not (curr_capacity == targ_capacity and num_up_to_date >= curr_capacity)


def next_batch(
    targ_capacity: int, curr_capacity: int, num_up_to_date: int, batch_size: int, min_in_service: int
) -> tuple[int, int]:
    """(size of the group after the batch, number of members with the new definition in it)."""
    assert num_up_to_date <= curr_capacity
    in_service = min(min_in_service, targ_capacity, curr_capacity)
    batch = min(batch_size, max(targ_capacity - num_up_to_date, 0))
    return batch + max(min(curr_capacity, targ_capacity - batch), in_service), batch


def batches(targ_capacity: int, curr_capacity: int, batch_size: int, min_in_service: int) -> Iterator[tuple[int, int]]:
    """All batches from one size to another, every member getting the new definition."""
    updated = 0
    while needs_update(targ_capacity, curr_capacity, updated):
        new_capacity, changed = next_batch(targ_capacity, curr_capacity, updated, batch_size, min_in_service)
        yield new_capacity, changed
        updated += changed - max(new_capacity - max(curr_capacity, targ_capacity), 0)
        curr_capacity = new_capacity
