# SPDX-License-Identifier: Apache-2.0
"""The types of the first load balancing API, which is gone: they can be in templates and do nothing."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.heat.none_resource import NoneResource
from openkeel_heat.resources.kit import support
from openkeel_heat.resources.kit.resource import Resource


def _gone(since: support.SupportStatus | None = None) -> support.SupportStatus:
    return support.SupportStatus(
        status=support.HIDDEN,
        version="9.0.0",
        message=_("There is a second version of load balancing."),
        previous_status=support.SupportStatus(
            status=support.DEPRECATED,
            version="7.0.0",
            message=_("The first version of load balancing will be removed."),
            previous_status=since,
        ),
    )


class HealthMonitor(NoneResource):
    """Did watch the members of pools."""

    support_status = _gone()


class Pool(NoneResource):
    """Did spread the connections to an address over members."""

    support_status = _gone()


class PoolMember(NoneResource):
    """Did take a share of the connections of a pool."""

    support_status = _gone(since=support.SupportStatus(version="2014.1"))


class LoadBalancer(NoneResource):
    """Did make servers members of a pool."""

    support_status = _gone(since=support.SupportStatus(version="2014.1"))


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Neutron::HealthMonitor": HealthMonitor,
        "OS::Neutron::Pool": Pool,
        "OS::Neutron::PoolMember": PoolMember,
        "OS::Neutron::LoadBalancer": LoadBalancer,
    }
