# SPDX-License-Identifier: Apache-2.0
"""Checks of names and prefixes of networks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from openkeel_heat.common.i18n import _

DNS_LABEL_MAX_LEN = 63
FQDN_MAX_LEN = 255
_DNS_LABEL = re.compile(r"[a-z0-9-]{1,63}$")


def is_prefix_subset(orig_prefixes: Iterable[str], new_prefixes: Iterable[str]) -> bool:
    """Whether *new_prefixes* cover everything of *orig_prefixes*."""
    import netaddr

    return netaddr.IPSet(orig_prefixes).issubset(netaddr.IPSet(new_prefixes))


def validate_dns_format(data: str | None) -> None:
    """Raise ``ValueError`` for what is not a DNS name; a dot at its end is allowed."""
    if not data:
        return
    if not isinstance(data, str):
        raise ValueError(_("'%s' is not a string.") % (data,))
    name = data.removesuffix(".")
    if len(name) > FQDN_MAX_LEN:
        raise ValueError(
            _("'%(data)s' exceeds the %(max_len)s character FQDN limit") % {"data": name, "max_len": FQDN_MAX_LEN}
        )
    labels = name.split(".")
    for label in labels:
        if not label:
            raise ValueError(_("Encountered an empty component."))
        if label.startswith("-") or label.endswith("-"):
            raise ValueError(_("Name '%s' must not start or end with a hyphen.") % label)
        if not _DNS_LABEL.match(label):
            raise ValueError(
                _(
                    "Name '%(name)s' must be 1-%(max_len)s characters long, "
                    "each of which can only be alphanumeric or a hyphen."
                )
                % {"name": label, "max_len": DNS_LABEL_MAX_LEN}
            )
    if data.endswith(".") and len(labels) > 1 and labels[-1].isdigit():
        raise ValueError(_("TLD '%s' must not be all numeric.") % labels[-1])
