# SPDX-License-Identifier: Apache-2.0
"""Custom constraints of identity objects: ``keystone.project`` and so on, by id or name."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.resources.kit.constraints import BaseCustomConstraint


class KeystoneBaseConstraint(BaseCustomConstraint):
    resource_client_name = "keystone"
    expected_exceptions: tuple[type[Exception], ...] = (
        exceptions.EntityNotFound,
        exceptions.PhysicalResourceNameAmbiguity,
    )
    entity: str

    def validate_with_client(self, client: Any, resource_id: Any) -> None:
        # The service would take it for the whole collection.
        if resource_id == "":
            raise exceptions.EntityNotFound(entity=self.entity, name=resource_id)
        super().validate_with_client(client, resource_id)


class KeystoneDomainConstraint(KeystoneBaseConstraint):
    resource_getter_name = "get_domain_id"
    entity = "KeystoneDomain"


class KeystoneGroupConstraint(KeystoneBaseConstraint):
    resource_getter_name = "get_group_id"
    entity = "KeystoneGroup"


class KeystoneProjectConstraint(KeystoneBaseConstraint):
    resource_getter_name = "get_project_id"
    entity = "KeystoneProject"


class KeystoneRegionConstraint(KeystoneBaseConstraint):
    resource_getter_name = "get_region_id"
    entity = "KeystoneRegion"


class KeystoneRoleConstraint(KeystoneBaseConstraint):
    resource_getter_name = "get_role_id"
    entity = "KeystoneRole"


class KeystoneServiceConstraint(KeystoneBaseConstraint):
    expected_exceptions = (*KeystoneBaseConstraint.expected_exceptions, exceptions.KeystoneServiceNameConflict)
    resource_getter_name = "get_service_id"
    entity = "KeystoneService"


class KeystoneUserConstraint(KeystoneBaseConstraint):
    resource_getter_name = "get_user_id"
    entity = "KeystoneUser"
