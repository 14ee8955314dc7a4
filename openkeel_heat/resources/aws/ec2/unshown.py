# SPDX-License-Identifier: Apache-2.0
"""Types of EC2 show nothing of the objects that they are made of: what users see are the attributes of EC2.

So does OS::Nova::FloatingIP, whose object is the network service's by now.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.resources.kit.rest import RestResource


class UnshownResource(RestResource):
    """An object of OpenStack whose fields are known to the type only."""

    def _show_resource(self) -> None:
        return None

    def shown(self) -> dict[str, Any]:
        """The object as the service has it."""
        return dict(super()._show_resource())

    def shown_recently(self) -> dict[str, Any]:
        return self.shown()

    def verify_presence(self) -> None:
        if self.resource_id is not None:
            self.shown()
