# SPDX-License-Identifier: Apache-2.0
"""How far a resource type, property or attribute is supported, and since when."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _

SUPPORT_STATUSES = (UNKNOWN, SUPPORTED, DEPRECATED, UNSUPPORTED, HIDDEN) = (
    "UNKNOWN",
    "SUPPORTED",
    "DEPRECATED",
    "UNSUPPORTED",
    "HIDDEN",
)


class SupportStatus:
    """A status with its history; ``previous_status`` is the status before ``version``.

    ``substitute_class`` names the class that resources of a replaced type may
    become in place.
    """

    def __init__(
        self,
        status: str = SUPPORTED,
        message: str | None = None,
        version: str | None = None,
        previous_status: SupportStatus | None = None,
        substitute_class: type | None = None,
    ) -> None:
        self.status = status
        self.message = message
        self.version = version
        self.previous_status = previous_status
        self.substitute_class = substitute_class
        self.validate()

    def validate(self) -> None:
        previous = self.previous_status
        if previous is not None and not isinstance(previous, SupportStatus):
            raise ValueError(_("previous_status must be SupportStatus instead of %s") % type(previous))
        if not is_valid_status(self.status):
            self.status = UNKNOWN
            self.message = _("Specified status is invalid, defaulting to %s") % UNKNOWN
            self.version = None
            self.previous_status = None

    def to_dict(self) -> dict[str, Any]:
        previous = self.previous_status
        return {
            "status": self.status,
            "message": self.message,
            "version": self.version,
            "previous_status": None if previous is None else previous.to_dict(),
        }

    def is_substituted(self, substitute_class: type) -> bool:
        return self.substitute_class is not None and self.substitute_class is substitute_class


def is_valid_status(status: str) -> bool:
    return status in SUPPORT_STATUSES


# What is supported without further words; nobody changes it.
PLAIN = SupportStatus()
