# SPDX-License-Identifier: Apache-2.0
"""Functions that decide: conditions and what hangs on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits
from openkeel_heat.template.nodes import (
    ABSENT,
    DYNAMIC,
    REFERS,
    UNSETTLED,
    CompileContext,
    FunctionNode,
    all_dep_attrs,
    compile_condition,
    compile_snippet,
    dependencies,
    is_list,
    prepare,
    render,
    resolve,
    shown_as,
    validate,
)

#: how much faster a text is searched than a list of as many items
_ITEM = 8


class Equals(FunctionNode):
    """``equals: [value, value]``."""

    def check(self) -> None:
        try:
            if not self.args or not is_list(self.args):
                raise ValueError()
            self._first, self._second = self.args
        except ValueError:
            raise ValueError(_('Arguments to "%s" must be of the form: [value_1, value_2]') % self.fn_name) from None

    def result(self, scope: Any) -> bool:
        first, second = resolve(self._first, scope), resolve(self._second, scope)
        limits.charge_compared(self.fn_name, first, second)
        return bool(first == second)


class _Logic(FunctionNode):
    """A function whose arguments are conditions."""

    def check(self) -> None:
        if not isinstance(self.args, Sequence) or isinstance(self.args, str):
            raise ValueError(_('Arguments to "%s" must be a list of conditions') % self.fn_name)
        if len(self.args) < 2:
            raise ValueError(_('The minimum number of condition arguments to "%s" is 2.') % self.fn_name)

    @staticmethod
    def _holds(condition: Any, scope: Any) -> bool:
        if isinstance(condition, bool):
            return condition
        return bool(scope.conditions.is_enabled(condition))


class Not(_Logic):
    """``not: condition``."""

    def check(self) -> None:
        self._condition = self.args
        if self.args is None:
            raise ValueError(_('Argument to "%s" must be a condition') % self.fn_name)

    def result(self, scope: Any) -> bool:
        return not self._holds(resolve(self._condition, scope), scope)


@shown_as("Not")
class CfnNot(Not):
    """``Fn::Not: [condition]``."""

    def check(self) -> None:
        if not self.args or not isinstance(self.args, Sequence) or isinstance(self.args, str) or len(self.args) != 1:
            raise ValueError(_('Arguments to "%s" must be of the form: [condition]') % self.fn_name)
        self._condition = self.args[0]


class And(_Logic):
    """``and: [condition, condition, ...]``."""

    def result(self, scope: Any) -> bool:
        return all(self._holds(condition, scope) for condition in resolve(self.args, scope))


class Or(_Logic):
    """``or: [condition, condition, ...]``."""

    def result(self, scope: Any) -> bool:
        return any(self._holds(condition, scope) for condition in resolve(self.args, scope))


class If(FunctionNode):
    """``if: [condition, value if true, value if false]``.

    Only the branch that is chosen is ever compiled, so the other may be wrong.
    """

    is_macro = True
    own_flags = UNSETTLED | REFERS | DYNAMIC

    def __init__(self, fn_name: str, args: Any, context: CompileContext | None = None) -> None:
        assert context is not None
        raw_args, self._path = args
        self._context = context
        self.fn_name = fn_name
        self.args = raw_args
        self.flags = self.own_flags
        try:
            if not raw_args or not isinstance(raw_args, Sequence) or isinstance(raw_args, str):
                raise ValueError()
            condition, if_true, if_false = self._split(raw_args)
        except ValueError:
            raise ValueError(
                _('Arguments to "%s" must be of the form: [condition_name, value_if_true, value_if_false]') % fn_name
            ) from None
        self._raw = {True: if_true, False: if_false}
        self._compiled: dict[bool, Any] = {}
        self._condition = compile_condition(condition, context, fn_name)

    def _split(self, args: Sequence[Any]) -> Sequence[Any]:
        return args

    def chosen(self, scope: Any) -> Any:
        """The compiled branch that counts in this scope."""
        prepare(self._condition, scope)
        try:
            condition = resolve(self._condition, scope)
            if not isinstance(condition, bool):
                condition = scope.conditions.is_enabled(condition)
            branch = bool(condition)
        except (ValueError, TypeError, KeyError) as exc:
            raise exception.StackValidationFailed(path=self._path, message=str(exc)) from None
        if branch not in self._compiled:
            self._compiled[branch] = compile_snippet(self._raw[branch], self._context, self._path)
        return self._compiled[branch]

    def result(self, scope: Any) -> Any:
        return resolve(self.chosen(scope), scope, nullable=True)

    def prepare(self, scope: Any) -> None:
        prepare(self.chosen(scope), scope)

    def validate_args(self, scope: Any) -> None:
        validate(self.chosen(scope), None, scope)

    def dependencies(self, scope: Any, path: str = "") -> Iterator[str]:
        return dependencies(self.chosen(scope), "%s.%s" % (path, self.fn_name), scope)

    def dep_attrs(self, scope: Any) -> Iterator[tuple[Any, Any]]:
        return all_dep_attrs(self.chosen(scope), scope)

    def render(self, scope: Any) -> Any:
        return render(self.chosen(scope), scope)


class IfNullable(If):
    """``if`` that may lack its last branch: the item then vanishes."""

    def _split(self, args: Sequence[Any]) -> Sequence[Any]:
        if len(args) == 2:
            return [args[0], args[1], ABSENT]
        if len(args) != 3:
            raise ValueError()
        return args


class Contains(FunctionNode):
    """``contains: [value, sequence]``."""

    def check(self) -> None:
        if not self.args or not is_list(self.args):
            raise TypeError(
                _('Incorrect arguments to "%(fn_name)s" should be: %(example)s')
                % {"fn_name": self.fn_name, "example": '"%s" : [ "value1", [ "value1", "value2"]]' % self.fn_name}
            )
        try:
            self._value, self._sequence = self.args
        except ValueError:
            raise ValueError(
                _('Arguments to "%s" must be of the form: [value1, [value1, value2]]') % self.fn_name
            ) from None

    def result(self, scope: Any) -> bool:
        value = resolve(self._value, scope)
        sequence = resolve(self._sequence, scope)
        if not isinstance(sequence, Sequence):
            raise TypeError(_('Second argument to "%s" should be a sequence.') % self.fn_name)
        if isinstance(sequence, str):
            limits.charge_read(self.fn_name, len(sequence) // _ITEM)
        else:
            limits.charge(self.fn_name, len(sequence))
        return value in sequence
