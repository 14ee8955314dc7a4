# SPDX-License-Identifier: Apache-2.0
"""The nodes that template snippets are compiled to.

``compile_snippet`` turns a raw snippet into immutable nodes, once per template:

* a function call becomes a :class:`FunctionNode`;
* a map or list with a function somewhere inside becomes a :class:`MapNode` or
  :class:`ListNode`;
* everything else stays the plain value that it is.

Nodes know nothing about a stack.  Whatever depends on one (parameters, the
state of resources, conditions) comes with the ``scope`` given to each method:

* ``resolve``       the value; Ellipsis for an item that shall vanish
* ``prepare``       raises what cannot be known before conditions are decided
* ``validate``      raises ``StackValidationFailed`` with the path to the place
* ``dependencies``  names of the resources referred to, each checked to exist
* ``dep_attrs``     (resource name, attribute) pairs referred to

A part of a template that is wrong in itself becomes a :class:`Broken` node
that raises from ``prepare``, so that errors appear in the order of the
template and a wrong branch that no condition chooses harms nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from openkeel_heat.common import exceptions as exception

#: ``flags`` of a node and everything below it
UNSETTLED = 1  # has an ``if`` or a broken part: run ``prepare`` first
REFERS = 2  # refers to a resource
DYNAMIC = 4  # the references depend on the scope

#: value of an item that is to be left out
ABSENT = Ellipsis

_Class = TypeVar("_Class", bound=type)

SCALARS = frozenset((str, int, float, bool, type(None)))


class Node:
    """A compiled snippet with at least one function in it."""

    __slots__ = ("flags",)

    flags: int

    def resolve(self, scope: Any) -> Any:
        raise NotImplementedError

    def prepare(self, scope: Any) -> None:
        raise NotImplementedError

    def validate(self, scope: Any, path: list[Any]) -> None:
        raise NotImplementedError

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        raise NotImplementedError

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        raise NotImplementedError

    def collect_references(self, names: set[Any]) -> bool:
        """Add the names of the resources referred to; False if they depend on the scope."""
        return False

    def render(self, scope: Any) -> Any:
        """The raw snippet again, with conditional parts decided."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(raw(self))


class MapNode(Node, Mapping):  # type: ignore[type-arg]
    """A map with a function somewhere below."""

    __slots__ = ("children",)

    def __init__(self, children: dict[Any, Any], flags: int) -> None:
        self.children = children
        self.flags = flags

    def __getitem__(self, key: Any) -> Any:
        return self.children[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)

    def resolve(self, scope: Any) -> dict[Any, Any]:
        out = {}
        for key, child in self.children.items():
            value = child.resolve(scope) if isinstance(child, Node) else copy_plain(child)
            if value is not ABSENT:
                out[key] = value
        return out

    def prepare(self, scope: Any) -> None:
        for child in self.children.values():
            if isinstance(child, Node) and child.flags & UNSETTLED:
                child.prepare(scope)

    def validate(self, scope: Any, path: list[Any]) -> None:
        for key, child in self.children.items():
            if isinstance(child, Node):
                child.validate(scope, path + [key])

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        for key, child in self.children.items():
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dependencies(scope, "%s.%s" % (path, key))

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        for child in self.children.values():
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dep_attrs(scope)

    def collect_references(self, names: set[Any]) -> bool:
        return all_static(self.children.values(), names)

    def render(self, scope: Any) -> dict[Any, Any]:
        out = {}
        for key, child in self.children.items():
            value = child.render(scope) if isinstance(child, Node) else copy_plain(child)
            if value is not ABSENT:
                out[key] = value
        return out


class ListNode(Node, Sequence):  # type: ignore[type-arg]
    """A list with a function somewhere below."""

    __slots__ = ("children",)

    def __init__(self, children: list[Any], flags: int) -> None:
        self.children = children
        self.flags = flags

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            part = self.children[index]
            return ListNode(part, flags_of_all(part))
        return self.children[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)

    def resolve(self, scope: Any) -> list[Any]:
        values = (child.resolve(scope) if isinstance(child, Node) else copy_plain(child) for child in self.children)
        return [value for value in values if value is not ABSENT]

    def prepare(self, scope: Any) -> None:
        for child in self.children:
            if isinstance(child, Node) and child.flags & UNSETTLED:
                child.prepare(scope)

    def validate(self, scope: Any, path: list[Any]) -> None:
        base, parent = (path[:-1], path[-1]) if path else ([], "")
        for index, child in enumerate(self.children):
            if isinstance(child, Node):
                child.validate(scope, base + ["%s[%d]" % (parent, index)])

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        for index, child in enumerate(self.children):
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dependencies(scope, "%s[%d]" % (path, index))

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        for child in self.children:
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dep_attrs(scope)

    def collect_references(self, names: set[Any]) -> bool:
        return all_static(self.children, names)

    def render(self, scope: Any) -> list[Any]:
        values = (child.render(scope) if isinstance(child, Node) else copy_plain(child) for child in self.children)
        return [value for value in values if value is not ABSENT]


class FunctionNode(Node):
    """A call of a template function.

    A subclass checks in :meth:`check` what is wrong whatever the scope may be
    (raising ValueError, TypeError or KeyError), and computes its value in
    :meth:`result`.
    """

    __slots__ = ("fn_name", "args")

    #: flags that the function has of itself
    own_flags = 0
    #: gets its arguments raw and compiles them itself
    is_macro = False
    #: has the place where it stands as ``path``, for errors that only a scope shows
    keeps_path = False

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, fn_name: str, args: Any, context: Any = None) -> None:
        self.fn_name = fn_name
        self.args = args
        self.flags = args.flags | self.own_flags if isinstance(args, Node) else self.own_flags
        self.check()

    def check(self) -> None:
        """Refuse arguments that can never be right."""

    def result(self, scope: Any) -> Any:
        raise NotImplementedError

    def validate_args(self, scope: Any) -> None:
        """Refuse arguments that are not right in this scope."""
        if isinstance(self.args, Node):
            self.args.validate(scope, [])

    def resolve(self, scope: Any) -> Any:
        return self.result(scope)

    def prepare(self, scope: Any) -> None:
        args = self.args
        if isinstance(args, Node) and args.flags & UNSETTLED:
            args.prepare(scope)

    def validate(self, scope: Any, path: list[Any]) -> None:
        try:
            self.validate_args(scope)
        except AssertionError:
            raise
        except Exception as exc:
            raise exception.StackValidationFailed(path=path + [self.fn_name], message=str(exc)) from exc

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        args = self.args
        if isinstance(args, Node) and args.flags & (REFERS | UNSETTLED):
            yield from args.dependencies(scope, "%s.%s" % (path, self.fn_name))

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        args = self.args
        if isinstance(args, Node) and args.flags & (REFERS | UNSETTLED):
            yield from args.dep_attrs(scope)

    def collect_references(self, names: set[Any]) -> bool:
        return type(self).dependencies is FunctionNode.dependencies and all_static((self.args,), names)

    def render(self, scope: Any) -> Any:
        args = self.args
        rendered = args.render(scope) if isinstance(args, Node) else copy_plain(args)
        return {self.fn_name: None if rendered is ABSENT else rendered}


class Broken(Node):
    """A part that cannot be compiled; raises its error when it is needed."""

    __slots__ = ("error", "raw")

    def __init__(self, error: exception.HeatException, raw: Any) -> None:
        self.error = error
        self.raw = raw
        self.flags = UNSETTLED

    def _fail(self) -> NoReturn:
        raise self.error.with_traceback(None)

    def resolve(self, scope: Any) -> Any:
        self._fail()

    def prepare(self, scope: Any) -> None:
        self._fail()

    def validate(self, scope: Any, path: list[Any]) -> None:
        self._fail()

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        self._fail()

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        self._fail()

    def render(self, scope: Any) -> Any:
        return copy_plain(self.raw)


class Bound:
    """A compiled value tied to a scope."""

    __slots__ = ("node", "scope")

    node: Any
    scope: Any

    def __init__(self, node: Node, scope: Any) -> None:
        self.node = node
        self.scope = scope

    def render(self) -> Any:
        """The raw snippet."""
        return self.node.render(self.scope)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.render()


def shown_as(name: str) -> Callable[[_Class], _Class]:
    """Name a class in messages as its users know the function."""

    def rename(cls: _Class) -> _Class:
        cls.__name__ = name
        return cls

    return rename


def raw(value: Any) -> Any:
    """The snippet that a compiled value was made of."""
    if isinstance(value, MapNode):
        return {key: raw(child) for key, child in value.children.items()}
    if isinstance(value, ListNode):
        return [raw(child) for child in value.children]
    if isinstance(value, FunctionNode):
        return {value.fn_name: raw(value.args)}
    return value.raw if isinstance(value, Broken) else value


def all_static(values: Iterable[Any], names: set[Any]) -> bool:
    """Add the names that compiled values refer to; False if one of them does not always refer to the same."""
    for value in values:
        if isinstance(value, Node) and value.flags & (REFERS | DYNAMIC | UNSETTLED):
            if value.flags & (DYNAMIC | UNSETTLED) or not value.collect_references(names):
                return False
    return True


def flags_of(value: Any) -> int:
    return value.flags if isinstance(value, Node) else 0


def flags_of_all(values: Iterable[Any]) -> int:
    flags = 0
    for value in values:
        if isinstance(value, Node):
            flags |= value.flags
    return flags


def is_list(value: Any) -> bool:
    """Whether a compiled value is a list (not merely a sequence)."""
    return isinstance(value, (list, ListNode))


def is_sequence(value: Any) -> bool:
    """Whether a value is a sequence but no text."""
    return isinstance(value, (list, ListNode, Sequence)) and not isinstance(value, str)


def copy_plain(value: Any) -> Any:
    """A fresh copy of plain data; bound parts are resolved, items to be left out are dropped."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is dict:
        out = {}
        for key, item in value.items():
            if type(item) in SCALARS:
                out[key] = item
                continue
            copied = copy_plain(item)
            if copied is not ABSENT:
                out[key] = copied
        return out
    if kind is list:
        return [item for item in map(copy_plain, value) if item is not ABSENT]
    if isinstance(value, Bound):
        return value.node.resolve(value.scope)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {k: v for k, v in ((k, copy_plain(v)) for k, v in value.items()) if v is not ABSENT}
    if hasattr(value, "result") and hasattr(value, "fn_name"):
        return value.result()
    if isinstance(value, Iterable):
        return [item for item in map(copy_plain, value) if item is not ABSENT]
    return value
