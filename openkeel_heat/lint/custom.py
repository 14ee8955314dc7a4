# SPDX-License-Identifier: Apache-2.0
"""Custom constraints that need no service: addresses, names, times."""

from __future__ import annotations

from typing import Any

_CLASSES = {
    "cron_expression": "CRONExpressionConstraint",
    "dns_domain": "DNSDomainConstraint",
    "dns_name": "DNSNameConstraint",
    "ip_addr": "IPConstraint",
    "ip_or_cidr": "IPCIDRConstraint",
    "iso_8601": "ISO8601Constraint",
    "json_string": "JsonStringConstraint",
    "mac_addr": "MACConstraint",
    "net_cidr": "CIDRConstraint",
    "rel_dns_name": "RelativeDNSNameConstraint",
    "timezone": "TimezoneConstraint",
}


def problem(name: str, value: Any) -> str | None:
    """Why a value does not satisfy a constraint; None if it does or nobody here can tell."""
    if name not in _CLASSES:
        return None
    from openkeel_heat.resources.kit import common_constraints

    constraint = getattr(common_constraints, _CLASSES[name])()
    if constraint.validate(value, None):
        return None
    error = getattr(constraint, "error", None)
    return str(error(value)) if error else '"%s" is no %s' % (value, name)
