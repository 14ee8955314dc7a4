# SPDX-License-Identifier: Apache-2.0
"""A template as one stack sees it: parameters given, conditions decided, references resolvable.

:class:`StackDefinition` is the scope of template functions; only what arrived as NodeData is known of a resource, and nothing
here reads the database. What is the same for every node of a traversal (parameters, conditions, and, where the template is
static, which attributes are wanted of which resource) is made once by :class:`SharedDefinition`, which
:mod:`openkeel_heat.engine.stack` keeps in a bounded cache.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.engine.node_data import NodeData
from openkeel_heat.template import scope

if TYPE_CHECKING:
    from openkeel_heat.engine.parent import ParentResourceProxy
    from openkeel_heat.template import Template


class SharedDefinition:
    """What a template means with the parameters of a stack, without any resource's state."""

    __slots__ = ("template", "identifier", "parameters", "enabled", "wanted")

    def __init__(self, template: Template, identifier: Any) -> None:
        self.template = template
        self.identifier = identifier
        self.parameters = template.parameters(identifier, template.env.params, template.env.param_defaults)
        #: name -> whether its condition holds
        self.enabled: dict[str, bool] = {}
        #: index of wanted attributes, while it does not hang on resources' data
        self.wanted: Any = None


class StackDefinition(scope.StackDefinition):
    """The scope of one stack with the knowledge of one node."""

    def __init__(self, context: Any, shared: SharedDefinition, resource_data: Mapping[str, NodeData] | None = None,
                 parent: ParentResourceProxy | None = None, zones: Callable[[], list[str]] | None = None) -> None:
        # not super().__init__: parameters and conditions are shared, all else is made when it is asked for
        self.shared = shared
        self._template = shared.template
        self._identifier = shared.identifier
        self._resource_data = dict(resource_data or {})
        self._parent_resource = parent
        self._zones_source = zones or self._nova_zones
        self._zones = None
        self._context = context
        self.parameters = shared.parameters
        self._conditions = None
        self._bound = {}
        self._enabled = shared.enabled
        self._all_bound = False
        self._outputs = None
        self._wanted = shared.wanted
        self._proxies = {}

    def _nova_zones(self) -> list[str]:
        nova = self._context.clients.client("nova")
        return [zone.zoneName for zone in nova.availability_zones.list(detailed=False)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.resource_definitions())

    def bound(self, name: str) -> Any:
        """The definition of an enabled resource, as its plugin gets it; KeyError for any other name."""
        return self.resource_definition(name)

    def outputs(self) -> dict[str, Any]:
        """Output definitions whose condition holds, by name."""
        return dict(self._output_definitions())

    def _wanted_index(self) -> Any:
        if self._wanted is None:
            self._wanted = super()._wanted_index()
            if self._template.static_references:
                self.shared.wanted = self._wanted
        return self._wanted

    def all_data(self) -> dict[Any, NodeData]:
        return dict(self._resource_data)

    def data_of(self, name: str) -> NodeData | None:
        return self._resource_data.get(name)

    def set_data(self, data: Iterable[NodeData]) -> None:
        """Let functions see new state of resources."""
        for one in data:
            self._resource_data[one.name] = one
            self._proxies.pop(str(one.name), None)
        if not self._template.static_references:
            self._wanted = None
        self._outputs = None

    def update_resource_data(self, resource_name: str, resource_data: NodeData | None) -> None:
        if resource_data is None:
            self._resource_data.pop(resource_name, None)
            self._proxies.pop(resource_name, None)
        else:
            self.set_data([resource_data])

    def with_shared(self, shared: SharedDefinition, keep_data: bool = True) -> StackDefinition:
        """The same inputs under another template or other parameters."""
        return StackDefinition(self._context, shared, self._resource_data if keep_data else None,
                               self._parent_resource, self._zones_source)

    def clone_with_new_template(self, new_template: Any, identifier: Any,
                                clear_resource_data: bool = False) -> StackDefinition:
        return self.with_shared(SharedDefinition(new_template, identifier), not clear_resource_data)
