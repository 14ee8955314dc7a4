# SPDX-License-Identifier: Apache-2.0
"""Some engines as processes, their database, bus and cloud of files; a client.

What befalls them is said by a :class:`Plan`: they are killed or stopped from outside, die by themselves at commits and
messages, lose, double and delay messages.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import signal
import time
from typing import Any

from tests.crash import nursery as nursery_module
from tests.crash.invariants import Checks
from tests.crash.nursery import Nursery
from tests.fixtures.checks import Database

PLUGINS = pathlib.Path(__file__).parent / "plugins"
OPTIONS = """[DEFAULT]
plugin_dirs = {plugins}
transport_url = {transport}
periodic_interval = 2
engine_life_check_timeout = 2
rpc_response_timeout = 10
stack_action_timeout = 300
use_stderr = true
host = walk
[database]
connection = {database}
"""


#: Longer than it takes to be taken for dead.
PAUSE_SECONDS = 12.0


@dataclasses.dataclass
class Plan:
    """How rough a walk is.

    ``kills``       engines are killed and stopped from outside, at random moments
    ``mortal``      and die by themselves, at a commit or message
    ``pauses``      engines are halted for some seconds, long enough to be taken for dead
    ``faults``      messages about nodes are lost, doubled and late
    ``crowded``     engines have no room: every node goes over the bus
    ``concurrent``  how often two operations are begun at once
    ``failing``     how often a template has a resource that fails
    """

    seed: int = 0
    steps: int = 30
    kills: bool = True
    faults: bool = True
    pauses: bool = False
    crowded: bool = False
    mortal: bool = False
    database: str = "mariadb"
    concurrent: float = 0.15
    failing: float = 0.25


class Cluster:
    """Engines as processes, their database, bus and cloud; a client."""

    def __init__(self, folder: pathlib.Path, database: str, transport: str, plan: Plan, engines: int = 2) -> None:
        self.folder, self.plan = folder, plan
        self.cloud = folder / "cloud"
        (self.cloud / "objects").mkdir(parents=True, exist_ok=True)
        os.environ["OPENKEEL_TEST_CLOUD"] = str(self.cloud)
        self.conf_file = folder / "heat.conf"
        self.conf_file.write_text(OPTIONS.format(plugins=PLUGINS, transport=transport, database=database))
        self.database = Database(database)
        self.checks = Checks(self.database, self.cloud)
        self.nursery = Nursery(self.conf_file, folder)
        self.names = [f"engine{number}" for number in range(engines)]
        self.down: dict[str, float] = {}  # engines that do not run -> when they are started again
        self.halted: dict[str, float] = {}  # engines that are halted -> when they go on
        self.seed = self.deaths = 0

    def __enter__(self) -> Cluster:
        self.nursery.__enter__()
        nursery_module.configure(self.conf_file, self.folder)
        from openkeel_heat.db import migrate
        from openkeel_heat.rpc.client import EngineClient

        migrate.sync()
        self.client = EngineClient()
        for name in self.names:
            self._start(name)
        for name in self.names:
            self.nursery.wait_for(name)
        return self

    def __exit__(self, *error: object) -> None:
        from openkeel_heat.db import session
        from openkeel_heat.rpc import messaging

        self.nursery.__exit__()
        messaging.cleanup()
        session.dispose()

    def _start(self, name: str, mortal: bool = True) -> None:
        self.seed += 1
        plan = self.plan
        seed = plan.seed * 1000 + self.seed
        self.nursery.start(name, seed, 0 if plan.crowded else None, plan.faults, mortal and plan.mortal)
        self.down.pop(name, None)

    @staticmethod
    def context() -> Any:
        from openkeel_heat.common.context import RequestContext

        return RequestContext(user_id="demo", username="demo", password="unset", project_id="demo",
                              project_name="demo", roles=["admin"], is_admin=False)  # fmt: skip

    # what befalls them --------------------------------------------------------------------------------------------
    def _one(self, rng: random.Random) -> str:
        living = [name for name in self.names if name in self.nursery.living and name not in self.halted]
        return rng.choice(living) if living else ""

    def kill(self, rng: random.Random) -> str:
        name = self._one(rng)
        if not name:
            return "none lives"
        self.nursery.kill(name)
        self.down[name] = time.monotonic() + rng.uniform(0, 3)
        return ""

    def stop(self, rng: random.Random) -> str:
        name = self._one(rng)
        if not name:
            return "none lives"
        self.nursery.stop(name)
        self.down[name] = time.monotonic() + rng.uniform(0, 1)
        return ""

    def pause(self, rng: random.Random) -> str:
        name = self._one(rng)
        if not name:
            return "none lives"
        self.nursery.kill(name, signal.SIGSTOP)
        self.halted[name] = time.monotonic() + rng.uniform(0, PAUSE_SECONDS)
        return ""

    def _go_on(self, all_of_them: bool = False) -> None:
        for name, due in list(self.halted.items()):
            if all_of_them or due <= time.monotonic():
                self.nursery.kill(name, signal.SIGCONT)
                del self.halted[name]

    def bury(self) -> None:
        for name in self.nursery.dead():
            self.deaths += 1
            self.halted.pop(name, None)
            self.down[name] = time.monotonic()

    def revive(self) -> None:
        """What is due; of all engines at least one."""
        self.bury()
        working = set(self.nursery.living) - set(self.halted)
        self._go_on(not working and not self.down)
        for name, due in list(self.down.items()):
            if due <= time.monotonic() or not working:
                self._start(name)

    def all_up(self) -> None:
        """All engines run; those that are started now do not die by themselves."""
        self._go_on(True)
        self.bury()
        for name in list(self.down):
            self._start(name, mortal=False)

    def settle(self, seconds: float) -> list[str]:
        deadline = time.monotonic() + seconds
        quiet = 0
        while True:
            unrest = self.checks.rest() + [
                f"snapshot in progress: {row}"
                for row in self.database.rows("SELECT id, action FROM snapshot WHERE status = 'IN_PROGRESS'")
            ]
            self.bury()
            if self.down:
                self.all_up()
            quiet = 0 if unrest else quiet + 1
            if quiet >= 2 or time.monotonic() > deadline:
                return unrest
            time.sleep(0.1)
