# SPDX-License-Identifier: Apache-2.0
"""Groups and load balancers as AWS names them, on the real services.

The instances of such a group name no network unless the group has a subnet (``VPCZoneIdentifier``), and 27.0.1 asks
Nova for those without in a way that novaclient refuses nowadays ("nics are required after microversion 2.36"). Those in
a subnet it makes, but does not get rid of: it deletes their ports first, which Neutron does not permit. So both are
compared with a template in place of the instance, as the environment may say; with instances both are led as far as
27.0.1 goes, and ours to the end.
"""

from __future__ import annotations

import base64
import email
import json
import re
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import requests

from tests.fixtures.api import Api, Stack
from tests.fixtures.comparison import Both
from tests.fixtures.scaling import call
from tests.fixtures.service import Installation
from tests.functional.cloud.groups import LIMIT, Servers, alike, made, removed, within
from tests.functional.cloud.test_aws import nested

pytestmark = [
    pytest.mark.cloud,
    pytest.mark.keystone,
    pytest.mark.services,
    pytest.mark.long,
    pytest.mark.timeout(1800),  # a loaded machine takes minutes for a server
]

CIDR = "10.84.0.0/24"
CONFIG = "/etc/haproxy/haproxy.cfg"

_PARAMETERS = {
    **{name: {"type": "string", "default": ""} for name in ("ImageId", "InstanceType", "UserData", "SubnetId")},
    **{name: {"type": "comma_delimited_list", "default": []} for name in ("Tags", "SecurityGroups")},
}
_ATTRIBUTES = ("AvailabilityZone", "PrivateDnsName", "PublicDnsName", "PrivateIp")

#: A server in place of an instance: in the subnet of its group, if that has one.
INSTANCE = {
    "heat_template_version": "2018-08-31",
    "parameters": _PARAMETERS,
    "conditions": {"placed": {"not": {"equals": [{"get_param": "SubnetId"}, ""]}}},
    "resources": {
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": {"get_param": "ImageId"},
                "flavor": {"get_param": "InstanceType"},
                "networks": {"if": ["placed", [{"subnet": {"get_param": "SubnetId"}}], [{"allocate_network": "none"}]]},
                "user_data_format": "RAW",
                "user_data": {"get_param": "UserData"},
            },
        }
    },
    "outputs": {
        **{name: {"value": ""} for name in _ATTRIBUTES},
        "OS::stack_id": {"value": {"get_resource": "server"}},
        "PublicIp": {"value": {"get_attr": ["server", "first_address"]}},
        "told": {"value": {"get_param": "UserData"}},
    },
}

IN_PLACE: dict[str, Any] = {
    "files": {"instance.yaml": json.dumps(INSTANCE)},
    "environment": {
        # The template of 27.0.1's load balancer has an alarm, too, of a service that is not there.
        "resource_registry": {"AWS::EC2::Instance": "instance.yaml", "AWS::CloudWatch::Alarm": "OS::Heat::None"}
    },
}


def ref(name: str) -> dict[str, str]:
    return {"Ref": name}


def one(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def policy(adjustment: int) -> dict[str, Any]:
    return one(
        "AWS::AutoScaling::ScalingPolicy",
        AutoScalingGroupName=ref("group"),
        AdjustmentType="ChangeInCapacity",
        ScalingAdjustment=adjustment,
        Cooldown=0,
    )


def launch(user_data: str) -> dict[str, Any]:
    return one("AWS::AutoScaling::LaunchConfiguration", ImageId="cirros", InstanceType="m1.tiny", UserData=user_data)


SUBNET = {
    "net": one("OS::Neutron::Net"),
    "subnet": one("OS::Neutron::Subnet", network=ref("net"), cidr=CIDR, enable_dhcp=False),
}
BALANCER = {
    "balancer": one(
        "AWS::ElasticLoadBalancing::LoadBalancer",
        AvailabilityZones=[],
        Listeners=[{"InstancePort": 8080, "LoadBalancerPort": 80, "Protocol": "HTTP"}],
        HealthCheck={
            "HealthyThreshold": 2,
            "UnhealthyThreshold": 3,
            "Interval": 30,
            "Timeout": 5,
            "Target": "HTTP:8080/",
        },
    )
}


def template(configuration: str, size: int, resources: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """A group of up to three instances, scaled by two policies."""
    group = one(
        "AWS::AutoScaling::AutoScalingGroup",
        AvailabilityZones=[],
        LaunchConfigurationName=ref(configuration),
        MinSize=1,
        MaxSize=3,
        DesiredCapacity=size,
        **properties,
    )
    rolling = {"MinInstancesInService": 1, "MaxBatchSize": 1, "PauseTime": "PT1S"}
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        # Those of the load balancer's stack.
        "Parameters": {
            "LbImageId": {"Type": "String", "Default": "cirros"},
            "LbFlavor": {"Type": "String", "Default": "m1.tiny"},
        },
        "Resources": {
            "first": launch("first"),
            "second": launch("second"),
            "group": {**group, "UpdatePolicy": {"AutoScalingRollingUpdate": rolling}},
            "up": policy(1),
            "down": policy(-1),
            **resources,
        },
        "Outputs": {
            "list": {"Value": {"Fn::GetAtt": ["group", "InstanceList"]}},
            "up": {"Value": {"Fn::GetAtt": ["up", "AlarmUrl"]}},
            "down": {"Value": ref("down")},
        },
    }


def addresses(stack: Stack) -> list[str]:
    return sorted((stack.outputs()["list"] or "").split(","))


def metadata(balancer: Stack) -> dict[str, Any]:
    """Of its instance."""
    return dict(balancer.api.get(f"{balancer.path}/resources/LB_instance/metadata")["metadata"])


def balanced(balancer: Stack) -> list[str]:
    """The addresses in the configuration that the instance of a load balancer is to have."""
    config = metadata(balancer)["AWS::CloudFormation::Init"]["config"]["files"][CONFIG]["content"]
    found = re.findall(r"^ *server \w+ ([\d.]+):8080 check inter 30s fall 3 rise 2$", config, re.MULTILINE)
    assert len(found) == config.count(":8080") and "bind *:80\n" in config
    return sorted(found)


def works(user_data: str) -> None:
    """What the instance of a load balancer signals when its HAProxy runs, to the URL in its user data."""
    (url,) = set(re.findall(r"'(http[^']*/v1/waitcondition/[^']*)'", user_data))
    body = {"Status": "SUCCESS", "UniqueId": "1", "Data": "", "Reason": "it works"}
    reply = requests.put(url, json=body, timeout=120)
    assert reply.status_code == 200, reply.text


@pytest.fixture(scope="module")
def signed_urls(daemons: Installation) -> None:
    """What answers to the URLs of policies and wait conditions is up; that of 27.0.1 always is."""
    daemons.cfn()


# a template in place of the instance --------------------------------------------------------------------------------
def groups_and_a_balancer(configuration: str, size: int) -> dict[str, Any]:
    """A group in a subnet, one of OS::Heat, whose size only templates change, and a load balancer of a server."""
    plain = one("OS::Heat::InstanceGroup", LaunchConfigurationName=ref(configuration), Size=size, AvailabilityZones=[])
    rolling = {"MinInstancesInService": 0, "MaxBatchSize": 2, "PauseTime": "PT0S"}
    web = one("AWS::EC2::Instance", ImageId="cirros", InstanceType="m1.tiny", SubnetId=ref("subnet"))
    balancer = {**BALANCER["balancer"], "Properties": {**BALANCER["balancer"]["Properties"], "Instances": [ref("web")]}}
    resources = {
        **SUBNET,
        "web": web,
        "balancer": balancer,
        "plain": {**plain, "UpdatePolicy": {"RollingUpdate": rolling}},
    }
    return template(configuration, size, resources, VPCZoneIdentifier=[ref("subnet")])


def test_groups_and_a_balancer(both: Both, signed_urls: None) -> None:
    """The balancer is not the group's: on 27.0.1 such a group looks for the stack of the balancer in vain, and fails.

    ("TypeError: resources.balancer: 'NoneType' object is not subscriptable")
    """
    pair = made(both, groups_and_a_balancer("first", 1), wait=None, **IN_PLACE)

    def life(stack: Stack) -> Any:
        balancer = nested(stack, "balancer")
        balancer.wait_resource("LB_instance", "CREATE_COMPLETE", LIMIT)
        works(nested(balancer, "LB_instance").outputs()["told"])
        stack.wait("CREATE_COMPLETE", limit=LIMIT)
        assert balanced(balancer) == [nested(stack, "web").outputs()["PublicIp"]]
        group, plain = Servers(stack), Servers(stack, "plain")
        seen: list[Any] = []

        def look(what: Any = None) -> None:
            present = addresses(stack)
            assert within(present, CIDR)
            seen.append([what, len(present), group.states(), group.batches(), plain.states(), plain.batches()])

        look()
        assert call(stack.outputs()["up"]).status_code == 200
        group.at_rest(2)
        look()
        look(group.update(groups_and_a_balancer("second", 2), **IN_PLACE))
        assert call(stack.outputs()["down"]).status_code == 200
        group.at_rest(1)
        look()
        return seen

    alike(pair, life)
    removed(*pair.stacks)


# instances ----------------------------------------------------------------------------------------------------------
def in_a_subnet(configuration: str, size: int) -> dict[str, Any]:
    return template(configuration, size, SUBNET, VPCZoneIdentifier=[ref("subnet")])


def test_instances_in_a_subnet(both: Both, service: Any, signed_urls: None) -> None:
    """27.0.1 makes instances, but does not get rid of any: Neutron lets nobody delete the port of a server."""
    pair = made(both, in_a_subnet("first", 1))
    groups = [Servers(stack, services=service) for stack in pair.stacks]

    def grown(stack: Stack) -> Any:
        group = groups[pair.stacks.index(stack)]
        assert call(stack.outputs()["up"]).status_code == 200
        group.at_rest(2)
        assert len(addresses(stack)) == 2 and within(addresses(stack), CIDR)
        return [group.states(), group.in_nova(), group.batches()]

    ours, theirs = groups
    try:
        alike(pair, grown)
    finally:
        for server_id in theirs.members().values():
            service.send("DELETE", "compute", f"/servers/{server_id}")
    assert ours.update(in_a_subnet("second", 2)) == {"replaced": 2}
    assert ours.batches() == [{"CREATE": 1, "DELETE": 1, "UPDATE": 1}] * 2
    assert call(pair.ours.outputs()["down"]).status_code == 200
    ours.at_rest(1)
    assert len(addresses(pair.ours)) == 1
    removed(*pair.stacks)
    assert [group.in_nova_still() for group in groups] == [[], []]


@pytest.fixture
def alone(ours: Api, tenant: Any, service: Any) -> Iterator[Api]:
    """Our API in a project with one network, where Nova knows which one to take."""
    project = tenant.another_project("scaling-alone")
    body = {"network": {"project_id": project, "name": "only"}}
    network = service.call("POST", "network", "/v2.0/networks", body)["network"]["id"]
    subnet = {"network_id": network, "project_id": project, "ip_version": 4, "cidr": CIDR, "enable_dhcp": False}
    service.call("POST", "network", "/v2.0/subnets", {"subnet": subnet})
    yield tenant.api(ours.root, tenant.member, project)
    service.call("DELETE", "network", f"/v2.0/networks/{network}")


def booted_with(service: Any, server_id: str) -> str:
    headers = {"OpenStack-API-Version": "compute 2.3"}
    server = service.get("compute", f"/servers/{server_id}", **headers)["server"]
    message = email.message_from_bytes(base64.b64decode(server["OS-EXT-SRV-ATTR:user_data"]))
    (part,) = (part for part in message.walk() if part.get_filename() == "cfn-userdata")
    return str(part.get_payload())


def test_a_balancer_of_instances(alone: Api, service: Any, signed_urls: None, daemons: Installation) -> None:
    """27.0.1 cannot make it, since its own instance names no network.

    The instance boots with what signals the end, reads with its own keys what HAProxy is to do, and that follows the
    members.
    """
    body = template("first", 1, BALANCER, LoadBalancerNames=[ref("balancer")])
    body["Outputs"]["address"] = {"Value": {"Fn::GetAtt": ["balancer", "DNSName"]}}
    stack = alone.create(body, wait=False, timeout_mins=60)
    try:
        balancer = nested(stack, "balancer")
        balancer.wait_resource("LB_instance", "CREATE_COMPLETE", LIMIT)
        works(booted_with(service, balancer.resource("LB_instance")["physical_resource_id"]))
        stack.wait("CREATE_COMPLETE", limit=LIMIT)
        assert within([stack.outputs()["address"]], CIDR)
        assert balanced(balancer) == addresses(stack)
        group = Servers(stack, services=service)
        assert call(stack.outputs()["up"]).status_code == 200
        group.at_rest(2)
        assert balanced(balancer) == addresses(stack) and len(addresses(stack)) == 2
        assert read_by_instance(daemons, balancer) == metadata(balancer)
    finally:
        removed(stack)
    assert group.in_nova_still() == []


def read_by_instance(daemons: Installation, balancer: Stack) -> dict[str, Any]:
    """The metadata, as cfn-hup asks for them with the keys that it finds in them."""
    files = metadata(balancer)["AWS::CloudFormation::Init"]["config"]["files"]
    keys = dict(line.split("=", 1) for line in files["/etc/cfn/cfn-credentials"]["content"].splitlines())
    client = boto3.client(
        "cloudformation",
        endpoint_url=daemons.cfn_url + "/v1/",
        region_name="RegionOne",
        aws_access_key_id=keys["AWSAccessKeyId"],
        aws_secret_access_key=keys["AWSSecretKey"],
    )
    told = client.describe_stack_resource(StackName=balancer.name, LogicalResourceId="LB_instance")
    return dict(json.loads(told["StackResourceDetail"]["Metadata"]))
