# SPDX-License-Identifier: Apache-2.0
"""Servers made by one service are changed, rolled back and deleted by the other, with the ports noted by either."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures import templates
from tests.fixtures.api import Stack
from tests.fixtures.service import OURS, THEIRS
from tests.interop.land import Land

pytestmark = [
    pytest.mark.services,
    pytest.mark.keystone,
    pytest.mark.reference,
    pytest.mark.cloud,
    pytest.mark.timeout(600),
]


def own(name: str) -> dict[str, str]:
    return {"get_resource": name}


def server(
    name: str = "one", flavor: str = "m1.tiny", second: bool = False, user_data: str = "a", fail: bool = False
) -> dict[str, Any]:
    """A server with an internal and a given port, and one of Nova's if ``second``; other user data replace it."""
    nets: list[dict[str, Any]] = [{"subnet": own("subnet")}, {"port": own("given")}]
    if second:
        nets.append({"network": own("net")})
    resources = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {"type": "OS::Neutron::Subnet", "properties": {
            "network": own("net"), "cidr": "10.21.0.0/24", "gateway_ip": None}},
        "given": {"type": "OS::Neutron::Port", "depends_on": "subnet", "properties": {"network": own("net")}},
        "server": {"type": "OS::Nova::Server", "properties": {
            "name": name, "flavor": flavor, "image": "cirros", "metadata": {"word": name}, "tags": [name],
            "networks": nets, "user_data": user_data, "user_data_format": "RAW"}},
        "last": {**templates.resource(name, fail=fail), "depends_on": "server"},
    }  # fmt: skip
    return templates.hot(resources, {
        "name": {"get_attr": ["server", "show", "name"]},
        "flavor": {"get_attr": ["server", "show", "flavor", "original_name"]},
        "tags": {"get_attr": ["server", "tags"]},
        "addresses": {"get_attr": ["server", "addresses"]},
        "given": own("given"),
    })  # fmt: skip


def ports(stack: Stack) -> set[str]:
    """Ids of the ports that the server has."""
    return {one["port"] for net in stack.outputs()["addresses"].values() for one in net}


@pytest.mark.parametrize(("maker", "heir"), [(THEIRS, OURS), (OURS, THEIRS)])
def test_what_one_has_made_the_other_goes_on_with(land: Land, maker: str, heir: str) -> None:
    land.engines(maker)
    made = land.api(maker).create(server())
    land.engines(heir)
    stack = land.api(heir).stack(made.name, made.id)
    first, before = stack.resource("server")["physical_resource_id"], ports(stack)
    given = stack.outputs()["given"]

    stack.update(server("two", "m1.small", second=True))
    outputs = stack.outputs()
    assert stack.resource("server")["physical_resource_id"] == first
    assert (outputs["name"], outputs["flavor"], outputs["tags"]) == ("two", "m1.small", ["two"])
    assert before < ports(stack) and len(ports(stack)) == 3

    stack.update(server("two", "m1.small"))
    if heir == OURS:  # theirs may keep another one of the same subnet
        assert ports(stack) == before
    before = ports(stack)
    assert len(before) == 2

    stack.update(server("two", "m1.small", user_data="b"))
    replacement = stack.resource("server")["physical_resource_id"]
    assert replacement != first and given in ports(stack) and not (before - {given}) & ports(stack)

    land.engines(maker)
    stack = land.api(maker).stack(made.name, made.id)
    stack.update(server("three", "m1.small"), wait=None)
    stack.wait("UPDATE_COMPLETE")
    assert given in ports(stack) and stack.outputs()["name"] == "three"
    stack.delete()
    land.database.expect_nothing_of(stack.id, 60)


def test_a_rollback_gives_the_ports_back_that_the_other_has_noted(land: Land) -> None:
    """Only ours does so for ports that are not the server's own."""
    land.engines(THEIRS)
    made = land.api(THEIRS).create(server())
    land.engines(OURS)
    stack = land.api(OURS).stack(made.name, made.id)
    first, before = stack.resource("server")["physical_resource_id"], ports(stack)
    stack.update(server(user_data="b", fail=True), wait=None, disable_rollback=False)
    stack.wait("ROLLBACK_COMPLETE")
    assert stack.resource("server")["physical_resource_id"] == first and ports(stack) == before
    stack.delete()
