# SPDX-License-Identifier: Apache-2.0
"""A message bus within the process, for ``transport_url = fake://``.

Messages go to a listener in the thread of the sender (the listener's server hands them to its own threads); no thread
polls, none waits. What nobody listens to is kept until somebody does. Messages pass through JSON and errors through the
form in which they would travel, so that what works here works on a broker.
"""

from __future__ import annotations

import collections
import copy
import json
import queue
import threading
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging import transport as oslo_transport
from oslo_messaging._drivers import base, common as rpc_common
from oslo_serialization import jsonutils

#: Messages without a listener that are kept per queue; older ones are dropped.
BACKLOG = 10_000


class _Incoming(base.RpcIncomingMessage):
    def __init__(self, queue_: _Queue, ctxt: Any, message: Any, replies: queue.SimpleQueue[Any] | None) -> None:
        super().__init__(ctxt, message)
        self._queue = queue_
        self._replies = replies

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        if self._replies is None:
            return
        if failure:
            self._replies.put((None, rpc_common.serialize_remote_exception(failure)))
        else:
            self._replies.put((jsonutils.dumps(reply), None))

    def requeue(self) -> None:
        self._queue.put(self)

    def heartbeat(self) -> None:
        """There is nobody to tell."""


class _Queue:
    """Messages for whoever listens, in turn."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: collections.deque[_Incoming] = collections.deque(maxlen=BACKLOG)
        self._listeners: collections.deque[_Listener] = collections.deque()

    def put(self, message: _Incoming) -> None:
        with self._lock:
            listener = self._next()
            if listener is None:
                self._waiting.append(message)
                return
        listener.deliver(message)

    def _next(self) -> _Listener | None:
        if not self._listeners:
            return None
        self._listeners.rotate(-1)
        return self._listeners[-1]

    def attach(self, listener: _Listener) -> None:
        with self._lock:
            self._listeners.append(listener)
            waiting, self._waiting = list(self._waiting), collections.deque(maxlen=BACKLOG)
        for message in waiting:
            self.put(message)

    def detach(self, listener: _Listener) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def __len__(self) -> int:
        return len(self._waiting)


class _Listener(base.Listener):
    def __init__(self, queues: list[_Queue], batch_size: int, batch_timeout: float) -> None:
        super().__init__(batch_size, batch_timeout)
        self._queues = queues

    def start(self, on_incoming_callback: Any) -> None:
        super().start(on_incoming_callback)
        for each in self._queues:
            each.attach(self)

    def deliver(self, message: _Incoming) -> None:
        callback = self.on_incoming_callback
        if callback is None:
            message.requeue()
        else:
            callback([message])

    def stop(self) -> None:
        for each in self._queues:
            each.detach(self)
        super().stop()

    def cleanup(self) -> None:
        """Nothing is held."""


class Bus:
    """All queues of one URL."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[tuple[str, str, str | None], _Queue] = {}

    def queue(self, exchange: str, topic: str, server: str | None = None) -> _Queue:
        with self._lock:
            return self._queues.setdefault((exchange, topic, server), _Queue())

    def queues_of(self, exchange: str, topic: str) -> list[_Queue]:
        """One per server, for messages to all."""
        with self._lock:
            return [found for key, found in self._queues.items() if key[:2] == (exchange, topic) and key[2]]

    def backlog(self) -> int:
        with self._lock:
            return sum(len(found) for found in self._queues.values())

    def clear(self) -> None:
        with self._lock:
            self._queues.clear()


_buses: dict[str, Bus] = {}


def bus(url: str = "fake:///") -> Bus:
    """The bus of a URL; every transport of the process with that URL shares it."""
    return _buses.setdefault(url, Bus())


class Driver(base.BaseDriver):
    def __init__(self, conf: Any, url: Any, default_exchange: str, allowed_remote_exmods: list[str]) -> None:
        super().__init__(conf, url, default_exchange, allowed_remote_exmods)
        self.bus = bus(str(url))

    def require_features(self, requeue: bool = False) -> None:
        """It has them all."""

    def send(
        self,
        target: oslo_messaging.Target,
        ctxt: Any,
        message: Any,
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        call_monitor_timeout: float | None = None,
        retry: int | None = None,
        transport_options: Any = None,
    ) -> Any:
        replies: queue.SimpleQueue[Any] | None = queue.SimpleQueue() if wait_for_reply else None
        self._deliver(target, ctxt, message, replies)
        if replies is None:
            return None
        try:
            reply, failure = replies.get(timeout=timeout)
        except queue.Empty:
            raise oslo_messaging.MessagingTimeout(f"No reply on topic {target.topic}") from None
        if failure is not None:
            raise rpc_common.deserialize_remote_exception(failure, self._allowed_remote_exmods)
        return json.loads(reply)

    def send_notification(
        self, target: oslo_messaging.Target, ctxt: Any, message: Any, version: Any, retry: int | None = None
    ) -> None:
        self._deliver(target, ctxt, message, None)

    def _deliver(self, target: Any, ctxt: Any, message: Any, replies: Any) -> None:
        exchange = target.exchange or self._default_exchange
        if target.fanout:
            queues = self.bus.queues_of(exchange, target.topic)
        else:
            queues = [self.bus.queue(exchange, target.topic, target.server)]
        text = jsonutils.dumps(message)
        for each in queues:
            each.put(_Incoming(each, copy.copy(ctxt), json.loads(text), replies))

    def listen(self, target: oslo_messaging.Target, batch_size: int, batch_timeout: float) -> _Listener:
        exchange = target.exchange or self._default_exchange
        queues = [self.bus.queue(exchange, target.topic)]
        if target.server:
            queues.append(self.bus.queue(exchange, target.topic, target.server))
        return _Listener(queues, batch_size, batch_timeout)

    def listen_for_notifications(
        self, targets_and_priorities: Any, pool: Any, batch_size: int, batch_timeout: float
    ) -> _Listener:
        queues = [
            self.bus.queue(target.exchange or self._default_exchange, f"{target.topic}.{priority}")
            for target, priority in targets_and_priorities
        ]
        return _Listener(queues, batch_size, batch_timeout)

    def cleanup(self) -> None:
        self.bus.clear()


def make_transport(
    conf: cfg.ConfigOpts, url: oslo_messaging.TransportURL, exmods: list[str]
) -> oslo_transport.RPCTransport:
    return oslo_transport.RPCTransport(Driver(conf, url, conf.control_exchange, exmods))


def make_notification_transport(conf: cfg.ConfigOpts, url: oslo_messaging.TransportURL) -> Any:
    return oslo_transport.NotificationTransport(Driver(conf, url, conf.control_exchange, []))
