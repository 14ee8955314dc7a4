# SPDX-License-Identifier: Apache-2.0
"""Names: short ids, physical names within a limit, and what a stack may be called."""

from __future__ import annotations

import base64
import re
import uuid

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

#: A stack's name begins with a letter; letters, digits, ``_``, ``-`` and ``.`` follow.
STACK_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,254}")


def short_id(source: str | uuid.UUID) -> str:
    """Twelve lower-case letters and digits made of the 60 random bits at the front of a random UUID."""
    if not isinstance(source, uuid.UUID):
        source = uuid.UUID(source)
    if source.version != 4:
        raise ValueError(_("Invalid UUID version (%d)") % (source.version or 0))
    # The time field of a random UUID holds 60 random bits: twelve letters of five bits, four bits of padding.
    return base64.b32encode((source.time << 4).to_bytes(8, "big")).decode("ascii")[:12].lower()


def new_short_id() -> str:
    return short_id(uuid.uuid4())


def reduce_physical_resource_name(name: str, limit: int) -> str:
    """Shorten *name* to *limit*: keep its first two letters and its end, where the unique part is."""
    if len(name) <= limit:
        return name
    if limit < 4:
        raise ValueError(_("limit cannot be less than 4"))
    return f"{name[:2]}-{name[-(limit - 3) :]}"


def check_text(name: object) -> None:
    """Refuse as a stack's name what is no text."""
    if not isinstance(name, str):
        raise exceptions.StackValidationFailed(message=_("Invalid stack name %s, must be a string") % (name,))


def check_stack_name(name: object) -> None:
    """Refuse what cannot name a stack."""
    check_text(name)
    if not STACK_NAME.fullmatch(str(name)):
        raise exceptions.StackValidationFailed(
            message=_(
                'Invalid stack name %s must contain only alphanumeric or "_-." characters, '
                "must start with alpha and must be 255 characters or less."
            )
            % name
        )
