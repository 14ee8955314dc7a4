# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::SwiftSignal and its handle: signals that are versions of an object in Swift."""

from __future__ import annotations

from typing import Any
from urllib import parse

from oslo_log import log as logging
from oslo_serialization import jsonutils

from openkeel_heat.common import clock, exceptions as exception, signal_body
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

# What the Swift client puts into the object of a new handle.
_IN_PROGRESS = b"in progress"


class SwiftSignalFailure(exception.Error):
    """A signal said that something failed."""

    def __init__(self, wait_cond: SwiftSignal) -> None:
        super().__init__(";".join(map(str, wait_cond.get_status_reason(wait_cond.STATUS_FAILURE))))


class SwiftSignalTimeout(exception.Error):
    """Not enough signals came in time."""

    def __init__(self, wait_cond: SwiftSignal) -> None:
        reasons = wait_cond.get_status_reason(wait_cond.STATUS_SUCCESS)
        text = _("%(len)d of %(count)d received") % {
            "len": len(reasons),
            "count": wait_cond.properties[wait_cond.COUNT],
        }
        if reasons:
            text = _("%(received)s - %(reasons)s") % {"received": text, "reasons": ";".join(map(str, reasons))}
        super().__init__(text)


class SwiftSignalHandle(Resource):
    """Receives signals at a temporary URL of Swift, so that whoever signals needs no credentials.

    Its reference is the URL. Each PUT to it is another version of the object.
    """

    support_status = support.SupportStatus(version="2014.2")

    default_client_name = "swift"

    # Container and object are the same each time.
    repeatable_create = True

    properties_schema = {}

    ATTRIBUTES = (TOKEN, ENDPOINT, CURL_CLI) = ("token", "endpoint", "curl_cli")

    attributes_schema = {
        TOKEN: attributes.Schema(
            _("Always empty: no token is needed. Handles of other kinds have one."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
        ENDPOINT: attributes.Schema(
            _("The URL to put signals to."), cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING
        ),
        CURL_CLI: attributes.Schema(
            _(
                'A curl command that signals when --data-binary is added to it, with \'{"status": "SUCCESS"}\' or '
                '\'{"status": "FAILURE"}\'.'
            ),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
    }

    def handle_create(self) -> Any:
        name = self.physical_resource_name()
        self.data_set(self.ENDPOINT, self.client_plugin().get_signal_url(self.stack.id, name))
        self.resource_id_set(name)

    def _resolve_attribute(self, name: str) -> Any:
        if not self.resource_id:
            return None
        if name == self.TOKEN:
            return ""
        endpoint = self.data().get(self.ENDPOINT)
        if name == self.ENDPOINT:
            return endpoint
        return "curl -i -X PUT '%s'" % endpoint if name == self.CURL_CLI else None

    def handle_delete(self) -> Any:
        plugin = self.client_plugin()
        swift, container, name = plugin.client(), self.stack.id, self.physical_resource_name()
        with plugin.ignore_not_found:
            # Each deletion brings back the version before.
            while True:
                swift.delete_object(container, name)
        # Others of the stack may have objects in it still.
        with plugin.ignore_conflict_and_not_found:
            swift.delete_container(container)
        self.data_delete(self.ENDPOINT)

    def get_reference_id(self) -> Any:
        return self.data().get(self.ENDPOINT)


class SwiftSignal(Resource):
    """Is created when enough signals of success have come to its handle.

    A signal of failure fails it, and so does the timeout.
    """

    support_status = support.SupportStatus(version="2014.2")

    default_client_name = "swift"

    # Nothing is made: waiting begins anew.
    repeatable_create = True

    PROPERTIES = (HANDLE, TIMEOUT, COUNT) = ("handle", "timeout", "count")

    ATTRIBUTES = (DATA_ATTR,) = ("data",)

    properties_schema = {
        HANDLE: properties.Schema(properties.Schema.STRING, required=True, description=_("The URL of the handle.")),
        TIMEOUT: properties.Schema(
            properties.Schema.NUMBER,
            description=_("Seconds to wait for the signals."),
            required=True,
            constraints=[constraints.Range(1, 43200)],
        ),
        COUNT: properties.Schema(
            properties.Schema.INTEGER,
            description=_("Number of signals of success to wait for."),
            default=1,
            constraints=[constraints.Range(1, 1000)],
        ),
    }

    attributes_schema = {
        DATA_ATTR: attributes.Schema(
            _("The data of the signals by their ids, as JSON text."), type=attributes.Schema.STRING
        ),
    }

    WAIT_STATUSES = (STATUS_FAILURE, STATUS_SUCCESS) = ("FAILURE", "SUCCESS")

    METADATA_KEYS = (DATA, REASON, STATUS, UNIQUE_ID) = ("data", "reason", "status", "id")

    @property
    def url(self) -> parse.ParseResult:
        return parse.urlparse(self.properties[self.HANDLE])

    @property
    def obj_name(self) -> str:
        return self.url.path.split("/")[4]

    def _validate_handle_url(self) -> None:
        """It must be the URL of an object in the container of this stack."""
        path = self.url.path
        wrong = None
        if not self.client_plugin().is_valid_temp_url_path(path):
            wrong = "Swift TempURL path"
        elif path.split("/")[3] != self.stack.id:
            wrong = "container name"
        if wrong:
            raise ValueError(
                _('"%(url)s" is not a valid SwiftSignalHandle.  The %(part)s is invalid') % {"url": path, "part": wrong}
            )

    def handle_create(self) -> Any:
        self._validate_handle_url()
        return clock.utcnow(), float(self.properties[self.TIMEOUT])

    def can_resume_polling(self, action: str) -> bool:
        return False

    def _bodies(self) -> list[bytes]:
        """The texts that were put to the URL, oldest first."""
        plugin = self.client_plugin()
        swift, found = plugin.client(), []
        entries: list[dict[str, Any]] = []
        with plugin.ignore_not_found:
            entries = swift.get_container(self.stack.id)[1]
        for entry in entries:
            # The handles of a stack share its container.
            if self.obj_name not in entry["name"]:
                continue
            with plugin.ignore_not_found:
                signal_body.check_size(entry.get("bytes"))
                body = swift.get_object(self.stack.id, entry["name"])[1]
                found.append(body if isinstance(body, bytes) else body.encode())
        return [body for body in found if body != _IN_PROGRESS]

    def get_signals(self) -> list[dict[str, Any]]:
        """The signals that have come, complete; of those with one id the last."""
        try:
            return self._read_signals()
        except signal_body.Unreadable as ex:
            raise exception.Error(str(ex)) from ex

    def _read_signals(self) -> list[dict[str, Any]]:
        signals: list[dict[str, Any]] = []
        for number, body in enumerate(self._bodies(), 1):
            signal = signal_body.read(body)
            if not isinstance(signal, dict) or isinstance(signal.get(self.UNIQUE_ID), dict | list):
                raise signal_body.Unreadable(_("Failed to parse JSON data: %s") % body.decode())
            if self.UNIQUE_ID in signal:
                signals = [other for other in signals if other[self.UNIQUE_ID] != signal[self.UNIQUE_ID]]
            unique_id = signal.setdefault(self.UNIQUE_ID, number)
            signal.setdefault(self.DATA, None)
            signal.setdefault(self.REASON, "Signal %s received" % unique_id)
            signal.setdefault(self.STATUS, self.STATUS_SUCCESS)
            signals.append(signal)
        return signals

    def get_status(self) -> list[str]:
        return [signal[self.STATUS] for signal in self.get_signals()]

    def get_status_reason(self, status: str) -> list[str]:
        return [signal[self.REASON] for signal in self.get_signals() if signal[self.STATUS] == status]

    def get_data(self) -> dict[Any, Any] | None:
        return {signal[self.UNIQUE_ID]: signal[self.DATA] for signal in self.get_signals()} or None

    def check_create_complete(self, create_data: tuple[Any, float]) -> bool:
        started_at, timeout = create_data
        if clock.seconds_since(started_at) > timeout:
            raise SwiftSignalTimeout(self)
        statuses = self.get_status()
        for status in statuses:
            if status == self.STATUS_FAILURE:
                failure = SwiftSignalFailure(self)
                LOG.info("%(name)s Failed (%(failure)s)", {"name": self, "failure": failure})
                raise failure
            if status != self.STATUS_SUCCESS:
                raise exception.Error(_("Unknown status: %s") % status)
        return len(statuses) >= self.properties[self.COUNT]

    def _resolve_attribute(self, name: str) -> Any:
        return jsonutils.dumps(self.get_data()) if name == self.DATA_ATTR else None


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Heat::SwiftSignal": SwiftSignal,
        "OS::Heat::SwiftSignalHandle": SwiftSignalHandle,
    }
