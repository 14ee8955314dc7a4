# SPDX-License-Identifier: Apache-2.0
"""AWS::AutoScaling::AutoScalingGroup, and what all groups do whose size policies change.

A signal to a policy comes here as :meth:`AutoScalingGroup.adjusting`, which goes on for as long as the members take.
What of it is in the database, so that another engine can finish it, is told in the kit's ``cooldown``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.autoscaling.autoscaling_group_schema import AutoScalingGroupSchema
from openkeel_heat.resources.heat.instance_group import ROLLING_TARGET, InstanceGroup
from openkeel_heat.resources.kit import groups, scaling, support
from openkeel_heat.resources.kit.cooldown import CooldownMixin, Scaling
from openkeel_heat.resources.kit.resource import NoActionRequired, Resource
from openkeel_heat.resources.kit.stepwise import Steps, run

LOG = logging.getLogger(__name__)


class AutoScalingGroup(AutoScalingGroupSchema, CooldownMixin, InstanceGroup):  # type: ignore[misc]
    """Instances of one launch configuration, as many as scaling policies want, within limits."""

    support_status = support.SupportStatus(version="2014.1")

    def get_size(self) -> int | None:
        return self.properties[self.DESIRED_CAPACITY]

    # validation -------------------------------------------------------
    def validate(self) -> Any:
        smallest, largest = self.properties[self.MIN_SIZE], self.properties[self.MAX_SIZE]
        wanted = self.properties[self.DESIRED_CAPACITY]
        if largest < smallest:
            raise exception.StackValidationFailed(message=_("MinSize can not be greater than MaxSize"))
        if smallest < 0:
            raise exception.StackValidationFailed(message=_("The size of AutoScalingGroup can not be less than zero"))
        if wanted is not None and not smallest <= wanted <= largest:
            raise exception.StackValidationFailed(message=_("DesiredCapacity must be between MinSize and MaxSize"))
        zones = self.properties.get(self.VPCZONE_IDENTIFIER)
        if zones and len(zones) != 1:
            raise exception.NotSupported(feature=_("Anything other than one VPCZoneIdentifier"))
        self._validate_source()
        return super().validate()

    def _validate_source(self) -> None:
        """What the members are made of is said in one way."""
        if self.type() != "AWS::AutoScaling::AutoScalingGroup":
            return
        given = [bool(self.properties.get(key)) for key in (self.INSTANCE_ID, self.LAUNCH_CONFIGURATION_NAME)]
        if given.count(True) != 1:
            raise exception.StackValidationFailed(
                message=_("Either 'InstanceId' or 'LaunchConfigurationName' must be provided.")
            )

    # the members ------------------------------------------------------
    def _tags(self) -> list[dict[str, Any]]:
        return [*super()._tags(), {self.TAG_KEY: "metering.AutoScalingGroupName", self.TAG_VALUE: self.FnGetRefId()}]

    def _make_launch_config_resource(self, name: str, props: dict[str, Any]) -> Any:
        from openkeel_heat.template.definition import BoundDefinition

        return Resource(name, BoundDefinition(name, "AWS::AutoScaling::LaunchConfiguration", props), self.stack)

    def _get_conf_properties(self) -> tuple[Any, dict[str, Any]]:
        instance_id = self.properties.get(self.INSTANCE_ID)
        if instance_id:
            conf = self._make_launch_config_resource(self.name, {})
            props = dict(conf.properties_of_instance(instance_id))
        else:
            conf, props = super()._get_conf_properties()
        zones = self.properties.get(self.VPCZONE_IDENTIFIER)
        if zones:
            props["SubnetId"] = zones[0]
        return conf, props

    def child_template(self) -> dict[str, Any]:
        return self._create_template(self.properties[self.DESIRED_CAPACITY] or self.properties[self.MIN_SIZE])

    # create, update ---------------------------------------------------
    def check_create_complete(self, cookie: Any = None) -> bool:
        done = super().check_create_complete(cookie)
        if done:
            self._settled()
        return done

    def check_update_complete(self, cookie: Any = None) -> bool:
        done = super().check_update_complete(cookie)
        if done:
            self._settled()
        return done

    def _settled(self) -> None:
        """The size was set by the template: the cooldown begins."""
        self._finished_scaling(
            self.properties[self.COOLDOWN], f"{scaling.CFN_EXACT_CAPACITY} : {groups.get_size(self)}"
        )

    def _size_to_be(self) -> int:
        # An update does not wait for a scaling that is under way; its result stands.
        capacity = groups.get_size(self)
        return self._get_new_capacity(capacity, self.properties[self.DESIRED_CAPACITY] or capacity)

    def _get_new_capacity(
        self,
        capacity: int,
        adjustment: float,
        adjustment_type: str = scaling.CFN_EXACT_CAPACITY,
        min_adjustment_step: int | None = None,
    ) -> int:
        return scaling.calculate_new_capacity(
            capacity,
            adjustment,
            adjustment_type,
            min_adjustment_step,
            self.properties[self.MIN_SIZE],
            self.properties[self.MAX_SIZE],
        )

    # scaling ----------------------------------------------------------
    def adjust(
        self,
        adjustment: float,
        adjustment_type: str = scaling.CFN_CHANGE_IN_CAPACITY,
        min_adjustment_step: int | None = None,
        cooldown: float | None = None,
    ) -> None:
        """:meth:`adjusting`, for plugins that want it done when the call returns."""
        run(self, self.adjusting(adjustment, adjustment_type, min_adjustment_step, cooldown))

    def adjusting(
        self,
        adjustment: float,
        adjustment_type: str = scaling.CFN_CHANGE_IN_CAPACITY,
        min_adjustment_step: int | None = None,
        cooldown: float | None = None,
    ) -> Steps:
        """Change the size, if the cooldown permits; NoActionRequired where nothing is done."""
        if self.status != self.COMPLETE:
            LOG.info("%s is not scaled while its status is not COMPLETE", self.name)
            raise NoActionRequired(res_name=self.name, reason=_("due to its status"))
        if cooldown is None:
            cooldown = self.properties[self.COOLDOWN]
        rest = self._sanitize_cooldown(cooldown)

        def plan() -> Scaling:
            capacity = groups.get_size(self)
            wanted = self._get_new_capacity(capacity, adjustment, adjustment_type, min_adjustment_step)
            if wanted == capacity:
                LOG.info("%s is not scaled: its size would not change", self.name)
                raise NoActionRequired(res_name=self.name, reason=_("due to no change in capacity"))
            return Scaling(adjustment, adjustment_type, rest, capacity, wanted, self._members_template_id())

        begun = self._begin_scaling(cooldown, plan)
        with self._under_way(begun):
            yield from self._scaling(begun)

    def _members_template_id(self) -> int | None:
        template = self._group_data(refresh=True).template()
        return None if template is None else template.id

    def resume_scaling(self, plan: Scaling) -> Steps:
        """Finish what an engine was doing when it died."""
        LOG.info(
            "Going on with the scaling of %(group)s from %(before)d to %(after)d",
            {"group": self.name, "before": plan.before, "after": plan.after},
        )
        with self._under_way(plan):
            yield from self._until_at_rest()
            yield from self._scaling(plan, begun=self._members_template_id() != plan.template_id)

    def _scaling(self, plan: Scaling, begun: bool = False) -> Steps:
        try:
            if begun:
                self._result_of_members()
                yield from self._lb_reload()
            else:
                self._tell("start", plan, plan.before, _("Start resizing the group %(group)s"))
                yield from self.resizing(plan.after)
        except GeneratorExit:
            raise
        except BaseException as ex:
            LOG.error("Error in performing scaling adjustment for group %s.", self.name)
            self._tell("error", plan, groups.get_size(self), str(ex))
            self._scaled(plan, size_changed=False)
            raise
        # The size is what it was before an unfinished rolling update no more.
        self.data_delete(ROLLING_TARGET)
        self._tell("end", plan, plan.after, _("End resizing the group %(group)s"))
        self._scaled(plan, size_changed=True)

    def _result_of_members(self) -> None:
        """What became of the update of the nested stack, once that is at rest."""
        found = None if self.resource_id is None else self.stack.nested_stacks.status(self.resource_id)
        if found is None or found.status == self.FAILED:
            raise exception.ResourceFailure(
                _("Stack not found") if found is None else found.reason, self, action=self.UPDATE
            )

    def _scaled(self, plan: Scaling, size_changed: bool) -> None:
        self._finished_scaling(plan.cooldown, plan.reason, size_changed=size_changed, plan=plan)
        # In this order: what a reader stores from now on is new, what is stored is not.
        self.clear_stored_attributes()

    def _tell(self, suffix: str, plan: Scaling, capacity: int, message: str) -> None:
        """Send ``orchestration.autoscaling.<suffix>``."""
        group = self.FnGetRefId()
        message = message % {"group": group} if suffix != "error" else message
        self.stack.notify_scaling(
            suffix,
            adjustment=plan.adjustment,
            adjustment_type=plan.adjustment_type,
            capacity=capacity,
            groupname=group,
            message=message,
        )


def resource_mapping() -> Mapping[str, type[Resource]]:
    return {"AWS::AutoScaling::AutoScalingGroup": AutoScalingGroup}
