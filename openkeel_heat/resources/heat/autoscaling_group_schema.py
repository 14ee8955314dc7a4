# SPDX-License-Identifier: Apache-2.0
"""Names and schemata of OS::Heat::AutoScalingGroup."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support


class AutoScalingResourceGroupSchema:
    """The declarations of the group, apart from what it does."""

    PROPERTIES = (RESOURCE, MAX_SIZE, MIN_SIZE, COOLDOWN, DESIRED_CAPACITY, ROLLING_UPDATES) = (
        "resource",
        "max_size",
        "min_size",
        "cooldown",
        "desired_capacity",
        "rolling_updates",
    )

    _ROLLING_UPDATES_SCHEMA = (MIN_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME) = (
        "min_in_service",
        "max_batch_size",
        "pause_time",
    )

    ATTRIBUTES = (OUTPUTS, OUTPUTS_LIST, CURRENT_SIZE, REFS, REFS_MAP) = (
        "outputs",
        "outputs_list",
        "current_size",
        "refs",
        "refs_map",
    )

    properties_schema = {
        RESOURCE: properties.Schema(
            properties.Schema.MAP,
            _("Definition of a member, as it would stand in a template."),
            required=True,
            update_allowed=True,
        ),
        MAX_SIZE: properties.Schema(
            properties.Schema.INTEGER,
            _("Most members that the group may have."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        MIN_SIZE: properties.Schema(
            properties.Schema.INTEGER,
            _("Fewest members that the group may have."),
            required=True,
            update_allowed=True,
            constraints=[constraints.Range(min=0)],
        ),
        COOLDOWN: properties.Schema(
            properties.Schema.INTEGER,
            _("Seconds for which the group is not scaled after a change of its size."),
            update_allowed=True,
        ),
        DESIRED_CAPACITY: properties.Schema(
            properties.Schema.INTEGER, _("Number of members at the start, and after each update."), update_allowed=True
        ),
        ROLLING_UPDATES: properties.Schema(
            properties.Schema.MAP,
            _("How members get a new definition."),
            update_allowed=True,
            schema={
                MIN_IN_SERVICE: properties.Schema(
                    properties.Schema.INTEGER,
                    _("Members that stay in service."),
                    constraints=[constraints.Range(min=0)],
                    default=0,
                ),
                MAX_BATCH_SIZE: properties.Schema(
                    properties.Schema.INTEGER,
                    _("Most members to change at a time."),
                    constraints=[constraints.Range(min=1)],
                    default=1,
                ),
                PAUSE_TIME: properties.Schema(
                    properties.Schema.NUMBER,
                    _("Seconds between two batches."),
                    constraints=[constraints.Range(min=0)],
                    default=0,
                ),
            },
            default={MIN_IN_SERVICE: 0, MAX_BATCH_SIZE: 1, PAUSE_TIME: 0},
        ),
    }

    attributes_schema = {
        OUTPUTS: attributes.Schema(
            _("With the name of an attribute: its values by the names of the members."),
            support_status=support.SupportStatus(version="2014.2"),
            type=attributes.Schema.MAP,
        ),
        OUTPUTS_LIST: attributes.Schema(
            _("With the name of an attribute: its values, in the order of the members' age."),
            support_status=support.SupportStatus(version="2014.2"),
            type=attributes.Schema.LIST,
        ),
        CURRENT_SIZE: attributes.Schema(
            _("Number of members."),
            support_status=support.SupportStatus(version="2015.1"),
            type=attributes.Schema.INTEGER,
        ),
        REFS: attributes.Schema(
            _("References of the members, as a list."),
            type=attributes.Schema.LIST,
            support_status=support.SupportStatus(version="7.0.0"),
        ),
        REFS_MAP: attributes.Schema(
            _("References of the members by their names."),
            type=attributes.Schema.MAP,
            support_status=support.SupportStatus(version="7.0.0"),
        ),
    }

    update_policy_schema: dict[str, Any] = {}
