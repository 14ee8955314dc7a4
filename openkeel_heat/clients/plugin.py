# SPDX-License-Identifier: Apache-2.0
"""The base of client plug-ins.

A plug-in makes the client of one service (``_create``) and says what the service's errors mean::

    class FooClientPlugin(ClientPlugin):
        service_types = [FOO] = ["foo"]

        def _create(self):
            return foo.Client(self.context.keystone_session, self.url_for(service_type=self.FOO))

        def is_not_found(self, ex):
            return isinstance(ex, foo.NotFound)

    with plugin.ignore_not_found:
        plugin.client().delete(id)
"""

from __future__ import annotations

import abc
import threading
import weakref
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from openkeel_heat.clients.error_tests import ErrorTests
from openkeel_heat.clients.rest import asking_keystone
from openkeel_heat.common import config, exceptions

if TYPE_CHECKING:
    from openkeel_heat.common.context import RequestContext


class ClientPlugin(ErrorTests, abc.ABC):
    service_types: list[str] = []
    default_version: str | None = None
    supported_versions: list[str] = []

    _get_client_option = staticmethod(config.get_client_option)

    def __init__(self, context: RequestContext) -> None:
        self._context = weakref.ref(context)
        self._clients = weakref.ref(context.clients)
        self._client_instances: dict[str | None, Any] = {}
        self._endpoint_existence: dict[tuple[str, str], bool] = {}
        self._instances_lock = threading.RLock()

    @property
    def context(self) -> RequestContext:
        context = self._context()
        assert context is not None, "the context of this client is gone"
        return context

    @property
    def clients(self) -> Any:
        return self._clients()

    def client(self, version: str | None = None) -> Any:
        """The client of a version; made once per context."""
        version = version or self.default_version
        with self._instances_lock:
            if version not in self._client_instances:
                if version is not None and version not in self.supported_versions:
                    raise exceptions.InvalidServiceVersion(version=version, service=self._get_service_name())
                made = self._create() if version is None else self._create(version=version)
                self._client_instances[version] = made
            return self._client_instances[version]

    @abc.abstractmethod
    def _create(self, version: str | None = None) -> Any:
        """A new client."""

    def _get_service_name(self) -> str:
        return type(self).__name__.removesuffix("ClientPlugin").lower()

    # --- where the service is

    def _get_region_name(self) -> str | None:
        shared = cfg.CONF.region_name_for_shared_services
        if shared and set(self.service_types) & set(cfg.CONF.shared_services_types):
            return str(shared)
        return self.context.region_name or cfg.CONF.region_name_for_services

    def url_for(self, **kwargs: Any) -> str:
        """The endpoint of ``service_type`` (and ``endpoint_type`` or ``interface``, ``region_name``)."""
        from keystoneauth1 import exceptions as errors

        if "endpoint_type" in kwargs:
            kwargs.setdefault("interface", kwargs.pop("endpoint_type"))
        kwargs.setdefault("region_name", self._get_region_name())
        session = self.context.keystone_session
        with asking_keystone():
            try:
                url = session.get_endpoint(**kwargs)
            except errors.EmptyCatalog:
                url = self._endpoint_of_fresh_token(session, kwargs)
        if url is None:
            raise errors.EndpointNotFound()
        return str(url)

    def _endpoint_of_fresh_token(self, session: Any, kwargs: dict[str, Any]) -> str | None:
        """A token may have come without its catalogue: fetch one that has it."""
        from keystoneauth1 import plugin
        from keystoneauth1.identity import generic

        identity = session.get_endpoint(None, interface=plugin.AUTH_INTERFACE)
        access = generic.Token(identity, session.get_token(None)).get_access(session)
        if not access.has_service_catalog():
            return None
        self.context.reload_auth_plugin()
        found: str | None = self.context.keystone_session.get_endpoint(**kwargs)
        return found

    def does_endpoint_exist(self, service_type: str, service_name: str) -> bool:
        from keystoneauth1 import exceptions as errors

        key = (service_type, service_name)
        if key not in self._endpoint_existence:
            try:
                self.url_for(
                    service_type=service_type, endpoint_type=self._get_client_option(service_name, "endpoint_type")
                )
                self._endpoint_existence[key] = True
            except errors.EndpointNotFound:
                self._endpoint_existence[key] = False
        return self._endpoint_existence[key]


def retry_if_connection_err(exception: BaseException) -> bool:
    """For tenacity: whether it was the connection that failed."""
    import requests

    return isinstance(exception, requests.ConnectionError)


def retry_if_result_is_false(result: object) -> bool:
    return result is False


class DefaultClientPlugin(ClientPlugin):
    """For resources without a service: no client, no error of anybody."""

    def _create(self, version: str | None = None) -> Any:
        return None
