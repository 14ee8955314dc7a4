# SPDX-License-Identifier: Apache-2.0
"""Break points: where a resource stops until a user clears the hook that its environment sets.

Only the row tells whether a break point was reached and cleared, so that an engine that takes over after another's
death neither waits again at one that was cleared nor passes one that was not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oslo_log import log as logging

from openkeel_heat.resources.kit.steps import HookPause, Lifecycle, note

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

#: How often a break point is looked at without anybody waking the resource, in seconds.
HOOK_PAUSE = 1.0

HOOK_CLEARED = "Hook %s is cleared"
HOOK_FAILED = "Failure occurred while waiting."


def stop_if_set(resource: Resource, action: str, hook: str) -> Lifecycle:
    """Stop at a break point of the environment until a user clears it.

    An engine may have died here before: a break point that was cleared is passed, one that was not is waited at.
    """
    if not resource.stack.env.registry.matches_hook(resource.name, hook):
        return
    paused = "%s paused until Hook %s is cleared" % (action, hook)
    last = resource.stack.store.last_event(resource, [paused, HOOK_CLEARED % hook])
    if last == HOOK_CLEARED % hook:
        return
    if last is None:
        # One write: a user who sees the break point, by its event or by its data, may clear it at once.
        reached = note(resource, resource.action, resource.status, paused)
        reached.data.append((hook, "True", False))
        yield reached
    LOG.info("Reached hook on %s", resource)
    yield from _wait_for_hook(resource, hook)


def _wait_for_hook(resource: Resource, hook: str) -> Lifecycle:
    while resource.has_hook(hook):
        try:
            yield HookPause(HOOK_PAUSE, ("hook", resource.id), hook)
        except GeneratorExit:
            raise
        except BaseException as ex:
            resource.stack.store.clear_hook(resource, hook, HOOK_FAILED)
            if not isinstance(ex, Exception):
                raise
