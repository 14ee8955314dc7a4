# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("nova")``: servers, flavors, key pairs, and what is asked of a server besides its description.

What is done to servers while they are updated is in :mod:`.nova_servers`, what they boot with in
:mod:`.nova_userdata`.
"""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from oslo_config import cfg
from oslo_log import log as logging
from oslo_serialization import jsonutils
from oslo_utils import uuidutils

from openkeel_heat.clients import nova_userdata, patience, rest_errors
from openkeel_heat.clients.answer import Answer
from openkeel_heat.clients.cache import MEMOIZE_FINDER
from openkeel_heat.clients.nova_servers import ServerActions, server_path
from openkeel_heat.clients.service import MicroversionedPlugin
from openkeel_heat.common import clock, exceptions
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

CONSOLE_PROTOCOLS = {
    "novnc": "vnc",
    "xvpvnc": "vnc",
    "spice-html5": "spice",
    "rdp-html5": "rdp",
    "serial": "serial",
    "webmks": "mks",
}

#: A server that was not changed for so many seconds is not in the lists of those in progress.
CHANGED_WITHIN = 900.0

#: Answers to who asks for a server that pass: of a service that has too much to do, or is being restarted.
PASSING, ASK_AGAIN = frozenset({413, 429, 500, 503}), 1.0

#: Seconds for which a flavor that was seen is taken for what it was, by its id and by its name.
FLAVOR_SECONDS, NAME_SECONDS = 60.0, 5.0


class Server(Answer):
    """A server as Nova shows it."""

    @property
    def networks(self) -> dict[str, list[str]]:
        """Addresses by the names of networks."""
        addresses = self.get("addresses") or {}
        return {label: [one["addr"] for one in addresses[label]] for label in sorted(addresses)}


class NovaClientPlugin(ServerActions, MicroversionedPlugin):
    NAME = "nova"
    MAX_MICROVERSION = "2.96"
    MAX_MICROVERSION_OPTION = "max_nova_api_microversion"
    #: A new server has a password in the answer, also where none was asked for; administrators are shown user data; and
    #: the URL of a console lets anybody in.
    QUIET_PATHS = re.compile(r"/servers|/servers/detail|/servers/[^/]+(/remote-consoles)?")

    service_types = [COMPUTE] = ["compute"]

    NOVA_API_VERSION = "2.1"

    #: States that a server leaves by itself, or is left in by somebody who will come back.
    deferred_server_statuses = {
        "BUILD",
        "HARD_REBOOT",
        "PASSWORD",
        "REBOOT",
        "RESCUE",
        "RESIZE",
        "REVERT_RESIZE",
        "SHUTOFF",
        "SUSPENDED",
        "VERIFY_RESIZE",
    }

    # --- versions

    def _get_service_name(self) -> str:
        return self.COMPUTE

    def get_max_microversion(self) -> str:
        return self.microversion() or self.NOVA_API_VERSION

    def _create(self, version: str | None = None) -> Any:
        from novaclient import client

        return client.Client(
            version or self.NOVA_API_VERSION,
            session=self.context.keystone_session,
            endpoint_type=self._get_client_option(self.NAME, "endpoint_type"),
            service_type=self.COMPUTE,
            region_name=self._get_region_name(),
            connect_retries=cfg.CONF.client_retry_limit,
            http_log_debug=self._get_client_option(self.NAME, "http_log_debug"),
        )

    # --- errors

    def is_over_limit(self, ex: BaseException) -> bool:
        return rest_errors.status_of(ex) == 413

    # --- servers

    def show_server(self, server_id: str) -> Server:
        return Server(self.api.show(server_path(server_id), "server"))

    def observe_server(self, server_id: str) -> Server:
        """A server that is waited for, seen together with others that are."""
        return Server(self.observe(server_path(server_id), "/servers/detail", "server", "servers", server_id))

    def _list_filters(self, ids: list[str]) -> list[dict[str, Any]]:
        """Lists of those that changed of late: a project may have thousands of others."""
        since = clock.utcnow() - datetime.timedelta(seconds=CHANGED_WITHIN)
        return [{"changes-since": clock.isotime(since)}]

    def get_server(self, server: str) -> Server:
        try:
            return self.show_server(server)
        except Exception as error:
            if self.is_not_found(error):
                raise exceptions.EntityNotFound(entity="Server", name=server) from error
            raise

    def fetch_server(self, server_id: str) -> Server | None:
        """The server; None where the service answers with an error that passes."""
        try:
            return self.observe_server(server_id)
        except Exception as error:
            if rest_errors.status_of(error) not in PASSING:
                raise
            LOG.warning("Server %(id)s cannot be fetched: %(why)s", {"id": server_id, "why": error})
            return None

    def await_server(self, server_id: str) -> Server:
        """A server for which somebody comes again: what passes makes him come later, however long it takes."""
        try:
            return self.observe_server(server_id)
        except Exception as error:
            if rest_errors.status_of(error) not in PASSING or not patience.can_pause():
                raise
            LOG.warning("Server %(id)s cannot be seen: %(why)s", {"id": server_id, "why": error})
            raise patience.ComeBack(max(patience.asked_pause(error) or 0.0, ASK_AGAIN)) from error

    def fetch_server_attr(self, server_id: str, attr: str) -> Any:
        return getattr(self.fetch_server(server_id), attr, None)

    def refresh_server(self, server: Any) -> None:
        """Fetch a server that somebody holds, where it is one of ours; others know how to do it themselves."""
        if not isinstance(server, Server):
            server.get()
            return
        fresh = self.fetch_server(server["id"])
        if fresh is not None:
            server.clear()
            server.update(fresh)

    def get_status(self, server: Any) -> str:
        """The status without what some clouds append to it."""
        return str(server.status).split("(")[0]

    def get_ip(self, server: Any, net_type: str, ip_version: int) -> str | None:
        """The first address of a server in a network, of a version."""
        addresses = server.addresses.get(net_type, ())
        return next((one["addr"] for one in addresses if one["version"] == ip_version), None)

    def server_to_ipaddress(self, server: str) -> str | None:
        """An address of a server."""
        try:
            return first_address(self.show_server(server))
        except Exception as error:
            self.ignore_not_found(error)
            LOG.warning("Server %(id)s is not there: %(why)s", {"id": server, "why": error})
            return None

    def _check_active(self, server: Any, res_name: str = "Server") -> bool:
        """Whether a server (or that of an id) is ACTIVE; it is looked at again if it was not when it was fetched."""
        if isinstance(server, str):
            server = self.fetch_server(server)
            if server is None:
                return False
        elif self.get_status(server) != "ACTIVE":
            self.refresh_server(server)
        return self.is_active(server, res_name)

    def is_active(self, server: Any, res_name: str = "Server") -> bool:
        """Whether a server as it was shown is ACTIVE; a state that it will not leave for that is an error."""
        status = self.get_status(server)
        if status == "ACTIVE" or status in self.deferred_server_statuses:
            return status == "ACTIVE"
        if status == "ERROR":
            fault = getattr(server, "fault", None) or {}
            raise exceptions.ResourceInError(
                resource_status=status,
                status_reason=_("Message: %(message)s, Code: %(code)s")
                % {"message": fault.get("message", _("Unknown")), "code": fault.get("code", _("Unknown"))},
            )
        raise exceptions.ResourceUnknownStatus(resource_status=server.status, result=_("%s is not active") % res_name)

    # --- flavors, key pairs, hosts, limits

    def find_flavor_by_name_or_id(self, flavor: str) -> str:
        where = "|".join([*self._scope(), "/flavors", str(flavor)])
        return MEMOIZE_FINDER.find(where, lambda: str(self.get_flavor(flavor)["id"]))

    def get_flavor(self, flavor_identifier: str) -> Answer:
        """The flavor with this id, else that with this name."""
        key = (self.endpoint(), *self._scope(), str(flavor_identifier))
        until, known = _flavors.get(key, (0.0, None))
        if known is None or until < time.monotonic():
            known = self.once(("flavor", str(flavor_identifier)), lambda: self._get_flavor(str(flavor_identifier)))
            if len(_flavors) > 1000:
                _flavors.clear()
            now = time.monotonic()
            _flavors[key] = (now + NAME_SECONDS, known)
            _flavors[(*key[:-1], str(known["id"]))] = (now + FLAVOR_SECONDS, known)
        return Answer(known)

    def _get_flavor(self, identifier: str) -> dict[str, Any]:
        """With one request where what looks like a name is one."""
        like_id = uuidutils.is_uuid_like(identifier)
        if like_id and (found := self._flavor_by_id(identifier)):
            return found
        listed = self.api.list("/flavors/detail", "flavors")
        for field in ("id", "name"):
            fitting = [one for one in listed if one[field] == identifier]
            if len(fitting) > 1:
                raise exceptions.PhysicalResourceNameAmbiguity(name=identifier)
            if fitting:
                return fitting[0]
        # One that is not public is not listed to everybody who may see it.
        if not like_id and (found := self._flavor_by_id(identifier)):
            return found
        words = "No Flavor matching %s." % {"name": identifier}
        raise rest_errors.class_for(self.NAME, 404)(words, status=404, service=self.NAME)

    def _flavor_by_id(self, identifier: str) -> dict[str, Any] | None:
        try:
            return self.api.show(f"/flavors/{quote(identifier, safe='')}", "flavor")
        except Exception as error:
            if not (self.is_not_found(error) or self.is_bad_request(error)):
                raise
            return None

    def get_host(self, hypervisor_hostname: str) -> list[Answer]:
        """Hypervisors by a part of their name; not found is an error."""
        if self.is_version_supported("2.53"):
            wanted = {"hypervisor_hostname_pattern": hypervisor_hostname}
            listed = self.api.list("/os-hypervisors", "hypervisors", wanted)
        else:
            path = f"/os-hypervisors/{quote(hypervisor_hostname, safe='')}/search"
            listed = self.api.list(path, "hypervisors")
        return [Answer(one) for one in listed]

    def get_keypair(self, key_name: str) -> Answer:
        try:
            return Answer(self.api.show(f"/os-keypairs/{quote(str(key_name), safe='')}", "keypair"))
        except Exception as error:
            if self.is_not_found(error):
                raise exceptions.EntityNotFound(entity="Key", name=key_name) from error
            raise

    def absolute_limits(self) -> dict[str, int]:
        limits: dict[str, int] = self.api.show("/limits", "limits")["absolute"]
        return limits

    # --- metadata

    def meta_serialize(self, metadata: Any) -> dict[str, str]:
        """Metadata as Nova takes them: values that are no texts become JSON."""
        if not isinstance(metadata, Mapping):
            raise exceptions.StackValidationFailed(message=_("nova server metadata needs to be a Map."))
        return {key: value if isinstance(value, str) else jsonutils.dumps(value) for key, value in metadata.items()}

    def meta_update(self, server: Any, metadata: Mapping[str, Any]) -> None:
        """Make these the metadata of a server."""
        self.api.put(f"{server_path(server.id)}/metadata", json={"metadata": self.meta_serialize(metadata)})

    # --- what they boot with

    is_ignition_format = staticmethod(nova_userdata.is_ignition)
    build_ignition_data = staticmethod(nova_userdata.ignition)

    def build_userdata(
        self,
        metadata: Mapping[str, Any] | None,
        userdata: str | None = None,
        instance_user: str | None = None,
        user_data_format: str = nova_userdata.HEAT_CFNTOOLS,
    ) -> str | None:
        url = None
        if user_data_format == nova_userdata.HEAT_CFNTOOLS:
            url = self.clients.client_plugin("heat").get_cfn_metadata_server_url()
        return nova_userdata.build(metadata, userdata, user_data_format, url, instance_user)

    # --- consoles

    def get_console_urls(self, server: Any) -> ConsoleUrls:
        return ConsoleUrls(self, server.id)

    def console_url(self, server_id: str, kind: str) -> str:
        """An URL at which a user finds a console of a server."""
        body = {"remote_console": {"protocol": CONSOLE_PROTOCOLS[kind], "type": kind}}
        return str(self.api.post(f"{server_path(server_id)}/remote-consoles", json=body)["remote_console"]["url"])


class ConsoleUrls(Mapping[str, str]):
    """The consoles of a server by their kinds; each is asked for when it is read, and its error is its value."""

    def __init__(self, plugin: NovaClientPlugin, server_id: str) -> None:
        self._plugin = plugin
        self._server_id = server_id

    def __getitem__(self, kind: str) -> str:
        if kind not in CONSOLE_PROTOCOLS:
            return _('Unsupported console_type "%s"') % kind
        try:
            return self._plugin.console_url(self._server_id, kind)
        except Exception as error:
            return _("Cannot get console url: %s") % error

    def __len__(self) -> int:
        return len(CONSOLE_PROTOCOLS)

    def __iter__(self) -> Iterator[str]:
        return iter(CONSOLE_PROTOCOLS)


def first_address(server: Server) -> str | None:
    networks = server.networks
    return next((networks[label][0] for label in sorted(networks, reverse=True) if networks[label]), None)


#: (endpoint, service, region, project, name or id) → (until when it is good, flavor)
_flavors: dict[tuple[str, ...], tuple[float, dict[str, Any]]] = {}

#: A flavor was made, changed or deleted.
forget_flavors = _flavors.clear
