# SPDX-License-Identifier: Apache-2.0
"""Volumes and their attachments made by one service are changed and deleted by the other."""

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


def disks(word: str = "first", size: int = 1, read_only: bool = False, server: str = "one") -> dict[str, Any]:
    def machine() -> dict[str, Any]:
        networks = [{"network": own("net")}]
        properties = {"image": "cirros", "flavor": "m1.tiny", "networks": networks}
        return {"type": "OS::Nova::Server", "depends_on": "subnet", "properties": properties}

    volume = {"size": size, "description": word, "metadata": {"word": word}, "read_only": read_only}
    resources = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {"type": "OS::Neutron::Subnet", "properties": {"network": own("net"), "cidr": "10.21.0.0/24"}},
        "one": machine(),
        "two": machine(),
        "volume": {"type": "OS::Cinder::Volume", "properties": volume},
        "copy": {"type": "OS::Cinder::Volume", "properties": {"source_volid": own("volume"), "size": size}},
        "at": {
            "type": "OS::Cinder::VolumeAttachment",
            "depends_on": "copy",
            "properties": {"instance_uuid": own(server), "volume_id": own("volume")},
        },
    }
    shown = ("size", "display_description", "metadata_values", "volume_type", "attachments_list")
    return templates.hot(resources, {name: {"get_attr": ["volume", name]} for name in shown})


def physical(stack: Stack) -> dict[str, str]:
    return {name: resource["physical_resource_id"] for name, resource in stack.resources().items()}


@pytest.mark.parametrize(("maker", "heir"), [(THEIRS, OURS), (OURS, THEIRS)])
def test_what_one_has_made_the_other_goes_on_with(land: Land, maker: str, heir: str) -> None:
    land.engines(maker)
    made = land.api(maker).create(disks())
    land.engines(heir)
    stack = land.api(heir).stack(made.name, made.id)
    first = physical(stack)
    stack.update(disks("second", size=2, read_only=True))
    assert physical(stack) == first, "all in place"
    stack.update(disks("second", size=2, read_only=True, server="two"))
    outputs = stack.outputs()
    assert (outputs["size"], outputs["display_description"]) == ("2", "second")
    assert outputs["metadata_values"]["word"] == "second"
    assert [one["server_id"] for one in outputs["attachments_list"]] == [first["two"]]
    stack.action("check", "CHECK_COMPLETE")
    land.engines(maker)
    land.api(maker).stack(made.name, made.id).update(disks("third", size=2, read_only=True, server="one"))
    land.engines(heir)
    assert [one["server_id"] for one in stack.outputs()["attachments_list"]] == [first["one"]]
    stack.delete()
