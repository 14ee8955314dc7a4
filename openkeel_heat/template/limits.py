# SPDX-License-Identifier: Apache-2.0
"""How much a template may cost.

The language reads no configuration.  A process that serves users calls
:func:`configure` once when it starts, with the values of its options; all
other callers get the defaults, which are those of the options.

Functions say with :func:`charge` how much they are about to make.  The sum is
bounded for one value (whatever is resolved as a whole: a property, an output)
and for all that is done within :func:`request`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _


@dataclasses.dataclass(frozen=True)
class Limits:
    """Upper bounds; every one of them ends in a clear client error."""

    #: characters of a template's text (option ``max_template_size``)
    max_template_size: int = 524288
    #: nested maps and lists in a text
    max_nesting: int = 100
    #: characters of a text after all YAML aliases are expanded
    max_expanded_size: int = 8 * 524288
    #: characters (roughly, as JSON) that functions make for one value, and for all values of a request
    max_value_size: int = 8 * 1024 * 1024
    max_total_size: int = 256 * 1024 * 1024
    #: items of a list or map that a function makes
    max_collection_items: int = 100_000
    #: options of the group ``yaql``
    yaql_limit_iterators: int = 200
    yaql_memory_quota: int = 10000
    #: seconds of CPU that one yaql expression may use, and all those of a request
    yaql_seconds: float = 2.0
    yaql_total_seconds: float = 10.0
    #: megabytes of a process that evaluates expressions, and how many of them there may be
    yaql_memory: int = 512
    yaql_processes: int = 4
    #: whether a map may not have a key twice
    refuse_duplicate_keys: bool = False


_current = Limits()


def configure(limits: Limits) -> None:
    """Set the bounds of this process."""
    global _current
    _current = limits


def from_options(conf: Any) -> Limits:
    """The bounds that the options of a process say."""
    own = conf.template_limits
    return Limits(
        max_template_size=conf.max_template_size,
        max_nesting=own.max_nesting,
        max_expanded_size=own.max_expansion * conf.max_template_size,
        max_value_size=own.max_value_size,
        max_total_size=own.max_total_size,
        max_collection_items=own.max_collection_items,
        yaql_limit_iterators=conf.yaql.limit_iterators,
        yaql_memory_quota=conf.yaql.memory_quota,
        yaql_seconds=own.yaql_seconds,
        yaql_total_seconds=own.yaql_total_seconds,
        yaql_memory=own.yaql_memory,
        yaql_processes=own.yaql_processes,
        refuse_duplicate_keys=own.refuse_duplicate_keys,
    )


def current() -> Limits:
    """The bounds of this process."""
    return _current


# what has been spent --------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Spent:
    """What all values of a request have cost."""

    size: int = 0
    seconds: float = 0.0
    #: nested stacks made in memory, each with the number of its resources
    tree: dict[str, int] = dataclasses.field(default_factory=dict)
    tree_size: int = 0


#: characters that are looked at for the price of one that is made
_READ_PER_MADE = 8


class _Account(threading.local):
    """The costs in this thread."""

    #: whether a value is being resolved, and what has been made for it
    resolving = False
    size = 0
    request: Spent | None = None


account = _Account()


@contextlib.contextmanager
def request() -> Iterator[Spent]:
    """Everything within is one request, unless it is part of one already."""
    outer = account.request
    account.request = outer or Spent()
    try:
        yield account.request
    finally:
        account.request = outer


def charge(what: str | None, size: int) -> None:
    """Note that a function is about to make so many characters; RequestLimitExceeded when it is too much.

    None stands for whatever looks at the arguments of functions.
    """
    limits = _current
    account.size = (account.size if account.resolving else 0) + size
    if account.size > limits.max_value_size:
        wording = _("What the functions of a value look at exceeds the maximum size (%(limit)s).")
        if what is not None:
            wording = _('The result of "%(fn_name)s" exceeds the maximum size (%(limit)s).')
        raise exception.RequestLimitExceeded(message=wording % {"fn_name": what, "limit": limits.max_value_size})
    spent = account.request
    if spent is not None:
        spent.size += size
        if spent.size > limits.max_total_size:
            raise exception.RequestLimitExceeded(
                message=_("The functions of the template make more than %s characters.") % limits.max_total_size
            )


def charge_read(what: str | None, size: int) -> None:
    """Note that a function is about to look at so many characters of what is there already."""
    charge(what, size // _READ_PER_MADE)


def charge_compared(what: str, value: Any, other: Any) -> None:
    """Note that two values are about to be compared."""
    waiting = [(value, other)]
    while waiting:
        one, two = waiting.pop()
        if one is two or not isinstance(one, (list, dict)) or type(one) is not type(two) or len(one) != len(two):
            continue
        charge(what, len(one))
        if isinstance(one, list):
            waiting.extend(zip(one, two, strict=True))
        elif isinstance(two, dict):
            waiting.extend((item, two.get(key)) for key, item in one.items())


def charge_tree(name: str, resources: int, limit: int | None) -> None:
    """Note a nested stack that is made in memory; RequestLimitExceeded when the tree has too many resources.

    Where nobody limits their number there may be a tenth as many nested stacks as a list may have items.
    """
    spent = account.request
    if spent is None:
        return
    spent.tree_size += resources - spent.tree.get(name, 0)
    spent.tree[name] = resources
    if (len(spent.tree) > _current.max_collection_items // 10) if limit is None else (spent.tree_size > limit):
        raise exception.RequestLimitExceeded(message=exception.StackResourceLimitExceeded.msg_fmt)


def charge_seconds(seconds: float) -> None:
    """Note that an expression has taken so much CPU."""
    if account.request is not None:
        account.request.seconds += seconds


def seconds_left() -> float:
    """How much CPU the next expression may take."""
    limits, spent = _current, account.request
    if spent is None:
        return limits.yaql_seconds
    left = limits.yaql_total_seconds - spent.seconds
    if left <= 0:
        raise exception.RequestLimitExceeded(
            message=_("The expressions of the template take more than %s seconds.") % limits.yaql_total_seconds
        )
    return min(limits.yaql_seconds, left)


def check_items(what: str, count: int) -> None:
    """Refuse to make a list or map of so many items."""
    limit = _current.max_collection_items
    if count > limit:
        raise exception.RequestLimitExceeded(
            message=_('The result of "%(fn_name)s" has more than %(limit)s items.') % {"fn_name": what, "limit": limit}
        )


def check_value(value: Any) -> None:
    """Refuse data whose JSON is too long, though parts that come again and again make it small in memory.

    Looking at it is charged, too: it is done for the arguments of every function.
    """
    charge_read(None, _check_value(value))


def _check_value(value: Any) -> int:
    limit = _current.max_value_size
    size = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is dict or isinstance(item, Mapping):
            for key, inner in item.items():
                size += 6 + (len(key) if type(key) is str else 8)
                if type(inner) is str:
                    size += len(inner)
                else:
                    waiting.append(inner)
        elif kind is list or kind is tuple:
            size += 2 * len(item)
            for inner in item:
                if type(inner) is str:
                    size += 2 + len(inner)
                else:
                    waiting.append(inner)
        else:
            size += len(item) if kind is str else 4
        if size > limit:
            raise exception.RequestLimitExceeded(
                message=_("A value of the template has more than %s characters.") % limit
            )
    return size


def too_deep() -> Exception:
    """What is raised where recursion came to its end."""
    return exception.RequestLimitExceeded(message=_("Template is nested too deeply."))
