# SPDX-License-Identifier: Apache-2.0
"""Networks made by one service are changed and deleted by the other, with what either has noted about them."""

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


def neutron(kind: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": f"OS::Neutron::{kind}", "properties": properties}


def network(
    word: str = "first", address: str = "10.20.0.51", fail: bool = False, mac: str | None = None
) -> dict[str, Any]:
    """Objects of most kinds; the port is replaced when its MAC address changes, and wants the same address again."""
    port = {
        "network": own("net"),
        "security_groups": [own("group")],
        "name": word,
        "fixed_ips": [{"subnet": own("subnet"), "ip_address": address}],
    }
    if mac:
        port["mac_address"] = mac
    resources = {
        "net": neutron("Net", name=word, tags=[word], value_specs={"mtu": 1400 if word == "first" else 1300}),
        "subnet": neutron("Subnet", network=own("net"), cidr="10.20.0.0/24", name=word),
        "group": neutron(
            "SecurityGroup",
            description=word,
            rules=[
                {"protocol": "tcp", "port_range_min": port_number, "port_range_max": port_number}
                for port_number in (22, 80 if word == "first" else 443)
            ],
        ),
        "port": neutron("Port", **port),
        "router": neutron("Router", name=word, external_gateway_info={"network": "public"}),
        "interface": neutron("RouterInterface", router=own("router"), subnet=own("subnet")),
        "free": neutron("FloatingIP", floating_network="public"),
        "other": neutron("Port", network=own("net"), fixed_ips=[{"subnet": own("subnet")}]),
        "association": neutron("FloatingIPAssociation", floatingip_id=own("free"), port_id=own("other")),
        "last": {**templates.resource(word, fail=fail), "depends_on": "port"},
    }
    return templates.hot(
        resources,
        {
            "address": {"get_attr": ["port", "fixed_ips", 0, "ip_address"]},
            "name": {"get_attr": ["net", "name"]},
            "mtu": {"get_attr": ["net", "mtu"]},
            "rules": {"get_attr": ["group", "show", "security_group_rules"]},
            "port": {"get_attr": ["other", "show", "id"]},
            "free": {"get_attr": ["free", "port_id"]},
        },
    )


def physical(stack: Stack) -> dict[str, str]:
    return {name: resource["physical_resource_id"] for name, resource in stack.resources().items() if name != "last"}


def ports_of_rules(stack: Stack) -> set[int]:
    return {rule["port_range_min"] for rule in stack.outputs()["rules"] if rule["direction"] == "ingress"}


@pytest.mark.parametrize(("maker", "heir"), [(THEIRS, OURS), (OURS, THEIRS)])
def test_what_one_has_made_the_other_goes_on_with(land: Land, maker: str, heir: str) -> None:
    land.engines(maker)
    made = land.api(maker).create(network())
    land.engines(heir)
    stack = land.api(heir).stack(made.name, made.id)
    first = physical(stack)

    stack.update(network("second"))
    assert physical(stack) == first, "all in place"
    outputs = stack.outputs()
    assert (outputs["name"], outputs["mtu"], outputs["address"]) == ("second", 1300, "10.20.0.51")
    assert ports_of_rules(stack) == {22, 443}

    stack.update(network("second", address="10.20.0.52"))
    assert stack.outputs()["address"] == "10.20.0.52" and physical(stack) == first

    stack.update(
        network("third", address="10.20.0.52", mac="fa:16:3e:00:00:51", fail=True), wait=None, disable_rollback=False
    )
    stack.wait("ROLLBACK_COMPLETE")
    assert physical(stack) == first, "the port is the one of before"
    assert stack.outputs()["address"] == "10.20.0.52", "and has its address again"

    stack.update(network("fourth", address="10.20.0.52", mac="fa:16:3e:00:00:52"))
    assert physical(stack)["port"] != first["port"] and stack.outputs()["address"] == "10.20.0.52"

    land.engines(maker)
    stack = land.api(maker).stack(made.name, made.id)
    stack.update(network("second", address="10.20.0.52", mac="fa:16:3e:00:00:52"))
    assert stack.outputs()["free"] == stack.outputs()["port"]
    stack.delete()
    land.database.expect_nothing_of(stack.id, 60)
