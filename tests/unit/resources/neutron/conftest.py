# SPDX-License-Identifier: Apache-2.0
"""Resources of the network service against a small one in this process.

``world``
    ``world.neutron`` is the service; ``world.create(type, **properties)`` makes a resource, ``world.update``,
    ``world.delete`` and ``world.check`` go on with it; ``world.sent()`` are the requests that changed something
    since it was asked last, each a text and a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import neutron as plugin, rest
from openkeel_heat.common import clock
from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.fake_neutron import FakeNeutron
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive, hot


class World:
    def __init__(self, neutron: FakeNeutron) -> None:
        self.neutron = neutron
        self.cloud = FakeCloud(network=neutron)
        self._told = 0

    def stack(self, resources: dict[str, Any], **more: Any) -> Any:
        return self.cloud.stack(hot(resources), **more)

    def make(self, kind: str, /, **props: Any) -> Any:
        resource = self.stack({"r": {"type": f"OS::Neutron::{kind}", "properties": props}})["r"]
        resource.record.created_at = clock.utcnow()
        return resource

    def create(self, kind: str, /, **props: Any) -> Any:
        resource = self.make(kind, **props)
        drive(lifecycle.create(resource), resource)
        assert resource.state == ("CREATE", "COMPLETE")
        return resource

    def update(self, resource: Any, /, **props: Any) -> Driver:
        after = self.stack({"r": {"type": resource.type(), "properties": props}}).defn.resource_definition("r")
        done = drive(lifecycle.update(resource, after), resource)
        assert resource.state == ("UPDATE", "COMPLETE")
        return done

    def delete(self, resource: Any) -> None:
        drive(lifecycle.delete(resource), resource)
        assert resource.state == ("DELETE", "COMPLETE")

    def check(self, resource: Any) -> str:
        """Empty, or what is wrong."""
        try:
            drive(lifecycle.check(resource), resource)
        except Exception as error:
            assert resource.state == ("CHECK", "FAILED")
            return str(error)
        assert resource.state == ("CHECK", "COMPLETE")
        return ""

    def sent(self) -> list[tuple[str, Any]]:
        requests = self.neutron.requests[self._told :]
        self._told = len(self.neutron.requests)
        return [(str(one).replace("/v2.0", ""), one.json) for one in requests if one.method != "GET"]

    def asked(self) -> list[str]:
        """The same for the requests that change nothing."""
        requests = self.neutron.requests[self._told :]
        self._told = len(self.neutron.requests)
        return [one.path.replace("/v2.0", "") for one in requests if one.method == "GET"]


@pytest.fixture
def world(option: Option, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    plugin.forget_recent()
    with FakeNeutron() as neutron:
        yield World(neutron)
