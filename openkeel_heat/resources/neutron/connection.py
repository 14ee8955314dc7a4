# SPDX-License-Identifier: Apache-2.0
"""What is between objects of the network service without being one: an interface of a router, a route, a quota.

The service has no id for it and shows it as part of something else, so there is nothing for the attribute ``show``; but
whether it is there can be told. A replacement may be the very same connection: then the deletion of the one that was
replaced leaves it alone.
"""

from __future__ import annotations

from typing import Any

from openkeel_heat.resources.neutron.neutron import NeutronResource


class Connection(NeutronResource):
    def look(self) -> Any:
        """What there is of it; not found is an error."""
        raise NotImplementedError

    def needs_replace_failed(self) -> bool:
        return True

    def handle_delete(self) -> None:
        if self.resource_id and not self._is_taken_over():
            with self.client_plugin().ignore_not_found:
                self.disconnect()

    def disconnect(self) -> None:
        """Take it away; not found is no error."""
        raise NotImplementedError

    def identity(self) -> tuple[Any, ...]:
        """What two resources that are the same connection have in common."""
        return (self.resource_id,)

    def _is_taken_over(self) -> bool:
        other = None if self.replaced_by is None else self.stack.replacement_of(self)
        if other is None or not other.resource_id or type(other) is not type(self):
            return False
        with other.frozen_properties() as properties:
            other.translate_properties(properties, ignore_resolve_error=True)
            return bool(other.identity() == self.identity())
