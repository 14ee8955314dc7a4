# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging's RabbitMQ driver, fitted to a service whose messages are small and many.

Nothing of what crosses the wire changes, nor what happens when a connection breaks; only the work that the driver does
around each message when all is well, and what becomes of messages that reach a server which is about to end. Where the
installed driver is not the one known here, it is left as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

#: Seconds that an idle listener waits at a time. The driver begins with a millisecond after each message and doubles
#: it up to five seconds: a dozen wake-ups for nothing, and five seconds to notice a stop.
LISTEN_SPELL = 1.0


def tune(transport: Any) -> None:
    """Fit the driver of *transport*; those of other brokers stay as they are."""
    names = ("amqpdriver", "impl_rabbit", "amqp")
    amqp, rabbit, context = (sys.modules.get(f"oslo_messaging._drivers.{name}") for name in names)
    if amqp is None or rabbit is None:
        return
    for name in ("ACK_REQUEUE_EVERY_SECONDS_MIN", "ACK_REQUEUE_EVERY_SECONDS_MAX"):
        if hasattr(amqp, name):
            setattr(amqp, name, LISTEN_SPELL)
    received: Any = getattr(context, "RpcContext", None)
    if received is not None and "to_dict" not in vars(received):
        # Its values were read from a message just now and are nobody else's: no need to copy each token's catalogue.
        received.to_dict = lambda self: dict(self.values)
    listener: Any = getattr(amqp, "RpcAMQPListener", None)
    if listener is not None:
        leave_what_comes_late(listener)
    pool: Any = getattr(getattr(transport, "_driver", None), "_connection_pool", None)
    connection: Any = getattr(rabbit, "Connection", None)
    if connection is not None and getattr(pool, "connection_cls", None) is connection:
        pool.connection_cls = direct_connection(connection)


def leave_what_comes_late(listener: Any) -> None:
    """Let a listener that has stopped acknowledge nothing.

    The broker goes on delivering until the connection is closed, and closing it reads what has come. The driver
    acknowledges that, and nobody looks at it: the caller waits in vain. What is not acknowledged goes to another.
    """
    receive = listener.__call__
    if getattr(receive, "leaves_what_comes_late", False):
        return

    def received(self: Any, message: Any) -> None:
        if not self._shutoff.is_set():
            receive(self, message)

    received.leaves_what_comes_late = True  # type: ignore[attr-defined]
    listener.__call__ = received


@cache
def direct_connection(base: Any) -> Any:
    """The driver's class of connections, going straight to work on a channel that is open."""

    class DirectConnection(base):  # type: ignore[misc]
        #: The socket whose timeouts are those of a connection at work.
        _settled_socket: Any = None

        def ensure(self, method: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
            """Run *method*; what goes wrong is handled as if the driver had run it."""
            if self.channel is None or self._initial_pid != os.getpid():
                return super().ensure(method, *args, **kwargs)
            try:
                return method()
            except Exception as error:
                failed: list[Exception] = [error]

            def first_fail() -> Any:
                if failed:
                    raise failed.pop()
                return method()

            return super().ensure(first_fail, *args, **kwargs)

        def set_transport_socket_timeout(self, timeout: float | None = None) -> None:
            """Set it on the socket unless it is set; a heartbeat's time is the most that the driver ever waits."""
            longest = self.heartbeat_timeout_threshold
            usual = longest > 0 and (timeout is None or timeout >= longest)
            sock = getattr(getattr(self.channel, "connection", None), "sock", None)
            if usual and sock is not None and sock is self._settled_socket:
                return
            self._settled_socket = None
            super().set_transport_socket_timeout(timeout)
            if usual:
                self._settled_socket = sock

    return DirectConnection
