# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::ResourceGroup: a number of resources of one definition.

The members are the resources ``0``, ``1``, … of a nested stack. Names that were removed by
``removal_policies`` are kept in the resource data (``name_blacklist``) and never used again.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.resource_group_schema import GroupSchema
from openkeel_heat.resources.kit import attributes, groups, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.stack_resource import StackResource

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class _Batch:
    """A step of a rolling change: the size after it and how many members may change."""

    capacity: int
    max_updates: int
    timeout_mins: int
    started: bool = False
    cookie: Any = None


@dataclasses.dataclass
class _Rest:
    """A pause between two batches."""

    seconds: float
    until: float | None = None


@dataclasses.dataclass
class _Resize:
    """The change to the wanted members in one step."""

    template: dict[str, Any]
    timeout_mins: int | None
    started: bool = False
    cookie: Any = None


Steps = list[Any]


def _ignoring_missing(snippet: Any, nullable: bool = False) -> Any:
    """Resolve a snippet; parameters without a value count as None."""
    if callable(getattr(snippet, "result", None)):
        try:
            value = snippet.result()
        except exception.UserParameterMissing:
            return None
        return None if value is Ellipsis and not nullable else value
    if isinstance(snippet, Mapping):
        items = ((key, _ignoring_missing(value, nullable=True)) for key, value in snippet.items())
        return {key: value for key, value in items if value is not Ellipsis}
    if isinstance(snippet, Iterable) and not isinstance(snippet, (str, bytes)):
        entries = (_ignoring_missing(value, nullable=True) for value in snippet)
        return [value for value in entries if value is not Ellipsis]
    return snippet


class ResourceGroup(GroupSchema, StackResource):
    """Any number of resources that are made alike.

    Each occurrence of the index variable in their properties is replaced by the number of the
    member. An attribute of the members is read as a list from the group; one member's
    with ``resource.NUMBER.ATTRIBUTE``, its reference with ``resource.NUMBER``.
    """

    support_status = support.SupportStatus(version="2014.1")

    # size and names ---------------------------------------------------
    def get_size(self) -> int:
        return self.properties[self.COUNT]

    def _current_skiplist(self) -> list[str]:
        names = self.data().get("name_blacklist")
        return names.split(",") if names else []

    def _get_new_skiplist_entries(self, props: Any, current_skiplist: Iterable[str]) -> Iterator[str]:
        """Names of the members that removal policies name, or refer to by their references."""
        known = set(current_skiplist)
        inspector = groups.GroupInspector.from_parent_resource(self)
        wanted = [
            entry
            for policy in props.get(self.REMOVAL_POLICIES) or []
            if self.REMOVAL_RSRC_LIST in policy
            for entry in policy[self.REMOVAL_RSRC_LIST] or []
        ]
        for entry in wanted:
            name = str(entry)
            if name in known or self.resource_id is None or name in inspector.member_names(include_failed=True):
                yield name
            elif isinstance(entry, str):
                found = self._member_by_reference(entry)
                if found is not None:
                    yield found
        # What was read is out of date after the update.
        self._outputs = None

    def _member_by_reference(self, reference: str) -> str | None:
        try:
            references = self.get_output(self.REFS_MAP)
        except (exception.NotFound, exception.TemplateOutputError) as ex:
            LOG.debug("Falling back to resource_by_refid()  due to %s", ex)
            nested = self.nested()
            member = None if nested is None else nested.resource_by_refid(reference)
            return None if member is None else member.name
        return next((name for name, value in (references or {}).items() if value == reference), None)

    def _update_name_skiplist(self, props: Any) -> None:
        current = set(self._current_skiplist())
        mode = props.get(self.REMOVAL_POLICIES_MODE)
        kept = set() if mode == self.REMOVAL_POLICY_UPDATE else current
        updated = kept | set(self._get_new_skiplist_entries(props, current))
        if updated != current:
            self.data_set("name_blacklist", ",".join(sorted(updated)))

    def _name_skiplist(self) -> set[str]:
        names = set(self._current_skiplist())
        if self.resource_id is None:
            names |= set(self._get_new_skiplist_entries(self.properties, names))
        return names

    def _resource_names(self, size: int | None = None) -> Iterator[str]:
        skipped = self._name_skiplist()
        names = (name for name in map(str, itertools.count()) if name not in skipped)
        count = self.get_size() if size is None else size
        self.check_size(count)
        return itertools.islice(names, count)

    def _count_skipped(self, existing_members: Iterable[str]) -> int:
        return len(self._name_skiplist() & set(existing_members))

    # the template of the group ----------------------------------------
    def get_resource_def(self, include_all: bool = False) -> dict[str, Any]:
        """The definition of a member; properties without a value only with ``include_all``."""
        props = properties.Properties(
            self.properties_schema, self.properties.data, _ignoring_missing, context=self.context
        )
        definition = props[self.RESOURCE_DEF]
        return definition if include_all else self._clean_props(definition)

    def _clean_props(self, res_defn: Mapping[str, Any]) -> dict[str, Any]:
        definition = copy.deepcopy(dict(res_defn))
        props = definition.get(self.RESOURCE_DEF_PROPERTIES)
        if props:
            definition[self.RESOURCE_DEF_PROPERTIES] = {key: value for key, value in props.items() if value is not None}
        return definition

    def build_resource_definition(self, res_name: str, res_defn: Mapping[str, Any]) -> dict[str, Any]:
        """The snippet of one member."""
        snippet: dict[str, Any] = {"type": res_defn[self.RESOURCE_DEF_TYPE]}
        props = copy.deepcopy(res_defn.get(self.RESOURCE_DEF_PROPERTIES))
        if props is not None:
            snippet["properties"] = self._handle_repl_val(res_name, props)
        metadata = res_defn.get(self.RESOURCE_DEF_METADATA)
        if metadata is not None:
            snippet["metadata"] = copy.deepcopy(metadata)
        return snippet

    def _handle_repl_val(self, res_name: str, val: Any) -> Any:
        variable = self.properties[self.INDEX_VAR]

        def replaced(value: Any) -> Any:
            if isinstance(value, str):
                return value.replace(variable, res_name)
            if isinstance(value, Mapping):
                return {key: replaced(entry) for key, entry in value.items()}
            if isinstance(value, Sequence):
                return [replaced(entry) for entry in value]
            return value

        return replaced(val)

    def _attribute_output_name(self, *attr_path: Any) -> str:
        return self.REFS if attr_path[0] == self.REFS else ", ".join(str(part) for part in attr_path)

    def _nested_outputs(self, names: Sequence[str]) -> dict[str, Any]:
        """Outputs of the nested stack, so that attributes read of the group need one look-up."""
        references = {name: {"get_resource": name} for name in names}
        outputs: dict[str, Any] = {}
        for attr in self.referenced_attrs():
            key, path = (attr, []) if isinstance(attr, str) else (attr[0], list(attr[1:]))
            value = self._nested_output_value(key, path, names)
            if value is not None:
                outputs[self._attribute_output_name(key, *path)] = value
        outputs.pop(self.REFS_MAP, None)
        outputs[self.REFS_MAP] = references
        return outputs

    def _nested_output_value(self, key: str, path: list[Any], names: Sequence[str]) -> Any:
        if key == self.REFS:
            return [{"get_resource": name} for name in names]
        if key.startswith("resource."):
            _prefix, member, *rest = key.split(".", 2)
            rest += path
            return {"get_attr": [member, *rest]} if rest and member in names else None
        if key == self.ATTR_ATTRIBUTES and path:
            return {name: {"get_attr": [name, *path]} for name in names}
        if key not in self.ATTRIBUTES:
            return [{"get_attr": [name, key, *path]} for name in names]
        return None

    def _assemble_nested(
        self,
        names: Iterable[str],
        include_all: bool = False,
        template_version: tuple[str, str] = ("heat_template_version", "2015-04-30"),
    ) -> dict[str, Any]:
        definition = self.get_resource_def(include_all)
        members = [(name, self.build_resource_definition(name, definition)) for name in names]
        outputs = self._nested_outputs([name for name, _snippet in members])
        return groups.make_template(members, outputs, version=template_version)

    def _assemble_for_rolling_update(
        self,
        total_capacity: int,
        max_updates: int,
        include_all: bool = False,
        template_version: tuple[str, str] = ("heat_template_version", "2015-04-30"),
    ) -> dict[str, Any]:
        names = list(self._resource_names(total_capacity))
        skipped = self._name_skiplist()
        existing = [member for member in groups.get_member_definitions(self) if member[0] not in skipped]
        size = self.get_size()

        def priority(member: groups.Member) -> int:
            name = member[0]
            if name not in names:
                return 0  # goes first
            index = names.index(name)
            # High numbers change first; what is beyond the size goes in the end anyway.
            return size - index if index < size else total_capacity

        present = {name for name, _snippet in existing}
        fresh = (name for name in names if name not in present)
        members = groups.member_definitions(
            sorted(existing, key=priority),
            self.get_resource_def(include_all),
            total_capacity,
            max_updates,
            lambda: next(fresh),
            self.build_resource_definition,
        )
        return groups.make_template(members, self._nested_outputs(names), version=template_version)

    def child_template(self) -> dict[str, Any]:
        return self._assemble_nested(self._resource_names())

    def child_params(self) -> dict[str, Any]:
        return {}

    def child_template_files(self, child_env: Any) -> Mapping[str, Any]:
        """During a rolling update members of both definitions need their files."""
        files = self.stack.t.files
        if self.action == self.UPDATE and self.resource_id is not None and self.update_policy[self.ROLLING_UPDATE]:
            stored = self.stack.nested_stacks.template(self.resource_id)
            if stored is not None:
                return {**stored.files, **files}
        return files

    # validation, preview ----------------------------------------------
    def validate_nested_stack(self) -> None:
        # A group of none is a way to leave out what could not be made.
        if not self.get_size():
            return
        template = self._assemble_nested([next(self._resource_names())], include_all=True)
        member = next(iter(template["resources"].values()))
        self.stack.env.get_class_to_instantiate(member["type"])
        self._validate_as_nested(lambda: template)

    def preview(self) -> Any:
        template = self._assemble_nested(self._resource_names(), include_all=True)
        self._nested = self._parse_nested_stack(self._nested_preview_name(), template, self.child_params())
        return self._nested.preview_resources()

    def get_nested_parameters_stack(self) -> Any:
        template = self._assemble_nested(self._resource_names(1))
        return self._parse_nested_stack(self._nested_preview_name(), template, self.child_params())

    # create, update ---------------------------------------------------
    def handle_create(self) -> Steps | None:
        self._update_name_skiplist(self.properties)
        policy = self.update_policy[self.BATCH_CREATE]
        if policy and self.get_size():
            return self._started(self._replace(0, policy[self.MAX_BATCH_SIZE], policy[self.PAUSE_TIME]))
        self.create_with_template(self._assemble_nested(self._resource_names()), self.child_params())
        return None

    def check_create_complete(self, checkers: Steps | None = None) -> bool:
        if checkers is None:
            return super().check_create_complete()
        return self._run_steps(checkers)

    def can_resume_polling(self, action: str) -> bool:
        # With batches it is not enough to wait for the nested stack.
        return not (action == self.CREATE and self.update_policy[self.BATCH_CREATE])

    def handle_adopt(self, resource_data: Mapping[str, Any] | None = None) -> Any:
        self.create_with_template(self._assemble_nested(self._resource_names()), {}, adopt_data=resource_data)

    def res_def_changed(self, prop_diff: Mapping[str, Any]) -> bool:
        return self.RESOURCE_DEF in prop_diff

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Steps:
        if tmpl_diff and tmpl_diff.update_policy_changed():
            self.update_policy = json_snippet.update_policy(self.update_policy_schema, self.context)
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        self._update_name_skiplist(self.properties)
        steps: Steps = []
        if prop_diff and self.res_def_changed(prop_diff):
            steps = self._try_rolling_update() or []
        if not steps:
            steps = [_Resize(self._assemble_nested(self._resource_names()), self.stack.timeout_mins)]
        return self._started(steps)

    def check_update_complete(self, cookie: Any = None) -> bool:
        return self._run_steps(cookie)

    def _try_rolling_update(self) -> Steps | None:
        policy = self.update_policy[self.ROLLING_UPDATE]
        if not policy:
            return None
        return self._replace(policy[self.MIN_IN_SERVICE], policy[self.MAX_BATCH_SIZE], policy[self.PAUSE_TIME])

    def _replace(self, min_in_service: int, batch_size: int, pause_sec: float) -> Steps:
        """The steps that give every member the new definition."""
        inspector = groups.GroupInspector.from_parent_resource(self)
        skipped = self._count_skipped(inspector.member_names(include_failed=False))
        capacity = inspector.size(include_failed=True) - skipped
        plan = list(self._get_batches(self.get_size(), capacity, batch_size, min_in_service))
        timeout_mins = math.ceil(self._update_timeout(len(plan), pause_sec) / 60)
        steps: Steps = []
        for capacity, max_updates in plan:
            if steps and pause_sec > 0:
                steps.append(_Rest(pause_sec))
            steps.append(_Batch(capacity, max_updates, timeout_mins))
        return steps

    @staticmethod
    def _get_batches(targ_cap: int, curr_cap: int, batch_size: int, min_in_service: int) -> Iterator[tuple[int, int]]:
        return groups.batches(targ_cap, curr_cap, batch_size, min_in_service)

    def _update_timeout(self, batch_cnt: int, pause_sec: float) -> float:
        pauses = pause_sec * max(batch_cnt - 1, 0)
        left = self.stack.timeout_secs() - pauses
        if left <= 0:
            raise ValueError(_("The current update policy will result in stack update timeout."))
        return left

    def _started(self, steps: Steps) -> Steps:
        if steps:
            self._start_step(steps[0])
        return steps

    def _start_step(self, step: Any) -> None:
        if isinstance(step, _Rest):
            step.until = clock.monotonic() + step.seconds
            return
        step.started = True
        template = (
            step.template
            if isinstance(step, _Resize)
            else self._assemble_for_rolling_update(step.capacity, step.max_updates)
        )
        step.cookie = self.update_with_template(template, {}, step.timeout_mins)

    def _run_steps(self, steps: Steps) -> bool:
        """Go on with the first step; finished ones are taken away."""
        while steps:
            step = steps[0]
            if isinstance(step, _Rest):
                if step.until is None:
                    self._start_step(step)
                left = (step.until or 0) - clock.monotonic()
                if left > 0:
                    self.poll_after = left
                    return False
            else:
                if not step.started:
                    self._start_step(step)
                if not StackResource.check_update_complete(self, step.cookie):
                    return False
            steps.pop(0)
        return True

    # attributes -------------------------------------------------------
    def _resolve_attribute(self, name: str) -> Any:
        return self._current_skiplist() if name == self.REMOVED_RSRC_LIST else None

    def get_attribute(self, key: str, *path: Any) -> Any:
        if key == self.REMOVED_RSRC_LIST:
            return self._current_skiplist()
        if key == self.ATTR_ATTRIBUTES and not path:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
        if self.resource_id is not None:
            try:
                return self._attribute_from_output(key, *path)
            except exception.TemplateOutputError as ex:
                LOG.debug("Falling back to grouputils due to %s", ex)
            except _NoOutput as ex:
                LOG.debug("Falling back to grouputils due to %s", ex)
        return self._attribute_from_members(key, *path)

    def _attribute_from_output(self, key: str, *path: Any) -> Any:
        by_number = key.startswith("resource.") and not path and len(key.split(".", 2)) == 2
        try:
            value = self.get_output(self.REFS_MAP if by_number else self._attribute_output_name(key, *path))
        except exception.NotFound as ex:
            raise _NoOutput(str(ex)) from ex
        if by_number:
            member = key.split(".", 2)[1]
            if not value or member not in value:
                raise exception.NotFound(
                    _("Member '%(mem)s' not found in group resource '%(grp)s'.") % {"mem": member, "grp": self.name}
                )
            return value[member]
        return attributes.select_from_attribute(value, path) if key == self.REFS else value

    def _attribute_from_members(self, key: str, *path: Any) -> Any:
        if key.startswith("resource."):
            return groups.get_nested_attrs(self, key, False, *path)
        names = list(self._resource_names())
        if key == self.REFS:
            values = [groups.get_rsrc_id(self, key, False, name) for name in names]
            return attributes.select_from_attribute(values, path)
        if key == self.REFS_MAP:
            return {name: groups.get_rsrc_id(self, key, False, name) for name in names}
        if key == self.ATTR_ATTRIBUTES:
            return {name: groups.get_rsrc_attr(self, key, False, name, *path) for name in names}
        return [groups.get_rsrc_attr(self, key, False, name, key, *path) for name in names]


class _NoOutput(Exception):
    """The nested stack has no output for an attribute."""


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::ResourceGroup": ResourceGroup}
