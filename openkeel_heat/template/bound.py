# SPDX-License-Identifier: Apache-2.0
"""Compiled snippets tied to a scope, and what can be asked of any snippet.

The functions here take compiled snippets with a scope, bound ones without,
and plain data that may have bound parts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from openkeel_heat.template import limits
from openkeel_heat.template.limits import account
from openkeel_heat.template.node_types import (
    ABSENT,
    REFERS,
    SCALARS,
    UNSETTLED,
    Bound,
    FunctionNode,
    ListNode,
    MapNode,
    Node,
    copy_plain,
    is_sequence,
)


def resolve(snippet: Any, scope: Any = None, nullable: bool = False) -> Any:
    """The value of a compiled, bound or plain snippet.

    An item that is to be left out is None, unless ``nullable`` lets it
    through as Ellipsis.
    """
    if not account.resolving:
        value = _resolve_whole(snippet, scope)
    elif isinstance(snippet, Node):
        value = snippet.resolve(scope)
        if not isinstance(snippet, FunctionNode):
            limits.check_value(value)
    else:
        value = copy_plain(snippet)
    if value is ABSENT and not nullable:
        return None
    return value


def _resolve_whole(snippet: Any, scope: Any) -> Any:
    """A value that is not part of another one: the bounds hold for all that is made for it."""
    if type(snippet) in SCALARS:
        return snippet
    account.resolving, account.size = True, 0
    try:
        value = snippet.resolve(scope) if isinstance(snippet, Node) else copy_plain(snippet)
        if isinstance(snippet, (Node, Bound)):
            limits.check_value(value)
        return value
    except RecursionError:
        raise limits.too_deep() from None
    finally:
        account.resolving = False


def prepare(snippet: Any, scope: Any) -> None:
    """Raise the errors that show when conditions are decided."""
    if isinstance(snippet, Node) and snippet.flags & UNSETTLED:
        snippet.prepare(scope)


def validate(snippet: Any, path: Any = None, scope: Any = None) -> None:
    """Validate every function of a snippet."""
    where: list[Any] = [] if path is None else [path] if isinstance(path, str) else list(path)
    if isinstance(snippet, Node):
        snippet.validate(scope, where)
    elif isinstance(snippet, Bound):
        snippet.node.validate(snippet.scope, where)
    elif isinstance(snippet, Mapping):
        for key, value in snippet.items():
            validate(value, where + [key], scope)
    elif is_sequence(snippet):
        base, parent = (where[:-1], where[-1]) if where else ([], "")
        for index, value in enumerate(snippet):
            validate(value, base + ["%s[%d]" % (parent, index)], scope)


def dependencies(snippet: Any, path: str = "", scope: Any = None) -> Iterator[str]:
    """Names of the resources that a snippet refers to."""
    if isinstance(snippet, Node):
        yield from snippet.dependencies(scope, path)
    elif isinstance(snippet, Bound):
        if snippet.node.flags & (REFERS | UNSETTLED):
            yield from snippet.node.dependencies(snippet.scope, path)
    elif isinstance(snippet, Mapping):
        for key, value in snippet.items():
            yield from dependencies(value, "%s.%s" % (path, key), scope)
    elif is_sequence(snippet):
        for index, value in enumerate(snippet):
            yield from dependencies(value, "%s[%d]" % (path, index), scope)


def all_dep_attrs(snippet: Any, scope: Any = None) -> Iterator[tuple[Any, Any]]:
    """(resource name, attribute) pairs that a snippet refers to."""
    if isinstance(snippet, Node):
        yield from snippet.dep_attrs(scope)
    elif isinstance(snippet, Bound):
        yield from snippet.node.dep_attrs(snippet.scope)
    elif isinstance(snippet, Mapping):
        for value in snippet.values():
            yield from all_dep_attrs(value, scope)
    elif is_sequence(snippet):
        for value in snippet:
            yield from all_dep_attrs(value, scope)


def dep_attrs(snippet: Any, resource_name: str, scope: Any = None) -> Iterator[Any]:
    """Attributes of one resource that a snippet refers to."""
    return (attr for name, attr in all_dep_attrs(snippet, scope) if name == resource_name)


def render(snippet: Any, scope: Any = None) -> Any:
    """The raw form of a snippet."""
    if isinstance(snippet, Node):
        return snippet.render(scope)
    if isinstance(snippet, Bound):
        return snippet.render()
    if isinstance(snippet, Mapping):
        return {k: render(v, scope) for k, v in snippet.items()}
    if is_sequence(snippet):
        return [render(v, scope) for v in snippet]
    return snippet


def bind(snippet: Any, scope: Any) -> Any:
    """Tie a compiled snippet to a scope, lazily; plain data stays what it is."""
    if not isinstance(snippet, Node):
        return snippet
    if isinstance(snippet, MapNode):
        return BoundMap(snippet, scope)
    if isinstance(snippet, ListNode):
        return BoundList(snippet, scope)
    return _bound_class(type(snippet).__name__)(snippet, scope)


@functools.cache
def _bound_class(name: str) -> type[BoundFunction]:
    """A class for calls of one function: plug-ins that are given one for a value tell its name to their users."""
    return type(name, (BoundFunction,), {"__slots__": ()})


def is_function(value: Any) -> bool:
    """Whether a compiled or bound value is a call of a function."""
    return isinstance(value, (FunctionNode, BoundFunction))


class _Comparable(Bound):
    """Compares by value, as plain data does."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        try:
            return bool(resolve(self) == resolve(other))
        except (TypeError, ValueError):
            return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


class BoundFunction(_Comparable):
    """A function call tied to a scope; what plugins see as a Function object."""

    __slots__ = ()

    @property
    def fn_name(self) -> str:
        return getattr(self.node, "fn_name", "")

    @property
    def args(self) -> Any:
        return bind(getattr(self.node, "args", None), self.scope)

    @property
    def stack(self) -> Any:
        return self.scope

    def result(self) -> Any:
        return resolve(self.node, self.scope, nullable=True)

    def validate(self) -> None:
        if isinstance(self.node, FunctionNode):
            self.node.validate_args(self.scope)
        else:
            self.node.validate(self.scope, [])

    def dependencies(self, path: str) -> Iterator[Any]:
        return (self.scope.resource(name) for name in self.node.dependencies(self.scope, path))

    def dep_attrs(self, resource_name: str) -> Iterator[Any]:
        return dep_attrs(self, resource_name)

    def all_dep_attrs(self) -> Iterator[tuple[Any, Any]]:
        return all_dep_attrs(self)

    def __repr__(self) -> str:
        return "<Bound %r>" % (self.node,)


class BoundMap(_Comparable, Mapping):  # type: ignore[type-arg]
    """A map tied to a scope; its items are bound when they are looked at."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return bind(self.node.children[key], self.scope)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.node.children)

    def __len__(self) -> int:
        return len(self.node.children)

    def resolve(self) -> Any:
        return resolve(self.node, self.scope)

    def __repr__(self) -> str:
        return repr(self.node.children)


class BoundList(_Comparable, Sequence):  # type: ignore[type-arg]
    """A list tied to a scope."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return bind(self.node[index], self.scope)

    def __len__(self) -> int:
        return len(self.node.children)

    def resolve(self) -> Any:
        return resolve(self.node, self.scope)

    def __repr__(self) -> str:
        return repr(self.node.children)
