# SPDX-License-Identifier: Apache-2.0
"""A process with an engine in it, made to be killed.

Each life begins with a fork of the driver (which has imported everything and has no threads), configures an engine on
a database and the in-memory bus, and ends with :func:`os._exit` or with SIGKILL. The watchers
write one line per point they pass to a file that survives the kill.
"""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from openkeel_heat.cmd import all_in_one, backend
from openkeel_heat.common import config
from openkeel_heat.common.context import RequestContext
from openkeel_heat.db import migrate, session
from openkeel_heat.engine import service as _service  # noqa: F401 - imported before the forks, for speed
from openkeel_heat.engine.server import Engine
from openkeel_heat.resources.heat import resource_group as _group, test_resource as _resource  # noqa: F401
from openkeel_heat.rpc import messaging
from openkeel_heat.rpc.client import EngineClient
from tests.fixtures.checks import Database

backend.select([])

# Written by the clock, not by the work on stacks.
BACKGROUND = ("services.",)
OPTIONS = """[DEFAULT]
periodic_interval = 1
engine_life_check_timeout = 1
use_stderr = true
[database]
connection = {connection}
"""
SETTLE_SECONDS = 45.0


class Points(session.Watcher):
    """Counts commits and messages, before and after each; kills the process at one of them."""

    def __init__(self, log: pathlib.Path, die_at: int | None) -> None:
        self.descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.die_at = die_at
        self.count = 0
        self.lock = threading.Lock()

    def _pass(self, name: str) -> None:
        with self.lock:
            self.count += 1
            os.write(self.descriptor, f"{self.count} {name}\n".encode())
            if self.count == self.die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def before_commit(self, operation: str) -> None:
        if not operation.startswith(BACKGROUND):
            self._pass(f"before commit {operation}")

    def after_commit(self, operation: str) -> None:
        if not operation.startswith(BACKGROUND):
            self._pass(f"after commit {operation}")

    def before_send(self, message: messaging.Message) -> None:
        self._pass(f"before {message.kind} {message.method}")

    def after_send(self, message: messaging.Message) -> None:
        self._pass(f"after {message.kind} {message.method}")


class Life:
    """One engine process: its configuration, its engine, a client of it."""

    def __init__(self, folder: pathlib.Path, connection: str) -> None:
        self.folder = folder
        conf_file = folder / "heat.conf"
        conf_file.write_text(OPTIONS.format(connection=connection))
        cfg.CONF.reset()
        self.conf = config.setup(["--config-file", str(conf_file)], "heat-engine")
        all_in_one.set_defaults(self.conf, str(folder))
        messaging.setup(self.conf)
        session.configure(self.conf)
        if not (folder / "migrated").exists():
            migrate.sync()
            (folder / "migrated").touch()
        self.database = Database(connection)
        self.engine = Engine(self.conf)
        self.client = EngineClient()

    def context(self) -> RequestContext:
        return RequestContext(
            user_id="demo",
            username="demo",
            password="unset",
            project_id="demo",
            project_name="demo",
            roles=["admin"],
            is_admin=False,
        )

    def __enter__(self) -> Life:
        self.engine.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.engine.stop(graceful=True)
        self.engine.wait()
        session.dispose()

    def settle(self, seconds: float = SETTLE_SECONDS) -> list[str]:
        """Wait until nothing is in progress; what still is at the end of the time."""
        deadline = time.monotonic() + seconds
        quiet = 0
        while True:
            unrest = self.database.unrest()
            quiet = 0 if unrest else quiet + 1
            if quiet >= 2 or time.monotonic() > deadline:
                return unrest
            time.sleep(0.05)


def watch(points: Points) -> None:
    session.watchers.append(points)
    messaging.watchers.append(points)


def forked(work: Callable[[], None], log: pathlib.Path) -> int:
    """Run ``work`` in a forked process; its exit code, negative where a signal ended it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def identity(row: dict[str, Any]) -> dict[str, str]:
    return {"tenant": row["tenant"], "stack_name": row["name"], "stack_id": row["id"], "path": ""}
