# SPDX-License-Identifier: Apache-2.0
"""``heat-all``: API, CloudFormation API and engine in one process.

Without any configuration it keeps its SQLite database in ``--state-dir`` (default: the working directory), uses the
in-memory message bus and asks nobody for a token: for the quick start, for development and for tests. Each of the
three can be set otherwise in a configuration file; nothing here is a third way of running, the same applications
and the same engine are started as by ``heat-api``, ``heat-api-cfn`` and ``heat-engine``.
"""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import signal
import sys
import threading
from typing import Any

from oslo_config import cfg

from openkeel_heat.cmd import backend

PROG = "heat-all"
LOG = logging.getLogger(__name__)

#: The options whose defaults differ here.
EMBEDDED = (
    ("connection", "database"),
    ("transport_url", None),
    ("flavor", "paste_deploy"),
    ("auth_encryption_key", None),
    ("deferred_auth_method", None),
    ("keystone_backend", None),
    ("url", "clients_heat"),
    ("heat_metadata_server_url", None),
    ("heat_waitcondition_server_url", None),
)


def arguments(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The few options of this command; the rest is oslo.config's, which also ends the program after ``--help``."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        add_help=False,
        allow_abbrev=False,
        usage="%(prog)s [--state-dir DIR] [--no-cfn] [OPTION …]",
        description="API, CloudFormation API and engine in one process, for trying, developing and testing",
        epilog="It also takes the options that every command takes:",
    )
    parser.add_argument("--state-dir", metavar="DIR", default=os.getcwd(), help="database and key (working directory)")
    parser.add_argument("--no-cfn", action="store_true", help="without the CloudFormation API")
    options, rest = parser.parse_known_args(argv)
    if not {"-h", "--help"}.isdisjoint(rest):
        print(parser.format_help())
    return options, rest


def encryption_key(state_dir: str) -> str:
    """The key of this state directory, made at the first start: hidden values survive a restart."""
    path = os.path.join(state_dir, "encryption-key")
    if not os.path.exists(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(secrets.token_hex(16))
    with open(path) as lines:
        return lines.read().strip()


def private_database(state_dir: str) -> str:
    """The path of the database, which only its owner can read: SQLite gives the files beside it the same mode."""
    path = os.path.join(os.path.abspath(state_dir), "heat.sqlite")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return path


def set_defaults(conf: cfg.ConfigOpts, state_dir: str) -> None:
    """Stand alone wherever the configuration does not say otherwise."""
    import oslo_messaging

    from openkeel_heat.common import config

    os.makedirs(state_dir, exist_ok=True)
    conf.set_default("connection", f"sqlite:///{private_database(state_dir)}", group="database")
    oslo_messaging.TransportURL.parse(conf, "fake://")  # registers the option
    conf.set_default("transport_url", "fake://")
    conf.set_default("flavor", "noauth", group="paste_deploy")
    conf.set_default("auth_encryption_key", encryption_key(state_dir))
    conf.set_default("deferred_auth_method", "password")
    conf.set_default("keystone_backend", config.LOCAL_KEYSTONE)
    url = f"http://127.0.0.1:{conf.heat_api_cfn.bind_port}"
    conf.set_default("url", f"http://127.0.0.1:{conf.heat_api.bind_port}/v1/%(tenant_id)s", group="clients_heat")
    conf.set_default("heat_metadata_server_url", url)
    conf.set_default("heat_waitcondition_server_url", url + "/v1/waitcondition")


def clear_defaults(conf: cfg.ConfigOpts) -> None:
    """Undo :func:`set_defaults`, for a process that goes on without the service."""
    for name, group in EMBEDDED:
        conf.clear_default(name, group=group)


class Service:
    """Everything of one installation in this process; ``start()`` returns when it answers."""

    def __init__(self, conf: cfg.ConfigOpts, with_cfn: bool = True) -> None:
        self.conf = conf
        self.with_cfn = with_cfn
        self.engine: Any = None
        self.servers: list[Any] = []

    def start(self) -> Service:
        from openkeel_heat.api import paste, server
        from openkeel_heat.cmd import process
        from openkeel_heat.db import migrate, session

        # The database first: an engine that starts looks for work in it.
        session.configure(self.conf)
        migrate.sync()
        self.engine = process.make_engine(self.conf)
        self.engine.start()
        names = [("heat-api", "heat_api")] + ([("heat-api-cfn", "heat_api_cfn")] if self.with_cfn else [])
        for name, group in names:
            app = paste.load_app(name, self.conf)
            self.servers.append(server.server_from_conf(app, self.conf, group).start())
        return self

    def reset(self) -> None:
        from openkeel_heat.common import config

        config.reload(self.conf)
        if self.engine is not None:
            self.engine.reset()

    def stop(self) -> None:
        """Take no more requests, finish those begun, drain the engine."""
        for api in self.servers:
            api.stop(5)
        self.servers = []
        if self.engine is not None:
            self.engine.stop(graceful=True)
            self.engine.wait()
            self.engine = None


def main() -> int:
    backend.select()
    options, rest = arguments(sys.argv[1:])
    from openkeel_heat.api.server import CannotListen
    from openkeel_heat.cmd import process

    conf = process.config.setup(rest, PROG)
    set_defaults(conf, options.state_dir)
    process.messaging.setup(conf)
    service = Service(conf, with_cfn=not options.no_cfn)

    wake = threading.Event()
    received: list[int] = []

    def on_signal(signum: int, frame: object) -> None:
        received.append(signum)
        wake.set()

    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, on_signal)
    try:
        service.start()
    except CannotListen as error:
        LOG.critical("%s", error.strerror)
        service.stop()
        return 1
    LOG.info("Serving on port %s", conf.heat_api.bind_port)
    while True:
        wake.wait()
        wake.clear()
        while received:
            if received.pop(0) == signal.SIGHUP:
                service.reset()
            else:
                service.stop()
                return 0


if __name__ == "__main__":
    sys.exit(main())
