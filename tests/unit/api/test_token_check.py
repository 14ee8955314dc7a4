# SPDX-License-Identifier: Apache-2.0
"""Requests that bring the same token at the same moment cost Keystone one question."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from keystonemiddleware import auth_token

from openkeel_heat.api.middleware import token_check


class Keystone:
    """Remembers like keystonemiddleware: an answer is there for those who ask after it came."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.known: dict[str, str] = {}
        self.answers = threading.Event()
        self.together = threading.Semaphore(0)

    def fetch(self, token: str, allow_expired: bool = False) -> str:
        if token not in self.known:
            self.asked.append(token)
            self.together.release()
            assert self.answers.wait(10)
            if token == "bad":
                raise ValueError(token)
            self.known[token] = f"of {token}"
        return self.known[token]


def test_one_question_per_token() -> None:
    keystone = Keystone()
    check = token_check.OneAtATime(keystone.fetch)
    with ThreadPoolExecutor(12) as pool:
        waiting = [pool.submit(check, token, allow_expired=True) for token in ["a"] * 6 + ["b"] * 6]
        for _token in "ab":  # different tokens do not wait for each other
            assert keystone.together.acquire(timeout=10)
        keystone.answers.set()
        assert [one.result() for one in waiting] == ["of a"] * 6 + ["of b"] * 6
    assert sorted(keystone.asked) == ["a", "b"]
    assert check._asking == {}


def test_a_refusal_is_each_ones_own() -> None:
    keystone = Keystone()
    keystone.answers.set()
    check = token_check.OneAtATime(keystone.fetch)
    for _time in range(2):
        with pytest.raises(ValueError, match="bad"):
            check("bad")
    assert keystone.asked == ["bad", "bad"] and check._asking == {}


def test_only_the_filter_of_keystone_is_changed() -> None:
    def other(environ: Any, start_response: Any) -> list[bytes]:
        return []

    assert token_check.ask_once(other) is other
    filtered = auth_token.AuthProtocol(other, {"auth_type": "none", "delay_auth_decision": "true"})
    assert isinstance(token_check.ask_once(filtered).fetch_token, token_check.OneAtATime)
