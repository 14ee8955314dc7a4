# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("heat")``: where this service itself is, for signals, metadata and stacks in other regions."""

from __future__ import annotations

import logging
from typing import Any

from oslo_config import cfg

from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.clients.rest import asking_keystone
from openkeel_heat.common import config, exceptions

CLIENT_NAME = "heat"


class HeatClientPlugin(ClientPlugin):
    service_types = [ORCHESTRATION, CLOUDFORMATION] = ["orchestration", "cloudformation"]

    #: Whether the service of another cloud is meant: its catalogue knows where that is, our configuration does not.
    elsewhere = False

    def _create(self, version: str | None = None) -> Any:
        """An adapter of the orchestration API: paths below the project, JSON in and out."""
        from keystoneauth1 import adapter

        class Adapter(adapter.Adapter):  # type: ignore[misc]
            """Who gets no token is not told that a stack is not there."""

            def request(self, url: str, method: str, **more: Any) -> Any:
                with asking_keystone():
                    self.session.get_auth_headers(self.auth)
                return super().request(url, method, **more)

        headers = {}
        if self._configured_url():
            # The password filter of a standalone service takes them instead of a token.
            headers = {"X-Auth-User": self.context.username or "", "X-Auth-Key": self.context.password or ""}
        auth = None
        if not config.has_keystone():
            from keystoneauth1 import noauth

            auth = noauth.NoAuth(endpoint=self.get_heat_url())
        return Adapter(
            self.context.keystone_session,
            auth=auth,
            service_type=self.ORCHESTRATION,
            endpoint_override=self.get_heat_url(),
            connect_retries=cfg.CONF.client_retry_limit,
            additional_headers=headers,
            logger=_quiet_logger(),
        )

    def is_not_found(self, ex: BaseException) -> bool:
        # Resources that this service itself keeps are asked of without HTTP.
        return isinstance(ex, exceptions.NotFound) or _status(ex) == 404

    def is_over_limit(self, ex: BaseException) -> bool:
        return _status(ex) == 413

    def is_conflict(self, ex: BaseException) -> bool:
        return _status(ex) == 409

    def does_endpoint_exist(self, service_type: str, service_name: str) -> bool:
        """This service itself needs no catalogue where the configuration says its URL."""
        told = service_type == self.ORCHESTRATION and self._configured_url()
        return bool(told) or super().does_endpoint_exist(service_type, service_name)

    def _get_region_name(self) -> str | None:
        """The regions that our configuration names are those of this cloud."""
        return self.context.region_name if self.elsewhere else super()._get_region_name()

    def _configured_url(self) -> str | None:
        if self.elsewhere:
            return None
        url: str | None = self._get_client_option(CLIENT_NAME, "url", fallback=False)
        return url

    def get_heat_url(self) -> str:
        """The native API, with the project of the context in it."""
        url = self._configured_url()
        if url:
            return url % {"tenant_id": self.context.project_id}
        return self.url_for(service_type=self.ORCHESTRATION, endpoint_type=self._endpoint_type())

    def get_heat_cfn_url(self) -> str:
        return self.url_for(service_type=self.CLOUDFORMATION, endpoint_type=self._endpoint_type())

    def get_cfn_metadata_server_url(self) -> str:
        """The CloudFormation API as instances are told of it, with a version and a slash at its end."""
        url = cfg.CONF.heat_metadata_server_url or self.get_heat_cfn_url()
        if "/v1" not in url:
            url += "/v1"
        return url if url.endswith("/") else f"{url}/"

    def get_insecure_option(self) -> bool:
        return bool(self._get_client_option(CLIENT_NAME, "insecure"))

    def _endpoint_type(self) -> str:
        return str(self._get_client_option(CLIENT_NAME, "endpoint_type"))


def _quiet_logger() -> logging.Logger:
    """For what the debug log of keystoneauth would not mask: a password in headers, parameters of stacks in bodies."""
    logger = logging.getLogger(f"{__name__}.requests")
    logger.setLevel(logging.INFO)
    return logger


def _status(ex: BaseException) -> int | None:
    return getattr(ex, "http_status", None) or getattr(ex, "code", None)
