# SPDX-License-Identifier: Apache-2.0
"""The language alone: no types of resources, no constraints that ask services."""

from __future__ import annotations

import pytest

from openkeel_heat.template import constraints, environment


@pytest.fixture(autouse=True)
def nothing_global(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_global", None)
    monkeypatch.setattr(constraints, "_custom_lookup", None)
