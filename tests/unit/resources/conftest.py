# SPDX-License-Identifier: Apache-2.0
"""Options that the kit reads, registered once."""

from __future__ import annotations

import pytest
from oslo_config import cfg

from openkeel_heat.common import config


@pytest.fixture(autouse=True, scope="session")
def options() -> None:
    config.register_all(cfg.CONF)
