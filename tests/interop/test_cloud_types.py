# SPDX-License-Identifier: Apache-2.0
"""A stack of every service of the cloud, made by one and gone on with by the other; engines that die beside servers.

In the usual run Python Heat dies and ours finishes. The long one has ours die, too, and leads the stack of every
service through its life, once either way.

The stacks are in a project of their own: all that the services have of it is compared with what the stack knows, so
that nothing is made twice and nothing is left over.
"""

from __future__ import annotations

import errno
import functools
import http.server
import json
import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures import templates
from tests.fixtures.api import Stack
from tests.fixtures.polling import until
from tests.fixtures.service import OURS, THEIRS
from tests.interop.inventory import Ground
from tests.interop.land import Land

pytestmark = [
    pytest.mark.services,
    pytest.mark.keystone,
    pytest.mark.reference,
    pytest.mark.cloud,
    pytest.mark.timeout(1800),
]

LIMIT = 300.0
WAYS = {"theirs-first": (THEIRS, OURS), "ours-first": (OURS, THEIRS)}


def ways(*long: str) -> pytest.MarkDecorator:
    """The directions of a test: who makes, and who goes on; those that only the long run takes are named."""
    marks = {name: [pytest.mark.long] if name in long else [] for name in WAYS}
    return pytest.mark.parametrize(
        ("maker", "heir"), [pytest.param(*way, marks=marks[name], id=name) for name, way in WAYS.items()]
    )


@pytest.fixture
def ground(land: Land) -> Iterator[Ground]:
    made = Ground()
    yield made
    try:
        made.clear()
    finally:
        made.close()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where an image is. Glance fetches from no loop-back address, and from the ports 80 and 443."""
    root: pathlib.Path = tmp_path_factory.mktemp("site")
    (root / "disk.raw").write_bytes(bytes(4096))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address = str(probe.getsockname()[0])
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root))

    def serve() -> http.server.ThreadingHTTPServer | None:
        try:
            return http.server.ThreadingHTTPServer((address, 443), handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return None

    server = until(serve, f"nobody else serves at port 443 of {address}", LIMIT)
    assert server is not None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://{address}:443/disk.raw"
    server.shutdown()
    server.server_close()


def own(name: str) -> dict[str, str]:
    return {"get_resource": name}


def one(kind: str, /, depends_on: str | None = None, **properties: Any) -> dict[str, Any]:
    made = {"type": kind, "properties": properties}
    return made | ({"depends_on": depends_on} if depends_on else {})


def machine(**properties: Any) -> dict[str, Any]:
    given = {"image": "cirros", "flavor": "m1.nano", "user_data_format": "RAW", **properties}
    return one("OS::Nova::Server", **given)


MEMBER = templates.hot(
    {
        "port": one("OS::Neutron::Port", network={"get_param": "network"}, name={"get_param": "word"}),
        "server": machine(networks=[{"port": own("port")}], metadata={"word": {"get_param": "word"}}),
    },
    parameters={"network": {"type": "string"}, "word": {"type": "string"}},
)

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIKqNRbn3mIJJKoNtKLiQcmJ/gvkW8DrJW1ek4+BzOrB"

#: What a change of the generation replaces; all else changes where it is.
REPLACED = {"key", "server", "deployment", "copy", "image"}


def everything(disk: str, project: str, word: str = "one", generation: str = "x", count: int = 1) -> dict[str, Any]:
    """Other words change what is there, another generation replaces what is in ``REPLACED``, groups have *count*."""
    return {
        # Neutron
        "net": one("OS::Neutron::Net", name=word),
        "subnet": one("OS::Neutron::Subnet", network=own("net"), cidr="10.33.0.0/24", name=word),
        "router": one("OS::Neutron::Router", name=word, external_gateway_info={"network": "public"}),
        "interface": one("OS::Neutron::RouterInterface", router=own("router"), subnet=own("subnet")),
        "group": one(
            "OS::Neutron::SecurityGroup",
            description=word,
            rules=[{"protocol": "tcp", "port_range_min": 22, "port_range_max": 22 + len(word)}],
        ),
        "port": one(
            "OS::Neutron::Port",
            network=own("net"),
            name=word,
            security_groups=[own("group")],
            fixed_ips=[{"subnet": own("subnet")}],
        ),
        "address": one("OS::Neutron::FloatingIP", "interface", floating_network="public", port_id=own("port")),
        # Nova and Cinder
        "key": one("OS::Nova::KeyPair", name=f"key-{generation}-{project}", public_key=PUBLIC_KEY),
        "server": machine(
            name=word,
            metadata={"word": word},
            key_name=own("key"),
            networks=[{"port": own("port")}],
            user_data=generation,
            user_data_format="SOFTWARE_CONFIG",
        ),
        "volume": one("OS::Cinder::Volume", size=1, description=word, metadata={"word": word}),
        "copy": one("OS::Cinder::Volume", size=1, **({"image": "cirros"} if generation == "x" else {})),
        "attachment": one("OS::Cinder::VolumeAttachment", instance_uuid=own("server"), volume_id=own("volume")),
        # groups
        "members": one(
            "OS::Heat::ResourceGroup",
            "subnet",
            count=count,
            resource_def={"type": "member.yaml", "properties": {"network": own("net"), "word": word}},
        ),
        "scaled": one(
            "OS::Heat::AutoScalingGroup",
            "subnet",
            min_size=1,
            max_size=3,
            desired_capacity=count,
            resource=machine(networks=[{"network": own("net")}], metadata={"word": word}),
        ),
        # Glance, Keystone, software, AWS
        "image": one(
            "OS::Glance::WebImage", name=generation, disk_format="raw", container_format="bare", location=disk
        ),
        "project": one("OS::Keystone::Project", parent=project, description=word),
        "secret": one("OS::Heat::RandomString"),
        "config": one("OS::Heat::SoftwareConfig", group="script", config="#!/bin/sh"),
        "deployment": one(
            "OS::Heat::SoftwareDeployment",
            config=own("config"),
            server=own("server"),
            input_values={"word": word},
            signal_transport="NO_SIGNAL",
        ),
        "nic": one("AWS::EC2::NetworkInterface", SubnetId=own("subnet"), GroupSet=[own("group")]),
        "disk": one("AWS::EC2::Volume", Size="1", AvailabilityZone="nova"),
        "instance": one(
            "AWS::EC2::Instance",
            ImageId="cirros",
            InstanceType="m1.nano",
            NetworkInterfaces=[own("nic")],
            Tags=[{"Key": "word", "Value": word}],
        ),
        "mounted": one(
            "AWS::EC2::VolumeAttachment", InstanceId=own("instance"), VolumeId=own("disk"), Device="/dev/vdb"
        ),
    }


OUTPUTS = {
    "server": {"get_attr": ["server", "show", "metadata", "word"]},
    "name": {"get_attr": ["server", "name"]},
    "address": {"get_attr": ["server", "first_address"]},
    "secret": {"get_attr": ["secret", "value"]},
    "volume": {"get_attr": ["volume", "metadata_values", "word"]},
    "project": {"get_attr": ["project", "show", "description"]},
    "rules": {"get_attr": ["group", "show", "description"]},
    "scaled": {"get_attr": ["scaled", "outputs_list", "show"]},
}


def physical(stack: Stack) -> dict[str, str]:
    return {name: str(found["physical_resource_id"]) for name, found in stack.resources().items()}


@pytest.mark.long
@ways()
def test_a_stack_of_every_service(land: Land, ground: Ground, disk: str, maker: str, heir: str) -> None:
    def stack_of(**changes: Any) -> dict[str, Any]:
        return templates.hot(everything(disk, ground.project, **changes), OUTPUTS)

    files = {"member.yaml": json.dumps(MEMBER)}
    land.engines(maker)
    made = ground.create(land.api(maker).root, stack_of(), files=files)
    made.wait("CREATE_COMPLETE", limit=LIMIT)
    ground.expect_nothing_but(made)
    first, objects, secret = physical(made), ground.objects(), made.outputs()["secret"]
    assert {kind: len(ids) for kind, ids in objects.items()} == {
        "server": 4, "key": 1, "volume": 3, "backup": 0, "image": 1, "network": 1, "subnet": 1, "port": 4,
        "router": 1, "address": 1, "group": 1, "project": 1,
    }  # fmt: skip

    land.engines(heir)
    stack = ground.api(land.api(heir).root).stack(made.name, made.id)
    stack.update(stack_of(word="second", generation="y", count=2), wait=None, files=files)
    stack.wait("UPDATE_COMPLETE", limit=LIMIT)
    second = physical(stack)
    assert {name for name in first if first[name] != second[name]} == REPLACED
    ground.expect_nothing_but(stack)
    counts = {kind: len(ids) for kind, ids in ground.objects().items()}
    assert counts == {kind: len(ids) for kind, ids in objects.items()} | {"server": 6, "port": 6}
    told = stack.outputs()
    words = [told[name] for name in ("server", "name", "volume", "project", "rules")]
    assert words == ["second"] * 5 and told["secret"] == secret
    assert [one["metadata"]["word"] for one in ground.get("compute", "/servers/detail")["servers"]].count("second") == 6

    for action in ("check", "suspend", "resume"):
        stack.action(action)
        stack.wait(f"{action.upper()}_COMPLETE", limit=LIMIT)
        states = {found["status"] for found in ground.get("compute", "/servers/detail")["servers"]}
        assert states == ({"SUSPENDED"} if action == "suspend" else {"ACTIVE"})
    snapshot = stack.api.post(f"{stack.path}/snapshots", {"name": "shot"})["id"]
    stack.wait("SNAPSHOT_COMPLETE", limit=LIMIT)
    assert physical(stack) == second
    stack.api.delete(f"{stack.path}/snapshots/{snapshot}")
    until(lambda: stack.api.get(f"{stack.path}/snapshots")["snapshots"] == [], "the snapshot is deleted", 60)
    ground.expect_nothing_but(stack)

    stack.delete(wait=False)
    stack.wait_gone(LIMIT)
    ground.expect_nothing_but()
    # Of a snapshot that is deleted 27.0.1 leaves the sync point for good.
    land.database.expect_nothing_of(stack.id, 60, but=f"'entity_id': '{snapshot}'" if heir == THEIRS else "nothing")


def farm(word: str = "one") -> dict[str, Any]:
    """Servers with ports of their own, of which the stack waits for the last."""
    resources: dict[str, Any] = {
        "net": one("OS::Neutron::Net"),
        "subnet": one("OS::Neutron::Subnet", network=own("net"), cidr="10.34.0.0/24"),
        "last": {**templates.resource(word, wait_secs=3), "depends_on": ["a", "b", "c"]},
    }
    for name in ("a", "b", "c"):
        server = machine(networks=[{"subnet": own("subnet")}], metadata={"word": word})
        resources[name] = server
    return templates.hot(resources)


def begun(stack: Stack) -> bool:
    """Whether each server is known, but the stack is not done."""
    resources = stack.resources()
    known = [name for name in ("a", "b", "c") if resources.get(name, {}).get("physical_resource_id")]
    return len(known) == 3 and any(found["resource_status"] == "CREATE_IN_PROGRESS" for found in resources.values())


@ways("ours-first")
def test_an_engine_dies_beside_its_servers(land: Land, ground: Ground, maker: str, heir: str) -> None:
    """Python Heat adopts nothing by itself; with the user's next request it goes on from our rows."""
    land.engines(maker)
    made = ground.create(land.api(maker).root, farm())
    until(lambda: begun(made), "the servers are begun", LIMIT)
    land.kill(maker)
    land.engines(heir)
    stack = ground.api(land.api(heir).root).stack(made.name, made.id)
    if heir == OURS:
        stack.wait("CREATE_COMPLETE", limit=LIMIT)
    else:
        stack.api.call("PATCH", stack.path, {"tags": "again"}, expect=202)
        stack.wait("UPDATE_COMPLETE", limit=LIMIT)
    ground.expect_nothing_but(stack)
    assert len(ground.objects("server")["server"]) == 3
    stack.update(farm("two"), wait=None)
    stack.wait("UPDATE_COMPLETE", limit=LIMIT)
    words = {server["metadata"]["word"] for server in ground.get("compute", "/servers/detail")["servers"]}
    assert words == {"two"}
    stack.delete(wait=False)
    stack.wait_gone(LIMIT)
    ground.expect_nothing_but()
