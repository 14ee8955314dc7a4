# SPDX-License-Identifier: Apache-2.0
"""What is done to servers that are there: resize, rebuild, interfaces, floating IPs, volumes, deletion.

For most there are two methods as plug-ins of others expect them: one begins (true when the service has taken it), one
named ``check_…`` tells whether it has come to an end. Those that check interfaces wait in it themselves; what does not
wait is ``is_attached`` and ``is_detached``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from oslo_config import cfg
from oslo_log import log as logging
from oslo_utils import netutils

from openkeel_heat.clients import errors, patience
from openkeel_heat.clients.rest import RestClient, below
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

if TYPE_CHECKING:
    from openkeel_heat.clients.nova import Server

LOG = logging.getLogger(__name__)

TASK_STATE = "OS-EXT-STS:task_state"

#: The field of requests that are not to be in logs.
PASSWORD = "adminPass"
#: Actions that give a server a password, if they are told none.
_ANSWERED_WITH_PASSWORD = frozenset({"rebuild", "rescue"})


def server_path(server_id: Any) -> str:
    return below("/servers", server_id)


class _Plugin(Protocol):
    """What the methods here need of the plug-in that they are part of."""

    @property
    def api(self) -> RestClient: ...
    @property
    def clients(self) -> Any: ...
    @property
    def ignore_not_found(self) -> Any: ...
    def fetch_server(self, server_id: str) -> Server | None: ...
    def show_server(self, server_id: str) -> Server: ...
    def get_status(self, server: Any) -> str: ...
    def is_not_found(self, ex: BaseException) -> bool: ...
    def is_conflict(self, ex: BaseException) -> bool: ...
    def is_bad_request(self, ex: BaseException) -> bool: ...
    def is_client_exception(self, ex: BaseException) -> bool: ...
    def act(self, server_id: str, action: str, arguments: Any = None) -> Any: ...
    def interfaces(self, server_id: str) -> list[dict[str, Any]]: ...
    def attach_interface(self, server_id: str, *args: Any, **interface: Any) -> str: ...
    def is_attached(self, server_id: str, port_id: str | None) -> bool: ...
    def is_detached(self, server_id: str, port_id: str) -> bool: ...
    def associate_floatingip(self, server_id: str, floatingip_id: str) -> None: ...
    def dissociate_floatingip(self, floatingip_id: str) -> None: ...


class ServerActions:
    """Mixed into the plug-in."""

    def act(self: _Plugin, server_id: str, action: str, arguments: Any = None) -> Any:
        """One of the actions of a server, such as ``suspend``."""
        secret = action in _ANSWERED_WITH_PASSWORD or (isinstance(arguments, Mapping) and PASSWORD in arguments)
        return self.api.post(f"{server_path(server_id)}/action", json={action: arguments}, log=not secret)

    def rename(self: _Plugin, server: Any, name: str) -> None:
        self.api.put(server_path(server.id), json={"server": {"name": name}})

    # --- resize

    def resize(self: _Plugin, server_id: str, flavor_id: str) -> bool:
        self.act(server_id, "resize", {"flavorRef": str(flavor_id)})
        return True

    def check_resize(self: _Plugin, server_id: str, flavor: str) -> bool:
        """Whether a resize waits to be confirmed."""
        server = self.fetch_server(server_id)
        if not server or server.status in ("RESIZE", "ACTIVE"):
            return False
        if server.status == "VERIFY_RESIZE":
            return True
        raise exceptions.Error(
            _("Resizing to '%(flavor)s' failed, status '%(status)s'") % {"flavor": flavor, "status": server.status}
        )

    def verify_resize(self: _Plugin, server_id: str) -> bool:
        """Confirm a resize."""
        server = self.fetch_server(server_id)
        if not server:
            return False
        status = self.get_status(server)
        if status != "VERIFY_RESIZE":
            raise exceptions.ResourceUnknownStatus(
                result=_("Could not confirm resize of server %s") % server_id, resource_status=status
            )
        self.act(server_id, "confirmResize")
        return True

    def check_verify_resize(self: _Plugin, server_id: str) -> bool:
        server = self.fetch_server(server_id)
        if not server:
            return False
        status = self.get_status(server)
        if status in ("ACTIVE", "VERIFY_RESIZE"):
            return status == "ACTIVE"
        if "resize" in (server.get(TASK_STATE) or ""):
            return False
        raise exceptions.ResourceUnknownStatus(
            result=_("Confirm resize for server %s failed") % server_id, resource_status=status
        )

    # --- rebuild

    def rebuild(
        self: _Plugin,
        server_id: str,
        image_id: str,
        password: str | None = None,
        preserve_ephemeral: bool = False,
        meta: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        **more: Any,
    ) -> bool:
        """``more`` are other fields of the action: ``user_data`` …"""
        body: dict[str, Any] = {"imageRef": image_id, **more}
        if password is not None:
            body["adminPass"] = password
        if preserve_ephemeral:
            body["preserve_ephemeral"] = True
        if meta:
            body["metadata"] = dict(meta)
        if files:
            body["personality"] = personality(files)
        self.act(server_id, "rebuild", body)
        return True

    def check_rebuild(self: _Plugin, server_id: str) -> bool:
        server = self.fetch_server(server_id)
        if server is None or server.status == "REBUILD":
            return False
        if server.status == "ERROR":
            raise exceptions.Error(_("Rebuilding server failed, status '%s'") % server.status)
        return True

    # --- deletion

    def check_delete_server_complete(self: _Plugin, server_id: str) -> bool:
        """Whether a server that is being deleted is gone."""
        try:
            server = self.fetch_server(server_id)
        except Exception as error:
            if not self.is_not_found(error):
                raise
            return True
        # While the task runs the status is still that of before.
        if not server or server.get(TASK_STATE) == "deleting":
            return False
        status = self.get_status(server)
        if status == "DELETED":
            return True
        if status == "SOFT_DELETED":
            self.act(server_id, "forceDelete")
        elif status == "ERROR":
            fault = server.get("fault") or {}
            raise exceptions.ResourceInError(
                resource_status=status,
                status_reason=_("Server %(name)s delete failed: (%(code)s) %(message)s")
                % {"name": server.name, "code": fault.get("code"), "message": fault.get("message", "Unknown")},
            )
        return False

    # --- interfaces

    def interfaces(self: _Plugin, server_id: str) -> list[dict[str, Any]]:
        return self.api.list(f"{server_path(server_id)}/os-interface", "interfaceAttachments")

    def attach_interface(
        self: _Plugin,
        server_id: str,
        port_id: str | None = None,
        net_id: str | None = None,
        fip: str | None = None,
        security_groups: Iterable[str] | None = None,
        tag: str | None = None,
    ) -> str:
        """Attach a port; or one that is made on a network, with an address and in security groups (ids). Its id."""
        body: dict[str, Any] = {}
        if port_id:
            body["port_id"] = port_id
        if net_id:
            body["net_id"] = net_id
        if fip:
            body["fixed_ips"] = [{"ip_address": fip}]
        if tag:
            body["tag"] = tag
        made = self.api.post(f"{server_path(server_id)}/os-interface", json={"interfaceAttachment": body})
        attached = str(made["interfaceAttachment"]["port_id"])
        if not port_id and security_groups:
            wanted = {"port": {"security_groups": list(security_groups)}}
            # Who came again after a pause would attach another one.
            with patience.may_pause(False):
                self.clients.client_plugin("neutron").api.put(below("/v2.0/ports", attached), json=wanted)
        return attached

    def interface_attach(self: _Plugin, server_id: str, *args: Any, **interface: Any) -> bool:
        """The same for plug-ins of others."""
        self.attach_interface(server_id, *args, **interface)
        return True

    def interface_detach(self: _Plugin, server_id: str, port_id: str) -> bool:
        with self.ignore_not_found:
            self.api.delete(below(f"{server_path(server_id)}/os-interface", port_id))
        return True

    def is_detached(self: _Plugin, server_id: str, port_id: str) -> bool:
        """Whether neither the port nor the server knows of the other any more.

        The server tells no ports but addresses, so it is the MAC address that counts.
        """
        with self.ignore_not_found:
            port = self.clients.client_plugin("neutron").api.show(below("/v2.0/ports", port_id), "port")
            if port.get("device_id") == server_id:
                return False
            server = self.fetch_server(server_id)
            return server is not None and all(
                one["OS-EXT-IPS-MAC:mac_addr"] != port["mac_address"] for one in _fixed(server)
            )
        return True

    def is_attached(self: _Plugin, server_id: str, port_id: str | None) -> bool:
        """Whether the server shows the addresses of the port; it learns of them after it has the interface."""
        if not port_id:
            return True
        port = self.clients.client_plugin("neutron").api.show(below("/v2.0/ports", port_id), "port")
        wanted = {one["ip_address"] for one in port.get("fixed_ips") or () if one.get("ip_address")}
        if not wanted:
            return any(one["port_id"] == port_id for one in self.interfaces(server_id))
        server = self.fetch_server(server_id)
        return server is not None and wanted <= {one["addr"] for one in _fixed(server)}

    def check_interface_detach(self: _Plugin, server_id: str, port_id: str) -> bool:
        """Wait until a port is detached; RetryError (of tenacity) after ``max_interface_check_attempts`` looks."""
        return _wait(lambda: self.is_detached(server_id, port_id), lambda look: min(0.5 * 2**look, 12.0))

    def check_interface_attach(self: _Plugin, server_id: str, port_id: str | None) -> bool:
        return _wait(lambda: self.is_attached(server_id, port_id), lambda look: 0.5)

    # --- floating IPs

    def associate_floatingip(self: _Plugin, server_id: str, floatingip_id: str) -> None:
        """Lead a floating IP to the first IPv4 address of the first interface of a server."""
        found = self.interfaces(server_id)
        if not found:
            raise errors.InterfaceNotFound(id=server_id)
        if len(found) > 1:
            LOG.warning("Server %s has several interfaces, the first one is taken.", server_id)
        address = next(one["ip_address"] for one in found[0]["fixed_ips"] if netutils.is_valid_ipv4(one["ip_address"]))
        _lead(self, floatingip_id, found[0]["port_id"], address)

    def dissociate_floatingip(self: _Plugin, floatingip_id: str) -> None:
        _lead(self, floatingip_id, None, None)

    def associate_floatingip_address(self: _Plugin, server_id: str, fip_address: str) -> None:
        self.associate_floatingip(server_id, _floating_ip(self, fip_address))

    def dissociate_floatingip_address(self: _Plugin, fip_address: str) -> None:
        self.dissociate_floatingip(_floating_ip(self, fip_address))

    # --- volumes

    def attach_volume(self: _Plugin, server_id: str, volume_id: str, device: str | None) -> Any:
        """The id of the attachment; False where the server or volume is busy."""
        wanted = {"volumeId": volume_id, **({"device": device} if device else {})}
        try:
            made = self.api.post(f"{server_path(server_id)}/os-volume_attachments", json={"volumeAttachment": wanted})
        except Exception as error:
            if patience.asked_pause(error) is not None:
                raise
            if self.is_conflict(error):
                return False
            if not self.is_client_exception(error):
                raise
            raise exceptions.Error(
                _("Failed to attach volume %(vol)s to server %(srv)s - %(err)s")
                % {"vol": volume_id, "srv": server_id, "err": error}
            ) from error
        # Newer versions of the API do not name the attachment: it goes by the volume.
        return ((made or {}).get("volumeAttachment") or {}).get("id") or volume_id

    def detach_volume(self: _Plugin, server_id: str, attach_id: str) -> bool:
        try:
            self.api.delete(below(f"{server_path(server_id)}/os-volume_attachments", attach_id))
        except Exception as error:
            if patience.asked_pause(error) is not None:
                raise
            if self.is_conflict(error):
                return False
            if not (self.is_not_found(error) or self.is_bad_request(error)):
                raise exceptions.Error(
                    _("Could not detach attachment %(att)s from server %(srv)s.") % {"srv": server_id, "att": attach_id}
                ) from error
        return True

    def check_detach_volume_complete(self: _Plugin, server_id: str, attach_id: str) -> bool:
        """Whether the server, too, knows that a volume is detached."""
        with self.ignore_not_found:
            self.api.get(below(f"{server_path(server_id)}/os-volume_attachments", attach_id))
            return False
        return True


def personality(files: Mapping[str, str | None]) -> list[dict[str, str]]:
    """Files to be written when a server boots, as the API takes them."""
    import base64

    return [
        {"path": path, "contents": base64.b64encode((files[path] or "").encode()).decode()} for path in sorted(files)
    ]


def _fixed(server: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Addresses of a server that belong to its ports."""
    for addresses in (server.get("addresses") or {}).values():
        for one in addresses:
            if one.get("OS-EXT-IPS:type") == "fixed":
                yield one


def _wait(done: Callable[[], bool], pause: Callable[[int], float]) -> bool:
    import tenacity

    return tenacity.Retrying(
        stop=tenacity.stop_after_attempt(cfg.CONF.max_interface_check_attempts),
        wait=lambda state: pause(state.attempt_number - 1),
        retry=tenacity.retry_if_result(lambda result: result is False),
        sleep=time.sleep,
    )(done)


def _lead(plugin: _Plugin, floatingip_id: str, port: str | None, address: str | None) -> None:
    body = {"floatingip": {"port_id": port, "fixed_ip_address": address}}
    plugin.clients.client_plugin("neutron").api.put(below("/v2.0/floatingips", floatingip_id), json=body)


def _floating_ip(plugin: _Plugin, address: str) -> str:
    found = plugin.clients.client_plugin("neutron").api.list(
        "/v2.0/floatingips", "floatingips", {"floating_ip_address": address}
    )
    if not found:
        raise errors.EntityMatchNotFound(entity="floatingip", args={"ip_address": address})
    return str(found[0]["id"])
