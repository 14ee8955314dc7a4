# SPDX-License-Identifier: Apache-2.0
"""A volume service and what attaches its volumes; resources of types that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openkeel_heat.clients import polling, rest
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.fake_cinder import FakeAttachments, FakeCinder
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive, hot, replace


@pytest.fixture
def cinder() -> Iterator[FakeCinder]:
    with FakeCinder() as running:
        yield running


@pytest.fixture
def nova(cinder: FakeCinder) -> Iterator[FakeAttachments]:
    with FakeAttachments(cinder) as running:
        yield running


class World:
    """Makes, updates and deletes one resource named ``r``."""

    def __init__(self, cloud: FakeCloud) -> None:
        self.cloud = cloud

    def make(self, kind: str, **props: Any) -> Any:
        return self.cloud.stack(hot({"r": {"type": kind, "properties": props}}))["r"]

    def create(self, kind: str, **props: Any) -> Any:
        made = self.make(kind, **props)
        assert drive(lifecycle.create(made), made).short[-1] == "CREATE_COMPLETE"
        return made

    def definition(self, resource: Any, **props: Any) -> Any:
        template = hot({"r": {"type": resource.type(), "properties": props}})
        return self.cloud.stack(template).defn.resource_definition("r")

    def update(self, resource: Any, **props: Any) -> Driver:
        return drive(lifecycle.update(resource, self.definition(resource, **props)), resource)

    def replace(self, resource: Any, **props: Any) -> Any:
        return replace(resource, self.cloud.stack(hot({"r": {"type": resource.type(), "properties": props}})))

    def delete(self, resource: Any) -> Driver:
        return drive(lifecycle.delete(resource), resource)

    def fails(self, generator: lifecycle.Lifecycle, resource: Any) -> str:
        """The reason for which it fails."""
        driver = Driver(generator, resource)
        with pytest.raises(exceptions.ResourceFailure):
            driver.run()
        action, status, reason = driver.states[-1]
        assert status == "FAILED"
        return reason

    def invalid(self, kind: str, **props: Any) -> str:
        with pytest.raises(exceptions.HeatException) as caught:
            self.make(kind, **props).validate()
        return str(caught.value)


@pytest.fixture
def world(option: Option, cinder: FakeCinder, nova: FakeAttachments, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(polling, "SPACING", 0.0)
    return World(FakeCloud(volumev3=cinder, compute=nova))


Give = Callable[..., dict[str, Any]]
