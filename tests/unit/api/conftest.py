# SPDX-License-Identifier: Apache-2.0
"""The configuration of an API process, and a client of its applications."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract import api_harness


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    api_harness.configure()
    yield


@pytest.fixture
def engine() -> api_harness.RecordedEngine:
    return api_harness.RecordedEngine(api_harness.replies())
