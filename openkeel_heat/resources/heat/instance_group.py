# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::InstanceGroup, and what all groups of random names share.

The members are resources of a nested stack. Their names are random; which of them go first when the group shrinks
follows from their age (failed ones before all others). A rolling update replaces the definitions batch by batch::

    [A B C]  ->  [A' B C]  ->  rest  ->  [A' B' C]  ->  rest  ->  [A' B' C']

Load balancers are told of the members in service before and after each batch. The size that the group had at the
start is kept in the resource data (``rolling_target``) until the update has come to a good end: a group may be larger
while it is under way, and whoever goes on with it, after the death of an engine or after a failure, has to know.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions as exception, names
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.instance_group_schema import InstanceGroupSchema
from openkeel_heat.resources.kit import groups, scaling
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.stack_resource import StackResource
from openkeel_heat.resources.kit.stepwise import Steps, Stepwise, rest, run

LOG = logging.getLogger(__name__)

SCALED_RESOURCE_TYPE = "OS::Heat::ScaledResource"

ROLLING_TARGET = "rolling_target"

CFN_VERSION = ("HeatTemplateFormatVersion", "2012-12-12")


class InstanceGroup(InstanceGroupSchema, StackResource):
    """A number of instances made by one AWS::AutoScaling::LaunchConfiguration."""

    OUTPUT_MEMBER_IDS = "references"

    _group_inspector: groups.GroupInspector | None = None
    _reload: Stepwise | None = None

    def get_size(self) -> int | None:
        """The wanted number of members."""
        return self.properties[self.SIZE]

    # validation -------------------------------------------------------
    def validate(self) -> Any:
        self.validate_launchconfig()
        super().validate()
        policy = self._rolling_policy()
        if policy is not None and clock.parse_isoduration(policy[self.PAUSE_TIME]) > 3600:
            raise ValueError(_("Maximum %s is 1 hour.") % self.PAUSE_TIME)

    def _rolling_policy(self) -> Mapping[str, Any] | None:
        return self.update_policy.get(self.ROLLING_UPDATE)

    def validate_launchconfig(self) -> None:
        """The launch configuration has to be referred to, so that it is there before the group."""
        reference = self.properties.get(self.LAUNCH_CONFIGURATION_NAME)
        if not reference:
            return
        names_of = {"lc": self.LAUNCH_CONFIGURATION_NAME, "ref": reference}
        conf = self.stack.resource_by_refid(reference)
        if conf is None:
            raise ValueError(_("%(lc)s (%(ref)s) reference can not be found.") % names_of)
        if self.name not in conf.required_by():
            raise ValueError(
                _("%(lc)s (%(ref)s) requires a reference to the configuration not just the name of the resource.")
                % names_of
            )

    # the members ------------------------------------------------------
    def _tags(self) -> list[dict[str, Any]]:
        """The tags of the members; one of them names the group for meters, unless the user has such a one."""
        tags = list(self.properties.get(self.TAGS) or [])
        if any(tag[self.TAG_KEY].startswith("metering.") for tag in tags):
            return tags
        return [*tags, {self.TAG_KEY: "metering.groupname", self.TAG_VALUE: self.FnGetRefId()}]

    def _get_conf_properties(self) -> tuple[Any, dict[str, Any]]:
        """The launch configuration, and the properties of a member that follow from it."""
        conf = self.stack.resource_by_refid(self.properties[self.LAUNCH_CONFIGURATION_NAME])
        given = conf.frozen_definition().properties(conf.properties_schema, conf.context)
        props = {key: value for key, value in given.items() if key in given.data}
        for key in (conf.BLOCK_DEVICE_MAPPINGS, conf.NOVA_SCHEDULER_HINTS):
            if props.get(key) is not None:
                props[key] = [
                    {name: value for name, value in entry.items() if name in given.data[key][index]}
                    for index, entry in enumerate(props[key])
                ]
        if conf.INSTANCE_ID in props:
            props = conf.rebuild_lc_properties(props[conf.INSTANCE_ID])
        props["Tags"] = self._tags()
        props.pop(conf.INSTANCE_ID, None)
        return conf, props

    def _get_resource_definition(self) -> dict[str, Any]:
        """The definition of a member, as HOT."""
        conf, props = self._get_conf_properties()
        definition: dict[str, Any] = {"type": SCALED_RESOURCE_TYPE, "properties": props}
        metadata = conf.t.metadata()
        if metadata is not None:
            definition["metadata"] = metadata
        return definition

    def _template_version(self) -> tuple[str, str]:
        return CFN_VERSION

    def _create_template(self, num_instances: int, num_replace: int = 0, rolling: bool = False) -> dict[str, Any]:
        """The template of the next step: ``num_replace`` members at most change, those added included."""
        self.check_size(num_instances)
        definition = self._get_resource_definition()
        members = groups.get_member_definitions(self, include_failed=True)
        if rolling:
            healthy = set(self._group_data().member_names(include_failed=False))
            # Those that are out of date change, or go, before others; those that failed serve nobody: all at once.
            members.sort(key=lambda member: (member[0] in healthy, member[1] == definition))
            num_replace = max(num_replace, sum(name not in healthy for name, _definition in members))
        chosen = list(groups.member_definitions(members, definition, num_instances, num_replace, names.new_short_id))
        version = self._template_version()
        outputs = self._nested_outputs([name for name, _definition in chosen], *_references(version))
        return groups.make_template(chosen, outputs, version=version)

    def _nested_outputs(
        self, resource_names: list[str], get_attr: Callable[..., Any], get_resource: Callable[[str], Any]
    ) -> dict[str, Any]:
        outputs: dict[str, Any] = {}
        for attr in self.referenced_attrs():
            if (attr if isinstance(attr, str) else attr[0]) == self.INSTANCE_LIST:
                outputs[self.INSTANCE_LIST] = {name: get_attr(name, "PublicIp") for name in resource_names}
        outputs[self.OUTPUT_MEMBER_IDS] = {name: get_resource(name) for name in resource_names}
        return outputs

    def child_template(self) -> dict[str, Any]:
        return self._create_template(int(self.properties[self.SIZE]))

    def child_params(self) -> dict[str, Any]:
        return {"parameters": {}, "resource_registry": {SCALED_RESOURCE_TYPE: "AWS::EC2::Instance"}}

    def _updates_in_batches(self) -> bool:
        return bool(self._rolling_policy())

    def child_template_files(self, child_env: Any) -> Mapping[str, Any]:
        """During a rolling update members of both definitions need their files."""
        files = self.stack.t.files
        updating = self.state == (self.UPDATE, self.IN_PROGRESS) and self.resource_id is not None
        if updating and self._updates_in_batches():
            stored = self.stack.nested_stacks.template(self.resource_id)
            if stored is not None:
                return {**stored.files, **files}
        return files

    def get_nested_parameters_stack(self) -> Any:
        return self._parse_nested_stack(self._nested_preview_name(), self._create_template(1), self.child_params())

    def _group_data(self, refresh: bool = False) -> groups.GroupInspector:
        if refresh or self._group_inspector is None:
            self._group_inspector = groups.GroupInspector.from_parent_resource(self)
        return self._group_inspector

    # create -----------------------------------------------------------
    def handle_create(self) -> Any:
        return self.create_with_template(self.child_template(), self.child_params())

    def check_create_complete(self, cookie: Any = None) -> bool:
        if self._reload is None:
            if not super().check_create_complete(cookie):
                return False
            self._reload = Stepwise(self, self._lb_reload())
        return self._reload.advance()

    # update -----------------------------------------------------------
    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Stepwise:
        if tmpl_diff and tmpl_diff.update_policy_changed():
            self.update_policy = json_snippet.update_policy(self.update_policy_schema, self.context)
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        return Stepwise(self, self._updating_group(prop_diff))

    def check_update_complete(self, cookie: Any = None) -> bool:
        return bool(cookie.advance())

    def handle_update_cancel(self, cookie: Any) -> None:
        super().handle_update_cancel(cookie)
        if cookie is not None:
            cookie.interrupt(exception.Error(_("The update was cancelled")))

    def _updating_group(self, prop_diff: Mapping[str, Any]) -> Steps:
        """All that an update does: first the new definition in batches, then the new size."""
        if prop_diff or ROLLING_TARGET in self.data():
            yield from self._try_rolling_update(prop_diff)
        yield from self.resizing(self._size_to_be())

    def _size_to_be(self) -> int:
        size = self.properties[self.SIZE]
        return groups.get_size(self) if size is None else int(size)

    def _try_rolling_update(self, prop_diff: Mapping[str, Any]) -> Steps:
        policy = self._rolling_policy()
        if policy and (self.LAUNCH_CONFIGURATION_NAME in prop_diff or ROLLING_TARGET in self.data()):
            yield from self._replacing(
                policy[self.MIN_INSTANCES_IN_SERVICE],
                policy[self.MAX_BATCH_SIZE],
                clock.parse_isoduration(policy[self.PAUSE_TIME]),
            )

    def _replacing(self, min_in_service: int, batch_size: int, pause_sec: float) -> Steps:
        """Give every member the new definition, a batch at a time."""
        before = self.data().get(ROLLING_TARGET)
        if before is not None:
            yield from self._until_at_rest()
        capacity = self._group_data(refresh=True).size(include_failed=True)
        target = min(capacity, int(before) if before is not None else self.get_size() or capacity)
        plan = list(self._get_batches(target, capacity, batch_size, min_in_service))
        seconds = self._update_timeout(len(plan), pause_sec)
        self.data_set(ROLLING_TARGET, str(target))
        try:
            for index, (size, changed) in enumerate(plan):
                if index and pause_sec > 0:
                    yield from self._lb_reload()
                    yield from rest(pause_sec)
                yield from self._replacing_batch(size, changed, seconds)
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._lb_reload()
            raise
        self.data_delete(ROLLING_TARGET)
        yield from self._lb_reload()

    def _until_at_rest(self) -> Steps:
        """What a dead engine has begun with the members is finished by others first."""
        while self.resource_id is not None:
            found = self.stack.nested_stacks.status(self.resource_id)
            if found is None or found.status != self.IN_PROGRESS:
                return
            yield None

    def _replacing_batch(self, size: int, changed: int, seconds: float) -> Steps:
        before = dict(groups.get_member_definitions(self, include_failed=True))
        self._group_data(refresh=True)
        template = self._create_template(size, changed, rolling=True)
        after = groups.member_snippets(template)
        changing = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        yield from self._lb_reload(exclude=changing)
        yield from self._updating_members(template, seconds)

    @staticmethod
    def _get_batches(
        target_capacity: int, capacity: int, batch_size: int, min_in_service: int
    ) -> Iterator[tuple[int, int]]:
        return scaling.batches(target_capacity, capacity, batch_size, min_in_service)

    def _update_timeout(self, batch_cnt: int, pause_sec: float) -> float:
        left = self.stack.timeout_secs() - pause_sec * max(batch_cnt - 1, 0)
        if left <= 0:
            raise ValueError(_("The current update policy will result in stack update timeout."))
        return left

    def _updating_members(self, template: dict[str, Any], seconds: float) -> Steps:
        """Update the nested stack and wait for it."""
        deadline = clock.Deadline(seconds)
        cookie = self.update_with_template(template, self.child_params())
        while not StackResource.check_update_complete(self, cookie):
            if deadline.expired():
                raise exception.Error(_("Update of the members of %s timed out") % self.name)
            yield None
        self._group_inspector = None

    def resizing(self, new_capacity: int) -> Steps:
        """Bring the group to a size. Failed members go first, then the oldest."""
        try:
            yield from self._updating_members(self._create_template(new_capacity), self.stack.timeout_secs())
        except GeneratorExit:
            raise
        except BaseException:
            # Load balancers shall not point at what has failed or gone.
            yield from self._lb_reload()
            raise
        yield from self._lb_reload()

    def resize(self, new_capacity: int) -> None:
        """The same, for plugins that want it done when the call returns."""
        run(self, self.resizing(new_capacity))

    # load balancers ---------------------------------------------------
    def _lb_reload(self, exclude: Collection[str] = ()) -> Steps:
        """Tell the load balancers which members to use."""
        balancers = self.properties.get(self.LOAD_BALANCER_NAMES) or []
        if not balancers:
            return
        self._outputs = self._nested = None
        try:
            references = self.get_output(self.OUTPUT_MEMBER_IDS) or {}
        except (exception.NotFound, exception.TemplateOutputError) as ex:
            LOG.debug("Asking the members of %(name)s: %(why)s", {"name": self.name, "why": ex})
            references = {member.name: member.FnGetRefId() for member in groups.get_members(self)}
        in_service = [
            name
            for name in self._group_data(refresh=True).member_names(include_failed=False)
            if name not in exclude and name in references
        ]
        used = [references[name] for name in in_service]
        for name in balancers:
            yield from self.stack.update_resource(name, functools.partial(reconfigured, used))

    # attributes -------------------------------------------------------
    def _resolve_attribute(self, name: str) -> Any:
        if name != self.INSTANCE_LIST:
            return None
        try:
            addresses = self.get_output(name)
        except (exception.NotFound, exception.TemplateOutputError) as ex:
            LOG.debug("Asking the members of %(group)s: %(why)s", {"group": self.name, "why": ex})
            addresses = None
        if isinstance(addresses, Mapping):
            found = [
                addresses[member]
                for member in self._group_data().member_names(include_failed=False)
                if member in addresses
            ]
        else:
            found = [member.FnGetAtt("PublicIp") or "0.0.0.0" for member in groups.get_members(self)]
        return ",".join(found) or None


def reconfigured(references: list[Any], balancer: Any) -> Any:
    """The definition of a load balancer that uses these members."""
    if "Instances" not in balancer.properties_schema:
        raise exception.Error(_("Unsupported resource '%s' in LoadBalancerNames") % balancer.name)
    definition = balancer.frozen_definition()
    present = definition.properties(balancer.properties_schema, balancer.context).data
    return definition.freeze(properties={**present, "Instances": references})


def _references(version: tuple[str, str]) -> tuple[Callable[..., Any], Callable[[str], Any]]:
    """How a template of that format refers to an attribute and to a resource."""
    attribute, resource = (
        ("get_attr", "get_resource") if version[0] == "heat_template_version" else ("Fn::GetAtt", "Ref")
    )
    return lambda *path: {attribute: list(path)}, lambda name: {resource: name}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::InstanceGroup": InstanceGroup}
