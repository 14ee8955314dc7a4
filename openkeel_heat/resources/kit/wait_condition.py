# SPDX-License-Identifier: Apache-2.0
"""What wait condition handles of both dialects share: signals are kept in the handle's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import signal_responder

LOG = logging.getLogger(__name__)


class BaseWaitConditionHandle(signal_responder.SignalResponder):
    """Depends on nothing, so that servers can be told of it; checks and keeps the signals that come.

    ``metadata`` maps the unique id of a signal to the rest of it. Subclasses name the
    keys that a signal has, in ``METADATA_KEYS`` and as DATA, REASON, STATUS, UNIQUE_ID.
    """

    properties_schema = {}

    WAIT_STATUSES = (STATUS_FAILURE, STATUS_SUCCESS) = ("FAILURE", "SUCCESS")

    METADATA_KEYS: tuple[str, ...] = ()
    DATA = REASON = STATUS = UNIQUE_ID = ""

    repeatable_create = True

    def acts_for_owner(self) -> bool:
        """A signal changes the metadata only."""
        return False

    def handle_create(self) -> Any:
        super().handle_create()
        self.resource_id_set(self._get_user_id())

    def _get_ec2_signed_url(
        self, signal_type: str = signal_responder.WAITCONDITION, never_expire: bool = False
    ) -> str | None:
        stored = self.data().get("ec2_signed_url")
        if stored is None:
            stored = super()._get_ec2_signed_url(signal_type, never_expire)
            self.data_set("ec2_signed_url", stored)
        return stored

    def _status_ok(self, status: Any) -> bool:
        return status in self.WAIT_STATUSES

    def _metadata_format_ok(self, metadata: Any) -> bool:
        return (
            isinstance(metadata, Mapping)
            and set(metadata) == set(self.METADATA_KEYS)
            and self._status_ok(metadata[self.STATUS])
        )

    def normalise_signal_data(self, signal_data: Any, latest_metadata: Mapping[str, Any]) -> Any:
        return signal_data

    def handle_signal(self, details: Any = None) -> str:
        written: dict[str, Any] = {}

        def merge(signal_data: Any, current: Mapping[str, Any]) -> dict[str, Any]:
            signal_data = self.normalise_signal_data(signal_data, current)
            if not self._metadata_format_ok(signal_data):
                LOG.info("Metadata failed validation for %s", self.name)
                raise ValueError(_("Metadata format invalid"))
            written.clear()
            written.update(signal_data)
            entry = dict(signal_data)
            return {**current, str(entry.pop(self.UNIQUE_ID)): entry}

        self.metadata_set(details, merge_metadata=merge)
        return "status:%s reason:%s" % (written[self.STATUS], written[self.REASON])

    def get_status(self) -> list[str]:
        """The statuses of the signals that have come."""
        return [signal[self.STATUS] for signal in self.metadata_get(refresh=True).values()]

    def get_status_reason(self, status: str) -> list[str]:
        """The reasons given with signals of that status."""
        return [
            signal[self.REASON] for signal in self.metadata_get(refresh=True).values() if signal[self.STATUS] == status
        ]


class WaitConditionFailure(exception.Error):
    """A signal said that something failed."""

    def __init__(self, wait_condition: Any, handle: BaseWaitConditionHandle) -> None:
        super().__init__(";".join(map(str, handle.get_status_reason(handle.STATUS_FAILURE))))


class WaitConditionTimeout(exception.Error):
    """Not enough signals came in time."""

    def __init__(self, wait_condition: Any, handle: BaseWaitConditionHandle) -> None:
        reasons = handle.get_status_reason(handle.STATUS_SUCCESS)
        text = _("%(len)d of %(count)d received") % {
            "len": len(reasons),
            "count": wait_condition.properties[wait_condition.COUNT],
        }
        if reasons:
            text = _("%(received)s - %(reasons)s") % {"received": text, "reasons": ";".join(map(str, reasons))}
        super().__init__(text)
