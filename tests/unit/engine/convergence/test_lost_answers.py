# SPDX-License-Identifier: Apache-2.0
"""A database whose connection breaks after each commit, before it says so; or that refuses each commit once.

Operations are tried again as a whole. Each finds out whether it was done; nothing is done twice, nothing is taken for
somebody else's work, and nothing waits for recovery, which looks for nothing here.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterator

import pytest
from oslo_db import exception as db_exc

from openkeel_heat.db import session
from openkeel_heat.engine.convergence.recovery import Recovery
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import Life, slow

hot, resource = templates.hot, templates.resource


class EveryAnswerIsLost(session.Watcher):
    """Each operation is done at its first try, and told so at its second."""

    def after_commit(self, operation: str) -> None:
        if not session.may_be_done():
            raise db_exc.DBConnectionError()


class EveryCommitIsRefused(session.Watcher):
    """Each operation fails at its first try, and is done at its second."""

    def __init__(self) -> None:
        self._of = threading.local()

    def before_commit(self, operation: str) -> None:
        self._of.again = not getattr(self._of, "again", False)
        if self._of.again:
            raise db_exc.DBDeadlock()


@pytest.fixture(params=[EveryAnswerIsLost, EveryCommitIsRefused])
def lossy(life, monkeypatch, request) -> Iterator[Life]:
    monkeypatch.setattr(Recovery, "scan", lambda self: None)
    with session.watching(request.param()):
        yield life
        if life.row.deleted_at is None:
            life.delete()


def stack_events(life: Life) -> list[str]:
    return [state for name, state in life.events() if name == life.name]


def test_a_stack_through_its_life(lossy):
    context, client = lossy.engine.context(), lossy.client
    lossy.create(templates.flat())
    credentials = lossy.row.user_creds_id
    lossy.update(templates.flat(salt="2", generation="y", extra="e"))
    client.stack_suspend(context, lossy.identity)
    lossy.settle("SUSPEND_COMPLETE")
    client.stack_resume(context, lossy.identity)
    lossy.settle("RESUME_COMPLETE")
    client.stack_snapshot(context, lossy.identity, "shot")
    lossy.settle("SNAPSHOT_COMPLETE")
    assert stack_events(lossy) == [
        f"{action}_{status}"
        for action in ("CREATE", "UPDATE", "SUSPEND", "RESUME", "SNAPSHOT")
        for status in ("IN_PROGRESS", "COMPLETE")
    ]
    made = collections.Counter(name for name, state in lossy.events() if state == "CREATE_COMPLETE")
    assert made == {lossy.name: 1, "a": 1, "b": 1, "c": 1, "d": 2, "e": 1}
    assert lossy.row.user_creds_id == credentials is not None


def test_a_rollback_and_a_cancelled_update(lossy):
    lossy.create(hot({"a": resource("1")}))
    template = hot({"a": resource("2", fail=True), "b": resource("2")})
    lossy.update(template, wait=False, disable_rollback=False)
    lossy.settle("ROLLBACK_COMPLETE")
    assert set(lossy.resources()) == {"a"}
    lossy.update(hot({"a": slow(update=20)}), wait=False)
    lossy.client.stack_cancel_update(lossy.engine.context(), lossy.identity, cancel_with_rollback=False)
    lossy.settle_state("UPDATE_FAILED")
    assert stack_events(lossy)[2:] == [
        "UPDATE_IN_PROGRESS",
        "UPDATE_FAILED",
        "ROLLBACK_IN_PROGRESS",
        "ROLLBACK_COMPLETE",
        "UPDATE_IN_PROGRESS",
        "UPDATE_FAILED",
    ]


def test_nested_stacks(lossy):
    files = templates.files()
    lossy.create(templates.nested(), files=files)
    lossy.client.update_stack(
        lossy.engine.context(), lossy.identity, templates.nested(salt="2", generation="y"), {}, files, {}
    )
    lossy.settle("UPDATE_COMPLETE")


def test_a_break_point(lossy):
    environment = {"resource_registry": {"resources": {"a": {"hooks": ["pre-create"]}}}}
    lossy.create(hot({"a": resource("1")}), wait=False, params=environment)
    context = lossy.engine.context()

    def reasons() -> list[str]:
        events = lossy.client.list_events(context, lossy.identity)
        return [e["resource_status_reason"] for e in events if e["resource_name"] == "a"]

    until(lambda: reasons() == ["CREATE paused until Hook pre-create is cleared"], "it waits", 10)
    lossy.client.resource_signal(context, lossy.identity, "a", {"unset_hook": "pre-create"})
    lossy.settle("CREATE_COMPLETE")
    assert reasons()[1:].count("Hook pre-create is cleared") == 1
