# SPDX-License-Identifier: Apache-2.0
"""A SQLite database per test, and rows to work on."""
from __future__ import annotations

from typing import Any

import pytest
from oslo_config import cfg
from oslo_db import options

from openkeel_heat.db import models, session, stacks, templates


@pytest.fixture
def database(tmp_path):
    conf = cfg.ConfigOpts()
    conf([], project='test')
    conf.register_opts(options.database_opts, 'database')
    session.configure(conf, connection=f'sqlite:///{tmp_path}/heat.sqlite')
    models.metadata.create_all(session.get_engine())
    yield session
    session.dispose()


@pytest.fixture
def template_id(database) -> int:
    return templates.insert({'template': {'heat_template_version': '2021-04-16'}, 'environment': {}})


@pytest.fixture
def stack(database, template_id) -> Any:
    stack_id = stacks.insert({
        'name': 'web', 'raw_template_id': template_id, 'tenant': 'project', 'disable_rollback': True,
        'action': 'CREATE', 'status': 'IN_PROGRESS', 'status_reason': '', 'current_traversal': 't1',
        'convergence': True})
    return stacks.get(stack_id)
