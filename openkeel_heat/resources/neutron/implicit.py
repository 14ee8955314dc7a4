# SPDX-License-Identifier: Apache-2.0
"""What one object of the network service needs of others though no template says so.

A port takes its address from some subnet of its network, so all subnets of that network in the stack come before it
(and, on the way down, the port goes first). A floating IP is of use to a port only when a router connects the port's
subnet. The types call these functions from ``add_dependencies``.

All properties of a stack are read once for each graph that is made, not once for each pair of resources.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions

LOG = logging.getLogger(__name__)

PORT, SUBNET = "OS::Neutron::Port", "OS::Neutron::Subnet"
INTERFACE, GATEWAY, ROUTER = "OS::Neutron::RouterInterface", "OS::Neutron::RouterGateway", "OS::Neutron::Router"

#: The value of a property that cannot be read yet; validation tells what is wrong with it.
UNREADABLE = object()


def read(resource: Any, *names: str) -> Any:
    """The first of these properties that has a value, as far as it can be told before anything is made."""
    try:
        return next((value for name in names if (value := resource.properties.get(name))), None)
    except (TypeError, ValueError, exceptions.StackValidationFailed):
        return UNREADABLE


class _Neighbours:
    """The resources of a stack by type, and by the value of a property."""

    def __init__(self, stack: Any) -> None:
        self._stack = stack
        self._by_type: dict[str, list[Any]] = {}
        self._by_value: dict[tuple[str, ...], dict[Any, list[Any]]] = {}
        self._subnets: dict[str, Any] | None = None

    def of_type(self, type_name: str) -> list[Any]:
        if type_name not in self._by_type:
            self._by_type[type_name] = [one for one in self._stack.values() if one.has_interface(type_name)]
        return self._by_type[type_name]

    def that_have(self, type_name: str, value: Any, *names: str) -> list[Any]:
        """Those of a type of which one of the named properties has this value."""
        if value is UNREADABLE:
            return []
        key = (type_name, *names)
        if key not in self._by_value:
            index = self._by_value[key] = {}
            for one in self.of_type(type_name):
                if (found := read(one, *names)) is not UNREADABLE:
                    index.setdefault(found, []).append(one)
        return self._by_value[key].get(value, [])

    def subnet(self, reference: Any) -> Any:
        """The subnet of the stack that is meant by a reference, None if it is none of it."""
        if self._subnets is None:
            self._subnets = {}
            for one in self.of_type(SUBNET):
                self._subnets[one.name] = self._subnets[one.resource_id or one.name] = one
        return self._subnets.get(reference)


_known: weakref.WeakKeyDictionary[Any, _Neighbours] = weakref.WeakKeyDictionary()


def _around(deps: Any, resource: Any) -> _Neighbours:
    found = _known.get(deps)
    if found is None:
        found = _known[deps] = _Neighbours(resource.stack)
    return found


def need(deps: Any, resource: Any, type_name: str, value: Any, *names: str) -> None:
    """``resource`` needs all resources of a type of which one of the named properties has this value."""
    for other in _around(deps, resource).that_have(type_name, value, *names):
        deps += (resource, other)


def need_all(deps: Any, resource: Any, type_name: str) -> None:
    """``resource`` needs all resources of a type."""
    for other in _around(deps, resource).of_type(type_name):
        deps += (resource, other)


def need_subnets(deps: Any, resource: Any, network: Any) -> None:
    """All subnets of a network, when a port is going to be made on it."""
    need(deps, resource, SUBNET, network, "network")


def need_gateways(deps: Any, resource: Any, network: Any) -> None:
    """Whatever connects a router with an external network, before an address of that is used."""
    need(deps, resource, GATEWAY, network, "network", "network_id")
    if network is UNREADABLE:
        return
    for router in _around(deps, resource).of_type(ROUTER):
        gateway = read(router, "external_gateway_info")
        if gateway and gateway is not UNREADABLE and gateway.get("network") == network:
            deps += (resource, router)


def need_interfaces(deps: Any, resource: Any) -> None:
    """The router interfaces on the subnets of the ports that ``resource`` refers to."""
    ports = [one for one in deps.requires(resource) if one.has_interface(PORT)]
    if not ports:
        return
    around = _around(deps, resource)
    for interface in around.of_type(INTERFACE):
        subnet = read(interface, "subnet", "subnet_id")
        if subnet is not UNREADABLE and any(_on_subnet(around, port, subnet) for port in ports):
            deps += (resource, interface)


def _on_subnet(around: _Neighbours, port: Any, subnet: Any) -> bool:
    fixed_ips = read(port, "fixed_ips")
    if fixed_ips is UNREADABLE:
        return False
    if fixed_ips:
        return subnet in _subnets_of(fixed_ips)
    if subnet is None:
        # The interface is on a port, and this port may get an address of any subnet.
        return True
    network = read(port, "network", "network_id")
    if network is None or network is UNREADABLE:
        return False
    ours = around.subnet(subnet)
    if ours is not None:
        return bool(read(ours, "network") == network)
    return _is_subnet_of(port, subnet, network)


def _subnets_of(fixed_ips: list[Any]) -> Iterator[Any]:
    return (entry.get("subnet") or entry.get("subnet_id") for entry in fixed_ips)


def _is_subnet_of(port: Any, subnet: str, network: str) -> bool:
    """Whether a subnet that is not of the stack is one of a network."""
    plugin = port.client_plugin("neutron")
    try:
        subnet_id = plugin.find_resourceid_by_name_or_id(plugin.RES_TYPE_SUBNET, subnet)
        network_id = plugin.find_resourceid_by_name_or_id(plugin.RES_TYPE_NETWORK, network)
        return bool(plugin.network_id_from_subnet_id(subnet_id) == network_id)
    except Exception as error:
        LOG.info(
            "It cannot be told whether %(subnet)s is a subnet of the network of %(port)s: %(why)s",
            {"subnet": subnet, "port": port.name, "why": error},
        )
        return False
