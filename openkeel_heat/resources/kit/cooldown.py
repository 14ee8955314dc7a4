# SPDX-License-Identifier: Apache-2.0
"""Scaling one at a time, and resting afterwards: the part of a group that is kept in its metadata.

Two signals may come at once, in two engines. The flag ``scaling_in_progress`` is set by a write that compares the row's
``atomic_key``, so one of them sees that the other was first and does nothing.

In the same transaction a note goes into the resource data (``scaling``): which engine is at it, and what is to be done.
Should the engine die, another finds the note, puts its own id into it, and finishes (``resume_scaling``). Python Heat's
engines neither write nor read the note; of theirs only the flag is seen, which an update of the group or a reset
of the resource clears.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.resources.kit import scaling
from openkeel_heat.resources.kit.record_access import RecordAccess
from openkeel_heat.resources.kit.signals import NoActionRequired

LOG = logging.getLogger(__name__)

#: Key of the note in the resource data.
NOTE = "scaling"

#: What is being done in this process: (key of the group, note).
under_way: set[tuple[int | None, str]] = set()


@dataclasses.dataclass(frozen=True)
class Scaling:
    """A change of a group's size that a signal asked for."""

    adjustment: float
    adjustment_type: str
    cooldown: float
    before: int
    after: int
    #: Template of the members' stack before it; another one there says that the update has begun.
    template_id: int | None = None
    engine_id: str | None = None

    @property
    def reason(self) -> str:
        return f"{self.adjustment_type} : {self.adjustment}"

    def dumps(self) -> str:
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> Scaling:
        return cls(**json.loads(text))


class CooldownMixin(RecordAccess):
    """Needs the methods of a resource."""

    def _sanitize_cooldown(self, cooldown: float | None) -> float:
        return scaling.seconds_of(cooldown)

    def _check_scaling_allowed(self, cooldown: float | None) -> None:
        """Take the right to scale the group, or raise NoActionRequired. ``_finished_scaling`` has to follow."""
        self.metadata_set(None, lambda _metadata, current: self._taken(cooldown, current))

    def _begin_scaling(self, cooldown: float | None, plan: Callable[[], Scaling]) -> Scaling:
        """The same, with a note of the plan, which is made anew if somebody else was first."""
        data: dict[str, str | None] = {}
        made: list[Scaling] = []

        def taken(_metadata: Any, current: Any) -> Any:
            after = self._taken(cooldown, current)
            made[:] = [dataclasses.replace(plan(), engine_id=self.stack.store.engine_id())]
            data[NOTE] = made[0].dumps()
            return after

        self.metadata_set(None, taken, data=data)
        return made[0]

    def _taken(self, cooldown: float | None, current: Any) -> Any:
        reason = scaling.refusal(current, cooldown, clock.utcnow())
        if reason is not None:
            LOG.info("Group %(name)s is not scaled: %(reason)s", {"name": self.name, "reason": reason})
            raise NoActionRequired(res_name=self.name, reason=reason)
        return scaling.begun(current)

    def _finished_scaling(
        self, cooldown: float | None, cooldown_reason: str, size_changed: bool = True, plan: Scaling | None = None
    ) -> None:
        """Give the right back. With ``plan``: only while its note stands, else another engine has taken it over."""

        def over(_metadata: Any, current: Any) -> Any:
            if plan is not None and self._note() != plan.dumps():
                raise NoActionRequired(res_name=self.name, reason="taken over by another engine")
            return scaling.finished(current, cooldown, cooldown_reason, size_changed, clock.utcnow())

        try:
            self.metadata_set(None, over, data=None if plan is None else {NOTE: None})
        except (exception.NotFound, exception.ResourceNotAvailable):
            LOG.debug("Group %s is gone", self.name)
        except NoActionRequired as ex:
            LOG.info("%s", ex)

    @contextlib.contextmanager
    def _under_way(self, plan: Scaling) -> Iterator[None]:
        mark = (self.id, plan.dumps())
        under_way.add(mark)
        try:
            yield
        finally:
            under_way.discard(mark)

    def _note(self) -> str | None:
        return self.stack.store.data(self).get(NOTE)

    def take_over_scaling(self, note: str, engine_id: str) -> Scaling | None:
        """Make a dead engine's scaling our own. None: it is not to be finished (any more)."""
        mine = dataclasses.replace(Scaling.loads(note), engine_id=engine_id)
        wanted = False

        def taken(_metadata: Any, current: Any) -> Any:
            nonlocal wanted
            if self._note() != note:
                raise NoActionRequired(res_name=self.name, reason="taken over by another engine")
            wanted = bool(current.get(scaling.IN_PROGRESS))
            data[NOTE] = mine.dumps() if wanted else None
            return current

        data: dict[str, str | None] = {}
        try:
            self.metadata_set(None, taken, data=data)
        except (exception.NotFound, exception.ResourceNotAvailable, NoActionRequired) as ex:
            LOG.info("%s", ex)
            return None
        return mine if wanted else None

    def handle_metadata_reset(self) -> None:
        if scaling.IN_PROGRESS in self.metadata_get(refresh=True):
            self.metadata_set(None, lambda _metadata, current: scaling.reset(current), data={NOTE: None})
