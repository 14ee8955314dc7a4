# SPDX-License-Identifier: Apache-2.0
"""Names and schemata of AWS::AutoScaling::AutoScalingGroup."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat import instance_group_schema as base
from openkeel_heat.resources.kit import attributes, constraints, properties


class AutoScalingGroupSchema:
    """The declarations of the group, apart from what it does."""

    PROPERTIES = (
        AVAILABILITY_ZONES,
        LAUNCH_CONFIGURATION_NAME,
        MAX_SIZE,
        MIN_SIZE,
        COOLDOWN,
        DESIRED_CAPACITY,
        HEALTH_CHECK_GRACE_PERIOD,
        HEALTH_CHECK_TYPE,
        LOAD_BALANCER_NAMES,
        VPCZONE_IDENTIFIER,
        TAGS,
        INSTANCE_ID,
    ) = (
        "AvailabilityZones",
        "LaunchConfigurationName",
        "MaxSize",
        "MinSize",
        "Cooldown",
        "DesiredCapacity",
        "HealthCheckGracePeriod",
        "HealthCheckType",
        "LoadBalancerNames",
        "VPCZoneIdentifier",
        "Tags",
        "InstanceId",
    )

    ROLLING_UPDATE = "AutoScalingRollingUpdate"

    ATTRIBUTES = (INSTANCE_LIST,) = ("InstanceList",)

    properties_schema = {
        AVAILABILITY_ZONES: properties.Schema(properties.Schema.LIST, _("Has no effect."), required=True),
        LAUNCH_CONFIGURATION_NAME: properties.Schema(
            properties.Schema.STRING, _("Reference of the launch configuration."), update_allowed=True
        ),
        INSTANCE_ID: properties.Schema(
            properties.Schema.STRING,
            _("A server that exists: members are made like it, in place of a launch configuration."),
            constraints=[constraints.CustomConstraint("nova.server")],
        ),
        MAX_SIZE: properties.Schema(
            properties.Schema.INTEGER, _("Most members that the group may have."), required=True, update_allowed=True
        ),
        MIN_SIZE: properties.Schema(
            properties.Schema.INTEGER, _("Fewest members that the group may have."), required=True, update_allowed=True
        ),
        COOLDOWN: properties.Schema(
            properties.Schema.INTEGER,
            _("Seconds for which the group is not scaled after a change of its size."),
            update_allowed=True,
        ),
        DESIRED_CAPACITY: properties.Schema(
            properties.Schema.INTEGER, _("Number of members at the start, and after each update."), update_allowed=True
        ),
        HEALTH_CHECK_GRACE_PERIOD: properties.Schema(properties.Schema.INTEGER, _("Has no effect."), implemented=False),
        HEALTH_CHECK_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("Has no effect."),
            constraints=[constraints.AllowedValues(["EC2", "ELB"])],
            implemented=False,
        ),
        LOAD_BALANCER_NAMES: properties.Schema(
            properties.Schema.LIST, _("Names of load balancers of the stack that are kept informed of the members.")
        ),
        VPCZONE_IDENTIFIER: properties.Schema(
            properties.Schema.LIST,
            _("The internal subnet of the members, one at most. Needed where there are several."),
            schema=properties.Schema(properties.Schema.STRING, _("Id of the subnet.")),
        ),
        TAGS: base.tags_schema(),
    }

    attributes_schema = {
        INSTANCE_LIST: attributes.Schema(
            _("Addresses of the members, with commas between them."), type=attributes.Schema.STRING
        ),
    }

    update_policy_schema = {
        ROLLING_UPDATE: properties.Schema(
            properties.Schema.MAP, _("How members get a new launch configuration."), schema=base.rolling_update_schema()
        ),
    }
