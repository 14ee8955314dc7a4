# SPDX-License-Identifier: Apache-2.0
"""Engines as processes that are quick to start: forked from one that has imported everything and has no threads.

    with Nursery(conf, folder) as nursery:
        nursery.start("one", seed=7, messages=True)
        nursery.kill("one")

``Faults`` loses, doubles and delays the messages that engines send each other about nodes (``messages``), and ends the
process at a commit or message (``mortal``); the seed chooses.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import pathlib
import random
import signal
import threading
import time
import traceback
from typing import Any

from tests.fixtures.polling import until

LOSE, DOUBLE, LATE = 0.15, 0.15, 0.3
LATE_SECONDS = 1.0
#: Commits and messages after which a mortal engine dies, counted twice each: before and after.
LIFE = (20, 160)
METHODS = ("check_resource", "cancel_check_resource")


class Faults:
    """Stands before the sending of messages of this process, and beside its commits."""

    def __init__(self, seed: int, messages: bool, mortal: bool) -> None:
        self.random = random.Random(seed)
        self.messages = messages
        self.lock = threading.Lock()
        self.left = self.random.randint(*LIFE) if mortal else 0

    def _pass(self, operation: str = "") -> None:
        if operation.startswith("services."):  # by the clock, not by work
            return
        with self.lock:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def before_commit(self, operation: str) -> None:
        self._pass(operation)

    def after_commit(self, operation: str) -> None:
        self._pass(operation)

    def statement(self, operation: str, sql: str) -> None:
        """Between two commits nothing lasts."""

    def install(self) -> None:
        from openkeel_heat.db import session
        from openkeel_heat.rpc import messaging

        session.watchers.append(self)  # type: ignore[arg-type]
        send = messaging._send

        def faulty(message: Any, ctxt: Any, timeout: float | None) -> Any:
            self._pass()
            if not self.messages or message.method not in METHODS:
                return send(message, ctxt, timeout)
            with self.lock:
                fate, late = self.random.random(), self.random.uniform(0, LATE_SECONDS)
            if fate < LOSE:
                return None
            if fate < LOSE + DOUBLE:
                send(message, ctxt, timeout)
            elif fate < LOSE + DOUBLE + LATE:
                timer = threading.Timer(late, send, (message, ctxt, timeout))
                timer.daemon = True
                timer.start()
                return None
            return send(message, ctxt, timeout)

        messaging._send = faulty


def configure(conf_file: pathlib.Path, folder: pathlib.Path) -> Any:
    """Configuration, bus and database of this process."""
    from oslo_config import cfg

    from openkeel_heat.cmd import all_in_one
    from openkeel_heat.common import config
    from openkeel_heat.db import session
    from openkeel_heat.rpc import messaging

    cfg.CONF.reset()
    conf = config.setup(["--config-file", str(conf_file)], "heat-engine")
    all_in_one.set_defaults(conf, str(folder))
    messaging.setup(conf)
    session.configure(conf)
    return conf


def live(conf_file: pathlib.Path, folder: pathlib.Path, order: dict[str, Any]) -> None:
    """An engine until SIGTERM."""
    conf = configure(conf_file, folder)
    from openkeel_heat.engine.server import Engine

    Faults(order["seed"], order["messages"], order["mortal"]).install()
    engine = Engine(conf)
    engine.recovery.interval = 1.0
    if order["room"] is not None:
        engine._hub.room = order["room"]
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    engine.start()
    (folder / f"ready-{os.getpid()}").touch()
    ended.wait()
    engine.stop(graceful=True)
    engine.wait()


class Nursery:
    """See the module's docstring."""

    def __init__(self, conf_file: pathlib.Path, folder: pathlib.Path) -> None:
        self.conf_file, self.folder = conf_file, folder
        self.pid = 0
        self.living: dict[str, int] = {}

    def __enter__(self) -> Nursery:
        from openkeel_heat.cmd import backend

        backend.select([])
        from openkeel_heat.engine import server, service  # noqa: F401 - imported before the forks

        orders_in, self.orders = os.pipe()
        self.answers, answers_out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.orders)
                os.close(self.answers)
                self._serve(orders_in, answers_out)
            finally:
                os._exit(0)
        os.close(orders_in)
        os.close(answers_out)
        return self

    def _serve(self, orders: int, answers: int) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        with os.fdopen(orders) as lines:
            for line in lines:
                order = json.loads(line)
                pid = os.fork()
                if pid == 0:
                    self._child(order)
                os.write(answers, f"{pid}\n".encode())

    def _child(self, order: dict[str, Any]) -> None:
        code = 1
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            log = os.open(self.folder / f"{order['name']}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            faulthandler.register(signal.SIGUSR1, all_threads=True)
            faulthandler.enable(all_threads=True)
            live(self.conf_file, self.folder, order)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def start(
        self, name: str, seed: int, room: int | None = None, messages: bool = False, mortal: bool = False
    ) -> None:
        """Start an engine; ``room``: how many nodes it has under way at once, None for as many as engines do."""
        order = {"name": name, "seed": seed, "room": room, "messages": messages, "mortal": mortal}
        os.write(self.orders, (json.dumps(order) + "\n").encode())
        text = b""
        while not text.endswith(b"\n"):
            text += os.read(self.answers, 64)
        self.living[name] = int(text)

    def dead(self) -> list[str]:
        """Engines that ended by themselves; they are not among the living any more."""
        found = [name for name, pid in self.living.items() if not _alive(pid)]
        for name in found:
            del self.living[name]
        return found

    def wait_for(self, name: str, limit: float = 30.0) -> None:
        """Until the engine answers: a message that comes before the first queue is there goes nowhere."""
        until(lambda: (self.folder / f"ready-{self.living[name]}").exists(), f"engine {name} is up", limit)

    def kill(self, name: str, signum: int = signal.SIGKILL) -> None:
        pid = self.living.pop(name) if signum == signal.SIGKILL else self.living[name]
        with contextlib.suppress(ProcessLookupError):  # it was faster
            os.kill(pid, signum)

    def stop(self, name: str, limit: float = 20.0) -> None:
        pid = self.living.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + limit
        while _alive(pid):
            if time.monotonic() > end:
                os.kill(pid, signal.SIGABRT)  # which writes where its threads are
                raise AssertionError(f"engine {name} did not stop within {limit:g} s")
            time.sleep(0.05)

    def __exit__(self, *error: object) -> None:
        for pid in self.living.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self.orders)
        os.close(self.answers)
        os.waitpid(self.pid, 0)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
