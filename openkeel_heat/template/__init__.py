# SPDX-License-Identifier: Apache-2.0
"""The template language: pure, compiled once per template, resolved as often as needed.

Nothing in here does I/O, reads configuration or looks at a clock.  Start with
:mod:`.template` (what a template is), :mod:`.nodes` (what it is compiled to) and
:mod:`.scope` (what functions see of a stack).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openkeel_heat.template.template import Template

__all__ = ["Template"]


def __getattr__(name: str) -> Any:
    if name == "Template":
        from openkeel_heat.template.template import Template

        return Template
    raise AttributeError(name)
