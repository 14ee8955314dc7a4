# SPDX-License-Identifier: Apache-2.0
"""Every function call of a template, with what it refers to and what is wrong with it.

A call is checked by compiling it as the service does; a call that depends on
nothing but what stands in the template is even run.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.lint.finding import Path, path_text
from openkeel_heat.template import nodes, template as template_module
from openkeel_heat.template.functions import conditions, references

PARAMETER, RESOURCE, CONDITION, ANY = "parameter", "resource", "condition", "any"

_NEEDS_STACK = (
    references.GetParam,
    references.ParamRef,
    references.GetResource,
    references.GetAttThenSelect,
    references.GetFile,
    references.ResourceFacade,
    references.GetAZs,
    references.Removed,
)
_LOGIC = (conditions.And, conditions.Or, conditions.Not)


@dataclasses.dataclass(frozen=True)
class Owner:
    """The part of a template that a call stands in."""

    #: ``resource``, ``output`` or ``condition``, and its name
    kind: str
    name: Any
    #: ``properties``, ``metadata`` ...: makes the resource wait for what the call refers to
    orders: bool = False


@dataclasses.dataclass
class Call:
    """One function call."""

    path: Path
    name: str
    args: Any
    function: Any
    owner: Owner
    in_condition: bool
    #: stands in a branch of an ``if``
    conditional: bool
    #: why it can never work
    error: str | None = None
    #: its value if that depends on nothing
    constant: Any = nodes.ABSENT

    def is_a(self, *kinds: Any) -> bool:
        return isinstance(self.function, type) and issubclass(self.function, kinds)

    @property
    def args_path(self) -> Path:
        return (*self.path, self.name)


@dataclasses.dataclass(frozen=True)
class Reference:
    """A name of something else in the template; None where a function decides which."""

    kind: str
    name: str | None
    path: Path
    owner: Owner
    conditional: bool
    #: of a reference to an attribute: its name and the rest of the path
    attribute: Any = None
    attribute_path: Any = ()


class _Anything:
    """A resource of which everything is known to be right."""

    def __init__(self, name: Any) -> None:
        self.name = name

    @property
    def attributes_schema(self) -> _Anything:
        return self

    def __contains__(self, name: object) -> bool:
        return True


class _Scope:
    """A stack in which every reference is right: what is wrong in it is wrong in the call itself."""

    def __init__(self, template: Any) -> None:
        self.t = template

    def resource(self, name: Any) -> _Anything:
        return _Anything(name)


def as_call(value: Any, functions: Mapping[Any, Any]) -> tuple[str, Any] | None:
    """Name and arguments if the value is a call of one of the functions."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, args),) = value.items()
        if isinstance(name, str) and name in functions:
            return name, args
    return None


def contains_call(value: Any, functions: Mapping[Any, Any]) -> bool:
    """Whether a part of the value, or all of it, is a call."""
    if as_call(value, functions):
        return True
    below = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(contains_call(item, functions) for item in below)


@functools.lru_cache(maxsize=1)
def functions_of_all_versions() -> dict[str, frozenset[str]]:
    """For each function of the language the versions that have it, as a value or in conditions."""
    found: dict[str, set[str]] = {}
    for key, value in template_module.template_classes():
        if not value[0].isdigit():
            continue
        cls = template_module.get_template_class({key: value})
        for name, function in {**cls.functions, **cls.condition_functions}.items():
            if function is not references.Removed:
                found.setdefault(name, set()).add(value)
    return {name: frozenset(versions) for name, versions in found.items()}


def _words(message: Any) -> str:
    """An error as a line of text; errors about keys come as literals of Python."""
    text = str(message)
    if text[:1] in "'\"" and text[:1] == text[-1:]:
        try:
            text = str(ast.literal_eval(text))
        except (ValueError, SyntaxError):
            pass
    return " ".join(text.split())


@dataclasses.dataclass(frozen=True)
class _Place:
    owner: Owner
    in_condition: bool = False
    conditional: bool = False


class Calls:
    """The calls and references of a template."""

    def __init__(self, template: Any) -> None:
        self._template = template
        self._scope = _Scope(template)
        self._context = template.compile_context
        self.functions: Mapping[str, Any] = self._context.functions
        self.condition_functions: Mapping[str, Any] = self._context.condition_functions
        self.calls: list[Call] = []
        self.references: list[Reference] = []
        #: constant values of calls, by path
        self.constants: dict[Path, Any] = {}
        #: maps with one key that is no function of this version, where a value stands
        self.single_keys: list[tuple[Path, str, _Place]] = []

    def values(self, snippet: Any, path: Path, owner: Owner) -> None:
        """Look through a snippet."""
        self._walk(snippet, path, _Place(owner))

    def condition(self, snippet: Any, path: Path, owner: Owner, conditional: bool = False) -> None:
        """Look through a snippet in whose place a condition stands; a text is the name of one."""
        self._condition(snippet, path, _Place(owner, in_condition=True, conditional=conditional))

    def depends_on(self, names: Any, path: Path, owner: Owner) -> None:
        """Look through the explicit dependencies of a resource."""
        if isinstance(names, str):
            self.references.append(Reference(RESOURCE, names, path, owner, False))
        elif isinstance(names, list):
            for index, name in enumerate(names):
                if isinstance(name, str):
                    self.references.append(Reference(RESOURCE, name, (*path, index), owner, False))

    def _condition(self, snippet: Any, path: Path, place: _Place) -> tuple[bool, bool]:
        if isinstance(snippet, str):
            self._refer(CONDITION, snippet, path, place)
            return True, False
        return self._walk(snippet, path, place)

    def _refer(self, kind: str, name: Any, path: Path, place: _Place, **more: Any) -> None:
        self.references.append(
            Reference(kind, name if isinstance(name, str) else None, path, place.owner, place.conditional, **more)
        )

    def _walk(self, snippet: Any, path: Path, place: _Place) -> tuple[bool, bool]:
        """Whether all is right below, and whether all of it is constant."""
        if isinstance(snippet, Mapping):
            call = as_call(snippet, self.condition_functions if place.in_condition else self.functions)
            if call is not None:
                return self._call(snippet, call[0], call[1], path, place)
            if len(snippet) == 1 and isinstance(next(iter(snippet)), str):
                self.single_keys.append((path, next(iter(snippet)), place))
            items: Any = snippet.items()
        elif isinstance(snippet, list):
            items = enumerate(snippet)
        else:
            return True, True
        sound = constant = True
        for key, value in items:
            below = self._walk(value, (*path, key), place)
            sound, constant = sound and below[0], constant and below[1]
        return sound, constant

    def _call(self, snippet: Any, name: str, args: Any, path: Path, place: _Place) -> tuple[bool, bool]:
        function = (self.condition_functions if place.in_condition else self.functions)[name]
        call = Call(path, name, args, function, place.owner, place.in_condition, place.conditional)
        self.calls.append(call)
        sound, constant = self._arguments(call, place)
        constant = constant and not call.is_a(*_NEEDS_STACK, conditions.If, *_LOGIC) and function is not references.Ref
        if sound:
            self._check(call, snippet, constant)
        self._note_references(call, place)
        return sound and call.error is None, constant and call.error is None

    def _arguments(self, call: Call, place: _Place) -> tuple[bool, bool]:
        path = call.args_path
        args = call.args
        if call.is_a(conditions.If) and isinstance(args, list) and args:
            self._condition(args[0], (*path, 0), dataclasses.replace(place, in_condition=True))
            branch = dataclasses.replace(place, conditional=True)
            for index, value in enumerate(args[1:], 1):
                self._walk(value, (*path, index), branch)
            return True, False
        if call.is_a(*_LOGIC):
            if isinstance(args, list):
                found = [self._condition(value, (*path, index), place) for index, value in enumerate(args)]
                return all(item[0] for item in found), False
            return self._condition(args, path, place)
        return self._walk(args, path, place)

    def _shows_in_a_stack(self, call: Call) -> bool:
        """Whether only a stack can tell if the call is right: that of an attribute whose name is computed."""
        return call.is_a(references.Removed) or (
            call.is_a(references.GetAttThenSelect) and contains_call(call.args, self.functions)
        )

    def _check(self, call: Call, snippet: Any, constant: bool) -> None:
        if call.is_a(references.GetAttThenSelect) and isinstance(call.args, str):
            # the language takes a text for a list of letters
            call.error = 'Argument to "%s" must be a list' % call.name
            return
        context = self._context.for_conditions() if call.in_condition else self._context
        try:
            node = nodes.compile_snippet(snippet, context, path_text(call.path))
            if isinstance(node, nodes.Broken):
                raise node.error
            if not nodes.flags_of(node) & nodes.UNSETTLED and not self._shows_in_a_stack(call):
                node.validate(self._scope, [])
                if constant:
                    call.constant = self.constants[call.path] = nodes.resolve(node, self._scope)
        except exception.StackValidationFailed as exc:
            call.error = _words(getattr(exc, "error_message", None) or str(exc))
        except KeyError as exc:
            if not call.is_a(references.FindInMap):
                # what mappings lack is for a rule on references
                call.error = "%s: there is no %s" % (call.name, exc)
        except Exception as exc:
            call.error = str(exc)
        if call.error is None:
            call.error = self._wrong_argument(call)

    def _wrong_argument(self, call: Call) -> str | None:
        """What only a stack would tell of an argument that stands in the template."""
        args = call.args
        if contains_call(args, self.functions):
            return None
        if call.is_a(references.GetFile) and not isinstance(args, str):
            return 'Argument to "%s" must be a string' % call.name
        if call.is_a(references.GetParam) and not args:
            return 'Function "%s" must have arguments' % call.name
        if call.is_a(references.GetParam) and not isinstance(args, (str, list)):
            return 'Argument to "%s" must be string or list' % call.name
        if call.is_a(references.GetParam) and isinstance(args, list) and not isinstance(args[0], str):
            return 'Parameter name in "%s" must be string' % call.name
        return None

    def _note_references(self, call: Call, place: _Place) -> None:
        args, path = call.args, call.args_path
        if call.is_a(references.GetParam):
            if isinstance(args, list) and args:
                self._refer(PARAMETER, args[0], (*path, 0), place)
            else:
                self._refer(PARAMETER, args, path, place)
        elif call.is_a(references.ParamRef):
            self._refer(PARAMETER, args, path, place)
        elif call.function is references.Ref:
            self._refer(ANY, args, path, place)
        elif call.is_a(references.GetResource):
            self._refer(RESOURCE, args, path, place)
        elif call.is_a(references.GetAttThenSelect) and isinstance(args, list) and args:
            self._refer(
                RESOURCE,
                args[0],
                (*path, 0),
                place,
                attribute=args[1] if len(args) > 1 else None,
                attribute_path=tuple(args[2:]),
            )

    def of_kind(self, *kinds: Any) -> Iterator[Call]:
        return (call for call in self.calls if call.is_a(*kinds))
