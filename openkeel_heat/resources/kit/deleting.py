# SPDX-License-Identifier: Apache-2.0
"""The deletion of a resource, as its deletion policy says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.resources.kit import acting, break_points
from openkeel_heat.resources.kit.steps import Lifecycle, Pause

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)


def delete(resource: Resource) -> Lifecycle:
    """Delete as the deletion policy says. The row itself is removed by the driver."""
    if resource.state == ("DELETE", "COMPLETE"):
        if resource.stack.action == "DELETE":
            yield from break_points.stop_if_set(resource, "DELETE", "post-delete")
        return
    if resource.action == "INIT":
        return
    yield from delete_from(resource, started=False)


def delete_from(resource: Resource, started: bool) -> Lifecycle:
    initial_state = resource.state
    deleting_stack = resource.stack.action == "DELETE"
    if deleting_stack and not started:
        yield from break_points.stop_if_set(resource, "DELETE", "pre-delete")
    LOG.info("deleting %s", resource)
    if resource.record.stored_properties is not None:
        # What the template refers to may be gone: work with what was stored.
        resource.properties = resource.frozen_definition().properties(resource.properties_schema, resource.context)
        resource.translate_properties(resource.properties, ignore_resolve_error=True)
    yield from acting.recorded(resource, "DELETE", lambda: _delete_by_policy(resource, initial_state), started=started)
    if deleting_stack:
        yield from break_points.stop_if_set(resource, "DELETE", "post-delete")


def _delete_by_policy(resource: Resource, initial_state: tuple[str, str]) -> Lifecycle:
    if resource.abandon_in_progress:
        yield from acting.handle(resource, "ABANDON")  # a nested stack is let go as the one that holds it
        return
    policy = resource.t.deletion_policy()
    if policy == "Retain":
        return
    args, prefix = ([initial_state], "snapshot") if policy == "Snapshot" else ([], None)
    limit = acting.retry_limit()
    attempt = 0
    while True:
        LOG.info("delete %(name)s attempt %(attempt)d", {"name": resource, "attempt": attempt + 1})
        if attempt:
            yield Pause(clock.backoff(attempt, jitter=2.0))
        try:
            yield from acting.handle(resource, "DELETE", args, prefix)
            return
        except Exception as ex:
            again = attempt < limit and (
                isinstance(ex, exception.PhysicalResourceExists) or resource._default_client_plugin().is_conflict(ex)
            )
            if not again:
                raise
        attempt += 1
