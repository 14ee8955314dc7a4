# SPDX-License-Identifier: Apache-2.0
"""Networks and what is on them, as Heat 27.0.1 makes them with the same Neutron."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.api import Stack
from tests.fixtures.comparison import Both
from tests.functional.cloud.conftest import Deploy, Services

pytestmark = [pytest.mark.cloud, pytest.mark.keystone, pytest.mark.services]

#: The external network of the test bed.
PUBLIC = "public"


def own(name: str) -> dict[str, str]:
    return {"get_resource": name}


def attr(name: str, *path: Any) -> dict[str, list[Any]]:
    return {"get_attr": [name, *path]}


def neutron(kind: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": f"OS::Neutron::{kind}", "properties": properties}


def hot(resources: dict[str, Any], **outputs: Any) -> dict[str, Any]:
    """A template that shows all of its resources, and more."""
    shown = {f"{name} shows": {"value": attr(name, "show")} for name in resources if name not in WITHOUT_SHOW}
    references = {f"{name} is": {"value": own(name)} for name in resources}
    more = {name.replace("_", " "): {"value": value} for name, value in outputs.items()}
    return {"heat_template_version": "2018-08-31", "resources": resources, "outputs": {**shown, **references, **more}}


#: Of these Heat 27.0.1 cannot show anything: the output is an error.
WITHOUT_SHOW = {"interface", "association", "route", "routes", "gateway", "quota", "forwarding", "segment"}


def changed(resources: dict[str, Any], **changes: dict[str, Any]) -> dict[str, Any]:
    """The resources with other properties; None takes one away."""
    made: dict[str, Any] = json.loads(json.dumps(resources))
    for name, properties in changes.items():
        merged = {**made[name]["properties"], **properties}
        made[name]["properties"] = {key: value for key, value in merged.items() if value is not None}
    return made


PRIVATE = {
    "net": neutron("Net", tags=["blue"], value_specs={"mtu": 1400}),
    "subnet": neutron("Subnet", network=own("net"), cidr="10.20.0.0/16", dns_nameservers=["10.20.0.2"],
                      allocation_pools=[{"start": "10.20.1.0", "end": "10.20.200.200"}], tags=["blue"]),
    "separate": neutron("Net", port_security_enabled=False),
    "second": neutron("Subnet", network=own("separate"), cidr="10.21.0.0/16", gateway_ip="", enable_dhcp=False,
                      allocation_pools=[{"start": "10.21.1.0", "end": "10.21.200.200"}]),
    "sixth": neutron("Subnet", network=own("net"), ip_version=6, cidr="fd00:20::/64", ipv6_ra_mode="slaac",
                     ipv6_address_mode="slaac"),
    "group": neutron("SecurityGroup", description="first", rules=[
        {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "10.0.0.0/8"},
        {"protocol": "icmp", "description": "pings"}, {"remote_mode": "remote_group_id"}]),
    "rule": neutron("SecurityGroupRule", security_group=own("group"), protocol="udp", port_range_min=53,
                    port_range_max=53, description="names"),
    "port": neutron("Port", network=own("net"), security_groups=[own("group")], tags=["blue"],
                    fixed_ips=[{"subnet": own("subnet"), "ip_address": "10.20.0.50"}],
                    allowed_address_pairs=[{"ip_address": "10.20.0.60"}]),
    "moved": neutron("Port", network=own("net"), fixed_ips=[{"subnet": own("subnet"), "ip_address": "10.20.0.70"}]),
    "any": neutron("Port", network=own("net"), name="any port", admin_state_up=False),
    "bare": neutron("Port", network=own("net"), no_fixed_ips=True, security_groups=[], port_security_enabled=False),
    "router": neutron("Router", external_gateway_info={"network": PUBLIC}, tags=["blue"]),
    "interface": neutron("RouterInterface", router=own("router"), subnet=own("subnet")),
    "floating": neutron("FloatingIP", floating_network=PUBLIC, port_id=own("port")),
    "other": neutron("FloatingIP", floating_network=PUBLIC),
    "association": neutron("FloatingIPAssociation", floatingip_id=own("other"), port_id=own("connected")),
    "connected": neutron("Port", network=own("net"), fixed_ips=[{"subnet": own("subnet")}]),
    "parent": neutron("Port", network=own("net")),
    "child": neutron("Port", network=own("net")),
    "grandchild": neutron("Port", network=own("net")),
    "trunk": neutron("Trunk", port=own("parent"), sub_ports=[
        {"port": own("child"), "segmentation_type": "vlan", "segmentation_id": 5}]),
}  # fmt: skip
PRIVATE_OUTPUTS = {
    "addresses": attr("port", "fixed_ips", 0, "ip_address"), "port_subnets": attr("port", "subnets"),
    "port_network": attr("port", "network", "mtu"), "net_subnets": attr("net", "subnets"),
    "net_segments": attr("net", "segments", 0, "network_type"),
    "floating_address": attr("floating", "fixed_ip_address"), "trunk_port": attr("trunk", "port_id"),
    "cidr": attr("subnet", "cidr"), "no_gateway": attr("second", "gateway_ip"),
}  # fmt: skip

#: Names in the DNS are made of addresses; and our floating IPs are described by the name that they would have.
IGNORED = {
    "*dns_assignment.*",
    "outputs.floating shows.description",
    "outputs.other shows.description",
    "floating.description",
    "other.description",
    "outputs.association is",
}


def test_a_project_with_networks(both: Both) -> None:
    pair = both.create(hot(PRIVATE, **PRIVATE_OUTPUTS)).compare(ignore=IGNORED)
    after = changed(
        PRIVATE,
        net={"name": "renamed", "tags": ["red", "green"], "value_specs": {"mtu": 1300}, "admin_state_up": False},
        subnet={"dns_nameservers": None, "enable_dhcp": False, "tags": None, "gateway_ip": "10.20.0.1",
                "host_routes": [{"destination": "10.9.0.0/24", "nexthop": "10.20.0.9"}], "name": "renamed"},
        second={"gateway_ip": "10.21.0.1", "enable_dhcp": True},
        group={"description": "second", "rules": [
            {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "10.0.0.0/8"},
            {"direction": "egress", "protocol": "tcp", "port_range_min": 80, "port_range_max": 80}]},
        rule={"port_range_max": 54},
        port={"security_groups": None, "allowed_address_pairs": None, "name": "renamed",
              "tags": ["red"]},
        moved={"fixed_ips": [{"subnet": own("subnet"), "ip_address": "10.20.0.71"}]},
        any={"admin_state_up": True, "name": None, "device_owner": "test:owner"},
        bare={"port_security_enabled": True, "security_groups": [own("group")]},
        router={"name": "renamed", "tags": None, "admin_state_up": False},
        floating={"port_id": None},
        association={"port_id": own("moved"), "fixed_ip_address": "10.20.0.71"},
        trunk={"name": "renamed", "sub_ports": [
            {"port": own("child"), "segmentation_type": "vlan", "segmentation_id": 6},
            {"port": own("grandchild"), "segmentation_type": "vlan", "segmentation_id": 7}]},
    )  # fmt: skip
    pair.update(hot(after, **PRIVATE_OUTPUTS)).compare(ignore=IGNORED)
    pair.action("check", "CHECK_COMPLETE").compare(ignore=IGNORED)
    pair.action("suspend", "SUSPEND_COMPLETE").compare(ignore=IGNORED)
    pair.action("resume", "RESUME_COMPLETE").compare(ignore=IGNORED)
    pair.delete()


def route(net: int, by: str = "10.30.0.9") -> dict[str, str]:
    return {"destination": f"10.{net}.0.0/24", "nexthop": by}


OPERATED = {
    "scope": neutron("AddressScope", name="a scope"),
    "pool": neutron("SubnetPool", prefixes=["10.30.0.0/16"], address_scope=own("scope"), default_prefixlen=24,
                    min_prefixlen=20, tags=["blue"]),
    "provider": neutron("ProviderNet", network_type="vxlan", shared=False, tags=["blue"]),
    "external": neutron("ProviderNet", network_type="vxlan", shared=False, router_external=True),
    "outside": neutron("Subnet", network=own("external"), cidr="172.30.0.0/24"),
    "segment": neutron("Segment", network=own("segmented"), network_type="vxlan"),
    "segmented": neutron("Net"),
    "subnet": neutron("Subnet", network=own("provider"), subnetpool=own("pool")),
    "fixed": neutron("Subnet", network=own("inside"), cidr="10.30.0.0/24"),
    "inside": neutron("Net", qos_policy=own("policy")),
    "policy": neutron("QoSPolicy", description="first"),
    "limit": neutron("QoSBandwidthLimitRule", policy=own("policy"), max_kbps=1000, max_burst_kbps=100),
    "mark": neutron("QoSDscpMarkingRule", policy=own("policy"), dscp_mark=10),
    "least": neutron("QoSMinimumBandwidthRule", policy=own("policy"), min_kbps=10),
    "packets": neutron("QoSMinimumPacketRateRule", policy=own("policy"), min_kpps=1),
    "port": neutron("Port", network=own("inside"), qos_policy=own("policy"),
                    fixed_ips=[{"subnet": own("fixed"), "ip_address": "10.30.0.5"}]),
    "router": neutron("Router"),
    "interface": neutron("RouterInterface", router=own("router"), subnet=own("fixed")),
    "gateway": neutron("RouterGateway", router_id=own("router"), network=own("external")),
    "set": neutron("ExtraRouteSet", router=own("router"), routes=[route(41), route(42)]),
    "single": {**neutron("ExtraRoute", router_id=own("router"), **route(40)), "depends_on": "set"},
    "floating": {**neutron("FloatingIP", floating_network=own("external")), "depends_on": ["gateway", "outside"]},
    "forwarding": neutron("FloatingIPPortForward", floating_ip=own("floating"), internal_port=own("port"),
                          internal_ip_address="10.30.0.5", internal_port_number=80, external_port=8080,
                          protocol="tcp"),
    "rbac": neutron("RBACPolicy", object_type="network", object_id=own("inside"), action="access_as_shared",
                    target_tenant=own("project")),
    "project": {"type": "OS::Keystone::Project", "properties": {}},
    "quota": neutron("Quota", project=own("project"), network=5, port=50),
}  # fmt: skip
OPERATED_OUTPUTS = {"rules": attr("policy", "rules"), "segments": attr("provider", "segments", 0, "network_type")}

WITHOUT_SHOW |= {"set", "single"}

#: Of a segment Heat tells what openstacksdk makes of it, of a rule of a policy nothing where a resource is shown.
OPERATED_IGNORED = {
    "segment.location",
    "limit.*",
    "mark.*",
    "least.*",
    "packets.*",
    "outputs.floating shows.description",
    "floating.description",
    "*dns_assignment.*",
    "outputs.quota is",
    "forwarding.*",
    "*provider:segmentation_id",
    "*segmentation_id",
}


def test_what_administrators_make(outside: None, both_as_admin: Both) -> None:
    pair = both_as_admin.create(hot(OPERATED, **OPERATED_OUTPUTS)).compare(ignore=OPERATED_IGNORED)
    after = changed(
        OPERATED,
        scope={"name": None},
        pool={"prefixes": ["10.30.0.0/16", "10.31.0.0/16"], "default_prefixlen": 25, "tags": None, "name": "renamed"},
        provider={"name": "renamed", "shared": True, "tags": ["red"], "port_security_enabled": False},
        segment={"name": "renamed", "description": "second"},
        inside={"qos_policy": None},
        policy={"name": "renamed", "shared": True, "description": "second"},
        limit={"max_kbps": 2000, "direction": "ingress"},
        mark={"dscp_mark": 12},
        least={"min_kbps": 20},
        packets={"min_kpps": 2},
        port={"qos_policy": None},
        set={"routes": [route(42), route(43)]},
        forwarding={"internal_port_number": 81, "external_port": 8081},
        quota={"port": 60, "network": None},
    )  # fmt: skip
    pair.update(hot(after, **OPERATED_OUTPUTS)).compare(ignore=OPERATED_IGNORED)
    pair.action("check", "CHECK_COMPLETE").compare(ignore=OPERATED_IGNORED)
    pair.delete()


#: What is wrong with a template is told in the same words.
REFUSED = {
    "no such network": neutron("Port", network="nobody"),
    "fixed ips and none": neutron("Port", network=PUBLIC, fixed_ips=[{"ip_address": "10.0.0.1"}], no_fixed_ips=True),
    "no address": neutron("Port", network=PUBLIC, fixed_ips=[{"ip_address": "10.0.0"}]),
    "two names of one property": neutron("Port", network=PUBLIC, network_id=PUBLIC),
    "extra fields that are properties": neutron("Net", value_specs={"shared": True}),
    "neither pool nor block": neutron("Subnet", network=PUBLIC),
    "both pool and block": neutron("Subnet", network=PUBLIC, cidr="10.0.0.0/24", subnetpool="nobody"),
    "block and length": neutron("Subnet", network=PUBLIC, cidr="10.0.0.0/24", prefixlen=24),
    "modes of the other version": neutron("Subnet", network=PUBLIC, cidr="10.0.0.0/24", ipv6_ra_mode="slaac"),
    "modes that differ": neutron("Subnet", network=PUBLIC, cidr="fd00::/64", ip_version=6, ipv6_ra_mode="slaac",
                                 ipv6_address_mode="dhcpv6-stateful"),
    "bounds": neutron("SubnetPool", prefixes=["10.0.0.0/8"], min_prefixlen=25, max_prefixlen=24),
    "default above bounds": neutron("SubnetPool", prefixes=["10.0.0.0/8"], default_prefixlen=25, max_prefixlen=24),
    "default below bounds": neutron("SubnetPool", prefixes=["10.0.0.0/8"], default_prefixlen=15, min_prefixlen=16),
    "vlan without network": neutron("Segment", network=PUBLIC, network_type="vlan"),
    "flat with a number": neutron("Segment", network=PUBLIC, network_type="flat", physical_network="p",
                                  segmentation_id=5),
    "tunnel with a network": neutron("Segment", network=PUBLIC, network_type="gre", physical_network="p"),
    "vlan beyond the last": neutron("Segment", network=PUBLIC, network_type="vlan", physical_network="p",
                                    segmentation_id=4095),
    "local with a number": neutron("ProviderNet", network_type="local", segmentation_id="5"),
    "tunnel with a physical network": neutron("ProviderNet", network_type="vxlan", physical_network="p"),
    "two agents": neutron("Router", l3_agent_ids=["a", "b"]),
    "distributed and agents": neutron("Router", distributed=True, l3_agent_ids=["a"]),
    "distributed and available": neutron("Router", distributed=True, ha=True),
    "interface on nothing": neutron("RouterInterface", router="nobody"),
    "the default group": neutron("SecurityGroup", name="default"),
    "no protocol": neutron("SecurityGroup", rules=[{"protocol": "nonsense"}]),
    "group and addresses": neutron("SecurityGroupRule", security_group="default", remote_group="default",
                                   remote_ip_prefix="10.0.0.0/8"),
    "ports the wrong way round": neutron("SecurityGroupRule", security_group="default", port_range_min=2,
                                         port_range_max=1),
    "no such action": neutron("RBACPolicy", object_type="qos_policy", object_id="nobody", target_tenant="*",
                              action="access_as_external"),
    "vlan without a number": neutron("NetworkGateway", devices=[{"id": "d", "interface_name": "e"}], connections=[
        {"network": PUBLIC, "segmentation_type": "vlan"}]),
    "flat with number": neutron("NetworkGateway", devices=[{"id": "d", "interface_name": "e"}], connections=[
        {"network": PUBLIC, "segmentation_id": 5}]),
    "no limits": neutron("Quota", project="admin"),
    "no such mark": neutron("QoSDscpMarkingRule", policy="nobody", dscp_mark=9),
    "a trunk beyond the last": neutron("Trunk", port="nobody", sub_ports=[
        {"port": "nobody", "segmentation_type": "vlan", "segmentation_id": 4095}]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(both_as_admin: Both, case: str) -> None:
    template = {"heat_template_version": "2018-08-31", "resources": {"r": REFUSED[case]}}
    both_as_admin.refused(template)


LIVE = {
    "net": neutron("Net", admin_state_up=True, tags=["blue"]),
    "subnet": neutron("Subnet", network=own("net"), cidr="10.20.0.0/24", dns_nameservers=["10.20.0.2"]),
    "group": neutron("SecurityGroup", rules=[{"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}]),
    "port": neutron("Port", network=own("net"), security_groups=[own("group")],
                    fixed_ips=[{"subnet": own("subnet"), "ip_address": "10.20.0.50"}]),
    "any": neutron("Port", network=own("net"), device_id="something"),
    "router": neutron("Router", external_gateway_info={"network": PUBLIC}),
}  # fmt: skip


def test_drift_is_mended(deploy: Deploy, service: Services) -> None:
    """An update that looks at what there is changes what differs from the template, and nothing else."""
    stack = deploy(hot(LIVE))
    ids = {name: resource["physical_resource_id"] for name, resource in stack.resources().items()}
    stack.update(hot(LIVE), converge=True)
    states = {name: resource["resource_status"] for name, resource in stack.resources().items()}
    assert set(states.values()) == {"CREATE_COMPLETE"}, "nothing differed"

    def change(path: str, key: str, **fields: Any) -> None:
        service.call("PUT", "network", path, {key: fields})

    change(
        f"/v2.0/ports/{ids['port']}",
        "port",
        admin_state_up=False,
        security_groups=[],
        name="renamed",
        fixed_ips=[{"subnet_id": ids["subnet"], "ip_address": "10.20.0.60"}],
    )
    change(f"/v2.0/ports/{ids['any']}", "port", description="by somebody")
    change(f"/v2.0/routers/{ids['router']}", "router", external_gateway_info={})
    service.call("PUT", "network", f"/v2.0/networks/{ids['net']}/tags", {"tags": ["red"]})
    stack.update(hot(LIVE), converge=True)
    states = {name: resource["resource_status"] for name, resource in stack.resources().items()}
    assert {name for name, state in states.items() if state == "UPDATE_COMPLETE"} == {"net", "port", "router"}
    port = service.get("network", f"/v2.0/ports/{ids['port']}")["port"]
    assert (port["admin_state_up"], port["security_groups"]) == (True, [ids["group"]])
    assert [entry["ip_address"] for entry in port["fixed_ips"]] == ["10.20.0.50"]
    assert service.get("network", f"/v2.0/networks/{ids['net']}")["network"]["tags"] == ["blue"]
    router = service.get("network", f"/v2.0/routers/{ids['router']}")["router"]
    assert router["external_gateway_info"]["network_id"]
    assert {name: one["physical_resource_id"] for name, one in stack.resources().items()} == ids

    service.call("DELETE", "network", f"/v2.0/ports/{ids['any']}")
    stack.action("check")
    stack.wait("CHECK_FAILED")
    assert stack.resource("any")["resource_status"] == "CHECK_FAILED"
    stack.update(hot(LIVE))
    assert stack.resource("any")["physical_resource_id"] != ids["any"], "what is gone is made anew"


def test_objects_of_others(deploy: Deploy, service: Services) -> None:
    """``external_id`` names a network that the stack uses and does not delete."""
    made = service.call("POST", "network", "/v2.0/networks", {"network": {"name": "theirs", "admin_state_up": True}})
    net = made["network"]["id"]
    try:
        resources = {
            "net": {"type": "OS::Neutron::Net", "external_id": net},
            "subnet": neutron("Subnet", network=own("net"), cidr="10.20.0.0/24"),
            "port": neutron("Port", network=own("net")),
        }
        stack = deploy(hot(resources, name=attr("net", "name")))
        assert stack.outputs()["name"] == "theirs" and stack.resource("net")["physical_resource_id"] == net
        stack.delete()
        assert service.get("network", f"/v2.0/networks/{net}")["network"]["subnets"] == []
    finally:
        service.call("DELETE", "network", f"/v2.0/networks/{net}")


CONNECTED = {
    "net": neutron("Net"),
    "subnet": neutron("Subnet", network=own("net"), cidr="10.20.0.0/24"),
    "port": neutron("Port", network=own("net"), fixed_ips=[{"subnet": own("subnet")}]),
    "router": neutron("Router", external_gateway_info={"network": PUBLIC}),
    "interface": neutron("RouterInterface", router=own("router"), subnet=own("subnet")),
    "floating": neutron("FloatingIP", floating_network=PUBLIC),
    "association": neutron("FloatingIPAssociation", floatingip_id=own("floating"), port_id=own("port")),
}  # fmt: skip


def test_connections_that_are_gone_are_made_again(deploy: Deploy, service: Services) -> None:
    """A replacement that is the same connection is not undone with what it replaces."""
    stack = deploy(hot(CONNECTED))
    ids = {name: resource["physical_resource_id"] for name, resource in stack.resources().items()}
    floating, router = f"/v2.0/floatingips/{ids['floating']}", f"/v2.0/routers/{ids['router']}"
    service.call("PUT", "network", floating, {"floatingip": {"port_id": None}})
    assert mended(stack) == {"association"}
    assert service.get("network", floating)["floatingip"]["port_id"] == ids["port"]

    service.call("PUT", "network", floating, {"floatingip": {"port_id": None}})
    service.call("PUT", "network", f"{router}/remove_router_interface", {"subnet_id": ids["subnet"]})
    assert mended(stack) == {"interface"}
    interfaces = service.get("network", f"/v2.0/ports?device_id={ids['router']}")["ports"]
    assert "network:router_interface" in {port["device_owner"] for port in interfaces}
    assert mended(stack) == {"association"}, "which was not looked at without the interface that it needs"
    assert service.get("network", floating)["floatingip"]["port_id"] == ids["port"]


def mended(stack: Stack) -> set[str]:
    """What a check finds broken, and the next update makes anew."""
    stack.action("check")
    stack.wait("CHECK_FAILED")
    failed = {name for name, one in stack.resources().items() if one["resource_status"] == "CHECK_FAILED"}
    stack.update(hot(CONNECTED))
    return failed


def test_a_port_with_a_floating_ip_is_replaced(deploy: Deploy, service: Services) -> None:
    """Heat cannot: Neutron does not let the address go that the floating IP leads to."""
    resources = changed(CONNECTED, association={"floatingip_id": own("other")})
    resources["other"] = neutron("FloatingIP", floating_network=PUBLIC)
    resources["floating"]["properties"]["port_id"] = own("port")
    resources["association"]["properties"]["port_id"] = own("second")
    resources["second"] = neutron("Port", network=own("net"), fixed_ips=[{"subnet": own("subnet")}])
    stack = deploy(hot(resources))
    before = {name: one["physical_resource_id"] for name, one in stack.resources().items()}
    stack.update(
        hot(changed(resources, port={"mac_address": "fa:16:3e:00:20:01"}, second={"mac_address": "fa:16:3e:00:20:02"}))
    )
    after = {name: one["physical_resource_id"] for name, one in stack.resources().items()}
    assert {name for name in before if before[name] != after[name]} == {"port", "second"}
    for floating, port in (("floating", "port"), ("other", "second")):
        shown = service.get("network", f"/v2.0/floatingips/{after[floating]}")["floatingip"]
        assert shown["port_id"] == after[port]
