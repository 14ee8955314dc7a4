# SPDX-License-Identifier: Apache-2.0
"""What each type asks of the service when it is made, changed and deleted; nothing more, and in this order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.resources.neutron.conftest import World

Sent = list[tuple[str, Any]]

NET, SUBNET, ROUTER, PORT, OTHER, POLICY, GROUP, POOL, FIP = (
    f"00000000-0000-4000-8000-00000000000{digit}" for digit in range(1, 10)
)
SCOPE = "00000000-0000-4000-8000-00000000000a"
NAME = "(the made-up name)"
ID = "(the id)"


@pytest.fixture
def objects(world: World) -> World:
    """What the types of the tables refer to."""
    neutron = world.neutron
    neutron.networks.add(NET, name="net")
    neutron.subnets.add(SUBNET, name="subnet", network_id=NET, cidr="10.0.0.0/24", gateway_ip="10.0.0.1")
    neutron.routers.add(ROUTER, name="router")
    for port in (PORT, OTHER):
        neutron.ports.add(port, name=f"port {port[-1]}", network_id=NET, fixed_ips=[], security_groups=[])
    neutron.policies.add(POLICY, name="policy")
    neutron.groups.add(GROUP, name="group", security_group_rules=[])
    neutron.pools.add(POOL, name="pool")
    neutron.scopes.add(SCOPE, name="scope")
    neutron.floatingips.add(FIP, floating_network_id=NET, floating_ip_address="172.24.0.9")
    return world


def made(path: str, key: str, **body: Any) -> Sent:
    return [(f"POST /{path}", {key: body})]


def changed(path: str, key: str, **body: Any) -> Sent:
    return [(f"PUT /{path}/{ID}", {key: body})]


def gone(path: str) -> Sent:
    return [(f"DELETE /{path}/{ID}", None)]


def tags(path: str, *names: str) -> Sent:
    return [(f"PUT /{path}/{ID}/tags", {"tags": list(names)})]


#: type → properties, requests of the creation, other properties, requests of the update, requests of the deletion
LIVES: dict[str, tuple[dict[str, Any], Sent, dict[str, Any], Sent, Sent]] = {
    "Net": (
        {"qos_policy": "policy", "dns_domain": "example.org.", "tags": ["a"], "dhcp_agent_ids": ["agent-1"],
         "value_specs": {"mtu": 1400}},
        made("networks", "network", name=NAME, admin_state_up=True, shared=False, qos_policy_id=POLICY,
             dns_domain="example.org.", mtu=1400)
        + [("POST /agents/agent-1/dhcp-networks", {"network_id": ID})] + tags("networks", "a"),
        {"name": "mine", "qos_policy": "", "tags": ["b"], "dhcp_agent_ids": ["agent-2"], "dns_domain": "example.org.",
         "value_specs": {"mtu": 1400, "vlan_transparent": True}},
        [("POST /agents/agent-2/dhcp-networks", {"network_id": ID}),
         (f"DELETE /agents/agent-1/dhcp-networks/{ID}", None)] + tags("networks", "b")
        + changed("networks", "network", name="mine", qos_policy_id=None, vlan_transparent=True),
        gone("networks")),
    "ProviderNet": (
        {"network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 101, "router_external": True},
        made("networks", "network", name=NAME, admin_state_up=True, shared=True,
             **{"provider:network_type": "vlan", "provider:physical_network": "physnet1",
                "provider:segmentation_id": "101", "router:external": True}),
        {"network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 102, "shared": False,
         "router_external": False},
        changed("networks", "network", shared=False,
                **{"provider:segmentation_id": "102", "router:external": False}),
        gone("networks")),
    "Subnet": (
        {"network": "net", "cidr": "10.1.0.0/24", "gateway_ip": "", "tags": ["a"],
         "allocation_pools": [{"start": "10.1.0.2", "end": "10.1.0.9"}]},
        made("subnets", "subnet", network_id=NET, cidr="10.1.0.0/24", gateway_ip=None, name=NAME, ip_version=4,
             enable_dhcp=True, dns_nameservers=[], allocation_pools=[{"start": "10.1.0.2", "end": "10.1.0.9"}])
        + tags("subnets", "a"),
        {"network": NET, "cidr": "10.1.0.0/24", "gateway_ip": "10.1.0.1", "enable_dhcp": False,
         "dns_nameservers": ["1.1.1.1"], "host_routes": [{"destination": "10.9.0.0/24", "nexthop": "10.1.0.5"}]},
        tags("subnets") + changed(
            "subnets", "subnet", gateway_ip="10.1.0.1", enable_dhcp=False, dns_nameservers=["1.1.1.1"],
            allocation_pools=[], host_routes=[{"destination": "10.9.0.0/24", "nexthop": "10.1.0.5"}]),
        gone("subnets")),
    "SubnetPool": (
        {"prefixes": ["10.8.0.0/16"], "address_scope": "scope", "min_prefixlen": 20},
        made("subnetpools", "subnetpool", name=NAME, prefixes=["10.8.0.0/16"], address_scope_id=SCOPE,
             min_prefixlen=20, is_default=False, shared=False),
        {"prefixes": ["10.8.0.0/15"], "min_prefixlen": 20, "default_prefixlen": 24, "name": "mine"},
        changed("subnetpools", "subnetpool", prefixes=["10.8.0.0/15"], address_scope_id=None, default_prefixlen=24,
                name="mine"),
        gone("subnetpools")),
    "AddressScope": (
        {"ip_version": 6}, made("address-scopes", "address_scope", name=NAME, shared=False, ip_version=6),
        {"ip_version": 6, "shared": True}, changed("address-scopes", "address_scope", shared=True),
        gone("address-scopes")),
    "Segment": (
        {"network": "net", "network_type": "vxlan", "segmentation_id": 5},
        made("segments", "segment", network_id=NET, network_type="vxlan", segmentation_id=5, name=NAME),
        {"network": "net", "network_type": "vxlan", "segmentation_id": 5, "description": "d"},
        changed("segments", "segment", description="d"),
        gone("segments")),
    "Port": (
        {"network": "net", "fixed_ips": [{"subnet": "subnet", "ip_address": "10.0.0.7"}],
         "security_groups": ["group"], "allowed_address_pairs": [{"ip_address": "10.0.0.8"}], "tags": ["a"],
         "qos_policy": "policy"},
        made("ports", "port", network_id=NET, name=NAME, admin_state_up=True, device_id="", device_owner="",
             fixed_ips=[{"subnet_id": SUBNET, "ip_address": "10.0.0.7"}], security_groups=[GROUP],
             allowed_address_pairs=[{"ip_address": "10.0.0.8"}], qos_policy_id=POLICY,
             **{"binding:vnic_type": "normal"}) + tags("ports", "a"),
        {"network": "net", "fixed_ips": [{"subnet": "subnet", "ip_address": "10.0.0.6"}], "name": "mine",
         "device_id": "d", "tags": ["a"], "dns_name": "host"},
        changed("ports", "port", fixed_ips=[{"subnet_id": SUBNET, "ip_address": "10.0.0.6"}],
                security_groups=["(default group)"], allowed_address_pairs=[], name="mine", device_id="d",
                qos_policy_id=None, dns_name="host"),
        gone("ports")),
    "Trunk": (
        {"port": PORT, "sub_ports": [{"port": OTHER, "segmentation_type": "vlan", "segmentation_id": 5}]},
        made("trunks", "trunk", name=NAME, port_id=PORT,
             sub_ports=[{"port_id": OTHER, "segmentation_type": "vlan", "segmentation_id": 5}]),
        {"port": PORT, "description": "d",
         "sub_ports": [{"port": OTHER, "segmentation_type": "vlan", "segmentation_id": 6}]},
        changed("trunks", "trunk", description="d")
        + [(f"PUT /trunks/{ID}/remove_subports", {"sub_ports": [{"port_id": OTHER}]}),
           (f"PUT /trunks/{ID}/add_subports",
            {"sub_ports": [{"port_id": OTHER, "segmentation_type": "vlan", "segmentation_id": 6}]})],
        gone("trunks")),
    "Router": (
        {"external_gateway_info": {"network": "net", "external_fixed_ips": [{"subnet": "subnet"}]}, "ha": True,
         "l3_agent_ids": ["agent-1", "agent-2"], "tags": ["a"]},
        made("routers", "router", name=NAME, admin_state_up=True, ha=True, external_gateway_info={
            "network_id": NET, "external_fixed_ips": [{"subnet_id": SUBNET}]})
        + [(f"POST /agents/agent-{number}/l3-routers", {"router_id": ID}) for number in (1, 2)]
        + tags("routers", "a"),
        {"ha": True, "l3_agent_ids": ["agent-2", "agent-3"], "tags": ["a"], "admin_state_up": False},
        [(f"DELETE /agents/agent-1/l3-routers/{ID}", None), ("POST /agents/agent-3/l3-routers", {"router_id": ID})]
        + changed("routers", "router", external_gateway_info=None, admin_state_up=False),
        gone("routers")),
    "FloatingIP": (
        {"floating_network": "net", "floating_subnet": "subnet", "port_id": PORT, "dns_name": "host"},
        made("floatingips", "floatingip", floating_network_id=NET, subnet_id=SUBNET, port_id=PORT, dns_name="host"),
        {"floating_network": "net", "floating_subnet": "subnet", "port_id": OTHER, "fixed_ip_address": "10.0.0.9",
         "dns_name": "host"},
        changed("floatingips", "floatingip", port_id=OTHER, fixed_ip_address="10.0.0.9"),
        gone("floatingips")),
    "FloatingIPPortForward": (
        {"floating_ip": "172.24.0.9", "internal_ip_address": "10.0.0.7", "internal_port_number": 80,
         "external_port": 8080, "internal_port": PORT, "protocol": "tcp"},
        made(f"floatingips/{FIP}/port_forwardings", "port_forwarding", internal_ip_address="10.0.0.7",
             internal_port=80, external_port=8080, internal_port_id=PORT, protocol="tcp"),
        {"floating_ip": FIP, "internal_ip_address": "10.0.0.8", "internal_port_number": 81, "external_port": 8080,
         "internal_port": OTHER, "protocol": "tcp"},
        changed(f"floatingips/{FIP}/port_forwardings", "port_forwarding", internal_ip_address="10.0.0.8",
                internal_port=81, internal_port_id=OTHER),
        gone(f"floatingips/{FIP}/port_forwardings")),
    "SecurityGroupRule": (
        {"security_group": "group", "port_range_min": 22, "port_range_max": 22, "remote_group": "group"},
        made("security-group-rules", "security_group_rule", security_group_id=GROUP, direction="ingress",
             ethertype="IPv4", protocol="tcp", port_range_min="22", port_range_max="22", remote_group_id=GROUP),
        {}, [], gone("security-group-rules")),
    "RBACPolicy": (
        {"object_type": "qos_policy", "object_id": "policy", "action": "access_as_shared", "target_tenant": "p1"},
        made("rbac-policies", "rbac_policy", object_type="qos_policy", object_id=POLICY, action="access_as_shared",
             target_tenant="p1"),
        {"object_type": "qos_policy", "object_id": "policy", "action": "access_as_shared", "target_tenant": "p2"},
        changed("rbac-policies", "rbac_policy", target_tenant="p2"),
        gone("rbac-policies")),
    "QoSPolicy": (
        {"description": "d"}, made("qos/policies", "policy", name=NAME, description="d", shared=False),
        {"shared": True, "name": "mine"},
        changed("qos/policies", "policy", description="", shared=True, name="mine"),
        gone("qos/policies")),
    "QoSBandwidthLimitRule": (
        {"policy": "policy", "max_kbps": 10},
        made(f"qos/policies/{POLICY}/bandwidth_limit_rules", "bandwidth_limit_rule", max_kbps=10, max_burst_kbps=0,
             direction="egress"),
        {"policy": "policy", "max_kbps": 20},
        changed(f"qos/policies/{POLICY}/bandwidth_limit_rules", "bandwidth_limit_rule", max_kbps=20),
        gone(f"qos/policies/{POLICY}/bandwidth_limit_rules")),
    "QoSDscpMarkingRule": (
        {"policy": "policy", "dscp_mark": 24},
        made(f"qos/policies/{POLICY}/dscp_marking_rules", "dscp_marking_rule", dscp_mark=24),
        {"policy": "policy", "dscp_mark": 26},
        changed(f"qos/policies/{POLICY}/dscp_marking_rules", "dscp_marking_rule", dscp_mark=26),
        gone(f"qos/policies/{POLICY}/dscp_marking_rules")),
    "QoSMinimumBandwidthRule": (
        {"policy": "policy", "min_kbps": 10},
        made(f"qos/policies/{POLICY}/minimum_bandwidth_rules", "minimum_bandwidth_rule", min_kbps=10,
             direction="egress"),
        {"policy": "policy", "min_kbps": 10, "direction": "ingress"},
        changed(f"qos/policies/{POLICY}/minimum_bandwidth_rules", "minimum_bandwidth_rule", direction="ingress"),
        gone(f"qos/policies/{POLICY}/minimum_bandwidth_rules")),
    "QoSMinimumPacketRateRule": (
        {"policy": "policy", "min_kpps": 10, "direction": "any"},
        made(f"qos/policies/{POLICY}/minimum_packet_rate_rules", "minimum_packet_rate_rule", min_kpps=10,
             direction="any"),
        {"policy": "policy", "min_kpps": 11, "direction": "any"},
        changed(f"qos/policies/{POLICY}/minimum_packet_rate_rules", "minimum_packet_rate_rule", min_kpps=11),
        gone(f"qos/policies/{POLICY}/minimum_packet_rate_rules")),
    "NetworkGateway": (
        {"devices": [{"id": "d", "interface_name": "eth0"}],
         "connections": [{"network": "net", "segmentation_type": "vlan", "segmentation_id": 7}]},
        made("network-gateways", "network_gateway", name=NAME, devices=[{"id": "d", "interface_name": "eth0"}])
        + [(f"PUT /network-gateways/{ID}/connect_network",
            {"network_id": NET, "segmentation_type": "vlan", "segmentation_id": 7})],
        {"name": "mine", "devices": [{"id": "d", "interface_name": "eth0"}],
         "connections": [{"network": "net", "segmentation_type": "vlan", "segmentation_id": 8}]},
        changed("network-gateways", "network_gateway", name="mine")
        + [(f"PUT /network-gateways/{ID}/disconnect_network",
            {"network_id": NET, "segmentation_type": "vlan", "segmentation_id": 7}),
           (f"PUT /network-gateways/{ID}/connect_network",
            {"network_id": NET, "segmentation_type": "vlan", "segmentation_id": 8})],
        [(f"PUT /network-gateways/{ID}/disconnect_network",
          {"network_id": NET, "segmentation_type": "vlan", "segmentation_id": 8})] + gone("network-gateways")),
    "RouterInterface": (
        {"router": "router", "subnet": "subnet"},
        [(f"PUT /routers/{ROUTER}/add_router_interface", {"subnet_id": SUBNET})],
        {}, [],
        [(f"PUT /routers/{ROUTER}/remove_router_interface", {"subnet_id": SUBNET})]),
    "RouterGateway": (
        {"router_id": ROUTER, "network": "net"},
        [(f"PUT /routers/{ROUTER}", {"router": {"external_gateway_info": {"network_id": NET}}})],
        {}, [],
        [(f"PUT /routers/{ROUTER}", {"router": {"external_gateway_info": {}}})]),
    "ExtraRoute": (
        {"router_id": ROUTER, "destination": "10.7.0.0/24", "nexthop": "10.0.0.5"},
        [(f"PUT /routers/{ROUTER}", {"router": {"routes": [{"destination": "10.7.0.0/24", "nexthop": "10.0.0.5"}]}})],
        {}, [],
        [(f"PUT /routers/{ROUTER}", {"router": {"routes": []}})]),
    "ExtraRouteSet": (
        {"router": ROUTER, "routes": [{"destination": f"10.{net}.0.0/24", "nexthop": "10.0.0.5"} for net in (5, 6)]},
        [(f"PUT /routers/{ROUTER}/add_extraroutes", {"router": {"routes": [
            {"destination": f"10.{net}.0.0/24", "nexthop": "10.0.0.5"} for net in (5, 6)]}})],
        {"router": ROUTER, "routes": [{"destination": f"10.{net}.0.0/24", "nexthop": "10.0.0.5"} for net in (6, 7)]},
        [(f"PUT /routers/{ROUTER}/remove_extraroutes", {"router": {"routes": [
            {"destination": "10.5.0.0/24", "nexthop": "10.0.0.5"}]}}),
         (f"PUT /routers/{ROUTER}/add_extraroutes", {"router": {"routes": [
             {"destination": "10.7.0.0/24", "nexthop": "10.0.0.5"}]}})],
        [(f"PUT /routers/{ROUTER}/remove_extraroutes", {"router": {"routes": [
            {"destination": f"10.{net}.0.0/24", "nexthop": "10.0.0.5"} for net in (6, 7)]}})]),
    "FloatingIPAssociation": (
        {"floatingip_id": FIP, "port_id": PORT},
        [(f"PUT /floatingips/{FIP}", {"floatingip": {"port_id": PORT}})],
        {"floatingip_id": FIP, "port_id": OTHER, "fixed_ip_address": "10.0.0.8"},
        [(f"PUT /floatingips/{FIP}", {"floatingip": {"port_id": OTHER, "fixed_ip_address": "10.0.0.8"}})],
        [(f"PUT /floatingips/{FIP}", {"floatingip": {"port_id": None}})]),
}  # fmt: skip


def plain(world: World, resource: Any, requests: Sent) -> Sent:
    """Requests with words in place of what is made up."""
    words = {
        str(resource.resource_id): ID,
        resource.physical_resource_name(): NAME,
        world.neutron.default_group["id"]: "(default group)",
    }
    for known in (NET, SUBNET, ROUTER, PORT, OTHER, POLICY, GROUP, POOL, FIP, SCOPE):
        words.pop(known, None)

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replaced(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [replaced(entry) for entry in value]
        return words.get(value, value) if isinstance(value, str) else value

    def in_path(text: str) -> str:
        return "/".join(words.get(part, part) for part in text.split("/"))

    return [(in_path(request), replaced(body)) for request, body in requests]


@pytest.mark.parametrize("kind", LIVES)
def test_requests_of_a_life(objects: World, kind: str) -> None:
    before, creation, after, update, deletion = LIVES[kind]
    resource = objects.create(kind, **before)
    assert plain(objects, resource, objects.sent()) == creation
    if after:
        objects.update(resource, **after)
        assert plain(objects, resource, objects.sent()) == update
    assert objects.check(resource) == ""
    assert objects.sent() == []
    objects.delete(resource)
    assert plain(objects, resource, objects.sent()) == deletion


REFERENCES: dict[str, Callable[[Any], Any]] = {
    "RouterInterface": lambda resource: f"{ROUTER}:subnet_id={SUBNET}",
    "RouterGateway": lambda resource: f"{ROUTER}:{NET}",
    "ExtraRoute": lambda resource: f"{ROUTER}:10.7.0.0/24:10.0.0.5",
    "ExtraRouteSet": lambda resource: ROUTER,
    "FloatingIPAssociation": lambda resource: str(resource.id),
}


@pytest.mark.parametrize("kind", REFERENCES)
def test_references_of_what_is_no_object(objects: World, kind: str) -> None:
    resource = objects.create(kind, **LIVES[kind][0])
    assert resource.FnGetRefId() == resource.resource_id == REFERENCES[kind](resource)


@pytest.mark.parametrize("kind", [kind for kind in LIVES if kind not in REFERENCES])
def test_the_object_is_gone_before_it_is_deleted(objects: World, kind: str) -> None:
    resource = objects.create(kind, **LIVES[kind][0])
    objects.neutron.fault("DELETE", ".*", status=404, kind="NotFound")
    objects.delete(resource)


@pytest.mark.parametrize("kind", LIVES)
def test_a_check_finds_out_that_it_is_gone(objects: World, kind: str) -> None:
    resource = objects.create(kind, **LIVES[kind][0])
    neutron = objects.neutron
    for collection in (*neutron.collections, *neutron.forwardings.values(), *neutron.qos_rules.values()):
        collection.objects.clear()
    assert "NotFound" in objects.check(resource) or "could not be found" in objects.check(resource)
    assert resource.needs_replace_failed()
