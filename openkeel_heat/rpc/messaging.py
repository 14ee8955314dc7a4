# SPDX-License-Identifier: Apache-2.0
"""The message bus of this process: set up once, used by clients, servers and the notifier.

``transport_url = fake://`` is a bus within the process (:mod:`openkeel_heat.rpc.local_bus`); every other URL is
oslo.messaging's affair. Whoever wants to see, count or break messages puts a :class:`Watcher` into ``watchers``.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from concurrent import futures
from typing import Any, Protocol

import oslo_messaging
from oslo_config import cfg
from oslo_log import log as logging
from oslo_messaging.rpc import dispatcher

from openkeel_heat.common import exceptions
from openkeel_heat.rpc import rabbit
from openkeel_heat.rpc.serializer import RequestContextSerializer

LOG = logging.getLogger(__name__)

CONTROL_EXCHANGE = "heat"
ALLOWED_REMOTE_EXMODS = [exceptions.WIRE_MODULE]


@dataclasses.dataclass(frozen=True)
class Message:
    """What is about to be sent, or was."""

    kind: str  # call, cast or notify
    topic: str
    method: str  # of a notification: its event type
    arguments: dict[str, Any]
    version: str | None = None
    server: str | None = None


class Watcher(Protocol):
    """Sees every message that this process sends. Raising in ``before_send`` keeps it from being sent; raising in
    ``after_send`` makes a message that was sent look as if it had failed."""

    def before_send(self, message: Message) -> None: ...

    def after_send(self, message: Message) -> None: ...


watchers: list[Watcher] = []


class _Bus:
    def __init__(self) -> None:
        self.transport: oslo_messaging.transport.RPCTransport | None = None
        self.notification_transport: Any = None
        self.notifier: oslo_messaging.Notifier | None = None
        self.clients: dict[tuple[str, str | None], Any] = {}
        self.lock = threading.Lock()


_bus = _Bus()


def setup(conf: cfg.ConfigOpts | None = None, url: str | None = None, optional: bool = False) -> None:
    """Connect this process to its bus; a second call does nothing until :func:`cleanup`.

    With *optional* a missing transport leaves the process without a bus (commands that need none).
    """
    conf = cfg.CONF if conf is None else conf
    with _bus.lock:
        if _bus.transport is not None:
            return
        oslo_messaging.set_transport_defaults(CONTROL_EXCHANGE)
        try:
            _bus.transport = _rpc_transport(conf, url)
        except oslo_messaging.InvalidTransportURL as error:
            if not optional or error.url:
                raise
            return
        _bus.notification_transport, _bus.notifier = _make_notifier(conf, url)


def _rpc_transport(conf: cfg.ConfigOpts, url: str | None) -> oslo_messaging.transport.RPCTransport:
    parsed = oslo_messaging.TransportURL.parse(conf, url)
    if parsed.transport == "fake":
        from openkeel_heat.rpc import local_bus

        return local_bus.make_transport(conf, parsed, ALLOWED_REMOTE_EXMODS)
    made = oslo_messaging.get_rpc_transport(conf, url, allowed_remote_exmods=ALLOWED_REMOTE_EXMODS)
    rabbit.tune(made)
    return made


def _make_notifier(conf: cfg.ConfigOpts, url: str | None) -> tuple[Any, oslo_messaging.Notifier | None]:
    """A notifier, or none where no driver is configured: notifications then cost nothing."""
    from oslo_messaging.notify import notifier

    conf.register_opts(notifier._notifier_opts, group="oslo_messaging_notifications")
    drivers = conf.oslo_messaging_notifications.driver
    if not drivers or set(drivers) == {"noop"}:
        return None, None
    transport: Any
    parsed = oslo_messaging.TransportURL.parse(conf, url or conf.oslo_messaging_notifications.transport_url)
    if parsed.transport == "fake":
        from openkeel_heat.rpc import local_bus

        transport = local_bus.make_notification_transport(conf, parsed)
    else:
        transport = oslo_messaging.get_notification_transport(conf, url, allowed_remote_exmods=ALLOWED_REMOTE_EXMODS)
    return transport, oslo_messaging.Notifier(transport, serializer=RequestContextSerializer())


def cleanup() -> None:
    """Leave the bus."""
    with _bus.lock:
        transports = [_bus.transport, _bus.notification_transport]
        _bus.transport = _bus.notification_transport = _bus.notifier = None
        _bus.clients = {}
    for transport in transports:
        if transport is not None:
            transport.cleanup()


def transport() -> oslo_messaging.transport.RPCTransport:
    if _bus.transport is None:
        raise RuntimeError("the message bus is not set up")
    return _bus.transport


def notifier() -> oslo_messaging.Notifier | None:
    """The notifier, or None where nobody configured a driver."""
    return _bus.notifier


def get_rpc_client(
    topic: str, version: str | None = None, server: str | None = None, **target: Any
) -> oslo_messaging.RPCClient:
    """An oslo.messaging client; :func:`send` is what our own clients use."""
    return oslo_messaging.get_rpc_client(
        transport(),
        oslo_messaging.Target(topic=topic, version=version, server=server, **target),
        serializer=RequestContextSerializer(),
    )


def get_server(
    target: oslo_messaging.Target, endpoints: Any, executor: str = "threading"
) -> oslo_messaging.rpc.server.RPCServer:
    """A server, not started, that answers with *endpoints* (one or a list); it refuses methods with a leading ``_``."""
    if not isinstance(endpoints, (list, tuple)):
        endpoints = [endpoints]
    server = oslo_messaging.get_rpc_server(
        transport(),
        target,
        list(endpoints),
        executor=executor,
        serializer=RequestContextSerializer(),
        access_policy=dispatcher.DefaultRPCAccessPolicy,
    )
    if executor == "threading" and hasattr(server, "_executor_cls"):
        # The threads of the usual pool wake up each second for nothing, and take that long to end.
        server._executor_cls = futures.ThreadPoolExecutor
    return server


get_rpc_server = get_server


def stop_servers(servers: Iterable[Any]) -> None:
    """Stop servers and wait until the messages that they have begun are done.

    All at once: a listener on a broker may need seconds to notice that it should end.
    """
    threads = [threading.Thread(target=_stop_server, args=(server,), name="rpc-stop") for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _stop_server(server: Any) -> None:
    try:
        server.stop()
        server.wait()
    except Exception:
        LOG.exception("A server did not stop")


def send(message: Message, ctxt: Any, timeout: float | None = None) -> Any:
    """Send *message*; a call waits for its answer (*timeout* seconds, or what the configuration says)."""
    for watcher in watchers:
        watcher.before_send(message)
    result = _send(message, ctxt, timeout)
    for watcher in watchers:
        watcher.after_send(message)
    return result


def _send(message: Message, ctxt: Any, timeout: float | None) -> Any:
    key = (message.topic, message.server)
    client = _bus.clients.get(key)
    if client is None:
        client = get_rpc_client(message.topic, server=message.server)
        if message.server is None:  # engines come and go, topics stay
            _bus.clients[key] = client
    options: dict[str, Any] = {"version": message.version}
    if timeout is not None:
        options["timeout"] = timeout
    prepared = client.prepare(**options)
    if message.kind == "cast":
        return prepared.cast(ctxt, message.method, **message.arguments)
    return prepared.call(ctxt, message.method, **message.arguments)
