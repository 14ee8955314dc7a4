# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("nova")`` as plug-ins of others use it."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.clients import errors, nova_servers
from openkeel_heat.common import exceptions
from tests.unit.conftest import Option
from tests.unit.resources.nova.conftest import World


@pytest.fixture
def plugin(world: World) -> Any:
    return world.cloud.plugin("nova")


METHODS = [
    "absolute_limits", "associate_floatingip", "associate_floatingip_address", "attach_volume",
    "build_ignition_data", "build_userdata", "check_delete_server_complete", "check_detach_volume_complete",
    "check_interface_attach", "check_interface_detach", "check_rebuild", "check_resize", "check_verify_resize",
    "detach_volume", "dissociate_floatingip", "dissociate_floatingip_address", "fetch_server", "fetch_server_attr",
    "find_flavor_by_name_or_id", "get_console_urls", "get_flavor", "get_host", "get_ip", "get_keypair",
    "get_max_microversion", "get_server", "get_status", "interface_attach", "interface_detach", "is_bad_request",
    "is_conflict", "is_ignition_format", "is_not_found", "is_over_limit", "is_unprocessable_entity",
    "is_version_supported", "meta_serialize", "meta_update", "rebuild", "refresh_server", "rename", "resize",
    "server_to_ipaddress", "verify_resize",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_it_has_the_methods_of_heats(plugin: Any, name: str) -> None:
    assert callable(getattr(plugin, name))


def test_versions(world: World, plugin: Any, option: Option) -> None:
    """The newest that both know, or what the operator allows."""
    assert plugin.get_max_microversion() == "2.96"
    world.nova.newest = "2.104"
    assert world.cloud.plugin("nova").get_max_microversion() == "2.96"
    option("max_nova_api_microversion", "2.50")
    plugin._negotiated = None
    assert plugin.get_max_microversion() == "2.50"
    assert plugin.is_version_supported("2.9") and not plugin.is_version_supported("2.51")


def test_a_server(world: World, plugin: Any) -> None:
    server = plugin.get_server(world.server(name="web").resource_id)
    assert (server.name, plugin.get_status(server), server.networks) == ("web", "ACTIVE", {"net": ["10.0.0.1"]})
    assert plugin.get_ip(server, "net", 4) == "10.0.0.1" and plugin.get_ip(server, "net", 6) is None
    assert plugin.server_to_ipaddress(server.id) == "10.0.0.1" and plugin.server_to_ipaddress("gone") is None
    assert plugin.fetch_server_attr(server.id, "name") == "web"
    world.nova.servers.objects[server.id]["status"] = "ACTIVE (odd)"
    plugin.refresh_server(server)
    assert plugin.get_status(server) == "ACTIVE "
    with pytest.raises(exceptions.EntityNotFound, match="The Server \\(gone\\) could not be found"):
        plugin.get_server("gone")


@pytest.mark.parametrize("status", [413, 500])
def test_an_error_that_passes(world: World, plugin: Any, status: int) -> None:
    server = world.server()
    world.nova.fault("GET", "/servers/.*", status=status, times=9)
    assert plugin.fetch_server(server.resource_id) is None and plugin._check_active(server.resource_id) is False


def test_flavors(world: World, plugin: Any) -> None:
    """By id, else by name; of one that was seen a moment ago nobody asks again."""
    assert plugin.find_flavor_by_name_or_id("large") == "2" and plugin.get_flavor("2").name == "large"
    asked = len(world.nova.requests)
    assert plugin.find_flavor_by_name_or_id("large") == "2" and len(world.nova.requests) == asked
    world.nova.flavors.add("7", name="twice")
    world.nova.flavors.add("8", name="twice")
    with pytest.raises(exceptions.PhysicalResourceNameAmbiguity):
        plugin.find_flavor_by_name_or_id("twice")
    with pytest.raises(Exception, match="No Flavor matching {'name': 'none'}. \\(HTTP 404\\)") as missing:
        plugin.find_flavor_by_name_or_id("none")
    assert plugin.is_not_found(missing.value)


def test_metadata(plugin: Any) -> None:
    assert plugin.meta_serialize({"a": "b", "c": [1]}) == {"a": "b", "c": "[1]"}
    with pytest.raises(exceptions.StackValidationFailed, match="needs to be a Map"):
        plugin.meta_serialize(["a"])


def test_interfaces(world: World, plugin: Any, option: Option, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who calls the checks waits in them."""
    import tenacity

    pauses: list[float] = []
    monkeypatch.setattr(nova_servers.time, "sleep", pauses.append)
    server = world.server().resource_id
    port = world.port("given")
    assert plugin.interface_attach(server, port) and plugin.check_interface_attach(server, port)
    assert plugin.check_interface_attach(server, None)
    world.nova.clings.add(port)
    option("max_interface_check_attempts", 3)
    assert plugin.interface_detach(server, port)
    with pytest.raises(tenacity.RetryError):
        plugin.check_interface_detach(server, port)
    assert pauses == [0.5, 1.0]
    world.nova.clings.clear()
    assert plugin.interface_detach(server, port) and plugin.check_interface_detach(server, port)
    assert plugin.interface_detach(server, port), "it is gone already"


def test_floating_ips(world: World, plugin: Any) -> None:
    world.neutron.floatingips.add("f", floating_ip_address="172.24.0.9", port_id=None, fixed_ip_address=None)
    floating = world.neutron.floatingips.objects["f"]
    server = world.server().resource_id
    plugin.associate_floatingip_address(server, "172.24.0.9")
    assert floating["fixed_ip_address"] == "10.0.0.1"
    plugin.dissociate_floatingip_address("172.24.0.9")
    assert floating["port_id"] is None
    with pytest.raises(errors.EntityMatchNotFound):
        plugin.associate_floatingip_address(server, "172.24.0.1")
    with pytest.raises(errors.InterfaceNotFound):
        plugin.associate_floatingip(world.server(networks=[{"allocate_network": "none"}]).resource_id, "f")


def test_a_resize_as_others_do_it(world: World, plugin: Any) -> None:
    server = world.server().resource_id
    assert plugin.resize(server, "2") and not plugin.check_resize(server, "2")
    assert plugin.check_resize(server, "2") and plugin.verify_resize(server)
    while not plugin.check_verify_resize(server):
        pass
    world.nova.servers.objects[server]["status"] = "PAUSED"
    for check in (lambda: plugin.check_resize(server, "2"), lambda: plugin.verify_resize(server),
                  lambda: plugin.check_verify_resize(server)):  # fmt: skip
        with pytest.raises((exceptions.Error, exceptions.ResourceUnknownStatus)):
            check()


def test_volumes(world: World, plugin: Any) -> None:
    """A conflict means: come again."""
    path = "/servers/s/os-volume_attachments"
    world.nova.route("POST", path, lambda request: (200, {"volumeAttachment": {"id": "a"}}))
    world.nova.route("DELETE", f"{path}/a", lambda request: (202, None))
    world.nova.fault("POST", path, status=409)
    assert plugin.attach_volume("s", "v", None) is False and plugin.attach_volume("s", "v", "vdb") == "a"
    world.nova.fault("POST", path, status=400, message="no")
    with pytest.raises(exceptions.Error, match="Failed to attach volume v to server s - no \\(HTTP 400\\)"):
        plugin.attach_volume("s", "v", None)
    world.nova.fault("DELETE", f"{path}/a", status=409)
    assert plugin.detach_volume("s", "a") is False and plugin.detach_volume("s", "a") is True
    assert plugin.check_detach_volume_complete("s", "a") is True


def test_deletion(world: World, plugin: Any) -> None:
    server = world.server(name="web").resource_id
    shown = world.nova.servers.objects[server]
    shown.update(status="ERROR", fault={"code": 500, "message": "stuck"})
    with pytest.raises(exceptions.ResourceInError, match="Server web delete failed: \\(500\\) stuck"):
        plugin.check_delete_server_complete(server)
    shown["OS-EXT-STS:task_state"] = "deleting"
    assert plugin.check_delete_server_complete(server) is False
    shown.update({"OS-EXT-STS:task_state": None, "status": "DELETED"})
    assert plugin.check_delete_server_complete(server) is True
    assert plugin.check_delete_server_complete("gone") is True
