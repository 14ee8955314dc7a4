# SPDX-License-Identifier: Apache-2.0
"""A template as one stack sees it: parameters given, conditions decided, references resolvable.

:class:`StackDefinition` is the ``Scope`` of ``openkeel_heat.template``: functions read parameters and other resources through it,
and only what arrived as :class:`~openkeel_heat.engine.node_data.NodeData` is known of a resource; nothing here reads the database.
The part that is the same for every node of a traversal (:class:`SharedDefinition`: compiled template, parameters, names of
enabled resources) is made once and kept in a bounded cache by :mod:`openkeel_heat.engine.stack`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.common import exceptions
from openkeel_heat.engine.node_data import NodeData

if TYPE_CHECKING:
    from openkeel_heat.engine.parent import ParentResourceProxy
    from openkeel_heat.template import Template

SHOW_ATTR = "show"


class SharedDefinition:
    """What a template means with the parameters of a stack, without any resource's state."""

    __slots__ = ("template", "parameters", "identifier", "_enabled")

    def __init__(self, template: Template, identifier: Any, parameters: Any = None) -> None:
        self.template = template
        self.identifier = identifier
        if parameters is None:
            env = template.env
            parameters = template.parameters(identifier, env.params, env.param_defaults)
        self.parameters = parameters
        self._enabled: dict[str, Any] | None = None

    def enabled(self, scope: StackDefinition) -> dict[str, Any]:
        """Definitions whose condition holds, by name in the order of the template."""
        if self._enabled is None:
            self._enabled = dict(self.template.enabled_definitions(scope))
        return self._enabled


class ResourceProxy:
    """A resource as template functions see it (``ResourceProxy`` of the template package)."""

    __slots__ = ("name", "_definition", "_data")

    def __init__(self, name: str, definition: Any, data: NodeData | None) -> None:
        self.name = name
        self._definition = definition
        self._data = data

    @property
    def t(self) -> Any:
        return self._definition

    @property
    def data(self) -> NodeData | None:
        return self._data

    @property
    def action(self) -> str:
        return "INIT" if self._data is None else self._data.action or "INIT"

    @property
    def status(self) -> str:
        return "COMPLETE" if self._data is None else self._data.status or "COMPLETE"

    @property
    def state(self) -> tuple[str, str]:
        return self.action, self.status

    @property
    def external_id(self) -> Any:
        return self._definition.external_id()

    @property
    def attributes_schema(self) -> set[str]:
        return set(self._known().attribute_names())

    def reference_id(self) -> Any:
        return self.name if self._data is None else self._data.reference_id()

    def attribute(self, *path: Any) -> Any:
        key: Any = path[0] if len(path) == 1 else tuple(path)
        try:
            return self._known().attribute(key)
        except KeyError:
            raise exceptions.InvalidTemplateAttribute(resource=self.name, key=key) from None

    def attributes_all(self) -> dict[str, Any]:
        return {key: value for key, value in self._known().attributes().items() if key != SHOW_ATTR}

    # the names that third-party function plugins call
    def FnGetRefId(self) -> Any:
        return self.reference_id()

    def FnGetAtt(self, attr: Any, *path: Any) -> Any:
        return self.attribute(attr, *path)

    def FnGetAtts(self) -> dict[str, Any]:
        return self.attributes_all()

    def _known(self) -> NodeData:
        assert self._data is not None, "Resource data not available"
        return self._data


class StackDefinition:
    """The scope of one stack (and one set of node inputs)."""

    def __init__(self, context: Any, shared: SharedDefinition, resource_data: Mapping[str, NodeData] | None = None,
                 parent: ParentResourceProxy | None = None,
                 zones: Callable[[], list[str]] | None = None) -> None:
        self._context = context
        self.shared = shared
        self._data: dict[str, NodeData] = dict(resource_data or {})
        self._parent = parent
        self._proxies: dict[str, ResourceProxy] = {}
        self._bound: dict[str, Any] = {}
        self._zones: list[str] | None = None
        self._find_zones = zones

    # what templates ask -----------------------------------------------------------------------------------------
    @property
    def template(self) -> Template:
        return self.shared.template

    t = template

    @property
    def env(self) -> Any:
        return self.shared.template.env

    @property
    def files(self) -> Mapping[str, str]:
        return self.shared.template.files

    @property
    def parameters(self) -> Any:
        return self.shared.parameters

    @property
    def identifier(self) -> Any:
        return self.shared.identifier

    @property
    def parent_facade(self) -> ParentResourceProxy | None:
        """The template resource that this stack is the inside of, or None."""
        return self._parent

    parent_resource = parent_facade

    def resource(self, name: str) -> ResourceProxy:
        """A proxy for an enabled resource; KeyError for any other name."""
        proxy = self._proxies.get(name)
        if proxy is None:
            proxy = ResourceProxy(name, self.definitions()[name], self._data.get(name))
            self._proxies[name] = proxy
        return proxy

    __getitem__ = resource

    def __contains__(self, name: object) -> bool:
        return name in self.definitions()

    def __iter__(self) -> Iterator[str]:
        return iter(self.definitions())

    def availability_zones(self) -> list[str]:
        if self._zones is None:
            if self._find_zones is not None:
                self._zones = self._find_zones()
            else:
                nova = self._context.clients.client("nova")
                self._zones = [zone.zoneName for zone in nova.availability_zones.list(detailed=False)]
        return self._zones

    get_availability_zones = availability_zones

    # what the engine asks ---------------------------------------------------------------------------------------
    def definitions(self) -> dict[str, Any]:
        """Compiled definitions of the enabled resources, by name."""
        return self.shared.enabled(self)

    def enabled_rsrc_names(self) -> set[str]:
        return set(self.definitions())

    def all_rsrc_names(self) -> set[str]:
        return set(self.template.resource_definitions)

    def all_resource_types(self) -> set[str]:
        return {definition.resource_type for definition in self.definitions().values()}

    def bound(self, name: str) -> Any:
        """The ``BoundDefinition`` of an enabled resource: what a plugin gets as ``self.t``."""
        if name not in self._bound:
            self._bound[name] = self.definitions()[name].bind(self)
        return self._bound[name]

    resource_definition = bound

    def outputs(self) -> dict[str, Any]:
        """Output definitions whose condition holds, by name."""
        return dict(self.template.outputs(self))

    # state of resources -----------------------------------------------------------------------------------------
    def data_of(self, name: str) -> NodeData | None:
        return self._data.get(name)

    def set_data(self, data: NodeData) -> None:
        """Let functions see new state of one resource."""
        self._data[data.name] = data
        self._proxies.pop(data.name, None)

    def with_shared(self, shared: SharedDefinition, keep_data: bool = True) -> StackDefinition:
        """The same inputs under another template or other parameters."""
        return StackDefinition(self._context, shared, self._data if keep_data else None, self._parent, self._find_zones)
