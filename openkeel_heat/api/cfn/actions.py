# SPDX-License-Identifier: Apache-2.0
"""The actions of the query API, each a function over the RPC client; `ACTIONS` is their table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg

from openkeel_heat.api.cfn import errors, params, views
from openkeel_heat.common.i18n import _
from openkeel_heat.common.identifier import HeatIdentifier
from openkeel_heat.common.params import extract_bool
from openkeel_heat.template import text

Params = dict[str, str]


def _identity(rpc: Any, context: Any, name: str) -> Any:
    """A stack's identity, by its ARN or its name."""
    try:
        return dict(HeatIdentifier.from_arn(name))
    except ValueError:
        return rpc.identify_stack(context, name)


def _stack(rpc: Any, context: Any, given: Params) -> Any:
    return _identity(rpc, context, params.required(given, "StackName"))


def _template(given: Params) -> dict[str, Any]:
    """The template: in the request, or behind a URL in it."""
    url = given.get("TemplateURL", given.get("TemplateUrl"))
    source: Any = given.get("TemplateBody")
    if source is None and url is not None:
        from openkeel_heat.common import urlfetch

        try:
            source = urlfetch.get(url)
        except (OSError, ValueError) as error:
            raise errors.InvalidParameterValue(_("Failed to fetch template: %s") % error) from error
    if source is None:
        raise errors.MissingParameter(_("TemplateBody or TemplateUrl were not given."))
    text.check_size(source, cfg.CONF.max_template_size)
    try:
        return text.parse(source.decode("utf-8") if isinstance(source, bytes) else source)
    except ValueError as error:
        raise errors.InvalidParameterValue(_("The Template must be a JSON or YAML document.")) from error


def list_stacks(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    return {"StackSummaries": [views.stack_summary(record) for record in rpc.list_stacks(context)]}


def describe_stacks(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    name = given.get("StackName")
    identity = None if name is None else _identity(rpc, context, name)
    return {"Stacks": [views.stack(record) for record in rpc.show_stack(context, identity)]}


def _arguments(given: Params) -> dict[str, Any]:
    if "DisableRollback" in given and "OnFailure" in given:
        raise errors.InvalidParameterCombination(_("DisableRollback and OnFailure may not be used together"))
    args: dict[str, Any] = {}
    if "TimeoutInMinutes" in given:
        args["timeout_mins"] = given["TimeoutInMinutes"]
    if "DisableRollback" in given:
        args["disable_rollback"] = given["DisableRollback"]
        try:
            extract_bool("DisableRollback", given["DisableRollback"])
        except ValueError as error:
            raise errors.InvalidParameterValue(error) from error
    if given.get("OnFailure") == "DO_NOTHING":
        args["disable_rollback"] = "true"
    elif given.get("OnFailure") in ("ROLLBACK", "DELETE"):
        args["disable_rollback"] = "false"
    return args


def _stack_data(given: Params) -> dict[str, Any]:
    return {
        "params": params.pairs(given, "Parameters", "ParameterKey", "ParameterValue"),
        "args": _arguments(given),
        "template": _template(given),
        "files": {},
    }


def _made(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"StackId": HeatIdentifier(**result).arn()}


def create_stack(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    data = _stack_data(given)
    return _made(rpc.create_stack(context, stack_name=params.required(given, "StackName"), **data))


def update_stack(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    data = _stack_data(given)
    return _made(rpc.update_stack(context, stack_identity=_stack(rpc, context, given), **data))


def cancel_update_stack(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    identity = _stack(rpc, context, given)
    rpc.stack_cancel_update(context, stack_identity=identity, cancel_with_rollback=True)
    return {}


def delete_stack(rpc: Any, context: Any, given: Params) -> Any:
    refused = rpc.delete_stack(context, _stack(rpc, context, given), cast=False)
    return "" if refused is None else refused["Error"]


def get_template(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    return {"TemplateBody": rpc.get_template(context, _stack(rpc, context, given))}


def estimate_template_cost(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    return {"Url": "http://en.wikipedia.org/wiki/Gratis"}


def validate_template(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    result = rpc.validate_template(context, _template(given))
    if "Error" in result:
        raise errors.ValidationError(result["Error"])
    shown = [views.parameter(name, record) for name, record in result["Parameters"].items()]
    return {**result, "Parameters": shown}


def describe_stack_events(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    name = given.get("StackName")
    identity = name and _identity(rpc, context, name)
    return {"StackEvents": [views.event(record) for record in rpc.list_events(context, identity)]}


def describe_stack_resource(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    identity = _stack(rpc, context, given)
    name = params.required(given, "LogicalResourceId")
    found = rpc.describe_stack_resource(context, stack_identity=identity, resource_name=name)
    return {"StackResourceDetail": views.resource_detail(found)}


def describe_stack_resources(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    name, physical = given.get("StackName"), given.get("PhysicalResourceId")
    if name and physical:
        raise errors.InvalidParameterCombination("Use `StackName` or `PhysicalResourceId` but not both")
    if name is None and physical is None:
        raise errors.MissingParameter("StackName")
    if name is not None:
        identity = _identity(rpc, context, name)
    else:
        identity = rpc.find_physical_resource(context, physical_resource_id=physical)
    found = rpc.describe_stack_resources(context, stack_identity=identity, resource_name=given.get("LogicalResourceId"))
    return {"StackResources": [views.resource(record) for record in found]}


def list_stack_resources(rpc: Any, context: Any, given: Params) -> dict[str, Any]:
    found = rpc.list_stack_resources(context, stack_identity=_stack(rpc, context, given))
    return {"StackResourceSummaries": [views.resource_summary(record) for record in found]}


ACTIONS: dict[str, Callable[[Any, Any, Params], Any]] = {
    "ListStacks": list_stacks,
    "CreateStack": create_stack,
    "DescribeStacks": describe_stacks,
    "DeleteStack": delete_stack,
    "UpdateStack": update_stack,
    "CancelUpdateStack": cancel_update_stack,
    "DescribeStackEvents": describe_stack_events,
    "ValidateTemplate": validate_template,
    "GetTemplate": get_template,
    "EstimateTemplateCost": estimate_template_cost,
    "DescribeStackResource": describe_stack_resource,
    "DescribeStackResources": describe_stack_resources,
    "ListStackResources": list_stack_resources,
}
