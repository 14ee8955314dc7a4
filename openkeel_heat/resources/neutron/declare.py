# SPDX-License-Identifier: Apache-2.0
"""Declarations that many types of the network service share."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support

NAME = properties.Schema(
    properties.Schema.STRING, _("Name of the object. Names need not be unique."), update_allowed=True
)

VALUE_SPECS = properties.Schema(
    properties.Schema.MAP,
    _("More fields of the request, as extensions of the service want them."),
    default={},
    update_allowed=True,
)

ADMIN_STATE_UP = properties.Schema(
    properties.Schema.BOOLEAN, _("Whether it is administratively up."), default=True, update_allowed=True
)


def since(version: str) -> support.SupportStatus:
    return support.SupportStatus(version=version)


def tags(version: str) -> properties.Schema:
    return properties.Schema(
        properties.Schema.LIST,
        _("Tags of the object."),
        schema=properties.Schema(properties.Schema.STRING),
        update_allowed=True,
        support_status=since(version),
    )


def renamed(
    new: str,
    *,
    hidden: str,
    deprecated: str,
    supported: str | None = None,
    constraint: str | None = None,
    update_allowed: bool = False,
) -> properties.Schema:
    """The former name of the property ``new``: the versions in which it was hidden, deprecated and (if told) new."""
    message = _("Give %s in its place.") % new
    if supported is None:
        status = support.SupportStatus(
            support.HIDDEN, message, hidden, support.SupportStatus(support.DEPRECATED, version=deprecated)
        )
    else:
        status = support.SupportStatus(
            support.HIDDEN,
            version=hidden,
            previous_status=support.SupportStatus(support.DEPRECATED, message, deprecated, since(supported)),
        )
    return properties.Schema(
        properties.Schema.STRING,
        _("Former name of %s.") % new,
        update_allowed=update_allowed,
        support_status=status,
        constraints=[constraints.CustomConstraint(constraint)] if constraint else None,
    )
