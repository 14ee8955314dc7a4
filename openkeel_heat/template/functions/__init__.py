# SPDX-License-Identifier: Apache-2.0
"""The functions of the template language, one module per family.

Each class is a node of a compiled template (see
:mod:`openkeel_heat.template.nodes`); which of them a template version knows is
said in the tables of ``hot.functions`` and ``cfn.functions``.
"""

from __future__ import annotations

from openkeel_heat.template.nodes import (
    all_dep_attrs,
    bind,
    dep_attrs,
    dependencies,
    render,
    resolve,
    validate,
)

__all__ = ["all_dep_attrs", "bind", "dep_attrs", "dependencies", "render", "resolve", "validate"]
