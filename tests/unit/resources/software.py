# SPDX-License-Identifier: Apache-2.0
"""Resources of software configuration for tests: clients that they call, one of a kind, its update."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.resources.kit import lifecycle
from tests.unit.resources.fakes import Driver, FakeClients, FakeStack, hot
from tests.unit.resources.test_types import FakeKeystone, Plugin, only

SERVER = "7f1e7a34-0000-4000-8000-000000000001"


def clients(**more: Any) -> FakeClients:
    return FakeClients(keystone=Plugin(FakeKeystone()), heat=HeatPlugin(), **more)


class HeatPlugin(Plugin):
    service_types: list[str] = []

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, exception.NotFound)

    def is_conflict(self, ex: BaseException) -> bool:
        return False


def one(kind: str, **props: Any) -> Any:
    return only({"type": "OS::Heat::" + kind, "properties": props}, clients=clients())


def updated(resource: Any, **props: Any) -> Driver:
    """A driver of the update to these properties."""
    after = FakeStack(hot({resource.name: {"type": resource.type(), "properties": props}})).defn
    return Driver(lifecycle.update(resource, after.resource_definition(resource.name)), resource)
