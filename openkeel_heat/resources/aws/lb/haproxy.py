# SPDX-License-Identifier: Apache-2.0
"""The stack behind AWS::ElasticLoadBalancing::LoadBalancer: one instance that runs HAProxy, and its configuration.

The instance installs HAProxy when it boots, from the metadata of ``LB_instance``; cfn-hup looks at these metadata each
minute and reloads HAProxy when the configuration in them has changed. All of this module is pure.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

CONFIG_FILE = "/etc/haproxy/haproxy.cfg"

INSTANCE = "LB_instance"

_STACK, _REGION = {"Ref": "AWS::StackId"}, {"Ref": "AWS::Region"}


def _text(*parts: Any) -> dict[str, Any]:
    return {"Fn::Join": ["", list(parts)]}


def _file(content: Any, mode: str = "000400") -> dict[str, Any]:
    return {"content": content, "mode": mode, "owner": "root", "group": "root"}


_FILES = {
    "/etc/cfn/cfn-credentials": _file(
        _text(
            "AWSAccessKeyId=",
            {"Ref": "CfnLBAccessKey"},
            "\n",
            "AWSSecretKey=",
            {"Fn::GetAtt": ["CfnLBAccessKey", "SecretAccessKey"]},
            "\n",
        )
    ),
    "/etc/cfn/cfn-hup.conf": _file(
        _text(
            "[main]\nstack=", _STACK, "\ncredential-file=/etc/cfn/cfn-credentials\nregion=", _REGION, "\ninterval=1\n"
        )
    ),
    "/etc/cfn/hooks.conf": _file(
        _text(
            "[files]\ntriggers=post.update\npath=Resources.LB_instance.Metadata\nrunas=root\n",
            "action=/opt/aws/bin/cfn-init -s ",
            _STACK,
            " -r LB_instance --region ",
            _REGION,
            "\n",
            "\n[service]\ntriggers=post.update\npath=Resources.LB_instance.Metadata\nrunas=root\n",
            "action=systemctl reload-or-restart haproxy.service\n",
        )
    ),
    "/etc/cron.d/cfn-hup": _file("* * * * * root /opt/aws/bin/cfn-hup -f\n", "000644"),
    CONFIG_FILE: _file("", "000644"),
}

_BOOT = _text(
    "#!/bin/bash\n",
    'tell() { /opt/aws/bin/cfn-signal -e "$1" -r "$2" \'',
    {"Ref": "WaitHandle"},
    '\'; exit "$1"; }\n',
    "/opt/aws/bin/cfn-init -s ",
    _STACK,
    " -r LB_instance --region ",
    _REGION,
    " || tell 1 'cfn-init failed'\n",
    "command -v setsebool && setsebool haproxy_connect_any 1\n",
    "systemctl enable haproxy.service\n",
    "systemctl reload-or-restart haproxy.service || tell 1 'HAProxy does not start'\n",
    "tell 0 'The load balancer works'\n",
)

TEMPLATE: dict[str, Any] = {
    "AWSTemplateFormatVersion": "2010-09-09",
    "Description": "A load balancer: an instance with HAProxy",
    "Parameters": {
        "KeyName": {"Type": "String"},
        "LbImageId": {"Type": "String", "Default": "Fedora-Cloud-Base-20141203-21.x86_64"},
        "LbFlavor": {"Type": "String", "Default": "m1.small"},
        "LBTimeout": {"Type": "String", "Default": "600"},
        "SecurityGroups": {"Type": "CommaDelimitedList", "Default": []},
    },
    "Resources": {
        "CfnLBUser": {"Type": "AWS::IAM::User"},
        "CfnLBAccessKey": {"Type": "AWS::IAM::AccessKey", "Properties": {"UserName": {"Ref": "CfnLBUser"}}},
        "WaitHandle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
        INSTANCE: {
            "Type": "AWS::EC2::Instance",
            "Metadata": {
                "AWS::CloudFormation::Init": {
                    "config": {
                        "packages": {"yum": {"haproxy": [], "cronie": []}},
                        "services": {"systemd": {"crond": {"enabled": "true", "ensureRunning": "true"}}},
                        "files": _FILES,
                    }
                }
            },
            "Properties": {
                "ImageId": {"Ref": "LbImageId"},
                "InstanceType": {"Ref": "LbFlavor"},
                "KeyName": {"Ref": "KeyName"},
                "SecurityGroups": {"Ref": "SecurityGroups"},
                "UserData": {"Fn::Base64": _BOOT},
            },
        },
        "WaitCondition": {
            "Type": "AWS::CloudFormation::WaitCondition",
            "DependsOn": INSTANCE,
            "Properties": {"Handle": {"Ref": "WaitHandle"}, "Timeout": {"Ref": "LBTimeout"}},
        },
    },
    "Outputs": {
        "PublicIp": {"Description": "Address of the load balancer", "Value": {"Fn::GetAtt": [INSTANCE, "PublicIp"]}},
    },
}


def template() -> dict[str, Any]:
    return copy.deepcopy(TEMPLATE)


def set_config(metadata: Mapping[str, Any], config: str) -> None:
    """Put a configuration into the metadata of the instance."""
    metadata["AWS::CloudFormation::Init"]["config"]["files"][CONFIG_FILE]["content"] = config


_GLOBAL = """global
    daemon
    maxconn 256
    stats socket /var/lib/haproxy/stats

defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
"""


def config(listener: Mapping[str, Any], health_check: Mapping[str, Any] | None, addresses: Sequence[str]) -> str:
    """The configuration of HAProxy: one port in front, HTTP, and the addresses in turn behind it."""
    lines = [
        _GLOBAL,
        "frontend http",
        f"    bind *:{listener['LoadBalancerPort']}",
        "    default_backend servers",
        "",
        "backend servers",
        "    balance roundrobin",
        "    option http-server-close",
        "    option forwardfor",
    ]
    check = ""
    if health_check:
        lines += ["    option httpchk", f"    timeout check {health_check['Timeout']}s"]
        check = (
            f" check inter {health_check['Interval']}s fall {health_check['UnhealthyThreshold']}"
            f" rise {health_check['HealthyThreshold']}"
        )
    lines += [
        f"    server server{number} {address}:{listener['InstancePort']}{check}"
        for number, address in enumerate(addresses, 1)
    ]
    return "\n".join(lines) + "\n"
