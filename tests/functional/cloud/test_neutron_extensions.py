# SPDX-License-Identifier: Apache-2.0
"""VPN, service chains, taps and metering as Heat 27.0.1 makes them with the same Neutron.

The test bed has no agents: what one of them would report (:class:`Agents`) is written where Neutron keeps it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.fixtures.api import Stack
from tests.fixtures.comparison import Both
from tests.functional.cloud.conftest import Deploy, Services
from tests.functional.cloud.test_neutron import attr, changed, hot, neutron, own

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]
compared = pytest.mark.reference

DATABASE = {"host": "127.0.0.1", "user": "testbed", "password": "testbed-secret", "database": "neutron"}


class Agents:
    """Carries out what is pending in a project, for as long as the ``with`` lasts."""

    REPORTS = (
        *(f"UPDATE {table} SET status = 'ACTIVE' WHERE project_id = %s AND status IN ({states})" for table, states in (
            ("vpnservices", "'PENDING_CREATE', 'PENDING_UPDATE'"),
            ("ipsec_site_connections", "'PENDING_CREATE', 'PENDING_UPDATE'"),
            ("tap_services", "'DOWN', 'PENDING_CREATE', 'PENDING_UPDATE'"),
            ("tap_flows", "'DOWN', 'PENDING_CREATE', 'PENDING_UPDATE'"),
        )),
        "DELETE FROM tap_flows WHERE project_id = %s AND status = 'PENDING_DELETE'",
        "DELETE a FROM tap_id_associations a JOIN tap_services s ON s.id = a.tap_service_id "
        "WHERE s.project_id = %s AND s.status = 'PENDING_DELETE'",
        "DELETE FROM tap_services WHERE project_id = %s AND status = 'PENDING_DELETE'",
    )  # fmt: skip

    def __init__(self, project: str) -> None:
        self.project = project
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def _report(self) -> None:
        import pymysql

        connection = pymysql.connect(**DATABASE, autocommit=True)
        while not self._over.wait(0.2):
            with connection.cursor() as cursor:
                for statement in self.REPORTS:
                    cursor.execute(statement, (self.project,))
        connection.close()

    def __enter__(self) -> Agents:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture(autouse=True)
def agents(service: Services, deploy: Deploy, both_as_admin: Both) -> Iterator[None]:
    """Before stacks are cleaned away, so that they can be."""
    with Agents(service.token.project_id):
        yield
        deploy.clean()
        both_as_admin.clean()


def ids(stack: Stack) -> dict[str, str]:
    return {name: one["physical_resource_id"] for name, one in stack.resources().items()}


GROUND = {
    "net": neutron("Net"),
    "subnet": neutron("Subnet", network=own("net"), cidr="10.99.0.0/24"),
    "router": neutron("Router", external_gateway_info={"network": "public"}),
    "interface": neutron("RouterInterface", router=own("router"), subnet=own("subnet")),
}
# Service functions are servers: both ports of a pair are one's.
PORTS = {
    f"port{number}": {**neutron("Port", network=own("net"), device_id="okh-function"), "depends_on": "subnet"}
    for number in (1, 2, 3, 4)
}

VPN = {
    **GROUND,
    "ike": neutron("IKEPolicy", auth_algorithm="sha256", description="first"),
    "ipsec": neutron("IPsecPolicy", auth_algorithm="sha256", name="first", lifetime={"value": 1800}),
    "vpn": {**neutron("VPNService", router=own("router"), subnet=own("subnet"), description="first"),
            "depends_on": "interface"},
    "connection": neutron(
        "IPsecSiteConnection", vpnservice_id=own("vpn"), ikepolicy_id=own("ike"), ipsecpolicy_id=own("ipsec"),
        peer_address="203.0.113.9", peer_id="203.0.113.9", peer_cidrs=["10.98.0.0/24"], psk="sesame"),
}  # fmt: skip

CHAIN = {
    "net": GROUND["net"], "subnet": GROUND["subnet"], **PORTS,
    "pair": neutron("PortPair", ingress=own("port1"), egress=own("port2"), description="first"),
    "other": neutron("PortPair", ingress=own("port3"), egress=own("port3"), name="other"),
    "group": neutron("PortPairGroup", port_pairs=[own("pair")]),
    "classifier": neutron("FlowClassifier", protocol="tcp", destination_port_range_min=80,
                          destination_port_range_max=90, logical_source_port=own("port1"), name="first"),
    "chain": neutron("PortChain", port_pair_groups=[own("group")]),
    "label": neutron("MeteringLabel", description="first"),
    "rule": neutron("MeteringRule", metering_label_id=own("label"), remote_ip_prefix="192.0.2.0/24",
                    direction="egress"),
    "tap": neutron("TaaS::TapService", port=own("port4"), name="first"),
}  # fmt: skip

#: What the service chooses for each of them.
CHOSEN = {"*dns_assignment*", "*chain_id", "*group_id", "*segmentation_id*", "*provider:segmentation_id"}


@compared
def test_vpn(both_as_admin: Both) -> None:
    shown = {f"{name}_{key}": attr(name, key) for name in ("ike", "ipsec", "vpn", "connection")
             for key in ("name", "description", "tenant_id")}  # fmt: skip
    shown |= {"connection_dpd": attr("connection", "dpd"),
              "connection_mode": attr("connection", "route_mode"), "lifetime": attr("ike", "lifetime"),
              "ike_pfs": attr("ike", "pfs"), "secret": attr("connection", "psk")}  # fmt: skip
    pair = both_as_admin.create(hot(VPN, **shown)).compare(ignore=CHOSEN)
    before = [ids(stack) for stack in pair.stacks]
    # What a connection uses cannot be changed.
    after = changed(VPN, vpn={"description": "second"}, connection={"description": "second", "name": "mine"})
    pair.update(hot(after, **shown)).compare(ignore=CHOSEN)
    assert [ids(stack) for stack in pair.stacks] == before
    pair.action("check", "CHECK_COMPLETE").compare(ignore=CHOSEN)
    again = {name: one for name, one in after.items() if name != "connection"}
    # What was used is changed before what used it goes: the service would refuse.
    pair.update(hot(again)).compare(ignore=CHOSEN)
    again = changed(again, ike={"description": "second", "lifetime": {"value": 4000},
                                "encryption_algorithm": "aes-256"},
                    ipsec={"name": "second", "description": "second"})  # fmt: skip
    pair.update(hot(again)).compare(ignore=CHOSEN)
    kept = {name: id_ for name, id_ in before[0].items() if name != "connection"}
    assert ids(pair.ours) == kept
    # Other algorithms of an IPsec policy are another policy.
    pair.update(hot(changed(again, ipsec={"pfs": "group14"}))).compare(ignore=CHOSEN)
    assert ids(pair.ours)["ipsec"] != kept["ipsec"] and ids(pair.ours)["ike"] == kept["ike"]
    pair.delete()


@compared
def test_chains_taps_and_meters(both_as_admin: Both) -> None:
    shown = {"label_name": attr("label", "name"), "label_shared": attr("label", "shared"),
             "rule_excluded": attr("rule", "excluded"), "rule_label": attr("rule", "metering_label_id")}  # fmt: skip
    pair = both_as_admin.create(hot(CHAIN, **shown)).compare(ignore=CHOSEN)
    before = [ids(stack) for stack in pair.stacks]
    after = changed(
        CHAIN, pair={"description": "second"}, other={"name": None}, classifier={"name": "second"},
        group={"port_pairs": [own("pair"), own("other")], "description": "second"},
        chain={"name": "mine", "description": "second"}, tap={"name": "second", "description": "second"},
    )  # fmt: skip
    pair.update(hot(after, **shown)).compare(ignore=CHOSEN)
    assert [ids(stack) for stack in pair.stacks] == before
    pair.action("check", "CHECK_COMPLETE").compare(ignore=CHOSEN)
    # Nothing of these can be changed in place.
    pair.update(hot(changed(after, label={"description": "second"}, rule={"direction": "ingress"},
                            classifier={"protocol": "udp"}), **shown))  # fmt: skip
    pair.compare(ignore=CHOSEN)
    for stack, old in zip(pair.stacks, before, strict=True):
        replaced = {name for name, id_ in ids(stack).items() if id_ != old[name]}
        assert replaced == {"label", "rule", "classifier"}
    pair.delete()


def test_a_chain_with_classifiers(deploy: Deploy, service: Services) -> None:
    """The service refuses two chains for the same traffic, so it is one service's only."""
    chain = changed(CHAIN, chain={"flow_classifiers": [own("classifier")]})
    stack = deploy.as_admin(hot(chain))
    made = ids(stack)

    def shown() -> list[str]:
        path = f"/v2.0/sfc/port_chains/{made['chain']}"
        return list(service.get("network", path)["port_chain"]["flow_classifiers"])

    assert shown() == [made["classifier"]]
    stack.update(hot(changed(chain, chain={"flow_classifiers": []})))
    assert ids(stack) == made and shown() == []


def test_a_tap_flow(deploy: Deploy, service: Services) -> None:
    """Heat 27.0.1 cannot find the tap service: its client of Neutron has no such call any more."""
    flow = {
        **{name: CHAIN[name] for name in ("net", "subnet", "port1", "port4", "tap")},
        "flow": neutron("TaaS::TapFlow", port=own("port1"), tap_service=own("tap"), direction="IN",
                        vlan_filter="1,3-5"),
    }  # fmt: skip
    stack = deploy.as_admin(hot(flow))
    made = ids(stack)
    shown = service.get("network", f"/v2.0/taas/tap_flows/{made['flow']}")["tap_flow"]
    assert (shown["source_port"], shown["tap_service_id"]) == (made["port1"], made["tap"])
    assert (shown["direction"], shown["vlan_filter"], shown["status"]) == ("IN", "1,3-5", "ACTIVE")
    stack.update(hot(changed(flow, flow={"name": "second", "description": "second"})))
    assert ids(stack) == made
    stack.update(hot(changed(flow, flow={"direction": "OUT"})))
    assert ids(stack)["flow"] != made["flow"]
    stack.delete()
    for path in (f"/v2.0/taas/tap_flows/{made['flow']}", f"/v2.0/taas/tap_services/{made['tap']}"):
        assert service.send("GET", "network", path).status_code == 404


def test_a_dead_peer(deploy: Deploy, service: Services) -> None:
    """Heat 27.0.1 sends ``dpd`` with a key that the service does not know, and is refused."""
    stack = deploy.as_admin(hot(changed(VPN, connection={"dpd": {"actions": "restart", "interval": 10}})))
    shown = service.get("network", f"/v2.0/vpn/ipsec-site-connections/{ids(stack)['connection']}")
    assert shown["ipsec_site_connection"]["dpd"] == {"action": "restart", "interval": 10, "timeout": 120}


REFUSALS = {
    "no such subnet": {"v": neutron("VPNService", router="okh-nobody", subnet="okh-nobody")},
    "no such pair": {"g": neutron("PortPairGroup", port_pairs=["okh-nobody"])},
    "no such classifier": {"c": neutron("PortChain", port_pair_groups=["okh-nobody"], flow_classifiers=["okh-nobody"])},
    "no such port": {"p": neutron("PortPair", ingress="okh-nobody", egress="okh-nobody")},
    "no such tap": {"t": neutron("TaaS::TapFlow", port="okh-nobody", tap_service="okh-nobody")},
    "no network": {"f": neutron("FlowClassifier", source_ip_prefix="10.0.0.0/99")},
    "no first version of firewalls": {"r": neutron("FirewallRule", action="allow")},
    "no gateways": {"g": neutron("L2Gateway", name="g", devices=[{"device_name": "d", "interfaces": [{"name": "i"}]}])},
}


@compared
@pytest.mark.parametrize("why", REFUSALS)
def test_refused(both_as_admin: Both, why: str) -> None:
    both_as_admin.refused({"heat_template_version": "2018-08-31", "resources": REFUSALS[why]})
