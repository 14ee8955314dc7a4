# SPDX-License-Identifier: Apache-2.0
"""``extended``: the ``world`` of the network service, whose service has the extensions that these types are of.

``extended.kinds[key]`` is the collection of a kind of object.
"""

from __future__ import annotations

import pytest

from tests.fixtures.rest_server import Collection
from tests.unit.resources.neutron.conftest import World

PENDING = {"states": ("PENDING_CREATE", "ACTIVE"), "deleting": ("PENDING_DELETE",)}
AT_ONCE = {"states": ("ACTIVE",)}

#: path → key, states
KINDS = {
    "fw/firewalls": ("firewall", PENDING),
    "fw/firewall_policies": ("firewall_policy", {}),
    "fw/firewall_rules": ("firewall_rule", {}),
    "vpn/vpnservices": ("vpnservice", PENDING),
    "vpn/ipsec-site-connections": ("ipsec_site_connection", PENDING),
    "vpn/ikepolicies": ("ikepolicy", {}),
    "vpn/ipsecpolicies": ("ipsecpolicy", {}),
    "metering/metering-labels": ("metering_label", {}),
    "metering/metering-label-rules": ("metering_label_rule", {}),
    "sfc/flow_classifiers": ("flow_classifier", {}),
    "sfc/port_chains": ("port_chain", {}),
    "sfc/port_pairs": ("port_pair", {}),
    "sfc/port_pair_groups": ("port_pair_group", {}),
    "taas/tap_services": ("tap_service", PENDING),
    "taas/tap_flows": ("tap_flow", PENDING),
    "l2-gateways": ("l2_gateway", {}),
    "l2-gateway-connections": ("l2_gateway_connection", {}),
}


class Extended(World):
    kinds: dict[str, Collection]


@pytest.fixture
def extended(world: World) -> Extended:
    neutron = world.neutron
    neutron.extensions.update(("fwaas", "vpnaas", "sfc", "taas", "l2-gateway", "l2-gateway-connection"))
    world.__class__ = Extended
    world.kinds = {  # type: ignore[attr-defined]
        key: neutron.collection(f"/v2.0/{path}", key, f"{key[:-1]}ies" if key.endswith("policy") else "", **states)
        for path, (key, states) in KINDS.items()
    }
    return world  # type: ignore[return-value]
