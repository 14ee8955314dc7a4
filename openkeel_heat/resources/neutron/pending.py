# SPDX-License-Identifier: Apache-2.0
"""Objects that an agent of the network service has to carry out: they are ``PENDING_…`` until it did.

Their creation is waited for, and their deletion until they are gone. Updates are not: what the agent makes of one may
hang on something outside of the stack, such as the other end of a connection. For the same reason a check is content
with everything but an error.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.neutron.neutron import NeutronResource

FAILED = "ERROR"


def with_pending(
    path: str, key: str, ready: tuple[str, ...] = ("ACTIVE",), busy: tuple[str, ...] = ("PENDING_CREATE",)
) -> ApiObject:
    return ApiObject(f"/v2.0/{path}", key, status="status", ready=ready, busy=busy, failed=(FAILED,))


class PendingResource(NeutronResource):
    def is_ready(self, shown: dict[str, Any]) -> bool:
        try:
            return super().is_ready(shown)
        except exceptions.ResourceUnknownStatus as error:
            raise exceptions.ResourceUnknownStatus(
                resource_status=shown["status"], result=_("%s creation failed") % type(self).__name__
            ) from error

    def error_of(self, shown: dict[str, Any], status: str) -> Exception:
        return exceptions.ResourceInError(resource_status=status, status_reason=_("Error in %s") % type(self).__name__)

    def check_update_complete(self, answer: Any) -> bool:
        return True

    def verify_presence(self) -> None:
        if self.resource_id is None:
            return
        status = self._show_resource()["status"]
        if status == FAILED:
            self._verify_check_conditions([{"attr": "status", "expected": "ACTIVE", "current": status}])
