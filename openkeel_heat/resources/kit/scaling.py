# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of scaling groups. All of it is pure: numbers and metadata in, numbers and metadata out.

``calculate_new_capacity``   the size that a policy asks for, within the limits of the group
``batches``                  sizes and numbers of changed members of a rolling update, one batch after the other
``refusal``                  why a group may not be scaled just now, told from its metadata
``begun``, ``finished``      the metadata of the group while it is scaled, and afterwards

The metadata are read and written by Python Heat's engines, too::

    {"scaling_in_progress": false, "cooldown_end": {"2026-01-31T12:00:00.123456": "change_in_capacity : 1"}}

Two older forms are understood: ``{"cooldown": {MOMENT: reason}}`` and ``{MOMENT: reason}``, with the moment of the last
change.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.common import clock
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.groups import needs_update, next_batch

ADJUSTMENT_TYPES = (EXACT_CAPACITY, CHANGE_IN_CAPACITY, PERCENT_CHANGE_IN_CAPACITY) = (
    "exact_capacity",
    "change_in_capacity",
    "percent_change_in_capacity",
)

CFN_ADJUSTMENT_TYPES = (CFN_EXACT_CAPACITY, CFN_CHANGE_IN_CAPACITY, CFN_PERCENT_CHANGE_IN_CAPACITY) = (
    "ExactCapacity",
    "ChangeInCapacity",
    "PercentChangeInCapacity",
)

IN_PROGRESS, COOLDOWN_END, COOLDOWN = "scaling_in_progress", "cooldown_end", "cooldown"

Metadata = dict[str, Any]


def calculate_new_capacity(
    current: int, adjustment: float, adjustment_type: str, min_adjustment_step: int | None, minimum: int, maximum: int
) -> int:
    """The size that results; members are whole, so a fraction of one is cut off (but a percentage moves at least one).

    Where the limits contradict each other the maximum wins.
    """
    if adjustment_type in (CHANGE_IN_CAPACITY, CFN_CHANGE_IN_CAPACITY):
        wanted = current + int(adjustment)
    elif adjustment_type in (EXACT_CAPACITY, CFN_EXACT_CAPACITY):
        wanted = int(adjustment)
    else:
        wanted = current + _part(current * adjustment / 100.0, adjustment, min_adjustment_step or 0)
    return min(max(wanted, minimum), maximum)


def _part(delta: float, adjustment: float, least: int) -> int:
    """Whole members, towards zero, but at least one where there is a change at all, and at least ``least``.

    The direction is that of the adjustment: any part of an empty group is nothing, and it has to grow nevertheless.
    """
    if not adjustment:
        return 0
    whole = math.floor(abs(delta)) if abs(delta) >= 1 else math.ceil(abs(delta))
    return int(math.copysign(max(whole, least), adjustment))


def batches(
    target: int, capacity: int, batch_size: int, min_in_service: int, up_to_date: int = 0
) -> Iterator[tuple[int, int]]:
    """(size after the batch, members that may get the new definition in it) until all have it.

    ``up_to_date`` members have the new definition already: what a dead engine has done need not be done again.
    """
    while needs_update(target, capacity, up_to_date):
        batch = capacity, changed = next_batch(target, capacity, min(up_to_date, capacity), batch_size, min_in_service)
        yield batch
        up_to_date += changed


# cooldown -----------------------------------------------------------------------------------------------------------
def seconds_of(cooldown: float | None) -> float:
    return max(0, cooldown or 0)


def _moment(entry: Any) -> datetime.datetime | None:
    """The moment that an entry ``{MOMENT: reason}`` tells; None when it is none."""
    if isinstance(entry, Mapping) and entry:
        try:
            return clock.parse_isotime(next(iter(entry)))
        except (TypeError, ValueError):
            return None
    return None


def refusal(metadata: Mapping[str, Any], cooldown: float | None, now: datetime.datetime) -> str | None:
    """Why the group may not be scaled at that moment; None when it may."""
    if metadata.get(IN_PROGRESS):
        return _("due to scaling activity")
    seconds = seconds_of(cooldown)
    if COOLDOWN_END in metadata:
        end = _moment(metadata[COOLDOWN_END])
    else:
        old = {key: value for key, value in metadata.items() if key != IN_PROGRESS}
        last = _moment(old.get(COOLDOWN, old))
        end = last + datetime.timedelta(seconds=seconds) if last is not None and seconds else None
    if end is not None and now < end:
        return _("due to cooldown, cooldown %s") % _number(seconds)
    return None


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def begun(metadata: Mapping[str, Any]) -> Metadata:
    return {**metadata, IN_PROGRESS: True}


def finished(
    metadata: Mapping[str, Any], cooldown: float | None, reason: str, size_changed: bool, now: datetime.datetime
) -> Metadata:
    """Scaling is over. A change of size begins a new cooldown, which never shortens the present one."""
    after = {**metadata, IN_PROGRESS: False}
    if size_changed:
        end = (now + datetime.timedelta(seconds=seconds_of(cooldown))).isoformat()
        present = metadata.get(COOLDOWN_END) or {}
        after[COOLDOWN_END] = {max([end, *list(present)[:1]]): reason}
    return after


def reset(metadata: Mapping[str, Any]) -> Metadata:
    """Nobody is scaling the group, whatever was noted."""
    return {**metadata, IN_PROGRESS: False} if IN_PROGRESS in metadata else dict(metadata)
