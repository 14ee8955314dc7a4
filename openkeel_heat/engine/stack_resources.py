# SPDX-License-Identifier: Apache-2.0
"""The resources of a stack: their rows, the objects made of them, how one is found, what depends on what.

Rows are read once and only when somebody asks for a resource: all of them in one query (``stack.resources``) or
the one that is wanted (``stack.resource_get(name)``). While one node of a traversal is processed no rows of
others are read at all; what is known of them came with the node's data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openkeel_heat.common import exceptions
from openkeel_heat.engine import records
from openkeel_heat.engine.definition import StackDefinition
from openkeel_heat.engine.node_data import NodeData

if TYPE_CHECKING:
    from openkeel_heat.engine.stack import Stack

#: States in which a resource may be found by its reference id.
_FINDABLE = frozenset(
    [
        ("INIT", "COMPLETE"),
        ("CREATE", "IN_PROGRESS"),
        ("CREATE", "COMPLETE"),
        ("RESUME", "IN_PROGRESS"),
        ("RESUME", "COMPLETE"),
        ("UPDATE", "IN_PROGRESS"),
        ("UPDATE", "COMPLETE"),
        ("CHECK", "COMPLETE"),
    ]
)


class StackResources(Mapping[str, Any]):
    """The part of a stack that knows its resources. As a mapping: names of enabled resources to Resource objects."""

    id: str | None
    #: Only what arrived as node data is known of resources: their rows are not to be loaded.
    in_convergence_check: bool
    _outputs: dict[str, Any] | None

    if TYPE_CHECKING:

        @property
        def defn(self) -> StackDefinition: ...

        @property
        def t(self) -> Any: ...

        def for_template(self, template_id: int | None) -> Stack: ...

    @property
    def _whole(self) -> Stack:
        return self  # type: ignore[return-value]

    def _forget_resources(self) -> None:
        self._resources: dict[str, Any] | None = None
        self._made: dict[str, Any] = {}
        self._rows: dict[str, Any] | None = None
        self._dependencies: Any = None

    @property
    def resources_loaded(self) -> bool:
        return self._resources is not None

    @property
    def resources(self) -> dict[str, Any]:
        """Resource objects of the enabled definitions, by name."""
        if self._resources is None:
            rows = self.resource_rows()
            made = self._made
            self._resources = {name: made.get(name) or self.make_resource(name, rows.get(name)) for name in self.defn}
        return self._resources

    def resource_rows(self) -> dict[str, Any]:
        """The row that stands for each name: of two with the same name, the one that is not replaced."""
        if self._rows is None:
            if self.id is None or self.in_convergence_check:
                return {}
            from openkeel_heat.db import resources as db

            self.use_rows(db.list_by_stack(self.id))
        assert self._rows is not None
        return self._rows

    def use_rows(self, rows: Iterable[Any]) -> None:
        """Take the resources' rows from a query that was made already."""
        self._rows = records.by_name(rows)
        self._resources = None
        self._made = {}

    def make_resource(self, name: str, row: Any = None, cls: Any = None) -> Any:
        """The Resource object for a name in this definition, with the record of ``row``. KeyError: no such name."""
        from openkeel_heat.resources.kit.resource import Resource

        bound = self.defn.bound(name)
        resource = (cls or Resource)(name, bound, self)
        if row is not None:
            records.load(resource, row)
        return resource

    def resource_in(self, defn: StackDefinition, name: str) -> Any:
        """A Resource of this stack under another definition, without a row."""
        from openkeel_heat.resources.kit.resource import Resource

        return Resource(name, defn.bound(name), self)

    def resource_from_row(self, row: Any, substitute_from: Stack | None = None) -> Any:
        """The Resource for a row under THIS definition; KeyError when it does not know the name.

        With ``substitute_from`` (a newer definition) a type that has a successor there gets the successor's class.
        """
        resource = self.make_resource(row["name"], row)
        if substitute_from is not None:
            resource = records.substitute(self._whole, resource, row, substitute_from)
        return resource

    def resource_of_any_template(self, row: Any) -> Any:
        """The Resource for a row under the template that it was last processed with; None when that is gone."""
        template_id = row.current_template_id
        if template_id is None or template_id == self.t.id:
            known = self.resources.get(row.name)
            if known is not None and known.record.id == row.id:
                return known
        return self._of_its_template(row)

    def replacement_of(self, resource: Any) -> Any:
        """The Resource that replaces another one of this stack; None when there is none (any more)."""
        from openkeel_heat.db import resources as db

        row = None if resource.replaced_by is None else db.get(resource.replaced_by, data=True)
        return None if row is None else self._of_its_template(row)

    def others_of(self, resource: Any) -> list[Any]:
        """The Resources that stand for the same name beside this one: what replaces it, and what it replaces."""
        from openkeel_heat.db import resources as db

        rows = db.list_by_name(str(self.id), resource.name)
        found = [self._of_its_template(row) for row in rows if row.id != resource.id]
        return [other for other in found if other is not None]

    def _of_its_template(self, row: Any) -> Any:
        try:
            return self.for_template(row.current_template_id).resource_from_row(row)
        except (KeyError, exceptions.NotFound):
            return None

    def resource_get(self, name: str) -> Any:
        """The Resource of that name in the template, else among the rows; None when there is neither."""
        if self._resources is None and self._rows is None and self.id is not None and not self.in_convergence_check:
            return self._resource_alone(name)
        resource = self.resources.get(name)
        if resource is None and name in self.resource_rows():
            resource = self.resource_of_any_template(self.resource_rows()[name])
        return resource

    def _resource_alone(self, name: str) -> Any:
        """One resource of a stack of whose other resources nothing was read."""
        if name not in self._made:
            from openkeel_heat.db import resources as db

            row = records.by_name(db.list_by_name(str(self.id), name)).get(name)
            if name not in self.defn:
                return None if row is None else self._of_its_template(row)
            self._made[name] = self.make_resource(name, row)
        return self._made[name]

    def stored_resource(self, name: str) -> Any:
        """The Resource of that name with its row, also where a node is processed and others' rows are not loaded."""
        return self._resource_alone(name)

    def resource(self, name: str) -> Any:
        """The Resource of an enabled name; KeyError otherwise."""
        return self.resources[name]

    def resource_by_refid(self, refid: Any) -> Any:
        """The Resource whose reference id this is, None when there is none."""
        if self.in_convergence_check:
            return self._known_by_refid(refid)
        for name in self.defn:
            data = self.defn.data_of(name)
            if data is None:
                resource = self.resources[name]
                if resource.state in _FINDABLE and refid in (resource.FnGetRefId(), name):
                    return resource
            elif (data.action, data.status) in _FINDABLE and data.reference_id() == refid:
                return self._with_row(self.resources[name], data)
        return None

    def _known_by_refid(self, refid: Any) -> Any:
        """The same while a node is processed. Only that one is made: there may be thousands beside it."""
        for data in self.defn.known():
            if (data.action, data.status) in _FINDABLE and data.reference_id() == refid and data.name in self.defn:
                return self._with_row(self._one(str(data.name)), data)
        if isinstance(refid, str) and refid in self.defn and self.defn.data_of(refid) is None:
            return self._one(refid)  # it has no other reference id before it exists
        return None

    def _one(self, name: str) -> Any:
        """A Resource of this stack, without making the others."""
        return self.make_resource(name) if self._resources is None else self._resources[name]

    def _with_row(self, resource: Any, data: NodeData) -> Any:
        """While a node is processed rows of other resources are not loaded; this one is wanted."""
        if resource.record.id is None and data.primary_key is not None:
            from openkeel_heat.db import resources as db

            row = db.get(data.primary_key)
            if row is not None:
                records.load(resource, row)
        return resource

    def load_resource_data(self, for_resources: bool = False, for_outputs: Any = True) -> None:
        """Let functions see the present reference ids and attributes of all resources (for outputs, by default)."""
        for resource in self.resources.values():  # one by one: a type may look at others that came before
            self.defn.set_data([resource.node_data(for_resources=for_resources, for_outputs=for_outputs)])
        self._outputs = None

    @property
    def dependencies(self) -> Any:
        """``template.graph.Dependencies`` over NAMES of enabled resources: what the template says and types add."""
        if self._dependencies is None:
            from openkeel_heat.engine import edges

            self._dependencies = edges.dependencies(self._whole)
        return self._dependencies

    def required_by(self, name: str) -> list[str]:
        """Names of the resources that depend on this one directly."""
        from openkeel_heat.engine import edges

        return edges.required_by(self._whole, name)

    def total_resources(self, stack_id: str | None = None) -> int:
        """Live resources in the whole tree of the (root) stack; 0 for a stack that is not stored."""
        stack_id = stack_id or self.id
        if stack_id is None:
            return 0
        from openkeel_heat.db import resources as db

        return db.count_by_root(stack_id)

    def requires_deferred_auth(self) -> bool:
        return any(resource.requires_deferred_auth for resource in self.values())

    def acts_for_owner(self) -> list[str]:
        """Names of the resources that call services as the owner when no request is at hand."""
        return sorted(name for name, resource in self.items() if resource.acts_for_owner())

    def preview_resources(self) -> list[Any]:
        return [resource.preview() for resource in self.resources.values()]

    def __getitem__(self, name: str) -> Any:
        return self.resources[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.defn)

    def __len__(self) -> int:
        return len(self.defn.resource_definitions())

    def __contains__(self, name: object) -> bool:
        return name in self.defn
