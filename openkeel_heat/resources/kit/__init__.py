# SPDX-License-Identifier: Apache-2.0
"""The plugin kit: the interface that resource types are written against.

Importing it makes the types of this process known to environments (see :mod:`.registry`);
no type is imported before it is used.
"""

from __future__ import annotations

from openkeel_heat.resources.kit import registry

__all__ = ["registry"]
