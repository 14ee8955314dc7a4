# SPDX-License-Identifier: Apache-2.0
"""Real services that refuse, fail and lose answers, while a stack is made, changed and deleted.

A kind of object × a fault is a resource of one stack, so that all of them meet their faults at once: the answers to the
requests of ``port_lost`` are lost, those of ``server_busy`` are refused for a moment. What the compute, network, block
storage and identity services have in the end is asked from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.api import Stack
from tests.fixtures.faulty_proxy import Cut, Happening, Refuse, Rule
from tests.fixtures.polling import until
from tests.functional.cloud.conftest import Faulty

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services, pytest.mark.timeout(900)]

#: A machine with much else to do takes its time.
LIMIT = 500.0


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of object: its type, the requests of its life, and how its service tells a broken request."""

    type: str
    properties: dict[str, Any]
    service: str
    path: str
    #: The property that an update changes, method and end of the path of its request.
    changing: str = ""
    update: tuple[str, str] = ("PUT", "")
    #: The reason of a resource for which the service answered with status 500 and "no disk".
    broken: str = ""

    def resource(self, number: int) -> dict[str, Any]:
        changing = {self.changing: {"n": str(number)} if self.changing == "metadata" else f"n{number}"}
        return {"type": self.type, "properties": {**self.properties, **(changing if self.changing else {})}}

    def creation(self, row: str, land: Land) -> tuple[str, str, str]:
        """Method, path, and what stands in the body of this resource's request alone."""
        return "POST", f"{self.path}$", f"-{row}-"

    def deletion(self, id_: str) -> tuple[str, str, str]:
        return "DELETE", f"{self.path}/{id_}$", ""


class Interface(Kind):
    """What connects a router with a subnet; it is the service's answer to two requests of the router."""

    def creation(self, row: str, land: Land) -> tuple[str, str, str]:
        return "PUT", "/add_router_interface$", land.ids[f"subnet_{row}"]

    def deletion(self, id_: str) -> tuple[str, str, str]:
        return "PUT", "/remove_router_interface$", id_.partition("=")[2]


NET = {"network": {"get_param": "net"}}
SERVER = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"allocate_network": "none"}]}
NOVA_BROKEN = "ClientException: resources.{row}: no disk (HTTP 500)"
NEUTRON_BROKEN = "InternalServerError: resources.{row}: no disk"
KINDS = {
    "port": Kind("OS::Neutron::Port", NET, "network", "/ports", "device_owner", broken=NEUTRON_BROKEN),
    "server": Kind("OS::Nova::Server", SERVER, "compute", "/servers", "metadata",
                   ("PUT", "/metadata"), NOVA_BROKEN),
    "volume": Kind("OS::Cinder::Volume", {"size": 1}, "volumev3", "/volumes", "description", broken=NOVA_BROKEN),
    "floating": Kind("OS::Neutron::FloatingIP", {"floating_network": "public"}, "network", "/floatingips",
                     broken=NEUTRON_BROKEN),
    "project": Kind("OS::Keystone::Project", {}, "identity", "/projects", "description", ("PATCH", ""),
                    "InternalServerError: resources.{row}: no disk (HTTP 500)"),
    "interface": Interface("OS::Neutron::RouterInterface", {"router": {"get_param": "router"}}, "network", "",
                           broken=NEUTRON_BROKEN),
}  # fmt: skip

#: What passes if one waits, looks or asks again.
PASSING: dict[str, Happening] = {
    "busy": Refuse(503, "come later", {"Retry-After": "1"}),
    "limited": Refuse(429, "slowly", {"Retry-After": "1"}),
    "over": Refuse(413, "slowly", {"Retry-After": "1"}),
    "gateway": Refuse(502, "no answer", carried_out=True),
    "lost": Cut(carried_out=True),
    "cut": Cut(),
}
#: Every fault once at least for each kind of request, and lost answers for each kind of object.
PASSING_ROWS = [
    *(f"port_{fault}" for fault in PASSING),
    *("server_busy", "server_lost", "volume_over", "volume_lost", "project_over", "project_gateway", "project_lost"),
    *("floating_limited", "floating_lost", "interface_busy", "interface_lost"),
]


class Land:
    """What the resources of these tests stand on: a network, a router, and a subnet for each interface."""

    def __init__(self, faulty: Faulty) -> None:
        interfaces = [row for row in [*PASSING_ROWS, *BREAKING_ROWS] if row.startswith("interface")]
        resources: dict[str, Any] = {
            "net": {"type": "OS::Neutron::Net"},
            "router": {"type": "OS::Neutron::Router", "properties": {"external_gateway_info": {"network": "public"}}},
        }
        for number, row in enumerate(["any", *interfaces]):
            props = {"network": {"get_resource": "net"}, "cidr": f"10.91.{number}.0/24"}
            resources[f"subnet_{row}"] = {"type": "OS::Neutron::Subnet", "properties": props}
        self.stack = faulty.api().create({"heat_template_version": "2021-04-16", "resources": resources}, wait=False)
        self.stack.wait("CREATE_COMPLETE", limit=LIMIT)
        self.ids = {name: one["physical_resource_id"] for name, one in self.stack.resources().items()}


@pytest.fixture(scope="module")
def land(_faulty: Faulty) -> Iterator[Land]:
    made = Land(_faulty)
    yield made
    made.stack.delete()


class Table:
    """A stack with a resource for each row, and what happens to the requests of each."""

    def __init__(self, faulty: Faulty, land: Land, rows: list[str]) -> None:
        self.faulty, self.land, self.rows = faulty, land, rows
        self.kinds = {row: KINDS[row.partition("_")[0]] for row in rows}
        self.stack: Stack | None = None

    def template(self, number: int) -> dict[str, Any]:
        resources = {row: kind.resource(number) for row, kind in self.kinds.items()}
        for row in self.rows:
            if row.startswith("interface"):
                resources[row]["properties"]["subnet"] = self.land.ids[f"subnet_{row}"]
        text = {"type": "string"}
        return {
            "heat_template_version": "2021-04-16",
            "parameters": {
                "net": {**text, "default": self.land.ids["net"]},
                "router": {**text, "default": self.land.ids["router"]},
            },
            "resources": resources,
        }

    def create(self, state: str) -> None:
        self.stack = self.faulty.api().create(self.template(1), wait=False)
        self.stack.wait(state, limit=LIMIT)

    def update(self, number: int, state: str) -> None:
        assert self.stack is not None
        self.stack.update(self.template(number), wait=None)
        self.stack.wait(state, limit=LIMIT)

    def delete(self) -> None:
        assert self.stack is not None
        self.stack.delete(wait=False)

    # --- faults

    def happen(self, action: str, faults: dict[str, Happening], times: int = 1) -> dict[str, Rule]:
        """To the request of each row its fault."""
        found = {}
        ids = {} if action == "create" else self.ids()
        for row, kind in self.kinds.items():
            happening = faults[row.partition("_")[2]]
            if action == "create":
                asked = kind.creation(row, self.land)
            elif action == "delete":
                asked = kind.deletion(ids[row])
            elif kind.changing:
                asked = (kind.update[0], f"{ids[row]}{kind.update[1]}$", "")
            else:
                continue
            method, path, about = asked
            found[row] = self.faulty.proxy.when(kind.service, method, path, happening, times, about)
        return found

    def ids(self) -> dict[str, str]:
        """The physical ids of all resources."""
        assert self.stack is not None
        return {name: str(one["physical_resource_id"]) for name, one in self.stack.resources().items()}

    def reasons(self) -> dict[str, tuple[str, str]]:
        assert self.stack is not None
        listed = self.stack.resources()
        return {row: (listed[row]["resource_status"], listed[row]["resource_status_reason"]) for row in self.rows}

    def reason(self) -> str:
        assert self.stack is not None
        return str(self.stack.show()["stack_status_reason"])

    # --- what there is

    def made(self) -> dict[str, int]:
        """How many objects each row has; an interface counts by the router's port on its subnet."""
        assert self.stack is not None
        names = [name for _kind, name in self.faulty.objects(self.stack.name)]
        found = {row: sum(f"-{row}-" in name for name in names) for row in self.rows}
        ports = self.faulty.services.get("network", f"/v2.0/ports?device_id={self.land.ids['router']}")["ports"]
        for row in found:
            if row.startswith("interface"):
                subnet = self.land.ids[f"subnet_{row}"]
                found[row] = sum(subnet in [ip["subnet_id"] for ip in port["fixed_ips"]] for port in ports)
        return found


@pytest.fixture
def table(faulty: Faulty, land: Land, request: pytest.FixtureRequest) -> Iterator[Table]:
    made = Table(faulty, land, request.param)
    yield made
    faulty.proxy.mend()
    if made.stack is not None:
        made.stack.delete(wait=False)
        made.stack.wait_gone(LIMIT)
        assert set(made.made().values()) == {0}


def times(rules: dict[str, Rule]) -> dict[str, int]:
    return {row: rule.count for row, rule in rules.items()}


@pytest.mark.parametrize("table", [pytest.param(PASSING_ROWS, id="")], indirect=True)
def test_what_passes(table: Table) -> None:
    """The stack goes on as if nothing had been, each object is made once, and the service is asked once for it."""
    once = dict.fromkeys(table.rows, 1)
    rules = table.happen("create", PASSING)
    table.create("CREATE_COMPLETE")
    assert times(rules) == once and table.made() == once
    ids = table.ids()

    rules = table.happen("update", PASSING)
    table.update(2, "UPDATE_COMPLETE")
    assert set(times(rules).values()) == {1}
    assert table.ids() == ids and table.made() == once

    rules = table.happen("delete", PASSING)
    table.delete()
    assert table.stack is not None
    table.stack.wait_gone(LIMIT)
    assert times(rules) == once
    assert set(table.made().values()) == {0}


#: What does not pass: "no" was refused before anything was done, "yes" failed after the object was made.
BREAKING: dict[str, Happening] = {
    "no": Refuse(500, "no disk"),
    "yes": Refuse(500, "no disk", carried_out=True),
}
BREAKING_ROWS = [*(f"{kind}_yes" for kind in KINDS), "port_no", "volume_no", "project_no", "interface_no"]


@pytest.mark.parametrize("table", [pytest.param(BREAKING_ROWS, id="")], indirect=True)
def test_what_breaks(table: Table) -> None:
    """Stack and resources say what the service said; the same again, when it is well, repairs it and leaves nothing."""
    once = dict.fromkeys(table.rows, 1)

    def ended(rules: dict[str, Rule], action: str) -> None:
        """Each has met its fault, and says so."""
        until(lambda: set(times(rules).values()) == {1}, f"all have met their fault: {times(rules)}", LIMIT)
        told = {row: table.kinds[row].broken.format(row=row) for row in rules}
        failed = {row: (f"{action}_FAILED", reason) for row, reason in told.items()}

        def seen() -> dict[str, tuple[str, str]]:
            return {row: said for row, said in table.reasons().items() if row in rules}

        until(lambda: not any(state.endswith("IN_PROGRESS") for state, _ in seen().values()), "all have ended", LIMIT)
        assert seen() == failed
        assert table.reason() in {f"Resource {action} failed: {reason}" for reason in told.values()}

    rules = table.happen("create", BREAKING)
    table.create("CREATE_FAILED")
    ended(rules, "CREATE")
    table.update(1, "UPDATE_COMPLETE")
    assert table.made() == once

    rules = table.happen("update", BREAKING)
    table.update(2, "UPDATE_FAILED")
    ended(rules, "UPDATE")
    table.update(2, "UPDATE_COMPLETE")
    assert table.made() == once

    rules = table.happen("delete", BREAKING)
    table.delete()
    assert table.stack is not None
    table.stack.wait("DELETE_FAILED", limit=LIMIT)
    ended(rules, "DELETE")
