# SPDX-License-Identifier: Apache-2.0
"""Waiting for a server while the service fails to show it: what passes makes nobody fail, however long it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import lifecycle
from tests.unit.resources.fakes import Driver, drive
from tests.unit.resources.nova.conftest import World


def suspended(world: World, server: Any) -> Driver:
    return drive(lifecycle.suspend(server), server)


def resumed(world: World, server: Any) -> Driver:
    suspended(world, server)
    return drive(lifecycle.resume(server), server)


def resized(world: World, server: Any) -> Driver:
    return world.update(server, flavor="large")


def rebuilt(world: World, server: Any) -> Driver:
    world.images.add("other")
    return world.update(server, image="other")


def snapshotted(world: World, server: Any) -> Driver:
    world.nova.fault("GET", "/servers/.*", times=2)
    return drive(lifecycle.snapshot(server), server)


@pytest.fixture(params=[500, 503, 413])
def unwell(request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch) -> int:
    """The status with which Nova answers twice to who asks for a server of which the state begins to change."""
    begin = world.nova._go

    def go(server: dict[str, Any], *states: str | None) -> None:
        begin(server, *states)
        world.nova.fault("GET", f"/servers/{server['id']}", times=2, status=request.param)

    monkeypatch.setattr(world.nova, "_go", go)
    return int(request.param)


@pytest.mark.parametrize("action", [suspended, resumed, resized, rebuilt, snapshotted])
def test_an_error_that_passes(world: World, unwell: int, action: Callable[..., Driver]) -> None:
    """Two answers while it is made, and two more for each thing that is done to it."""
    server = world.server()
    driver = action(world, server)
    assert server.status == "COMPLETE" and all(fault.times == 0 for fault in world.nova.faults)
    assert driver.pauses.count(max(driver.pauses)) >= 2 and max(driver.pauses) >= 1.0, "asked again after a second"


def test_a_service_that_is_away_for_long(world: World) -> None:
    """It is not the engine's patience that ends the wait, but the time of the stack."""
    server = world.server()
    driver = Driver(lifecycle.suspend(server), server)
    driver.run(until=lifecycle.Pause)
    world.nova.fault("GET", "/servers/.*", times=150, status=503)
    driver.run(limit=200)
    assert server.state == ("SUSPEND", "COMPLETE") and sum(driver.pauses) > 120


def test_an_error_that_does_not_pass(world: World) -> None:
    server = world.server()
    driver = Driver(lifecycle.suspend(server), server)
    driver.run(until=lifecycle.Pause)
    world.nova.fault("GET", "/servers/.*", status=403, message="Not allowed.")
    with pytest.raises(exceptions.ResourceFailure, match="Not allowed"):
        driver.run()
