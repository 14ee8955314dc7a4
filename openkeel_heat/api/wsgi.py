# SPDX-License-Identifier: Apache-2.0
"""WSGI names for uWSGI, gunicorn and mod_wsgi.

``heat.wsgi.api:application`` is `api_application` and ``heat.wsgi.cfn:application`` is `cfn_application`.  Importing
this module costs nothing: the configuration is read and the pipeline built when the first request comes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

CONFIG_FLAGS = ("--config-file", "--config-dir")


def arguments(argv: Sequence[str]) -> list[str]:
    """What of a container's command line is meant for the service.

    Some hand over arguments of ours (``pyargv`` of uWSGI), others leave their own there (gunicorn). Arguments that name
    our configuration are the first kind.
    """
    ours = any(word in CONFIG_FLAGS or word.startswith(tuple(f"{flag}=" for flag in CONFIG_FLAGS)) for word in argv)
    return list(argv) if ours else []


def init_application(prog: str = "heat-api") -> Callable[..., Any]:
    """Read the configuration as program `prog`, set up messaging and load its pipeline."""
    from oslo_service import backend

    if backend.get_backend_type() is None:
        # The container gives us native threads, unless somebody has chosen otherwise before.
        backend.init_backend(backend.BackendType.THREADING)
    from oslo_config import cfg

    from openkeel_heat.api import paste
    from openkeel_heat.common import config, profiler
    from openkeel_heat.rpc import messaging
    from openkeel_heat.template import limits

    cfg.CONF.reset()
    config.setup(arguments(sys.argv[1:]), prog)
    limits.configure(limits.from_options(cfg.CONF))
    messaging.setup(cfg.CONF)
    profiler.setup(prog, cfg.CONF.host)
    return paste.load_app(prog, cfg.CONF)


class LazyApplication:
    """A WSGI application made when it is first called (once, whatever the number of threads)."""

    def __init__(self, prog: str) -> None:
        self.prog = prog
        self._app: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        app = self._app
        if app is None:
            with self._lock:
                app = self._app
                if app is None:
                    app = self._app = init_application(self.prog)
        return app(environ, start_response)


api_application = LazyApplication("heat-api")
cfn_application = LazyApplication("heat-api-cfn")
