# SPDX-License-Identifier: Apache-2.0
"""Names and schemata of OS::Heat::InstanceGroup."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, properties

MIN_INSTANCES_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME = "MinInstancesInService", "MaxBatchSize", "PauseTime"

TAG_KEY, TAG_VALUE = "Key", "Value"


def rolling_update_schema() -> dict[str, properties.Schema]:
    """The policy of groups in the manner of CloudFormation."""
    return {
        MIN_INSTANCES_IN_SERVICE: properties.Schema(
            properties.Schema.INTEGER, _("Members that stay in service."), default=0
        ),
        MAX_BATCH_SIZE: properties.Schema(properties.Schema.INTEGER, _("Most members to change at a time."), default=1),
        PAUSE_TIME: properties.Schema(
            properties.Schema.STRING, _("Rest between two batches, an ISO 8601 duration."), default="PT0S"
        ),
    }


def tags_schema() -> properties.Schema:
    return properties.Schema(
        properties.Schema.LIST,
        _("Tags of the members."),
        schema=properties.Schema(
            properties.Schema.MAP,
            schema={
                TAG_KEY: properties.Schema(properties.Schema.STRING, _("Name of the tag."), required=True),
                TAG_VALUE: properties.Schema(properties.Schema.STRING, _("Value of the tag."), required=True),
            },
        ),
    )


class InstanceGroupSchema:
    """The declarations of the group, apart from what it does."""

    PROPERTIES = (AVAILABILITY_ZONES, LAUNCH_CONFIGURATION_NAME, SIZE, LOAD_BALANCER_NAMES, TAGS) = (
        "AvailabilityZones",
        "LaunchConfigurationName",
        "Size",
        "LoadBalancerNames",
        "Tags",
    )

    TAG_KEY, TAG_VALUE = TAG_KEY, TAG_VALUE

    MIN_INSTANCES_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME = MIN_INSTANCES_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME

    ROLLING_UPDATE = "RollingUpdate"

    ATTRIBUTES = (INSTANCE_LIST,) = ("InstanceList",)

    properties_schema = {
        AVAILABILITY_ZONES: properties.Schema(properties.Schema.LIST, _("Has no effect."), required=True),
        LAUNCH_CONFIGURATION_NAME: properties.Schema(
            properties.Schema.STRING, _("Reference of the launch configuration."), required=True, update_allowed=True
        ),
        SIZE: properties.Schema(
            properties.Schema.INTEGER, _("Wanted number of instances."), required=True, update_allowed=True
        ),
        LOAD_BALANCER_NAMES: properties.Schema(
            properties.Schema.LIST,
            _(
                "Names of load balancers of the stack (AWS::ElasticLoadBalancing::LoadBalancer) that are kept informed "
                "of the members."
            ),
        ),
        TAGS: tags_schema(),
    }

    attributes_schema = {
        INSTANCE_LIST: attributes.Schema(
            _("Addresses of the members, with commas between them."), type=attributes.Schema.STRING
        ),
    }

    update_policy_schema = {
        ROLLING_UPDATE: properties.Schema(
            properties.Schema.MAP, _("How members get a new launch configuration."), schema=rolling_update_schema()
        ),
    }
