# SPDX-License-Identifier: Apache-2.0
"""The update of a resource: in place, or not at all, or the finding that it has to be replaced."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.exceptions import UpdateReplace
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import acting, break_points
from openkeel_heat.resources.kit.steps import Lifecycle, Lock, Step, mark_failed, note, touch, transition

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)


def update(
    resource: Resource,
    after: Any,
    before: Any = None,
    *,
    new_class: type | None = None,
    new_template_id: int | None = None,
    new_requires: set[int] | None = None,
    prev_resource: Any = None,
) -> Lifecycle:
    """Update in place to the bound definition ``after``, or raise ``UpdateReplace``.

    ``before`` defaults to ``resource.frozen_definition()``; ``new_class`` is the class of the
    type that ``after`` names.
    """
    successor = yield from _before_update(resource, new_class)
    if before is None:
        before = resource.frozen_definition()
    if (yield from _external_update(resource, after, new_template_id)):
        return
    after_props, before_props = resource._prepare_update_props(after, before)
    yield from break_points.stop_if_set(resource, "UPDATE", "pre-update")
    needed = yield from _decide_update(resource, after, before, after_props, before_props, prev_resource)
    if successor is not None:
        # Its replacement came to nothing and it stays, although this is no rollback: of a nested stack none ever is.
        resource.replaced_by = successor
        yield from _restore(resource)
    if not needed:
        updated = (
            resource.state == ("UPDATE", "COMPLETE")
            and resource.stack.action != "ROLLBACK"
            and resource.current_template_id == new_template_id
        )
        yield from _unchanged(resource, new_template_id)
        if updated:  # by an engine that died before it came to this
            yield from break_points.stop_if_set(resource, "UPDATE", "post-update")
        return
    LOG.info("updating %s", resource)
    resource.updated_time = clock.utcnow()
    if new_requires is not None:
        resource.requires = resource.requires | set(new_requires)
    yield from acting.recorded(
        resource,
        "UPDATE",
        lambda: update_in_place(resource, after, before, after_props, before_props, new_template_id, new_requires),
        expected=(UpdateReplace,),
    )
    yield from break_points.stop_if_set(resource, "UPDATE", "post-update")


def _before_update(resource: Resource, new_class: type | None) -> Generator[Step, Any, int | None]:
    """The key of a replacement that was to come after this resource, which has got back nothing of it yet."""
    if new_class is not None and new_class is not resource.__class__:
        restricted = resource.stack.env.registry.get_rsrc_restricted_actions(resource.name)
        if "replace" in restricted:
            refused = exception.ResourceActionRestricted(action="replace")
            yield note(resource, "UPDATE", "FAILED", str(refused))
            raise exception.ResourceFailure(refused, resource, "UPDATE")
        raise UpdateReplace(resource.name)
    stack = resource.stack
    if stack.action == "ROLLBACK" and stack.status == "IN_PROGRESS" and resource.replaced_by:
        yield from _restore(resource)
    successor, resource.replaced_by = resource.replaced_by, None
    return successor


def _restore(resource: Resource) -> Lifecycle:
    """Give back what was taken from the resource for its replacement."""
    try:
        started = resource.restore_prev_rsrc(convergence=True)
        yield from acting.poll(resource, "restore_prev_rsrc", "restore_prev_rsrc", started)
    except (exception.UpdateInProgress, GeneratorExit):
        raise
    except Exception as ex:
        failure = exception.ResourceFailure(ex, resource, resource.action)
        yield mark_failed(resource, "UPDATE", str(failure), Lock.NONE)
        raise failure from ex
    resource.replaced_by = None


def _external_update(resource: Resource, after: Any, new_template_id: int | None) -> Generator[Step, Any, bool]:
    """Whether that was all: external resources are not updated."""
    external_id = after.external_id()
    if resource.external_id != external_id:
        text = _("Update to property %(prop)s of %(name)s (%(res)s)") % {
            "prop": "external_id",
            "res": resource.type(),
            "name": resource.name,
        }
        raise exception.ResourceFailure(exception.NotSupported(feature=text), resource, "UPDATE")
    if external_id is None:
        return False
    yield from _unchanged(resource, new_template_id)
    return True


def _unchanged(resource: Resource, new_template_id: int | None) -> Lifecycle:
    """Note that the resource is as the new template wants it."""
    if new_template_id is not None:
        resource.current_template_id = new_template_id
    if resource.status == "FAILED":
        reason = _("Update status to COMPLETE for FAILED resource neither update nor replace.")
        yield transition(resource, resource.action, "COMPLETE", reason, Lock.RESPECT)
    elif new_template_id is not None:
        yield touch(resource, Lock.RESPECT)


def _decide_update(
    resource: Resource, after: Any, before: Any, after_props: Any, before_props: Any, prev_resource: Any
) -> Generator[Step, Any, bool]:
    restricted = resource.stack.env.registry.get_rsrc_restricted_actions(resource.name)
    try:
        if restricted:
            return resource._check_restricted_actions(
                restricted, after, before, after_props, before_props, prev_resource
            )
        return resource._needs_update(after, before, after_props, before_props, prev_resource)
    except UpdateReplace:
        if _prepares_replacement(resource):
            yield touch(resource, Lock.ACQUIRE)
            yield from _prepare_for_replace(resource, Lock.RELEASE)
            yield touch(resource, Lock.RELEASE)
        raise
    except exception.ResourceActionRestricted as ex:
        yield note(resource, "UPDATE", "FAILED", str(ex))
        raise exception.ResourceFailure(ex, resource, "UPDATE") from ex


def _prepares_replacement(resource: Resource) -> bool:
    from openkeel_heat.resources.kit.updates import Updates

    return type(resource).prepare_for_replace is not Updates.prepare_for_replace


def _prepare_for_replace(resource: Resource, lock: Lock) -> Lifecycle:
    if not _prepares_replacement(resource):
        return
    try:
        started = resource.prepare_for_replace()
        yield from acting.poll(resource, "prepare_for_replace", "prepare_for_replace", started)
    except (exception.UpdateInProgress, GeneratorExit):
        raise
    except Exception as ex:
        failure = exception.ResourceFailure(ex, resource, "UPDATE")
        yield mark_failed(resource, "UPDATE", str(failure), lock)
        raise failure from ex


def update_in_place(
    resource: Resource,
    after: Any,
    before: Any,
    after_props: Any,
    before_props: Any,
    new_template_id: int | None,
    new_requires: set[int] | None,
) -> Lifecycle:
    yield from acting.patiently(after_props.validate)
    resource.properties = before_props
    tmpl_diff = resource.update_template_diff(after.freeze(), before)
    resource.old_template_id = resource.current_template_id
    try:
        if tmpl_diff and resource.needs_replace_with_tmpl_diff(tmpl_diff):
            raise UpdateReplace(resource)  # type: ignore[arg-type]
        prop_diff = resource.update_template_diff_properties(after_props, before_props)
        if new_template_id is not None:
            resource.current_template_id = new_template_id
        yield from acting.handle(resource, "UPDATE", [after, tmpl_diff, prop_diff])
    except UpdateReplace:
        resource.current_template_id = resource.old_template_id
        resource.old_template_id = None
        yield from _prepare_for_replace(resource, Lock.NONE)
        raise
    resource.t = after
    resource.reparse()
    resource._update_stored_properties()
    if new_requires is not None:
        resource.requires = set(new_requires)
