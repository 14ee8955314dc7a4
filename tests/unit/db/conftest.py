# SPDX-License-Identifier: Apache-2.0
"""A migrated database: SQLite always, MariaDB and PostgreSQL where their servers answer.

``db`` is empty for each test; the servers' databases are made once and emptied in between.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import config
from openkeel_heat.db import migrate, models, session
from tests.fixtures import stores

KINDS = [
    "sqlite",
    pytest.param("mariadb", marks=pytest.mark.services),
    pytest.param("postgresql", marks=pytest.mark.services),
]


@pytest.fixture(scope="session")
def server_databases() -> Iterator[dict[str, str]]:
    """URLs of the databases that were made so far; they are dropped at the end."""
    with contextlib.ExitStack() as stack:
        urls: dict[str, Any] = {"stack": stack}
        yield urls
        session.dispose()


def _server_url(kind: str, made: dict[str, Any]) -> str:
    if kind not in made:
        there = stores.have_mariadb() if kind == "mariadb" else stores.have_postgresql()
        if not there:
            pytest.skip(f"no {kind} server on this machine")
        make = stores.mariadb_database if kind == "mariadb" else stores.postgresql_database
        _name, url = made["stack"].enter_context(make("db"))
        made[kind] = url
        session.configure(connection=url)
        migrate.sync()
    return str(made[kind])


@pytest.fixture(params=KINDS)
def db(request: pytest.FixtureRequest, tmp_path: Path, server_databases: dict[str, Any]) -> Iterator[str]:
    """The kind of the database that operations now work on."""
    config.register_all(cfg.CONF)
    kind: str = request.param
    if kind == "sqlite":
        session.configure(connection=f"sqlite:///{tmp_path}/heat.sqlite")
        migrate.sync()
    else:
        session.configure(connection=_server_url(kind, server_databases))
    yield kind
    for option in ("encrypt_parameters_and_properties", "hidden_stack_tags", "max_events_per_stack"):
        cfg.CONF.clear_override(option)
    if kind != "sqlite":
        with session.get_engine().begin() as c:
            for table in reversed(models.metadata.sorted_tables):
                c.execute(table.delete())
    session.dispose()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[str]:
    """The URL of a migrated SQLite database, in use."""
    config.register_all(cfg.CONF)
    url = f"sqlite:///{tmp_path}/heat.sqlite"
    session.configure(connection=url)
    migrate.sync()
    yield url
    session.dispose()
