# SPDX-License-Identifier: Apache-2.0
"""AWS::CloudFormation::WaitCondition: waits for signals to a handle that it is told by URL."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import identifier
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.cfn.wait_condition_handle import WaitConditionHandle
from openkeel_heat.resources.heat.wait_condition import HeatWaitCondition
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource


class WaitCondition(HeatWaitCondition):
    """Is created when enough signals of success have come to its handle."""

    support_status = support.SupportStatus(version="2014.1")

    PROPERTIES = (HANDLE, TIMEOUT, COUNT) = ("Handle", "Timeout", "Count")

    ATTRIBUTES = (DATA,) = ("Data",)

    properties_schema = {
        HANDLE: properties.Schema(
            properties.Schema.STRING, _("Reference to the handle that is signalled."), required=True
        ),
        TIMEOUT: properties.Schema(
            properties.Schema.INTEGER,
            _("Seconds to wait for the signals."),
            required=True,
            constraints=[constraints.Range(1, 43200)],
        ),
        COUNT: properties.Schema(
            properties.Schema.INTEGER,
            _("Number of signals of success to wait for."),
            constraints=[constraints.Range(min=1)],
            default=1,
            update_allowed=True,
        ),
    }

    attributes_schema = {
        DATA: attributes.Schema(
            _("The data of the signals by their ids, as JSON text."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
    }

    def _validate_handle_url(self) -> None:
        """The URL must be that of a handle of this very stack."""
        handle = identifier.ResourceIdentifier.from_arn_url(self.properties[self.HANDLE])
        stack = self.stack
        wrong = None
        if handle.tenant != stack.context.project_id:
            wrong = _("WaitCondition invalid Handle tenant %s") % handle.tenant
        elif handle.stack_name != stack.name:
            wrong = _("WaitCondition invalid Handle stack %s") % handle.stack_name
        elif handle.stack_id != stack.id:
            wrong = _("WaitCondition invalid Handle stack %s") % handle.stack_id
        elif handle.resource_name not in stack or not isinstance(stack[handle.resource_name], WaitConditionHandle):
            wrong = _("WaitCondition invalid Handle %s") % handle.resource_name
        if wrong:
            raise ValueError(wrong)

    def handle_create(self) -> Any:
        self._validate_handle_url()
        return super().handle_create()


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::CloudFormation::WaitCondition": WaitCondition}
