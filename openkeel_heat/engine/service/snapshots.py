# SPDX-License-Identifier: Apache-2.0
"""RPC methods about snapshots."""

from __future__ import annotations

from typing import Any

from openkeel_heat.engine.operations import snapshots
from openkeel_heat.engine.service.endpoint import Endpoints, endpoint


class SnapshotEndpoints(Endpoints):
    @endpoint
    def stack_snapshot(self, context: Any, stack_identity: Any, name: str | None) -> Any:
        return snapshots.create(self.runtime, context, stack_identity, name)

    @endpoint
    def show_snapshot(self, context: Any, stack_identity: Any, snapshot_id: str) -> Any:
        return snapshots.show(context, stack_identity, snapshot_id)

    @endpoint
    def stack_list_snapshots(self, context: Any, stack_identity: Any) -> Any:
        return snapshots.list_all(context, stack_identity)

    @endpoint
    def delete_snapshot(self, context: Any, stack_identity: Any, snapshot_id: str) -> None:
        snapshots.delete(self.runtime, context, stack_identity, snapshot_id)

    @endpoint
    def stack_restore(self, context: Any, stack_identity: Any, snapshot_id: str) -> None:
        snapshots.restore(self.runtime, context, stack_identity, snapshot_id)
