# SPDX-License-Identifier: Apache-2.0
"""What convergence needs from its neighbours, and what it offers to them.

Operations (``engine/operations``) talk to :class:`Convergence` only: they prepare a ``Stack`` as it should be and
start, cancel or stop a traversal. Everything below ``Convergence`` is found in the modules beside this one.

Convergence needs from ``engine/stack.py`` what :class:`StackLike` lists, from ``engine/events.py`` rows before a
transaction and their announcement after it, and from ``resources/kit/lifecycle.py`` generators yielding ``Transition``,
``Pause`` and ``HookPause``.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, Protocol


@dataclasses.dataclass
class StartRequest:
    """One traversal to be started, all of it in one transaction.

    ``stack``      the stack as it is stored (or, for CREATE/ADOPT, the new one: ``stack.id`` may be preset or None,
                   and ``stack.current_traversal`` is None: then its row is inserted in the same transaction).
    ``action``     CREATE, ADOPT, UPDATE, ROLLBACK, RESTORE, DELETE, CHECK, SUSPEND, RESUME, SNAPSHOT.
    ``new_stack``  UPDATE, RESTORE: the stack with the new template, parameters, tags, timeout, disable_rollback,
                   converge. Its template is stored here when ``new_stack.t.id`` is None.
    ``template``   DELETE, ROLLBACK: the template to go to (an empty one, or the previous one).
    ``template_id`` its id, where it is stored.
    ``keep_prev``  leave ``prev_raw_template_id`` as it is (a start that was cut is repeated).
    ``traversal_id`` SNAPSHOT: the snapshot's id serves as the traversal's id.
    ``snapshot``   SNAPSHOT: columns of the snapshot's row, which is inserted with the rest.
    ``values``     further columns of the stack's row to write in the same UPDATE or INSERT.
    ``abandon``    DELETE for abandon: resources are let go, not deleted.
    ``adopt_data`` ADOPT: the data given by the user.
    ``cancel_running`` DELETE over a running action: nodes of former traversals are cancelled where they run
                   (in any engine); the new traversal takes their resources over as they stop.
    """

    stack: Any
    action: str
    new_stack: Any = None
    template: Any = None
    template_id: int | None = None
    keep_prev: bool = False
    traversal_id: str | None = None
    snapshot: Mapping[str, Any] | None = None
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    abandon: bool = False
    adopt_data: Mapping[str, Any] | None = None
    converge: bool = False
    cancel_running: bool = False


class ConvergenceApi(Protocol):
    """The operations' side (implemented by ``convergence.Convergence``; one instance per Engine)."""

    engine_id: str

    def start(self, context: Any, request: StartRequest) -> str | None:
        """Start a traversal; returns its id, or None when another traversal was started first (nothing written).

        Returns after the commit; the nodes run on the scheduler. An error on the way is raised to the caller, and
        nothing is written then; ``lifecycle_plugins.Refused`` when a plugin does not want the operation.
        """

    def cancel(self, context: Any, stack: Any, rollback: bool) -> None:
        """``stack_cancel_update``: with rollback start a ROLLBACK traversal over the running one, without it stop
        the traversal (stack becomes FAILED ``Stack UPDATE cancelled``; running resources finish in peace)."""

    def stop_traversal(self, context: Any, stack: Any) -> None:
        """Stop the traversal of the stack and of all IN_PROGRESS stacks below it; no running resource is cancelled."""

    def delete_snapshot(self, context: Any, stack: Any, snapshot_id: str) -> None:
        """Delete one snapshot, whose row says DELETE IN_PROGRESS already. Does not wait."""

    def retrigger(self, context: Any, stack_id: str, resource_id: int) -> None:
        """A resource is free that was held outside of traversals: call again for it in the present one."""

    def wake(self, key: Any) -> None:
        """A poll that waits for ``key`` may run at once. Keys: ``('hook', id)`` after a hook of a resource was
        cleared, ``('resource', id)`` when a signal or a metadata change came in; ``('stack', id)`` when a nested
        stack reached a final state."""


class StackLike(Protocol):
    """What convergence reads from ``engine.stack.Stack``."""

    id: str | None
    name: str
    context: Any
    action: str
    status: str
    status_reason: str
    current_traversal: str | None
    prev_raw_template_id: int | None
    disable_rollback: bool
    timeout_mins: int | None
    converge: bool
    holder: tuple[int, str] | None
    owner_id: str | None
    tenant_id: str
    created_time: datetime.datetime | None
    updated_time: datetime.datetime | None
    user_creds_id: int | None
    stack_user_project_id: str | None
    tags: list[str] | None
    t: Any
    """template.Template; ``t.id`` is the raw_template id or None"""

    @property
    def dependencies(self) -> Any:
        """``template.graph.Dependencies`` over the names of the enabled resources of ``t``: static edges of the
        compiled template plus those that types add (``add_explicit_dependencies``, ``add_dependencies``). No
        resource is made for types that add nothing."""

    def row_values(self) -> dict[str, Any]:
        """Columns of the ``stack`` table for this stack, without id, state, traversal and template ids."""

    def template_values(self) -> dict[str, Any]:
        """Row for ``raw_template`` (``template``, ``files``, ``environment`` as they are stored: hidden parameters
        encrypted where configured), for a template without an id."""

    def root_stack_id(self) -> str:
        """Id of the topmost stack."""

    def for_template(self, template_id: int) -> StackLike:
        """The same stack seen through another of its stored templates (a resource's ``current_template_id``)."""

    def for_node(self, node_data: Mapping[str, Any]) -> StackLike:
        """A light copy whose resource proxies come from ``node_data``: name -> dict of the wire form
        (id, name, uuid, reference_id, attrs, action, status). Nothing else of the stack's resources is loaded."""

    def resource_from_row(self, row: Mapping[str, Any], substitute_from: StackLike | None = None) -> Any:
        """kit ``Resource`` for one row (``record`` filled), defined by this stack's template. With
        ``substitute_from`` (the newer definition) a type replaced by its successor gets the successor's class.
        KeyError when this template does not define the name."""

    def stored_context(self) -> Any:
        """A RequestContext from the stored credentials (for work that no request started)."""
