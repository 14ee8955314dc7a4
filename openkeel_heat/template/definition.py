# SPDX-License-Identifier: Apache-2.0
"""Definitions of resources.

A :class:`ResourceDefinition` is compiled once per template and knows no stack.
Bound to a scope it becomes a :class:`BoundDefinition`, which is what a
resource's plugin sees: it gives properties, metadata and policies with all
functions resolved, and can be frozen, rendered and compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.template import nodes

FIELDS = (
    TYPE,
    PROPERTIES,
    METADATA,
    DELETION_POLICY,
    UPDATE_POLICY,
    DEPENDS_ON,
    DESCRIPTION,
    EXTERNAL_ID,
) = (
    "Type",
    "Properties",
    "Metadata",
    "DeletionPolicy",
    "UpdatePolicy",
    "DependsOn",
    "Description",
    "external_id",
)

PropertiesFactory = Callable[..., Any]

_properties_factory: PropertiesFactory | None = None


def set_properties_factory(factory: PropertiesFactory) -> None:
    """Say how Properties objects are made.

    The factory is called as ``factory(schema, data, resolver, context=,
    section=, rsrc_description=, rules=, client_resolve=)``.
    """
    global _properties_factory
    _properties_factory = factory


def invalid_deletion_policy(policy: Any) -> str:
    return _('Invalid deletion policy "%s"') % (policy,)


class ResourceDefinition:
    """The compiled definition of one resource of a template."""

    __slots__ = (
        "name",
        "resource_type",
        "description",
        "fields",
        "depends_on",
        "deletion_policies",
        "failure",
        "condition_path",
        "flags",
        "static_references",
    )

    def __init__(
        self,
        name: str,
        resource_type: Any = None,
        description: str | None = None,
        fields: Mapping[str, Any] | None = None,
        depends_on: list[str] | None = None,
        deletion_policies: Mapping[str, str] | None = None,
        failure: Exception | None = None,
        condition_path: list[str] | None = None,
    ) -> None:
        self.name = name
        self.resource_type = resource_type
        self.description = description
        #: compiled properties, metadata, deletion_policy, update_policy, external_id, condition
        self.fields = dict(fields or {})
        self.depends_on = depends_on
        self.deletion_policies = deletion_policies or {}
        #: what is wrong with the definition itself
        self.failure = failure
        self.condition_path = condition_path or []
        self.flags = nodes.flags_of_all(self.fields.values())
        #: names that properties and metadata refer to, None if that depends on the scope
        self.static_references = self._static_references()

    def _static_references(self) -> frozenset[str] | None:
        if self.failure is not None:
            return None
        names: set[str] = set()
        parts = (self.fields.get("properties"), self.fields.get("metadata"))
        return frozenset(names) if nodes.all_static(parts, names) else None

    @property
    def is_static(self) -> bool:
        """Whether it refers to the same resources in every scope, and is never left out."""
        return (
            self.failure is None
            and self.fields.get("condition") is None
            and not self.flags & (nodes.UNSETTLED | nodes.DYNAMIC)
        )

    @property
    def static_requirements(self) -> Iterable[str] | None:
        """Names of the resources it needs, the explicit ones first; None if only a scope can tell."""
        names = self.static_references
        if (
            names is None
            or not self.is_static
            or self.fields.get("external_id") is not None
            or isinstance(self.fields.get("deletion_policy"), nodes.Node)
        ):
            return None
        return (*self.depends_on, *names) if self.depends_on else names

    def prepare(self, scope: Any) -> None:
        """Raise what is wrong with the definition in this scope."""
        if self.flags & nodes.UNSETTLED:
            for field in self.fields.values():
                nodes.prepare(field, scope)
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        self.deletion_policy(scope)

    def deletion_policy(self, scope: Any) -> str | None:
        field = self.fields.get("deletion_policy")
        if field is None:
            return None
        try:
            policy = nodes.resolve(field, scope)
            if policy is None:
                return None
            if policy in self.deletion_policies:
                return self.deletion_policies[policy]
        except (TypeError, ValueError, KeyError) as exc:
            raise exception.StackValidationFailed(message=str(exc)) from None
        raise exception.StackValidationFailed(message=invalid_deletion_policy(policy))

    def enabled(self, scope: Any) -> bool:
        """Whether the condition, if any, holds."""
        field = self.fields.get("condition")
        if field is None:
            return True
        condition = nodes.resolve(field, scope)
        try:
            return bool(scope.conditions.is_enabled(condition))
        except ValueError as exc:
            raise exception.StackValidationFailed(path=list(self.condition_path), message=str(exc)) from None

    def bind(self, scope: Any) -> BoundDefinition:
        """The definition as it is in a scope."""
        self.prepare(scope)
        parts = {key: nodes.bind(field, scope) for key, field in self.fields.items()}
        parts["deletion_policy"] = self.deletion_policy(scope)
        bound = BoundDefinition(
            self.name, self.resource_type, depends=self.depends_on, description=self.description, **parts
        )
        bound._static = self.static_references, scope
        return bound

    def __repr__(self) -> str:
        return "ResourceDefinition(%r, %r)" % (self.name, self.resource_type)


class Diff:
    """What has changed between two definitions of a resource."""

    def __init__(self, old_defn: BoundDefinition, new_defn: BoundDefinition) -> None:
        self.old_defn = old_defn
        self.new_defn = new_defn

    def properties_changed(self) -> bool:
        return bool(self.old_defn._properties != self.new_defn._properties)

    def metadata_changed(self) -> bool:
        return bool(self.old_defn._metadata != self.new_defn._metadata)

    def update_policy_changed(self) -> bool:
        return bool(self.old_defn._update_policy != self.new_defn._update_policy)

    def __bool__(self) -> bool:
        return self.properties_changed() or self.metadata_changed() or self.update_policy_changed()


class BoundDefinition:
    """A resource's definition, independent of the format of the template."""

    DELETION_POLICIES = (DELETE, RETAIN, SNAPSHOT) = ("Delete", "Retain", "Snapshot")

    def __init__(
        self,
        name: str | None,
        resource_type: str,
        properties: Any = None,
        metadata: Any = None,
        depends: Any = None,
        deletion_policy: Any = None,
        update_policy: Any = None,
        description: str | None = None,
        external_id: Any = None,
        condition: Any = None,
    ) -> None:
        self.name = name
        self.resource_type = resource_type
        self.description = description or ""
        assert isinstance(self.description, str)
        self._properties = properties
        self._metadata = metadata
        self._depends = depends
        self._deletion_policy = deletion_policy
        self._update_policy = update_policy
        self._external_id = external_id
        self._condition = condition
        assert not isinstance(depends, str)
        assert deletion_policy is None or deletion_policy in self.DELETION_POLICIES
        for part in (properties, metadata, update_policy):
            assert part is None or isinstance(part, Mapping) or nodes.is_function(part) or hasattr(part, "result")
        if external_id is not None:
            self._deletion_policy = self.RETAIN
        self._frozen = False
        self._rendering: dict[str, Any] | None = None
        self._dep_names: set[str] | None = None
        #: names referred to, if they are known without looking, and the scope they are to be in
        self._static: tuple[frozenset[str] | None, Any] = (None, None)
        self.set_translation_rules()

    def freeze(self, **overrides: Any) -> BoundDefinition:
        """A copy with all functions resolved and some parts replaced."""
        if self._frozen and not overrides:
            return self

        def value_of(attr: str) -> Any:
            name = attr.lstrip("_")
            if name not in overrides:
                return nodes.resolve(getattr(self, attr))
            value = overrides[name]
            return None if not value and getattr(self, attr) is None else value

        attrs = (
            "name",
            "resource_type",
            "_properties",
            "_metadata",
            "_depends",
            "_deletion_policy",
            "_update_policy",
            "description",
            "_external_id",
            "_condition",
        )
        frozen = type(self)(**{attr.lstrip("_"): value_of(attr) for attr in attrs})
        frozen._frozen = True
        return frozen

    def reparse(self, scope: Any, template: Any) -> BoundDefinition:
        """The same definition read in the context of another stack; its condition is left out."""
        assert not self._frozen, "Cannot re-parse a frozen definition"

        def again(snippet: Any) -> Any:
            return template.parse(scope, nodes.render(snippet))

        return type(self)(
            self.name,
            self.resource_type,
            properties=again(self._properties),
            metadata=again(self._metadata),
            depends=again(self._depends),
            deletion_policy=again(self._deletion_policy),
            update_policy=again(self._update_policy),
            external_id=again(self._external_id),
            condition=None,
        )

    def validate(self) -> None:
        """Validate the functions in all parts."""
        for part, where in (
            (self._properties, PROPERTIES),
            (self._metadata, METADATA),
            (self._depends, DEPENDS_ON),
            (self._deletion_policy, DELETION_POLICY),
            (self._update_policy, UPDATE_POLICY),
            (self._external_id, EXTERNAL_ID),
        ):
            nodes.validate(part, where)

    def all_dep_attrs(self) -> Iterator[tuple[Any, Any]]:
        """(resource name, attribute) pairs that properties and metadata refer to."""
        yield from nodes.all_dep_attrs(self._properties)
        yield from nodes.all_dep_attrs(self._metadata)

    def dep_attrs(self, resource_name: str, load_all: bool = False) -> Iterator[Any]:
        """Attributes of a resource that properties and metadata refer to.

        Ask :meth:`.scope.StackDefinition.wanted_attributes` for what all
        others refer to.
        """
        return (attr for name, attr in self.all_dep_attrs() if name == resource_name)

    def required_resource_names(self) -> set[str]:
        """Names of the resources that this one needs.

        Names in depends_on are not checked here: they may be of resources
        that do not exist or that a condition leaves out.
        """
        if self._dep_names is None:
            explicit = self._depends or ()
            if self._external_id is not None and self.external_id():
                if explicit:
                    raise exception.InvalidExternalResourceDependency(
                        external_id=self.external_id(), resource_type=self.resource_type
                    )
                self._dep_names = set()
            else:
                self._dep_names = {*explicit, *self._referred()}
        return self._dep_names

    def _referred(self) -> Iterable[str]:
        """Names that properties and metadata refer to."""
        names, scope = self._static
        if names is not None and (not names or scope.has_all(names)):
            return names
        return (
            name
            for part, where in ((self._properties, PROPERTIES), (self._metadata, METADATA))
            if part
            for name in nodes.dependencies(part, "%s.%s" % (self.name, where))
        )

    def dependencies(self, stack: Any) -> Iterator[Any]:
        """The Resource objects of a stack that this one needs."""
        for name in self.required_resource_names():
            if name not in stack:
                if name in stack.defn.all_rsrc_names():
                    # left out by its condition: that may be depended on
                    continue
                raise exception.InvalidTemplateReference(resource=name, key=self.name)
            resource = stack[name]
            if getattr(resource, "strict_dependency", True):
                yield resource

    def set_translation_rules(self, rules: Any = None, client_resolve: bool = True) -> None:
        """Rules that properties go through."""
        self._rules = rules or []
        self._client_resolve = client_resolve

    def _make_properties(self, schema: Any, data: Any, context: Any, section: str, description: str | None) -> Any:
        if _properties_factory is None:
            raise RuntimeError("No factory of Properties has been set")
        return _properties_factory(
            schema,
            data or {},
            nodes.resolve,
            context=context,
            section=section,
            rsrc_description=description,
            rules=self._rules,
            client_resolve=self._client_resolve,
        )

    def properties(self, schema: Any, context: Any = None) -> Any:
        """The properties of the resource by a schema."""
        return self._make_properties(schema, self._properties, context, PROPERTIES, self.description)

    def update_policy(self, schema: Any, context: Any = None) -> Any:
        """The update policy by a schema."""
        return self._make_properties(schema, self._update_policy, context, UPDATE_POLICY, None)

    def deletion_policy(self) -> str:
        return nodes.resolve(self._deletion_policy) or self.DELETE

    def metadata(self) -> Any:
        return nodes.resolve(self._metadata) or {}

    def external_id(self) -> Any:
        return nodes.resolve(self._external_id)

    def condition(self) -> Any:
        """Name or value of the condition, None if the resource is always there."""
        return nodes.resolve(self._condition)

    def render_hot(self) -> dict[str, Any]:
        """The definition as raw HOT."""
        if self._rendering is None:
            parts = {
                "type": self.resource_type,
                "properties": self._properties,
                "metadata": self._metadata,
                "deletion_policy": self._deletion_policy,
                "update_policy": self._update_policy,
                "depends_on": self._depends,
                "external_id": self._external_id,
                "condition": self._condition,
            }
            self._rendering = {
                key: nodes.copy_plain(nodes.render(part)) for key, part in parts.items() if part is not None
            }
        return self._rendering

    def __sub__(self, previous: object) -> Diff:
        if not isinstance(previous, BoundDefinition):
            return NotImplemented
        return Diff(previous, self)

    def __eq__(self, other: object) -> bool:
        """Whether both come from the same snippet, whatever their names and values."""
        if not isinstance(other, BoundDefinition):
            return NotImplemented
        return self.render_hot() == other.render_hot()

    def __hash__(self) -> int:
        return hash(json.dumps(self.render_hot(), sort_keys=True, default=str))

    def __repr__(self) -> str:
        parts = ("properties", "metadata", "depends", "deletion_policy", "update_policy", "condition")
        return "%s(%r, %r, %s)" % (
            type(self).__name__,
            self.name,
            self.resource_type,
            ", ".join("%s=%r" % (part, getattr(self, "_" + part)) for part in parts),
        )
