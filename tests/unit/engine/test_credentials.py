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


# without a trust ----------------------------------------------------------------------------------------------------


class Keyholder:
    """A user who logged in with an access key: Keystone lets him make no trust until ``trusted``."""

    def __init__(self) -> None:
        self.trusted = False

    def create_trust_context(self) -> Any:
        if not self.trusted:
            raise exceptions.Forbidden(action="these credentials to make a trust")
        return SimpleNamespace(to_dict=lambda: {"user_id": "u", "trust_id": "new", "password": None})

    regenerate_trust_context = create_trust_context


@pytest.fixture
def keyholder(monkeypatch: pytest.MonkeyPatch, option: Any) -> Any:
    """The rows that were stored, and a context; with Keystone, and trusts as by default."""
    rows: dict[int, dict[str, Any]] = {}

    def insert(columns: dict[str, Any]) -> int:
        rows[len(rows) + 1] = {"trust_id": None, "trustor_user_id": None, "tenant_id": "p", **columns}
        return len(rows)

    monkeypatch.setattr(user_creds, "insert", insert)
    monkeypatch.setattr(user_creds, "get", rows.get)
    monkeypatch.setattr(credentials.config, "has_keystone", lambda: True)
    keystone = Keyholder()
    return SimpleNamespace(
        rows=rows,
        keystone=keystone,
        user_id="u",
        project_id="p",
        request_id="req-1",
        to_dict=lambda: {"user_id": "u", "password": "secret"},
        clients=SimpleNamespace(client=lambda name: keystone),
    )


def made_of(*acting: str, creds_id: int | None = None) -> Any:
    return SimpleNamespace(
        id="s",
        name="s",
        owner_id=None,
        tenant_id="p",
        user_creds_id=creds_id,
        lacks_trust=False,
        acts_for_owner=lambda: list(acting),
    )


def test_a_stack_that_does_nothing_by_itself_needs_no_trust(keyholder: Any) -> None:
    row = keyholder.rows[credentials.create(keyholder, made_of())]
    assert (row["trust_id"], row["password"], row["user_id"]) == (None, None, "u")


def test_one_that_acts_by_itself_is_refused(keyholder: Any) -> None:
    with pytest.raises(exceptions.Forbidden, match="which is needed by policy"):
        credentials.create(keyholder, made_of("policy"))
    assert keyholder.rows == {}


def test_where_stacks_act_by_trusts_from_the_start_all_are_refused(keyholder: Any, option: Any) -> None:
    option("reauthentication_auth_method", "trusts")
    with pytest.raises(exceptions.Forbidden):
        credentials.create(keyholder, made_of())


def test_an_update_gives_the_trust_that_is_lacking(keyholder: Any) -> None:
    stack = made_of(creds_id=credentials.create(keyholder, made_of()))
    assert credentials.refresh(keyholder, stack) is None and stack.lacks_trust
    credentials.suffice(stack, made_of())
    with pytest.raises(exceptions.Forbidden, match="which is needed by policy"):
        credentials.suffice(stack, made_of("policy"))
    keyholder.keystone.trusted = True
    stack.lacks_trust = False
    made = credentials.refresh(keyholder, stack)
    assert made is not None and keyholder.rows[made]["trust_id"] == "new"
    credentials.suffice(stack, made_of("policy"))
