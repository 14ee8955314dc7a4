# SPDX-License-Identifier: Apache-2.0
"""A request's token and its successor."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from keystoneauth1 import access, session

from openkeel_heat.common import context as contexts
from openkeel_heat.common.expiring_token import ExpiringToken


def info(seconds: int = 3600) -> dict[str, Any]:
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return {
        "token": {
            "user": {"id": "u", "name": "n", "domain": {"id": "d", "name": "dn"}},
            "methods": ["token"],
            "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
        }
    }


class Trust:
    def __init__(self) -> None:
        self.token, self.invalidated = "of the trust", 0

    def get_access(self, _session: Any) -> Any:
        return access.create(body=info(), auth_token=self.token)

    def invalidate(self) -> bool:
        self.invalidated += 1
        return True


def plugin(seconds: int, successor: Any) -> ExpiringToken:
    return ExpiringToken(access.create(body=info(seconds), auth_token="of the request"), "http://k/v3", successor)


@pytest.fixture
def web() -> session.Session:
    return session.Session()


def test_a_good_token_is_used(web: session.Session) -> None:
    def asked() -> None:
        raise AssertionError("asked")

    assert plugin(3600, asked).get_token(web) == "of the request"


def test_an_ending_token_is_replaced(web: session.Session) -> None:
    made: list[Trust] = []

    def successor() -> Trust:
        made.append(Trust())
        return made[-1]

    one = plugin(60, successor)
    assert one.get_token(web) == one.get_token(web) == "of the trust"
    assert len(made) == 1


def test_without_a_successor_it_stays_to_the_end(web: session.Session) -> None:
    one = plugin(60, lambda: None)
    assert one.get_token(web) == "of the request"
    assert one.invalidate() is False
    assert one.get_token(web) == "of the request"


def test_a_refused_token_is_replaced(web: session.Session) -> None:
    trust = Trust()
    one = plugin(3600, lambda: trust)
    assert one.get_token(web) == "of the request"
    assert one.invalidate() is True
    assert one.get_token(web) == "of the trust"
    assert one.invalidate() is True
    assert trust.invalidated == 1


def test_context(web: session.Session) -> None:
    context = contexts.RequestContext(auth_token="t", auth_url="http://k/v3", auth_token_info=info(), overwrite=False)
    assert context.auth_plugin.get_token(web) == "t"
    assert not context.outlives_token
    context.outlive_token(Trust)
    assert context.outlives_token
    assert context.auth_plugin.invalidate() is True
    assert context.auth_plugin.get_token(web) == "of the trust"
