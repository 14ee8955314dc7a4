# SPDX-License-Identifier: Apache-2.0
"""OS::Heat::None: stands in for a resource that shall not be."""

from __future__ import annotations

import uuid
from typing import Any

from openkeel_heat.resources.kit import properties, support
from openkeel_heat.resources.kit.resource import Resource


class NoneResource(Resource):
    """Takes any property, has any attribute (without a value), and does nothing.

    Map a type to it in an environment to leave out resources of that type.
    """

    support_status = support.SupportStatus(version="5.0.0")
    properties_schema = {}
    attributes_schema = {}

    deferred_resource_id = True
    deferred_data = True
    repeatable_create = True

    # Written into the data of what was made as a None from the start.
    IS_PLACEHOLDER = "is_placeholder"

    def _needs_update(
        self,
        after: Any,
        before: Any,
        after_props: Any,
        before_props: Any,
        prev_resource: Any,
        check_init_complete: bool = True,
    ) -> bool:
        return False

    def frozen_definition(self) -> Any:
        return self.t.freeze(properties=properties.Properties(schema={}, data={}))

    def reparse(self, client_resolve: bool = True) -> None:
        super().reparse(client_resolve)
        self.properties = properties.Properties(schema={}, data={})

    def validate(self) -> None:
        return None

    def handle_create(self) -> None:
        self.resource_id_set(str(uuid.uuid4()))
        self.data_set(self.IS_PLACEHOLDER, "True")

    def handle_delete(self) -> Any:
        # A resource that became a None later may have something to delete.
        if self.data().get(self.IS_PLACEHOLDER):
            return self.resource_id
        return super().handle_delete()

    def get_attribute(self, key: str, *path: Any) -> None:
        return None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Heat::None": NoneResource}
