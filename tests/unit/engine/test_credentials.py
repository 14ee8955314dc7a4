# SPDX-License-Identifier: Apache-2.0
"""What is cleaned up after a stack, and in which order."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.db import user_creds
from openkeel_heat.engine import credentials


class Keystone:
    """A client whose credentials are the trust: without it nothing can be done."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.trust = True
        self.calls: list[str] = []

    def delete_stack_domain_project(self, project_id: str) -> None:
        if not self.trust or self.refuses:
            raise exceptions.AuthorizationFailure()
        self.calls.append(f"project {project_id}")

    def delete_trust(self, trust_id: str) -> None:
        self.trust = False
        self.calls.append(f"trust {trust_id}")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    rows: list[Any] = []
    row = {"trust_id": "t", "trustor_user_id": "u"}
    monkeypatch.setattr(user_creds, "get", lambda creds_id: row)
    monkeypatch.setattr(user_creds, "delete", lambda creds_id: rows.append(("delete", creds_id)))
    return rows


def stack() -> Any:
    return SimpleNamespace(id="s", name="s", owner_id=None, user_creds_id=7, stack_user_project_id="p")


def context(keystone: Keystone) -> Any:
    return SimpleNamespace(user_id="u", clients=SimpleNamespace(client=lambda name: keystone))


def test_credentials_go_last(written: list[Any]) -> None:
    keystone, gone = Keystone(), stack()
    assert credentials.cleanup(context(keystone), gone)
    assert keystone.calls == ["project p", "trust t"]
    assert written == [("delete", 7)]
    assert gone.user_creds_id is None


def test_credentials_stay_for_another_try(written: list[Any]) -> None:
    keystone, kept = Keystone(refuses=True), stack()
    assert not credentials.cleanup(context(keystone), kept)
    assert (keystone.calls, written, kept.user_creds_id) == ([], [], 7)
    keystone.refuses = False
    assert credentials.cleanup(context(keystone), kept)
    assert keystone.calls == ["project p", "trust t"]


def test_an_abandoned_stack_keeps_its_project(written: list[Any]) -> None:
    keystone = Keystone()
    assert credentials.cleanup(context(keystone), stack(), abandon=True)
    assert keystone.calls == ["trust t"]
