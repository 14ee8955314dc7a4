# SPDX-License-Identifier: Apache-2.0
"""A database per test (SQLite always, MariaDB and PostgreSQL where their servers answer), and rows to work on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import config
from openkeel_heat.db import migrate, models, session, stacks, templates
from openkeel_heat.engine.convergence.recovery import Recovery
from tests.fixtures import stores
from tests.unit.engine.convergence.life import DEAD, Life

KINDS = [
    "sqlite",
    pytest.param("mariadb", marks=pytest.mark.services),
    pytest.param("postgresql", marks=pytest.mark.services),
]


@pytest.fixture(scope="session")
def server_urls() -> Iterator[dict[str, Any]]:
    """URLs of the servers' databases that were made so far; they are dropped at the end."""
    with contextlib.ExitStack() as made:
        yield {"made": made}
        session.dispose()


def _server_url(kind: str, urls: dict[str, Any]) -> str:
    if kind not in urls:
        if not (stores.have_mariadb() if kind == "mariadb" else stores.have_postgresql()):
            pytest.skip(f"no {kind} server on this machine")
        make = stores.mariadb_database if kind == "mariadb" else stores.postgresql_database
        _name, urls[kind] = urls["made"].enter_context(make("conv"))
        session.configure(connection=urls[kind])
        migrate.sync()
    return str(urls[kind])


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Any, server_urls: dict[str, Any]) -> Iterator[Any]:
    config.register_all(cfg.CONF)
    if request.param == "sqlite":
        session.configure(connection=f"sqlite:///{tmp_path}/heat.sqlite")
        models.metadata.create_all(session.get_engine())
        yield session
    else:
        session.configure(connection=_server_url(request.param, server_urls))
        yield session
        with session.get_engine().begin() as c:
            for table in reversed(models.metadata.sorted_tables):
                c.execute(table.delete())
    session.dispose()


@pytest.fixture
def template_id(database) -> int:
    return templates.insert({"template": {"heat_template_version": "2021-04-16"}, "environment": {}})


@pytest.fixture
def stack(database, template_id) -> Any:
    stack_id = stacks.insert(
        {
            "name": "web",
            "raw_template_id": template_id,
            "tenant": "project",
            "disable_rollback": True,
            "action": "CREATE",
            "status": "IN_PROGRESS",
            "status_reason": "",
            "current_traversal": "t1",
            "convergence": True,
        }
    )
    return stacks.get(stack_id)


@pytest.fixture
def life(engine) -> Iterator[Life]:
    one = Life(engine)
    yield one
    if one.identity and one.row.deleted_at is None:
        one.delete()


@pytest.fixture
def graveyard(life, monkeypatch):
    """An engine that is dead."""
    monkeypatch.setattr(life.hub.liveness, "_probe", lambda engine_id: engine_id != DEAD)
    monkeypatch.setattr(life.hub.liveness, "_known", {})
    return Recovery(life.hub)
