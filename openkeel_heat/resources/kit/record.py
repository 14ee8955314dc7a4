# SPDX-License-Identifier: Apache-2.0
"""The resource row as the kit sees it, and the states it can be in.

A :class:`ResourceRecord` mirrors one row of the ``resource`` table. The driver
(the engine) fills it from the row, the kit changes it in memory, and whatever a
:class:`~openkeel_heat.resources.kit.lifecycle.Transition` carries is written
back by the driver under its lock. The kit itself never talks to the database.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any


class ResourceStatus:
    """Names of the actions and statuses; base class of ``Resource`` as in Heat."""

    ACTIONS = (
        INIT,
        CREATE,
        DELETE,
        UPDATE,
        ROLLBACK,
        SUSPEND,
        RESUME,
        ADOPT,
        SNAPSHOT,
        CHECK,
    ) = (
        "INIT",
        "CREATE",
        "DELETE",
        "UPDATE",
        "ROLLBACK",
        "SUSPEND",
        "RESUME",
        "ADOPT",
        "SNAPSHOT",
        "CHECK",
    )

    STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ("IN_PROGRESS", "FAILED", "COMPLETE")


@dataclasses.dataclass
class ResourceRecord:
    """One row of the ``resource`` table. ``id is None``: not stored."""

    id: int | None = None
    uuid: str | None = None
    name: str = ""
    action: str = "INIT"
    status: str = "COMPLETE"
    status_reason: str = ""
    nova_instance: str | None = None
    engine_id: str | None = None
    atomic_key: int | None = None
    requires: list[int] = dataclasses.field(default_factory=list)
    needed_by: list[int] = dataclasses.field(default_factory=list)
    replaces: int | None = None
    replaced_by: int | None = None
    current_template_id: int | None = None
    rsrc_prop_data_id: int | None = None
    attr_data_id: int | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    root_stack_id: str | None = None
    stack_id: str | None = None
    # The JSON of ``rsrc_metadata``; None means that it was not loaded.
    metadata: dict[str, Any] | None = None
    # The resolved properties as last stored; None: none were stored.
    stored_properties: dict[str, Any] | None = None
    # Cached attribute values (the row behind ``attr_data_id``).
    attributes: dict[str, Any] | None = None
    # Resource data; None means that it was not loaded.
    data: dict[str, Any] | None = None
    # Resource data that the next transition writes: (key, value, redact).
    pending_data: list[tuple[str, str | None, bool]] = dataclasses.field(default_factory=list)
