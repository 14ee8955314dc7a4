# SPDX-License-Identifier: Apache-2.0
"""Short ways to make templates and stacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.template import Template, text
from openkeel_heat.template.environment import Environment
from openkeel_heat.template.node_data import NodeData
from openkeel_heat.template.scope import StackDefinition

HOT = "heat_template_version: 2021-04-16\n"


def template(source: str, files: Mapping[str, str] | None = None, **params: Any) -> Template:
    """A HOT template from the text after its version."""
    return Template(text.parse(HOT + source), files=files, env=Environment({"parameters": params}))


def stack(source: str, data: Mapping[str, NodeData] | None = None, **params: Any) -> StackDefinition:
    return StackDefinition(template(source, **params), resource_data=data)


def node(name: str, action: str = "CREATE", status: str = "COMPLETE", ref: Any = None, **attrs: Any) -> NodeData:
    return NodeData(1, name, "uuid", ref or name + "-id", attrs, action, status)


def value(snippet: Any, source: str = "", data: Mapping[str, NodeData] | None = None, **params: Any) -> Any:
    """What a snippet resolves to in a stack."""
    from openkeel_heat.template import nodes

    scope = stack(source, data, **params)
    return nodes.resolve(scope.t.parse(scope, snippet, "here"))
