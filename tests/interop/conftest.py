# SPDX-License-Identifier: Apache-2.0
"""The mixes: the engines are theirs, both, ours, in this order, so that each goes on with what the others wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures import stores
from tests.fixtures.api import Api
from tests.fixtures.service import OURS, THEIRS, Installation
from tests.interop.land import MIXES, OPTIONS, Land


@pytest.fixture(scope="module")
def land(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Land]:
    folder = tmp_path_factory.mktemp("interop")
    with stores.mariadb_database("interop") as (_, connection), stores.rabbitmq_vhost("interop") as (_, transport):
        installation = Installation(folder, connection, transport, OPTIONS)
        try:
            installation.manage(THEIRS, "db_sync")
            yield Land(installation)
        finally:
            installation.stop()


@pytest.fixture(scope="module", params=list(MIXES))
def mixed(request: pytest.FixtureRequest, land: Land) -> Land:
    land.engines(*MIXES[request.param])
    return land


@pytest.fixture(params=[OURS, THEIRS])
def api(request: pytest.FixtureRequest, mixed: Land) -> Api:
    return mixed.api(request.param)
