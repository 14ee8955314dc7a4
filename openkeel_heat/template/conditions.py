# SPDX-License-Identifier: Apache-2.0
"""Named conditions of a template, decided when they are first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits, nodes


class Conditions:
    """The conditions of a template in one scope."""

    def __init__(self, conditions: Mapping[str, Any], scope: Any = None) -> None:
        assert isinstance(conditions, Mapping)
        self._conditions = conditions
        self._scope = scope
        self._resolved: dict[str, bool] = {}
        self._in_progress: set[str] = set()

    def validate(self) -> None:
        """Validate every condition without deciding any."""
        for name, condition in self._conditions.items():
            self._check_type(name, condition)
            nodes.validate(condition, None, self._scope)

    @staticmethod
    def _check_type(name: str, condition: Any) -> None:
        if not (isinstance(condition, bool) or nodes.is_function(condition)):
            raise exception.StackValidationFailed(
                error="Condition validation error",
                message=_('The definition of condition "%(cd)s" is invalid: %(definition)s')
                % {"cd": name, "definition": condition},
            )

    def is_enabled(self, condition: Any) -> bool:
        """Whether a condition, by name or value, holds; None always does."""
        if condition is None:
            return True
        if isinstance(condition, bool):
            return condition
        if not isinstance(condition, str) or condition not in self._conditions:
            raise ValueError(_('Invalid condition "%s"') % condition)
        if condition in self._resolved:
            return self._resolved[condition]
        if condition in self._in_progress:
            raise exception.StackValidationFailed(
                error="Condition validation error", message=_('Circular definition for condition "%s"') % condition
            )
        if len(self._in_progress) >= limits.current().max_nesting:
            raise exception.RequestLimitExceeded(message=_("Too many conditions hang on each other."))
        self._check_type(condition, self._conditions[condition])
        self._in_progress.add(condition)
        try:
            value = nodes.resolve(self._conditions[condition], self._scope)
            self._check_type(condition, value)
        finally:
            self._in_progress.discard(condition)
        self._resolved[condition] = value
        return bool(value)

    def __repr__(self) -> str:
        return "Conditions(%r)" % self._conditions
