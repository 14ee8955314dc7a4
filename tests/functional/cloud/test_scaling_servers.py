# SPDX-License-Identifier: Apache-2.0
"""Groups of servers on Nova and Neutron: scaled, rolled, mended and removed, side by side with Heat 27.0.1.

What groups do with their members is told in ``tests/functional/test_scaling.py``, of members that cost nothing. Here it
is seen that real servers come, change and go with them, and that nothing is left over.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.api import Api, Stack
from tests.fixtures.comparison import Both
from tests.fixtures.polling import until
from tests.fixtures.scaling import call
from tests.fixtures.service import Installation
from tests.functional.cloud.groups import LIMIT, Servers, alike, hot, made, removed, server, within

pytestmark = [
    pytest.mark.cloud,
    pytest.mark.keystone,
    pytest.mark.services,
    pytest.mark.long,
    pytest.mark.timeout(1800),  # a loaded machine takes minutes for a server
]


@pytest.fixture(scope="module")
def signed_urls(daemons: Installation) -> None:
    """What answers to the URLs of policies and wait conditions is up; that of 27.0.1 always is."""
    daemons.cfn()


@pytest.fixture
def huge(service: Any) -> Iterator[str]:
    """A flavor for which no host has room."""
    name = f"huge-{secrets.token_hex(4)}"
    body = {"flavor": {"name": name, "ram": 2**30, "disk": 1, "vcpus": 1}}
    made = service.call("POST", "compute", "/flavors", body)["flavor"]["id"]
    yield name
    service.call("DELETE", "compute", f"/flavors/{made}")


def policy(adjustment: int, kind: str = "change_in_capacity", **properties: Any) -> dict[str, Any]:
    return {
        "type": "OS::Heat::ScalingPolicy",
        "properties": {
            "auto_scaling_group_id": {"get_resource": "group"},
            "adjustment_type": kind,
            "scaling_adjustment": adjustment,
            "cooldown": 0,
            **properties,
        },
    }


POLICIES = {
    "up": policy(1),
    "half": policy(50, "percent_change_in_capacity", min_adjustment_step=2),
    "two": policy(2, "exact_capacity"),
    "rarely": policy(-1, cooldown=3600),
}


def scaled(member: dict[str, Any], desired: int, **properties: Any) -> dict[str, Any]:
    """A group that policies scale, of up to four servers."""
    group = {
        "type": "OS::Heat::AutoScalingGroup",
        "properties": {"min_size": 1, "max_size": 4, "desired_capacity": desired, "resource": member, **properties},
    }
    outputs = {
        "size": ["current_size"],
        "refs": ["refs"],
        "refs_map": ["refs_map"],
        "addresses": ["outputs_list", "first_address"],
        "oldest": ["resource.0"],
    }
    template = hot({"group": group, **POLICIES}, outputs)
    for name, (of, attribute) in {"alarm": ("up", "alarm_url"), "signal": ("two", "signal_url")}.items():
        template["outputs"][name] = {"value": {"get_attr": [of, attribute]}}
    return template


def shown(servers: Servers) -> dict[str, Any]:
    """What the group and Nova say of the members; of what the group says, whether it is true of them."""
    members, told = servers.members(), servers.stack.outputs()
    assert sorted(told["refs"]) == sorted(members.values()) and told["refs_map"] == members
    assert told["oldest"] == told["refs"][0]
    assert len(set(told["addresses"])) == len(members) and within(told["addresses"], "10.83.0.0/24")
    return {
        "size": told["size"],
        "states": servers.states(),
        "Nova": servers.in_nova(),
    }


def test_servers_that_scale(both: Both, service: Any, signed_urls: None) -> None:
    """Adjustments of each kind by each way of a signal, rolling updates in place and by replacement, a cooldown."""
    pair = made(both, scaled(server(), 2))
    seen: list[Servers] = []

    def life(stack: Stack) -> Any:
        servers = Servers(stack, services=service)
        seen.append(servers)
        told: list[Any] = [shown(servers)]

        def resized(size: int) -> None:
            servers.at_rest(size)
            told.append(shown(servers))

        def updated(*arguments: Any, **properties: Any) -> None:
            fates = servers.update(scaled(*arguments, **properties))
            told.append([fates, servers.batches(), shown(servers)])

        urls = stack.outputs()
        assert call(urls["alarm"]).status_code == 200
        resized(3)
        servers.signal("half")  # five would be too many
        resized(4)
        assert stack.api.send("POST", "/" + urls["signal"].partition(f"/{stack.api.project}/")[2], {}).ok
        resized(2)
        # The definition changes in place; one member stays in service, the other rests after it for a while.
        updated(server(flavor="m1.small"), 2, rolling_updates={"min_in_service": 1, "pause_time": 1})
        # By replacement, with a third one for a while.
        rolling = {"min_in_service": 2, "max_batch_size": 1}
        updated(server(flavor="m1.small", user_data="new"), 2, rolling_updates=rolling)
        if stack is pair.ours:
            at_once(servers)
        else:
            # Of these signals two may start from the same size at once.
            servers.signal("up")
            servers.at_rest(3)
        # Of members that go, those that are not well go first.
        broken = servers.mark_unhealthy()
        servers.update(scaled(server(flavor="m1.small", user_data="new"), 2))
        assert broken not in servers.members()
        told.append(shown(servers))
        servers.signal("rarely")
        resized(1)
        for name in ("up", "half", "two"):
            servers.signal(name)
        assert list(servers.metadata()["cooldown_end"].values()) == ["change_in_capacity : -1"]
        return told

    alike(pair, life)
    for servers in seen:
        assert servers.at_rest(1), "the signals in the cooldown had no effect"
    removed(*pair.stacks)
    for servers in seen:
        assert len(servers.seen) >= 7 and servers.in_nova_still() == []


def at_once(servers: Servers) -> None:
    """Signals from eight threads: no member is lost, none is made twice, and each that had an effect has an event."""
    api = servers.stack.api
    before = servers.signals_of("up")

    def signal() -> None:
        own_connection = Api(api.root, api.project, str(api.http.headers["X-Auth-Token"]))
        own_connection.post(f"{servers.stack.path}/resources/up/signal", {})

    threads = [threading.Thread(target=signal) for _number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: servers.signals_of("up") - before == servers.at_rest(3, 4) - 2, "each has an event", LIMIT)
    assert set(servers.states()) == {"CREATE_COMPLETE"}


# groups with numbers ------------------------------------------------------------------------------------------------
def numbered(member: dict[str, Any], count: int, rolling: dict[str, Any] | None = None, **properties: Any) -> Any:
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": count, "resource_def": member, **properties},
        "update_policy": {"rolling_update": rolling} if rolling else {},
    }
    outputs = {
        "refs": ["refs"],
        "refs_map": ["refs_map"],
        "addresses": ["first_address"],
        "names": ["attributes", "name"],
        "removed": ["removed_rsrc_list"],
    }
    # A type that is no more, as old stacks have it.
    restarter = {"type": "OS::Heat::HARestarter", "properties": {"InstanceId": {"get_attr": ["group", "refs", 0]}}}
    return hot({"group": group, "restarter": restarter}, outputs)


def listed(servers: Servers) -> dict[str, Any]:
    """What the group tells of its members; of ids and addresses, whether they are those of the members."""
    members, told = servers.members(), servers.stack.outputs()
    assert told["refs_map"] == members and sorted(told["refs"]) == sorted(members.values())
    assert len(set(told["addresses"])) == len(members) and within(told["addresses"], "10.83.0.0/24")
    return {
        "removed": sorted(told["removed"]),
        "names": told["names"],
        "states": servers.states(),
        "Nova": servers.in_nova(),
    }


def test_servers_with_numbers(both: Both, service: Any, huge: str) -> None:
    """Numbers that go by name and by id; batches with a rest between them; a member that no host has room for."""

    def named(text: str) -> dict[str, Any]:
        return server(name="group-%index%", user_data=f"{text} %index%")

    too_large = made(both, numbered(server(flavor=huge), 1), wait=None)  # tried six times: that takes a while
    pair = made(both, numbered(named("a"), 2))
    seen: list[Servers] = []

    def life(stack: Stack) -> Any:
        servers = Servers(stack, services=service)
        seen.append(servers)
        told: list[Any] = [listed(servers)]

        def updated(template: Any) -> None:
            fates = servers.update(template)
            told.append([fates, servers.batches(), listed(servers)])

        def removal(entry: str) -> dict[str, Any]:
            return {"removal_policies": [{"resource_list": [entry]}]}

        updated(numbered(named("a"), 2, **removal("0")))
        updated(numbered(named("a"), 1, **removal(servers.members()["1"])))
        updated(numbered(named("b"), 2, {"min_in_service": 1, "max_batch_size": 1, "pause_time": 2}))
        assert [seconds >= 2 for seconds in servers.rests] == [True]
        # It used to replace a server when it was signalled.
        reply = stack.api.send("POST", f"{stack.path}/resources/restarter/signal", {})
        told.append([reply.status_code, reply.json()["error"]["type"]])
        return told

    assert alike(pair, life)[3][2]["names"] == {"2": "group-2", "3": "group-3"}

    def mended(stack: Stack) -> Any:
        stack.wait("CREATE_FAILED", limit=LIMIT)
        servers = Servers(stack, services=service)
        seen.append(servers)
        told = [stack.show()["stack_status_reason"], servers.states()]
        # The name of a server that is given none is made up.
        return [*told, servers.update(numbered(server(), 1)), {**listed(servers), "names": []}]

    assert "No valid host was found" in alike(too_large, mended)[0]
    removed(*pair.stacks, *too_large.stacks)
    for servers in seen:
        assert servers.in_nova_still() == []


# failures in the middle ---------------------------------------------------------------------------------------------
NARROW: dict[str, Any] = {
    "narrow_net": {"type": "OS::Neutron::Net"},
    "narrow": {
        "type": "OS::Neutron::Subnet",
        "properties": {
            "network": {"get_resource": "narrow_net"},
            "cidr": "10.85.0.0/24",
            "allocation_pools": [{"start": "10.85.0.5", "end": "10.85.0.5"}],
            "gateway_ip": None,
            "enable_dhcp": False,
        },
    },
}


ONE_BY_ONE = {"min_in_service": 0, "max_batch_size": 1}


def failing(stack: Stack, service: Any, template: dict[str, Any]) -> tuple[Servers, list[Any]]:
    """Update the members, of which the second one has no address in its new network: the stack is rolled back."""
    servers = Servers(stack, services=service)
    update = {**template, "resources": {**template["resources"], **NARROW}}
    fates = servers.update(update, "ROLLBACK_COMPLETE", disable_rollback=False)
    members, told = servers.members(), stack.outputs()
    assert sorted(told["refs"]) == sorted(members.values())
    return servers, [fates, servers.batches(), servers.states(), servers.in_nova(), len(told["addresses"])]


def test_a_rolling_update_that_fails_in_the_middle(both: Both, service: Any) -> None:
    """The first member gets its definition back, the second was about to be replaced and stays.

    On 27.0.1 that has lost its address: a replacement takes the ports of a server, and only to a rollback of its own
    stack they are given back, which the stack of a group does not have.
    """
    pair = made(both, numbered(server(), 2, ONE_BY_ONE))
    seen: list[Servers] = []

    def life(stack: Stack) -> Any:
        servers, told = failing(stack, service, numbered(server("narrow", user_data="new"), 2, ONE_BY_ONE))
        seen.append(servers)
        return told

    fates, batches, *_rest = alike(pair, life)
    assert fates == {"kept": 1, "replaced": 1} and len(batches) == 3
    assert within(pair.ours.outputs()["addresses"], "10.83.0.0/24")
    removed(*pair.stacks)
    for servers in seen:
        assert servers.in_nova_still() == []


def test_a_scaling_group_that_fails_in_the_middle(deploy: Any, service: Any) -> None:
    """On 27.0.1 the rollback fails, too: it gives members of such a group the definition that failed."""
    stack = deploy(scaled(server(), 2), wait=None, timeout_mins=60)
    stack.wait("CREATE_COMPLETE", limit=LIMIT)
    template = scaled(server("narrow", user_data="new"), 2, rolling_updates=ONE_BY_ONE)
    servers, (fates, *_rest) = failing(stack, service, template)
    assert fates == {"kept": 1, "replaced": 1}
    assert within(stack.outputs()["addresses"], "10.83.0.0/24") and servers.in_nova() == [("ACTIVE", "m1.tiny")] * 2
    removed(stack)
    assert servers.in_nova_still() == []
