# SPDX-License-Identifier: Apache-2.0
"""What unit tests share: ``option(name, value, group)`` sets an option of the process for one test."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import config

Option = Callable[..., None]


@pytest.fixture
def option() -> Iterator[Option]:
    config.register_all()
    cfg.CONF([], project="heat", default_config_files=[])
    changed: list[tuple[str, str | None]] = []

    def change(name: str, value: Any, group: str | None = None) -> None:
        cfg.CONF.set_override(name, value, group=group)
        changed.append((name, group))

    yield change
    for name, group in changed:
        cfg.CONF.clear_override(name, group=group)
    cfg.CONF.reset()


#: oslo.log gives some of them a level of their own, wherever a test has logging set up.
LOGGERS = ("", "keystoneauth", "keystoneauth.session", "openkeel_heat", "requests", "urllib3")


@pytest.fixture
def debug_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The debug log, whole."""
    for name in LOGGERS:
        caplog.set_level(logging.DEBUG, logger=name)
    return caplog
