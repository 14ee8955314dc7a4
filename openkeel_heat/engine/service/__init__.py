# SPDX-License-Identifier: Apache-2.0
"""The RPC endpoint of topic ``engine``: one object that has every method of the contract.

Each method is thin: it hands its arguments to an operation of ``openkeel_heat.engine.operations``. ``engine/server.py``
mounts ``EngineService(runtime)``, where ``runtime`` is what ``operations/runtime.py`` describes.
"""

from __future__ import annotations

from openkeel_heat.engine.service.discovery import DiscoveryEndpoints
from openkeel_heat.engine.service.resources import ResourceEndpoints
from openkeel_heat.engine.service.snapshots import SnapshotEndpoints
from openkeel_heat.engine.service.software import SoftwareEndpoints
from openkeel_heat.engine.service.stacks import StackEndpoints

__all__ = ["EngineService"]


class EngineService(StackEndpoints, ResourceEndpoints, SnapshotEndpoints, DiscoveryEndpoints, SoftwareEndpoints):
    """All methods of topic ``engine``."""

    RPC_API_VERSION = "1.36"

    @classmethod
    def methods(cls) -> list[str]:
        """Names of the RPC methods."""
        return sorted(name for name in dir(cls) if getattr(getattr(cls, name), "rpc_endpoint", False))
