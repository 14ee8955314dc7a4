# SPDX-License-Identifier: Apache-2.0
"""One stack in an engine of this process, as the tests of this folder lead it through its life."""

from __future__ import annotations

import contextlib
import secrets
import uuid
from collections.abc import Iterator
from typing import Any

from openkeel_heat.db import resources, session, stacks, sync_points
from tests.fixtures import templates
from tests.fixtures.checks import Database
from tests.fixtures.polling import until

hot, resource = templates.hot, templates.resource

#: The id of an engine that is dead.
DEAD = str(uuid.uuid4())


class Life:
    """One stack."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.client = engine, engine.client
        self.hub = engine.engine._hub
        self.name = "life-" + secrets.token_hex(4)
        self.identity: dict[str, str] = {}
        self.database = Database(str(session.get_engine().url))

    def create(self, template: Any, wait: bool = True, files: Any = None, params: Any = None, **args: Any) -> Life:
        self.identity = self.client.create_stack(
            self.engine.context(), self.name, template, params or {}, files or {}, args
        )
        if wait:
            self.settle("CREATE_COMPLETE")
        return self

    def update(self, template: Any, wait: bool = True, **args: Any) -> None:
        self.client.update_stack(self.engine.context(), self.identity, template, {}, {}, args)
        if wait:
            self.settle("UPDATE_COMPLETE")

    def delete(self) -> None:
        self.client.delete_stack(self.engine.context(), self.identity, cast=False)
        self.settle("DELETE_COMPLETE")
        assert self.database.leftovers(self.id) == []

    @property
    def id(self) -> str:
        return self.identity["stack_id"]

    @property
    def row(self) -> Any:
        return stacks.get(self.id, show_deleted=True)

    def settle_state(self, state: str, limit: float = 30) -> Any:
        def final() -> Any:
            row = self.row
            return row if f"{row.action}_{row.status}" == state else None

        return until(final, f"{self.name} is {state}", limit, pause=0.005)

    def settle(self, state: str, limit: float = 30) -> Any:
        row = self.settle_state(state, limit)
        until(lambda: not self.database.unrest() or not sync_points.list_inputs(self.id, row.current_traversal), "rest")
        return row

    def resources(self) -> dict[str, Any]:
        return {row.name: row for row in resources.list_by_stack(self.id)}

    def when(self, name: str, state: str) -> Any:
        def reached() -> Any:
            row = self.resources().get(name)
            return row if row is not None and f"{row.action}_{row.status}" == state else None

        return until(reached, f"{name} is {state}", 15, pause=0.005)

    def events(self) -> list[tuple[str, str]]:
        found = self.client.list_events(self.engine.context(), self.identity)
        return [(e["resource_name"], f"{e['resource_action']}_{e['resource_status']}") for e in reversed(found)]


@contextlib.contextmanager
def crowded(hub: Any) -> Iterator[None]:
    """Every node goes over the bus."""
    room, hub.room = hub.room, 0
    try:
        yield
    finally:
        hub.room = room


SLOW = {"create": 20}


def slow(**waits: int) -> Any:
    return resource("s", action_wait_secs=waits or SLOW)


def lose(life: Life) -> None:
    """The nodes of a stack end as if their engine had died."""
    for visit in life.hub.under_way():
        if visit.stack_id == life.id:
            life.hub.scheduler.cancel(visit.key, GeneratorExit())
    until(lambda: not any(v.stack_id == life.id for v in life.hub.under_way()), "no node is under way")
    life.hub.forget(life.row.current_traversal)
