# SPDX-License-Identifier: Apache-2.0
"""The client plugin of resources that talk to no service: it knows no error of any service."""
from __future__ import annotations

from typing import Any

from oslo_utils import excutils


class NoClientPlugin:
    """Answers what the kit asks of a client plugin without loading one."""

    service_types: list[str] = []

    def __init__(self, context: Any = None) -> None:
        self.context = context

    def is_not_found(self, ex: BaseException) -> bool:
        return False

    def is_over_limit(self, ex: BaseException) -> bool:
        return False

    def is_conflict(self, ex: BaseException) -> bool:
        return False

    def is_client_exception(self, ex: BaseException) -> bool:
        return False

    @excutils.exception_filter  # type: ignore[arg-type]
    def ignore_not_found(self, ex: BaseException) -> bool:
        return self.is_not_found(ex)

    @excutils.exception_filter  # type: ignore[arg-type]
    def ignore_conflict_and_not_found(self, ex: BaseException) -> bool:
        return self.is_conflict(ex) or self.is_not_found(ex)
