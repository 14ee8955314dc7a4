# SPDX-License-Identifier: Apache-2.0
"""The endpoint of topic ``engine_worker``: calls at nodes from any engine, Python Heat's or ours.

Each method puts the work on the scheduler and returns. A call may come twice, late, or out of order; see :mod:`.node`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import oslo_messaging
from oslo_log import log as logging

from openkeel_heat.db import stacks
from openkeel_heat.engine.convergence import plan, snapshots
from openkeel_heat.engine.convergence.plan import Node
from openkeel_heat.engine.convergence.state import Visit

if TYPE_CHECKING:
    from openkeel_heat.engine.convergence.core import Convergence

LOG = logging.getLogger(__name__)


class WorkerService:
    """See the module's docstring."""

    RPC_API_VERSION = "1.9"
    target = oslo_messaging.Target(version=RPC_API_VERSION)

    def __init__(self, hub: Convergence) -> None:
        self._hub = hub

    def check_resource(
        self,
        cnxt: Any,
        resource_id: Any,
        current_traversal: str,
        data: Mapping[str, Any],
        is_update: bool,
        adopt_stack_data: Any,
        converge: bool = False,
        skip_propagate: bool = False,
        accumulated_failures: Any = None,
        node_type: str = plan.NODE_TYPE_RESOURCE,
        abandon: bool = False,
    ) -> None:
        """Process a node."""
        visit = Visit(
            Node(resource_id, is_update, node_type),
            current_traversal,
            dict((data or {}).get("input_data") or {}),
            skip_propagate,
            accumulated_failures,
            adopt_stack_data,
            converge,
            abandon,
            called=True,
        )
        self._hub.run([visit], self._hub.traversals.get(current_traversal), cnxt)

    def check_resource_delete_snapshot(
        self,
        cnxt: Any,
        snapshot_id: str,
        resource_name: str,
        start_time: Any = None,
        is_stack_delete: bool = False,
        current_traversal: str | None = None,
    ) -> None:
        """Delete what one resource keeps in a snapshot."""
        self._hub.scheduler.submit(
            snapshots.run_resource(self._hub, cnxt, snapshot_id, resource_name, current_traversal),
            [("snapshot resource", snapshot_id, resource_name)],
        )

    def cancel_check_resource(self, cnxt: Any, stack_id: str) -> None:
        """Cancel what this engine does for former traversals of a stack."""
        state = stacks.get_state(stack_id)
        current = state["current_traversal"] or "" if state else ""
        count = self._hub.cancel_former(stack_id, current)
        LOG.info("Cancelled %d nodes of stack %s", count, stack_id)
