# SPDX-License-Identifier: Apache-2.0
"""Options of what is remembered about other services. All need ``enabled`` in ``[cache]`` too."""

from __future__ import annotations

from oslo_config import cfg


def _family(seconds: int, subject: str) -> list[cfg.Opt]:
    return [
        cfg.IntOpt("expiration_time", default=seconds, help=f"Seconds for which {subject} are remembered."),
        cfg.BoolOpt(
            "caching",
            default=True,
            help=f"Remember {subject}; works only with the general switch of the [cache] group on.",
        ),
    ]


GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [
    ("constraint_validation_cache", _family(60, "the results of checks of property values against other services")),
    ("service_extension_cache", _family(3600, "the extensions of other services")),
    ("resource_finder_cache", _family(3600, "the ids that were found for names")),
]
