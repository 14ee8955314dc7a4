# SPDX-License-Identifier: Apache-2.0
"""Resources of the compute service against small services in this process.

``world``
    ``world.nova``, ``world.neutron`` and ``world.images`` are the services; ``world.net`` is the id of a network with
    a subnet. ``world.create(type, **properties)`` makes a resource; ``world.server(**properties)`` a server;
    ``world.update`` and ``world.delete`` go on with it. ``world.sent()`` are the requests to Nova and Neutron that
    changed something since it was asked last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import neutron as neutron_plugin, nova as nova_plugin, rest
from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.fake_neutron import FakeNeutron
from tests.fixtures.fake_nova import FakeImages, FakeNova
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive, hot, replace


class World:
    def __init__(self, nova: FakeNova) -> None:
        self.nova, self.neutron, self.images = nova, nova.neutron, nova.images
        self.cloud = FakeCloud(network=self.neutron, image=self.images, compute=nova)
        self.net = self.network("net", "10.0.0.0/24")
        self.image = self.images.add("cirros")
        self._told = (0, 0)

    def network(self, name: str, cidr: str) -> str:
        made = self.neutron.networks.add(name=name)
        subnet = self.neutron.subnets.add(name=f"subnet-of-{name}", network_id=made["id"], cidr=cidr, gateway_ip=None)
        made["subnets"] = [subnet["id"]]
        return str(made["id"])

    def subnet(self, network: str) -> str:
        return str(self.neutron.networks.objects[network]["subnets"][0])

    def port(self, id_: str, network: str | None = None) -> str:
        made = self.neutron.ports.add(
            id_, name=id_, network_id=network or self.net, mac_address=f"mac-{id_}", fixed_ips=None, security_groups=[]
        )
        self.neutron._address(made, None)
        return id_

    def stack(self, kind: str, props: dict[str, Any], **more: Any) -> Any:
        return self.cloud.stack(hot({"r": {"type": kind, "properties": props, **more}}))

    def make(self, kind: str, /, **props: Any) -> Any:
        return self.stack(kind, props)["r"]

    def create(self, kind: str, /, **props: Any) -> Any:
        resource = self.make(kind, **props)
        drive(lifecycle.create(resource), resource)
        assert resource.state == ("CREATE", "COMPLETE")
        return resource

    def server_props(self, **props: Any) -> dict[str, Any]:
        """Of a server like others but for these; None takes one away."""
        usual = {"flavor": "small", "image": "cirros", "user_data_format": "RAW", "networks": [{"network": self.net}]}
        return {name: value for name, value in {**usual, **props}.items() if value is not None}

    def server(self, **props: Any) -> Any:
        return self.create("OS::Nova::Server", **self.server_props(**props))

    def update(self, resource: Any, /, **props: Any) -> Driver:
        kind = resource.type()
        wanted = self.server_props(**props) if kind == "OS::Nova::Server" else props
        after = self.stack(kind, wanted).defn.resource_definition("r")
        return drive(lifecycle.update(resource, after), resource)

    def replace(self, resource: Any, /, **props: Any) -> Any:
        return replace(resource, self.stack(resource.type(), props))

    def delete(self, resource: Any) -> None:
        drive(lifecycle.delete(resource), resource)
        assert resource.state == ("DELETE", "COMPLETE")

    def sent(self) -> list[str]:
        nova, neutron = self.nova.changes(), self.neutron.changes()
        new = [*nova[self._told[0] :], *neutron[self._told[1] :]]
        self._told = (len(nova), len(neutron))
        return new

    def shown(self, resource: Any) -> dict[str, Any]:
        """The server as Nova has it."""
        found: dict[str, Any] = self.nova.servers.objects[resource.resource_id]
        return found

    def last(self, path: str) -> Any:
        """The body of the last request that was posted there."""
        return self.nova.bodies("POST", path)[-1]


@pytest.fixture
def world(option: Option, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.001)
    neutron_plugin.forget_recent()
    nova_plugin.forget_flavors()
    option("heat_metadata_server_url", "http://heat:8000/v1/")
    with FakeNeutron() as neutron, FakeImages() as images, FakeNova(neutron, images) as nova:
        yield World(nova)
