# SPDX-License-Identifier: Apache-2.0
"""The types of the second load balancing API of the network service, which Octavia replaced: they do nothing."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.none_resource import NoneResource
from openkeel_heat.resources.kit import support
from openkeel_heat.resources.kit.resource import Resource


def _gone(since: str) -> support.SupportStatus:
    return support.SupportStatus(
        status=support.HIDDEN,
        version="21.0.0",
        message=_("Octavia has a type of the same name."),
        previous_status=support.SupportStatus(version=since),
    )


class LoadBalancer(NoneResource):
    """Did have the address of a load balancer."""

    support_status = _gone(since="6.0.0")


class Listener(NoneResource):
    """Did take connections to a port of a load balancer."""

    support_status = _gone(since="6.0.0")


class Pool(NoneResource):
    """Did spread connections over members."""

    support_status = _gone(since="6.0.0")


class PoolMember(NoneResource):
    """Did take a share of the connections of a pool."""

    support_status = _gone(since="6.0.0")


class HealthMonitor(NoneResource):
    """Did watch the members of a pool."""

    support_status = _gone(since="6.0.0")


class L7Policy(NoneResource):
    """Did say what becomes of requests that its rules fit."""

    support_status = _gone(since="7.0.0")


class L7Rule(NoneResource):
    """Did say which requests a policy is for."""

    support_status = _gone(since="7.0.0")


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        f"OS::Neutron::LBaaS::{cls.__name__}": cls
        for cls in (HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancer, Pool, PoolMember)
    }
