# SPDX-License-Identifier: Apache-2.0
"""What operations cost, counted: statements, commits, messages, threads. No clock in here.

27.0.1 needs 19.2 statements and 10.1 commits per resource for a create, 12.2 and 5.1 for an update that changes
nothing, 12.4 and 6.2 for a delete.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from typing import Any

import pytest

from tests.fixtures import templates
from tests.fixtures.plugin import InProcess
from tests.fixtures.polling import until

SIZE = 60
STATEMENTS, COMMITS = 8.0, 4.0


class Messages:
    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()

    def before_send(self, message: Any) -> None:
        self.sent[f"{message.kind} {message.method}"] += 1

    def after_send(self, message: Any) -> None:
        pass


class Stack:
    """A stack of the engine in this process, by its RPC client."""

    def __init__(self, engine: InProcess) -> None:
        self.engine, self.name = engine, "count-" + secrets.token_hex(4)
        self.identity: dict[str, str] = {}

    def create(self, template: dict[str, Any]) -> None:
        self.identity = self.engine.client.create_stack(
            self.engine.context(), self.name, template, {}, {}, {"timeout_mins": 10}
        )
        self.settle("CREATE")

    def update(self, template: dict[str, Any]) -> None:
        self.engine.client.update_stack(self.engine.context(), self.identity, template, {}, {}, {"timeout_mins": 10})
        self.settle("UPDATE")

    def delete(self) -> None:
        self.engine.client.delete_stack(self.engine.context(), self.identity, cast=False)
        self.settle("DELETE")

    def settle(self, action: str) -> None:
        """Look past the watchers: through a connection of its own, at the row of the stack."""
        import sqlalchemy as sa

        from openkeel_heat.db import session

        url = session.get_engine().url
        own = sa.create_engine(url)

        def final() -> bool:
            with own.connect() as c:
                row = c.execute(
                    sa.text("SELECT action, status, status_reason FROM stack WHERE id = :id"),
                    {"id": self.identity["stack_id"]},
                ).one()
                left = c.execute(
                    sa.text("SELECT COUNT(*) FROM sync_point WHERE stack_id = :id"), {"id": self.identity["stack_id"]}
                ).scalar()
            if row.status == "FAILED":
                raise AssertionError(row.status_reason)
            return (row.action, row.status) == (action, "COMPLETE") and not left

        try:
            until(final, f"{self.name} is {action}_COMPLETE", 60)
        finally:
            own.dispose()


@pytest.mark.parametrize("operation", ["create", "update", "delete"])
def test_cost_per_resource(engine: InProcess, operation: str) -> None:
    from openkeel_heat.db import session
    from openkeel_heat.rpc import messaging

    template = templates.hot({f"r{i}": templates.resource(f"v{i}") for i in range(SIZE)})
    stack = Stack(engine)
    if operation != "create":
        stack.create(template)
    counter, messages = session.StatementCounter(), Messages()
    messaging.watchers.append(messages)
    try:
        with session.watching(counter):
            stack.delete() if operation == "delete" else getattr(stack, operation)(template)
    finally:
        messaging.watchers.remove(messages)
    if operation != "delete":
        stack.delete()
    print(
        f"{operation}: {counter.statements / SIZE:.2f} statements, {counter.commits / SIZE:.2f} commits per resource; "
        f"messages {dict(messages.sent)}"
    )
    print(counter.by_operation.most_common(12))
    assert counter.statements / SIZE <= STATEMENTS
    assert counter.commits / SIZE <= COMMITS
    casts = sum(n for name, n in messages.sent.items() if name.startswith("cast"))
    assert casts <= 3, f"a message per resource: {messages.sent}"


def test_no_thread_is_left(engine: InProcess) -> None:
    template = templates.flat()
    counts = []
    for _ in range(3):
        for _ in range(4):
            stack = Stack(engine)
            stack.create(template)
            stack.update(templates.flat(salt="2", generation="y"))
            stack.delete()
        counts.append(threading.active_count())
    print("threads:", counts)
    assert counts[-1] <= counts[0] + 2
