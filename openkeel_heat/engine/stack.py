# SPDX-License-Identifier: Apache-2.0
"""A stack: its row, its compiled template and its parameters.

:class:`Stack` is what plugins see as ``self.stack`` and what operations and the convergence engine work with. Making
one from a row costs no SQL while its template is in the cache; resources, tags and the parent are read when somebody
asks.

    stack = Stack.load(context, stack_id)                   # one statement (two when the template is not cached)
    stack = Stack.from_row(context, row)                    # no statement
    node = stack.for_node({"web": {...}})                   # a light copy that knows just these resources
    stack = Stack(context, "web", template, timeout_mins=5) # not stored yet

Other resources are known in three ways that differ in cost:

``stack.defn``            the scope of template functions: proxies made of the node data given, no SQL
``stack.resources``       Resource objects of the current template, their rows loaded in ONE query at first use
``stack.resource_get(n)`` one Resource, even if the current template does not name it any more; only its row is read
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Self

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import clock, exceptions, identifier, names
from openkeel_heat.common.i18n import _
from openkeel_heat.engine import parent, templates
from openkeel_heat.engine.cache import Cache
from openkeel_heat.engine.definition import SharedDefinition, StackDefinition
from openkeel_heat.engine.node_data import NodeData
from openkeel_heat.engine.stack_resources import StackResources

if TYPE_CHECKING:
    from openkeel_heat.template import Template

LOG = logging.getLogger(__name__)

#: (stack, traversal, template) -> SharedDefinition
_shared = Cache(500)


class Stack(StackResources):
    """See the module's docstring. As a mapping: names of enabled resources to Resource objects."""

    ACTIONS = (CREATE, DELETE, UPDATE, ROLLBACK, SUSPEND, RESUME, ADOPT, SNAPSHOT, CHECK, RESTORE) = (
        "CREATE",
        "DELETE",
        "UPDATE",
        "ROLLBACK",
        "SUSPEND",
        "RESUME",
        "ADOPT",
        "SNAPSHOT",
        "CHECK",
        "RESTORE",
    )
    STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ("IN_PROGRESS", "FAILED", "COMPLETE")

    def __init__(
        self,
        context: Any,
        stack_name: str,
        tmpl: Template | None,
        stack_id: str | None = None,
        action: str | None = None,
        status: str | None = None,
        status_reason: str = "",
        timeout_mins: int | None = None,
        disable_rollback: bool = True,
        parent_resource: str | None = None,
        owner_id: str | None = None,
        adopt_stack_data: Mapping[str, Any] | None = None,
        stack_user_project_id: str | None = None,
        created_time: Any = None,
        updated_time: Any = None,
        user_creds_id: int | None = None,
        tenant_id: str | None = None,
        use_stored_context: bool = False,
        username: str | None = None,
        nested_depth: int = 0,
        strict_validate: bool = True,
        convergence: bool = True,
        current_traversal: str | None = None,
        tags: list[str] | None = None,
        prev_raw_template_id: int | None = None,
        current_deps: Any = None,
        cache_data: Mapping[str, NodeData] | None = None,
        deleted_time: Any = None,
        converge: bool = False,
        *,
        shared: SharedDefinition | None = None,
    ) -> None:
        if owner_id is None and stack_id is None:
            names.check_stack_name(stack_name)
        self.context = context
        self.id = stack_id
        self.name = stack_name
        self.owner_id = owner_id
        self.parent_resource_name = parent_resource
        self.action = action or (self.ADOPT if adopt_stack_data else self.CREATE)
        self.status = self.IN_PROGRESS if status is None else status
        self.status_reason = status_reason
        self.timeout_mins = timeout_mins
        self.disable_rollback = disable_rollback
        self.adopt_stack_data = adopt_stack_data
        self.stack_user_project_id = stack_user_project_id
        self.created_time = created_time
        self.updated_time = updated_time
        self.deleted_time = deleted_time
        self.user_creds_id = user_creds_id
        self.tenant_id: str = tenant_id or context.project_id
        self.username = username or context.username
        self.nested_depth = nested_depth
        self.strict_validate = strict_validate
        self.convergence = convergence
        self.current_traversal = current_traversal
        self.prev_raw_template_id = prev_raw_template_id
        self.current_deps = current_deps
        self.converge = converge
        #: Of a nested stack that its resource is at work on: the key of that resource, and the engine that holds it. An
        #: engine that slept, and lost it, starts nothing.
        self.holder: tuple[int, str] | None = None
        self.lacks_trust = False  # and cannot be given one by this request (engine.credentials)
        self.in_convergence_check = cache_data is not None
        self._tags = tags
        self._root_id: str | None = None
        self._parent = parent.proxy_for(context, parent_resource, owner_id)
        self._defn: StackDefinition | None = None
        self._access_handlers: dict[str, Any] = {}
        self._forget()
        if use_stored_context:
            self.context = self.stored_context()
        if tmpl is not None:
            shared = shared or SharedDefinition(tmpl, self.identifier())
            self._defn = StackDefinition(self.context, shared, cache_data, self._parent)

    def _forget(self) -> None:
        """Drop what was derived from the definition."""
        self._forget_resources()
        self._outputs: dict[str, Any] | None = None

    # loading ----------------------------------------------------------------------------------------------------
    @classmethod
    def load(
        cls,
        context: Any,
        stack_id: str | None = None,
        stack: Any = None,
        show_deleted: bool = True,
        use_stored_context: bool = False,
        load_template: bool = True,
    ) -> Self:
        """The stack with this id (or of this row); NotFound when there is none. Projects are not compared here."""
        if stack is None and stack_id is not None:
            from openkeel_heat.db import stacks as db

            stack = db.get(stack_id, show_deleted=show_deleted)
        if stack is None:
            raise exceptions.NotFound(_('No stack exists with id "%s"') % str(stack_id))
        return cls.from_row(context, stack, use_stored_context=use_stored_context, load_template=load_template)

    @classmethod
    def from_row(
        cls,
        context: Any,
        row: Mapping[str, Any],
        inputs: Mapping[str, NodeData] | None = None,
        use_stored_context: bool = False,
        load_template: bool = True,
    ) -> Self:
        """The stack of a record of ``db.stacks`` (a mapping of the columns; ``current_deps`` may be missing)."""
        stack = cls(
            context,
            row["name"],
            None,
            stack_id=row["id"],
            action=row["action"],
            status=row["status"],
            status_reason=row.get("status_reason") or "",
            timeout_mins=row["timeout"],
            disable_rollback=row["disable_rollback"],
            parent_resource=row.get("parent_resource_name"),
            owner_id=row.get("owner_id"),
            stack_user_project_id=row.get("stack_user_project_id"),
            created_time=row.get("created_at"),
            updated_time=row.get("updated_at"),
            deleted_time=row.get("deleted_at"),
            user_creds_id=row.get("user_creds_id"),
            tenant_id=row["tenant"],
            username=row["username"],
            nested_depth=row.get("nested_depth") or 0,
            convergence=bool(row.get("convergence", True)),
            current_traversal=row["current_traversal"] or "",  # None is for what is not stored yet
            prev_raw_template_id=row.get("prev_raw_template_id"),
            current_deps=row.get("current_deps"),
            cache_data=inputs,
            use_stored_context=use_stored_context,
            tags=row.get("tags"),
        )
        if load_template:
            shared = stack._shared_for(row["raw_template_id"])
            stack._defn = StackDefinition(stack.context, shared, inputs, stack._parent)
        return stack

    def _shared_for(self, template_id: int) -> SharedDefinition:
        if not self.convergence:  # the old engine rewrites templates in place
            return SharedDefinition(templates.load(template_id, fresh=True), self.identifier())
        key = (self.id, self.current_traversal, template_id)
        shared = _shared.get(key)
        if shared is None:
            shared = SharedDefinition(templates.load(template_id), self.identifier())
            _shared.put(key, shared)
        return shared

    def _clone(self, defn: StackDefinition) -> Self:
        other = copy.copy(self)
        other._defn = defn
        other._forget()
        return other

    def for_node(self, node_data: Mapping[str, Any]) -> Self:
        """A light copy that knows of other resources just what ``node_data`` says (by name, NodeData or wire form)."""
        data = {name: NodeData.from_dict(entry) for name, entry in node_data.items()}
        other = self._clone(StackDefinition(self.context, self.defn.shared, data, self._parent))
        other.in_convergence_check = True
        return other

    def for_template(self, template_id: int | None) -> Self:
        """The same stack seen through another of its stored templates, with the same knowledge of resources."""
        if template_id is None or template_id == self.t.id:
            return self
        return self._clone(self.defn.with_shared(self._shared_for(template_id)))

    # the definition ---------------------------------------------------------------------------------------------
    @property
    def defn(self) -> StackDefinition:
        assert self._defn is not None, "The stack was loaded without its template"
        return self._defn

    @property
    def t(self) -> Any:
        """The compiled template, None when it was not loaded."""
        return None if self._defn is None else self._defn.t

    @property
    def env(self) -> Any:
        return self.defn.env

    @property
    def parameters(self) -> Any:
        return self.defn.parameters

    @property
    def outputs(self) -> dict[str, Any]:
        """Output definitions whose condition holds, by name. Their values need :meth:`load_resource_data`."""
        if self._outputs is None:
            self._outputs = self.defn.outputs()
        return self._outputs

    def reset_outputs(self) -> None:
        """Resolve outputs anew: what they refer to has changed."""
        self._outputs = None

    def switch_template(self, template: Template, keep_data: bool = False) -> None:
        """Go over to another template: definition, parameters and all that is derived from them follow."""
        self._defn = self.defn.with_shared(SharedDefinition(template, self.identifier()), keep_data)
        self._forget()

    def assign_id(self, stack_id: str) -> None:
        """Give a new stack its id (the pseudo parameter for the stack's identity follows)."""
        self.id = stack_id
        self.use_identity(self.identifier())

    def use_identity(self, identity: identifier.HeatIdentifier) -> None:
        """Let parameters tell this identity: of a stack in memory that stands for a stored one."""
        self._defn = self.defn.with_shared(SharedDefinition(self.t, identity))
        self._forget()

    def get_availability_zones(self) -> list[str]:
        return self.defn.get_availability_zones()

    def validate(self, ignorable_errors: Any = None, validate_res_tmpl_only: bool = False) -> None:
        from openkeel_heat.engine import validation

        validation.validate(self, ignorable_errors, validate_res_tmpl_only)

    def prepare_abandon(self, no_resources: bool = False) -> dict[str, Any]:
        """``abandoned_stack`` of the RPC contract; also the data of a snapshot."""
        resources = {} if no_resources else {r.name: r.prepare_abandon() for r in self.resources.values()}
        return {
            "name": self.name,
            "id": self.id,
            "action": self.action,
            "environment": self.env.user_env_as_dict(),
            "files": dict(self.t.files),
            "status": self.status,
            "template": self.t.t,
            "resources": resources,
            "project_id": self.tenant_id,
            "stack_user_project_id": self.stack_user_project_id,
            "tags": self.tags,
        }

    # identity ---------------------------------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f'Stack "{self.name}" [{self.id}]'

    def identifier(self) -> identifier.HeatIdentifier:
        return identifier.HeatIdentifier(self.tenant_id, self.name, self.id)

    @property
    def state(self) -> tuple[str, str]:
        return self.action, self.status

    @property
    def parent_resource(self) -> parent.ParentResourceProxy | None:
        return self._parent

    def use_parent(self, stack: Stack) -> None:
        """The parent is this object (perhaps not stored yet)."""
        if self._parent is not None:
            self._parent.use(stack)

    def root_stack_id(self) -> str | None:
        """Id of the outermost stack (one statement for a nested stack, remembered)."""
        if not self.owner_id:
            return self.id
        if self._root_id is None:
            from openkeel_heat.db import stacks as db

            self._root_id = db.get_root_id(self.owner_id)
        return self._root_id

    def object_path_in_stack(self) -> list[tuple[Any, Stack]]:
        """(template resource, stack) from the root down to this stack; None as the root's resource."""
        if self._parent is None:
            return [(None, self)]
        return [*self._parent.stack().object_path_in_stack(), (self._parent, self)]

    def path_in_stack(self) -> list[tuple[str | None, str]]:
        """The same by names."""
        return [(resource.name if resource else None, stack.name) for resource, stack in self.object_path_in_stack()]

    @property
    def tags(self) -> list[str]:
        if self._tags is None:
            if self.id is None:
                return []
            from openkeel_heat.db import stacks as db

            self._tags = list(db.get_tags(self.id))
        return self._tags

    @tags.setter
    def tags(self, value: list[str] | None) -> None:
        self._tags = list(value or [])

    # writing ----------------------------------------------------------------------------------------------------
    def row_values(self) -> dict[str, Any]:
        """Columns of the row as this object stands, without id, state, traversal and template ids."""
        return {
            "name": self.name,
            "owner_id": self.owner_id,
            "parent_resource_name": self.parent_resource_name,
            "tenant": self.tenant_id,
            "username": self.username,
            "timeout": self.timeout_mins,
            "disable_rollback": self.disable_rollback,
            "stack_user_project_id": self.stack_user_project_id,
            "user_creds_id": self.user_creds_id,
            "nested_depth": self.nested_depth,
            "convergence": True,
            "backup": False,
            "updated_at": self.updated_time,
        }

    def template_values(self) -> dict[str, Any]:
        """Columns of the row for this stack's template, hidden parameters encrypted where the configuration says so."""
        return templates.row_values(self.t)

    def state_set(self, action: str, status: str, reason: str) -> bool:
        """New state and its event in one transaction, where the traversal is still the current one; then announce.

        False, and nothing happened, when another traversal has taken over.
        """
        if action not in self.ACTIONS:
            raise ValueError(_("Invalid action %s") % action)
        if status not in self.STATUSES:
            raise ValueError(_("Invalid status %s") % status)
        from openkeel_heat.db import announced as db
        from openkeel_heat.engine import events, hidden

        assert self.id is not None, "The stack is not stored"
        reason = hidden.of(self).text(reason)
        event = events.stack_event(self, action, status, reason)
        values = {"action": action, "status": status, "status_reason": reason}
        if not db.set_stack_state(self.id, values, event, expected_traversal=self.current_traversal):
            LOG.info(
                "Stack %s: traversal %s is not the current one any more; not set to %s_%s",
                self.name,
                self.current_traversal,
                action,
                status,
            )
            return False
        self.action, self.status, self.status_reason = action, status, reason
        events.announce(self.context, self, [event])
        return True

    # time -------------------------------------------------------------------------------------------------------
    def timeout_secs(self) -> int:
        return cfg.CONF.stack_action_timeout if self.timeout_mins is None else self.timeout_mins * 60

    def time_elapsed(self) -> float:
        """Seconds since the action in progress began."""
        return clock.seconds_since(self.updated_time or self.created_time)

    def time_remaining(self) -> float:
        return self.timeout_secs() - self.time_elapsed()

    def has_timed_out(self) -> bool:
        return self.status == self.IN_PROGRESS and self.time_elapsed() > self.timeout_secs()

    # credentials ------------------------------------------------------------------------------------------------
    def stored_context(self) -> Any:
        """The context stored when the stack was made (a trust or a password), for work that no request started."""
        from openkeel_heat.engine import credentials

        return credentials.stored_context(self)

    def create_stack_user_project_id(self) -> None:
        """Make the project of the stack's users in the stack domain and keep its id."""
        self.set_stack_user_project_id(self.clients.client("keystone").create_stack_domain_project(self.id))

    def set_stack_user_project_id(self, project_id: str) -> None:
        from openkeel_heat.db import stacks as db

        assert self.id is not None, "The stack is not stored"
        self.stack_user_project_id = project_id
        db.update(self.id, {"stack_user_project_id": project_id})

    def register_access_allowed_handler(self, credential_id: str, handler: Any) -> None:
        """``handler(resource_name)`` answers whether the holder of this credential may reach a resource."""
        assert callable(handler), "Handler is not callable"
        self._access_handlers[credential_id] = handler

    def access_allowed(self, credential_id: str | None, resource_name: str) -> bool:
        # users of resources register themselves; mostly it is the user of this very resource
        for row in sorted(self.resource_rows().values(), key=lambda row: row.name != resource_name):
            register = getattr(self.resource_of_any_template(row), "register_access", None)
            if register is not None:
                register()
            if credential_id in self._access_handlers:
                break
        handler = self._access_handlers.get(credential_id or "")
        return bool(handler and handler(resource_name))

    # what plugins reach through the stack -----------------------------------------------------------------------
    @property
    def clients(self) -> Any:
        return self.context.clients

    @property
    def store(self) -> Any:
        """``kit.store.ResourceStore``."""
        from openkeel_heat.engine.resource_store import STORE

        return STORE

    @property
    def nested_stacks(self) -> Any:
        """``kit.nested.NestedStacks``."""
        from openkeel_heat.engine.nested import NESTED

        return NESTED

    @property
    def software(self) -> Any:
        """``kit.software.Software``."""
        from openkeel_heat.engine.software_store import SOFTWARE

        return SOFTWARE

    def notify_scaling(self, suffix: str, **what: Any) -> None:
        """Send ``orchestration.autoscaling.<suffix>`` for a group of this stack. Never raises."""
        from openkeel_heat.engine import events

        events.announce_scaling(self, suffix, what)

    def update_resource(self, name: str, change: Callable[[Any], Any]) -> Generator[float | None, None, None]:
        """Steps that bring another resource, outside of a traversal, to the definition that ``change(it)`` gives."""
        from openkeel_heat.engine import side_update

        return side_update.steps(self, name, change)
