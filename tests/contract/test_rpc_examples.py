# SPDX-License-Identifier: Apache-2.0
"""The recorded RPC calls of whole stack life cycles, played to our endpoints: replies, errors, notifications, rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg

from tests.contract import rpc_replay as replay

#: Where we answer better than the recording: (section, index of the call) -> check of (reply, error).
BETTER: dict[tuple[str, int], Any] = {
    # an HTTP exception object through RPC -> 400
    ("template_calls", 2): lambda reply, error: "No Template provided." in str(error),
    ("template_calls", 3): lambda reply, error: type(error).__name__ == "Invalid" and "12345" in str(error),
    # KeyError of discovery -> the template
    ("template_calls", 7): lambda reply, error: error is None and "Resources" in reply,
    ("template_calls", 8): lambda reply, error: error is None and "resources" in reply,
    # a call with condition functions changed what later calls told
    **{
        ("functions_list", index): lambda reply, error: (
            error is None and not {"not", "Fn::Not"} & {one["functions"] for one in reply}
        )
        for index in (2, 5, 8)
    },
}


class Player:
    """The endpoints, the names learnt so far, and the notifications that went out."""

    def __init__(self, service: Any, notifications: list[Any]) -> None:
        self.service = service
        self.names = replay.Names()
        self.notifications = notifications

    def context(self, admin: bool = False) -> Any:
        from openkeel_heat.common.context import RequestContext

        return RequestContext(
            username="test_user",
            user_name="test_user",
            password="password",
            user_id="test_user_id",
            project_id="test_tenant_id",
            project_name="test_tenant",
            is_admin=admin,
            roles=["member"],
            auth_url="http://keystone.example.test:5000/v3",
            auth_token="abcd1234",
        )

    def settle(self) -> None:
        replay.poll(
            lambda: (
                not _count("stack", "status = 'IN_PROGRESS' AND deleted_at IS NULL")
                and not _count("resource", "engine_id IS NOT NULL")
            ),
            30,
        )

    def play(self, section: str, index: int, call: dict[str, Any]) -> None:
        method = call["method"]
        if (section, index) == ("cancel", 2):
            replay.poll(lambda: bool(_count("resource", "action = 'UPDATE' AND engine_id IS NOT NULL")))
        elif section != "hooks":
            self.settle()
        better = BETTER.get((section, index))
        mismatch: list[AssertionError] = []

        def fits() -> bool:
            mismatch.clear()
            known = dict(self.names.known)
            arguments = replay.bound(method, self.names.actual(call["args"]), self.names.actual(call["kwargs"]))
            context = self.context(admin=call["label"] == "admin")
            reply, error = replay.error_of(lambda: getattr(self.service, method)(context, **arguments))
            try:
                if better is not None:
                    assert better(reply, error), f"{section}[{index}] {method}: {reply!r} {error!r}"
                else:
                    self._compare(f"{section}[{index}] {method} ({call['label']})", call, reply, error)
                return True
            except AssertionError as wrong:
                self.names.known = known
                mismatch.append(wrong)
                return False

        again = (
            section == "hooks"
            or call.get("exception") is None
            and method.startswith(("show", "list", "describe", "get", "stack_list"))
        )
        replay.poll(fits, 3 if again else 0)
        if mismatch:
            raise mismatch[0]

    def _compare(self, place: str, call: dict[str, Any], reply: Any, error: BaseException | None) -> None:
        expected = call.get("exception")
        if expected is None:
            if error is not None:
                raise AssertionError(f"{place}: {error!r}") from error
            reply = json.loads(json.dumps(reply, default=str))
            self.names.match(call["reply"], reply, place)
            return
        assert error is not None, f"{place}: {expected} expected, not {reply!r}"
        assert (type(error).__name__, type(error).__module__) == (expected["class"], expected["module"]), (
            f"{place}: {error!r} {expected}"
        )
        self.names.match(expected["message"], str(error), place)


def _count(table: str, where: str) -> int:
    import sqlalchemy as sa

    from openkeel_heat.db import session

    with session.get_engine().connect() as connection:
        return int(connection.execute(sa.text(f"SELECT COUNT(*) FROM {table} WHERE {where}")).scalar_one())


class _Bus:
    """Notes notifications."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def before_send(self, message: Any) -> None:
        if message.kind == "notify":
            self.sent.append({"event_type": message.method, "body": message.arguments})

    def after_send(self, message: Any) -> None:
        pass


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    from openkeel_heat.cmd import all_in_one, backend, process
    from openkeel_heat.db import migrate, session
    from openkeel_heat.rpc import messaging

    backend.select([])
    folder = tmp_path_factory.mktemp("rpc")
    cfg.CONF.reset()
    conf = process.config.setup([], "heat-engine")
    all_in_one.set_defaults(conf, str(folder))
    from oslo_messaging.notify import notifier

    conf.register_opts(notifier._notifier_opts, group="oslo_messaging_notifications")
    conf.set_override("driver", ["noop", "log"], group="oslo_messaging_notifications")
    for name, value in (
        ("host", "enginehost"),
        ("deferred_auth_method", "password"),
        ("enable_stack_abandon", True),
        ("enable_stack_adopt", True),
        ("reauthentication_auth_method", ""),
    ):
        conf.set_override(name, value)
    messaging.setup(conf)
    session.configure(conf)
    migrate.sync()
    from openkeel_heat.clients.local import LocalKeystone
    from openkeel_heat.engine.server import Engine
    from openkeel_heat.engine.service import EngineService

    patches = pytest.MonkeyPatch()  # the recording had no domain for the users of stacks: their project is the user's
    patches.setattr(LocalKeystone, "create_stack_domain_project", lambda self, stack_id: self.context.project_id)
    patches.setattr(LocalKeystone, "delete_stack_domain_project", lambda self, project_id: None)
    bus = _Bus()
    messaging.watchers.append(bus)
    engine = Engine(conf)
    engine.start()
    try:
        yield Player(EngineService(engine), bus.sent)
    finally:
        engine.stop()
        engine.wait()
        messaging.watchers.remove(bus)
        patches.undo()
        session.dispose()
        messaging.cleanup()
        for name in (
            "host",
            "deferred_auth_method",
            "enable_stack_abandon",
            "enable_stack_adopt",
            "reauthentication_auth_method",
        ):
            conf.clear_override(name)
        conf.clear_override("driver", group="oslo_messaging_notifications")
        all_in_one.clear_defaults(conf)
        conf.reset()


#: Rows are compared after these sections; of these tables, without what counts the writes of Heat's way of working.
ROWS_AFTER = {"create_and_show": "after_create", "snapshots": "after_snapshot"}
TABLES = {
    "stack": (),
    "raw_template": ("id",),
    "stack_tag": ("id",),
    "user_creds": ("id", "decrypt_method"),
    "resource": (
        "id",
        "atomic_key",
        "requires",
        "rsrc_prop_data_id",
        "attr_data_id",
        "current_template_id",
        "needed_by",
    ),
    "resource_data": ("id", "resource_id"),
    "snapshot": (),
    "resource_snapshot": ("id",),
    "service": (),
    "event": ("id", "uuid", "rsrc_prop_data_id"),
    "stack_lock": (),
    "sync_point": (),
}
#: A snapshot that is deleted takes its sync point along: theirs is left.
LEAKED = {("after_snapshot", "sync_point")}
#: Ids of rows, which count differently.
NUMBERS = ("raw_template_id", "prev_raw_template_id", "user_creds_id", "current_deps")


def _rows(table: str) -> list[dict[str, Any]]:
    import sqlalchemy as sa

    from openkeel_heat.db import session

    with session.get_engine().connect() as connection:
        return [dict(row._mapping) for row in connection.execute(sa.text(f'SELECT * FROM "{table}"'))]


def _compare_rows(names: replay.Names, moment: str) -> list[str]:
    """Differences between our rows and the recorded ones, by table."""
    wrong = []
    for table, ignored in TABLES.items():
        if (moment, table) in LEAKED:
            continue
        recorded = replay.EXAMPLES["db_rows"][moment][table]
        present = _rows(table)
        columns = {column for row in recorded for column in row} - set(ignored) - set(NUMBERS)
        expected = [{column: _value(row[column]) for column in columns} for row in recorded]
        actual = json.loads(json.dumps([{column: _value(row.get(column)) for column in columns} for row in present]))
        try:
            names.match(expected, actual, f"{moment}.{table}")
        except AssertionError as mismatch:
            wrong.append(str(mismatch))
    return wrong


def _value(stored: Any) -> Any:
    """JSON texts by what they say (the order of keys is nobody's business)."""
    if isinstance(stored, str) and stored[:1] in ("{", "["):
        return json.loads(stored)
    return stored


@pytest.mark.parametrize("section", replay.ORDER)
def test_section(player: Player, section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls in the order of the recording; later sections go on with the stack of the first."""
    if section == "check_failure":
        from openkeel_heat.resources.heat.value import Value

        def handle_check(self: Any) -> None:
            if self.name == "a":
                raise Exception("check says no")

        monkeypatch.setattr(Value, "handle_check", handle_check, raising=False)
    recorded = replay.EXAMPLES["sections"][section]
    before = len(player.notifications)
    wrong = []
    for index, call in enumerate(recorded["calls"]):
        try:
            player.play(section, index, call)
        except AssertionError as mismatch:
            wrong.append(str(mismatch))
    player.settle()
    expected = Counter(one["event_type"] for one in recorded["notifications"])
    replay.poll(lambda: len(player.notifications) - before >= sum(expected.values()), 5)  # they follow the commit
    sent = Counter(one["event_type"] for one in player.notifications[before:])
    if sent != expected:
        wrong.append(f"notifications: {sorted((expected - sent).items())} missing, {sorted((sent - expected).items())}")
    if section in ROWS_AFTER:
        wrong += _compare_rows(player.names, ROWS_AFTER[section])
    if section == "delete":
        tables = (
            "resource",
            "resource_data",
            "resource_snapshot",
            "snapshot",
            "sync_point",
            "stack_tag",
            "stack_lock",
            "user_creds",
        )
        left = {table: count for table in tables if (count := _count(table, "1 = 1"))}
        if left:
            wrong.append(f"left behind: {left}")
    print(f"{section}: {len(recorded['calls'])} calls, {sum(expected.values())} notifications")
    assert not wrong, f"{len(wrong)} of {len(recorded['calls'])}:\n" + "\n".join(text[:1500] for text in wrong)


def test_every_method_of_the_contract() -> None:
    """Names, arguments and defaults of our endpoints are those of the contract."""
    import inspect

    from openkeel_heat.engine.service import EngineService

    contract = json.loads((replay.DATA / "rpc.json").read_text())["topics"]["engine"]
    assert contract["server_version"] == EngineService.RPC_API_VERSION
    assert set(EngineService.methods()) == set(contract["server_methods"])
    for name, method in contract["server_methods"].items():
        ours = list(inspect.signature(getattr(EngineService, name)).parameters.values())[2:]
        assert [parameter.name for parameter in ours] == [argument["name"] for argument in method["arguments"]], name
        for parameter, argument in zip(ours, method["arguments"], strict=True):
            if argument["required"]:
                assert parameter.default is inspect.Parameter.empty, (name, parameter)
            else:
                assert parameter.default == argument["default"], (name, parameter)
    print(f"{len(contract['server_methods'])} methods")
