# SPDX-License-Identifier: Apache-2.0
"""What template functions see of a stack.

A :class:`StackDefinition` is a template with the values of its parameters and
what is known of its resources (:class:`~.node_data.NodeData`).  It has no
state and does no I/O.  Everything is made when it is first asked for, and
asking about one resource costs nothing for the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template.attributes import SHOW_ATTR
from openkeel_heat.template.definition import BoundDefinition
from openkeel_heat.template.graph import Dependencies
from openkeel_heat.template.node_data import NodeData
from openkeel_heat.template.output import OutputDefinition
from openkeel_heat.template.sandbox import SandboxError

#: characters of a resource's name; its column in the database has no room for more
LONGEST_NAME = 255


class ResourceProxy:
    """What functions may know of a resource."""

    ACTIONS = (
        INIT,
        CREATE,
        DELETE,
        UPDATE,
        ROLLBACK,
        SUSPEND,
        RESUME,
        ADOPT,
        SNAPSHOT,
        CHECK,
    ) = (
        "INIT",
        "CREATE",
        "DELETE",
        "UPDATE",
        "ROLLBACK",
        "SUSPEND",
        "RESUME",
        "ADOPT",
        "SNAPSHOT",
        "CHECK",
    )
    STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ("IN_PROGRESS", "FAILED", "COMPLETE")

    __slots__ = ("name", "_definition", "_resource_data")

    def __init__(self, name: str, definition: Callable[[str], Any] | Any, resource_data: NodeData | None) -> None:
        self.name = name
        self._definition = definition
        self._resource_data = resource_data

    @property
    def t(self) -> Any:
        """The definition of the resource."""
        return self._definition(self.name) if callable(self._definition) else self._definition

    def _data(self) -> NodeData:
        assert self._resource_data is not None, "Resource data not available"
        return self._resource_data

    @property
    def attributes_schema(self) -> set[str]:
        """Names of the attributes that there are."""
        return set(self._data().attribute_names())

    @property
    def external_id(self) -> Any:
        return self.t.external_id()

    @property
    def action(self) -> Any:
        return self.INIT if self._resource_data is None else self._resource_data.action

    @property
    def status(self) -> Any:
        return self.COMPLETE if self._resource_data is None else self._resource_data.status

    @property
    def state(self) -> tuple[Any, Any]:
        return self.action, self.status

    def FnGetRefId(self) -> Any:
        """What get_resource gives: the name, as long as nothing else is known."""
        return self.name if self._resource_data is None else self._resource_data.reference_id()

    def FnGetAtt(self, attr: Any, *path: Any) -> Any:
        """What get_attr gives."""
        key = (attr, *path) if path else attr
        try:
            return self._data().attribute(key)
        except KeyError:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key) from None

    def FnGetAtts(self) -> dict[str, Any]:
        """What get_attr gives without an attribute."""
        return {name: value for name, value in self._data().attributes().items() if name != SHOW_ATTR}

    reference_id = FnGetRefId
    attribute = FnGetAtt
    attributes_all = FnGetAtts


class StackDefinition:
    """A template in the scope of one stack."""

    def __init__(
        self,
        template: Any,
        identifier: Any = None,
        resource_data: Mapping[Any, NodeData] | None = None,
        parent_resource: Any = None,
        zones: Callable[[], list[str]] | None = None,
        context: Any = None,
    ) -> None:
        self._template = template
        self._identifier = identifier
        self._resource_data: dict[Any, NodeData] = dict(resource_data or {})
        self._parent_resource = parent_resource
        self._zones_source = zones
        self._zones: list[str] | None = None
        self._context = context
        self.parameters = template.parameters(identifier, template.env.params, template.env.param_defaults)
        self._conditions: Any = None
        self._bound: dict[str, BoundDefinition] = {}
        self._enabled: dict[str, bool] = {}
        self._all_bound = False
        self._outputs: dict[str, OutputDefinition] | None = None
        self._wanted: dict[str, tuple[set[Any], dict[str, set[Any]]]] | None = None
        self._proxies: dict[str, ResourceProxy] = {}

    def clone_with_new_template(
        self, new_template: Any, identifier: Any, clear_resource_data: bool = False
    ) -> StackDefinition:
        """The same stack with another template."""
        data = None if clear_resource_data else self._resource_data
        return type(self)(new_template, identifier, data, self._parent_resource, self._zones_source, self._context)

    @property
    def t(self) -> Any:
        """The template."""
        return self._template

    @property
    def env(self) -> Any:
        return self._template.env

    @property
    def files(self) -> Any:
        return self._template.files

    @property
    def context(self) -> Any:
        return self._context

    @property
    def parent_resource(self) -> Any:
        """The resource that this stack stands for, None for a stack of its own."""
        return self._parent_resource

    @property
    def conditions(self) -> Any:
        if self._conditions is None:
            self._conditions = self._template.conditions(self)
        return self._conditions

    def get_availability_zones(self) -> list[str]:
        """Names of the availability zones, asked for once."""
        if self._zones is None:
            self._zones = ["nova"] if self._zones_source is None else self._zones_source()
        return self._zones

    # resources

    def _is_enabled(self, name: Any) -> bool:
        if name not in self._enabled:
            definition = self._template.definitions.get(name)
            self._enabled[name] = definition is not None and definition.enabled(self)
        return self._enabled[name]

    def __contains__(self, resource_name: object) -> bool:
        return self._is_enabled(resource_name)

    def has_all(self, names: Iterable[str]) -> bool:
        """Whether there are resources of these names that no condition leaves out."""
        return all(map(self._is_enabled, names))

    def __iter__(self) -> Iterator[str]:
        return iter(self.resource_definitions())

    def resource_definition(self, resource_name: str) -> BoundDefinition:
        """The definition of one resource; KeyError if it is not there or left out."""
        bound = self._bound.get(resource_name)
        if bound is None:
            if not self._is_enabled(resource_name):
                raise KeyError(resource_name)
            bound = self._bound[resource_name] = self._template.definitions[resource_name].bind(self)
        return bound

    def resource_definitions(self) -> dict[str, BoundDefinition]:
        """All definitions that are not left out, in the order of the template.

        Raises what is wrong with any of them, also with those left out.
        """
        if not self._all_bound:
            _conditions = self.conditions  # whatever is wrong with them is told first
            bound: dict[str, BoundDefinition] = {}
            for name, definition in self._template.definitions.items():
                if name in self._bound:
                    bound[name] = self._bound[name]
                    continue
                with self._told(name):
                    definition.prepare(self)
                    if self._is_enabled(name):
                        bound[name] = definition.bind(self)
            self._bound = bound
            self._all_bound = True
        return self._bound

    def enabled_rsrc_names(self) -> set[str]:
        """Names of the resources that no condition leaves out."""
        return set(self.resource_definitions())

    def all_rsrc_names(self) -> set[str]:
        """Names of all resources of the template."""
        return set(self._template.definitions)

    def all_resource_types(self) -> set[str]:
        """Types of the resources that no condition leaves out."""
        return {definition.resource_type for definition in self.resource_definitions().values()}

    def resource(self, resource_name: Any) -> ResourceProxy:
        """What is known of a resource; KeyError if it is not there or left out."""
        proxy = self._proxies.get(resource_name)
        if proxy is None:
            if not self._is_enabled(resource_name):
                raise KeyError(resource_name)
            proxy = self._proxies[resource_name] = ResourceProxy(
                resource_name, self.resource_definition, self._resource_data.get(resource_name)
            )
        return proxy

    __getitem__ = resource

    def dependencies(self, non_strict: Iterable[str] = ()) -> Dependencies:
        """The graph of resource names that the template itself makes.

        ``non_strict`` are names of resources that nothing waits for.
        """
        weak = frozenset(non_strict)
        requirements = self._requirements()
        known = self._template.definitions
        graph = Dependencies()
        for name, required_names in requirements.items():
            if "/" in name or "\0" in name:
                raise exception.StackValidationFailed(
                    message=_('Resource name may not contain "%s"') % ("/" if "/" in name else "\\0")
                )
            if len(name) > LONGEST_NAME:
                raise exception.StackValidationFailed(
                    message=_("Resource name may not have more than %d characters") % LONGEST_NAME
                )
            if required_names is None or not self.has_all(known[name].static_references or ()):
                with self._told(name):
                    required_names = self.resource_definition(name).required_resource_names()
            for required in required_names:
                if required in requirements:
                    if required not in weak:
                        graph += (name, required)
                elif required not in known:
                    raise exception.InvalidTemplateReference(resource=required, key=name)
            graph += (name, None)
        return graph

    @contextlib.contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Errors of functions that are evaluated to know what there is, told with the name of the resource."""
        try:
            yield
        except exception.HeatException:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, SandboxError) as exc:
            raise exception.StackValidationFailed(path=[self._template.RESOURCES, str(name)], message=str(exc)) from exc

    def _requirements(self) -> dict[str, Iterable[str] | None]:
        """What each resource that is not left out needs; None where its definition has to be bound to tell.

        Raises what is wrong with any definition, as :meth:`resource_definitions` does.
        """
        _conditions = self.conditions
        requirements: dict[str, Iterable[str] | None] = {}
        for name, definition in self._template.definitions.items():
            required = definition.static_requirements
            if required is None:
                with self._told(name):
                    definition.prepare(self)
                    if not self._is_enabled(name):
                        continue
                    self.resource_definition(name)
            requirements[name] = required
        return requirements

    # outputs

    def _output_definitions(self) -> dict[str, OutputDefinition]:
        if self._outputs is None:
            self._outputs = self._template.outputs(self)
        return self._outputs

    def output_definition(self, output_name: str) -> OutputDefinition:
        return self._output_definitions()[output_name]

    def enabled_output_names(self) -> set[str]:
        return set(self._output_definitions())

    # attributes

    def _wanted_index(self) -> dict[str, tuple[set[Any], dict[str, set[Any]]]]:
        if self._wanted is None:
            index: dict[str, tuple[set[Any], dict[str, set[Any]]]] = {}
            for definition in self.resource_definitions().values():
                for name, attr in definition.all_dep_attrs():
                    index.setdefault(name, (set(), {}))[0].add(attr)
            for output in self._output_definitions().values():
                for name, attr in output.all_dep_attrs():
                    index.setdefault(name, (set(), {}))[1].setdefault(output.name, set()).add(attr)
            self._wanted = index
        return self._wanted

    def wanted_attributes(
        self, resource_name: str, in_resources: bool = True, in_outputs: bool | Iterable[str] = True
    ) -> frozenset[Any]:
        """Attributes of a resource that others refer to.

        An attribute is a name, a tuple of a name and a path, or ``*`` for all.
        """
        resources, outputs = self._wanted_index().get(resource_name, (set(), {}))
        wanted: set[Any] = set(resources) if in_resources else set()
        if in_outputs is True:
            names: Iterable[str] = outputs
        elif in_outputs is False:
            names = ()
        else:
            names = [name for name in in_outputs if name in outputs]
        for name in names:
            wanted |= outputs[name]
        return frozenset(wanted)

    # changes while an operation runs

    def update_resource_data(self, resource_name: str, resource_data: NodeData | None) -> None:
        """Take note of news of a resource."""
        if resource_data is None:
            self._resource_data.pop(resource_name, None)
        else:
            self._resource_data[resource_name] = resource_data
        self._proxies.pop(resource_name, None)
        # a path of get_attr may hang on what has just changed
        self._wanted = None
        for output in (self._outputs or {}).values():
            output._resolved_value = None

    def add_resource(self, definition: BoundDefinition) -> None:
        """Put a resource into the template."""
        name = str(definition.name)
        self._template.add_resource(definition)
        self._forget(name)

    def remove_resource(self, resource_name: str) -> None:
        """Take a resource out of the template."""
        self._template.remove_resource(resource_name)
        self._forget(resource_name)

    def _forget(self, name: str) -> None:
        self._resource_data.pop(name, None)
        self._proxies.pop(name, None)
        self._enabled.pop(name, None)
        self._bound.pop(name, None)
        self._all_bound = False
        self._wanted = None
