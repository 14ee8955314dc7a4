# SPDX-License-Identifier: Apache-2.0
"""How much a template may cost.

The language reads no configuration.  A process that serves users calls
:func:`configure` once when it starts, with the values of its options; all
other callers get the defaults, which are those of the options.
"""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Limits:
    """Upper bounds; every one of them ends in a clear client error."""

    #: characters of a template's text (option ``max_template_size``)
    max_template_size: int = 524288
    #: nested maps and lists in a text
    max_nesting: int = 100
    #: characters of a text after all YAML aliases are expanded
    max_expanded_size: int = 8 * 524288
    #: characters (roughly) of one value made by str_replace, repeat and the like
    max_result_size: int = 16 * 1024 * 1024
    #: options of the group ``yaql``
    yaql_limit_iterators: int = 200
    yaql_memory_quota: int = 10000
    #: seconds of CPU that one yaql expression may use
    yaql_seconds: float = 2.0


_current = Limits()


def configure(limits: Limits) -> None:
    """Set the bounds of this process."""
    global _current
    _current = limits


def from_options(conf: Any) -> Limits:
    """The bounds that the options of a process say."""
    return Limits(max_template_size=conf.max_template_size, max_expanded_size=8 * conf.max_template_size,
                  yaql_limit_iterators=conf.yaql.limit_iterators, yaql_memory_quota=conf.yaql.memory_quota)


def current() -> Limits:
    """The bounds of this process."""
    return _current
