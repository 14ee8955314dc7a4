# SPDX-License-Identifier: Apache-2.0
"""A template as one stack sees it: parameters given, conditions decided, references resolvable.

:class:`StackDefinition` is the scope of template functions; only what arrived as NodeData is known of a resource, and
nothing here reads the database. What is the same for every node of a traversal (parameters, conditions, which
attributes are wanted of which resource) is made once by :class:`SharedDefinition`, which stacks keep in a
bounded cache; the cost of a node does not grow with the size of its stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.engine.node_data import NodeData
from openkeel_heat.template import scope

if TYPE_CHECKING:
    from openkeel_heat.engine.parent import ParentResourceProxy
    from openkeel_heat.template import Template

#: resource -> (attributes that resources want, output -> attributes that it wants)
_Index = dict[Any, tuple[set[Any], dict[str, set[Any]]]]


class SharedDefinition:
    """What a template means with the parameters of a stack, without any resource's state."""

    __slots__ = ("template", "identifier", "parameters", "enabled", "hidden", "required_by", "_wanted")

    def __init__(self, template: Template, identifier: Any) -> None:
        self.template = template
        self.identifier = identifier
        self.parameters = template.parameters(identifier, template.env.params, template.env.param_defaults)
        #: name -> whether its condition holds
        self.enabled: dict[str, bool] = {}
        #: What is not to be told of it; see ``engine.hidden``.
        self.hidden: Any = None
        #: name -> names of those that require it, when the template alone says so (see ``edges``)
        self.required_by: dict[str, list[str]] | None = None
        self._wanted: _Wanted | None = None

    def wanted(self, context: Any) -> _Wanted:
        if self._wanted is None:
            self._wanted = _Wanted(_Tracker(context, self))
        return self._wanted


class StackDefinition(scope.StackDefinition):
    """The scope of one stack with the knowledge of one node."""

    def __init__(
        self,
        context: Any,
        shared: SharedDefinition,
        resource_data: Mapping[str, NodeData] | None = None,
        parent: ParentResourceProxy | None = None,
        zones: Callable[[], list[str]] | None = None,
    ) -> None:
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
        self._wanted = None
        self._proxies = {}

    def _nova_zones(self) -> list[str]:
        nova = self._context.clients.client("nova")
        return [zone.zoneName for zone in nova.availability_zones.list(detailed=False)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.resource_definitions())

    def definitions(self) -> dict[str, Any]:
        """Bound definitions of all enabled resources, in the order of the template."""
        return self.resource_definitions()

    def bound(self, name: str) -> Any:
        """The definition of an enabled resource, as its plugin gets it; KeyError for any other name."""
        return self.resource_definition(name)

    def outputs(self) -> dict[str, Any]:
        """Output definitions by name (one whose condition does not hold has no value)."""
        return dict(self._output_definitions())

    def wanted_attributes(
        self, resource_name: str, in_resources: bool = True, in_outputs: bool | Iterable[str] = True
    ) -> frozenset[Any]:
        return self.shared.wanted(self._context).of(self, resource_name, in_resources, in_outputs)

    # state of resources
    def data_of(self, name: str) -> NodeData | None:
        return self._resource_data.get(name)

    def known(self) -> list[NodeData]:
        """What is known of resources."""
        return list(self._resource_data.values())

    def set_data(self, data: Iterable[NodeData]) -> None:
        """Let functions see new state of resources."""
        for one in data:
            self._resource_data[one.name] = one
            self._proxies.pop(str(one.name), None)
        self._outputs = None

    def update_resource_data(self, resource_name: str, resource_data: NodeData | None) -> None:
        if resource_data is None:
            self._resource_data.pop(resource_name, None)
            self._proxies.pop(resource_name, None)
        else:
            self.set_data([resource_data])

    def with_shared(self, shared: SharedDefinition, keep_data: bool = True) -> StackDefinition:
        """The same inputs under another template or other parameters."""
        return StackDefinition(
            self._context, shared, self._resource_data if keep_data else None, self._parent_resource, self._zones_source
        )

    def clone_with_new_template(
        self, new_template: Any, identifier: Any, clear_resource_data: bool = False
    ) -> StackDefinition:
        return self.with_shared(SharedDefinition(new_template, identifier), not clear_resource_data)


# which attributes are wanted ----------------------------------------------------------------------------------------
class _Unknown(Exception):
    """Nothing is known of resources while the index is made."""


class _Tracker(StackDefinition):
    """A scope without resources that notes when somebody asks for one's data."""

    def __init__(self, context: Any, shared: SharedDefinition) -> None:
        super().__init__(context, shared)
        self.touched = False

    def resource(self, resource_name: Any) -> Any:
        self.touched = True
        raise _Unknown()

    __getitem__ = resource

    def pairs_of(self, name: str) -> list[tuple[Any, Any]] | None:
        """Those of a resource; none if its condition leaves it out."""
        try:
            return self.pairs(self.resource_definition(name)) if name in self else []
        except _Unknown:
            return None

    def pairs(self, definition: Any) -> list[tuple[Any, Any]] | None:
        """(resource, attribute) pairs of a definition; None when they hang on the data of resources."""
        self.touched = False
        try:
            found = list(definition.all_dep_attrs())
        except _Unknown:
            return None
        return None if self.touched else found


class _Wanted:
    """Attributes wanted of each resource: an index of what is settled, and what has to be looked at anew."""

    def __init__(self, tracker: _Tracker) -> None:
        self._index: _Index = {}
        self._open_resources: list[str] = []
        self._open_outputs: list[str] = []
        for name in tracker.t.definitions:
            pairs = tracker.pairs_of(name)
            if pairs is None:
                self._open_resources.append(name)
                continue
            for resource, attr in pairs:
                self._index.setdefault(resource, (set(), {}))[0].add(attr)
        for name, output in tracker.outputs().items():
            pairs = tracker.pairs(output)
            if pairs is None:
                self._open_outputs.append(name)
                continue
            for resource, attr in pairs:
                self._index.setdefault(resource, (set(), {}))[1].setdefault(name, set()).add(attr)

    def of(
        self, defn: StackDefinition, resource_name: str, in_resources: bool, in_outputs: bool | Iterable[str]
    ) -> frozenset[Any]:
        resources, outputs = self._index.get(resource_name, (set(), {}))
        wanted: set[Any] = set()
        if in_resources:
            wanted |= resources
            for name in self._open_resources:
                wanted.update(defn.bound(name).dep_attrs(resource_name))
        if in_outputs:
            names = None if in_outputs is True else set(in_outputs)
            for name, attrs in outputs.items():
                if names is None or name in names:
                    wanted |= attrs
            for name in self._open_outputs:
                if names is None or name in names:
                    wanted.update(defn.output_definition(name).dep_attrs(resource_name))
        return frozenset(wanted)
