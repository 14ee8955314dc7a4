# SPDX-License-Identifier: Apache-2.0
"""Operations: one transaction, retried as a whole, never nested."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exc

from openkeel_heat.common import exceptions
from openkeel_heat.db import migrate, models, session, software, sql, templates
from openkeel_heat.db.session import Abandon, Connection, StatementCounter, Watcher, operation, query, watching

table = models.raw_template_files


@operation
def add(c: Connection, value: Any) -> int:
    return int(sql.insert(c, table, {"files": value}))


@query
def total(c: Connection) -> int:
    return sql.count(c, table)


def test_commit_and_return(db: str) -> None:
    key = add({"a": 1})
    assert templates.get_files(key) == {"a": 1}
    assert total() == 1


def test_error_rolls_back(db: str) -> None:
    @operation
    def fails(c: Connection) -> None:
        add.within(c, 1)
        raise KeyError("x")

    with pytest.raises(KeyError):
        fails()
    assert total() == 0


def test_an_error_does_not_tell_what_was_written(db: str) -> None:
    """Nor what was asked for: it goes into logs, and into reasons that users see."""
    key = add({"a": 1})

    @operation
    def fails(c: Connection) -> None:
        sql.insert(c, table, {"id": key, "files": {"word": "s3cret"}})

    with pytest.raises(db_exc.DBDuplicateEntry) as caught:
        fails()
    assert "INSERT" in str(caught.value) and "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value.inner_exception)


def test_a_null_character(db: str) -> None:
    """PostgreSQL has no texts with one: what is asked for with it is refused, or not there."""
    for ask in (lambda: software.get_config("a\x00b"), lambda: software.list_deployments("t", "a\x00b")):
        try:
            assert not ask()
        except exceptions.Invalid as refused:
            assert str(refused) == "Data supplied was not valid: a text has a null character"
    assert total() == 0


def test_abandon_rolls_back_and_returns(db: str) -> None:
    @operation
    def lost(c: Connection) -> str | None:
        add.within(c, 1)
        raise Abandon("lost")

    assert lost() == "lost"
    assert total() == 0


def test_nesting_is_refused_and_within_composes(db: str) -> None:
    @operation
    def nested(c: Connection) -> None:
        add(1)

    @operation
    def composed(c: Connection) -> int:
        add.within(c, 1)
        add.within(c, 2)
        return total.within(c)

    with pytest.raises(session.NestedOperation, match=r"test_session.add called inside test_session.nested"):
        nested()
    assert composed() == 2
    counter = StatementCounter()
    with watching(counter):
        composed()
    assert (counter.statements, counter.commits) == (3, 1)
    assert counter.by_operation == {"test_session.composed": 3}


def test_queries_do_not_commit(db: str) -> None:
    counter = StatementCounter()
    with watching(counter):
        total()
    assert (counter.statements, counter.commits) == (1, 0)


def test_queries_see_what_others_committed_meanwhile(db: str) -> None:
    if db == "sqlite":
        pytest.skip("a query of SQLite sees one state")

    @query
    def twice(c: Connection) -> tuple[int, int]:
        before = sql.count(c, table)
        other = threading.Thread(target=add, args=(1,))
        other.start()
        other.join()
        return before, sql.count(c, table)

    assert twice() == (0, 1)


def test_a_query_is_one_request_to_the_server(db: str) -> None:
    if db != "mariadb":
        pytest.skip("of MariaDB only")

    @query
    def asked(c: Connection) -> int:
        return int(c.exec_driver_sql("SHOW SESSION STATUS LIKE 'Questions'").one()[1])

    before = asked()
    for _ in range(10):
        total()
    assert asked() - before == 11  # ten and this; no BEGIN, no ROLLBACK


def test_queries_leave_no_transaction_open(db: str) -> None:
    if db != "postgresql":
        pytest.skip("of PostgreSQL only")

    @query
    def state(c: Connection) -> int:
        sql.count(c, table)
        connection: Any = c.connection.dbapi_connection
        return int(connection.info.transaction_status)

    assert state() == 0


@pytest.mark.parametrize("error", [db_exc.DBDeadlock, db_exc.DBConnectionError])
def test_whole_operation_is_retried(db: str, error: type[Exception]) -> None:
    calls = []

    @operation
    def sometimes(c: Connection) -> int:
        key = add.within(c, len(calls))
        calls.append(key)
        if len(calls) == 1:
            raise error()
        return key

    key = sometimes()
    assert len(calls) == 2
    assert total() == 1
    assert templates.get_files(key) == 1


def test_fault_before_commit_is_retried_and_after_commit_is_not(db: str) -> None:
    class Fault(Watcher):
        left = 2

        def before_commit(self, operation: str) -> None:
            self.left -= 1
            if self.left >= 0:
                raise db_exc.DBDeadlock()

    with watching(Fault()):
        add(1)
    assert total() == 1

    class Late(Watcher):
        def after_commit(self, operation: str) -> None:
            raise ConnectionResetError(operation)

    with watching(Late()), pytest.raises(ConnectionResetError, match="test_session.add"):
        add(2)
    assert total() == 2


def test_retries_end(sqlite: str) -> None:
    calls = []

    @operation
    def never(c: Connection) -> None:
        calls.append(1)
        raise db_exc.DBDeadlock()

    cfg.CONF.set_override("db_max_retries", 3, group="database")
    try:
        with pytest.raises(db_exc.DBDeadlock):
            never()
    finally:
        cfg.CONF.clear_override("db_max_retries", group="database")
    assert len(calls) == 4


def test_lost_connection_is_replaced(db: str) -> None:
    if db == "sqlite":
        pytest.skip("nothing to lose")
    add(1)
    kill = "KILL CONNECTION_ID()" if db == "mariadb" else "SELECT pg_terminate_backend(pg_backend_pid())"
    once = [1]

    @operation
    def cut(c: Connection) -> int:
        key = add.within(c, 2)
        if once:
            once.pop()
            c.exec_driver_sql(kill)
        return key

    cut()
    assert total() == 2


def test_threads_share_one_database(db: str) -> None:
    def work() -> None:
        for number in range(20):
            add(number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total() == 80


def _child(queue: Any) -> None:
    queue.put(add("child"))


def test_fork_makes_connections_of_its_own(db: str) -> None:
    add("parent")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue,))
    process.start()
    key = queue.get(timeout=30)
    process.join(30)
    assert process.exitcode == 0
    assert templates.get_files(key) == "child"
    assert total() == 2


def test_null_is_the_json_text(db: str) -> None:
    templates.insert({"template": {"a": 1}})
    sql_text = sa.text("SELECT template, files, environment, files_id, created_at, updated_at FROM raw_template")
    with session.get_engine().connect() as c:
        row = c.execute(sql_text).one()
    assert tuple(row[:4]) == ('{"a": 1}', "null", "null", None)
    assert row[4] is not None
    assert row[5] is None


def test_mysql_connections_are_read_committed(db: str) -> None:
    if db != "mariadb":
        pytest.skip("of MariaDB only")
    with session.get_engine().connect() as c:
        assert c.exec_driver_sql("SELECT @@tx_isolation").scalar() == "READ-COMMITTED"


def test_insert_many_keeps_the_order(db: str) -> None:
    @operation
    def insert(c: Connection, count: int) -> list[int]:
        return sql.insert_many(c, table, [{"files": number} for number in range(count)], ids=True)

    counter = StatementCounter()
    with watching(counter):
        keys = insert(200)
    assert [templates.get_files(key) for key in keys] == list(range(200))
    assert counter.statements <= 2, counter.statements


def test_a_real_deadlock_is_resolved(db: str) -> None:
    """Two operations take two rows in opposite order; both finish, each has done its work once."""
    first, second = add(0), add(0)
    meet = threading.Barrier(2)
    tries = []

    @operation
    def both(c: Connection, one: int, other: int) -> None:
        tries.append(one)
        count(c, one)
        if len(tries) <= 2 and db != "sqlite":  # SQLite lets only one in
            meet.wait(10)
        count(c, other)

    def count(c: Connection, key: int) -> None:
        value = sql.select(c, table, ("files",), id=key, lock=True).scalar()
        sql.update(c, table, {"files": value + 1}, id=key)

    threads = [threading.Thread(target=both, args=keys) for keys in ((first, second), (second, first))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [templates.get_files(key) for key in (first, second)] == [2, 2]
    assert len(tries) == (2 if db == "sqlite" else 3)


def test_update_that_changes_nothing_has_matched(db: str) -> None:
    key = add(1)

    @operation
    def again(c: Connection) -> int:
        return sql.update(c, models.raw_template_files, {"files": 1, "updated_at": None}, id=key)

    assert again() == again() == 1


@pytest.mark.parametrize(
    ("reason", "narrow", "wide"),
    [
        ("plain", "plain", "plain"),
        ("nul\0", "nul\ufffd", "nul\ufffd"),
        ("key 🔑 日", "key \ufffd 日", "key 🔑 日"),
        ("x" * 300, "x" * 300, "x" * 300),
    ],
)
def test_reasons_always_fit(db: str, reason: str, narrow: str, wide: str) -> None:
    from openkeel_heat.db import events, snapshots, stacks
    from tests.unit.db.rows import make_stack

    key = make_stack(status_reason=reason)
    is_narrow = db == "mariadb" and "utf8mb4" not in str(session.get_engine().url)
    expected = narrow if is_narrow else wide
    assert stacks.get(key).status_reason == expected
    snapshot = snapshots.insert({"stack_id": key, "tenant": "t"})
    snapshots.update(snapshot, {"status_reason": reason})
    assert snapshots.get(snapshot).status_reason == expected[:255]
    events.insert({"stack_id": key, "resource_status_reason": reason})
    assert events.list_by_stacks(key)[0].resource_status_reason == expected[:255]


@pytest.mark.services
def test_reasons_in_a_narrow_database() -> None:
    from openkeel_heat.db import stacks
    from tests.fixtures import stores
    from tests.unit.db.rows import make_stack

    if not stores.have_mariadb():
        pytest.skip("no MariaDB server on this machine")
    with stores.mariadb_database("narrow") as (name, url):
        stores.mariadb(f"ALTER DATABASE `{name}` CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci")
        session.configure(connection=url.partition("?")[0])
        migrate.sync()
        key = make_stack(status_reason="key 🔑 日")
        assert stacks.get(key).status_reason == "key \ufffd 日"
        session.dispose()


def test_long_lists_are_cut_up(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "CHUNK", 7)

    @operation
    def insert(c: Connection) -> list[int]:
        return sql.insert_many(c, table, [{"files": number} for number in range(20)], ids=True)

    @operation
    def remove(c: Connection, keys: list[int]) -> tuple[int, int]:
        seen = sql.referenced(c, table.c.id, [*keys, 10**6])
        return len(seen), sql.delete(c, table, id=keys)

    assert remove(insert()[:18]) == (18, 18)
    assert total() == 2


class Connects:
    """Counts connections that are opened."""

    def __init__(self) -> None:
        self.count = 0
        sa.event.listen(session.get_engine(), "connect", self)

    def __call__(self, *args: Any) -> None:
        self.count += 1


def test_threads_wait_for_a_connection_that_is_kept(db: str) -> None:
    connects = Connects()

    def work() -> None:
        for _ in range(20):
            total()

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert connects.count <= 8


def test_more_connections_when_those_are_busy(db: str) -> None:
    """Waiting is bounded: operations that wait for each other all get a connection."""
    meet = threading.Barrier(8)
    done = []

    @query
    def slow(c: Connection) -> int:
        number = total.within(c)
        meet.wait(20)
        return number

    threads = [threading.Thread(target=lambda: done.append(slow())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [0] * 8
