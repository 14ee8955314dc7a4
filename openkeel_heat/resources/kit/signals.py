# SPDX-License-Identifier: Apache-2.0
"""The part of a resource that receives signals."""

from __future__ import annotations

from collections.abc import Generator
from types import GeneratorType
from typing import Any, cast

from oslo_log import log as logging

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.record import ResourceStatus
from openkeel_heat.resources.kit.updates import Updates

LOG = logging.getLogger(__name__)

HOOK_TYPES = ("pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete")


class NoActionRequired(Exception):
    """Raised by ``handle_signal`` of a type that ignores this signal: no event is written."""

    def __init__(self, res_name: str = "Unknown", reason: str = "") -> None:
        super().__init__(
            _("The resource %(res)s could not perform scaling action: %(reason)s") % {"res": res_name, "reason": reason}
        )


def _signal_text(details: Any) -> str:
    if details is None:
        return "No signal details provided"
    if isinstance(details, str):
        return details
    if isinstance(details, dict) and all(key in details for key in ("previous", "current", "reason")):
        return "alarm state changed from %(previous)s to %(current)s (%(reason)s)" % details
    return "Unknown"


class Signals(Updates):
    """Signals, and the break points that users clear through them."""

    # Actions during which a signal is refused.
    no_signal_actions: tuple[str, ...] = (ResourceStatus.SUSPEND, ResourceStatus.DELETE)

    # Whether all resources of the stack get metadata_update() after a signal.
    signal_needs_metadata_updates = True

    def frozen_properties(self) -> Any:
        raise NotImplementedError

    def signal(self, details: Any = None, need_check: bool = True) -> bool:
        """Take a signal; True when metadata of the whole stack needs updating. Returns when it is handled."""
        from openkeel_heat.resources.kit import stepwise

        return bool(stepwise.run(cast(Any, self), self._signalling(details, need_check)))

    def signalling(self, details: Any = None, need_check: bool = True) -> Generator[Any, None, bool]:
        """The same in steps, with the pauses of a ``handle_signal`` that is a generator."""
        if type(self).signal is not Signals.signal:
            return self.signal(details, need_check)
        return (yield from self._signalling(details, need_check))

    def _signalling(self, details: Any, need_check: bool) -> Generator[Any, None, bool]:
        unset = bool(details) and "unset_hook" in details
        if need_check and unset:
            self._signal_check_hook(details)
        if unset:
            self._unset_hook(details)
            return False
        if need_check:
            self._signal_check_action()
        with self.frozen_properties():
            yield from self._handle_signal(details)
        return self.signal_needs_metadata_updates

    def _signal_check_action(self) -> None:
        if self.action in self.no_signal_actions:
            self._add_event(self.action, self.status, "Cannot signal resource during %s" % self.action)
            raise exception.NotSupported(feature=_("Signal resource during %s") % self.action)

    def _signal_check_hook(self, details: Any) -> None:
        if not details or "unset_hook" not in details:
            return
        hook = details["unset_hook"]
        if hook not in HOOK_TYPES:
            text = _('Invalid hook type "%(hook)s" for %(resource)s')
        elif not self.has_hook(hook):
            text = _('The "%(hook)s" hook is not defined on %(resource)s')
        else:
            return
        raise exception.InvalidBreakPointHook(message=text % {"hook": hook, "resource": str(self)})

    def _unset_hook(self, details: Any) -> None:
        hook = details["unset_hook"]
        LOG.info("Clearing %(hook)s hook on %(resource)s", {"hook": hook, "resource": self})
        self.stack.store.clear_hook(self, hook, "Hook %s is cleared" % hook)

    def _handle_signal(self, details: Any) -> Generator[Any, None, None]:
        handler = getattr(self, "handle_signal", None)
        if not callable(handler):
            raise exception.ResourceActionNotSupported(action="signal")
        try:
            result = handler(details)
            if isinstance(result, GeneratorType):
                result = yield from result
            self._add_event("SIGNAL", self.status, "Signal: %s" % result if result else _signal_text(details))
        except NoActionRequired:
            pass
        except Exception as ex:
            if hasattr(self, "_db_res_is_deleted"):
                return
            LOG.info("signal %(name)s : %(msg)s", {"name": self, "msg": ex}, exc_info=True)
            raise exception.ResourceFailure(ex, self) from ex
