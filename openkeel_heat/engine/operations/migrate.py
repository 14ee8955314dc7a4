# SPDX-License-Identifier: Apache-2.0
"""Taking stacks of the old engine (without traversals) over to convergence.

``migrate_convergence_1`` does it when an operator asks, and only to what is COMPLETE. A change of such a stack does it
on the way in (:func:`stack_to_change`), whatever its state: what was in progress under an engine that is gone counts as
failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db import locks, migrate_convergence, services, stacks
from openkeel_heat.db.migrate_convergence import Changes
from openkeel_heat.engine.operations import lookup
from openkeel_heat.engine.operations.runtime import Runtime
from openkeel_heat.engine.stack import Stack

LOG = logging.getLogger(__name__)


def migrate(context: Any, engine_id: str, stack_id: str) -> None:
    """Migrate a top-level stack and all stacks below it, in one transaction."""
    root = Stack.load(context, stack_id, show_deleted=False)
    if root.owner_id is not None:
        raise exceptions.NotSupported(feature=_("Migration of nested stack %s") % stack_id)
    if root.convergence:
        LOG.info("Convergence was already enabled for stack %s", stack_id)
        return
    tree = _tree(context, root)
    for stack in (root, *tree):
        if stack.status != stack.COMPLETE:
            raise exceptions.ActionNotComplete(stack_name=stack.name, action=stack.action)
    _migrate(context, engine_id, tree)


def stack_to_change(runtime: Runtime, context: Any, identity: Mapping[str, str]) -> Stack:
    """The stack that an identity names, as the convergent engine has stacks."""
    stack = lookup.get_stack(context, identity)
    if on_the_way_in(context, runtime.engine_id, stack):
        stack = lookup.get_stack(context, identity)
    return stack


def on_the_way_in(context: Any, engine_id: str, stack: Stack) -> bool:
    """Migrate the tree of a stack that is about to be changed; False when there is nothing to do."""
    if stack.convergence or stack.id is None:
        return False
    root = Stack.load(context, stack.root_stack_id(), show_deleted=False)
    LOG.info("Stack %s is taken over to convergence", root.name)
    _migrate(context, engine_id, _tree(context, root))
    return True


def _tree(context: Any, root: Stack) -> list[Stack]:
    assert root.id is not None
    return [*(Stack.from_row(context, row) for row in stacks.list_descendants(root.id)), root]


def _migrate(context: Any, engine_id: str, tree: list[Stack]) -> None:
    held = []
    try:
        for stack in tree:
            _lock(stack, engine_id)
            held.append(stack)
        migrate_convergence.migrate([_changes(context, stack) for stack in tree if not stack.convergence])
    finally:
        for stack in held:
            locks.release(_id(stack), engine_id)


def _id(stack: Stack) -> str:
    assert stack.id is not None
    return stack.id


def _lock(stack: Stack, engine_id: str) -> None:
    holder = locks.create(_id(stack), engine_id)
    if holder is None:
        return
    service = services.get_by_engine(holder)
    if (service is not None and services.is_up(service)) or locks.steal(_id(stack), holder, engine_id) is not None:
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)


def _requires(stack: Stack, ids: dict[str, int]) -> dict[int, list[int]]:
    """Requirements of rows, by the stack's template."""
    return {ids[name]: sorted(ids[one] for one in stack.dependencies.requires(name) if one in ids) for name in ids}


def _changes(context: Any, stack: Stack) -> Changes:
    rows = stack.resource_rows()
    ids = {name: row.id for name, row in rows.items() if name in stack.defn}
    values = {}
    if stack.status == stack.IN_PROGRESS:
        values = {"status": stack.FAILED, "status_reason": f"Engine went down during stack {stack.action}"}
    changes = Changes(
        stack_id=_id(stack),
        traversal_id=str(uuid.uuid4()),
        template_id=stack.t.id,
        previous_template_id=stack.prev_raw_template_id,
        requires=_requires(stack, ids),
        gone=[row.id for name, row in rows.items() if name not in ids],
        values=values,
    )
    row = migrate_convergence.backup_of(_id(stack))
    if row is not None:
        backup = Stack.from_row(context, row)
        own = {name: one.id for name, one in backup.resource_rows().items() if name in backup.defn}
        requires = _requires(backup, own)
        changes.backup_id, changes.backup_template_id = row.id, row.raw_template_id
        changes.backup = {one: (requires[one], ids.get(name)) for name, one in own.items()}
    return changes
