# SPDX-License-Identifier: Apache-2.0
"""Kills an engine at the points of one operation and checks what a fresh engine makes of it.

    python -m tests.crash.driver create|update|rollback|delete [--all | --sample N] [--seed S] [--point K …]
                                 [--database sqlite|mariadb] [--folder F]

A first life without a kill enumerates the points: before and after each commit, before and after each message. Then,
for each chosen point, the prepared database is copied, an engine does the operation and is killed (SIGKILL) at the
point, a fresh engine starts on the database, and when it has settled the checks must hold: the right final state,
every physical object made once, no sync point, no lock, nothing in progress. Prints one line per point and a summary;
exit code 1 when a check failed.

The stack has a dozen resources: a group of three nested stacks of two dependent resources, between two plain ones.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import pathlib
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from tests.crash import world
from tests.crash.bases import BASES, Base
from tests.fixtures import templates
from tests.fixtures.checks import Database

STACK = "crash"
RESOURCES = 12


def _create(life: world.Life) -> None:
    life.client.create_stack(life.context(), STACK, templates.nested(3), {}, templates.files(), {"timeout_mins": 10})


def _update(life: world.Life, template: dict[str, Any], **arguments: Any) -> None:
    row = life.database.rows("SELECT id, name, tenant FROM stack WHERE name = :n AND deleted_at IS NULL", n=STACK)[0]
    life.client.update_stack(life.context(), world.identity(row), template, {}, templates.files(), arguments)


def _replace(life: world.Life) -> None:
    _update(life, templates.nested(3, salt="2", generation="y"), timeout_mins=10)


def _fail(life: world.Life) -> None:
    broken = templates.nested(3, salt="2", generation="y")
    broken["resources"]["after"]["properties"]["fail"] = True
    _update(life, broken, timeout_mins=10, disable_rollback=False)


def _delete(life: world.Life) -> None:
    row = life.database.rows("SELECT id, name, tenant FROM stack WHERE name = :n AND deleted_at IS NULL", n=STACK)[0]
    life.client.delete_stack(life.context(), world.identity(row), cast=False)


@dataclasses.dataclass(frozen=True)
class Case:
    """One operation: how it starts, what it leads to, how many physical objects each inner resource may have had."""

    start: Callable[[world.Life], None]
    prepared: bool
    states: frozenset[tuple[str, str]]
    outputs: str | None
    generations: int


CREATED = ("CREATE", "COMPLETE")
CASES = {
    "create": Case(_create, False, frozenset({CREATED}), "b1", 1),
    "update": Case(_replace, True, frozenset({("UPDATE", "COMPLETE")}), "b2", 2),
    # Depending on how far the update came, the rollback replaces once more or not at all.
    "rollback": Case(_fail, True, frozenset({("ROLLBACK", "COMPLETE")}), "b1", 3),
    "delete": Case(_delete, True, frozenset(), None, 1),
}


def live(life: world.Life, case: Case, log: pathlib.Path, die_at: int | None) -> None:
    with life:
        life.settle()
        world.watch(world.Points(log, die_at))
        case.start(life)
        left = life.settle()
        if left:
            raise AssertionError("\n".join(left))


def recover(life: world.Life) -> None:
    with life:
        left = life.settle()
        if left:
            raise AssertionError("does not settle:\n" + "\n".join(left))


def prepare(life: world.Life) -> None:
    with life:
        _create(life)
        left = life.settle()
        if left:
            raise AssertionError("\n".join(left))


def tree(database: Database, root: str) -> list[dict[str, Any]]:
    return database.rows("SELECT r.* FROM resource r WHERE r.stack_id = :root OR r.root_stack_id = :root", root=root)


def check(database: Database, case: Case, before: str | None) -> list[str]:
    """What is wrong in the database; ``before`` is the traversal that the prepared stack had."""
    wrong = database.unrest()
    stacks = database.rows("SELECT * FROM stack WHERE name = :n AND owner_id IS NULL AND deleted_at IS NULL", n=STACK)
    if len(stacks) > 1:
        wrong.append("two stacks of one name")
    if not stacks:
        if case.states and case.prepared:
            wrong.append("the stack is gone")
        rows = database.rows("SELECT name FROM resource")
        if rows:
            wrong.append(f"resources of no stack: {rows}")
        alive = database.rows("SELECT name FROM stack WHERE deleted_at IS NULL")
        if alive:
            wrong.append(f"nested stacks of no stack: {alive}")
        return wrong
    stack = stacks[0]
    state = (stack["action"], stack["status"])
    lost = before is not None and stack["current_traversal"] == before
    if lost:  # killed before the request was taken: as if it had never come
        if state != CREATED:
            wrong.append(f"request lost, but the stack is {state}")
    elif state not in case.states:
        wrong.append(f"stack is {state}: {stack['status_reason']}")
    resources = tree(database, stack["id"])
    if len(resources) != RESOURCES:
        wrong.append(f"{len(resources)} resources instead of {RESOURCES}: {sorted(r['name'] for r in resources)}")
    wrong += [
        f"{r['name']} is {r['action']}_{r['status']}: {r['status_reason']}"
        for r in resources
        if r["status"] != "COMPLETE"
    ]
    wrong += objects_made_twice(database, 1 if lost else case.generations)
    wanted = "b1" if lost else case.outputs
    values = {
        row["value"]
        for row in database.rows(
            "SELECT d.value AS value FROM resource_data d JOIN resource r ON r.id = d.resource_id "
            "WHERE r.name = 'outer'"
        )
    }
    if values != {wanted}:
        wrong.append(f"outer resources hold {values} instead of {wanted}")
    return wrong


def objects_made_twice(database: Database, generations: int) -> list[str]:
    """More physical objects of a resource than its generations, by the events of its creation."""
    rows = database.rows(
        "SELECT e.stack_id, e.resource_name AS name, COUNT(DISTINCT e.physical_resource_id) AS objects, "
        "COUNT(*) AS times FROM event e JOIN stack s ON s.id = e.stack_id WHERE e.resource_action = 'CREATE' "
        "AND e.resource_status = 'COMPLETE' AND e.resource_name <> s.name GROUP BY e.stack_id, e.resource_name"
    )
    wrong = [f"{row['name']}: {row['objects']} physical objects" for row in rows if row["objects"] > generations]
    return wrong + [
        f"{row['name']}: created {row['times']} times for {row['objects']} objects"
        for row in rows
        if row["times"] > row["objects"]
    ]


class Driver:
    def __init__(self, name: str, folder: pathlib.Path, databases: Base) -> None:
        self.case = CASES[name]
        self.folder = folder
        self.databases = databases
        self.base = folder / "prepared"
        self.base.mkdir()
        self.before: str | None = None

    def prepare(self) -> None:
        self.databases.make(self.base)
        if self.case.prepared:
            self._run(self.base, functools.partial(self._life, self.base, prepare))
            self.before = str(
                self._database(self.base).value("SELECT current_traversal FROM stack WHERE name = :n", n=STACK)
            )
        else:
            self._run(self.base, functools.partial(self._life, self.base, recover))

    def _life(self, folder: pathlib.Path, work: Callable[..., None], *arguments: Any) -> None:
        work(world.Life(folder, self.databases.url(folder)), *arguments)

    def _database(self, folder: pathlib.Path) -> Database:
        return Database(self.databases.url(folder))

    @staticmethod
    def _run(folder: pathlib.Path, work: Callable[[], None], killed: bool = False) -> int:
        code = world.forked(work, folder / "log")
        if code and not (killed and code == -9):
            raise AssertionError(f"exit code {code}\n" + "\n".join((folder / "log").read_text().splitlines()[-40:]))
        return code

    def copy(self, name: str) -> pathlib.Path:
        target = self.folder / name
        shutil.copytree(self.base, target)
        self.databases.copy(self.base, target)
        return target

    def enumerate(self) -> list[str]:
        """Names of the points that the operation passes when nothing happens; checks its result too."""
        folder = self.copy("whole")
        self._run(folder, functools.partial(self._life, folder, live, self.case, folder / "points", None))
        wrong = check(self._database(folder), self.case, None)
        if wrong:
            raise AssertionError("without a kill: " + "; ".join(wrong))
        return (folder / "points").read_text().splitlines()

    def kill_at(self, point: int) -> tuple[str, list[str]]:
        """Name of the point where the engine died, and what is wrong after another one went on."""
        folder = self.copy(f"point-{point}")
        try:
            code = self._run(
                folder, functools.partial(self._life, folder, live, self.case, folder / "points", point), True
            )
            where = ((folder / "points").read_text().splitlines() or ["-"])[-1]
            if code == 0:
                return "not reached", check(self._database(folder), self.case, None)
            self._run(folder, functools.partial(self._life, folder, recover))
            return where, check(self._database(folder), self.case, self.before)
        except AssertionError as exc:
            return f"point {point}", [str(exc)]
        finally:
            self._forget(folder)

    def _forget(self, folder: pathlib.Path) -> None:
        if not KEEP:
            self.databases.drop(folder)
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        for folder in (self.base, self.folder / "whole"):
            self._forget(folder)


KEEP = False


def main() -> int:
    global KEEP
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operation", choices=list(CASES))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--sample", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--point", type=int, action="append")
    parser.add_argument("--database", choices=list(BASES), default="sqlite")
    parser.add_argument("--folder", type=pathlib.Path, help="keep everything below this directory")
    options = parser.parse_args()
    KEEP = options.folder is not None
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="crash-"))
    folder.mkdir(parents=True, exist_ok=True)
    driver = Driver(options.operation, folder, BASES[options.database]())
    try:
        driver.prepare()
        names = driver.enumerate()
        points = list(range(1, len(names) + 1))
        if options.point:
            chosen = options.point
        elif options.all:
            chosen = points
        else:
            chosen = sorted(random.Random(options.seed).sample(points, min(options.sample, len(points))))
        failed = 0
        for point in chosen:
            where, wrong = driver.kill_at(point)
            failed += bool(wrong)
            print(
                f"{'FAILED' if wrong else 'ok    '} {where}" + "".join(f"\n       {line}" for line in wrong), flush=True
            )
        print(
            f"{options.operation}: {len(names)} points, {len(chosen)} tried with seed {options.seed}, {failed} failed"
        )
        return 1 if failed else 0
    finally:
        driver.close()
        if not KEEP:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
