# SPDX-License-Identifier: Apache-2.0
"""Which resource of a stack requires which: references and ``depends_on`` of the template, and what types add.

The result is over names. A Resource object is made only of types that add edges by themselves; such a plugin adds pairs
of Resource objects to what it takes for the graph, and :class:`_PluginView` turns them into names.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oslo_log import log as logging

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)

_EXPLICIT, _IMPLICIT = "add_explicit_dependencies", "add_dependencies"


class _PluginView:
    """What a plugin sees of the graph: ``deps += (self, other)`` with Resource objects, or None for no requirement."""

    def __init__(self, names: Any, resources: Mapping[str, Any]) -> None:
        self.names = names
        self._resources = resources

    def __iadd__(self, edge: Any) -> _PluginView:
        requirer, required = edge
        self.names += (_name(requirer), None if required is None else _name(required))
        return self

    def requires(self, resource: Any) -> list[Any]:
        """The Resource objects that one requires, as far as is known by now."""
        return [self._resources[name] for name in self.names.requires(_name(resource)) if name in self._resources]

    def graph(self, reverse: bool = False) -> Any:
        """The same as a graph of Resource objects; for plugins that know Heat's, since it costs a copy of all."""
        return self.names.translate(lambda name: name and self._resources[name]).graph(reverse)


def _name(resource: Any) -> str:
    return resource if isinstance(resource, str) else resource.name


def _classes(stack: Stack) -> dict[str, Any]:
    """The class of each enabled resource; one that cannot be found is left out (validation tells)."""
    found = {}
    for name, definition in stack.defn.resource_definitions().items():
        try:
            found[name] = stack.env.registry.get_class_to_instantiate(definition.resource_type, resource_name=name)
        except Exception as error:
            LOG.debug("No class for resource %s: %s", name, error)
    return found


def dependencies(stack: Stack, ignore_errors: bool | None = None, explicit_only: bool = False) -> Any:
    """The graph of the stack's enabled resources. Errors of plugins are ignored for a stack that is stored.

    ``explicit_only`` leaves out what types find out from property values (``add_dependencies``).
    """
    from openkeel_heat.resources.kit.resource import Resource

    classes = _classes(stack)
    weak = [name for name, cls in classes.items() if not cls.strict_dependency]
    view = _PluginView(stack.defn.dependencies(weak), stack)
    if ignore_errors is None:
        ignore_errors = stack.id is not None
    for name, cls in classes.items():
        if cls.add_explicit_dependencies is not Resource.add_explicit_dependencies:
            stack.resources[name].add_explicit_dependencies(view)
    if explicit_only:
        return view.names
    for name, cls in classes.items():
        if cls.add_dependencies is Resource.add_dependencies:
            continue
        try:
            stack.resources[name].add_dependencies(view)
        except Exception as error:
            # ValueError and TypeError come of reading property values that were not validated yet
            if not (ignore_errors or isinstance(error, ValueError | TypeError)):
                raise
            LOG.warning("Ignoring error adding implicit dependencies for %s: %s", name, error)
    return view.names


#: Who requires whom, by graph: looking at every resource of a stack makes one table.
_tables: weakref.WeakKeyDictionary[Any, dict[str, list[str]]] = weakref.WeakKeyDictionary()


def required_by(stack: Stack, name: str) -> list[str]:
    """Names of the resources that depend on one directly.

    Where neither a type nor the state of a resource has a say in it, they are kept with what nodes of the stack share.
    """
    shared = stack.defn.shared
    table = shared.required_by
    if table is None:
        graph = stack.dependencies
        table = _tables.get(graph)
        if table is None:
            table = {one: list(others) for one in stack.defn if (others := tuple(graph.required_by(one)))}
            _tables[graph] = table
            if _said_by_template(stack):
                shared.required_by = table
    return list(table.get(name, ()))


def _said_by_template(stack: Stack) -> bool:
    from openkeel_heat.resources.kit.resource import Resource

    if any(definition.static_requirements is None for definition in stack.t.definitions.values()):
        return False
    return all(
        getattr(cls, method) is getattr(Resource, method)
        for cls in set(_classes(stack).values())
        for method in (_EXPLICIT, _IMPLICIT)
    )
