# SPDX-License-Identifier: Apache-2.0
"""The table of methods, and what each client sends."""

from __future__ import annotations

import inspect
import json
import pathlib
from typing import Any

import pytest

from openkeel_heat.common import config
from openkeel_heat.common.context import RequestContext, get_admin_context
from openkeel_heat.rpc import api, messaging, methods
from openkeel_heat.rpc.client import EngineClient
from openkeel_heat.rpc.listener_client import EngineListenerClient
from openkeel_heat.rpc.worker_client import WorkerClient

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "rpc.json").read_text())
TOPICS = DATA["topics"]
METHODS = [(topic, name, facts) for topic, all_ in TOPICS.items() for name, facts in all_["server_methods"].items()]
CLIENTS: dict[str, Any] = {
    "engine": EngineClient,
    "engine_worker": WorkerClient,
    "heat-engine-listener": lambda: EngineListenerClient("ENGINE_ID"),
}
SENT = [
    (topic, name, facts, sent)
    for topic, all_ in TOPICS.items()
    for name, facts in all_["client_methods"].items()
    for sent in facts["sends"]
]


@pytest.fixture(scope="module", autouse=True)
def _options() -> None:
    config.register_all()
    config.cfg.CONF([], project="heat", default_config_files=[])


def test_topics() -> None:
    assert set(methods.TOPICS) == set(TOPICS)
    for name, facts in TOPICS.items():
        assert methods.TOPICS[name].version == facts["server_version"]
        assert set(methods.TOPICS[name].methods) == set(facts["server_methods"])
    numbers = DATA["numbers"]
    assert numbers["STOP_STACK_TIMEOUT"] == methods.STOP_STACK_TIMEOUT
    assert numbers["CANCEL_RETRIES"] == methods.CANCEL_RETRIES


@pytest.mark.parametrize(("topic", "name", "facts"), METHODS, ids=lambda value: value if isinstance(value, str) else "")
def test_server_methods(topic: str, name: str, facts: dict[str, Any]) -> None:
    row = methods.TOPICS[topic].methods[name]
    ours = [
        {"name": p.name, "required": True}
        if p.default is inspect.Parameter.empty
        else {"name": p.name, "required": False, "default": p.default}
        for p in row.signature.parameters.values()
    ]
    assert ours == [{key: a[key] for key in ("name", "required", "default") if key in a} for a in facts["arguments"]]
    assert row.expects_errors == facts["request_context_wrapped"]
    assert not facts["client_version"] or [row.version] == facts["client_version"]
    reply = facts["reply"]
    assert row.reply == (f"[{reply[0]}]" if isinstance(reply, list) else reply)


class Recorder:
    def __init__(self) -> None:
        self.sent: list[messaging.Message] = []

    def before_send(self, message: messaging.Message) -> None:
        self.sent.append(message)

    def after_send(self, message: messaging.Message) -> None: ...


@pytest.mark.parametrize(
    ("topic", "name", "facts", "sent"), SENT, ids=lambda value: value if isinstance(value, str) else ""
)
def test_client_sends(
    topic: str, name: str, facts: dict[str, Any], sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[float | None] = []
    monkeypatch.setattr(messaging, "_send", lambda message, ctxt, timeout: timeouts.append(timeout))
    recorder = Recorder()
    monkeypatch.setattr(messaging, "watchers", [recorder])
    required = [a["name"] for a in facts["client_arguments"] if a["required"]]
    keywords = {"cast": True} if sent.get("when") == "cast=True" else {}
    getattr(CLIENTS[topic](), name)(get_admin_context(), *(r.upper() for r in required), **keywords)
    (message,) = recorder.sent
    wanted = sent["sent_arguments"]
    assert (message.kind, message.method, message.version) == (sent["kind"], sent["rpc_method"], sent["version"])
    assert message.arguments == wanted
    assert message.topic == topic
    assert message.server == sent["target"].get("server")
    expected = {"rpc_response_timeout": None, "the timeout argument": "TIMEOUT", None: None}
    assert timeouts == [expected.get(sent["timeout"], sent["timeout"])]


@pytest.mark.parametrize(("topic", "name"), sorted({(topic, name) for topic, name, _, _ in SENT}))
def test_client_arguments(topic: str, name: str) -> None:
    """Names, order and defaults of what a caller gives."""
    wanted = TOPICS[topic]["client_methods"][name]["client_arguments"]
    client = CLIENTS[topic]()
    if name in ("_create_stack", "_update_stack"):
        row = methods.ENGINE_METHODS[name[1:]]
        ours = list(row.signature.parameters.values())
    else:
        ours = list(inspect.signature(getattr(type(client), name)).parameters.values())[2:]
    assert [p.name for p in ours] == [a["name"] for a in wanted]
    assert [p.default for p in ours if p.default is not inspect.Parameter.empty] == [
        a["default"] for a in wanted if not a["required"]
    ]


def test_listener_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[messaging.Message, float | None]] = []
    monkeypatch.setattr(messaging, "_send", lambda message, ctxt, timeout: calls.append((message, timeout)))
    client = EngineListenerClient("e")
    client.send(get_admin_context(), {"stack_id": "s"}, methods.THREAD_CANCEL)
    client.stop_stack(get_admin_context(), {"stack_id": "s"})
    wanted = TOPICS["heat-engine-listener"]["other_calls"]
    for (message, timeout), facts in zip(calls, wanted, strict=True):
        assert message.method == facts["rpc_method"]
        assert list(message.arguments) == facts["arguments"]
        assert message.version == facts["version"]
        assert timeout == (2 if "engine_life_check_timeout" in str(facts["timeout"]) else facts["timeout"])
    assert list(methods.THREAD_MESSAGES) == wanted[0]["message_values"]


def test_constants() -> None:
    for name, value in DATA["constants"].items():
        ours = getattr(api, name)
        assert (list(ours) if isinstance(ours, tuple) else ours) == value, name
    print(f"{len(METHODS)} server methods, {len(SENT)} messages of clients, {len(DATA['constants'])} constants")


def test_bus_facts() -> None:
    assert DATA["control_exchange"] == messaging.CONTROL_EXCHANGE
    assert DATA["allowed_remote_exmods"] == messaging.ALLOWED_REMOTE_EXMODS


# --- contexts ---------------------------------------------------------------------------------------------------------

CONTEXT = DATA["request_context"]


@pytest.mark.parametrize("case", CONTEXT["from_dict_cases"], ids=lambda case: "+".join(case["input"]) or "empty")
def test_context_from_dict(case: dict[str, Any]) -> None:
    made = RequestContext.from_dict(dict(case["input"]), overwrite=False).to_dict()
    assert made.pop("request_id").startswith("req-")
    ours = {key: value for key, value in made.items() if value not in (None, [], "")}
    if "user_identity" not in case["to_dict"]:
        assert ours.pop("user_identity", "- - - - -") == "- - - - -"
    assert ours == case["to_dict"]


def test_context_to_dict() -> None:
    example = {key: facts["example"] for key, facts in CONTEXT["to_dict"].items()}
    made = RequestContext.from_dict(example, overwrite=False).to_dict()
    assert made == example
    assert made.keys() == CONTEXT["to_dict"].keys()
    admin = get_admin_context().to_dict()
    assert {key: admin[key] for key in CONTEXT["admin_context"]} == CONTEXT["admin_context"]
    assert CONTEXT["from_dict_extra_keys"] == RequestContext.FROM_DICT_EXTRA_KEYS
    print(f"{len(CONTEXT['from_dict_cases'])} contexts, {len(example)} keys")
