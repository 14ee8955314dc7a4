# SPDX-License-Identifier: Apache-2.0
"""One engine: RPC servers, scheduler, convergence, heartbeat; started, stopped and drained as a whole.

=========================  ==================  =====================================================================
topic                      server              what comes
=========================  ==================  =====================================================================
``engine``                 ``[DEFAULT] host``  operations of the API and of other engines (``engine/service``)
``engine_worker``          the engine's id     nodes to process (``engine/convergence/worker``)
``heat-engine-listener``   the engine's id     are you alive, cancel what you do for a stack
=========================  ==================  =====================================================================
"""

from __future__ import annotations

import collections
import threading
import uuid
from collections.abc import Callable, Generator, Hashable
from typing import Any

import oslo_messaging
from oslo_log import log as logging

from openkeel_heat.engine.convergence.core import Convergence
from openkeel_heat.engine.convergence.interfaces import ConvergenceApi
from openkeel_heat.engine.convergence.recovery import Recovery
from openkeel_heat.engine.heartbeat import Heartbeat
from openkeel_heat.engine.scheduler import Scheduler

LOG = logging.getLogger(__name__)

MAX_THREADS = 32
#: Seconds that work under way has to end by itself when the engine is told to stop.
DRAIN_SECONDS = 5.0


class Listener:
    """Endpoint of ``heat-engine-listener``."""

    RPC_API_VERSION = "1.1"
    target = oslo_messaging.Target(version=RPC_API_VERSION)

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def listening(self, ctxt: Any) -> bool:
        """Yes."""
        return True

    def stop_stack(self, ctxt: Any, stack_identity: Any) -> None:
        """Cancel all that is done here for a stack."""
        self._cancel(stack_identity)

    def send(self, ctxt: Any, stack_identity: Any, message: str) -> None:
        """``cancel`` or ``cancel_with_rollback``: the nodes here end; what follows is decided by who asked."""
        self._cancel(stack_identity)

    def _cancel(self, stack_identity: Any) -> None:
        from openkeel_heat.engine.convergence.driver import Cancelled

        self._engine._hub.cancel_visits(stack_identity["stack_id"], Cancelled())


class Engine:
    """A heat-engine. Several may live in one process, each with its own id.

    ``engine = Engine(conf); engine.start(); …; engine.stop(); engine.wait()``. After ``stop(graceful=True)`` no message
    is taken any more, work that ends soon ends, the rest is left to other engines, and no thread remains.
    """

    def __init__(self, conf: Any, engine_id: str | None = None) -> None:
        self.conf = conf
        self.engine_id = engine_id or str(uuid.uuid4())
        threads = min(MAX_THREADS, getattr(conf, "executor_thread_pool_size", MAX_THREADS) or MAX_THREADS)
        self.scheduler = Scheduler(threads, f"engine-{self.engine_id[:8]}")
        from openkeel_heat.rpc.worker_client import WorkerClient

        self._hub = Convergence(self.engine_id, self.scheduler, WorkerClient())
        self.convergence: ConvergenceApi = self._hub
        self.recovery = Recovery(self._hub)
        self.heartbeat = Heartbeat(self.scheduler, self.engine_id, conf.host, "engine", conf.periodic_interval)
        self._servers: list[Any] = []
        self._listener: Any = None
        self._queues: dict[Hashable, collections.deque[tuple[Callable[..., Any], tuple[Any, ...]]]] = {}
        self._queues_lock = threading.Lock()
        self._stopped = threading.Event()
        self._stopping = threading.Lock()
        self._started = False

    # life -------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Heartbeat first, then answer, then look for work that others left."""
        from openkeel_heat.engine.convergence.worker import WorkerService
        from openkeel_heat.engine.operations import runtime
        from openkeel_heat.engine.service import EngineService
        from openkeel_heat.rpc import methods

        LOG.info("Starting engine %s", self.engine_id)
        self._enlarge_pool()
        self.heartbeat.start()
        self._listener = self._serve(methods.LISTENER, self.engine_id, Listener(self), Listener.RPC_API_VERSION)
        worker = WorkerService(self._hub)
        self._servers.append(self._serve(methods.WORKER, self.engine_id, worker, worker.RPC_API_VERSION))
        service: Any = EngineService(self)
        service.target = oslo_messaging.Target(version=service.RPC_API_VERSION)
        runtime.register(self)
        self._servers.append(self._serve(methods.ENGINE, self.conf.host, service, service.RPC_API_VERSION))
        self.recovery.start()
        self._started = True

    @staticmethod
    def _serve(topic: str, server: str, endpoint: Any, version: str) -> Any:
        from openkeel_heat.rpc import messaging

        running = messaging.get_server(oslo_messaging.Target(topic=topic, server=server, version=version), [endpoint])
        running.start()
        return running

    def _enlarge_pool(self) -> None:
        """Each thread that works may need a connection."""
        wanted = getattr(self.conf, "executor_thread_pool_size", 0) or 0
        try:
            if (self.conf.database.max_overflow or 0) < wanted:
                self.conf.set_override("max_overflow", wanted, group="database")
        except Exception as exc:
            LOG.debug("The size of the connection pool stays as it is: %s", exc)

    def stop(self, graceful: bool = True) -> None:
        """Take no more work and end; returns when all is released."""
        with self._stopping:
            if self._stopped.is_set():
                return
            LOG.info("Stopping engine %s", self.engine_id)
            from openkeel_heat.engine.operations import runtime
            from openkeel_heat.rpc import messaging

            hub = self._hub
            hub.draining = True
            self.recovery.stop()
            messaging.stop_servers(self._servers)
            if graceful:
                self.scheduler.drain(DRAIN_SECONDS)
            left = hub.under_way()
            self.scheduler.stop(DRAIN_SECONDS)
            runtime.unregister(self)  # not before: what ends meanwhile may still make or delete nested stacks
            hub.flush()
            self.heartbeat.stop()
            if graceful and left:
                self._hand_over(left)
            if self._listener is not None:
                messaging.stop_servers([self._listener])
            self._stopped.set()
            LOG.info("Engine %s has stopped", self.engine_id)

    def _hand_over(self, visits: list[Any]) -> None:
        """Call others for what was not finished; the locks are known to be nobody's now."""
        LOG.info("Leaving %d nodes to other engines", len(visits))
        for visit in visits:
            found = self._hub.traversals.get(visit.traversal_id)
            if found is not None and not visit.stale:
                self._hub.cast(found, visit)

    def wait(self) -> None:
        """Until ``stop`` has finished."""
        self._stopped.wait()

    def reset(self) -> None:
        """The configuration was read again; what is read at use needs nothing."""
        LOG.info("Engine %s goes on with the configuration read again", self.engine_id)

    # for operations ---------------------------------------------------------------------------------------------
    def run_later(self, key: Hashable, function: Callable[..., Any], *args: Any) -> None:
        """Run a function soon on a thread of the engine; those of one key in order, errors are logged."""
        with self._queues_lock:
            queue = self._queues.get(key)
            if queue is not None:
                queue.append((function, args))
                return
            self._queues[key] = collections.deque([(function, args)])
        self.scheduler.call(self._run_queue, key)

    def run_task(self, generator: Generator[Any, Any, Any]) -> None:
        """Take the steps of a generator on the engine's threads; errors are logged."""
        self.scheduler.submit(generator)

    def _run_queue(self, key: Hashable) -> None:
        with self._queues_lock:
            function, args = self._queues[key].popleft()
        try:
            function(*args)
        except Exception:
            LOG.exception("Unhandled error in %s", getattr(function, "__name__", function))
        with self._queues_lock:
            if self._queues[key]:
                more = True
            else:
                del self._queues[key]
                more = False
        if more:
            self.scheduler.call(self._run_queue, key)
