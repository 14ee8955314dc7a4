# SPDX-License-Identifier: Apache-2.0
"""The steps that every daemon takes before it works: configuration, logging, messaging, database."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from openkeel_heat.common import config, profiler
from openkeel_heat.rpc import messaging
from openkeel_heat.template import limits

# What each worker needs in any case. Importing it before the fork lets the workers share the memory.
ENGINE_MODULES = (
    "openkeel_heat.engine.server",
    "oslo_messaging._drivers.impl_rabbit",
    "pymysql",
)


def setup(argv: Sequence[str], prog: str) -> cfg.ConfigOpts:
    """Read the configuration as program ``prog``, set logging and messaging up."""
    conf = config.setup(list(argv), prog)
    limits.configure(limits.from_options(conf))
    messaging.setup(conf)
    profiler.setup(prog, conf.host)
    return conf


def preload_engine() -> None:
    for name in ENGINE_MODULES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # a driver that this installation does not use
    keep_what_there_is()


def keep_what_there_is() -> None:
    """Tell the garbage collector that what was made so far stays.

    It need not walk through hundreds of thousands of objects of modules again and again, and the memory that workers
    share with their parent remains shared.
    """
    gc.collect()
    gc.freeze()


def make_engine(conf: cfg.ConfigOpts) -> Any:
    """An engine of this process, not started."""
    from openkeel_heat.db import session
    from openkeel_heat.engine.server import Engine

    limits.configure(limits.from_options(conf))
    session.configure(conf)
    engine = Engine(conf)
    keep_what_there_is()
    return engine


def serve_api(argv: Sequence[str], prog: str, group: str) -> int:
    """Run an API daemon until told to stop; its exit code."""
    from openkeel_heat.api import paste, server

    conf = setup(argv, prog)

    def make_app() -> Any:
        app = paste.load_app(prog, conf)
        keep_what_there_is()
        return app

    return server.serve(conf, group, make_app)
