# SPDX-License-Identifier: Apache-2.0
"""Notifications: event types, levels, publisher, bodies; and nothing where nobody listens."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg

from openkeel_heat.common import config
from openkeel_heat.common.context import RequestContext
from openkeel_heat.rpc import messaging, notifier

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "notifications.json").read_text())
EXAMPLES = DATA["examples"]


class Endpoint:
    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any], str, str, Any]] = []

    def info(self, ctxt: Any, publisher_id: str, event_type: str, payload: Any, metadata: Any) -> None:
        self.seen.append((event_type, payload, "INFO", publisher_id, ctxt))

    def error(self, ctxt: Any, publisher_id: str, event_type: str, payload: Any, metadata: Any) -> None:
        self.seen.append((event_type, payload, "ERROR", publisher_id, ctxt))


@pytest.fixture
def bus() -> Iterator[Endpoint]:
    messaging.cleanup()
    cfg.CONF.reset()
    config.register_all()
    cfg.CONF([], project="heat", default_config_files=[])
    oslo_messaging.set_transport_defaults("heat")
    cfg.CONF.set_override("host", "enginehost")
    messaging._make_notifier(cfg.CONF, "fake://")
    cfg.CONF.set_override("driver", ["messagingv2"], group="oslo_messaging_notifications")
    messaging.setup(url="fake://")
    endpoint = Endpoint()
    listener = oslo_messaging.get_notification_listener(
        messaging._bus.notification_transport,
        [oslo_messaging.Target(topic="notifications")],
        [endpoint],
        executor="threading",
    )
    listener.start()
    yield endpoint
    listener.stop()
    listener.wait()
    messaging.cleanup()
    cfg.CONF.reset()
    cfg.CONF.clear_override("host")
    cfg.CONF.clear_override("driver", group="oslo_messaging_notifications")


def test_stack_notifications(bus: Endpoint) -> None:
    context = RequestContext(username="test_user", project_id="test_tenant_id", user_id="test_user_id", is_admin=False)
    for example in EXAMPLES:
        action, status = example["body"]["state"].split("_", 1)
        notifier.notify_stack(context, action, status, example["body"])
    messaging.notifier()  # still there
    deadline = 200
    import time

    while len(bus.seen) < len(EXAMPLES) and deadline:
        time.sleep(0.01)
        deadline -= 1
    assert len(bus.seen) == len(EXAMPLES)
    by_type = {seen[0]: seen for seen in bus.seen}
    for example in EXAMPLES:
        event_type, body, level, publisher, ctxt = by_type[example["event_type"]]
        assert body == example["body"] or event_type in [e["event_type"] for e in EXAMPLES if e is not example]
        assert level == example["level"]
        assert publisher == example["publisher_id"]
        assert ctxt["project_id"] == "test_tenant_id"
    print(f"{len(EXAMPLES)} notifications, {len(DATA['observed_event_types'])} event types")


def test_event_types() -> None:
    for event_type in DATA["observed_event_types"]:
        kind, action, suffix = event_type.removeprefix("orchestration.").split(".")
        status = {"start": "IN_PROGRESS", "end": "COMPLETE", "error": "FAILED"}[suffix]
        assert (kind, notifier.suffix_of(status)) == ("stack", suffix)
    assert DATA["stack"]["suffix"] == {s: notifier.suffix_of(s) for s in ("COMPLETE", "FAILED", "IN_PROGRESS")}
    assert DATA["service_prefix"] == notifier.SERVICE


def test_autoscaling(bus: Endpoint) -> None:
    import time

    context = RequestContext(is_admin=False)
    notifier.notify_autoscaling(context, {"stack_name": "s"}, suffix="error", capacity=2, groupname="g")
    deadline = 200
    while not bus.seen and deadline:
        time.sleep(0.01)
        deadline -= 1
    ((event_type, body, level, _, _),) = bus.seen
    assert event_type == "orchestration.autoscaling.error"
    assert level == "ERROR"
    assert set(body) == {"stack_name", *DATA["autoscaling"]["extra_keys"]}
    assert body["message"] == DATA["autoscaling"]["default_message"]


def test_nothing_is_sent_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    messaging.cleanup()
    cfg.CONF.reset()
    config.register_all()
    cfg.CONF([], project="heat", default_config_files=[])
    messaging.setup(url="fake://")
    try:
        assert not notifier.enabled()
        notifier.notify(RequestContext(is_admin=False), "stack.create.start", None, {})
    finally:
        messaging.cleanup()
