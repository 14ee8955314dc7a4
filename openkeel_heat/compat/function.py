# SPDX-License-Identifier: Apache-2.0
"""``heat.engine.function``: the bases of template functions that plug-ins write."""

from __future__ import annotations

import abc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from openkeel_heat.template import nodes
from openkeel_heat.template.nodes import all_dep_attrs, dep_attrs, dependencies, resolve, validate

__all__ = ["Function", "Macro", "all_dep_attrs", "dep_attrs", "dependencies", "resolve", "validate"]


class Function(abc.ABC):
    """``{fn_name: args}`` with a stack; a sub-class gives ``result()``."""

    def __init__(self, stack: Any, fn_name: str, args: Any) -> None:
        try:
            self._stackref = None if stack is None else weakref.ref(stack)
        except TypeError:  # an object that cannot be referred to weakly
            self._stackref = lambda: stack  # type: ignore[assignment]
        self.fn_name = fn_name
        self.args = args

    @property
    def stack(self) -> Any:
        return None if self._stackref is None else self._stackref()

    @abc.abstractmethod
    def result(self) -> Any:
        return {self.fn_name: self.args}

    def validate(self) -> None:
        nodes.validate(self.args)

    def dependencies(self, path: str) -> Iterator[Any]:
        return nodes.dependencies(self.args, f"{path}.{self.fn_name}")

    def dep_attrs(self, resource_name: str) -> Iterator[Any]:
        return nodes.dep_attrs(self.args, resource_name)

    def all_dep_attrs(self) -> Iterator[tuple[Any, Any]]:
        if type(self).dep_attrs is Function.dep_attrs:
            return nodes.all_dep_attrs(self.args)
        names = self.stack.enabled_rsrc_names()
        return ((name, attribute) for name in names for attribute in self.dep_attrs(name))

    def __eq__(self, other: object) -> bool:
        try:
            return bool(self.result() == (other.result() if isinstance(other, Function) else other))
        except (TypeError, ValueError):
            return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        try:
            result = repr(self.result())
        except (TypeError, ValueError):
            result = "???"
        return f"<{type(self).__module__}.{type(self).__name__} {{{self.fn_name}: {self.args!r}}} -> {result}>"


class Macro(Function):
    """A function that parses its arguments itself."""

    def __init__(
        self, stack: Any, fn_name: str, raw_args: Any, parse_func: Callable[[Any], Any], template: Any
    ) -> None:
        super().__init__(stack, fn_name, raw_args)
        self.template = template
        self.parsed = self.parse_args(parse_func)

    @abc.abstractmethod
    def parse_args(self, parse_func: Callable[[Any], Any]) -> Any:
        return parse_func(self.args)

    def validate(self) -> None:
        nodes.validate(self.parsed)

    def result(self) -> Any:
        return nodes.resolve(self.parsed, nullable=True)

    def dependencies(self, path: str) -> Iterator[Any]:
        return nodes.dependencies(self.parsed, f"{path}.{self.fn_name}")

    def dep_attrs(self, resource_name: str) -> Iterator[Any]:
        return nodes.dep_attrs(self.parsed, resource_name)
