# SPDX-License-Identifier: Apache-2.0
"""The types of AWS::EC2 that are made of networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients import neutron as neutron_client, polling, rest
from openkeel_heat.clients.error_tests import ErrorTests
from openkeel_heat.clients.errors import EntityMatchNotFound
from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit import lifecycle
from tests.fixtures.fake_neutron import FakeNeutron
from tests.fixtures.rest_server import FakeCloud
from tests.unit.conftest import Option
from tests.unit.resources.fakes import Driver, drive, replace


@pytest.fixture
def neutron() -> Iterator[FakeNeutron]:
    neutron_client.forget_recent()
    with FakeNeutron() as running:
        yield running


class Land:
    """A stack whose resources are made in the order in which the template names them."""

    def __init__(self, cloud: FakeCloud) -> None:
        self.cloud = cloud
        self.stack: Any = None

    def template(self, **resources: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        typed = {name: {"Type": f"AWS::EC2::{kind}", "Properties": props} for name, (kind, props) in resources.items()}
        return {"HeatTemplateFormatVersion": "2012-12-12", "Resources": typed}

    def create(self, **resources: tuple[str, dict[str, Any]]) -> Any:
        self.stack = self.cloud.stack(self.template(**resources))
        self.stack.stored_resource = self.stack.__getitem__
        for name in resources:
            made = self.stack[name]
            assert drive(lifecycle.create(made), made).short[-1] == "CREATE_COMPLETE"
            self.stack.defn.update_resource_data(name, made.node_data())
        return self.stack

    def update(self, name: str, **props: Any) -> None:
        made = self.stack[name]
        kind = made.type().rpartition("::")[2]
        after = self.cloud.stack(self.template(**{name: (kind, props)})).defn.resource_definition(name)
        drive(lifecycle.update(made, after), made)

    def delete(self) -> None:
        for name in reversed(list(self.stack)):
            drive(lifecycle.delete(self.stack[name]), self.stack[name])


@pytest.fixture
def land(option: Option, neutron: FakeNeutron, monkeypatch: pytest.MonkeyPatch) -> Land:
    monkeypatch.setattr(rest, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(polling, "SPACING", 0.0)
    return Land(FakeCloud(network=neutron))


def ref(name: str) -> dict[str, str]:
    return {"Ref": name}


VPC = {
    "vpc": ("VPC", {"CidrBlock": "10.0.0.0/16"}),
    "subnet": ("Subnet", {"VpcId": ref("vpc"), "CidrBlock": "10.0.1.0/24", "AvailabilityZone": "az"}),
}
TABLE = {
    "table": ("RouteTable", {"VpcId": ref("vpc")}),
    "association": ("SubnetRouteTableAssociation", {"RouteTableId": ref("table"), "SubnetId": ref("subnet")}),
}
GATEWAY = {
    "gateway": ("InternetGateway", {}),
    "attachment": ("VPCGatewayAttachment", {"VpcId": ref("vpc"), "InternetGatewayId": ref("gateway")}),
}


def router_of(neutron: FakeNeutron, subnet: Any) -> list[str]:
    """The routers that connect a subnet."""
    return [
        port["device_id"]
        for port in neutron.ports.objects.values()
        if port["device_owner"] == "network:router_interface"
        and any(entry["subnet_id"] == subnet.resource_id for entry in port["fixed_ips"])
    ]


def test_a_vpc_is_a_network_and_a_router_of_one_name(land: Land, neutron: FakeNeutron) -> None:
    stack = land.create(**VPC)
    (router,) = neutron.routers.objects.values()
    assert router["name"] == neutron.networks.objects[stack["vpc"].resource_id]["name"]
    assert router_of(neutron, stack["subnet"]) == [router["id"]]
    subnet = neutron.subnets.objects[stack["subnet"].resource_id]
    assert (subnet["cidr"], subnet["ip_version"]) == ("10.0.1.0/24", 4)
    assert stack["subnet"].FnGetAtt("AvailabilityZone") == "az" and stack["vpc"].FnGetAtt("show") is None
    land.delete()
    assert not (neutron.routers.objects or neutron.networks.objects or neutron.subnets.objects)


def test_a_route_table_takes_the_place_of_the_router(land: Land, neutron: FakeNeutron) -> None:
    stack = land.create(**VPC, **TABLE)
    assert router_of(neutron, stack["subnet"]) == [stack["table"].resource_id]
    drive(lifecycle.delete(stack["association"]), stack["association"])
    (default,) = [one for one in neutron.routers.objects if one != stack["table"].resource_id]
    assert router_of(neutron, stack["subnet"]) == [default], "the router of the VPC is back"


def test_an_association_that_an_engine_died_over_is_made_once(land: Land, neutron: FakeNeutron) -> None:
    stack = land.create(**VPC, **TABLE)
    stack["association"].handle_create()
    assert router_of(neutron, stack["subnet"]) == [stack["table"].resource_id]


def test_a_gateway_leads_the_route_tables_outside(land: Land, neutron: FakeNeutron) -> None:
    outside = neutron.networks.add(**{"router:external": True, "name": "public"})
    stack = land.create(**VPC, **TABLE, **GATEWAY)
    table = neutron.routers.objects[stack["table"].resource_id]
    assert table["external_gateway_info"] == {"network_id": outside["id"]}
    drive(lifecycle.delete(stack["attachment"]), stack["attachment"])
    assert not table["external_gateway_info"]


def test_another_gateway_of_the_same_vpc(land: Land, neutron: FakeNeutron) -> None:
    """27.0.1 takes the way outside from the route tables with the attachment that was replaced."""
    outside = neutron.networks.add(**{"router:external": True, "name": "public"})
    stack = land.create(**VPC, **TABLE, **GATEWAY)
    table, attachment = stack["table"], stack["attachment"]
    given = {"VpcId": attachment.properties["VpcId"]}
    after = land.cloud.stack(
        land.template(
            attachment=("VPCGatewayAttachment", {**given, "InternetGatewayId": "other"}), table=TABLE["table"]
        )
    )
    after.stored_resource = stack.stored_resource
    replace(attachment, after, "attachment")
    router = neutron.routers.objects[table.resource_id]
    assert router["external_gateway_info"] == {"network_id": outside["id"]}


def test_another_route_table_of_a_subnet(land: Land, neutron: FakeNeutron) -> None:
    """27.0.1 fails: a subnet has the address of its gateway once."""
    stack = land.create(**VPC, **TABLE, other=("RouteTable", {"VpcId": ref("vpc")}))
    subnet, old = stack["subnet"], stack["association"]
    first, second = stack["table"].resource_id, stack["other"].resource_id
    given = {"RouteTableId": second, "SubnetId": subnet.resource_id}
    new = replace(
        old, land.cloud.stack(land.template(association=("SubnetRouteTableAssociation", given))), "association"
    )
    assert router_of(neutron, subnet) == [second]
    # A rollback goes back to the first one, and deletes the other.
    old.record.action = "UPDATE"
    old.restore_prev_rsrc()
    drive(lifecycle.delete(new), new)
    assert router_of(neutron, subnet) == [first]
    drive(lifecycle.delete(old), old)
    assert first not in router_of(neutron, subnet) and len(router_of(neutron, subnet)) == 1, "that of the VPC"


@pytest.mark.parametrize("networks", [0, 2])
def test_outside_has_to_be_one_network(land: Land, neutron: FakeNeutron, networks: int) -> None:
    for number in range(networks):
        neutron.networks.add(**{"router:external": True, "name": f"public{number}"})
    land.create(**VPC)
    template = land.template(**VPC, a=("VPCGatewayAttachment", {"VpcId": "v"}))
    attachment = land.cloud.stack(template)["a"]
    driver = Driver(lifecycle.create(attachment), attachment)
    with pytest.raises(exceptions.ResourceFailure, match=f"Expected 1 external network, found {networks}"):
        driver.run()


def test_an_attachment_needs_the_route_tables_of_its_vpc(land: Land) -> None:
    stack = land.cloud.stack(land.template(**VPC, **TABLE, **GATEWAY))

    class Edges:
        def __init__(self) -> None:
            self.edges: list[tuple[str, str]] = []

        def __iadd__(self, edge: Any) -> Edges:
            self.edges.append(tuple(one.name for one in edge))
            return self

    edges = Edges()
    stack["attachment"].add_dependencies(edges)
    assert edges.edges == [("attachment", "table")]


def test_an_interface(land: Land, neutron: FakeNeutron) -> None:
    group = neutron.groups.add(name="web")
    interface = ("NetworkInterface", {"SubnetId": ref("subnet"), "PrivateIpAddress": "10.0.1.9", "GroupSet": ["web"]})
    stack = land.create(**VPC, interface=interface)
    port = neutron.ports.objects[stack["interface"].resource_id]
    assert port["fixed_ips"] == [{"subnet_id": stack["subnet"].resource_id, "ip_address": "10.0.1.9"}]
    assert port["security_groups"] == [group["id"]]
    assert stack["interface"].FnGetAtt("PrivateIpAddress") == "10.0.1.9"
    same = {"SubnetId": stack["subnet"].resource_id, "PrivateIpAddress": "10.0.1.9"}
    land.update("interface", **same)
    assert port["security_groups"] == [neutron.default_group["id"]]
    land.update("interface", **same, GroupSet=[])
    assert port["security_groups"] == []


# security groups ---------------------------------------------------------------------------------


def tcp(low: int, high: int, **more: str) -> dict[str, str]:
    return {"IpProtocol": "tcp", "FromPort": str(low), "ToPort": str(high), "CidrIp": "0.0.0.0/0", **more}


def rules_of(neutron: FakeNeutron, group: Any) -> list[tuple[Any, ...]]:
    fields = ("direction", "ethertype", "protocol", "port_range_min", "remote_ip_prefix", "remote_group_id")
    there = [one for one in neutron.rules.objects.values() if one["security_group_id"] == group.resource_id]
    return sorted((tuple(one[name] for name in fields) for one in there), key=str)


ALL_GOES_OUT = [("egress", "IPv4", None, None, None, None), ("egress", "IPv6", None, None, None, None)]


def test_rules_are_brought_to_what_the_template_says(land: Land, neutron: FakeNeutron) -> None:
    stack = land.create(
        g=("SecurityGroup", {"GroupDescription": "d", "SecurityGroupIngress": [tcp(22, 22), tcp(80, 81)]})
    )
    group = stack["g"]
    ssh, web = ("ingress", "IPv4", "tcp", 22, "0.0.0.0/0", None), ("ingress", "IPv4", "tcp", 80, "0.0.0.0/0", None)
    assert rules_of(neutron, group) == [*ALL_GOES_OUT, ssh, web]
    assert neutron.count("POST", "/v2.0/security-group-rules") == 1, "all rules at once"
    before = {one["id"] for one in neutron.rules.objects.values() if one["port_range_min"] == 22}
    land.update("g", GroupDescription="d", SecurityGroupIngress=[tcp(22, 22)], SecurityGroupEgress=[tcp(443, 443)])
    assert rules_of(neutron, group) == [("egress", "IPv4", "tcp", 443, "0.0.0.0/0", None), ssh]
    assert before <= set(neutron.rules.objects), "what stays is not touched"
    land.update("g", GroupDescription="d", SecurityGroupIngress=[tcp(22, 22)])
    assert rules_of(neutron, group) == [*ALL_GOES_OUT, ssh], "as a new group of this template"


def test_the_other_side_is_a_group(land: Land, neutron: FakeNeutron) -> None:
    other = neutron.groups.add(name="other")
    by_name = {"IpProtocol": "icmp", "FromPort": "-1", "ToPort": "-1", "SourceSecurityGroupName": "other"}
    by_id = {"IpProtocol": "udp", "SourceSecurityGroupId": other["id"]}
    stack = land.create(g=("SecurityGroup", {"GroupDescription": "d", "SecurityGroupIngress": [by_name, by_id]}))
    assert rules_of(neutron, stack["g"])[2:] == [
        ("ingress", "IPv4", "icmp", None, None, other["id"]),
        ("ingress", "IPv4", "udp", None, None, other["id"]),
    ]


def test_a_rule_without_ports_is_for_the_addresses_that_it_names(land: Land, neutron: FakeNeutron) -> None:
    """27.0.1 makes a rule for all addresses of it."""
    rules = [{"IpProtocol": "icmp", "CidrIp": "10.0.0.0/8"}]
    stack = land.create(g=("SecurityGroup", {"GroupDescription": "d", "SecurityGroupIngress": rules}))
    assert rules_of(neutron, stack["g"])[2:] == [("ingress", "IPv4", "icmp", None, "10.0.0.0/8", None)]


@pytest.mark.parametrize("ports", [{}, {"FromPort": "-1", "ToPort": "-1"}, {"FromPort": "22", "ToPort": "22"}])
def test_all_protocols_as_ec2_says_it(land: Land, neutron: FakeNeutron, ports: dict[str, str]) -> None:
    """The service refuses the number; with all protocols ports mean nothing."""
    rules = [{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8", **ports}]
    stack = land.create(g=("SecurityGroup", {"GroupDescription": "d", "SecurityGroupIngress": rules}))
    (made,) = (one for one in neutron.rules.objects.values() if one["direction"] == "ingress")
    assert (made["protocol"], made["port_range_min"], made["remote_ip_prefix"]) == (None, None, "10.0.0.0/8")
    assert stack["g"].state == ("CREATE", "COMPLETE")


def test_a_rule_that_is_there_in_other_words(land: Land, neutron: FakeNeutron) -> None:
    neutron.fault("POST", "/v2.0/security-group-rules", status=409, kind="SecurityGroupRuleExists")
    stack = land.create(g=("SecurityGroup", {"GroupDescription": "d", "SecurityGroupIngress": [tcp(1, 2), tcp(3, 4)]}))
    assert len(rules_of(neutron, stack["g"])) == 4


# addresses ---------------------------------------------------------------------------------------


class _Nova(ErrorTests):
    """A compute service in which each server has one port of its name."""

    def __init__(self, cloud: FakeCloud) -> None:
        self.neutron = cloud.plugin("neutron").api

    def associate_floatingip(self, server: str, floatingip: str) -> None:
        self.neutron.put(f"/v2.0/floatingips/{floatingip}", json={"floatingip": {"port_id": f"port of {server}"}})

    def dissociate_floatingip(self, floatingip: str) -> None:
        self.neutron.put(f"/v2.0/floatingips/{floatingip}", json={"floatingip": {"port_id": None}})

    def associate_floatingip_address(self, server: str, address: str) -> None:
        self.associate_floatingip(server, self._of(address))

    def dissociate_floatingip_address(self, address: str) -> None:
        self.dissociate_floatingip(self._of(address))

    def _of(self, address: str) -> str:
        for one in self.neutron.list("/v2.0/floatingips", "floatingips", {"floating_ip_address": address}):
            return str(one["id"])
        raise EntityMatchNotFound(entity="floatingip", args={"ip_address": address})

    def get_server(self, name: str) -> str:
        return name


@pytest.fixture
def addresses(land: Land, neutron: FakeNeutron) -> Land:
    neutron.networks.add(**{"router:external": True, "name": "public"})
    land.cloud.clients._plugins["nova"] = _Nova(land.cloud)
    return land


def test_an_address_is_its_own_reference(addresses: Land, neutron: FakeNeutron) -> None:
    stack = addresses.create(a=("EIP", {"InstanceId": "s"}))
    (made,) = neutron.floatingips.objects.values()
    assert stack["a"].FnGetRefId() == made["floating_ip_address"] and made["port_id"] == "port of s"
    assert stack["a"].FnGetAtt("AllocationId") == made["id"]
    addresses.update("a", InstanceId="t")
    assert made["port_id"] == "port of t"
    addresses.update("a")
    assert made["port_id"] is None
    addresses.delete()
    assert neutron.floatingips.objects == {}


def test_an_address_whose_answer_is_lost(addresses: Land, neutron: FakeNeutron) -> None:
    neutron.fault("POST", "/v2.0/floatingips", cut=True, after=True)
    stack = addresses.create(a=("EIP", {}))
    assert list(neutron.floatingips.objects) == [stack["a"].resource_id]


def test_an_association_with_an_interface(addresses: Land, neutron: FakeNeutron) -> None:
    resources = {
        **VPC,
        "one": ("NetworkInterface", {"SubnetId": ref("subnet")}),
        "two": ("NetworkInterface", {"SubnetId": ref("subnet")}),
        "a": ("EIP", {}),
        "b": ("EIP", {}),
    }
    given = {"AllocationId": {"Fn::GetAtt": ["a", "AllocationId"]}, "NetworkInterfaceId": ref("one")}
    stack = addresses.create(**resources, given=("EIPAssociation", given))
    ids = {name: stack[name].resource_id for name in ("one", "two", "a", "b")}
    a, b = (neutron.floatingips.objects[ids[name]] for name in ("a", "b"))
    assert a["port_id"] == ids["one"] and stack["given"].resource_id == ids["a"]
    (router,) = neutron.routers.objects.values()
    assert router["external_gateway_info"] == {"network_id": a["floating_network_id"]}
    addresses.update("given", AllocationId=ids["a"], NetworkInterfaceId=ids["two"])
    assert a["port_id"] == ids["two"]
    addresses.update("given", AllocationId=ids["b"], NetworkInterfaceId=ids["two"])
    assert (a["port_id"], b["port_id"]) == (None, ids["two"]) and stack["given"].resource_id == ids["b"]
    drive(lifecycle.delete(stack["given"]), stack["given"])
    assert b["port_id"] is None


def test_an_association_that_replaces_the_same_one_stays(addresses: Land, neutron: FakeNeutron) -> None:
    neutron.floatingips.add("f", floating_ip_address="172.24.0.1", port_id=None)
    props = {"EIP": "172.24.0.1", "InstanceId": "s"}
    old = addresses.create(given=("EIPAssociation", props))["given"]
    old.record.status = "FAILED"
    new = replace(old, addresses.cloud.stack(addresses.template(given=("EIPAssociation", props))), "given")
    assert neutron.floatingips.objects["f"]["port_id"] == "port of s"
    drive(lifecycle.delete(new), new)
    assert neutron.floatingips.objects["f"]["port_id"] is None


def test_another_address_in_place_of_one_that_is_gone(addresses: Land, neutron: FakeNeutron) -> None:
    for address in ("172.24.0.1", "172.24.0.2"):
        neutron.floatingips.add(address, floating_ip_address=address, port_id=None)
    addresses.create(given=("EIPAssociation", {"EIP": "172.24.0.1", "InstanceId": "s"}))
    assert neutron.floatingips.objects.pop("172.24.0.1")["port_id"] == "port of s"
    addresses.update("given", EIP="172.24.0.2", InstanceId="s")
    assert neutron.floatingips.objects["172.24.0.2"]["port_id"] == "port of s"


@pytest.mark.parametrize(
    ("props", "message"),
    [
        ({"InstanceId": "s"}, "Either 'EIP' or 'AllocationId' must be provided."),
        ({"EIP": "1.2.3.4", "AllocationId": "a", "InstanceId": "s"}, "Either 'EIP' or 'AllocationId'"),
        ({"EIP": "1.2.3.4"}, "Must specify 'InstanceId' if you specify 'EIP'."),
        ({"AllocationId": "a"}, "At least one of the following properties must be specified: InstanceId"),
    ],
)
def test_associations_that_are_refused(addresses: Land, props: dict[str, Any], message: str) -> None:
    addresses.cloud.clients._plugins["nova"].service_types = []
    resource = addresses.cloud.stack(addresses.template(g=("EIPAssociation", props)))["g"]
    with pytest.raises(exceptions.HeatException, match=message):
        resource.validate()
