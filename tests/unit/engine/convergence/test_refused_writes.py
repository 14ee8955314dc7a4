# SPDX-License-Identifier: Apache-2.0
"""What a resource has to store may be more than a column holds: it fails, and is in nobody's way afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openkeel_heat.db import nodes
from openkeel_heat.db.nodes import Write
from tests.fixtures import templates
from tests.fixtures.polling import until
from tests.unit.engine.convergence.life import DEAD

hot, resource = templates.hot, templates.resource

TOO_MUCH = "more than a column holds"


def has_too_much(write: Write) -> bool:
    """The data of a resource; they come with its last state."""
    return any(value == TOO_MUCH for _key, value, _redact in write.data)


def fails_with_its_id(write: Write) -> bool:
    """The state that follows, unless it comes alone."""
    values = write.values or {}
    return has_too_much(write) or (values.get("status") == "FAILED" and "nova_instance" in values)


def refuse_writes(monkeypatch: pytest.MonkeyPatch, which: Callable[[Write], bool]) -> None:
    write_row = nodes._write_row

    def refusing(c: Any, write: Write, answer: Any) -> bool:
        if which(write):
            raise RuntimeError("Data too long")
        return write_row(c, write, answer)

    monkeypatch.setattr(nodes, "_write_row", refusing)


@pytest.fixture(params=[has_too_much, fails_with_its_id], ids=["data", "data and the failure"])
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that does not take everything."""
    refuse_writes(monkeypatch, request.param)


def test_a_creation_fails_and_an_update_mends_it(life: Any, narrow: None) -> None:
    life.create(hot({"a": resource(TOO_MUCH), "b": resource("1", ["a"])}), wait=False)
    failed = life.settle("CREATE_FAILED")
    assert failed.status_reason == "Resource CREATE failed: RuntimeError: resources.a: Data too long"
    row = life.resources()["a"]
    assert (row.action, row.status, row.engine_id) == ("CREATE", "FAILED", None)
    assert row.status_reason == "RuntimeError: resources.a: Data too long"
    life.update(hot({"a": resource("1"), "b": resource("1", ["a"])}))


def test_an_update_fails_and_the_stack_can_be_deleted(life: Any, narrow: None) -> None:
    life.create(hot({"a": resource("1")}))
    life.update(hot({"a": resource(TOO_MUCH)}), wait=False)
    failed = life.settle("UPDATE_FAILED")
    assert failed.status_reason == "Resource UPDATE failed: RuntimeError: resources.a: Data too long"
    life.delete()


def test_what_a_dead_engine_left_fails(life: Any, graveyard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    life.create(hot({"a": resource("1")}))
    row = life.resources()["a"]
    held = {"engine_id": DEAD, "action": "CREATE", "status": "IN_PROGRESS"}
    nodes.apply(life.id, None, [Write(row.id, None, row.atomic_key, held)])
    refuse_writes(monkeypatch, lambda write: (write.values or {}).get("status") == "COMPLETE")
    graveyard.scan()
    until(lambda: life.resources()["a"].engine_id is None, "free")
    assert life.resources()["a"].status == "FAILED"
