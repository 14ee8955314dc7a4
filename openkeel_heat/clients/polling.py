# SPDX-License-Identifier: Apache-2.0
"""Objects in progress, seen together.

Fifty servers of one project that are being built are not asked for one by one: who asks for one of them while others
are being waited for lists them all, and that answer serves the others too, as long as it was begun after they were
last seen and last changed. A list is made at most each :data:`SPACING` seconds; who comes earlier and can pause is
told when to come back. An object that is waited for alone is shown, not listed; so is each as long as lists cannot be
had, since one bad object is enough for a service to break down over a list.

What is shared is apart by what the key of a :func:`group` says: service, endpoint, project, user.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any
from urllib.parse import unquote

from oslo_log import log as logging

from openkeel_heat.clients import patience

LOG = logging.getLogger(__name__)

#: Seconds between two lists of one group.
SPACING = 0.5
#: Who has not asked for so many seconds does not wait any more.
WAITING = 4.0
#: From so many on that are waited for, a list is better than showing each.
ENOUGH = 3
#: Seconds for which a service that broke down over a list is not asked for one.
NO_LISTS = 60.0
#: The longest pause of who waits for a list that somebody else is being given; less than WAITING.
LONGEST_PAUSE = 2.0
#: Changes that are remembered, and seconds between two looks for groups that are not needed any more.
CHANGES, TIDY = 10000, 30.0

Object = dict[str, Any]


class Listed(dict[str, Object]):
    """What a list had, by id. *complete*: what it was asked for and does not have is not there."""

    def __init__(self, objects: Mapping[str, Object], complete: bool) -> None:
        super().__init__(objects)
        self.complete = complete


class Group:
    """The objects of one kind in one project that somebody waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._listed: set[str] = set()
        #: What the last list had, for which objects it was meant (None: all there are), and when it was begun.
        self._objects: dict[str, Object] = {}
        self._meant: set[str] | None = set()
        self._complete = False
        self._begun = 0.0
        self._next = 0.0
        #: Since when somebody is being given a list; until when lists are not asked for.
        self._listing: float | None = None
        self._broken = 0.0

    def observe(
        self,
        id_: str,
        show: Callable[[], Object],
        list_all: Callable[[list[str]], Listed],
        gone: Callable[[], Exception],
        everything: bool = False,
        leaving: bool = False,
    ) -> Object:
        """The object *id_*, asked for alone by *show* or, with others, by *list_all*.

        *everything* says that complete lists have all that there is, and not only what they were asked for. *gone*
        makes the error for an object that was in an earlier list and is not in a later, complete one. One that is not
        in its first list is shown, as a list may be late to have what was just made; unless it is *leaving*.
        """
        now = time.monotonic()
        with self._lock:
            known, wanted, answered = self._decide(id_, now)
        if wanted is not None and (answered := self._listed_now(wanted, now, list_all, everything)):
            with self._lock:
                known = self._objects.get(id_)
        if known is None and self._disappeared(id_, answered and leaving):
            self.forget(id_)
            raise gone()
        if known is None:
            known = show()
        with self._lock:
            self._seen[id_] = max(now, self._seen.get(id_, 0.0))
        return known

    def forget(self, id_: str) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._drop(id_)

    def _decide(self, id_: str, now: float) -> tuple[Object | None, list[str] | None, bool]:
        """What is known already, the objects to be listed now if they are to be, and whether a list is the answer."""
        for other in [other for other, asked in self._asked.items() if asked < now - WAITING]:
            self._drop(other)
        since = max(self._seen.get(id_, 0.0), changed_at(id_)) or now
        self._seen.setdefault(id_, since)
        self._asked[id_] = now
        if self._begun > since and (self._meant is None or id_ in self._meant):
            self._seen[id_] = self._begun
            return self._objects.get(id_), None, True
        if len(self._asked) < ENOUGH or now < self._broken:
            return None, None, False
        if self._listing is not None or now < self._next:
            if patience.can_pause():
                # A list that takes long is not looked for ever more often by ever more.
                late = 0.0 if self._listing is None else min((now - self._listing) / 2, LONGEST_PAUSE)
                raise patience.ComeBack(max(self._next - now, late, 0.02))
            return None, None, False
        self._listing = now
        return None, list(self._asked), True

    def _listed_now(
        self, wanted: list[str], begun: float, list_all: Callable[[list[str]], Listed], everything: bool
    ) -> bool:
        """Whether there is a new list. Only who says "later" says it of the object, too."""
        try:
            self._list(wanted, begun, list_all, everything)
        except Exception as error:
            if patience.asked_pause(error) is not None:
                raise
            LOG.warning("What is in progress is shown one by one, as there is no list: %s", error)
            with self._lock:
                self._broken = time.monotonic() + NO_LISTS
            return False
        return True

    def _list(self, wanted: list[str], begun: float, list_all: Callable[[list[str]], Listed], everything: bool) -> None:
        found: Listed | None = None
        try:
            found = list_all(wanted)
        finally:
            with self._lock:
                self._listing = None
                self._next = time.monotonic() + SPACING
                if found is not None:
                    self._objects = found
                    self._complete = found.complete
                    self._meant = None if everything and found.complete else set(wanted)
                    self._listed |= found.keys() & self._asked.keys()
                    self._begun = begun

    def _disappeared(self, id_: str, at_once: bool) -> bool:
        with self._lock:
            if not self._complete or id_ in self._objects or self._begun <= changed_at(id_):
                return False
            return at_once or id_ in self._listed

    def _drop(self, id_: str) -> None:
        self._asked.pop(id_, None)
        self._seen.pop(id_, None)
        self._listed.discard(id_)

    def idle(self, now: float) -> bool:
        """Nobody waits for anything."""
        with self._lock:
            return all(asked < now - WAITING for asked in self._asked.values())


class _Process:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.groups: dict[Hashable, Group] = {}
        self.tidied = 0.0
        self.changes: OrderedDict[str, float] = OrderedDict()


_process = _Process()


def reset() -> None:
    """Forget who waits for what."""
    global _process
    _process = _Process()


os.register_at_fork(after_in_child=reset)


def group(key: Hashable) -> Group:
    """The group that is known by *key* in this process."""
    process = _process
    now = time.monotonic()
    with process.lock:
        if now > process.tidied + TIDY:
            process.tidied = now
            process.groups = {one: known for one, known in process.groups.items() if not known.idle(now)}
        return process.groups.setdefault(key, Group())


def changed(path: str) -> None:
    """A request has changed something at *path*: what was listed before does not tell of it."""
    process = _process
    now = time.monotonic()
    with process.lock:
        for part in map(unquote, path.split("?")[0].split("/")):
            process.changes[part] = now
            process.changes.move_to_end(part)
        while len(process.changes) > CHANGES:
            process.changes.popitem(last=False)


def changed_at(id_: str) -> float:
    return _process.changes.get(id_, 0.0)
