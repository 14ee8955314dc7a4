# SPDX-License-Identifier: Apache-2.0
"""``client("openstack")``: a connection of openstacksdk with the credentials of the context."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients.constants import ExtensionMixin
from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.common import config, version as versions


class OpenStackSDKPlugin(ExtensionMixin, ClientPlugin):
    service_types = [NETWORK] = ["network"]

    @property
    def exceptions_module(self) -> Any:  # type: ignore[override]
        from openstack import exceptions

        return exceptions

    def _create(self, version: str | None = None) -> Any:
        from openstack import connection

        return connection.Connection(
            session=self.context.keystone_session,
            region_name=self._get_region_name(),
            interface=config.get_client_option("keystone", "endpoint_type").removesuffix("URL"),
            app_name="heat",
            app_version=versions.version_string(),
        )

    def _list_extensions(self) -> list[str]:
        return [extension.alias for extension in self.client().network.extensions()]

    # errors

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, self.exceptions_module.NotFoundException)

    def is_conflict(self, ex: BaseException) -> bool:
        return isinstance(ex, self.exceptions_module.ConflictException)

    def is_over_limit(self, ex: BaseException) -> bool:
        return getattr(ex, "status_code", None) in (413, 429)

    # finders: by name or id; what is not there raises

    def find_network_segment(self, value: str) -> str:
        return str(self.client().network.find_segment(value, ignore_missing=False).id)

    def find_network_port(self, value: str) -> str:
        return str(self.client().network.find_port(value, ignore_missing=False).id)

    def find_network_ip(self, value: str) -> str:
        return str(self.client().network.find_ip(value, ignore_missing=False).id)
