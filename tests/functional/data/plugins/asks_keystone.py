# SPDX-License-Identifier: Apache-2.0
"""A resource that needs the credentials of its stack late: it asks Keystone who it is when a file is there."""

from __future__ import annotations

import os
from typing import Any

from heat.engine import attributes, properties, resource


class AsksKeystone(resource.Resource):
    PROPERTIES = (WHEN,) = ("when",)
    properties_schema = {WHEN: properties.Schema(properties.Schema.STRING, update_allowed=True)}
    ATTRIBUTES = (WHO,) = ("who",)
    attributes_schema = {WHO: attributes.Schema("The user of the token.", cache_mode=attributes.Schema.CACHE_NONE)}

    def _ask(self) -> str:
        adapter = self.client("keystone").client.adapter
        adapter.get("/auth/projects")
        return str(adapter.get_user_id())

    def handle_create(self) -> Any:
        self._ask()
        return self.properties[self.WHEN]

    def check_create_complete(self, when: str) -> bool:
        if not os.path.exists(when):
            return False
        self.resource_id_set(self._ask())
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> Any:
        return prop_diff.get(self.WHEN)

    def check_update_complete(self, when: Any) -> bool:
        return when is None or self.check_create_complete(when)

    def handle_signal(self, details: Any = None) -> str:
        return f"as {self._ask()}"

    def handle_delete(self) -> None:
        return None

    def _resolve_attribute(self, name: str) -> Any:
        return self._ask()


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {"Test::Keystone::Asks": AsksKeystone}
