# SPDX-License-Identifier: Apache-2.0
"""Parameters of CFN templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.template import constraints as constr, parameters

_REGIONS = ("us-east-1", "us-west-1", "us-west-2", "sa-east-1", "eu-west-1", "ap-southeast-1", "ap-northeast-1")


class CfnParameters(parameters.Parameters):
    """Parameters of a CFN stack."""

    PSEUDO_PARAMETERS = (
        PARAM_STACK_ID,
        PARAM_STACK_NAME,
        PARAM_REGION,
    ) = (
        "AWS::StackId",
        "AWS::StackName",
        "AWS::Region",
    )

    def _stack_id(self, stack_identifier: Any) -> str:
        return str(stack_identifier.arn())

    def _pseudo_parameters(self, stack_identifier: Any) -> Iterator[parameters.Parameter]:
        schema = parameters.Schema
        arn = "None" if stack_identifier is None else str(stack_identifier.arn())
        name = stack_identifier and stack_identifier.stack_name
        yield parameters.Parameter(self.PARAM_STACK_ID, schema(schema.STRING, _("Stack ID"), default=arn))
        if name:
            yield parameters.Parameter(self.PARAM_STACK_NAME, schema(schema.STRING, _("Stack Name"), default=name))
            yield parameters.Parameter(
                self.PARAM_REGION,
                schema(schema.STRING, default="ap-southeast-1", constraints=[constr.AllowedValues(list(_REGIONS))]),
            )
