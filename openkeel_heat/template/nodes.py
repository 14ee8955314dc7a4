# SPDX-License-Identifier: Apache-2.0
"""Compiled template snippets.

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
from openkeel_heat.common.i18n import _

#: ``flags`` of a node and everything below it
UNSETTLED = 1   # has an ``if`` or a broken part: run ``prepare`` first
REFERS = 2      # refers to a resource
DYNAMIC = 4     # the references depend on the scope

#: value of an item that is to be left out
ABSENT = Ellipsis

Path = tuple[Any, ...]
_Class = TypeVar('_Class', bound=type)
FunctionTable = Mapping[Any, Any]


class Node:
    """A compiled snippet with at least one function in it."""

    __slots__ = ('flags',)

    flags: int

    def resolve(self, scope: Any) -> Any:
        raise NotImplementedError

    def prepare(self, scope: Any) -> None:
        raise NotImplementedError

    def validate(self, scope: Any, path: list[Any]) -> None:
        raise NotImplementedError

    def dependencies(self, scope: Any, path: str = '') -> Iterator[str]:
        raise NotImplementedError

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        raise NotImplementedError

    def render(self, scope: Any) -> Any:
        """The raw snippet again, with conditional parts decided."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(raw(self))


class MapNode(Node, Mapping):  # type: ignore[type-arg]
    """A map with a function somewhere below."""

    __slots__ = ('children',)

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

    def dependencies(self, scope: Any, path: str = '') -> Iterator[str]:
        for key, child in self.children.items():
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dependencies(scope, '%s.%s' % (path, key))

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        for child in self.children.values():
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dep_attrs(scope)

    def render(self, scope: Any) -> dict[Any, Any]:
        out = {}
        for key, child in self.children.items():
            value = child.render(scope) if isinstance(child, Node) else copy_plain(child)
            if value is not ABSENT:
                out[key] = value
        return out


class ListNode(Node, Sequence):  # type: ignore[type-arg]
    """A list with a function somewhere below."""

    __slots__ = ('children',)

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
        base, parent = (path[:-1], path[-1]) if path else ([], '')
        for index, child in enumerate(self.children):
            if isinstance(child, Node):
                child.validate(scope, base + ['%s[%d]' % (parent, index)])

    def dependencies(self, scope: Any, path: str = '') -> Iterator[str]:
        for index, child in enumerate(self.children):
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dependencies(scope, '%s[%d]' % (path, index))

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        for child in self.children:
            if isinstance(child, Node) and child.flags & (REFERS | UNSETTLED):
                yield from child.dep_attrs(scope)

    def render(self, scope: Any) -> list[Any]:
        values = (child.render(scope) if isinstance(child, Node) else copy_plain(child) for child in self.children)
        return [value for value in values if value is not ABSENT]


class FunctionNode(Node):
    """A call of a template function.

    A subclass checks in :meth:`check` what is wrong whatever the scope may be
    (raising ValueError, TypeError or KeyError), and computes its value in
    :meth:`result`.
    """

    __slots__ = ('fn_name', 'args')

    #: flags that the function has of itself
    own_flags = 0
    #: gets its arguments raw and compiles them itself
    is_macro = False

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, fn_name: str, args: Any, context: CompileContext | None = None) -> None:
        self.fn_name = fn_name
        self.args = args
        self.flags = flags_of(args) | self.own_flags
        self.check()

    def check(self) -> None:
        """Refuse arguments that can never be right."""

    def result(self, scope: Any) -> Any:
        raise NotImplementedError

    def validate_args(self, scope: Any) -> None:
        """Refuse arguments that are not right in this scope."""
        validate(self.args, None, scope)

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

    def dependencies(self, scope: Any, path: str = '') -> Iterator[str]:
        args = self.args
        if isinstance(args, Node) and args.flags & (REFERS | UNSETTLED):
            yield from args.dependencies(scope, '%s.%s' % (path, self.fn_name))

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        args = self.args
        if isinstance(args, Node) and args.flags & (REFERS | UNSETTLED):
            yield from args.dep_attrs(scope)

    def render(self, scope: Any) -> Any:
        args = self.args
        return {self.fn_name: args.render(scope) if isinstance(args, Node) else copy_plain(args)}


class Broken(Node):
    """A part that cannot be compiled; raises its error when it is needed."""

    __slots__ = ('error', 'raw')

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

    def dependencies(self, scope: Any, path: str = '') -> Iterator[str]:
        self._fail()

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        self._fail()

    def render(self, scope: Any) -> Any:
        return copy_plain(self.raw)


class Invalid(FunctionNode):
    """Stands in a table for functions that may not be used there."""

    def check(self) -> None:
        raise ValueError(_('The function "%s" is invalid in this context') % self.fn_name)


class CompileContext:
    """What the compiler has to know about the template."""

    __slots__ = ('functions', 'condition_functions', 'is_resource')

    def __init__(self, functions: FunctionTable, condition_functions: FunctionTable | None = None,
                 is_resource: Callable[[Any], bool] | None = None) -> None:
        self.functions = functions
        self.condition_functions = {} if condition_functions is None else condition_functions
        self.is_resource = is_resource if is_resource is not None else (lambda name: True)

    def for_conditions(self) -> CompileContext:
        return CompileContext(self.condition_functions, self.condition_functions, self.is_resource)


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


def flags_of(value: Any) -> int:
    return value.flags if isinstance(value, Node) else 0


def flags_of_all(values: Iterable[Any]) -> int:
    flags = 0
    for value in values:
        if isinstance(value, Node):
            flags |= value.flags
    return flags


def is_function(value: Any) -> bool:
    """Whether a compiled or bound value is a call of a function."""
    return isinstance(value, (FunctionNode, BoundFunction))


def is_list(value: Any) -> bool:
    """Whether a compiled value is a list (not merely a sequence)."""
    return isinstance(value, (list, ListNode))


def is_sequence(value: Any) -> bool:
    """Whether a value is a sequence but no text."""
    return isinstance(value, (list, ListNode, Sequence)) and not isinstance(value, str)


def compile_snippet(snippet: Any, context: CompileContext, path: str = '') -> Any:
    """Compile a raw snippet; ``path`` names it in errors."""
    return _compile(snippet, context, (None, path))


def compile_condition(snippet: Any, context: CompileContext, path: str = '') -> Any:
    """Compile a snippet where only condition functions are allowed."""
    return _compile(snippet, context.for_conditions(), (None, path))


def _path_text(path: Path) -> str:
    parts: list[str] = []
    cursor: Any = path
    while cursor[0] is not None:
        key = cursor[1]
        parts.append('[%d]' % key[0] if type(key) is tuple else '.%s' % (key,))
        cursor = cursor[0]
    parts.append(cursor[1])
    return ''.join(reversed(parts))


_SCALARS = frozenset((str, int, float, bool, type(None)))


def _compile(snippet: Any, context: CompileContext, path: Path) -> Any:
    kind = type(snippet)
    if kind in _SCALARS:
        return snippet
    if kind is dict:
        return _compile_map(snippet, context, path)
    if kind is list:
        return _compile_list(snippet, context, path)
    if isinstance(snippet, (Node, str)):
        return snippet
    if isinstance(snippet, (BoundFunction, BoundMap, BoundList)):
        return _compile(snippet.render(), context, path)
    if isinstance(snippet, Mapping):
        return _compile_map(snippet, context, path)
    if isinstance(snippet, Iterable):
        return _compile_list(list(snippet), context, path)
    return snippet


def _compile_map(snippet: Mapping[Any, Any], context: CompileContext, path: Path) -> Any:
    if len(snippet) == 1:
        for name, args in snippet.items():
            function = context.functions.get(name)
            if function is not None:
                return _compile_call(function, name, args, context, (path, name))
    children = {}
    flags = 0
    has_nodes = False
    for key, value in snippet.items():
        if type(value) in _SCALARS:
            children[key] = value
            continue
        child = children[key] = _compile(value, context, (path, key))
        if isinstance(child, Node):
            has_nodes = True
            flags |= child.flags
    return MapNode(children, flags) if has_nodes else snippet


def _compile_list(snippet: list[Any], context: CompileContext, path: Path) -> Any:
    items = []
    flags = 0
    has_nodes = False
    for index, value in enumerate(snippet):
        if type(value) in _SCALARS:
            items.append(value)
            continue
        item = _compile(value, context, (path, (index,)))
        items.append(item)
        if isinstance(item, Node):
            has_nodes = True
            flags |= item.flags
    return ListNode(items, flags) if has_nodes else snippet


def _compile_call(function: Any, name: Any, raw_args: Any, context: CompileContext, path: Path) -> Any:
    native = isinstance(function, type) and issubclass(function, FunctionNode)
    try:
        if native and function.is_macro:
            return function(name, (raw_args, _path_text(path)), context)
        if not native and hasattr(function, 'parse_args'):
            return ForeignMacro(name, raw_args, context, function, _path_text(path))
        args = _compile(raw_args, context, path)
        if isinstance(args, Node) and args.flags & UNSETTLED:
            broken = first_broken(args)
            if broken is not None:
                return Broken(broken.error, {name: raw_args})
        if native or getattr(function, 'makes_node', False):
            return function(name, args, context)
        return ForeignFunction(name, args, context, function)
    except (ValueError, TypeError, KeyError) as exc:
        return Broken(exception.StackValidationFailed(path=_path_text(path), message=str(exc)), {name: raw_args})
    except exception.HeatException as exc:
        return Broken(exc, {name: raw_args})


def first_broken(value: Any) -> Broken | None:
    """The first broken part below a value, not looking into undecided branches."""
    if not isinstance(value, Node) or not value.flags & UNSETTLED:
        return None
    if isinstance(value, Broken):
        return value
    below: Iterable[Any] = ()
    if isinstance(value, MapNode):
        below = value.children.values()
    elif isinstance(value, ListNode):
        below = value.children
    elif isinstance(value, FunctionNode) and not value.is_macro:
        below = (value.args,)
    for child in below:
        found = first_broken(child)
        if found is not None:
            return found
    return None


def copy_plain(value: Any) -> Any:
    """A fresh copy of plain data; bound parts are resolved, items to be left out are dropped."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        out = {}
        for key, item in value.items():
            if type(item) in _SCALARS:
                out[key] = item
                continue
            copied = copy_plain(item)
            if copied is not ABSENT:
                out[key] = copied
        return out
    if kind is list:
        return [item for item in map(copy_plain, value) if item is not ABSENT]
    if isinstance(value, BoundFunction):
        return value.result()
    if isinstance(value, (BoundMap, BoundList)):
        return value.resolve()
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {k: v for k, v in ((k, copy_plain(v)) for k, v in value.items()) if v is not ABSENT}
    if hasattr(value, 'result') and hasattr(value, 'fn_name'):
        return value.result()
    if isinstance(value, Iterable):
        return [item for item in map(copy_plain, value) if item is not ABSENT]
    return value


def resolve(snippet: Any, scope: Any = None, nullable: bool = False) -> Any:
    """The value of a compiled, bound or plain snippet.

    An item that is to be left out is None, unless ``nullable`` lets it
    through as Ellipsis.
    """
    value = snippet.resolve(scope) if isinstance(snippet, Node) else copy_plain(snippet)
    if value is ABSENT and not nullable:
        return None
    return value


def prepare(snippet: Any, scope: Any) -> None:
    """Raise the errors that show when conditions are decided."""
    if isinstance(snippet, Node) and snippet.flags & UNSETTLED:
        snippet.prepare(scope)


def validate(snippet: Any, path: Any = None, scope: Any = None) -> None:
    """Validate every function of a snippet."""
    where: list[Any] = [] if path is None else [path] if isinstance(path, str) else list(path)
    if isinstance(snippet, Node):
        snippet.validate(scope, where)
    elif isinstance(snippet, (BoundFunction, BoundMap, BoundList)):
        snippet.node.validate(snippet.scope, where)
    elif isinstance(snippet, Mapping):
        for key, value in snippet.items():
            validate(value, where + [key], scope)
    elif is_sequence(snippet):
        base, parent = (where[:-1], where[-1]) if where else ([], '')
        for index, value in enumerate(snippet):
            validate(value, base + ['%s[%d]' % (parent, index)], scope)


def dependencies(snippet: Any, path: str = '', scope: Any = None) -> Iterator[str]:
    """Names of the resources that a snippet refers to."""
    if isinstance(snippet, Node):
        yield from snippet.dependencies(scope, path)
    elif isinstance(snippet, (BoundFunction, BoundMap, BoundList)):
        yield from snippet.node.dependencies(snippet.scope, path)
    elif isinstance(snippet, Mapping):
        for key, value in snippet.items():
            yield from dependencies(value, '%s.%s' % (path, key), scope)
    elif is_sequence(snippet):
        for index, value in enumerate(snippet):
            yield from dependencies(value, '%s[%d]' % (path, index), scope)


def all_dep_attrs(snippet: Any, scope: Any = None) -> Iterator[tuple[Any, Any]]:
    """(resource name, attribute) pairs that a snippet refers to."""
    if isinstance(snippet, Node):
        yield from snippet.dep_attrs(scope)
    elif isinstance(snippet, (BoundFunction, BoundMap, BoundList)):
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
    if isinstance(snippet, (BoundFunction, BoundMap, BoundList)):
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
    return BoundFunction(snippet, scope)


class _Bound:
    __slots__ = ('node', 'scope')

    node: Any
    scope: Any

    def __init__(self, node: Node, scope: Any) -> None:
        self.node = node
        self.scope = scope

    def render(self) -> Any:
        return self.node.render(self.scope)

    def _other(self, other: Any) -> Any:
        return resolve(other)

    def __eq__(self, other: object) -> bool:
        try:
            return bool(resolve(self) == resolve(other))
        except (TypeError, ValueError):
            return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: Any) -> Any:
        return self.render()


class BoundFunction(_Bound):
    """A function call tied to a scope; what plugins see as a Function object."""

    __slots__ = ()

    @property
    def fn_name(self) -> str:
        return getattr(self.node, 'fn_name', '')

    @property
    def args(self) -> Any:
        return bind(getattr(self.node, 'args', None), self.scope)

    @property
    def stack(self) -> Any:
        return self.scope

    def result(self) -> Any:
        return self.node.resolve(self.scope)

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
        return '<Bound %r>' % (self.node,)


class BoundMap(_Bound, Mapping):  # type: ignore[type-arg]
    """A map tied to a scope; its items are bound when they are looked at."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return bind(self.node.children[key], self.scope)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.node.children)

    def __len__(self) -> int:
        return len(self.node.children)

    def resolve(self) -> Any:
        return self.node.resolve(self.scope)

    def __repr__(self) -> str:
        return repr(self.node.children)


class BoundList(_Bound, Sequence):  # type: ignore[type-arg]
    """A list tied to a scope."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return bind(self.node[index], self.scope)

    def __len__(self) -> int:
        return len(self.node.children)

    def resolve(self) -> Any:
        return self.node.resolve(self.scope)

    def __repr__(self) -> str:
        return repr(self.node.children)


class ForeignFunction(FunctionNode):
    """A function written for the interface of Heat: made anew with a stack at each use."""

    own_flags = DYNAMIC | REFERS

    def __init__(self, fn_name: str, args: Any, context: CompileContext | None = None, factory: Any = None) -> None:
        self.factory = factory
        super().__init__(fn_name, args, context)

    def _made(self, scope: Any) -> Any:
        return self.factory(scope, self.fn_name, bind(self.args, scope))

    def result(self, scope: Any) -> Any:
        return self._made(scope).result()

    def validate_args(self, scope: Any) -> None:
        self._made(scope).validate()

    def dependencies(self, scope: Any, path: str = '') -> Iterator[str]:
        for found in self._made(scope).dependencies(path):
            yield getattr(found, 'name', found)

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        yield from self._made(scope).all_dep_attrs()


class ForeignMacro(ForeignFunction):
    """A macro written for the interface of Heat."""

    own_flags = UNSETTLED | DYNAMIC | REFERS

    def __init__(self, fn_name: str, args: Any, context: CompileContext | None = None, factory: Any = None,
                 path: str = '') -> None:
        self._context = context
        self._path = path
        super().__init__(fn_name, args, context, factory)

    def _made(self, scope: Any) -> Any:
        assert self._context is not None
        context = self._context

        def parse(snippet: Any, path: str = '') -> Any:
            node = compile_snippet(snippet, context, path or self._path)
            prepare(node, scope)
            return bind(node, scope)

        return self.factory(scope, self.fn_name, self.args, parse, scope.t)

    def prepare(self, scope: Any) -> None:
        try:
            self._made(scope)
        except (ValueError, TypeError, KeyError) as exc:
            raise exception.StackValidationFailed(path=self._path, message=str(exc)) from exc

    def render(self, scope: Any) -> Any:
        return render(self._made(scope).parsed)
