# SPDX-License-Identifier: Apache-2.0
"""What tap services and tap flows share: agents carry them out, and may refuse to let go of them.

An object that is deleted goes when its agent has confirmed that. One that is whole again, or failed, in the midst of
that has forgotten the request: it gets another.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.neutron.neutron import NeutronResource

READY, FAILED = ("ACTIVE",), ("ERROR",)


def tap_object(key: str) -> ApiObject:
    return ApiObject(f"/v2.0/taas/{key}s", key, status="status", ready=READY, failed=FAILED)


class TapResource(NeutronResource):
    def is_ready(self, shown: dict[str, Any]) -> bool:
        """Whatever is neither right nor wrong may become so."""
        status = shown["status"]
        if status in FAILED:
            raise self.error_of(shown, status)
        return status in READY

    def is_deleted(self, shown: dict[str, Any]) -> bool:
        if shown["status"] in (*READY, *FAILED):
            self._call("DELETE", self.object_path())
        return False
