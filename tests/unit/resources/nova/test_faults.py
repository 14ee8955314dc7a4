# SPDX-License-Identifier: Apache-2.0
"""Services that break down over the requests of a server."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest

from openkeel_heat.clients import patience, rest_errors
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.rest_server import Request
from tests.unit.resources.fakes import drive
from tests.unit.resources.nova.conftest import World


@pytest.mark.parametrize("service", ["nova", "neutron"])
def test_a_service_that_broke_down_over_a_creation(world: World, service: str) -> None:
    """The server may be there, or the port that was made for it: both are looked for when the resource is deleted."""
    broken = {"nova": (world.nova, "/servers"), "neutron": (world.neutron, "/v2.0/ports")}[service]
    broken[0].fault("POST", broken[1], status=500, message="no disk", after=True)
    resource = world.make("OS::Nova::Server", **world.server_props(networks=[{"subnet": "subnet-of-net"}]))
    with pytest.raises(exceptions.ResourceFailure, match="resources.r: no disk"):
        drive(lifecycle.create(resource), resource)
    assert len(world.neutron.ports.objects) == 1 and len(world.nova.servers.objects) == (service == "nova")
    world.delete(resource)
    assert not world.neutron.ports.objects and not world.nova.servers.objects


@pytest.mark.parametrize("kind", ["IpAddressGenerationFailure", "OverQuota"])
def test_a_conflict_of_the_network_is_final_to_a_server(world: World, kind: str) -> None:
    """As it is to Heat 27.0.1; what Nova itself has a conflict with is tried again."""
    world.neutron.fault("POST", "/v2.0/ports", status=409, kind=kind, message="no more")
    resource = world.make("OS::Nova::Server", **world.server_props(networks=[{"subnet": "subnet-of-net"}]))
    with pytest.raises(exceptions.ResourceFailure, match=f"{kind}Client: resources.r: no more"):
        drive(lifecycle.create(resource), resource)
    assert world.neutron.count("POST") == 1 and not world.nova.servers.objects


def test_a_server_that_may_be_there_goes_before_its_replacement(world: World) -> None:
    """The replacement is given the same port."""
    port = world.neutron.ports.add(network_id=world.net, device_id="", fixed_ips=[])["id"]
    world.nova.fault("POST", "/servers", status=500, after=True)
    resource = world.make("OS::Nova::Server", **world.server_props(networks=[{"port": port}]))
    with pytest.raises(exceptions.ResourceFailure):
        drive(lifecycle.create(resource), resource)
    assert world.neutron.ports.objects[port]["device_id"] == next(iter(world.nova.servers.objects))
    with pytest.raises(exceptions.UpdateReplace):
        world.update(resource, **world.server_props(networks=[{"port": port}]))
    assert not world.nova.servers.objects and not world.neutron.ports.objects[port]["device_id"]


def test_a_server_whose_creation_was_answered_by_something_else_is_found(world: World) -> None:
    """A page of a proxy, with a status that says all is well."""
    create = world.nova._create

    def answered(request: Request) -> tuple[int, Any]:
        create(request)
        return 202, b"<html>Welcome</html>"

    world.nova.routes.insert(0, ("POST", re.compile("/servers"), answered))
    resource = world.make("OS::Nova::Server", **world.server_props())
    drive(lifecycle.create(resource), resource)
    assert list(world.nova.servers.objects) == [resource.resource_id]


def test_a_floating_ip_whose_creation_had_no_answer_is_not_made_twice(world: World) -> None:
    world.neutron.networks.add(name="outside", **{"router:external": True})
    world.neutron.fault("POST", "/v2.0/floatingips", cut=True, after=True)
    ip = world.create("OS::Nova::FloatingIP")
    assert list(world.neutron.floatingips.objects) == [ip.resource_id]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/servers", {"server": {"name": "n"}}),
        ("POST", "/servers/s/action", {"rebuild": {"imageRef": "i"}}),
        ("GET", "/servers/s", None),
        ("POST", "/servers/s/remote-consoles", {"remote_console": {}}),
    ],
)
def test_passwords_that_nova_makes_are_in_no_log(
    world: World, debug_log: pytest.LogCaptureFixture, method: str, path: str, body: Any
) -> None:
    secret = {"adminPass": "h1dden", "OS-EXT-SRV-ATTR:user_data": "h1dden", "url": "http://console/?token=h1dden"}
    world.nova.routes.insert(0, (method, re.compile(path), lambda request: (202, {"server": secret})))
    plugin = world.cloud.plugin("nova")
    if path.endswith("/action"):
        plugin.rebuild("s", "i")
    else:
        plugin.api.request(method, path, json=body)
    assert "h1dden" not in debug_log.text


def test_the_keys_of_vpn_connections_are_in_no_log(world: World, debug_log: pytest.LogCaptureFixture) -> None:
    path = "/v2.0/vpn/ipsec-site-connections"
    shown = {"ipsec_site_connection": {"id": "c", "psk": "h1dden"}}
    world.neutron.route("GET", f"{path}/c", lambda request: (200, shown))
    assert world.cloud.plugin("neutron").api.show(f"{path}/c", "ipsec_site_connection")["psk"] == "h1dden"
    assert "h1dden" not in debug_log.text


@pytest.mark.parametrize("id_", ["..", "../flavors/m1", "s/../../flavors/m1", "s?x=y", "s#x", ""])
def test_what_is_no_id_of_a_server_is_no_server(world: World, id_: str) -> None:
    plugin = world.cloud.plugin("nova")
    with pytest.raises(exceptions.EntityNotFound):
        plugin.get_server(id_)
    with pytest.raises(rest_errors.RestError):
        plugin.act(id_, "suspend")
    assert plugin.check_delete_server_complete(id_)
    asked = {one.path for one in world.nova.requests}
    assert not asked & {"/flavors/m1", "/flavors/m1/action", "/servers/s", "/servers/", "/servers//action"}


@pytest.mark.parametrize("times", [1, 99])
def test_an_interface_is_attached_once_though_the_network_says_later(world: World, times: int) -> None:
    """Its security groups are told to the network when it is there."""
    server_id = str(world.server().resource_id)
    plugin = world.cloud.plugin("nova")
    world.neutron.fault("PUT", "/v2.0/ports/.*", times=times, status=503)
    with patience.may_pause(), contextlib.ExitStack() as stack:
        caught = stack.enter_context(pytest.raises(rest_errors.RestError)) if times > 1 else None
        plugin.attach_interface(server_id, net_id=world.net, security_groups=["g"])
    assert caught is None or patience.asked_pause(caught.value) is None
    assert world.nova.count("POST", ".*/os-interface") == 1
