# SPDX-License-Identifier: Apache-2.0
"""What the types of the compute service have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.resources.kit.rest import RestResource


class NovaResource(RestResource):
    default_client_name = "nova"

    #: What the list of a type takes to have all that may be the resource's own.
    list_params: Mapping[str, Any] = {}

    def find_physical(self) -> str | None:
        """By the name, as any; but most lists of Nova refuse to filter by it."""
        name = self.given_properties().get("name")
        wanted = name or self.physical_resource_name()
        if wanted is None:
            return None
        api = self.api_object
        listed = self.api.list(api.list_path or api.path, api.collection, self.list_params or None)
        found = [one for one in listed if one.get("name") == wanted and (not name or self._is_younger(one))]
        return str(found[0][api.id]) if len(found) == 1 else None
