# SPDX-License-Identifier: Apache-2.0
"""The URLs that instances call to signal a resource; the resource is named by its ARN in the path."""

from __future__ import annotations

from typing import Any

from openkeel_heat.api.cfn import errors
from openkeel_heat.common.identifier import ResourceIdentifier


def _resource(arn: str) -> ResourceIdentifier:
    try:
        identity = ResourceIdentifier.from_arn(arn)
    except ValueError as error:
        raise errors.InvalidParameterValue(error) from error
    if not identity.path.startswith("/resources/"):
        raise errors.InvalidParameterValue(f'"{arn}" is not the ARN of a resource')
    return identity


def wait_condition(rpc: Any, context: Any, arn: str, body: dict[str, Any] | None) -> dict[str, Any]:
    """Signal a wait condition's handle and wait until it has taken the data."""
    identity = _resource(arn)
    if body is None:
        raise errors.MissingParameter("The body has to be a JSON object")
    metadata = rpc.resource_signal(
        context,
        stack_identity=dict(identity.stack()),
        resource_name=identity.resource_name,
        details=body,
        sync_call=True,
    )
    return {"resource": identity.resource_name, "metadata": metadata}


def signal(rpc: Any, context: Any, arn: str, body: dict[str, Any] | None) -> None:
    """Signal any resource; the answer does not wait for it."""
    identity = _resource(arn)
    rpc.resource_signal(
        context, stack_identity=dict(identity.stack()), resource_name=identity.resource_name, details=body
    )
