# SPDX-License-Identifier: Apache-2.0
"""Random walks over the operations of a stack, on two engines that are killed, with messages that get lost.

    python -m tests.crash.walk [--seed S] [--walks N] [--steps N] [--database mariadb|postgresql]
                               [--no-kills] [--no-faults] [--mortal] [--pauses] [--crowded] [--folder F]

Each walk has a seed and says it. Operations come at random moments, also two at once, over whatever the stack is
doing: create, update (in place, replace, add, remove, fail), cancel with and without rollback, suspend, resume, check,
snapshot, restore, delete; meanwhile engines are killed, stopped and started again. Whenever the walk rests, and at its
end, after an update that must succeed and a deletion, nothing may be left: see :mod:`.invariants`. What a walk did is
in the file ``walk`` of its folder, beside the logs of the engines and a dump of the database if something was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from typing import Any

from tests.crash.cluster import Cluster, Plan
from tests.crash.random_templates import Templates, template_files
from tests.fixtures import stores
from tests.fixtures.checks import Database

SETTLE_SECONDS = 60.0
DATABASES = {"mariadb": stores.mariadb_database, "postgresql": stores.postgresql_database}

#: Refusals that a user may get at any time.
REFUSALS = frozenset({
    "NotSupported", "ActionInProgress", "StackExists", "EntityNotFound", "NotFound", "SnapshotNotFound",
})  # fmt: skip
#: What may happen to a call while its engine is killed.
LOST = frozenset({"MessagingTimeout", "MessageDeliveryFailure"})


def name_of(error: BaseException) -> str:
    return type(error).__name__.removesuffix("_Remote")


class Walk:
    """One walk with one stack name."""

    OPERATIONS: tuple[tuple[str, int], ...] = (
        ("update", 20), ("cancel", 5), ("suspend", 2), ("resume", 4), ("check", 2), ("snapshot", 4), ("restore", 4),
        ("delete_snapshot", 2), ("delete", 2), ("kill", 6), ("stop", 2), ("pause", 4), ("settle", 7), ("show", 3),
    )  # fmt: skip

    def __init__(self, seed: int, plan: Plan, cluster: Cluster) -> None:
        self.seed, self.plan, self.cluster = seed, plan, cluster
        self.random = random.Random(seed)
        self.name = f"walk-{seed}"
        self.templates = Templates(random.Random(seed + 1))
        self.identity: dict[str, str] | None = None
        self.snapshots: list[str] = []
        self.problems: list[str] = []
        self.said: list[str] = []
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.counts: Counter[str] = Counter()

    def say(self, text: str) -> None:
        with self.lock:
            self.said.append(f"{time.strftime('%H:%M:%S')} {time.monotonic() - self.began:6.2f} {text}")

    def wrong(self, where: str, problems: list[str]) -> None:
        for one in problems:
            self.say(f"WRONG {where}: {one}")
            self.problems.append(f"{where}: {one}")

    # calls --------------------------------------------------------------------------------------------------------
    def call(self, method: str, *arguments: Any, **named: Any) -> tuple[Any, str]:
        """The answer and '', or None and the name of the error."""
        try:
            return getattr(self.cluster.client, method)(self.cluster.context(), *arguments, **named), ""
        except Exception as error:
            name = name_of(error)
            if name in LOST and (self.plan.kills or self.plan.pauses or self.plan.mortal):
                return None, name
            if name not in REFUSALS:
                self.wrong(method, [f"{name}: {error}"])
            return None, name

    def do(self, what: str) -> None:
        answer = getattr(self, "do_" + what)()
        with self.lock:
            self.counts[f"{what} {answer}" if answer else what] += 1
        self.say(f"{what}: {answer or 'ok'}")

    def find(self) -> dict[str, str] | None:
        """The living stack of the name, whoever made it."""
        rows = self.cluster.database.rows(
            "SELECT id, name, tenant FROM stack WHERE name = :n AND deleted_at IS NULL", n=self.name
        )
        if rows:
            row = rows[0]
            self.identity = {"tenant": row["tenant"], "stack_name": row["name"], "stack_id": row["id"], "path": ""}
        return self.identity

    def do_create(self) -> str:
        template = self.templates.make(self.random.random() < self.plan.failing)
        arguments = {"disable_rollback": self.random.random() < 0.5, "timeout_mins": 5}
        answer, error = self.call("create_stack", self.name, template, {}, template_files(), arguments)
        if answer:
            self.identity = dict(answer)
            self.snapshots = []
        return error

    def _on_stack(self, method: str, *arguments: Any, **named: Any) -> tuple[Any, str]:
        identity = self.find()
        if identity is None:
            return None, "no stack"
        return self.call(method, identity, *arguments, **named)

    def do_update(self) -> str:
        template = self.templates.make(self.random.random() < self.plan.failing)
        arguments = {"disable_rollback": self.random.random() < 0.5, "timeout_mins": 5}
        return self._on_stack("update_stack", template, {}, template_files(), arguments)[1]

    def do_cancel(self) -> str:
        return self._on_stack("stack_cancel_update", cancel_with_rollback=self.random.random() < 0.5)[1]

    def do_suspend(self) -> str:
        return self._on_stack("stack_suspend")[1]

    def do_resume(self) -> str:
        return self._on_stack("stack_resume")[1]

    def do_check(self) -> str:
        return self._on_stack("stack_check")[1]

    def do_snapshot(self) -> str:
        answer, error = self._on_stack("stack_snapshot", "shot")
        if answer:
            self.snapshots.append(answer["id"])
        return error

    def do_restore(self) -> str:
        if not self.snapshots:
            return "no snapshot"
        return self._on_stack("stack_restore", self.random.choice(self.snapshots))[1]

    def do_delete_snapshot(self) -> str:
        if not self.snapshots:
            return "no snapshot"
        return self._on_stack("delete_snapshot", self.random.choice(self.snapshots))[1]

    def do_delete(self) -> str:
        return self._on_stack("delete_stack", cast=False)[1]

    def do_show(self) -> str:
        for method, named in (("show_stack", {"resolve_outputs": True}), ("list_stack_resources", {"nested_depth": 2}),
                              ("list_events", {}), ("list_outputs", {}), ("get_environment", {})):  # fmt: skip
            error = self._on_stack(method, **named)[1]
            if error:
                return f"{method} {error}"
        return ""

    def do_settle(self) -> str:
        self.rest("settle")
        return ""

    def do_kill(self) -> str:
        if not self.plan.kills:
            return "not wanted"
        return self.cluster.kill(self.random)

    def do_stop(self) -> str:
        if not self.plan.kills:
            return "not wanted"
        return self.cluster.stop(self.random)

    def do_pause(self) -> str:
        if not self.plan.pauses:
            return "not wanted"
        return self.cluster.pause(self.random)

    # the walk -----------------------------------------------------------------------------------------------------
    def rest(self, where: str) -> None:
        self.cluster.all_up()
        left = self.cluster.settle(SETTLE_SECONDS)
        if left:
            self.wrong(where, ["does not settle: " + "; ".join(left[:6])])
        checks = self.cluster.checks
        self.wrong(where, checks.objects() + checks.orphans() + checks.duplicates())

    def go(self) -> list[str]:
        names = [name for name, weight in self.OPERATIONS for _ in range(weight)]
        self.do("create")
        for _step in range(self.plan.steps):
            if self.problems:
                break
            if self.random.random() < 0.7:
                time.sleep(self.random.choice((0.02, 0.1, 0.3, 0.8)) * self.random.random())
            self._step(names)
            self.cluster.revive()
        if not self.problems:
            self.finish()
        return self.problems

    def _step(self, names: list[str]) -> None:
        if self.random.random() < self.plan.concurrent:
            pair = [self.random.choice(["update", "update", "cancel", "snapshot", "check"]) for _ in range(2)]
            threads = [threading.Thread(target=self.do, args=(one,)) for one in pair]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        elif self._state() is None and self.random.random() < 0.8:
            self.do("create")
        else:
            self.do(self.random.choice(names))

    def _state(self) -> tuple[str, str, str] | None:
        rows = self.cluster.database.rows(
            "SELECT action, status, status_reason FROM stack WHERE name = :n AND deleted_at IS NULL", n=self.name
        )
        return (rows[0]["action"], rows[0]["status"], rows[0]["status_reason"]) if rows else None

    def finish(self) -> None:
        """Whatever happened: an update that must succeed, and a deletion that leaves nothing."""
        self.rest("end")
        state = self._state()
        self.say(f"at the end: {state}")
        if state is not None and state[0] == "DELETE":
            self.do("delete")
            self.rest("deleted")
            state = self._state()
            if state is not None:  # an object that refuses once more
                self.wrong("delete", [f"is {state}"])
        if state is None:
            self.do("create")
            self.rest("again")
        for _try in range(3):
            state = self._state()
            if state is None or state[0] != "SUSPEND":
                break
            self._suspend_and_resume()
        template = self.templates.make(quick=True)
        self._last_update(template)
        state = self._state()
        if state is None or state[:2] != ("UPDATE", "COMPLETE"):
            self.wrong("last update", [f"is {state}"])
        elif self.identity is not None:
            self.wrong("last update", self.cluster.checks.whole(self.identity["stack_id"], template))
        self.do("delete")
        self.rest("deleted")
        if self._state() is not None:
            self.wrong("deleted", [f"is {self._state()}"])
        left = [path.name for path in (self.cluster.cloud / "objects").iterdir()]
        if left:
            self.wrong("deleted", [f"objects left: {left}"])

    def _last_update(self, template: dict[str, Any]) -> None:
        for _try in range(8):  # as often as there are objects of before that still have to fail once
            error = self._on_stack("update_stack", template, {}, template_files(), {"disable_rollback": True})[1]
            self.rest("updated")
            if error in LOST:  # by an engine that died of it: those that live now do not
                continue
            if error:
                self.wrong("last update", [error])
            state = self._state()
            if state is not None and " is suspended " in state[2]:  # a nested stack that was left so
                self._suspend_and_resume()
            elif state is None or " fails to " not in state[2]:
                break

    def _suspend_and_resume(self) -> None:
        self.do("suspend")
        self.rest("suspended")
        self.do("resume")
        self.rest("resumed")
        for row in self.cluster.database.rows(  # where the stack cannot, the user resumes the nested one
            "SELECT id, name, tenant FROM stack WHERE owner_id <> '' AND action = 'SUSPEND' AND deleted_at IS NULL"
        ):
            identity = {"tenant": row["tenant"], "stack_name": row["name"], "stack_id": row["id"], "path": ""}
            self.call("stack_resume", identity)
        self.rest("nested stacks resumed")


def run(seed: int, plan: Plan, folder: pathlib.Path) -> tuple[list[str], Walk]:
    with (
        DATABASES[plan.database]("walk") as (_, database),
        stores.rabbitmq_vhost("walk") as (_, transport),
        Cluster(folder, database, transport, plan) as cluster,
    ):
        walk = Walk(seed, plan, cluster)
        try:
            problems = walk.go()
        finally:
            (folder / "walk").write_text("\n".join(walk.said) + "\n")
        if problems:
            dump(cluster.database, folder)
        return problems, walk


def dump(database: Database, folder: pathlib.Path) -> None:
    """What the database holds, for whoever looks for the reason."""
    with open(folder / "dump", "w") as out:
        for table in (
            "stack",
            "resource",
            "sync_point",
            "event",
            "snapshot",
            "service",
            "raw_template",
            "resource_properties_data",
            "resource_data",
        ):
            out.write(f"== {table}\n")
            for row in database.rows(f"SELECT * FROM {table}"):
                out.write(f"{ {k: v for k, v in row.items() if v is not None and k != 'environment'} }\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--walks", type=int, default=1)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--no-kills", dest="kills", action="store_false")
    parser.add_argument("--no-faults", dest="faults", action="store_false")
    parser.add_argument("--crowded", action="store_true", help="every node goes over the bus")
    parser.add_argument("--mortal", action="store_true", help="engines die at commits and messages, too")
    parser.add_argument("--pauses", action="store_true", help="engines are halted for seconds, too")
    parser.add_argument("--database", choices=list(DATABASES), default="mariadb")
    parser.add_argument("--prefix", help="of the database's and the vhost's name")
    parser.add_argument("--folder", type=pathlib.Path, help="keep everything below this directory")
    options = parser.parse_args()
    if options.prefix:
        stores.PREFIX = options.prefix
    names = {field.name for field in dataclasses.fields(Plan)}
    plan = Plan(**{name: value for name, value in vars(options).items() if name in names})
    failed = 0
    for seed in range(options.seed, options.seed + options.walks):
        folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="walk-"))
        folder = folder / str(seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pid = os.fork()  # each walk from a process without threads
        if pid == 0:
            code = 2
            with contextlib.suppress(BaseException):
                code = _one(seed, dataclasses.replace(plan, seed=seed), folder)
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        failed += code != 0
        if options.folder is None:
            shutil.rmtree(folder.parent, ignore_errors=True)
    print(f"{options.walks} walks from seed {options.seed}, {failed} failed")
    return 1 if failed else 0


def _one(seed: int, plan: Plan, folder: pathlib.Path) -> int:
    begun = time.monotonic()
    try:
        problems, walk = run(seed, plan, folder)
    except BaseException:
        traceback.print_exc()
        print(f"FAILED seed {seed}", flush=True)
        return 2
    seconds = time.monotonic() - begun
    word, counts = ("FAILED" if problems else "ok    "), dict(sorted(walk.counts.items()))
    print(f"{word} seed {seed} in {seconds:.0f} s, {walk.cluster.deaths} deaths: {counts}")
    for line in problems:
        print(f"       {line}")
    sys.stdout.flush()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
