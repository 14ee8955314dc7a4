# SPDX-License-Identifier: Apache-2.0
"""What an engine answers in the shapes of CloudFormation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openkeel_heat.common.identifier import HeatIdentifier

_STACK_SUMMARY = {
    "creation_time": "CreationTime",
    "updated_time": "LastUpdatedTime",
    "stack_identity": "StackId",
    "stack_name": "StackName",
    "stack_status_reason": "StackStatusReason",
    "template_description": "TemplateDescription",
    "deletion_time": "DeletionTime",
}
_STACK = {
    "capabilities": "Capabilities",
    "creation_time": "CreationTime",
    "description": "Description",
    "disable_rollback": "DisableRollback",
    "notification_topics": "NotificationARNs",
    "stack_identity": "StackId",
    "stack_name": "StackName",
    "stack_status_reason": "StackStatusReason",
    "timeout_mins": "TimeoutInMinutes",
}
_OUTPUT = {"description": "Description", "output_key": "OutputKey", "output_value": "OutputValue"}
_EVENT = {
    "event_identity": "EventId",
    "resource_name": "LogicalResourceId",
    "physical_resource_id": "PhysicalResourceId",
    "resource_status_reason": "ResourceStatusReason",
    "resource_type": "ResourceType",
    "stack_identity": "StackId",
    "stack_name": "StackName",
    "event_time": "Timestamp",
}
_RESOURCE_SUMMARY = {
    "updated_time": "LastUpdatedTimestamp",
    "resource_name": "LogicalResourceId",
    "physical_resource_id": "PhysicalResourceId",
    "resource_status_reason": "ResourceStatusReason",
    "resource_type": "ResourceType",
}
_RESOURCE = {
    "description": "Description",
    "resource_name": "LogicalResourceId",
    "physical_resource_id": "PhysicalResourceId",
    "resource_status_reason": "ResourceStatusReason",
    "resource_type": "ResourceType",
    "stack_identity": "StackId",
    "stack_name": "StackName",
    "updated_time": "Timestamp",
}
_RESOURCE_DETAIL = {
    **{key: name for key, name in _RESOURCE.items() if key != "updated_time"},
    "updated_time": "LastUpdatedTimestamp",
    "metadata": "Metadata",
}


def _renamed(names: Mapping[str, str], record: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: record[key] for key, name in names.items() if key in record}
    if "StackId" in shown:
        shown["StackId"] = HeatIdentifier(**shown["StackId"]).arn()
    return shown


def stack_summary(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**_renamed(_STACK_SUMMARY, record), "StackStatus": f"{record['stack_action']}_{record['stack_status']}"}


def stack(record: Mapping[str, Any]) -> dict[str, Any]:
    shown = _renamed(_STACK, record)
    if record.get("updated_time") is not None:
        shown["LastUpdatedTime"] = record["updated_time"]
    shown["StackStatus"] = f"{record['stack_action']}_{record['stack_status']}"
    shown["Outputs"] = [_renamed(_OUTPUT, _dotted(output)) for output in record.get("outputs") or ()]
    shown["Parameters"] = [
        {"ParameterKey": key, "ParameterValue": value} for key, value in (record.get("parameters") or {}).items()
    ]
    return shown


def _dotted(value: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with dots for the colons in its keys, which XML would take for name spaces."""
    return {
        str(key).replace(":", "."): _dotted(inner) if isinstance(inner, dict) else inner for key, inner in value.items()
    }


def event(record: Mapping[str, Any]) -> dict[str, Any]:
    shown = _renamed(_EVENT, record)
    shown["EventId"] = record["event_identity"]["path"].rpartition("/")[2]
    shown["ResourceStatus"] = _resource_status(record)
    properties = record.get("resource_properties")
    if properties is not None:
        shown["ResourceProperties"] = json.dumps(properties, default=str)
    return shown


def _resource_status(record: Mapping[str, Any]) -> str:
    return f"{record['resource_action']}_{record['resource_status']}"


def resource_summary(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**_renamed(_RESOURCE_SUMMARY, record), "ResourceStatus": _resource_status(record)}


def resource(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**_renamed(_RESOURCE, record), "ResourceStatus": _resource_status(record)}


def resource_detail(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**_renamed(_RESOURCE_DETAIL, record), "ResourceStatus": _resource_status(record)}


def parameter(name: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter of a validated template."""
    return {
        "ParameterKey": name,
        "DefaultValue": record.get("Default", ""),
        "Description": record.get("Description", ""),
        "NoEcho": record.get("NoEcho", "false"),
    }
