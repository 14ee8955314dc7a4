# SPDX-License-Identifier: Apache-2.0
"""What goes wrong on real services without anybody's help: quotas, no host, objects that are gone, used or locked,
tokens and trusts that are over. Each time the reason says what happened to which resource, a repeat works, and nothing
is left behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fixtures.api import Api, Stack
from tests.fixtures.comparison import Both
from tests.fixtures.faulty_proxy import Hold
from tests.fixtures.identity import Keystone, login
from tests.fixtures.polling import until
from tests.functional.cloud.conftest import QUOTAS, Faulty

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services, pytest.mark.timeout(900)]

#: A machine with much else to do takes its time.
LIMIT = 500.0
#: What each request has for itself.
REQUEST = re.compile(r" \(Request-ID: req-[0-9a-f-]+\)|\nNeutron server returns request_ids: \['req-[0-9a-f-]+'\]")


def hot(resources: dict[str, Any]) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources}


def own(name: str) -> dict[str, str]:
    return {"get_resource": name}


NET = {"type": "OS::Neutron::Net"}
SUBNET = {"type": "OS::Neutron::Subnet", "properties": {"network": own("net"), "cidr": "10.92.0.0/24"}}
PORT = {"type": "OS::Neutron::Port", "properties": {"network": own("net")}}


def volume(number: int = 1) -> dict[str, Any]:
    return {"type": "OS::Cinder::Volume", "properties": {"size": 1, "description": f"n{number}"}}


def server(flavor: str = "m1.tiny", number: int = 1, **props: Any) -> dict[str, Any]:
    given = {"image": "cirros", "flavor": flavor, "metadata": {"n": str(number)}, "networks": "none", **props}
    if given["networks"] == "none":
        given["networks"] = [{"allocate_network": "none"}]
    return {"type": "OS::Nova::Server", "properties": given}


def project(number: int = 1) -> dict[str, Any]:
    return {"type": "OS::Keystone::Project", "properties": {"description": f"n{number}"}}


class Stacks:
    """Makes stacks in the faulty project; what they have made is gone at the end."""

    def __init__(self, faulty: Faulty) -> None:
        self.faulty = faulty
        self.made: list[Stack] = []

    def __call__(
        self, resources: dict[str, Any], wait: str | None = "CREATE_COMPLETE", api: Api | None = None
    ) -> Stack:
        made = (api or self.faulty.api()).create(hot(resources), wait=False)
        self.made.append(made)
        if wait:
            made.wait(wait, limit=LIMIT)
        return made

    def clean(self) -> None:
        for stack in self.made:
            fresh = self.faulty.api().stack(stack.name, stack.id)
            fresh.delete(wait=False)
            fresh.wait_gone(LIMIT)
            assert self.faulty.objects(stack.name) == []


@pytest.fixture
def stacks(faulty: Faulty) -> Iterator[Stacks]:
    made = Stacks(faulty)
    yield made
    faulty.proxy.mend()
    made.clean()


def update(stack: Stack, resources: dict[str, Any], state: str = "UPDATE_COMPLETE") -> None:
    stack.update(hot(resources), wait=None)
    stack.wait(state, limit=LIMIT)


def all_ended(stack: Stack) -> dict[str, tuple[str, str]]:
    """State and reason of each resource when none is in progress any more."""

    def ended() -> bool:
        return not any(one["resource_status"].endswith("IN_PROGRESS") for one in stack.resources().values())

    until(ended, f"all resources of {stack.name} have ended", LIMIT)
    return {
        name: (one["resource_status"], REQUEST.sub("", one["resource_status_reason"]))
        for name, one in stack.resources().items()
    }


def reason(stack: Stack) -> str:
    return REQUEST.sub("", stack.show()["stack_status_reason"])


# --- quotas and hosts


@pytest.fixture
def no_quota(faulty: Faulty) -> Iterator[Callable[[], None]]:
    """The project may have nothing more; calling this gives it back what it had."""
    nothing = {"compute": ("quota_set", "instances"), "volumev3": ("quota_set", "volumes")}

    def give() -> None:
        for service, (path, body) in QUOTAS.items():
            faulty.services.call("PUT", service, path.format(project=faulty.project), body)

    for service, (envelope, name) in nothing.items():
        path = QUOTAS[service][0].format(project=faulty.project)
        faulty.services.call("PUT", service, path, {envelope: {name: 0}})
    limits = {"quota": {"port": 0, "floatingip": 0}}
    faulty.services.call("PUT", "network", QUOTAS["network"][0].format(project=faulty.project), limits)
    yield give
    give()


def test_a_quota_that_is_used_up(stacks: Stacks, no_quota: Callable[[], None]) -> None:
    resources = {
        "net": NET,
        "port": PORT,
        "floating": {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "public"}},
        "server": server(),
        "volume": volume(),
    }
    expected = {
        "server": "Forbidden: resources.server: Quota exceeded for instances: Requested 1, but already used 0 of 0"
        " instances (HTTP 403)",
        "volume": "OverLimit: resources.volume: VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for"
        " quota 'volumes'. (HTTP 413)",
        "port": "OverQuotaClient: resources.port: Quota exceeded for resources: ['port'].",
        "floating": "OverQuotaClient: resources.floating: Quota exceeded for resources: ['floatingip'].",
    }
    stack = stacks(resources, "CREATE_FAILED")
    seen = all_ended(stack)
    for name, text in expected.items():
        # Without a network there is no port; the network may come after the failure of another.
        if seen[name] != ("INIT_COMPLETE", ""):
            assert seen[name] == ("CREATE_FAILED", text)
    assert reason(stack) in {f"Resource CREATE failed: {text}" for text in expected.values()}
    no_quota()
    update(stack, resources)
    assert [kind for kind, _name in stacks.faulty.objects(stack.name)] == [
        "floatingips", "networks", "ports", "servers", "volumes",
    ]  # fmt: skip


@pytest.fixture
def giant(faulty: Faulty) -> Iterator[str]:
    """A flavor that no host has room for."""
    body = {"flavor": {"name": f"giant-{faulty.project}", "ram": 64 * 1024**2, "vcpus": 1, "disk": 1}}
    made = faulty.services.call("POST", "compute", "/flavors", body)["flavor"]["id"]
    yield made
    faulty.services.call("DELETE", "compute", f"/flavors/{made}")


def test_a_server_that_no_host_has_room_for(stacks: Stacks, giant: str) -> None:
    """Tried again as often as configured, once; each server that failed is deleted."""
    stack = stacks({"server": server(giant)}, "CREATE_FAILED")
    text = (
        'ResourceInError: resources.server: Went to status ERROR due to "Message: No valid host was found. , Code: 500"'
    )
    assert all_ended(stack)["server"] == ("CREATE_FAILED", text)
    assert reason(stack) == f"Resource CREATE failed: {text}"
    assert stacks.faulty.proxy.count("compute", "POST", "/servers$", about=stack.name) == 2
    assert len(stacks.faulty.objects(stack.name)) == 1
    update(stack, {"server": server()})
    assert len(stacks.faulty.objects(stack.name)) == 1


# --- behind our back

PATHS = {"server": ("compute", "/servers"), "volume": ("volumev3", "/volumes"), "port": ("network", "/v2.0/ports"),
         "project": ("identity", "/projects")}  # fmt: skip


def remove(faulty: Faulty, stack: Stack) -> None:
    """Whoever it was: these objects are gone."""
    gone = {}
    for name, (service, path) in PATHS.items():
        gone[name] = (service, f"{path}/{stack.resource(name)['physical_resource_id']}")
        faulty.services.call("DELETE", *gone[name])
    for service, path in gone.values():
        until(lambda s=service, p=path: faulty.services.send("GET", s, p).status_code == 404, f"{path} is gone", LIMIT)  # type: ignore[misc]


def test_objects_that_somebody_removed(stacks: Stacks) -> None:
    """Found out by a check, which an update then repairs; by an update, which the next one repairs; by a deletion.

    The first that fails ends an update: what it had not begun with then, the next one finds out.
    """

    def resources(number: int) -> dict[str, Any]:
        port = {"type": "OS::Neutron::Port", "properties": {"network": own("net"), "device_owner": f"n{number}"}}
        return {
            "net": NET, "port": port, "server": server(number=number), "volume": volume(number),
            "project": project(number),
        }  # fmt: skip

    def whole() -> bool:
        kinds = [kind for kind, _name in stacks.faulty.objects(stack.name)]
        return kinds == ["networks", "ports", "projects", "servers", "volumes"]

    def lost() -> dict[str, str]:
        """What the services say of what is gone."""
        ids = {name: stack.resource(name)["physical_resource_id"] for name in PATHS}
        return {
            "port": f"PortNotFoundClient: resources.port: Port {ids['port']} could not be found.",
            "server": f"NotFound: resources.server: Instance {ids['server']} could not be found. (HTTP 404)",
            "volume": f"NotFound: resources.volume: Volume {ids['volume']} could not be found. (HTTP 404)",
            "project": f"NotFound: resources.project: Could not find project: {ids['project']}. (HTTP 404)",
        }

    stack = stacks(resources(1))
    told = lost()
    remove(stacks.faulty, stack)
    stack.action("check")
    stack.wait("CHECK_FAILED", limit=LIMIT)
    net = {"net": ("CHECK_COMPLETE", "CHECK not supported for OS::Neutron::Net")}
    assert all_ended(stack) == {**net, **{name: ("CHECK_FAILED", text) for name, text in told.items()}}
    update(stack, resources(1))
    assert whole()

    told = lost()
    server_id = stack.resource("server")["physical_resource_id"]
    told["server"] = f"EntityNotFound: resources.server: The Server ({server_id}) could not be found."
    remove(stacks.faulty, stack)
    unknown = set(told)
    while unknown:
        update(stack, resources(2), "UPDATE_FAILED")
        failed = {name: text for name, (state, text) in all_ended(stack).items() if state == "UPDATE_FAILED"}
        assert failed == {name: told[name] for name in failed} and unknown & failed.keys()
        assert reason(stack) in {f"Resource UPDATE failed: {text}" for text in failed.values()}
        unknown -= failed.keys()
    update(stack, resources(2))
    assert whole()

    remove(stacks.faulty, stack)
    stack.delete(wait=False)
    stack.wait_gone(LIMIT)


# --- used by others


@pytest.fixture
def plug(stacks: Stacks) -> Iterator[Callable[[str], str]]:
    """Makes a port in a network, which nobody's template knows; it goes before the stacks do."""
    services, made = stacks.faulty.services, []

    def make(net: str) -> str:
        made.append(services.call("POST", "network", "/v2.0/ports", {"port": {"network_id": net}})["port"]["id"])
        return str(made[-1])

    yield make
    for port in made:
        services.send("DELETE", "network", f"/v2.0/ports/{port}")


def test_a_network_that_somebody_else_uses(stacks: Stacks, plug: Callable[[str], str]) -> None:
    stack = stacks({"net": NET})
    net = stack.resource("net")["physical_resource_id"]
    alien = plug(net)
    stack.delete(wait=False)
    stack.wait("DELETE_FAILED", limit=LIMIT)
    text = (
        f"NetworkInUseClient: resources.net: Unable to complete operation on network {net}. There are one or more ports"
        f" still in use on the network, id for these ports is: {alien}."
    )
    assert all_ended(stack)["net"] == ("DELETE_FAILED", text)
    assert reason(stack) == f"Resource DELETE failed: {text}"
    stacks.faulty.services.call("DELETE", "network", f"/v2.0/ports/{alien}")
    stack.delete(wait=False)
    stack.wait_gone(LIMIT)


def test_a_server_that_an_administrator_locked(stacks: Stacks) -> None:
    faulty = stacks.faulty
    # A lock does not stop administrators, nor their stacks: this one is somebody else's.
    stack = stacks({"server": server()}, api=faulty.tenant.api(faulty.root, faulty.tenant.member, faulty.project))
    locked = stack.resource("server")["physical_resource_id"]
    faulty.services.call("POST", "compute", f"/servers/{locked}/action", {"lock": None})
    stack.delete(wait=False)
    stack.wait("DELETE_FAILED", limit=LIMIT)
    text = f"Conflict: resources.server: Instance {locked} is locked (HTTP 409)"
    assert all_ended(stack)["server"] == ("DELETE_FAILED", text)
    assert reason(stack) == f"Resource DELETE failed: {text}"
    faulty.services.call("POST", "compute", f"/servers/{locked}/action", {"unlock": None})
    stack.delete(wait=False)
    stack.wait_gone(LIMIT)


# --- tokens and trusts


@pytest.mark.parametrize("trust_goes", [False, True], ids=["token", "token and trust"])
def test_credentials_that_are_over_in_the_middle(stacks: Stacks, trust_goes: bool) -> None:
    """The work goes on by the stack's trust. Without that too the reason says so, and the next update has a new one."""
    faulty = stacks.faulty
    token = login(faulty.tenant.boss, faulty.project)
    hold = Hold()
    held = faulty.proxy.when("network", "POST", "/networks$", hold)
    resources = {"net": NET, "volume": {**volume(), "depends_on": "net"}}
    stack = stacks(resources, None, api=Api(faulty.root, faulty.project, token.id))
    until(held.met.is_set, "the network is asked for", LIMIT)
    keystone = Keystone(token)
    if trust_goes:
        for trust in Keystone(faulty.services.token).trusts(token.user_id):
            keystone.call("DELETE", f"/OS-TRUST/trusts/{trust['id']}")
    keystone.call("DELETE", "/auth/tokens", headers={"X-Subject-Token": token.id})
    hold.let_go()
    fresh = faulty.api().stack(stack.name, stack.id)
    if trust_goes:
        fresh.wait("CREATE_FAILED", limit=LIMIT)
        text = "Unauthorized: resources.net: The request you have made requires authentication. (HTTP 401)"
        assert all_ended(fresh)["net"] == ("CREATE_FAILED", text)
        assert reason(fresh) == f"Resource CREATE failed: {text}"
        update(fresh, resources)
    fresh.wait("CREATE_COMPLETE", "UPDATE_COMPLETE", limit=LIMIT)
    assert [kind for kind, _name in faulty.objects(stack.name)] == ["networks", "volumes"]


# --- what the cloud does not have


def test_an_extension_that_the_network_service_lacks(both: Both) -> None:
    """Refused before anything is made, in the words of 27.0.1."""
    gateway = {"type": "OS::Neutron::L2Gateway", "properties": {"name": "g", "devices": []}}
    said = both.refused(hot({"net": NET, "gateway": gateway}))
    assert "Required extension l2-gateway in neutron service is not available." in said
