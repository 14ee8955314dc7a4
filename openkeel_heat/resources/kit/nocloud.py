# SPDX-License-Identifier: Apache-2.0
"""The client plugin of resources that talk to no service: it knows no error of any service."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients.error_tests import ErrorTests


class NoClientPlugin(ErrorTests):
    """Answers what the kit asks of a client plugin without loading one."""

    service_types: list[str] = []

    def __init__(self, context: Any = None) -> None:
        self.context = context
