# SPDX-License-Identifier: Apache-2.0
"""Security groups: their rules become what the template says, and no rule that stays is touched."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.resources.kit import lifecycle
from tests.unit.resources.fakes import drive
from tests.unit.resources.neutron.conftest import World

SSH = {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "10.0.0.0/8"}
PING = {"protocol": "icmp"}
FRIENDS = {"remote_mode": "remote_group_id"}
OUT = {"direction": "egress", "protocol": "tcp", "port_range_min": 80, "port_range_max": 80}


def rules(world: World, group: Any) -> set[tuple[Any, ...]]:
    return {
        (
            rule["direction"],
            rule["ethertype"],
            rule["protocol"],
            rule["port_range_min"],
            "itself" if rule["remote_group_id"] == group.resource_id else rule["remote_group_id"],
            rule["remote_ip_prefix"],
        )
        for rule in world.neutron.rules.objects.values()
        if rule["security_group_id"] == group.resource_id
    }


EVERYTHING_OUT = {("egress", "IPv4", None, None, None, None), ("egress", "IPv6", None, None, None, None)}
AS_TUPLES = {
    "SSH": ("ingress", "IPv4", "tcp", "22", None, "10.0.0.0/8"), "PING": ("ingress", "IPv4", "icmp", None, None, None),
    "FRIENDS": ("ingress", "IPv4", None, None, "itself", None), "OUT": ("egress", "IPv4", "tcp", "80", None, None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ([], EVERYTHING_OUT),
        ([SSH, PING], EVERYTHING_OUT | {AS_TUPLES["SSH"], AS_TUPLES["PING"]}),
        ([FRIENDS], EVERYTHING_OUT | {AS_TUPLES["FRIENDS"]}),
        ([SSH, OUT], {AS_TUPLES["SSH"], AS_TUPLES["OUT"]}),
    ],
)
def test_rules(world: World, given: list[Any], there: set[Any]) -> None:
    """Without a rule for outgoing traffic everything is let out; with one, only what rules say."""
    group = world.create("SecurityGroup", rules=given)
    assert rules(world, group) == there


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ([SSH], {AS_TUPLES["PING"], AS_TUPLES["SSH"]}),
        ([PING], {AS_TUPLES["PING"]}),
        ([OUT], {AS_TUPLES["PING"], AS_TUPLES["OUT"]}),
    ],
)
def test_what_a_cloud_gives_each_new_group_is_not_taken_away(world: World, given: list[Any], there: set[Any]) -> None:
    """Its administrators may say that new groups let everybody ping, and nothing out."""
    world.neutron.rules_of_new_groups = [{"direction": "ingress", "ethertype": "IPv4", "protocol": "icmp"}]
    group = world.create("SecurityGroup", rules=given)
    assert rules(world, group) == there


def test_the_rules_of_an_update_are_all_that_there_are(world: World) -> None:
    world.neutron.rules_of_new_groups = [{"direction": "ingress", "ethertype": "IPv4", "protocol": "icmp"}]
    group = world.create("SecurityGroup", rules=[SSH])
    world.update(group, rules=[SSH, FRIENDS])
    assert rules(world, group) == EVERYTHING_OUT | {AS_TUPLES["SSH"], AS_TUPLES["FRIENDS"]}


def test_rules_are_made_with_one_request(world: World) -> None:
    world.create("SecurityGroup", rules=[SSH, PING, FRIENDS])
    assert [request for request, _body in world.sent()] == ["POST /security-groups", "POST /security-group-rules"]


@pytest.mark.parametrize(
    ("before", "after", "requests"),
    [
        ([SSH, PING], [PING, SSH], []),
        ([SSH], [SSH, PING], ["POST"]),
        ([SSH, PING], [SSH], ["DELETE"]),
        ([SSH], [SSH, OUT], ["DELETE", "DELETE", "POST"]),
        ([SSH, OUT], [SSH], ["DELETE", "POST"]),
        ([SSH], None, ["DELETE"]),
    ],
)
def test_only_what_differs_is_changed(world: World, before: list[Any], after: Any, requests: list[str]) -> None:
    group = world.create("SecurityGroup", name="g", rules=before)
    kept = set(world.neutron.rules.objects)
    world.sent()
    world.update(group, name="g", **({} if after is None else {"rules": after}))
    sent = world.sent()
    assert [request.split()[0] for request, _body in sent] == requests
    assert len(kept & set(world.neutron.rules.objects)) == len(kept) - requests.count("DELETE")


def test_rules_that_somebody_removed_come_back_with_the_next_change(world: World) -> None:
    group = world.create("SecurityGroup", rules=[SSH, PING])
    world.neutron.rules.objects.clear()
    world.update(group, rules=[SSH])
    assert rules(world, group) == EVERYTHING_OUT | {AS_TUPLES["SSH"]}


def test_a_group_goes_with_its_rules(world: World) -> None:
    group = world.create("SecurityGroup", rules=[SSH, PING, FRIENDS])
    world.sent()
    world.delete(group)
    assert world.sent() == [(f"DELETE /security-groups/{group.resource_id}", None)]
    assert world.neutron.rules.objects == {}


def test_descriptions_of_rules(world: World) -> None:
    world.create("SecurityGroup", rules=[{**SSH, "description": "admins"}, PING])
    sent = world.neutron.bodies("POST")[-1]["security_group_rules"]
    assert sent[0]["description"] == "admins" and "description" not in sent[1]


def test_stateless_groups_need_their_extension(world: World) -> None:
    world.neutron.extensions.discard("stateful-security-group")
    with pytest.raises(Exception, match="Neutron does not support stateless security groups"):
        world.make("SecurityGroup", stateful=False).validate()
    world.create("SecurityGroup", stateful=True)
    assert "stateful" not in world.neutron.bodies("POST")[0]["security_group"]


def test_a_group_in_use_does_not_change_its_state(world: World) -> None:
    group = world.create("SecurityGroup", stateful=True, rules=[SSH])
    world.neutron.ports.add(security_groups=[group.resource_id], fixed_ips=[])
    after = world.stack({"r": {"type": "OS::Neutron::SecurityGroup", "properties": {"stateful": False}}})
    world.sent()
    with pytest.raises(Exception, match='Updating the "stateful" property while security group'):
        drive(lifecycle.update(group, after.defn.resource_definition("r")), group)
    assert world.sent() == [], "rules are as they were"
