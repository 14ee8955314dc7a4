# SPDX-License-Identifier: Apache-2.0
"""A stack: its row, its compiled template and its parameters.

:class:`Stack` is what plugins see as ``self.stack`` and what operations and the convergence engine work with. Making one from a
row costs no SQL when its template is in the cache; resources, tags and the parent are read when somebody asks.

    stack = Stack.load(context, stack_id)                   # one statement (two when the template is not cached)
    stack = Stack.from_row(context, row, inputs)            # for a node: no statement; ``inputs`` are NodeData by name
    stack = Stack(context, "web", template, timeout_mins=5) # not stored yet
    stack.store()                                           # row + template + tags + credentials

Names of resources are looked up in three ways that differ in cost:

``stack.defn``            the scope of template functions: proxies made of ``inputs``, no SQL
``stack.resources``       Resource objects of the current template (rows loaded in ONE query at first use)
``stack.resource_get(n)`` one Resource even if the current template does not name it any more
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.engine import templates
from openkeel_heat.engine.definition import SharedDefinition, StackDefinition
from openkeel_heat.engine.node_data import NodeData

if TYPE_CHECKING:
    from openkeel_heat.template import Template

LOG = logging.getLogger(__name__)

_NAME = re.compile("[a-zA-Z][a-zA-Z0-9_.-]{0,254}$")
_shared: templates._Cache = templates._Cache(200)


def validate_name(name: Any) -> None:
    """Refuse a name that Heat refuses, in its words."""
    if not isinstance(name, str):
        raise exceptions.StackValidationFailed(message=_("Invalid stack name %s, must be a string") % name)
    if not _NAME.match(name):
        raise exceptions.StackValidationFailed(
            message=_('Invalid stack name %s must contain only alphanumeric or "_-." characters, must start with alpha '
                      'and must be 255 characters or less.') % name)


class Stack(Mapping[str, Any]):
    """See the module's docstring. Mapping from names of enabled resources to Resource objects."""

    ACTIONS = (CREATE, DELETE, UPDATE, ROLLBACK, SUSPEND, RESUME, ADOPT, SNAPSHOT, CHECK, RESTORE) = (
        "CREATE", "DELETE", "UPDATE", "ROLLBACK", "SUSPEND", "RESUME", "ADOPT", "SNAPSHOT", "CHECK", "RESTORE")
    STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ("IN_PROGRESS", "FAILED", "COMPLETE")

    def __init__(self, context: Any, stack_name: str, tmpl: Template | None, stack_id: str | None = None,
                 action: str | None = None, status: str | None = None, status_reason: str = "",
                 timeout_mins: int | None = None, disable_rollback: bool = True, parent_resource: str | None = None,
                 owner_id: str | None = None, adopt_stack_data: Mapping[str, Any] | None = None,
                 stack_user_project_id: str | None = None, created_time: Any = None, updated_time: Any = None,
                 user_creds_id: int | None = None, tenant_id: str | None = None, use_stored_context: bool = False,
                 username: str | None = None, nested_depth: int = 0, strict_validate: bool = True,
                 convergence: bool = True, current_traversal: str | None = None, tags: list[str] | None = None,
                 prev_raw_template_id: int | None = None, current_deps: Any = None,
                 cache_data: Mapping[str, NodeData] | None = None, deleted_time: Any = None, converge: bool = False,
                 *, raw_template_id: int | None = None, parameters: Any = None, row: Any = None) -> None:
        if owner_id is None and stack_id is None:
            validate_name(stack_name)
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
        self.tenant_id = tenant_id or context.project_id
        self.username = username or context.username
        self.nested_depth = nested_depth
        self.strict_validate = strict_validate
        self.convergence = convergence
        self.current_traversal = current_traversal
        self.prev_raw_template_id = prev_raw_template_id
        self.current_deps = current_deps
        self.converge = converge
        self.raw_template_id = raw_template_id
        self._tags = tags
        self._row = row

    # loading ----------------------------------------------------------------------------------------------------
    @classmethod
    def load(cls, context: Any, stack_id: str | None = None, stack: Any = None, show_deleted: bool = True,
             use_stored_context: bool = False, cache_data: Mapping[str, NodeData] | None = None,
             load_template: bool = True, check_refresh_cred: bool = False) -> Stack:
        """The stack with this id (or of this row); NotFound 'No stack exists with id "…"' when there is none."""
        raise NotImplementedError

    @classmethod
    def from_row(cls, context: Any, row: Any, inputs: Mapping[str, NodeData] | None = None,
                 use_stored_context: bool = False, load_template: bool = True) -> Stack:
        """The stack of a row of ``db.stacks``. Template, parameters and conditions come from the cache per
        (stack, traversal, template)."""
        raise NotImplementedError

    # the definition ---------------------------------------------------------------------------------------------
    defn: StackDefinition

    @property
    def t(self) -> Template:
        """The compiled template."""
        raise NotImplementedError

    @property
    def env(self) -> Any:
        raise NotImplementedError

    @property
    def parameters(self) -> Any:
        raise NotImplementedError

    def switch_template(self, template: Template, template_id: int | None, keep_data: bool = False) -> None:
        """Go over to another template: definition, parameters, dependencies and loaded resources follow."""
        raise NotImplementedError

    def definition_for(self, template_id: int | None) -> StackDefinition:
        """The scope of this stack under another stored template (same inputs); its own for None or its own id."""
        raise NotImplementedError

    # resources --------------------------------------------------------------------------------------------------
    @property
    def resources(self) -> dict[str, Any]:
        """Resource objects of the enabled definitions; rows of a stored stack loaded in one query."""
        raise NotImplementedError

    def make_resource(self, name: str, defn: StackDefinition | None = None, row: Any = None) -> Any:
        """A Resource object for a name in a definition (the stack's own by default), with the record of ``row``."""
        raise NotImplementedError

    def resource_from_row(self, row: Any) -> Any:
        """A Resource for a row of ``db.resources``, under the template the row was last processed with; None when
        that template does not know the name or is gone."""
        raise NotImplementedError

    def resource_get(self, name: str) -> Any:
        raise NotImplementedError

    def resource(self, name: str) -> Any:
        """The Resource object of an enabled name; KeyError otherwise."""
        raise NotImplementedError

    @property
    def dependencies(self) -> Any:
        """``template.graph.Dependencies`` over Resource objects: static edges and those that plugins add."""
        raise NotImplementedError

    # Mapping
    def __getitem__(self, name: str) -> Any:
        return self.resources[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.defn)

    def __len__(self) -> int:
        return len(self.defn.definitions())

    def __contains__(self, name: object) -> bool:
        return name in self.defn

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    # identity ---------------------------------------------------------------------------------------------------
    def identifier(self) -> Any:
        """``common.identifier.HeatIdentifier`` of this stack."""
        raise NotImplementedError

    def root_stack_id(self) -> str | None:
        """Id of the outermost stack; one statement for a nested stack, remembered."""
        raise NotImplementedError

    def path_in_stack(self) -> list[tuple[str | None, str]]:
        """(name of the template resource, name of the stack) from the root down to this stack."""
        raise NotImplementedError

    @property
    def state(self) -> tuple[str, str]:
        return self.action, self.status

    @property
    def tags(self) -> list[str]:
        raise NotImplementedError

    # writing ----------------------------------------------------------------------------------------------------
    def row_values(self) -> dict[str, Any]:
        """Columns of the stack row as this object stands (without id and raw_template_id)."""
        raise NotImplementedError

    def store(self, exp_trvsl: str | None = None, ignore_traversal_check: bool = False) -> str | None:
        """Insert (template, credentials, row with a fresh traversal id, tags) or update where current_traversal is as
        expected; None when another traversal has taken over."""
        raise NotImplementedError

    def state_set(self, action: str, status: str, reason: str) -> bool:
        """New state in one transaction with its event, fenced by current_traversal; then notification and sinks.
        False when the traversal is not the current one any more (nothing is announced)."""
        raise NotImplementedError

    # time -------------------------------------------------------------------------------------------------------
    def timeout_secs(self) -> int:
        return cfg.CONF.stack_action_timeout if self.timeout_mins is None else self.timeout_mins * 60

    def time_elapsed(self) -> float:
        """Seconds since the action in progress began."""
        raise NotImplementedError

    def time_remaining(self) -> float:
        return self.timeout_secs() - self.time_elapsed()

    def has_timed_out(self) -> bool:
        return self.status == self.IN_PROGRESS and self.time_elapsed() > self.timeout_secs()

    # credentials ------------------------------------------------------------------------------------------------
    def stored_context(self) -> Any:
        """The context of the stack's owner as stored at creation (a trust or a password)."""
        raise NotImplementedError

    def create_stack_user_project_id(self) -> str:
        """Make the project of the stack's users in the stack domain, and keep its id in the row."""
        raise NotImplementedError

    def set_stack_user_project_id(self, project_id: str) -> None:
        raise NotImplementedError

    def access_allowed(self, credential_id: str, resource_name: str) -> bool:
        """May the stack user with this credential reach the resource?"""
        raise NotImplementedError

    # what plugins reach through the stack -----------------------------------------------------------------------
    @property
    def clients(self) -> Any:
        return self.context.clients

    @property
    def store_backend(self) -> Any:
        raise NotImplementedError

    @property
    def nested_stacks(self) -> Any:
        """``kit.nested.NestedStacks`` for this stack's resources."""
        raise NotImplementedError

    @property
    def resource_store(self) -> Any:
        """``kit.store.ResourceStore`` for this stack's resources."""
        raise NotImplementedError
