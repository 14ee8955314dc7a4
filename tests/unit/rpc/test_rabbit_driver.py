# SPDX-License-Identifier: Apache-2.0
"""What the fitted RabbitMQ driver does around a message, without a broker."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

import pytest

from openkeel_heat.rpc import rabbit


class Driver:
    """As much of the driver's connection as matters."""

    heartbeat_timeout_threshold = 60

    def __init__(self) -> None:
        self.channel: Any = types.SimpleNamespace(connection=types.SimpleNamespace(sock=object()))
        self._initial_pid = os.getpid()
        self.ensured = 0
        self.recovered: list[Exception] = []
        self.timeouts: list[float | None] = []

    def ensure(self, method: Callable[[], Any], retry: int | None = None) -> Any:
        self.ensured += 1
        while True:
            try:
                return method()
            except ConnectionError as error:
                self.recovered.append(error)

    def set_transport_socket_timeout(self, timeout: float | None = None) -> None:
        self.timeouts.append(timeout)


@pytest.fixture
def connection() -> Any:
    return rabbit.direct_connection(Driver)()


class Failing:
    """Fails as often as it has errors, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_the_driver_is_not_asked_when_all_is_well(connection: Any) -> None:
    method = Failing()
    assert connection.ensure(method) == "done"
    assert (method.calls, connection.ensured) == (1, 0)


def test_the_driver_recovers_from_the_error_that_came(connection: Any) -> None:
    lost, again = ConnectionError("lost"), ConnectionError("again")
    method = Failing(lost, again)
    assert connection.ensure(method, retry=3) == "done"
    assert connection.recovered == [lost, again]
    assert method.calls == 3  # one for each error and one that went well, as the driver alone has it


def test_other_errors_come_out(connection: Any) -> None:
    method = Failing(LookupError("no queue"))
    with pytest.raises(LookupError, match="no queue"):
        connection.ensure(method)
    assert method.calls == 1


@pytest.mark.parametrize("state", [{"channel": None}, {"_initial_pid": 0}])
def test_a_connection_that_is_not_open_is_the_drivers(connection: Any, state: dict[str, Any]) -> None:
    vars(connection).update(state)
    assert connection.ensure(Failing()) == "done"
    assert connection.ensured == 1


def test_timeouts_of_a_socket_are_set_once(connection: Any) -> None:
    for timeout in (None, 60, 120, None):
        connection.set_transport_socket_timeout(timeout)
    assert connection.timeouts == [None]
    connection.set_transport_socket_timeout(5)
    connection.set_transport_socket_timeout()
    assert connection.timeouts == [None, 5, None]
    connection.channel.connection.sock = object()
    connection.set_transport_socket_timeout()
    assert connection.timeouts == [None, 5, None, None]


def test_other_drivers_stay_as_they_are() -> None:
    rabbit.tune(object())
    rabbit.tune(types.SimpleNamespace(_driver=types.SimpleNamespace(_connection_pool=None)))
