# SPDX-License-Identifier: Apache-2.0
"""Questions about the errors of a service, and what can be passed over.

As in::

    with plugin.ignore_not_found:
        plugin.client().delete(id)

the context passes over the errors which the question of its name answers with yes.
"""

from __future__ import annotations

from typing import Any

from oslo_utils import excutils


class ErrorTests:
    """Base of what knows the errors of a service; as it is here it knows none."""

    #: The module, or modules, with all errors that the client raises.
    exceptions_module: Any = None

    def is_client_exception(self, ex: BaseException) -> bool:
        modules = self.exceptions_module or []
        if not isinstance(modules, (list, tuple)):
            modules = [modules]
        return any(type(ex) in vars(module).values() for module in modules)

    def is_not_found(self, ex: BaseException) -> bool:
        return False

    def is_over_limit(self, ex: BaseException) -> bool:
        return False

    def is_conflict(self, ex: BaseException) -> bool:
        return False

    @excutils.exception_filter  # type: ignore[arg-type]
    def ignore_not_found(self, ex: BaseException) -> bool:
        """``with plugin.ignore_not_found:`` or ``plugin.ignore_not_found(error)``: raises every other error."""
        return self.is_not_found(ex)

    @excutils.exception_filter  # type: ignore[arg-type]
    def ignore_conflict_and_not_found(self, ex: BaseException) -> bool:
        return self.is_conflict(ex) or self.is_not_found(ex)
