# SPDX-License-Identifier: Apache-2.0
"""Connections and operations: the only place where transactions begin and end.

Everything the engine does with the database is a named *operation*::

    @operation                       # writes: one transaction, committed when the function returns
    def rename(c: Connection, stack_id: str, name: str) -> bool: ...

    @query                           # reads only: one connection, never a commit
    def get(c: Connection, stack_id: str) -> Row | None: ...

    rename(stack_id, "new")          # callers never see the connection

An operation is retried as a whole when the database reports a deadlock or a lost connection, with a fresh transaction
each time, so its function must have no other effect than its SQL. Calling an operation from inside another one is
refused (:class:`NestedOperation`): compose them in one transaction with ``rename.within(c, …)``. A function that finds
that it lost a race undoes all it wrote and still returns a value by ``raise Abandon(value)``.

Isolation is READ COMMITTED on MariaDB, MySQL and PostgreSQL; SQLite runs in WAL mode and writing operations take the
write lock at their first statement, so that all three behave alike. On servers, queries have connections of their own
which commit each statement by themselves: a transaction would see no more, and its end is one more round trip.
"""

from __future__ import annotations

import functools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exc, options
from oslo_db.sqlalchemy import enginefacade
from oslo_log import log as logging
from sqlalchemy import pool as sa_pool
from sqlalchemy.engine import Connection, Engine, Row
from sqlalchemy.util import queue as sa_queue

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db.sql import NARROW

__all__ = [
    "Abandon",
    "Connection",
    "NestedOperation",
    "Operation",
    "Row",
    "StatementCounter",
    "Watcher",
    "configure",
    "dispose",
    "get_engine",
    "may_be_done",
    "operation",
    "query",
    "watchers",
    "watching",
]

LOG = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

SQLITE_BUSY_SECONDS = 60
#: What the driver of PostgreSQL, which has no such texts, says before it sends a statement.
_NO_NULL = "cannot contain NUL (0x00)"
_FIRST_DEADLOCK_DELAY = 0.01
_WRITE = "openkeel_write"


class NestedOperation(RuntimeError):
    """An operation was called while another one was open in the same thread."""


class Abandon(Exception):
    """Roll the transaction of the running operation back and return `value` from it.

    Raised within a part (``within``) it abandons the whole, unless the operation that owns the transaction catches it.
    """

    def __init__(self, value: Any = None) -> None:
        super().__init__(value)
        self.value = value


class Watcher:
    """Sees every statement and commit; subclass it to count, to time, or to inject faults by raising."""

    def before_commit(self, operation: str) -> None:
        """Just before COMMIT of the named operation ("stacks.update"); raising rolls it back."""

    def after_commit(self, operation: str) -> None:
        """Just after COMMIT; raising loses the operation's result, not its effect.

        A ``DBConnectionError`` stands for an answer that got lost: the operation runs once more.
        """

    def statement(self, operation: str, sql: str) -> None:
        """Just before a statement is sent; `operation` is empty outside of operations."""


class StatementCounter(Watcher):
    """Counts statements and commits, in total and per operation."""

    def __init__(self) -> None:
        self.statements = 0
        self.commits = 0
        self.by_operation: Counter[str] = Counter()
        self.commits_by_operation: Counter[str] = Counter()
        self.log: list[tuple[str, str]] = []
        self.keep_log = False

    def after_commit(self, operation: str) -> None:
        self.commits += 1
        self.commits_by_operation[operation] += 1

    def statement(self, operation: str, sql: str) -> None:
        self.statements += 1
        self.by_operation[operation] += 1
        if self.keep_log:
            self.log.append((operation, sql))


watchers: list[Watcher] = []


@contextmanager
def watching(*added: Watcher) -> Iterator[None]:
    """Add watchers for the length of a with block."""
    watchers.extend(added)
    try:
        yield
    finally:
        for watcher in added:
            watchers.remove(watcher)


class _Local(threading.local):
    operation: str = ""
    may_be_done: bool = False


class _Database:
    """The engine of this process, made at first use from `[database]`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.conf: cfg.ConfigOpts = cfg.CONF
        self.overrides: dict[str, Any] = {}
        self.managers: list[Any] = []
        self.engine: Engine | None = None
        #: What operations and queries connect with.
        self.writer: Engine | None = None
        self.reader: Engine | None = None

    def start(self) -> Engine:
        with self.lock:
            if self.engine is None:
                conf = self.conf
                conf.register_opts(options.database_opts, "database")
                arguments = {o.dest: getattr(conf.database, o.dest) for o in options.database_opts}
                arguments.update(self.overrides)
                engine = self._connect(arguments)
                if engine.name == "sqlite":
                    self.reader = engine
                    self.writer = engine.execution_options(**{_WRITE: True})
                else:
                    self.reader = self._connect(arguments, autocommit=True)
                    self.writer = engine
                self.engine = engine
            return self.engine

    def _connect(self, arguments: dict[str, Any], autocommit: bool = False) -> Engine:
        manager = enginefacade.transaction_context()
        manager.configure(
            thread_checkin=False,  # a yield after each operation, which native threads do without
            **{k: v for k, v in arguments.items() if k in _FACADE_OPTIONS},
        )
        engine: Engine = manager.writer.get_engine()
        _prepare(engine, arguments, autocommit)
        self.managers.append(manager)
        return engine


_FACADE_OPTIONS = frozenset({
    "connection", "connection_debug", "connection_parameters", "connection_recycle_time", "connection_trace",
    "max_overflow", "max_pool_size", "max_retries", "mysql_sql_mode", "mysql_wsrep_sync_wait", "pool_timeout",
    "retry_interval", "sqlite_fk", "sqlite_synchronous",
})  # fmt: skip

_local = _Local()
_database = _Database()


class PatientPool(sa_pool.QueuePool):
    """Waits a moment for one of the connections that are kept before it opens another that will not be kept.

    To open a connection costs as much as a hundred operations, and operations are short.
    """

    PATIENCE = 0.5  # seconds

    def _do_get(self) -> Any:
        if self._overflow >= 0 and self.size():  # as many are open as are kept; size 0 keeps all
            try:
                return self._pool.get(True, self.PATIENCE)
            except sa_queue.Empty:
                pass
        return super()._do_get()


def _prepare(engine: Engine, arguments: dict[str, Any], autocommit: bool = False) -> None:
    """Fit the engine that oslo.db made to whole-operation transactions.

    Operations are retried as a whole on a lost connection and always end their transaction themselves; a ping before
    and a ROLLBACK after each of them would be two more round trips for nothing. For SQLite oslo.db keeps no connection
    at all; but to open one is to parse the schema again.
    """
    pool: Any = engine.pool
    if not isinstance(pool, sa_pool.StaticPool):
        kept, timeout = arguments.get("max_pool_size"), arguments.get("pool_timeout")
        overflow, recycle = arguments.get("max_overflow"), arguments.get("connection_recycle_time")
        engine.pool = PatientPool(
            pool._creator,
            pool_size=5 if kept is None else kept,
            max_overflow=50 if overflow is None else overflow,
            timeout=30 if timeout is None else timeout,
            recycle=-1 if recycle is None else recycle,
            reset_on_return=None,
            pre_ping=False,
            dialect=engine.dialect,
            _dispatch=pool.dispatch,
        )
    pool.dispose()  # what was opened before the listeners below
    if engine.name == "sqlite":
        sa.event.listen(engine, "connect", _sqlite_connect)
        for listener in list(engine.dispatch.begin):
            sa.event.remove(engine, "begin", listener)  # oslo.db's BEGIN would come first and read before it writes
        sa.event.listen(engine, "begin", _sqlite_begin)
    elif engine.name in ("mysql", "mariadb"):
        sa.event.listen(engine, "connect", _mysql_connect)
    if autocommit:
        sa.event.listen(engine, "connect", _each_statement_by_itself)
        engine.dialect.do_rollback = lambda dbapi_connection: None  # type: ignore[method-assign]  # nothing is open
    sa.event.listen(engine, "before_cursor_execute", _on_statement)
    engine.hide_parameters = True  # they have what users keep secret, and errors go into logs and reasons


def _sqlite_connect(connection: Any, record: Any) -> None:
    connection.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA journal_mode = WAL").close()
    connection.execute("PRAGMA synchronous = NORMAL")


def _sqlite_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get(_WRITE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _mysql_connect(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@log_bin, @@binlog_format, @@character_set_client, @@character_set_database")
        log_bin, binlog_format, *character_sets = cursor.fetchone()
        if not (int(log_bin) and str(binlog_format).upper() == "STATEMENT"):  # which excludes READ COMMITTED
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    record.info[NARROW] = any(name != "utf8mb4" for name in character_sets)


def _each_statement_by_itself(connection: Any, record: Any) -> None:
    if callable(connection.autocommit):  # drivers of MySQL
        connection.autocommit(True)
    else:
        connection.autocommit = True


def _on_statement(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> None:
    if watchers and not statement.startswith("BEGIN"):
        for watcher in watchers:
            watcher.statement(_local.operation, statement)


def configure(conf: cfg.ConfigOpts | None = None, **overrides: Any) -> None:
    """Use `conf` ([database] options); keywords (``connection=…``) win over it. Nothing connects before first use."""
    dispose()
    _database.conf = cfg.CONF if conf is None else conf
    _database.overrides = overrides


def get_engine() -> Engine:
    """The SQLAlchemy engine, for migrations and start-up checks; everything else uses operations."""
    return _database.engine or _database.start()


def dispose(close: bool = True) -> None:
    """Forget the engine and its connections; the next operation makes new ones.

    With ``close=False`` the sockets are left alone, which is what a forked child needs: they belong to its parent.
    """
    with _database.lock:
        engines = {_database.engine, _database.reader} - {None}
        _database.engine = _database.reader = _database.writer = None
        _database.managers = []
    for engine in engines:
        assert engine is not None
        engine.dispose(close=close)


def _after_fork() -> None:
    _database.lock = threading.Lock()
    _local.operation = ""
    dispose(close=False)


os.register_at_fork(after_in_child=_after_fork)


class Operation(Generic[P, R]):
    """A named unit of database work; see the module's docstring."""

    def __init__(self, function: Callable[Concatenate[Connection, P], R], read: bool) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.read = read
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"

    def __repr__(self) -> str:
        return f"<{'query' if self.read else 'operation'} {self.name}>"

    def within(self, c: Connection, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run in the transaction of `c`, as a part of the operation that owns it."""
        return self.function(c, *args, **kwargs)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _local.operation:
            raise NestedOperation(f"{self.name} called inside {_local.operation}; use .within(c, …)")
        attempt = 0
        _local.may_be_done = False
        while True:
            try:
                return self._once(args, kwargs)
            except (db_exc.DBError, sa.exc.OperationalError, ValueError) as exc:
                if _NO_NULL in str(exc):
                    raise exceptions.Invalid(reason=_("a text has a null character")) from None
                if isinstance(exc, ValueError):
                    raise
                delay = _retry_delay(exc, attempt)
                if delay is None:
                    raise
                LOG.warning("Database operation %(name)s is tried again: %(why)s", {"name": self.name, "why": exc})
                _local.may_be_done = _local.may_be_done or isinstance(exc, db_exc.DBConnectionError)
            attempt += 1
            time.sleep(delay)

    def _once(self, args: Any, kwargs: Any) -> R:
        engine = (_database.reader if self.read else _database.writer) or self._start()
        _local.operation = self.name
        try:
            with engine.connect() as c:
                try:
                    result = self.function(c, *args, **kwargs)
                    if self.read or not c.in_transaction():
                        return result
                    for watcher in watchers:
                        watcher.before_commit(self.name)
                    c.commit()
                except Abandon as abandoned:
                    return abandoned.value  # type: ignore[no-any-return]  # closing rolls back
        finally:
            _local.operation = ""
        for watcher in watchers:
            watcher.after_commit(self.name)
        return result

    def _start(self) -> Engine:
        _database.start()
        engine = _database.reader if self.read else _database.writer
        assert engine is not None
        return engine


def may_be_done() -> bool:
    """Inside an operation: was it tried before, and the connection lost, perhaps after the commit?"""
    return _local.may_be_done


def _retry_delay(exc: Exception, attempt: int) -> float | None:
    """Seconds to wait before the operation runs again, None when the error is final."""
    conf = _database.conf.database
    if attempt >= conf.db_max_retries >= 0:
        return None
    if isinstance(exc, db_exc.DBDeadlock) or "database is locked" in str(exc):
        return random.uniform(0, min(_FIRST_DEADLOCK_DELAY * 2**attempt, conf.db_max_retry_interval))
    if isinstance(exc, db_exc.DBConnectionError):
        step = conf.db_retry_interval * (2 ** (attempt - 1) if conf.db_inc_retry_interval else 1)
        return 0 if attempt == 0 else min(step, conf.db_max_retry_interval)
    return None


def operation(function: Callable[Concatenate[Connection, P], R]) -> Operation[P, R]:
    """Make a writing operation of a function whose first parameter is the connection."""
    return Operation(function, read=False)


def query(function: Callable[Concatenate[Connection, P], R]) -> Operation[P, R]:
    """Make a reading operation of a function whose first parameter is the connection."""
    return Operation(function, read=True)
