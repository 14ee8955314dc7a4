# SPDX-License-Identifier: Apache-2.0
"""What every action of a resource is made of: its handler, the polling that follows, and the states around them.

:func:`act` is a whole action. :func:`recorded` is IN_PROGRESS, a body, then COMPLETE or FAILED; :func:`handle` calls
``handle_<action>`` and then ``check_<action>_complete`` until it is true, at pauses that grow up to the type's poll
interval. A service that says "later" (:mod:`openkeel_heat.clients.patience`) is asked again after what it asked for,
less and less often, for two minutes in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.clients import patience
from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.kit.steps import Lifecycle, Lock, Pause, mark_failed, transition

if TYPE_CHECKING:
    from openkeel_heat.resources.kit.resource import Resource

LOG = logging.getLogger(__name__)

FIRST_PAUSE = 0.05
PAUSE_FACTOR = 2.0

#: Seconds in a row for which a service may say "later" before that is a failure.
LONGEST_PATIENCE = 120.0
#: The longest of these pauses, unless the service asks for a longer one.
LONGEST_PAUSE = 8.0


def recorded(
    resource: Resource,
    action: str,
    body: Callable[[], Lifecycle],
    expected: tuple[type[Exception], ...] = (),
    started: bool = False,
) -> Lifecycle:
    """IN_PROGRESS, the body, then COMPLETE or FAILED. ``started``: the row already says IN_PROGRESS.

    Expected exceptions leave the resource COMPLETE and are raised again.
    """
    if not started:
        yield transition(resource, action, "IN_PROGRESS", lock=Lock.ACQUIRE)
    try:
        yield from body()
    except (exception.UpdateInProgress, GeneratorExit):
        # Lost the row, or the engine stops: whoever has the row goes on.
        raise
    except expected as ex:
        yield transition(resource, action, "COMPLETE", str(ex), Lock.RELEASE)
        raise
    except Exception as ex:
        LOG.info("%(action)s: %(info)s", {"action": action, "info": resource}, exc_info=True)
        failure = exception.ResourceFailure(ex, resource, action)
        yield mark_failed(resource, action, str(failure))
        raise failure from ex
    except BaseException as ex:
        text = "%s aborted" % action
        if str(ex):
            text += " (%s)" % ex
        yield mark_failed(resource, action, text)
        raise
    yield transition(resource, action, "COMPLETE", lock=Lock.RELEASE)


def act(
    resource: Resource, action: str, pre_func: Callable[[], Any] | None = None, resource_data: Any = None
) -> Lifecycle:
    def body() -> Lifecycle:
        if pre_func is not None:
            yield from patiently(pre_func)
        yield from handle(resource, action, [] if resource_data is None else [resource_data])

    yield from recorded(resource, action, body)


def handle(resource: Resource, action: str, args: Iterable[Any] = (), prefix: str | None = None) -> Lifecycle:
    """``handle_<action>``, then ``check_<action>_complete`` until it is true."""
    name = action.lower()
    handler_name = "%s_%s" % (prefix.lower(), name) if prefix else name
    handler = getattr(resource, "handle_%s" % handler_name, None)
    if not callable(handler):
        return
    args = list(args)
    waited = 0.0
    while True:
        try:
            with patience.may_pause(_may_repeat(resource, name)):
                # A handler may have changed what it was given before it met the error.
                handler_data = handler(*(dict(arg) if isinstance(arg, dict) else arg for arg in args))
            break
        except StopIteration as ex:
            raise RuntimeError("Plugin method raised StopIteration") from ex
        except Exception as ex:
            seconds, waited = pause_asked(ex, waited)
        yield Pause(seconds)
    yield from poll(resource, name, handler_name, handler_data)


def patiently(call: Callable[[], Any]) -> Lifecycle:
    """Call it until no service says "later"."""
    waited = 0.0
    while True:
        try:
            with patience.may_pause():
                call()
            return
        except Exception as ex:
            seconds, waited = pause_asked(ex, waited)
        yield Pause(seconds)


def _may_repeat(resource: Resource, name: str) -> bool:
    """Whether a handler may be called again after a service said "later" to it; as after the death of an engine."""
    if name == "create":
        return resource.repeatable_create
    return resource.repeatable_update if name == "update" else True


def pause_asked(error: Exception, waited: float) -> tuple[float, float]:
    """Seconds after which to call again what raised *error*, and those waited for in all; or raises it."""
    seconds = patience.asked_pause(error)
    if seconds is None or waited > LONGEST_PATIENCE:
        raise error
    if isinstance(error, patience.ComeBack):
        return seconds, waited
    # The longer a service is away, the less it is asked.
    seconds = max(seconds, FIRST_PAUSE, min(waited / 2, LONGEST_PAUSE))
    return seconds, waited + seconds


def poll(resource: Resource, name: str, handler_name: str, handler_data: Any) -> Lifecycle:
    check = getattr(resource, "check_%s_complete" % name, None)
    if not callable(check):
        return
    from openkeel_heat.resources.kit.resource import PollDelay

    pause = FIRST_PAUSE
    interval = resource.poll_interval
    waited = 0.0
    try:
        while True:
            resource.poll_after = None
            try:
                with patience.may_pause():
                    if check(handler_data):
                        return
                seconds = pause if resource.poll_after is None else resource.poll_after
                waited = 0.0
                pause = min(pause * PAUSE_FACTOR, interval)
            except PollDelay as delay:
                seconds = delay.period * interval
            except StopIteration as ex:
                raise RuntimeError("Plugin method raised StopIteration") from ex
            except Exception as ex:
                seconds, waited = pause_asked(ex, waited)
            yield Pause(max(seconds, 0.0), resource.wake_key())
    except (Exception, GeneratorExit):
        raise
    except BaseException:
        canceller = getattr(resource, "handle_%s_cancel" % handler_name, None)
        if callable(canceller):
            try:
                canceller(handler_data)
            except Exception:
                LOG.exception("Error cancelling resource %s", handler_name)
        raise


def invalid_state(resource: Resource, action: str, text: str) -> exception.ResourceFailure:
    return exception.ResourceFailure(exception.Error(text % str(resource.state)), resource, action)


def retry_limit() -> int:
    return max(cfg.CONF.action_retry_limit, 0)
