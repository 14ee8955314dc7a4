# SPDX-License-Identifier: Apache-2.0
"""Events: rows, what sinks get, and that announcing never raises nor keeps a thread."""

from __future__ import annotations

import threading
from typing import Any

from openkeel_heat.engine import events
from tests.contract.rpc_replay import poll


class _Env:
    def __init__(self, *sinks: Any) -> None:
        self.sinks = list(sinks)

    def get_event_sinks(self) -> list[Any]:
        return self.sinks


class _Stack:
    id, name, status_reason = "stack-id", "stack", ""
    t: Any = {"description": "d"}

    def __init__(self, *sinks: Any) -> None:
        self.env = _Env(*sinks)


class _Sink:
    def __init__(self, broken: bool = False) -> None:
        self.broken = broken
        self.got: list[Any] = []

    def consume(self, context: Any, event: Any) -> None:
        if self.broken:
            raise RuntimeError("no")
        self.got.append(event)


def test_the_row_of_a_stack() -> None:
    row = events.stack_event(_Stack(), "CREATE", "FAILED", "x" * 300)
    assert (row["stack_id"], row["physical_resource_id"], row["resource_name"]) == ("stack-id", "stack-id", "stack")
    assert row["resource_type"] == "OS::Heat::Stack" and len(row["resource_status_reason"]) == 255
    assert len(row["uuid"]) == 36 and row["created_at"]


def test_sinks_get_each_event_in_order() -> None:
    good, broken = _Sink(), _Sink(broken=True)
    stack = _Stack(broken, good)
    rows = [events.stack_event(stack, "CREATE", status, "r") for status in ("IN_PROGRESS", "COMPLETE")]
    events.announce(None, stack, rows)
    assert poll(lambda: len(good.got) == 2)
    assert [one["payload"]["resource_status"] for one in good.got] == ["IN_PROGRESS", "COMPLETE"]
    assert set(good.got[0]) == {"timestamp", "version", "type", "id", "payload"}
    assert good.got[0]["id"] == rows[0]["uuid"] and good.got[0]["type"] == "os.heat.event"


def test_no_sink_no_thread() -> None:
    before = threading.active_count()
    for _ in range(50):
        events.announce(None, _Stack(), [events.stack_event(_Stack(), "CREATE", "COMPLETE", "r")])
    assert threading.active_count() <= before


def test_announcing_never_raises() -> None:
    events.announce(None, object(), [events.stack_event(_Stack(), "CREATE", "COMPLETE", "r")])
