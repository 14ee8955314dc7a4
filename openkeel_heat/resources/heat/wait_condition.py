# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::WaitCondition: waits for signals to a handle."""

from __future__ import annotations

from typing import Any

from oslo_log import log as logging
from oslo_serialization import jsonutils

from openkeel_heat.common import clock
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support, wait_condition as base
from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

Waiting = tuple[Any, Any, float]


class HeatWaitCondition(Resource):
    """Is created when enough signals of success have come to its handle.

    A signal of failure fails it, and so does the timeout.
    """

    support_status = support.SupportStatus(version="2014.2")

    # Nothing is made: waiting begins anew.
    repeatable_create = True

    PROPERTIES = (HANDLE, TIMEOUT, COUNT) = ("handle", "timeout", "count")

    ATTRIBUTES = (DATA,) = ("data",)

    properties_schema = {
        HANDLE: properties.Schema(
            properties.Schema.STRING, _("Reference to the handle that is signalled."), required=True
        ),
        TIMEOUT: properties.Schema(
            properties.Schema.NUMBER,
            _("Seconds to wait for the signals."),
            required=True,
            constraints=[constraints.Range(1, 43200)],
        ),
        COUNT: properties.Schema(
            properties.Schema.INTEGER,
            _("Number of signals of success to wait for."),
            constraints=[constraints.Range(min=1)],
            default=1,
            update_allowed=True,
        ),
    }

    attributes_schema = {
        DATA: attributes.Schema(
            _("The data of the signals by their ids, as JSON text."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
    }

    _handle: Any = None

    def _get_handle_resource(self) -> Any:
        return self.stack.resource_by_refid(self.properties[self.HANDLE])

    def _validate_handle_resource(self, handle: Any) -> None:
        if isinstance(handle, base.BaseWaitConditionHandle):
            return
        LOG.debug("Got %r instead of wait condition handle", handle)
        name = handle.name if handle else self.properties[self.HANDLE]
        raise ValueError(_("%s is not a valid wait condition handle.") % name)

    def wake_key(self) -> Any:
        return None if self._handle is None else ("resource", self._handle.id)

    def _start(self, handle: Any) -> Waiting:
        self._handle = handle
        return handle, clock.utcnow(), float(self.properties[self.TIMEOUT])

    def _wait(self, handle: Any, started_at: Any, timeout_in: float) -> bool:
        if clock.seconds_since(started_at) > timeout_in:
            timeout = base.WaitConditionTimeout(self, handle)
            LOG.info("%(name)s Timed out (%(timeout)s)", {"name": self, "timeout": timeout})
            raise timeout
        statuses = handle.get_status()
        if any(status != handle.STATUS_SUCCESS for status in statuses):
            failure = base.WaitConditionFailure(self, handle)
            LOG.info("%(name)s Failed (%(failure)s)", {"name": self, "failure": failure})
            raise failure
        return len(statuses) >= self.properties[self.COUNT]

    def handle_create(self) -> Waiting:
        handle = self._get_handle_resource()
        self._validate_handle_resource(handle)
        return self._start(handle)

    def check_create_complete(self, data: Waiting) -> bool:
        return self._wait(*data)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Waiting:
        if prop_diff:
            self.properties = json_snippet.properties(self.properties_schema, self.context)
        return self._start(self._get_handle_resource())

    def check_update_complete(self, data: Waiting) -> bool:
        return self._wait(*data)

    def handle_delete(self) -> None:
        handle = self._get_handle_resource()
        if handle:
            handle.metadata_set({})

    def _resolve_attribute(self, name: str) -> Any:
        handle = self._get_handle_resource()
        if handle is None:
            return ""
        if name != self.DATA:
            return None
        signals = handle.metadata_get(refresh=True)
        return jsonutils.dumps({key: signal[handle.DATA] for key, signal in signals.items()})


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::WaitCondition": HeatWaitCondition}
