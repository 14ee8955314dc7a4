# SPDX-License-Identifier: Apache-2.0
"""Who may do what: the default rules, in tables.

A row is an action, the check that it needs, what it does, and the requests it answers. Every rule that is for a
persona of a project (member, reader) has a twin with the check of the time before personas, which holds as long as
the operator does not enforce the new defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType
from typing import NamedTuple

from oslo_policy import policy

# Checks of base rules
ADMIN = "rule:context_is_admin"
PROJECT_ADMIN_RULE = "rule:project_admin"
NOT_STACK_USER = "rule:deny_stack_user"
NOBODY = "rule:deny_everybody"
EVERYBODY = "rule:allow_everybody"

# Personas of a project
MEMBER = "role:member and project_id:%(project_id)s"
READER = "role:reader and project_id:%(project_id)s"
PROJECT_ADMIN = "role:admin and project_id:%(project_id)s"
STACK_USER = "role:heat_stack_user and project_id:%(project_id)s"
READER_OR_STACK_USER = f"({READER}) or ({STACK_USER})"
MEMBER_OR_STACK_USER = f"({MEMBER}) or ({STACK_USER})"

DEPRECATED_SINCE = "W"
DEPRECATED_REASON = "Rules know the member and reader personas of a project now."


class Rule(NamedTuple):
    action: str
    check: str
    does: str
    request: str | None = None
    #: Check of the twin; ``...`` picks the usual one for the check, ``None`` is for no twin.
    twin: str | EllipsisType | None = ...


_USUAL_TWIN = {MEMBER: NOT_STACK_USER, READER: NOT_STACK_USER, READER_OR_STACK_USER: EVERYBODY, PROJECT_ADMIN: ADMIN}

_BASE = [
    ("context_is_admin", "(role:admin and is_admin_project:True)", "Who counts as an administrator of the service."),
    ("project_admin", "role:admin", "Who counts as an administrator within a project."),
    ("deny_stack_user", "not role:heat_stack_user", "Everybody but the users that stacks make."),
    ("deny_everybody", "!", "Nobody."),
    ("allow_everybody", "", "Everybody."),
]

_STACK = "/v1/{tenant_id}/stacks/{stack_name}/{stack_id}"
_ACTION = f"POST {_STACK}/actions"
_CONFIGS = "/v1/{tenant_id}/software_configs"
_DEPLOYMENTS = "/v1/{tenant_id}/software_deployments"

RULES: dict[str, list[Rule]] = {
    "actions": [
        Rule("action", MEMBER, "Run an action on a stack.", _ACTION),
        Rule("snapshot", MEMBER, "Take a snapshot of a stack.", _ACTION),
        Rule("suspend", MEMBER, "Suspend a stack.", _ACTION),
        Rule("resume", MEMBER, "Resume a suspended stack.", _ACTION),
        Rule("check", READER, "Check whether the resources of a stack are as they should be.", _ACTION),
        Rule("cancel_update", MEMBER, "Stop an action of a stack and roll it back.", _ACTION),
        Rule("cancel_without_rollback", MEMBER, "Stop an action of a stack and leave it so.", _ACTION),
    ],
    "build_info": [
        Rule("build_info", READER, "Show the revision of the service.", "GET /v1/{tenant_id}/build_info"),
    ],
    "cloudformation": [
        Rule("ListStacks", READER, "CloudFormation: list stacks."),
        Rule("CreateStack", MEMBER, "CloudFormation: create a stack."),
        Rule("DescribeStacks", READER, "CloudFormation: show stacks."),
        Rule("DeleteStack", MEMBER, "CloudFormation: delete a stack."),
        Rule("UpdateStack", MEMBER, "CloudFormation: update a stack."),
        Rule("CancelUpdateStack", MEMBER, "CloudFormation: stop the update of a stack."),
        Rule("DescribeStackEvents", READER, "CloudFormation: list the events of a stack."),
        Rule("ValidateTemplate", READER, "CloudFormation: validate a template."),
        Rule("GetTemplate", READER, "CloudFormation: fetch the template of a stack."),
        Rule("EstimateTemplateCost", READER, "CloudFormation: say what a template costs."),
        Rule("DescribeStackResource", READER_OR_STACK_USER, "CloudFormation: show a resource."),
        Rule("DescribeStackResources", READER, "CloudFormation: show resources."),
        Rule("ListStackResources", READER, "CloudFormation: list the resources of a stack."),
    ],
    "events": [
        Rule("index", READER, "List events.", f"GET {_STACK}/events"),
        Rule("show", READER, "Show an event.", f"GET {_STACK}/resources/{{resource_name}}/events/{{event_id}}"),
    ],
    "resource": [
        Rule("index", READER, "List the resources of a stack.", f"GET {_STACK}/resources"),
        Rule(
            "metadata",
            READER_OR_STACK_USER,
            "Fetch the metadata of a resource.",
            f"GET {_STACK}/resources/{{resource_name}}/metadata",
        ),
        Rule("signal", READER_OR_STACK_USER, "Signal a resource.", f"POST {_STACK}/resources/{{resource_name}}/signal"),
        Rule(
            "mark_unhealthy",
            MEMBER,
            "Say that a resource has failed, so that the next update replaces it.",
            f"PATCH {_STACK}/resources/{{resource_name_or_physical_id}}",
        ),
        Rule("show", READER, "Show a resource.", f"GET {_STACK}/resources/{{resource_name}}"),
    ],
    "resource_types": [
        Rule(name, PROJECT_ADMIN_RULE, f"Use {name} in a stack.", None, None)
        for name in (
            "OS::Nova::Flavor",
            "OS::Cinder::EncryptedVolumeType",
            "OS::Cinder::VolumeType",
            "OS::Cinder::Quota",
            "OS::Neutron::Quota",
            "OS::Nova::Quota",
            "OS::Octavia::Quota",
            "OS::Manila::ShareType",
            "OS::Neutron::ProviderNet",
            "OS::Neutron::QoSPolicy",
            "OS::Neutron::QoSBandwidthLimitRule",
            "OS::Neutron::QoSDscpMarkingRule",
            "OS::Neutron::QoSMinimumBandwidthRule",
            "OS::Neutron::QoSMinimumPacketRateRule",
            "OS::Neutron::Segment",
            "OS::Nova::HostAggregate",
            "OS::Cinder::QoSSpecs",
            "OS::Cinder::QoSAssociation",
            "OS::Keystone::*",
            "OS::Blazar::Host",
            "OS::Octavia::Flavor",
            "OS::Octavia::FlavorProfile",
            "OS::Octavia::AvailabilityZone",
            "OS::Octavia::AvailabilityZoneProfile",
        )
    ],
    "service": [Rule("index", PROJECT_ADMIN, "List the engines.")],
    "software_configs": [
        Rule("global_index", NOBODY, "List the software configs of all projects.", f"GET {_CONFIGS}", None),
        Rule("index", READER, "List software configs.", f"GET {_CONFIGS}"),
        Rule("create", MEMBER, "Create a software config.", f"POST {_CONFIGS}"),
        Rule("show", READER, "Show a software config.", f"GET {_CONFIGS}/{{config_id}}"),
        Rule("delete", MEMBER, "Delete a software config.", f"DELETE {_CONFIGS}/{{config_id}}"),
    ],
    "software_deployments": [
        Rule("index", READER, "List software deployments.", f"GET {_DEPLOYMENTS}"),
        Rule("create", MEMBER, "Create a software deployment.", f"POST {_DEPLOYMENTS}"),
        Rule("show", READER, "Show a software deployment.", f"GET {_DEPLOYMENTS}/{{deployment_id}}"),
        Rule("update", MEMBER, "Update a software deployment.", f"PUT {_DEPLOYMENTS}/{{deployment_id}}"),
        Rule("delete", MEMBER, "Delete a software deployment.", f"DELETE {_DEPLOYMENTS}/{{deployment_id}}"),
        Rule(
            "metadata",
            READER_OR_STACK_USER,
            "Fetch the deployments of a server.",
            f"GET {_DEPLOYMENTS}/metadata/{{server_id}}",
            None,
        ),
    ],
    "stacks": [
        Rule("abandon", MEMBER, "Forget a stack and keep its resources.", f"DELETE {_STACK}/abandon"),
        Rule("create", MEMBER, "Create a stack.", "POST /v1/{tenant_id}/stacks"),
        Rule("delete", MEMBER, "Delete a stack.", f"DELETE {_STACK}"),
        Rule("detail", READER, "List stacks with their details.", "GET /v1/{tenant_id}/stacks"),
        Rule("export", MEMBER, "Export a stack.", f"GET {_STACK}/export"),
        Rule("generate_template", MEMBER, "Make a template of a resource type.", f"GET {_STACK}/template"),
        Rule("global_index", NOBODY, "List the stacks of all projects.", "GET /v1/{tenant_id}/stacks", None),
        Rule("index", READER, "List stacks.", "GET /v1/{tenant_id}/stacks"),
        Rule("list_resource_types", READER, "List resource types.", "GET /v1/{tenant_id}/resource_types"),
        Rule("list_template_versions", READER, "List template versions.", "GET /v1/{tenant_id}/template_versions"),
        Rule(
            "list_template_functions",
            READER,
            "List the functions of a template version.",
            "GET /v1/{tenant_id}/template_versions/{template_version}/functions",
        ),
        Rule("lookup", READER_OR_STACK_USER, "Find a stack by name.", "GET /v1/{tenant_id}/stacks/{stack_identity}"),
        Rule("preview", READER, "Preview a stack.", "POST /v1/{tenant_id}/stacks/preview"),
        Rule("resource_schema", READER, "Show a resource type.", "GET /v1/{tenant_id}/resource_types/{type_name}"),
        Rule("show", READER, "Show a stack.", "GET /v1/{tenant_id}/stacks/{stack_identity}"),
        Rule("template", READER, "Fetch the template of a stack.", f"GET {_STACK}/template"),
        Rule("environment", READER, "Fetch the environment of a stack.", f"GET {_STACK}/environment"),
        Rule("files", READER, "Fetch the files of a stack.", f"GET {_STACK}/files"),
        Rule("update", MEMBER, "Update a stack.", f"PUT {_STACK}"),
        Rule("update_patch", MEMBER, "Update a stack, keeping what is not sent.", f"PATCH {_STACK}"),
        Rule("update_no_change", "rule:stacks:update_patch", "Update a stack, unchanged.", f"PATCH {_STACK}", None),
        Rule("preview_update", MEMBER, "Preview an update.", f"PUT {_STACK}/preview"),
        Rule("preview_update_patch", MEMBER, "Preview an update that keeps the rest.", f"PATCH {_STACK}/preview"),
        Rule("validate_template", MEMBER, "Validate a template.", "POST /v1/{tenant_id}/validate"),
        Rule("snapshot", MEMBER, "Take a snapshot of a stack.", f"POST {_STACK}/snapshots"),
        Rule("show_snapshot", READER, "Show a snapshot.", f"GET {_STACK}/snapshots/{{snapshot_id}}"),
        Rule("delete_snapshot", MEMBER, "Delete a snapshot.", f"DELETE {_STACK}/snapshots/{{snapshot_id}}"),
        Rule("list_snapshots", READER, "List snapshots.", f"GET {_STACK}/snapshots"),
        Rule(
            "restore_snapshot",
            MEMBER,
            "Set a stack back to a snapshot.",
            f"POST {_STACK}/snapshots/{{snapshot_id}}/restore",
        ),
        Rule("list_outputs", READER, "List outputs.", f"GET {_STACK}/outputs"),
        Rule("show_output", READER, "Show an output.", f"GET {_STACK}/outputs/{{output_key}}"),
    ],
}


def list_rules() -> list[policy.RuleDefault]:
    """Every default rule, for an enforcer or a generator. Each call makes new ones: an enforcer changes them."""
    return list(_rules())


def _rules() -> Iterator[policy.RuleDefault]:
    for name, check, does in _BASE:
        yield policy.RuleDefault(name, check, description=does)
    for area, rows in RULES.items():
        for row in rows:
            yield _rule(f"{area}:{row.action}", row)


def _rule(name: str, row: Rule) -> policy.RuleDefault:
    twin = _USUAL_TWIN.get(row.check) if isinstance(row.twin, EllipsisType) else row.twin
    deprecated = None
    if twin is not None:
        deprecated = policy.DeprecatedRule(
            name, twin, deprecated_reason=DEPRECATED_REASON, deprecated_since=DEPRECATED_SINCE
        )
    scopes = None if row.check == NOBODY else ["project"]
    if row.request is None:
        return policy.RuleDefault(name, row.check, description=row.does, scope_types=scopes, deprecated_rule=deprecated)
    method, path = row.request.split(" ", 1)
    return policy.DocumentedRuleDefault(
        name,
        row.check,
        row.does,
        [{"method": method, "path": path}],
        scope_types=scopes,
        deprecated_rule=deprecated,
    )
