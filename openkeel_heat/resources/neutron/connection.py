# SPDX-License-Identifier: Apache-2.0
"""What is between objects of the network service without being one: an interface of a router, a route, a quota.

The service has no id for it and shows it as part of something else, so there is nothing for the attribute ``show``; but
whether it is there can be told. A replacement may be the very same connection: then the deletion of the one that was
replaced leaves it alone. One that is marked unhealthy, or whose creation seemed to fail, but is there all the same
would be in the way of the one that is made for it, as the service allows no second: it goes before.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.resources.kit.rest import UNSURE
from openkeel_heat.resources.kit.succession import is_anothers
from openkeel_heat.resources.neutron.neutron import NeutronResource


class Connection(NeutronResource):
    def look(self) -> Any:
        """What there is of it; not found is an error."""
        raise NotImplementedError

    def needs_replace_failed(self) -> bool:
        return True

    def prepare_for_replace(self) -> None:
        unhealthy = self.state == (self.CHECK, self.FAILED)
        if (unhealthy or self.data().get(UNSURE)) and self.has_object():
            with self.client_plugin().ignore_not_found:
                self.disconnect()

    def handle_delete(self) -> None:
        if self.has_object() and not self._is_taken_over():
            with self.client_plugin().ignore_not_found:
                self.disconnect()

    def disconnect(self) -> None:
        """Take it away; not found is no error."""
        raise NotImplementedError

    def identity(self) -> tuple[Any, ...]:
        """What two resources that are the same connection have in common."""
        return (self.resource_id,)

    def _is_taken_over(self) -> bool:
        return is_anothers(self, lambda connection: connection.resource_id and connection.identity())
