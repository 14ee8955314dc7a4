# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::AutoScalingGroup: as many resources of any type as scaling policies want."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.autoscaling.autoscaling_group import AutoScalingGroup
from openkeel_heat.resources.heat.autoscaling_group_schema import AutoScalingResourceGroupSchema
from openkeel_heat.resources.heat.instance_group import ROLLING_TARGET
from openkeel_heat.resources.kit import groups
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.stepwise import Steps

LOG = logging.getLogger(__name__)

HOT_VERSION = ("heat_template_version", "2015-04-30")

#: Keys of a member's definition: what they have to be, in Python's and in Heat's words.
_DEFINITION_KINDS: dict[str, tuple[Any, str]] = {
    "type": (str, "string"),
    "properties": (Mapping, "object"),
    "metadata": (Mapping, "object"),
    "depends_on": ((str, list), "list or string"),
    "deletion_policy": (str, "string"),
    "update_policy": (Mapping, "object"),
    "description": (str, "string"),
}


class AutoScalingResourceGroup(AutoScalingResourceGroupSchema, AutoScalingGroup):  # type: ignore[misc]
    """Resources that are made alike, whose number follows signals to scaling policies.

    A member may be a template, so that whatever belongs together grows together. Members have
    random names; as ``resource.NUMBER`` they are counted by age.
    """

    OUTPUT_MEMBER_IDS = "refs_map"

    # the members ------------------------------------------------------
    def _get_resource_definition(self) -> dict[str, Any]:
        given = self.properties[self.RESOURCE]
        _validate_definition(given)
        definition = {
            key: copy.deepcopy(given[key]) for key in _DEFINITION_KINDS if key in given and key != "description"
        }
        if "depends_on" in definition:
            # The other members have names that nobody knows.
            definition["depends_on"] = []
        return definition

    def _template_version(self) -> tuple[str, str]:
        return HOT_VERSION

    def _updates_in_batches(self) -> bool:
        return True

    def _try_rolling_update(self, prop_diff: Mapping[str, Any]) -> Steps:
        if self.RESOURCE in prop_diff or ROLLING_TARGET in self.data():
            policy = self.properties[self.ROLLING_UPDATES]
            yield from self._replacing(
                policy[self.MIN_IN_SERVICE], policy[self.MAX_BATCH_SIZE], policy[self.PAUSE_TIME]
            )

    # attributes -------------------------------------------------------
    def _nested_outputs(
        self, resource_names: list[str], get_attr: Callable[..., Any], get_resource: Callable[[str], Any]
    ) -> dict[str, Any]:
        """Maps by the names of the members: their order is not known when the template is made."""
        outputs: dict[str, Any] = {}
        for attr in self.referenced_attrs():
            key, path = self._where(*((attr,) if isinstance(attr, str) else attr))
            if key == self.OUTPUTS and path:
                outputs[_output_name(key, path)] = {name: get_attr(name, *path) for name in resource_names}
        outputs[self.OUTPUT_MEMBER_IDS] = {name: get_resource(name) for name in resource_names}
        return outputs

    def _where(self, key: str, *path: Any) -> tuple[str, list[Any]]:
        """Output of the nested stack that tells an attribute, and the path within a member."""
        steps = list(path)
        if key.startswith("resource."):
            steps = [*key.split(".", 2)[2:], *steps]
            return self.OUTPUTS if steps else self.REFS_MAP, steps
        return {self.OUTPUTS_LIST: self.OUTPUTS, self.REFS: self.REFS_MAP}.get(key, key), steps

    def get_attribute(self, key: str, *path: Any) -> Any:
        if key == self.CURRENT_SIZE:
            return groups.get_size(self)
        output, steps = self._where(key, *path)
        if output == self.REFS_MAP:
            steps = []
        elif output != self.OUTPUTS or not steps:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
        try:
            values = self.get_output(_output_name(output, steps)) or {}
        except (exception.NotFound, exception.TemplateOutputError) as ex:
            LOG.debug("Asking the members of %(group)s: %(why)s", {"group": self.name, "why": ex})
            if key.startswith("resource."):
                return groups.get_nested_attrs(self, key, True, *path)
            values = self._values_of_members(steps)
        return self._selected(key, values)

    def _values_of_members(self, steps: list[Any]) -> dict[str, Any]:
        return {
            member.name: member.FnGetAtt(*steps) if steps else member.FnGetRefId()
            for member in groups.get_members(self)
        }

    def _selected(self, key: str, values: Mapping[str, Any]) -> Any:
        """Of the values by the members' names, what was asked for; in the order of age."""
        known = [name for name in self._group_data().member_names(include_failed=False) if name in values]
        if key in (self.REFS, self.OUTPUTS_LIST):
            return [values[name] for name in known]
        if key in (self.REFS_MAP, self.OUTPUTS):
            return {name: values[name] for name in known}
        index = key.split(".", 2)[1]
        try:
            return values[known[int(index)]]
        except (IndexError, ValueError):
            raise exception.NotFound(
                _("Member '%(mem)s' not found in group resource '%(grp)s'.") % {"mem": index, "grp": self.name}
            ) from None


def _output_name(key: str, path: list[Any]) -> str:
    return ", ".join(str(part) for part in (key, *path))


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::AutoScalingGroup": AutoScalingResourceGroup}


def _validate_definition(given: Mapping[str, Any]) -> None:
    """Also where there is no member yet whose template would tell."""
    if "type" not in given:
        raise KeyError(_('Resource %(name)s is missing "%(type_key)s"') % {"name": "member", "type_key": "type"})
    for key, (kind, words) in _DEFINITION_KINDS.items():
        if key in given and not isinstance(given[key], kind):
            raise TypeError(
                _("Resource %(name)s %(key)s type must be %(typename)s")
                % {"name": "member", "key": key, "typename": words}
            )
        if key == "depends_on" and not all(isinstance(one, str) for one in given.get(key) or ()):
            raise exception.StackValidationFailed(
                message=_("Resource %(name)s %(key)s must be a list of strings") % {"name": "member", "key": key}
            )
