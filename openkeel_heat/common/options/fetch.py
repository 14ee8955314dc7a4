# SPDX-License-Identifier: Apache-2.0
"""Options of our own: from where the service fetches what users name by URL."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "template_fetch"

fetch: list[cfg.Opt] = [
    cfg.ListOpt(
        "denied_networks",
        default=["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/127", "fe80::/10"],
        help="Networks that a URL given by a user must not lead to, neither directly nor by a redirect. "
        "A refused address is reported like one that does not answer.",
    ),
    cfg.ListOpt(
        "allowed_networks",
        default=[],
        help="Networks that may be reached although they lie within a denied one.",
    ),
    cfg.IntOpt("max_redirects", default=5, min=0, help="How many redirects of a URL are followed."),
]

GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [(GROUP, fetch)]
