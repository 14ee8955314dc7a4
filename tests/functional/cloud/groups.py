# SPDX-License-Identifier: Apache-2.0
"""Groups of servers on the cloud: the templates that tests of scaling share, and how such a group is looked at.

A test leads a pair of stacks through one life, ours and Heat 27.0.1's at the same time (:func:`alike`), and each tells
what it saw: sizes, states, batches, what became of the members, what Nova has. Names, ids and addresses are each
stack's own, so members are counted and not named.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openkeel_heat.common import clock
from tests.fixtures.api import Stack
from tests.fixtures.comparison import Both, Pair
from tests.fixtures.polling import until

#: What a loaded machine may take for some servers.
LIMIT = 600.0

NETWORK: dict[str, Any] = {
    "net": {"type": "OS::Neutron::Net"},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {
            "network": {"get_resource": "net"},
            "cidr": "10.83.0.0/24",
            "gateway_ip": None,
            "enable_dhcp": False,
        },
    },
}


def server(subnet: str = "subnet", **properties: Any) -> dict[str, Any]:
    """A server in a subnet of the stack."""
    return {
        "type": "OS::Nova::Server",
        "properties": {
            "flavor": "m1.tiny",
            "image": "cirros",
            "networks": [{"subnet": {"get_resource": subnet}}],
            "user_data_format": "RAW",
            **properties,
        },
    }


def hot(resources: Mapping[str, Any], outputs: Mapping[str, list[Any]]) -> dict[str, Any]:
    """A template with a network and the resources given; the outputs are attributes of ``group``."""
    return {
        "heat_template_version": "2018-08-31",
        "resources": {**NETWORK, **resources},
        "outputs": {name: {"value": {"get_attr": ["group", *path]}} for name, path in outputs.items()},
    }


def made(both: Both, template: Any, wait: str | None = "CREATE_COMPLETE", **body: Any) -> Pair:
    """A stack of each service; neither gives up before a loaded machine is done."""
    pair = both.create(template, wait=None, timeout_mins=60, **body)
    return pair.wait(wait, limit=LIMIT) if wait else pair


def removed(*stacks: Stack) -> None:
    for stack in stacks:
        stack.delete(wait=False)
    for stack in stacks:
        stack.wait_gone(LIMIT)


def alike(pair: Pair, life: Callable[[Stack], Any]) -> Any:
    """Lead both stacks through a life at the same time; what it tells of each is the same, and returned."""
    with ThreadPoolExecutor(2) as threads:
        ours, theirs = (told.result() for told in [threads.submit(life, stack) for stack in pair.stacks])
    assert ours == theirs, f"ours | theirs:\n{ours}\n{theirs}"
    return ours


class Servers:
    """The members of a group; without ``services`` Nova is not asked for them, whatever they are."""

    def __init__(self, stack: Stack, name: str = "group", services: Any = None) -> None:
        self.stack, self.name, self.services = stack, name, services
        #: Of every server that was seen in the group.
        self.seen: set[str] = set()
        self._events_read = 0
        #: Seconds from the end of each of the last batches to the beginning of the next, as events tell them.
        self.rests: list[float] = []
        self.nested = self._nested()

    def _nested(self) -> Stack:
        links = self.stack.resource(self.name)["links"]
        href = next(link["href"] for link in links if link["rel"] == "nested")
        return Stack(self.stack.api, *href.rsplit("/", 2)[1:])

    # what Heat says
    def members(self) -> dict[str, str]:
        """Ids by names."""
        found = {name: str(one["physical_resource_id"]) for name, one in self.nested.resources().items()}
        self.seen |= {server_id for server_id in found.values() if server_id}
        return found

    def states(self) -> dict[str, int]:
        return dict(Counter(one["resource_status"] for one in self.nested.resources().values()))

    def metadata(self) -> dict[str, Any]:
        return dict(self.stack.api.get(f"{self.stack.path}/resources/{self.name}/metadata")["metadata"])

    def signal(self, policy: str) -> None:
        self.stack.api.post(f"{self.stack.path}/resources/{policy}/signal", {})

    def signals_of(self, policy: str) -> int:
        """Events of signals that had an effect."""
        listed = self.stack.api.get(f"{self.stack.path}/resources/{policy}/events?limit=1000")["events"]
        return sum(one["resource_status"].startswith("SIGNAL") for one in listed)

    def at_rest(self, *sizes: int) -> int:
        """Wait until nobody scales the group any more and it has one of the sizes."""

        def reached() -> bool:
            return not self.metadata().get("scaling_in_progress") and len(self.members()) in sizes

        until(reached, f"the group of {self.stack.name} has {sizes} members", LIMIT, 0.2)
        return len(self.members())

    def mark_unhealthy(self) -> str:
        """One of the members; its name."""
        name = max(self.members())
        body = {"mark_unhealthy": True, "resource_status_reason": "seen to be broken"}
        self.stack.api.patch(f"{self.nested.path}/resources/{name}", body)
        return name

    def update(self, template: Mapping[str, Any], wait: str = "UPDATE_COMPLETE", **body: Any) -> dict[str, int]:
        """Update the stack: what became of the members."""
        before = self.members()
        self.batches()
        self.stack.update(template, wait=None, **body)
        self.stack.wait(wait, limit=LIMIT)
        after = self.members()
        fates = ["gone" for name in before if name not in after]
        for name, server_id in after.items():
            fates.append("new" if name not in before else "kept" if before[name] == server_id else "replaced")
        return dict(Counter(fates))

    def batches(self) -> list[dict[str, int]]:
        """What happened to members since the last call, from one update of the nested stack to the next."""
        path = f"{self.nested.path}/events?limit=1000&sort_dir=asc"
        listed = self.stack.api.get(path)["events"]
        events, self._events_read = listed[self._events_read :], len(listed)
        told: list[dict[str, set[str]]] = []
        self.rests = []
        ended = None
        for event in events:
            name, (action, status) = event["resource_name"], event["resource_status"].split("_", 1)
            if name == self.nested.name:
                moment = clock.parse_isotime(event["event_time"])
                if status != "IN_PROGRESS":
                    ended = moment
                    continue
                told.append({})
                if ended is not None:
                    self.rests.append((moment - ended).total_seconds())
            elif status == "IN_PROGRESS":
                told[-1].setdefault(action, set()).add(name)
        return [{action: len(names) for action, names in sorted(batch.items())} for batch in told if batch]

    # what Nova says
    def in_nova(self) -> list[tuple[str, str]]:
        """Status and flavor of the members."""
        return sorted(self._shown(server_id) for server_id in self.members().values())

    def _shown(self, server_id: str) -> tuple[str, str]:
        headers = {"OpenStack-API-Version": "compute 2.47"}
        shown = self.services.get("compute", f"/servers/{server_id}", **headers)["server"]
        return shown["status"], shown["flavor"]["original_name"]

    def in_nova_still(self) -> list[str]:
        """Of all servers that were seen in the group, those that are there, whether it knows of them or not."""
        return [
            server_id
            for server_id in sorted(self.seen)
            if self.services.send("GET", "compute", f"/servers/{server_id}").status_code != 404
        ]


def within(addresses: Iterable[str], cidr: str) -> bool:
    """Whether all are addresses of a subnet."""
    return all(ipaddress.ip_address(address) in ipaddress.ip_network(cidr) for address in addresses)
