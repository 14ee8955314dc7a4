# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("keystone")``: finders of identity objects by name or id."""

from __future__ import annotations

import re
from typing import Any

from oslo_config import cfg

from openkeel_heat.clients import patience
from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.clients.rest import RestClient
from openkeel_heat.common import config, exceptions

_WITH_DOMAIN = re.compile(r"(.*)\{(.*?)\}$", re.DOTALL)


class KeystoneClientPlugin(ClientPlugin):
    service_types = [IDENTITY] = ["identity"]

    _api: RestClient | None = None

    @property
    def exceptions_module(self) -> Any:  # type: ignore[override]
        from keystoneauth1 import exceptions as errors

        return [errors, exceptions]

    def _create(self, version: str | None = None) -> Any:
        if not config.has_keystone():
            from openkeel_heat.clients.local import LocalKeystone

            return LocalKeystone(self.context)
        from openkeel_heat.clients import keystone_backend

        return keystone_backend.make_backend(self.context, self._get_region_name())

    @property
    def api(self) -> RestClient:
        """The service with the credentials of the context."""
        with self._instances_lock:
            if self._api is None:
                client = self.client()
                if not hasattr(client, "client"):
                    raise exceptions.ClientNotAvailable(client_name="keystone")
                self._api = RestClient(client.client.adapter, "keystone", retries=cfg.CONF.client_retry_limit)
            return self._api

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, exceptions.EntityNotFound) or _is(ex, "NotFound")

    def is_over_limit(self, ex: BaseException) -> bool:
        return _is(ex, "RequestEntityTooLarge")

    def is_conflict(self, ex: BaseException) -> bool:
        return _is(ex, "Conflict")

    # --- finders

    def parse_entity_with_domain(self, entity_with_domain: str, entity_type: str) -> tuple[str, str | None]:
        """``name{domain}`` as the name and the id of the domain."""
        match = _WITH_DOMAIN.match(entity_with_domain)
        if match is None:
            return entity_with_domain, None
        try:
            return match.group(1), self.get_domain_id(match.group(2))
        except Exception as error:
            if patience.asked_pause(error) is not None:
                raise
            raise exceptions.EntityNotFound(entity=entity_type, name=entity_with_domain) from None

    def _find(self, collection: str, entity: str, name: str, unique: bool = False, **filters: Any) -> str:
        """The id of what has this id, else of what has this name: the first, or the only one."""
        objects = getattr(self.client().client, collection)
        try:
            return str(objects.get(name).id)
        except Exception as error:
            if not self.is_not_found(error):
                raise
        found = [str(one.id) for one in objects.list(name=name, **filters) if one.name == name]
        if not found:
            raise exceptions.EntityNotFound(entity=entity, name=name)
        if unique and len(found) > 1:
            raise exceptions.PhysicalResourceNameAmbiguity(name=name)
        return found[0]

    def _find_in_domain(
        self, collection: str, entity: str, name: str | None, domain: str | None, unique: bool = False
    ) -> str | None:
        if name is None:
            return None
        if not domain:
            name, domain = self.parse_entity_with_domain(name, entity)
        return self._find(collection, entity, name, unique, domain_id=domain)

    def get_role_id(self, role: str | None, domain: str | None = None) -> str | None:
        return self._find_in_domain("roles", "KeystoneRole", role, domain)

    def get_project_id(self, project: str | None, domain: str | None = None) -> str | None:
        return self._find_in_domain("projects", "KeystoneProject", project, domain)

    def get_group_id(self, group: str | None, domain: str | None = None) -> str | None:
        return self._find_in_domain("groups", "KeystoneGroup", group, domain)

    def get_user_id(self, user: str | None, domain: str | None = None) -> str | None:
        """A name that users of several domains have is nobody's."""
        return self._find_in_domain("users", "KeystoneUser", user, domain, unique=True)

    def get_domain_id(self, domain: str | None) -> str | None:
        return None if domain is None else self._find("domains", "KeystoneDomain", domain)

    def get_service_id(self, service: str | None) -> str | None:
        if service is None:
            return None
        services = self.client().client.services
        try:
            return str(services.get(service).id)
        except Exception as error:
            if not self.is_not_found(error):
                raise
        found = services.list(name=service)
        if len(found) > 1:
            raise exceptions.KeystoneServiceNameConflict(service=service)
        if not found:
            raise exceptions.EntityNotFound(entity="KeystoneService", name=service)
        return str(found[0].id)

    def get_region_id(self, region: str) -> str:
        try:
            return str(self.client().client.regions.get(region).id)
        except Exception as error:
            if not self.is_not_found(error):
                raise
            raise exceptions.EntityNotFound(entity="KeystoneRegion", name=region) from None


def _is(ex: BaseException, name: str) -> bool:
    """Whether *ex* is a keystoneauth error of that class; imports nothing when no such error can exist yet."""
    import sys

    errors = sys.modules.get("keystoneauth1.exceptions")
    return errors is not None and isinstance(ex, getattr(errors, name))
