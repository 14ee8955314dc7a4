# SPDX-License-Identifier: Apache-2.0
"""Options that the kit reads, registered once."""
from __future__ import annotations

import pytest
from openkeel_heat.common import config
from oslo_config import cfg


@pytest.fixture(autouse=True, scope='session')
def options() -> None:
    config.register_all(cfg.CONF)
