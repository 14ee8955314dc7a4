# SPDX-License-Identifier: Apache-2.0
"""AWS::AutoScaling::ScalingPolicy: the scaling policy by CloudFormation's names."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.scaling_policy import AutoScalingPolicy
from openkeel_heat.resources.kit import attributes, constraints, properties, scaling
from openkeel_heat.resources.kit.resource import Resource


class AWSScalingPolicy(AutoScalingPolicy):
    """Changes the size of an AWS::AutoScaling::AutoScalingGroup each time it is signalled.

    Its reference is the signed URL, so that an alarm can name it as an action.
    """

    PROPERTIES = (  # type: ignore[assignment]
        AUTO_SCALING_GROUP_NAME,
        SCALING_ADJUSTMENT,
        ADJUSTMENT_TYPE,
        COOLDOWN,
        MIN_ADJUSTMENT_STEP,
    ) = ("AutoScalingGroupName", "ScalingAdjustment", "AdjustmentType", "Cooldown", "MinAdjustmentStep")

    ATTRIBUTES = (ALARM_URL,) = ("AlarmUrl",)  # type: ignore[assignment]

    PERCENT_CHANGE = scaling.CFN_PERCENT_CHANGE_IN_CAPACITY

    properties_schema = {
        AUTO_SCALING_GROUP_NAME: properties.Schema(
            properties.Schema.STRING, _("Reference of the scaling group."), required=True
        ),
        SCALING_ADJUSTMENT: properties.Schema(
            properties.Schema.INTEGER,
            _("Members to add (or, below zero, to remove), a percentage of them, or their number."),
            required=True,
            update_allowed=True,
        ),
        ADJUSTMENT_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("What ScalingAdjustment is."),
            required=True,
            constraints=[
                constraints.AllowedValues(
                    [scaling.CFN_CHANGE_IN_CAPACITY, scaling.CFN_EXACT_CAPACITY, scaling.CFN_PERCENT_CHANGE_IN_CAPACITY]
                )
            ],
            update_allowed=True,
        ),
        COOLDOWN: properties.Schema(
            properties.Schema.INTEGER, _("Seconds for which the group is not scaled afterwards."), update_allowed=True
        ),
        MIN_ADJUSTMENT_STEP: properties.Schema(
            properties.Schema.INTEGER,
            _("With PercentChangeInCapacity: fewest members to add or remove."),
            constraints=[constraints.Range(min=0)],
            update_allowed=True,
        ),
    }

    attributes_schema = {
        ALARM_URL: attributes.Schema(
            _("A signed URL of the CFN API that signals the policy."),
            type=attributes.Schema.STRING,
            cache_mode=attributes.Schema.CACHE_NONE,
        ),
    }

    def get_reference_id(self) -> Any:
        return str(self.name if self.resource_id is None else self._get_ec2_signed_url(never_expire=True))


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::AutoScaling::ScalingPolicy": AWSScalingPolicy}
