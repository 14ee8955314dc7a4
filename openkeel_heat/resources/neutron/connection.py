# SPDX-License-Identifier: Apache-2.0
"""What is between objects of the network service without being one: an interface of a router, a route, a quota.

The service has no id for it and shows it as part of something else, so there is nothing for the attribute ``show``; but
whether it is there can be told.
"""

from __future__ import annotations

from typing import Any

from oslo_log import log as logging

from openkeel_heat.resources.neutron.neutron import NeutronResource

LOG = logging.getLogger(__name__)


class Connection(NeutronResource):
    def look(self) -> Any:
        """What there is of it; not found is an error."""
        raise NotImplementedError

    def verify_presence(self) -> None:
        if self.resource_id is None:
            return
        try:
            self.look()
        except Exception as error:
            if self.client_plugin().is_not_found(error):
                raise
            LOG.info("Whether %(name)s is there cannot be told: %(why)s", {"name": self, "why": error})

    def needs_replace_failed(self) -> bool:
        return True
