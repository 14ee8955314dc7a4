# SPDX-License-Identifier: Apache-2.0
"""``client("openstack")``: a connection of openstacksdk with the credentials of the context."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from openkeel_heat.clients import rest_errors
from openkeel_heat.clients.constants import ExtensionMixin
from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.common import config, version as versions
from openkeel_heat.common.options.clients import CLIENT_NAMES


class OpenStackSDKPlugin(ExtensionMixin, ClientPlugin):
    service_types = [NETWORK] = ["network"]

    @property
    def exceptions_module(self) -> Any:  # type: ignore[override]
        from openstack import exceptions

        return exceptions

    def _create(self, version: str | None = None) -> Any:
        from openstack import connection
        from openstack.config import cloud_region

        region = cloud_region.from_session(
            session=self.context.keystone_session,
            region_name=self._get_region_name(),
            app_name="heat",
            app_version=versions.version_string(),
            **self._interfaces(),
        )
        return connection.Connection(config=region)

    @staticmethod
    def _interfaces() -> dict[str, Any]:
        """Which endpoint of each service is used, as ``[clients_<service>]`` says."""
        from os_service_types import ServiceTypes

        types = ServiceTypes()
        found = {"interface": cfg.CONF.clients.endpoint_type}
        for name in CLIENT_NAMES:
            service = types.get_service_data_for_project(name)
            if service is not None:
                key = service["service_type"].replace("-", "_")
                found[f"{key}_interface"] = config.get_client_option(name, "endpoint_type")
        return {key: str(value).removesuffix("URL") for key, value in found.items()}

    def _list_extensions(self) -> list[str]:
        """Those of the network service, by its own plug-in, which asks once for all requests of a while."""
        return list(self.clients.client_plugin("neutron")._list_extensions())

    # errors: of the library, and of the services' own plug-ins, which find for it

    def is_client_exception(self, ex: BaseException) -> bool:
        return isinstance(ex, rest_errors.RestError) or super().is_client_exception(ex)

    def is_not_found(self, ex: BaseException) -> bool:
        return rest_errors.status_of(ex) == 404 or isinstance(ex, self.exceptions_module.NotFoundException)

    def is_conflict(self, ex: BaseException) -> bool:
        return rest_errors.status_of(ex) == 409 or isinstance(ex, self.exceptions_module.ConflictException)

    def is_over_limit(self, ex: BaseException) -> bool:
        return rest_errors.status_of(ex) in (413, 429)

    # finders: by name or id (a floating IP: by its address); what is not there raises

    def find_network_segment(self, value: str) -> str:
        return self._find_in_network("segment", value)

    def find_network_port(self, value: str) -> str:
        return self._find_in_network("port", value)

    def find_network_ip(self, value: str) -> str:
        return self._find_in_network("floatingip", value)

    def _find_in_network(self, kind: str, value: str) -> str:
        """By the plug-in of the service itself: it remembers, and the library need not be loaded for it."""
        return str(self.clients.client_plugin("neutron").find_resourceid_by_name_or_id(kind, value))
