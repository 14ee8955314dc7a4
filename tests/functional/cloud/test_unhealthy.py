# SPDX-License-Identifier: Apache-2.0
"""Connections that are marked unhealthy although they are there: Neutron allows no second one beside the first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.api import Stack

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]


def router_with(name: str, kind: str, **props: Any) -> dict[str, Any]:
    """A router with a network of its own, and something of it that is marked unhealthy later."""
    resources: dict[str, Any] = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.81.0.0/24"},
        },
        "router": {"type": "OS::Neutron::Router"},
        "interface": {
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}},
        },
    }
    if name not in resources:
        resources[name] = {"type": kind, "depends_on": "interface", "properties": props}
    return {"heat_template_version": "2021-04-16", "resources": resources}


ROUTE = {"destination": "10.82.0.0/24", "nexthop": "10.81.0.9"}
ROUTER = {"get_resource": "router"}
UNHEALTHY = {
    "interface": router_with("interface", "OS::Neutron::RouterInterface"),
    "routes": router_with("routes", "OS::Neutron::ExtraRouteSet", router=ROUTER, routes=[ROUTE]),
    "route": router_with("route", "OS::Neutron::ExtraRoute", router_id=ROUTER, **ROUTE),
}


def mark(stack: Stack, name: str) -> None:
    body = {"mark_unhealthy": True, "resource_status_reason": "seen to be broken"}
    stack.api.patch(f"{stack.path}/resources/{name}", body)


@pytest.mark.parametrize("name", UNHEALTHY)
def test_what_is_marked_unhealthy_is_made_anew(deploy: Any, service: Any, name: str) -> None:
    """On Heat 27.0.1 the new one is refused because of the old, and the update fails."""
    template = UNHEALTHY[name]
    made = deploy(template)
    router = made.resource("router")["physical_resource_id"]

    def there() -> tuple[list[Any], list[str]]:
        found = service.get("network", f"/v2.0/routers/{router}")["router"]["routes"]
        ports = service.get("network", f"/v2.0/ports?device_id={router}")["ports"]
        return found, sorted(port["device_owner"] for port in ports)

    before = there()
    mark(made, name)
    assert made.resource(name)["resource_status"] == "CHECK_FAILED"
    made.update(template)
    assert made.resource(name)["resource_status"] == "CREATE_COMPLETE"
    assert there() == before
    made.delete()
