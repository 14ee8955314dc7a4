# SPDX-License-Identifier: Apache-2.0
"""Names and schemata of OS::Heat::ResourceGroup."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support

MAX_BATCH_SIZE, PAUSE_TIME = "max_batch_size", "pause_time"


def batch_properties(size_text: str) -> dict[str, properties.Schema]:
    """How many members are changed at a time, and the rest after them: part of each policy that goes in batches."""
    return {
        MAX_BATCH_SIZE: properties.Schema(
            properties.Schema.INTEGER, size_text, constraints=[constraints.Range(min=1)], default=1
        ),
        PAUSE_TIME: properties.Schema(
            properties.Schema.NUMBER,
            _("Seconds between two batches."),
            constraints=[constraints.Range(min=0)],
            default=0,
        ),
    }


class GroupSchema:
    """The declarations of the group, apart from what it does."""

    PROPERTIES = (COUNT, INDEX_VAR, RESOURCE_DEF, REMOVAL_POLICIES, REMOVAL_POLICIES_MODE) = (
        "count",
        "index_var",
        "resource_def",
        "removal_policies",
        "removal_policies_mode",
    )

    _RESOURCE_DEF_KEYS = (RESOURCE_DEF_TYPE, RESOURCE_DEF_PROPERTIES, RESOURCE_DEF_METADATA) = (
        "type",
        "properties",
        "metadata",
    )

    _REMOVAL_POLICIES_KEYS = (REMOVAL_RSRC_LIST,) = ("resource_list",)

    _REMOVAL_POLICY_MODES = (REMOVAL_POLICY_APPEND, REMOVAL_POLICY_UPDATE) = ("append", "update")

    _ROLLING_UPDATES_SCHEMA_KEYS = (MIN_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME) = (
        "min_in_service",
        MAX_BATCH_SIZE,
        PAUSE_TIME,
    )

    _BATCH_CREATE_SCHEMA_KEYS = (MAX_BATCH_SIZE, PAUSE_TIME)

    _UPDATE_POLICY_SCHEMA_KEYS = (ROLLING_UPDATE, BATCH_CREATE) = ("rolling_update", "batch_create")

    ATTRIBUTES = (REFS, REFS_MAP, ATTR_ATTRIBUTES, REMOVED_RSRC_LIST) = (
        "refs",
        "refs_map",
        "attributes",
        "removed_rsrc_list",
    )

    properties_schema = {
        COUNT: properties.Schema(
            properties.Schema.INTEGER,
            _("Number of members."),
            default=1,
            constraints=[constraints.Range(min=0)],
            update_allowed=True,
        ),
        INDEX_VAR: properties.Schema(
            properties.Schema.STRING,
            _("Text that stands for the number of the member in its properties."),
            default="%index%",
            constraints=[constraints.Length(min=3)],
            support_status=support.SupportStatus(version="2014.2"),
        ),
        RESOURCE_DEF: properties.Schema(
            properties.Schema.MAP,
            _("Definition of a member, as if it stood in a template."),
            schema={
                RESOURCE_DEF_TYPE: properties.Schema(
                    properties.Schema.STRING, _("Type of the members."), required=True
                ),
                RESOURCE_DEF_PROPERTIES: properties.Schema(properties.Schema.MAP, _("Properties of the members.")),
                RESOURCE_DEF_METADATA: properties.Schema(
                    properties.Schema.MAP,
                    _("Metadata of the members."),
                    support_status=support.SupportStatus(version="5.0.0"),
                ),
            },
            required=True,
            update_allowed=True,
        ),
        REMOVAL_POLICIES: properties.Schema(
            properties.Schema.LIST,
            _("Which members go when the group is updated."),
            schema=properties.Schema(
                properties.Schema.MAP,
                _("Members to remove."),
                schema={
                    REMOVAL_RSRC_LIST: properties.Schema(
                        properties.Schema.LIST,
                        _(
                            "Members by name or by reference. They go even if the number of members stays, and "
                            "their names are not used again."
                        ),
                        default=[],
                    ),
                },
            ),
            update_allowed=True,
            default=[],
            support_status=support.SupportStatus(version="2015.1"),
        ),
        REMOVAL_POLICIES_MODE: properties.Schema(
            properties.Schema.STRING,
            _('Whether removal_policies add to the names removed before ("append") or take their place ("update").'),
            default=REMOVAL_POLICY_APPEND,
            constraints=[constraints.AllowedValues(_REMOVAL_POLICY_MODES)],
            update_allowed=True,
            support_status=support.SupportStatus(version="10.0.0"),
        ),
    }

    attributes_schema = {
        REFS: attributes.Schema(_("References of the members, as a list."), type=attributes.Schema.LIST),
        REFS_MAP: attributes.Schema(
            _("References of the members by their names."),
            type=attributes.Schema.MAP,
            support_status=support.SupportStatus(version="7.0.0"),
        ),
        ATTR_ATTRIBUTES: attributes.Schema(
            _(
                "With the name of an attribute: its values by the names of the members. Needs "
                "heat_template_version 2014-10-16."
            ),
            support_status=support.SupportStatus(version="2014.2"),
            type=attributes.Schema.MAP,
        ),
        REMOVED_RSRC_LIST: attributes.Schema(
            _("Names of members that were removed."),
            support_status=support.SupportStatus(version="7.0.0"),
            type=attributes.Schema.LIST,
        ),
    }

    rolling_update_schema = {
        MIN_IN_SERVICE: properties.Schema(
            properties.Schema.INTEGER,
            _("Members that stay in service during the update."),
            constraints=[constraints.Range(min=0)],
            default=0,
        ),
        **batch_properties(_("Most members to change at a time.")),
    }

    batch_create_schema = batch_properties(_("Most members to create at a time."))

    update_policy_schema = {
        ROLLING_UPDATE: properties.Schema(
            properties.Schema.MAP, schema=rolling_update_schema, support_status=support.SupportStatus(version="5.0.0")
        ),
        BATCH_CREATE: properties.Schema(
            properties.Schema.MAP, schema=batch_create_schema, support_status=support.SupportStatus(version="5.0.0")
        ),
    }
