# SPDX-License-Identifier: Apache-2.0
"""A resource whose errors repeat what it was given, as many services do."""

from __future__ import annotations

import logging
from typing import Any

from heat.engine import properties, resource

LOG = logging.getLogger(__name__)


class Tells(resource.Resource):
    PROPERTIES = (VALUE,) = ("value",)
    properties_schema = {VALUE: properties.Schema(properties.Schema.STRING, update_allowed=True)}

    def handle_create(self) -> Any:
        LOG.warning("Trying %s", self.properties[self.VALUE])
        raise ValueError(f"The service does not like {self.properties[self.VALUE]!r}")

    def handle_delete(self) -> None:
        return None


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {"Test::Secret::Tells": Tells}
