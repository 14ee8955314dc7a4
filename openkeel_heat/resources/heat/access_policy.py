# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::AccessPolicy: which resources of the stack a user of it may look at."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import properties
from openkeel_heat.resources.kit.resource import Resource


class AccessPolicy(Resource):
    """Names the resources that a user (AWS::IAM::User) with this policy may read by DescribeStackResource."""

    PROPERTIES = (ALLOWED_RESOURCES,) = ("AllowedResources",)

    repeatable_create = True

    properties_schema = {
        ALLOWED_RESOURCES: properties.Schema(properties.Schema.LIST, _("Names of the resources."), required=True),
    }

    def handle_create(self) -> Any:
        """It exists in the stack only."""

    def validate(self) -> Any:
        super().validate()
        for name in self.properties[self.ALLOWED_RESOURCES]:
            if name not in self.stack:
                raise exception.StackValidationFailed(message=_("AccessPolicy resource %s not in stack") % name)

    def access_allowed(self, resource_name: str) -> bool:
        return resource_name in self.properties[self.ALLOWED_RESOURCES]


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::AccessPolicy": AccessPolicy}
