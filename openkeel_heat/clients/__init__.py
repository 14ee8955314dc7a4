# SPDX-License-Identifier: Apache-2.0
"""REST out: the clients of other services, one set per request context.

``context.clients.client("keystone")`` is a client with the credentials of the context, ``client_plugin("keystone")``
what surrounds it: error tests, finders, endpoints. A service's plug-in is imported when it is first asked for; those
of others are found in the entry point group ``heat.clients``.
"""

from __future__ import annotations

import functools
import importlib
import threading
import weakref
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import config, context as contexts, exceptions
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

#: Our plug-ins: name → ``module:class`` below this package.
PLUGINS = {
    "barbican": "barbican:BarbicanClientPlugin",
    "cinder": "cinder:CinderClientPlugin",
    "glance": "glance:GlanceClientPlugin",
    "heat": "heat:HeatClientPlugin",
    "keystone": "keystone:KeystoneClientPlugin",
    "neutron": "neutron:NeutronClientPlugin",
    "nova": "nova:NovaClientPlugin",
    "openstack": "sdk:OpenStackSDKPlugin",
    "swift": "swift:SwiftClientPlugin",
    "zaqar": "zaqar:ZaqarClientPlugin",
}

DEFAULT_BACKEND = "heat.engine.clients.OpenStackClients"
ENTRY_POINTS = "heat.clients"


class OpenStackClients:
    """The plug-ins and clients of one context."""

    def __init__(self, context: contexts.RequestContext) -> None:
        self._context = weakref.ref(context)
        self._plugins: dict[str, Any] = {}
        self._lock = threading.RLock()

    @property
    def context(self) -> contexts.RequestContext:
        context = self._context()
        assert context is not None, "the context of these clients is gone"
        return context

    def client_plugin(self, name: str) -> Any:
        """The plug-in of a service, None where there is none of that name."""
        with self._lock:
            if name not in self._plugins:
                cls = plugin_class(name)
                if cls is None:
                    return None
                self._plugins[name] = cls(self.context)
            return self._plugins[name]

    def client(self, name: str, version: str | None = None) -> Any:
        plugin = self.client_plugin(name)
        if plugin is None:
            LOG.warning("There is no client %s", name)
            return None
        return plugin.client(version=version) if version else plugin.client()

    def authenticated(self) -> bool:
        """Whether the credentials of the context are good for anything."""
        if not config.has_keystone():
            return True
        from keystoneauth1 import exceptions as errors

        try:
            return bool(self.context.keystone_session.get_token())
        except (errors.ClientException, exceptions.AuthorizationFailure):
            return False


@functools.cache
def plugin_class(name: str) -> Any:
    """The class of a plug-in, ours or another's; the result is remembered for the process."""
    if name in PLUGINS:
        module, _sep, attribute = PLUGINS[name].partition(":")
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    entry = _entry_points().get(name)
    if entry is None:
        return None
    try:
        cls = entry.load()
    except Exception:
        LOG.exception("The client plug-in %s cannot be loaded", name)
        return None
    available = getattr(cls, "is_available", None)
    return cls if available is None or available() else None


@functools.cache
def _entry_points() -> dict[str, Any]:
    from importlib import metadata

    return {
        entry.name: entry
        for entry in metadata.entry_points(group=ENTRY_POINTS)
        if not entry.value.startswith("heat.engine.clients.")
    }


def has_client(name: str) -> bool:
    return name in PLUGINS or name in _entry_points()


def initialise() -> None:
    """Plug-ins call it before they ask; there is nothing to prepare."""


def make_clients(context: contexts.RequestContext) -> Any:
    """The clients of a context, by the class that ``cloud_backend`` names."""
    backend = cfg.CONF.cloud_backend
    if backend == DEFAULT_BACKEND:
        return OpenStackClients(context)
    module, _sep, name = backend.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)(context)
    except (ImportError, AttributeError, RuntimeError, ValueError):
        LOG.exception("cloud_backend %s cannot be loaded", backend)
        raise exceptions.Invalid(reason=_("Invalid cloud_backend setting")) from None


Clients = ClientBackend = make_clients

contexts.clients_factory = make_clients
