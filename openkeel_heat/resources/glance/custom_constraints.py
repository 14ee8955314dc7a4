# SPDX-License-Identifier: Apache-2.0
"""Custom constraint ``glance.image``: the value is the name or the id of an image."""

from __future__ import annotations

from openkeel_heat.clients.errors import EntityMatchNotFound, EntityUniqueMatchNotFound
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint


class ImageConstraint(BaseCustomConstraint):
    expected_exceptions = (EntityMatchNotFound, EntityUniqueMatchNotFound)
    resource_client_name = "glance"
    resource_getter_name = "find_image_by_name_or_id"
