# SPDX-License-Identifier: Apache-2.0
"""What an update keeps of the networks of a server; entries that are refused. No service is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.resources.nova import server_networks as networks

SUBNETS = {"s1": "n1", "s2": "n2"}


def interface(port: str, net: str, address: str = "", subnet: str = "") -> dict[str, Any]:
    ips = [{"ip_address": address, "subnet_id": subnet}] if address else []
    return {"port_id": port, "net_id": net, "fixed_ips": ips}


def network_of(net: Mapping[str, Any]) -> str | None:
    return net.get("network") or SUBNETS.get(net.get("subnet") or "")


INTERFACES = [
    interface("p1", "n1", "10.1.0.1", "s1"),
    interface("p2", "n2", "10.2.0.2", "s2"),
    interface("p3", "n1", "10.1.0.3", "s1"),
]


def compare(before: Any, after: Any, internal: Any = ()) -> dict[str, Any]:
    """What becomes of the entries, told by ports; those that come by what is not empty."""
    found = networks.compare(before, after, INTERFACES, internal, network_of)
    told = {
        "kept": [net["port"] for net in found.kept],
        "removed": [net["port"] for net in found.removed],
        "changed": [old["port"] for old, _new in found.changed],
        "added": [{key: value for key, value in net.items() if value} for net in found.added],
    }
    return {key: value for key, value in told.items() if value}


CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "the same": ([{"network": "n1"}], [{"network": "n1"}], (), {"kept": ["p1"]}),
    "told by its subnet": ([{"network": "n1"}], [{"subnet": "s1"}], (), {"kept": ["p1"]}),
    "one goes": ([{"network": "n1"}, {"network": "n2"}], [{"network": "n2"}], (),
                 {"kept": ["p2"], "removed": ["p1"]}),
    "one comes": ([{"network": "n1"}], [{"network": "n1"}, {"network": "n2"}], (),
                  {"kept": ["p1"], "added": [{"network": "n2"}]}),
    "its address is named": ([{"network": "n1"}], [{"network": "n1", "fixed_ip": "10.1.0.1"}], (), {"kept": ["p1"]}),
    "another address": ([{"network": "n1"}], [{"network": "n1", "fixed_ip": "10.1.0.9"}], (),
                        {"removed": ["p1"], "added": [{"network": "n1", "fixed_ip": "10.1.0.9"}]}),
    "the second by its address": ([{"network": "n1", "fixed_ip": "10.1.0.3"}, {"network": "n1"}],
                                  [{"network": "n1"}], (), {"kept": ["p3"], "removed": ["p1"]}),
    "one of Nova's beside an internal port": (
        [{"subnet": "s1"}, {"network": "n1"}], [{"subnet": "s1"}], ("p3",), {"kept": ["p3"], "removed": ["p1"]}),
    "a given port on the same network": ([{"network": "n1"}, {"port": "p1"}], [{"port": "p1"}], (),
                                         {"kept": ["p1"], "removed": ["p3"]}),
    "a given port": ([{"port": "p3"}], [{"port": "p3"}], (), {"kept": ["p3"]}),
    "another port": ([{"port": "p3"}], [{"port": "new"}], (), {"removed": ["p3"], "added": [{"port": "new"}]}),
    "detached behind our back": ([{"network": "n9"}], [{"network": "n1"}], (),
                                 {"removed": [None], "added": [{"network": "n1"}]}),
    "other properties of an internal port": (
        [{"network": "n1", "port_extra_properties": {"admin_state_up": True}}],
        [{"network": "n1", "port_extra_properties": {"admin_state_up": False}}], ("p1",), {"changed": ["p1"]}),
    "that only a new port can have": (
        [{"network": "n1", "port_extra_properties": {"mac_address": "a"}}],
        [{"network": "n1", "port_extra_properties": {"mac_address": "b"}}], ("p1",),
        {"removed": ["p1"], "added": [{"network": "n1", "port_extra_properties": {"mac_address": "b"}}]}),
    "of a port that is Nova's": (
        [{"network": "n1"}], [{"network": "n1", "port_extra_properties": {"admin_state_up": False}}], (),
        {"removed": ["p1"], "added": [{"network": "n1", "port_extra_properties": {"admin_state_up": False}}]}),
    "no properties any more": (
        [{"network": "n1", "port_extra_properties": {"admin_state_up": False}}], [{"network": "n1"}], ("p1",),
        {"removed": ["p1"], "added": [{"network": "n1"}]}),
    "another floating IP": ([{"subnet": "s1", "floating_ip": "f1"}], [{"subnet": "s1", "floating_ip": "f2"}], ("p1",),
                            {"changed": ["p1"]}),
    "another tag": ([{"network": "n1", "tag": "a"}], [{"network": "n1", "tag": "b"}], (),
                    {"removed": ["p1"], "added": [{"network": "n1", "tag": "b"}]}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_an_update_keeps(case: str) -> None:
    before, after, internal, expected = CASES[case]
    assert compare(before, after, internal) == expected


#: A port with an address of its subnet, and one more that the other subnet of the network gives to each port.
BOTH = {
    "port_id": "p1", "net_id": "n1",
    "fixed_ips": [{"ip_address": "fd00::1", "subnet_id": "s6"}, {"ip_address": "10.1.0.1", "subnet_id": "s1"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"subnet": "s1"}, {"subnet": "s1"}),
        ({"network": "n1", "fixed_ip": "10.1.0.1"}, {"network": "n1"}),
        ({"network": "n1"}, {"subnet": "s1"}),
        ({"network": "n1"}, {"network": "n1", "fixed_ip": "10.1.0.1"}),
        ({"network": "n1", "fixed_ip": "10.1.0.1"}, {"network": "n2"}),
    ],
)
def test_any_address_of_an_interface_may_be_named(before: dict[str, str], after: dict[str, str]) -> None:
    """27.0.1 knows the first one only: the interface stays attached for ever, or is replaced by another."""
    found = networks.compare([before], [after], [BOTH], (), network_of)
    stays = after.get("network") != "n2"
    assert [net["port"] for net in found.kept] == (["p1"] if stays else [])
    assert [net["port"] for net in found.removed] == ([] if stays else ["p1"])
    assert networks.live([before], [BOTH], (), network_of) == [before]


def test_an_address_and_a_subnet_are_those_of_one_and_the_same_address() -> None:
    asked = {"subnet": "s6", "fixed_ip": "10.1.0.1"}
    assert networks.compare([{"network": "n1"}], [asked], [BOTH], (), network_of).kept == []


def test_an_interface_that_has_what_another_one_needs_is_left_to_it() -> None:
    """By the order of the list the first entry would take the port of the second, which then had none."""
    only = {"port_id": "p6", "net_id": "n1", "fixed_ips": [{"ip_address": "fd00::6", "subnet_id": "s6"}]}
    before = [{"network": "n1", "subnet": "s6"}, {"network": "n1", "subnet": "s1"}]
    found = networks.compare(before, before[:1], [BOTH, only], ("p1", "p6"), network_of)
    assert [net["port"] for net in found.kept] == ["p6"] and [net["port"] for net in found.removed] == ["p1"]


def test_live_state() -> None:
    """Entries whose interface is there stay as they were written; others come to it."""
    live = networks.live([{"network": "n1"}, {"network": "n9"}], INTERFACES, ["p2"], network_of)
    assert live == [
        {"network": "n1"},
        {"network": "n2", "fixed_ip": "10.2.0.2"},
        {"network": "n1", "port": "p3"},
    ]


REFUSED = {
    'One of the properties "network", "port", "allocate_network" or "subnet" should be set for the specified network '
    'of server "s".': [{"fixed_ip": "10.0.0.1"}],
    'Can not specify "allocate_network" with other keys of networks at the same time.': [
        {"allocate_network": "auto", "network": "n1"}],
    'Property "allocate_network" can not be specified if multiple network interfaces set for server.': [
        {"allocate_network": "auto"}, {"network": "n1"}],
    "Cannot define the following properties at the same time: networks/fixed_ip, networks/port.": [
        {"port": "p1", "fixed_ip": "10.0.0.1"}],
    'Property "floating_ip" is not supported if only "network" is specified, because the corresponding port can not '
    "be retrieved.": [{"network": "n1", "floating_ip": "f1"}],
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    with pytest.raises((exceptions.StackValidationFailed, exceptions.ResourcePropertyConflict)) as refused:
        networks.validate(REFUSED[message], "s")
    assert str(refused.value) == message
