# SPDX-License-Identifier: Apache-2.0
"""Ports that a server makes for itself, as the network service takes them.

``port_extra_properties`` are properties of OS::Neutron::Port; two of them are fields by another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from openkeel_heat.resources.neutron.port import Port
from openkeel_heat.resources.nova import server_networks as networks

PORTS = "/v2.0/ports"

#: Turns the name or id of a QoS policy into its id.
FindPolicy = Callable[[str], str]


def body(
    net: Mapping[str, Any], network_id: str | None, security_groups: Iterable[str] | None, find_policy: FindPolicy
) -> dict[str, Any]:
    """A new port for an entry of ``networks``. ``security_groups`` are ids."""
    extra = net.get(networks.PORT_EXTRA) or {}
    made: dict[str, Any] = {"network_id": network_id}
    address = {"ip_address": net.get(networks.FIXED_IP), "subnet_id": net.get(networks.SUBNET)}
    address = {name: value for name, value in address.items() if value}
    if extra.get(Port.NO_FIXED_IPS):
        made["fixed_ips"] = []
    elif address:
        made["fixed_ips"] = [address]
    if security_groups:
        made["security_groups"] = list(security_groups)
    return {**made, **_fields(extra, find_policy)}


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any], find_policy: FindPolicy) -> dict[str, Any]:
    """What makes a port with the extra properties of before one with those of after."""
    old = _fields(before or {}, find_policy)
    new = _fields(after, find_policy)
    # Of what is not given any more, some has to be taken away.
    without: dict[str, Any] = {_POLICY_ID: None, Port.ALLOWED_ADDRESS_PAIRS: []}
    gone = {name: value for name, value in without.items() if name in old and name not in new}
    return {**gone, **{name: value for name, value in new.items() if name not in old or old[name] != value}}


_POLICY_ID = "qos_policy_id"


def _fields(extra: Mapping[str, Any], find_policy: FindPolicy) -> dict[str, Any]:
    found = dict(extra.get(Port.VALUE_SPECS) or {})
    for name in Port.EXTRA_PROPERTIES:
        value = extra.get(name)
        if value is None or name in (Port.VALUE_SPECS, Port.NO_FIXED_IPS):
            continue
        if name == Port.QOS_POLICY:
            found[_POLICY_ID] = find_policy(value)
        elif name == Port.ALLOWED_ADDRESS_PAIRS:
            found[name] = [{key: part for key, part in pair.items() if part is not None} for pair in value]
        else:
            found[name] = value
    return found
