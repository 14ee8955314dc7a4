# SPDX-License-Identifier: Apache-2.0
"""From raw snippets to nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template.bound import bind, prepare, render
from openkeel_heat.template.node_types import (
    DYNAMIC,
    REFERS,
    SCALARS,
    UNSETTLED,
    Bound,
    Broken,
    FunctionNode,
    ListNode,
    MapNode,
    Node,
)

Path = tuple[Any, ...]
FunctionTable = Mapping[Any, Any]


class CompileContext:
    """What the compiler has to know about the template."""

    __slots__ = ("functions", "condition_functions", "is_resource")

    def __init__(
        self,
        functions: FunctionTable,
        condition_functions: FunctionTable | None = None,
        is_resource: Callable[[Any], bool] | None = None,
    ) -> None:
        self.functions = functions
        self.condition_functions = {} if condition_functions is None else condition_functions
        self.is_resource = is_resource if is_resource is not None else (lambda name: True)

    def for_conditions(self) -> CompileContext:
        return CompileContext(self.condition_functions, self.condition_functions, self.is_resource)


class Invalid(FunctionNode):
    """Stands in a table for functions that may not be used there."""

    def check(self) -> None:
        raise ValueError(_('The function "%s" is invalid in this context') % self.fn_name)


def compile_snippet(snippet: Any, context: CompileContext, path: str = "") -> Any:
    """Compile a raw snippet; ``path`` names it in errors."""
    return _compile(snippet, context, (None, path))


def compile_condition(snippet: Any, context: CompileContext, path: str = "") -> Any:
    """Compile a snippet where only condition functions are allowed."""
    return _compile(snippet, context.for_conditions(), (None, path))


def _path_text(path: Path) -> str:
    parts: list[str] = []
    cursor: Any = path
    while cursor[0] is not None:
        key = cursor[1]
        parts.append("[%d]" % key[0] if type(key) is tuple else ".%s" % (key,))
        cursor = cursor[0]
    parts.append(cursor[1])
    return "".join(reversed(parts))


def _compile(snippet: Any, context: CompileContext, path: Path) -> Any:
    kind = type(snippet)
    if kind in SCALARS:
        return snippet
    if kind is dict:
        return _compile_map(snippet, context, path)
    if kind is list:
        return _compile_list(snippet, context, path)
    if isinstance(snippet, (Node, str)):
        return snippet
    if isinstance(snippet, Bound):
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
    children: dict[Any, Any] | None = None
    flags = 0
    has_nodes = False
    for key, value in snippet.items():
        kind = type(value)
        if kind in SCALARS:
            continue
        if kind is dict:
            child = _compile_map(value, context, (path, key))
            if child is value:
                continue
        else:
            child = _compile(value, context, (path, key))
            if child is value and not isinstance(child, Node):
                continue
        if children is None:
            children = dict(snippet)
        children[key] = child
        if isinstance(child, Node):
            has_nodes = True
            flags |= child.flags
    return snippet if children is None or not has_nodes else MapNode(children, flags)


def _compile_list(snippet: list[Any], context: CompileContext, path: Path) -> Any:
    items = None
    flags = 0
    has_nodes = False
    for index, value in enumerate(snippet):
        if type(value) in SCALARS:
            continue
        item = _compile(value, context, (path, (index,)))
        if items is None:
            items = list(snippet)
        items[index] = item
        if isinstance(item, Node):
            has_nodes = True
            flags |= item.flags
    return snippet if items is None or not has_nodes else ListNode(items, flags)


_NATIVE, _MACRO, _FOREIGN, _FOREIGN_MACRO = range(4)


@functools.lru_cache(maxsize=1024)
def _kind_of(function: Any) -> int:
    """How an entry of a table of functions is used."""
    if isinstance(function, type) and issubclass(function, FunctionNode):
        return _MACRO if function.is_macro else _NATIVE
    if hasattr(function, "parse_args"):
        return _FOREIGN_MACRO
    return _NATIVE if getattr(function, "makes_node", False) else _FOREIGN


def _compile_call(function: Any, name: Any, raw_args: Any, context: CompileContext, path: Path) -> Any:
    kind = _kind_of(function)
    try:
        if kind == _MACRO:
            return function(name, (raw_args, _path_text(path)), context)
        if kind == _FOREIGN_MACRO:
            return ForeignMacro(name, raw_args, context, function, _path_text(path))
        args = raw_args if type(raw_args) in SCALARS else _compile(raw_args, context, path)
        if isinstance(args, Node) and args.flags & UNSETTLED:
            broken = first_broken(args)
            if broken is not None:
                return Broken(broken.error, {name: raw_args})
        if kind == _NATIVE:
            node = function(name, args, context)
            if getattr(node, "keeps_path", False):
                node.path = _path_text(path)
            return node
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

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        for found in self._made(scope).dependencies(path):
            yield getattr(found, "name", found)

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        yield from self._made(scope).all_dep_attrs()


class ForeignMacro(ForeignFunction):
    """A macro written for the interface of Heat."""

    own_flags = UNSETTLED | DYNAMIC | REFERS

    def __init__(
        self, fn_name: str, args: Any, context: CompileContext | None = None, factory: Any = None, path: str = ""
    ) -> None:
        self._context = context
        self._path = path
        super().__init__(fn_name, args, context, factory)

    def _made(self, scope: Any) -> Any:
        assert self._context is not None
        context = self._context

        def parse(snippet: Any, path: str = "") -> Any:
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
