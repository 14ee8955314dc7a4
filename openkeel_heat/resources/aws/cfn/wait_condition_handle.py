# SPDX-License-Identifier: Apache-2.0
"""AWS::CloudFormation::WaitConditionHandle: its reference is a signed URL to put signals to."""

from __future__ import annotations

from typing import Any

from openkeel_heat.resources.kit import signal_responder, support, wait_condition as base
from openkeel_heat.resources.kit.resource import Resource


class WaitConditionHandle(base.BaseWaitConditionHandle):
    """Receives signals in the form of cfn-signal at an URL that is made for it.

    Depends on nothing, so that servers can be told of the URL.
    """

    support_status = support.SupportStatus(version="2014.1")

    METADATA_KEYS = (DATA, REASON, STATUS, UNIQUE_ID) = ("Data", "Reason", "Status", "UniqueId")

    def handle_create(self) -> Any:
        # Who looks at the stack meanwhile asks for the reference as soon as there is an id, and would make another URL:
        # the wait condition, which has this one, would not find its handle any more.
        self._create_user()
        self._get_ec2_signed_url(signal_type=signal_responder.WAITCONDITION)
        super().handle_create()

    def get_reference_id(self) -> Any:
        if not self.resource_id:
            return str(self.name)
        return str(self._get_ec2_signed_url(signal_type=signal_responder.WAITCONDITION))

    def metadata_update(self, new_metadata: dict[str, Any] | None = None) -> None:
        self.handle_signal(details=new_metadata)

    def handle_signal(self, details: Any = None) -> Any:
        """A signal has all of Status (SUCCESS or FAILURE), UniqueId, Data and Reason."""
        return None if details is None else super().handle_signal(details)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::CloudFormation::WaitConditionHandle": WaitConditionHandle}
