# SPDX-License-Identifier: Apache-2.0
"""Runs engines in worker processes: forked after the imports, replaced when they die, drained on SIGTERM.

With native threads cotyledon is the parent of the workers: it forks them, starts a new one for each that dies, hands
SIGTERM on and waits ``graceful_shutdown_timeout`` for their end; when the parent itself is killed its workers stop
by themselves. SIGHUP reads the configuration again in parent and workers; nothing is restarted. With eventlet the
launcher of oslo.service does the same in its way.
"""

from __future__ import annotations

import logging
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, Protocol

from oslo_config import cfg

from openkeel_heat.common import config

LOG = logging.getLogger(__name__)


class Worker(Protocol):
    """What runs in a worker process."""

    def start(self) -> None: ...

    def stop(self, graceful: bool = True) -> None: ...

    def wait(self) -> None: ...

    def reset(self) -> None: ...


def report_on_signal(conf: cfg.ConfigOpts) -> None:
    """SIGUSR2 writes a report of threads, greenlets and configuration, as all OpenStack services do."""

    def handler(signum: int, frame: Any) -> None:
        from oslo_reports import guru_meditation_report as gmr, opts

        from openkeel_heat.common import version

        opts.set_defaults(conf)
        gmr.TextGuruMeditation.handle_signal(version, conf.prog, conf.oslo_reports.log_dir, frame)

    signal.signal(signal.SIGUSR2, handler)


def run(conf: cfg.ConfigOpts, make: Callable[[], Worker], count: int, backend: str) -> int:
    """Run ``count`` workers made by ``make`` (called in the worker process) until told to stop."""
    if backend == "eventlet":
        return _run_eventlet(conf, make, count)
    return _run_cotyledon(conf, make, count)


def _run_cotyledon(conf: cfg.ConfigOpts, make: Callable[[], Worker], count: int) -> int:
    import cotyledon
    from oslo_service import opts

    opts.register_service_opts(conf)

    class Process(cotyledon.Service):
        name = "engine"
        graceful_shutdown_timeout = conf.graceful_shutdown_timeout

        def __init__(self, worker_id: Any) -> None:
            super().__init__(worker_id)
            report_on_signal(conf)  # here is the main thread of the worker process, run() has another
            self.worker: Worker | None = None

        def run(self) -> None:
            try:
                self.worker = make()
                self.worker.start()
                self.worker.wait()
            except Exception:
                LOG.critical("The engine could not be started", exc_info=True)
                traceback.print_exc()
                sys.exit(1)

        def terminate(self) -> None:
            if self.worker is not None:
                self.worker.stop(graceful=True)

        def reload(self) -> None:
            config.reload(conf)
            if self.worker is not None:
                self.worker.reset()

    manager = cotyledon.ServiceManager(graceful_shutdown_timeout=conf.graceful_shutdown_timeout)
    manager.register_hooks(on_reload=lambda: config.reload(conf))
    manager.add(Process, workers=count)
    try:
        manager.run()
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else 0
    return 0


def _run_eventlet(conf: cfg.ConfigOpts, make: Callable[[], Worker], count: int) -> int:
    from oslo_service import service

    class Process(service.ServiceBase):  # type: ignore[misc]
        def __init__(self) -> None:
            self.worker: Worker | None = None

        def start(self) -> None:
            report_on_signal(conf)
            self.worker = make()
            self.worker.start()

        def stop(self) -> None:
            if self.worker is not None:
                self.worker.stop(graceful=True)

        def wait(self) -> None:
            if self.worker is not None:
                self.worker.wait()

        def reset(self) -> None:
            if self.worker is not None:
                self.worker.reset()

    launcher = service.launch(conf, Process(), workers=count, restart_method="mutate")
    return launcher.wait() or 0
