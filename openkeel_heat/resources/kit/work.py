# SPDX-License-Identifier: Apache-2.0
"""Works of several steps, for handlers that have to wait in between.

``handle_delete`` makes it, ``check_delete_complete`` goes on with it::

    def handle_delete(self):
        return Work(self._start_backup, self._is_backed_up, self._start_deletion, self._is_gone)

    def check_delete_complete(self, work):
        return work.go_on()

A step is called until it answers something else than ``False``; what it raises leaves it where it is, so an error
that only asks for patience (:mod:`openkeel_heat.clients.patience`) has the same step called again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


class Work:
    def __init__(self, *steps: Step) -> None:
        self._todo = list(steps)

    def then(self, *steps: Step) -> None:
        """Do these right after the step that is being done."""
        self._todo[1:1] = steps

    def last(self, *steps: Step) -> None:
        """Do these after all that is to be done."""
        self._todo += steps

    def go_on(self) -> bool:
        """Do steps until one has to wait; true when all are done."""
        while self._todo:
            if self._todo[0]() is False:
                return False
            del self._todo[0]
        return True
