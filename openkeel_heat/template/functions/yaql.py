# SPDX-License-Identifier: Apache-2.0
"""The ``yaql`` function: a query over data, in a language of its own.

Expressions run in a helper process (:mod:`openkeel_heat.template.sandbox`);
the yaql library is only ever loaded there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits, sandbox
from openkeel_heat.template.nodes import FunctionNode, is_function, resolve


class Yaql(FunctionNode):
    """``yaql: {expression: ..., data: ...}``."""

    def check(self) -> None:
        if not isinstance(self.args, Mapping):
            raise TypeError(_('Arguments to "%s" must be a map.') % self.fn_name)
        try:
            self._expression = self.args["expression"]
            self._data = self.args.get("data", {})
            if set(self.args) - {"expression", "data"}:
                raise KeyError
        except (KeyError, TypeError):
            example = (
                """%s:
              expression: $.data.var1.sum()
              data:
                var1: [3, 2, 1]"""
            ) % self.fn_name
            raise KeyError(
                _('"%(name)s" syntax should be %(example)s') % {"name": self.fn_name, "example": example}
            ) from None

    def validate_args(self, scope: Any) -> None:
        super().validate_args(scope)
        if not is_function(self._expression):
            self._check_text(self._expression)
            self._run(False, self._expression, None)

    def _check_text(self, expression: Any) -> None:
        if not isinstance(expression, str):
            raise TypeError(_('The "expression" argument to %s must contain a string.') % self.fn_name)

    def result(self, scope: Any) -> Any:
        expression = resolve(self._expression, scope)
        self._check_text(expression)
        return self._run(True, expression, resolve(self._data, scope))

    @staticmethod
    def _run(evaluate: bool, expression: str, data: Any) -> Any:
        bounds = limits.current()
        return sandbox.run(
            _("The yaql expression"),
            "yaql",
            evaluate,
            expression,
            data,
            bounds.yaql_limit_iterators,
            bounds.yaql_memory_quota,
            bounds.max_value_size,
            bounds.max_collection_items,
        )
