# SPDX-License-Identifier: Apache-2.0
"""Taking stacks of the old engine (without traversals) over to convergence."""
from __future__ import annotations

import uuid
from typing import Any

from oslo_log import log as logging

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db import locks, migrate_convergence, stacks
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
    tree = [*(Stack.from_row(context, row) for row in stacks.list_descendants(stack_id)), root]
    for stack in (root, *tree):
        if stack.status != stack.COMPLETE:
            raise exceptions.ActionNotComplete(stack_name=stack.name, action=stack.action)
    held = []
    try:
        for stack in tree:
            _lock(stack, engine_id)
            held.append(stack)
        migrate_convergence.migrate([_changes(stack) for stack in tree if not stack.convergence])
    finally:
        for stack in held:
            locks.release(_id(stack), engine_id)


def _id(stack: Stack) -> str:
    assert stack.id is not None
    return stack.id


def _lock(stack: Stack, engine_id: str) -> None:
    if locks.create(_id(stack), engine_id) is not None:
        raise exceptions.ActionInProgress(stack_name=stack.name, action=stack.action)


def _changes(stack: Stack) -> migrate_convergence.Changes:
    """Which rows get which requirements, and which rows go because the template does not know them."""
    rows = stack.resource_rows()
    ids = {name: row.id for name, row in rows.items() if name in stack.defn}
    requires = {
        ids[name]: sorted(ids[one] for one in stack.dependencies.requires(name) if one in ids) for name in ids
    }
    return migrate_convergence.Changes(
        stack_id=_id(stack), traversal_id=str(uuid.uuid4()), template_id=stack.t.id,
        previous_template_id=stack.prev_raw_template_id, requires=requires,
        gone=[row.id for name, row in rows.items() if name not in ids])
