# SPDX-License-Identifier: Apache-2.0
"""The engine's row in ``service``: written at the start, again every ``periodic_interval``, deleted at the end.

Rows of this host's engines that have not been heard of for three intervals are deleted (softly), as Python Heat does.
"""

from __future__ import annotations

import datetime
import socket
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock
from openkeel_heat.db import services
from openkeel_heat.engine.scheduler import Scheduler, Stopped

LOG = logging.getLogger(__name__)

BINARY = "heat-engine"


class Heartbeat:
    """The heartbeat of one engine."""

    def __init__(self, scheduler: Scheduler, engine_id: str, host: str, topic: str, interval: float) -> None:
        self._scheduler = scheduler
        self._interval = interval
        self._values = {
            "engine_id": engine_id,
            "host": host,
            "hostname": socket.gethostname(),
            "binary": BINARY,
            "topic": topic,
            "report_interval": int(interval),
        }
        self._timer: Any = None
        self._stopped = False
        self.service_id: str | None = None

    def start(self) -> None:
        """Make the row."""
        self.clean()
        now = clock.utcnow()
        self.service_id = services.insert({**self._values, "updated_at": now})
        self._again()

    def _again(self) -> None:
        if not self._stopped:
            try:
                self._timer = self._scheduler.call_later(self._interval, self._beat)
            except Stopped:
                pass

    def _beat(self) -> None:
        try:
            assert self.service_id is not None
            if not services.update(self.service_id, {"deleted_at": None}) and not self._stopped:
                self.service_id = services.insert({**self._values, "updated_at": clock.utcnow()})
            self.clean()
        except Exception as exc:
            LOG.error("Service %s update failed: %s", self.service_id, exc)
        self._again()

    def clean(self) -> None:
        """Delete the rows of engines of this host that have fallen silent."""
        limit = clock.utcnow() - datetime.timedelta(seconds=3 * self._interval)
        for row in services.list_by_host(str(self._values["host"]), BINARY, str(self._values["hostname"])):
            if row.id != self.service_id and row.deleted_at is None and row.updated_at and row.updated_at < limit:
                services.bury(row)

    def stop(self) -> None:
        """The engine ends: its row goes, so that others need not ask whether it is alive."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self.service_id is not None:
            try:
                services.delete(self.service_id)
            except Exception as exc:
                LOG.warning("Service %s was not deleted: %s", self.service_id, exc)
