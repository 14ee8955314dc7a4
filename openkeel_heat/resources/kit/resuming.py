# SPDX-License-Identifier: Apache-2.0
"""Resuming after the death of an engine.

A row found IN_PROGRESS under a dead engine is given to :func:`resume_action`,
which answers a generator or raises :class:`CannotResume` (the caller then fails
the resource so that the next traversal replaces it). A physical object is never made twice:

* DELETE, CHECK, SUSPEND, RESUME, SNAPSHOT are run again from the start: their
  handlers find what is already done.
* CREATE (and ADOPT): with a physical id stored, polling goes on where it stopped:
  ``check_create_complete`` is called with ``resource.handler_data_on_resume('CREATE')``
  (the physical id unless the type says otherwise). Without one,
  ``resource.find_physical()`` looks for an object of the deterministic physical name
  (derived from the row's uuid). Types with ``repeatable_create`` have a
  ``handle_create`` that may simply run again. Everything else cannot be resumed.
* UPDATE: types with ``repeatable_update`` run the whole update again: stored
  properties are still those of before, so the difference is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import acting, break_points, deleting, updating
from openkeel_heat.resources.kit.steps import Lifecycle

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource


class CannotResume(Exception):
    """The plugin cannot tell the state of its object: fail it, so that it is replaced."""


def resume_action(
    resource: Resource, after: Any = None, *, new_template_id: int | None = None, new_requires: set[int] | None = None
) -> Lifecycle:
    """Go on with the action that ``resource.record`` shows IN_PROGRESS, or raise CannotResume.

    The driver has put its own engine id into the row. ``after`` and what follows are
    needed for UPDATE only. Raises before the first step, never in between. Handlers see
    ``resource.resumed``.
    """
    resource.resumed = True
    action = resource.action
    if action in ("CREATE", "ADOPT"):
        return _resume_create(resource, action)
    if action == "UPDATE":
        if not resource.repeatable_update or after is None:
            raise CannotResume(_("update of %s") % resource.name)
        return _resume_update(resource, after, new_template_id, new_requires)
    if action == "DELETE":
        return deleting.delete_from(resource, started=True)
    if action in ("CHECK", "SUSPEND", "RESUME", "SNAPSHOT"):
        return _repeat(resource, action)
    raise CannotResume(action)


def _resume_create(resource: Resource, action: str) -> Lifecycle:
    resource.reparse()
    if resource.resource_id is None:
        found = resource.find_physical()
        if found is not None:
            resource.resource_id_set(found)
    if resource.resource_id is not None and resource.can_resume_polling(action):
        handler_data = resource.handler_data_on_resume(action)

        def body() -> Lifecycle:
            yield from acting.poll(resource, action.lower(), action.lower(), handler_data)
    elif resource.repeatable_create and action == "CREATE":

        def body() -> Lifecycle:
            yield from acting.handle(resource, action)
    else:
        raise CannotResume(_("%(action)s of %(name)s") % {"action": action, "name": resource.name})
    return _resumed_create(resource, action, body)


def _resumed_create(resource: Resource, action: str, body: Callable[[], Lifecycle]) -> Lifecycle:
    yield from acting.recorded(resource, action, body, started=True)
    if resource.stack.action == "CREATE" and action == "CREATE":
        yield from break_points.stop_if_set(resource, "CREATE", "post-create")


def _resume_update(
    resource: Resource, after: Any, new_template_id: int | None, new_requires: set[int] | None
) -> Lifecycle:
    before = resource.frozen_definition()
    after_props, before_props = resource._prepare_update_props(after, before)

    def body() -> Lifecycle:
        yield from updating.update_in_place(
            resource, after, before, after_props, before_props, new_template_id, new_requires
        )

    yield from acting.recorded(resource, "UPDATE", body, expected=(UpdateReplace,), started=True)
    yield from break_points.stop_if_set(resource, "UPDATE", "post-update")


def _repeat(resource: Resource, action: str) -> Lifecycle:
    with resource.frozen_properties():
        yield from acting.recorded(resource, action, lambda: acting.handle(resource, action), started=True)
    if action == "SNAPSHOT":
        resource.stack.store.save_snapshot(resource, resource.stack.current_traversal, resource.snapshot_data())
