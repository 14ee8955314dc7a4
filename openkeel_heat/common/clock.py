# SPDX-License-Identifier: Apache-2.0
"""Time, the two forms in which it is kept, and time-outs.

Inside, and in the database, a moment is a naive ``datetime`` in UTC. Outside it is ``YYYY-MM-DDTHH:MM:SSZ``.
Everything that needs "now" asks this module, so that a test can move the clock.
"""

from __future__ import annotations

import datetime
import random
import re
import time

from openkeel_heat.common.i18n import _

#: The form of the moments inside worker messages (start of a snapshot action).
WIRE_FORMAT = "%Y-%m-%dT%H:%M:%S.%f"
_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?$")

_override: datetime.datetime | None = None


def utcnow() -> datetime.datetime:
    """The present moment, UTC, without a zone."""
    if _override is not None:
        return _override
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def set_override(moment: datetime.datetime | None) -> None:
    """Make ``utcnow`` answer *moment* (tests); ``None`` gives the real clock back."""
    global _override
    _override = moment


def monotonic() -> float:
    return time.monotonic()


def isotime(moment: datetime.datetime | None) -> str | None:
    """The outside form of *moment*; ``None`` stays ``None``."""
    if moment is None:
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="seconds") + "Z"


def parse_isotime(text: str) -> datetime.datetime:
    """The inverse of :func:`isotime`; takes fractions and offsets too."""
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return moment


def seconds_since(moment: datetime.datetime) -> float:
    return (utcnow() - moment).total_seconds()


def parse_isoduration(text: str) -> int:
    """Seconds of a duration ``PT#H#M#S``."""
    match = _DURATION.match(text)
    if match is None:
        raise ValueError(_("Only ISO 8601 duration format of the form PT#H#M#S is supported."))
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def backoff(attempt: int, scale: float = 1.0, jitter: float = 0.0) -> float:
    """Seconds to wait before try number *attempt*, doubling each time."""
    return float(2**attempt) * scale + (random.random() * jitter if jitter else 0.0)


class Deadline:
    """A moment by which something has to be done, on the monotonic clock."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds

    def expired(self) -> bool:
        return monotonic() > self._end

    def remaining(self) -> float:
        return self._end - monotonic()
