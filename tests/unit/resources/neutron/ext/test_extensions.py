# SPDX-License-Identifier: Apache-2.0
"""VPN, firewalls, service chains, taps, metering and L2 gateways: what is asked of the service, and what it answers."""

from __future__ import annotations

from typing import Any

import pytest

from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import acting, lifecycle, rest as kit
from openkeel_heat.resources.kit.resource import UpdateReplace
from tests.fixtures.rest_server import Request
from tests.unit.resources.fakes import drive
from tests.unit.resources.neutron.ext.conftest import KINDS, Extended

PATHS = {key: path for path, (key, _states) in KINDS.items()}
NET, SUBNET, ROUTER, PORT, OTHER, PAIR, GROUP, CLASSIFIER, TAP = (
    f"00000000-0000-4000-8000-00000000000{digit}" for digit in range(1, 10)
)
NAME = "(the made-up name)"

IPSEC = {"auth_algorithm": "sha1", "encryption_algorithm": "aes-128", "pfs": "group5"}
IKE = {**IPSEC, "ike_version": "v1", "phase1_negotiation_mode": "main"}
CONNECTION = {"peer_address": "p", "peer_id": "i", "peer_cidrs": ["10.0.0.0/8"], "psk": "s", "ikepolicy_id": "k",
              "ipsecpolicy_id": "e", "vpnservice_id": "v"}  # fmt: skip
DEVICE = {"device_name": "d", "interfaces": [{"name": "i"}]}
RULE = {"action": "allow", "protocol": "any"}

#: type → key, properties, body of the creation, other properties, body of the update (None: another object)
LIVES: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any] | None]] = {
    "Firewall": (
        "firewall", {"firewall_policy_id": "p", "value_specs": {"router_ids": ["r"]}},
        {"name": NAME, "firewall_policy_id": "p", "admin_state_up": True, "router_ids": ["r"]},
        {"firewall_policy_id": "q", "name": "mine", "value_specs": {"router_ids": []}},
        {"firewall_policy_id": "q", "name": "mine", "router_ids": []}),
    "FirewallPolicy": (
        "firewall_policy", {"firewall_rules": ["a"]},
        {"name": NAME, "shared": False, "audited": False, "firewall_rules": ["a"]},
        {"firewall_rules": ["a", "b"], "audited": True}, {"firewall_rules": ["a", "b"], "audited": True}),
    "FirewallRule": (
        "firewall_rule", {**RULE, "destination_port": "80"},
        {"name": NAME, "shared": False, "protocol": None, "ip_version": "4", "action": "allow", "enabled": True,
         "destination_port": "80"},
        {**RULE, "protocol": "tcp", "description": "d"},
        {"protocol": "tcp", "description": "d", "destination_port": None}),
    "VPNService": (
        "vpnservice", {"router": "router", "subnet": "subnet"},
        {"name": NAME, "admin_state_up": True, "router_id": ROUTER, "subnet_id": SUBNET},
        {"router": "router", "subnet": SUBNET, "admin_state_up": False}, {"admin_state_up": False}),
    "IPsecSiteConnection": (
        "ipsec_site_connection", {**CONNECTION, "dpd": {"actions": "clear"}},
        {**CONNECTION, "name": NAME, "mtu": 1500, "initiator": "bi-directional", "admin_state_up": True,
         "dpd": {"action": "clear", "interval": 30, "timeout": 120}},
        {**CONNECTION, "dpd": {"actions": "clear"}, "description": "d"}, {"description": "d"}),
    "IKEPolicy": (
        "ikepolicy", {"lifetime": {"value": 60}},
        {**IKE, "name": NAME, "lifetime": {"units": "seconds", "value": 60}},
        {"lifetime": {"value": 60}, "pfs": "group14"}, {"pfs": "group14"}),
    "IPsecPolicy": (
        "ipsecpolicy", {},
        {**IPSEC, "name": NAME, "transform_protocol": "esp", "encapsulation_mode": "tunnel"},
        {"name": "mine"}, {"name": "mine"}),
    "MeteringLabel": (
        "metering_label", {"name": "l"}, {"name": "l", "shared": False}, {"name": "m"}, None),
    "MeteringRule": (
        "metering_label_rule", {"metering_label_id": "l", "remote_ip_prefix": "10.0.0.0/8"},
        {"metering_label_id": "l", "remote_ip_prefix": "10.0.0.0/8", "direction": "ingress", "excluded": False},
        {"metering_label_id": "l", "remote_ip_prefix": "10.0.0.0/9"}, None),
    "FlowClassifier": (
        "flow_classifier", {"logical_source_port": "port", "source_port_range_min": 1},
        {"name": NAME, "ethertype": "IPv4", "logical_source_port": PORT, "source_port_range_min": 1},
        {"logical_source_port": PORT, "source_port_range_min": 1, "description": "d"}, {"description": "d"}),
    "PortPair": (
        "port_pair", {"ingress": "port", "egress": "other"},
        {"name": NAME, "ingress": PORT, "egress": OTHER, "service_function_parameters": {"correlation": None}},
        {"ingress": "port", "egress": "port"}, None),
    "PortPairGroup": (
        "port_pair_group", {"port_pairs": ["pair"]}, {"name": NAME, "port_pairs": [PAIR]},
        {"port_pairs": []}, {"port_pairs": []}),
    "PortChain": (
        "port_chain", {"port_pair_groups": ["group"], "flow_classifiers": [CLASSIFIER], "name": "c"},
        {"name": "c", "port_pair_groups": [GROUP], "flow_classifiers": [CLASSIFIER],
         "chain_parameters": {"correlation": "mpls"}},
        {"port_pair_groups": ["group"]}, {"name": NAME, "flow_classifiers": []}),
    "TaaS::TapService": (
        "tap_service", {"port": "port"}, {"name": "", "description": "", "port_id": PORT},
        {"port": "port", "name": "t"}, {"name": "t"}),
    "TaaS::TapFlow": (
        "tap_flow", {"port": "port", "tap_service": "tap", "vlan_filter": "1,3-5"},
        {"name": "", "description": "", "source_port": PORT, "tap_service_id": TAP, "direction": "BOTH",
         "vlan_filter": "1,3-5"},
        {"port": "port", "tap_service": "tap", "vlan_filter": "7"}, None),
    "L2Gateway": (
        "l2_gateway", {"name": "g", "devices": [DEVICE]}, {"name": "g", "devices": [DEVICE]},
        {"name": "h", "devices": [{**DEVICE, "interfaces": [{"name": "j", "segmentation_id": [7]}]}]},
        {"name": "h", "devices": [{**DEVICE, "interfaces": [{"name": "j", "segmentation_id": [7]}]}]}),
    "L2GatewayConnection": (
        "l2_gateway_connection", {"l2_gateway_id": "g", "network_id": NET, "segmentation_id": "7"},
        {"l2_gateway_id": "g", "network_id": NET, "segmentation_id": "7"},
        {"l2_gateway_id": "g", "network_id": NET}, None),
}  # fmt: skip


@pytest.fixture
def objects(extended: Extended) -> Extended:
    """What the types of the table refer to."""
    neutron = extended.neutron
    neutron.networks.add(NET, name="net")
    neutron.subnets.add(SUBNET, name="subnet", network_id=NET, cidr="10.0.0.0/24", gateway_ip="10.0.0.1")
    neutron.routers.add(ROUTER, name="router")
    for port, name in ((PORT, "port"), (OTHER, "other")):
        neutron.ports.add(port, name=name, network_id=NET, fixed_ips=[], security_groups=[])
    for key, id_, name in (("port_pair", PAIR, "pair"), ("port_pair_group", GROUP, "group"),
                           ("flow_classifier", CLASSIFIER, "classifier"), ("tap_service", TAP, "tap")):  # fmt: skip
        extended.kinds[key].add(id_, name=name)
    return extended


def named(resource: Any, body: dict[str, Any]) -> dict[str, Any]:
    return {key: NAME if value == resource.physical_resource_name() else value for key, value in body.items()}


@pytest.mark.parametrize("kind", LIVES)
def test_a_life(objects: Extended, kind: str) -> None:
    key, before, creation, after, update = LIVES[kind]
    path = PATHS[key]
    resource = objects.create(kind, **before)
    [(request, body)] = objects.sent()
    assert request == f"POST /{path}" and named(resource, body[key]) == creation
    assert resource.FnGetRefId() == resource.resource_id in objects.kinds[key].objects
    if update is None:
        with pytest.raises(UpdateReplace):
            objects.update(resource, **after)
    else:
        objects.update(resource, **after)
        [(request, body)] = objects.sent()
        assert request == f"PUT /{path}/{resource.resource_id}" and named(resource, body[key]) == update
    assert objects.check(resource) == ""
    objects.delete(resource)
    assert objects.sent() == [(f"DELETE /{path}/{resource.resource_id}", None)]
    assert resource.resource_id not in objects.kinds[key].objects


@pytest.mark.parametrize("kind", LIVES)
def test_the_object_is_gone_before_it_is_deleted(objects: Extended, kind: str) -> None:
    resource = objects.create(kind, **LIVES[kind][1])
    del objects.kinds[LIVES[kind][0]].objects[resource.resource_id]
    assert "could not be found" in objects.check(resource)
    objects.delete(resource)


@pytest.mark.parametrize("kind", [kind for kind, life in LIVES.items() if "name" in life[2]])
def test_a_creation_without_an_answer(objects: Extended, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object is found by its name, and there is one."""
    monkeypatch.setattr(kit, "LOOK_PAUSE", 0.01)
    key, before, *_rest = LIVES[kind]
    objects.neutron.fault("POST", f"/v2.0/{PATHS[key]}", cut=True, after=True)
    there = set(objects.kinds[key].objects)
    resource = objects.create(kind, **before)
    assert set(objects.kinds[key].objects) - there == {resource.resource_id}


@pytest.mark.parametrize("kind", [kind for kind in LIVES if kind not in (
    "MeteringLabel", "MeteringRule", "FlowClassifier", "PortPair")])  # fmt: skip
def test_the_extension_is_missing(objects: Extended, kind: str) -> None:
    objects.neutron.extensions.clear()
    with pytest.raises(exceptions.ResourceTypeUnavailable, match="Required extension .* in neutron service"):
        objects.make(kind, **LIVES[kind][1]).validate()


def failed(objects: Extended, kind: str) -> str:
    """The reason of a creation that failed."""
    resource = objects.make(kind, **LIVES[kind][1])
    with pytest.raises(exceptions.ResourceFailure) as caught:
        drive(lifecycle.create(resource), resource)
    assert resource.state == ("CREATE", "FAILED") and resource.resource_id
    return str(caught.value)


STATES = {
    "Firewall": ("Error in Firewall", "Firewall creation failed"),
    "VPNService": ("Error in VPNService", "VPNService creation failed"),
    "IPsecSiteConnection": ("Error in IPsecSiteConnection", "IPsecSiteConnection creation failed"),
}


@pytest.mark.parametrize("kind", STATES)
def test_states_that_are_wrong(objects: Extended, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "retry_limit", lambda: 0)
    error, unknown = STATES[kind]
    objects.kinds[LIVES[kind][0]].states = ("ERROR",)
    assert f'Went to status ERROR due to "{error}"' in failed(objects, kind)
    objects.kinds[LIVES[kind][0]].states = ("SULKING",)
    assert f"{unknown} - Unknown status SULKING" in failed(objects, kind)


@pytest.mark.parametrize(("kind", "states"), [
    ("Firewall", ("PENDING_CREATE", "INACTIVE")), ("VPNService", ("PENDING_CREATE",)),
    ("TaaS::TapService", ("DOWN", "PENDING_CREATE", "ACTIVE"))])  # fmt: skip
def test_states_that_will_do(objects: Extended, kind: str, states: tuple[str, ...]) -> None:
    """Of a VPN service nothing comes before its first connection."""
    objects.kinds[LIVES[kind][0]].states = states
    resource = objects.create(kind, **LIVES[kind][1])
    assert objects.kinds[LIVES[kind][0]].objects[resource.resource_id]["status"] == states[-1]


@pytest.mark.parametrize("kind", ["VPNService", "IPsecSiteConnection", "Firewall"])
def test_a_check_minds_errors_only(objects: Extended, kind: str) -> None:
    """A peer that is away is no reason to make the connection anew."""
    resource = objects.create(kind, **LIVES[kind][1])
    shown = objects.kinds[LIVES[kind][0]].objects[resource.resource_id]
    shown["status"] = "DOWN"
    assert objects.check(resource) == ""
    shown["status"] = "ERROR"
    assert "'status': expected 'ACTIVE', got 'ERROR'" in objects.check(resource)


@pytest.mark.parametrize("kind", ["TaaS::TapService", "TaaS::TapFlow"])
@pytest.mark.parametrize("back", ["ACTIVE", "ERROR"])
def test_a_tap_that_forgot_that_it_was_deleted(objects: Extended, kind: str, back: str) -> None:
    key, before, *_rest = LIVES[kind]
    resource = objects.create(kind, **before)
    objects.sent()
    path, forgotten = f"/v2.0/{PATHS[key]}/{resource.resource_id}", []

    def forget(request: Request) -> tuple[int, Any]:
        if forgotten:
            return objects.kinds[key].delete(request, str(resource.resource_id))
        forgotten.append(request)
        objects.kinds[key].objects[resource.resource_id]["status"] = back
        return 204, None

    objects.neutron.route("DELETE", path, forget)
    objects.delete(resource)
    assert objects.neutron.count("DELETE", path) == 2
    assert resource.resource_id not in objects.kinds[key].objects


@pytest.mark.parametrize("kind", ["IKEPolicy", "IPsecPolicy"])
def test_the_hash_that_nobody_gave(objects: Extended, kind: str) -> None:
    """It is one that the service has."""
    objects.neutron.extensions.add("vpn-no-sha1-3des")
    kinds = objects.kinds[LIVES[kind][0]].objects
    assert kinds[objects.create(kind).resource_id]["auth_algorithm"] == "sha256"
    assert kinds[objects.create(kind, auth_algorithm="sha512").resource_id]["auth_algorithm"] == "sha512"
    assert kinds[objects.create(kind, auth_algorithm="sha1").resource_id]["auth_algorithm"] == "sha1"


def test_the_hash_is_not_given_any_more(objects: Extended) -> None:
    objects.neutron.extensions.add("vpn-no-sha1-3des")
    resource = objects.create("IKEPolicy", auth_algorithm="sha512")
    objects.update(resource)
    assert objects.kinds["ikepolicy"].objects[resource.resource_id]["auth_algorithm"] == "sha256"


def test_shared_is_no_attribute_of_a_firewall(objects: Extended) -> None:
    resource = objects.create("Firewall", firewall_policy_id="p")
    text = "This attribute is currently unsupported in neutron firewall resource."
    assert resource.FnGetAtt("shared") == text
    assert resource.FnGetAtt("status") == "ACTIVE"


@pytest.mark.parametrize(("kind", "live", "seen"), [
    ("FirewallRule", {"protocol": None, "destination_port": "80", "source_port": "1"}, {}),
    ("FirewallRule", {"protocol": "tcp", "destination_port": "81"}, {"protocol": "tcp", "destination_port": "81"}),
    ("Firewall", {"shared": True, "firewall_policy_id": "q"}, {"firewall_policy_id": "q", "value_specs": {}}),
])  # fmt: skip
def test_live_state(objects: Extended, kind: str, live: dict[str, Any], seen: dict[str, Any]) -> None:
    """Null is any protocol; whether a firewall is shared the service does not tell."""
    resource = objects.make(kind, **LIVES[kind][1])
    assert resource.parse_live_resource_data(resource.properties, live) == seen


def test_a_rule_that_lost_its_protocol(objects: Extended) -> None:
    resource = objects.make("FirewallRule", protocol="tcp")
    assert resource.parse_live_resource_data(resource.properties, {"protocol": None}) == {"protocol": "any"}


GONE = ["HealthMonitor", "LoadBalancer", "Pool", "PoolMember", *(f"LBaaS::{name}" for name in (
    "HealthMonitor", "L7Policy", "L7Rule", "Listener", "LoadBalancer", "Pool", "PoolMember"))]  # fmt: skip


@pytest.mark.parametrize("kind", GONE)
def test_load_balancing_is_gone(objects: Extended, kind: str) -> None:
    """What names these types keeps working: they take any property, and do nothing."""
    resource = objects.create(kind, whatever={"it": "was"})
    assert resource.is_hidden() and resource.FnGetAtt("vip") is None
    objects.delete(resource)
    assert objects.sent() == [] and objects.asked() == []
