# SPDX-License-Identifier: Apache-2.0
"""``client("openstack")``: a connection of openstacksdk with the credentials of the context."""

from __future__ import annotations

from typing import Any

from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.common import config


class OpenStackSDKPlugin(ClientPlugin):
    service_types: list[str] = []

    def _create(self, version: str | None = None) -> Any:
        from openstack import connection

        interface = config.get_client_option("keystone", "endpoint_type").removesuffix("URL")
        return connection.Connection(
            session=self.context.keystone_session,
            region_name=self._get_region_name(),
            interface=interface,
            app_name="heat",
        )

    def is_not_found(self, ex: BaseException) -> bool:
        from openstack import exceptions

        return isinstance(ex, exceptions.NotFoundException)

    def is_conflict(self, ex: BaseException) -> bool:
        from openstack import exceptions

        return isinstance(ex, exceptions.ConflictException)

    def is_over_limit(self, ex: BaseException) -> bool:
        return getattr(ex, "status_code", None) in (413, 429)
