# SPDX-License-Identifier: Apache-2.0
"""Notifications as RabbitMQ has them: engines of either kind say the same of the same lives of stacks and groups.

An engine sends to ``notifications.info`` and ``notifications.error``, which stay in the vhost until they are read.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import kombu
import pytest

from tests.fixtures import stores
from tests.fixtures.api import Api
from tests.fixtures.comparison import TIME, UUID
from tests.fixtures.scaling import Group, member, policy, template
from tests.fixtures.service import OURS, THEIRS, Installation

pytestmark = [pytest.mark.services, pytest.mark.keystone, pytest.mark.reference, pytest.mark.timeout(600)]

NOTIFYING = {"oslo_messaging_notifications": {"driver": "messagingv2"}, "DEFAULT": {"host": "here"}}
#: The last part of a nested stack's name, and the names of the members of a group.
MADE_UP = re.compile(r"\b[a-z0-9]{12}\b")
POLICIES = {"up": policy(1, cooldown=0), "half": policy(-50, "percent_change_in_capacity", cooldown=0)}
STACK = [f"stack.{action}" for action in ("create", "update", "suspend", "resume", "check", "delete")]
EVENTS = {
    f"orchestration.{event}"
    for event in (
        *(f"{action}.{end}" for action in [*STACK, "autoscaling"] for end in ("start", "end")),
        "stack.create.error",
    )
}


def live(api: Api) -> None:
    """A stack from its creation to its end, with a group that is told to scale; and one that fails."""
    stack = api.create(template(member("1"), POLICIES), "lives", tags="a,b")
    stack.update(template(member("2"), POLICIES), tags="a,b")
    for action in ("suspend", "resume", "check"):
        stack.action(action, f"{action.upper()}_COMPLETE")
    group = Group(stack)
    group.scale("up", 2)
    group.scale("half", 1)
    stack.delete()
    failing = api.create(template(member("1", fail=True)), "fails", wait=False)
    failing.wait("CREATE_FAILED")
    failing.delete()


def sent(transport: str) -> list[dict[str, Any]]:
    """What the bus keeps: by priority, oldest first."""
    found = []
    with kombu.Connection(transport.replace("rabbit://", "amqp://")) as connection, connection.channel() as channel:
        for priority in ("info", "error"):
            while (message := channel.basic_get(f"notifications.{priority}", no_ack=True)) is not None:
                found.append(json.loads(json.loads(message.body)["oslo.message"]))
    return found


def told_by(kind: str, folder: pathlib.Path) -> dict[str, list[Any]]:
    """What is said of each stack, in its order; what differs from run to run has words in its place."""
    folder.mkdir()
    with stores.mariadb_database("notify") as (_, connection), stores.rabbitmq_vhost("notify") as (_, transport):
        installation = Installation(folder, connection, transport, NOTIFYING)
        try:
            installation.manage(kind, "db_sync")
            installation.engine(kind)
            live(installation.client(installation.api(kind)))
            messages = sent(transport)
        finally:
            installation.stop()
    told: dict[str, list[Any]] = {}
    for message in messages:
        text = TIME.sub("<time>", UUID.sub("<uuid>", json.dumps(message["payload"])))
        payload = json.loads(MADE_UP.sub("<name>", text))
        head = [message[field] for field in ("event_type", "priority", "publisher_id")]
        told.setdefault(payload["stack_name"], []).append([*head, payload])
    return told


def test_both_say_the_same(tmp_path: pathlib.Path) -> None:
    ours, theirs = (told_by(kind, tmp_path / kind) for kind in (OURS, THEIRS))
    assert {event for said in theirs.values() for event, *_rest in said} == EVENTS
    assert ours == theirs
