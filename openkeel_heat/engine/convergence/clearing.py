# SPDX-License-Identifier: Apache-2.0
"""What recovery clears away of stacks that are gone, or never came to be: credentials, and the project of their users.

Another engine may just be about it; and a Keystone that refuses need not be asked all the time. After a day whatever is
left of a deleted stack stays.
"""

from __future__ import annotations

import datetime
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import clock
from openkeel_heat.db import recovery
from openkeel_heat.engine import credentials

LOG = logging.getLogger(__name__)

LONG = datetime.timedelta(days=1)
SELDOM = 6  # every so many looks Keystone is asked again
RARELY = 360  # every so many looks credentials are looked for that no stack has


class Clearing:
    """The looks of one engine."""

    def __init__(self) -> None:
        self._looks = 0
        self._uncleaned: dict[str, int] = {}

    def look(self, context: Any) -> None:
        self._looks += 1
        since = clock.utcnow() - LONG
        self._uncleaned = {one: self._uncleaned.get(one, 0) + 1 for one in recovery.uncleaned(since)}
        for stack_id, looks in self._uncleaned.items():
            if looks in (2, 3) or looks % SELDOM == 0:
                try:
                    _clean_again(context, stack_id)
                except Exception:
                    LOG.exception("What is left of the deleted stack %s could not be cleared away", stack_id)
        if self._looks % RARELY == 2:
            for creds_id in recovery.ownerless_credentials(since):
                try:
                    credentials.discard_ownerless(context, creds_id)
                except Exception:
                    LOG.exception("Credentials %s, which no stack has, could not be cleared away", creds_id)


def context_of(stack: Any) -> Any:
    """The stored context of a stack's owner; an admin's where there is none."""
    try:
        context = stack.stored_context()
    except Exception as exc:
        LOG.debug("Stack %s has no usable credentials: %s", stack.id, exc)
        return stack.context
    return context


def _clean_again(context: Any, stack_id: str) -> None:
    """What an engine did not come to, or Keystone would not do, after the stack was deleted."""
    from openkeel_heat.engine.stack import Stack

    stack = Stack.load(context, stack_id)
    LOG.info("Project and credentials of the deleted stack %s are still there", stack.name)
    credentials.cleanup(context_of(stack), stack)
