# SPDX-License-Identifier: Apache-2.0
"""Groups of parameters, which only a user interface looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _

PARAMETER_GROUPS = "parameter_groups"
PARAMETERS = "parameters"


class ParameterGroups:
    """The groups of a template."""

    def __init__(self, tmpl: Any) -> None:
        self.tmpl = tmpl
        self.parameters = tmpl.parameters(None, {}, param_defaults={})
        self.parameter_names = list(self.parameters or ())
        self.parameter_groups = tmpl.get(PARAMETER_GROUPS)

    def validate(self) -> None:
        """Check that every name is a parameter's and in one group only."""
        groups = self.parameter_groups
        if not groups:
            return
        if not isinstance(groups, list):
            raise self._error(None, _("The %s should be a list.") % PARAMETER_GROUPS)
        grouped: list[Any] = []
        for group in groups:
            if not isinstance(group, Mapping):
                raise self._error(None, _("Each of the %s should be a map.") % PARAMETER_GROUPS)
            names = group.get(PARAMETERS)
            if names is None:
                raise self._error(group, _("The %s must be provided for each parameter group.") % PARAMETERS)
            if not isinstance(names, list):
                raise self._error(group, _("The %s of parameter group should be a list.") % PARAMETERS)
            for name in names:
                if name in grouped:
                    raise self._error(group, _("The %s parameter must be assigned to one parameter group only.") % name)
                grouped.append(name)
                if name not in self.parameter_names:
                    raise self._error(group, _("The grouped parameter %s does not reference a valid parameter.") % name)

    @staticmethod
    def _error(group: Any, message: str) -> exception.StackValidationFailed:
        path = [PARAMETER_GROUPS] if group is None else [PARAMETER_GROUPS, group.get("label", "")]
        return exception.StackValidationFailed(error=_("Parameter Groups error"), path=path, message=message)
