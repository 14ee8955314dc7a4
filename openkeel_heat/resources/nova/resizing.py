# SPDX-License-Identifier: Apache-2.0
"""A resize of a server from its beginning to its end, as steps of a :class:`~openkeel_heat.resources.kit.work.Work`.

Nova resizes and then waits to be told that all is well. It may give up before and say so by its state alone, the server
may be stopped, and a cloud may confirm by itself. Each step first looks whether it is done, or going on, already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.clients import patience
from openkeel_heat.clients.nova_servers import TASK_STATE
from openkeel_heat.clients.rest import perhaps_carried_out
from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.work import Step

#: Seconds after which a server that shows no sign of a resize will not be resized any more.
RESIZE_BEGINS_WITHIN = 10.0


def act(plugin: Any, server_id: str, action: str, arguments: Any = None) -> None:
    """One of the actions of a server; who comes again after a lost answer looks whether it was carried out."""
    try:
        plugin.act(server_id, action, arguments)
    except Exception as error:
        if perhaps_carried_out(error) and patience.can_pause():
            raise patience.ComeBack(1.0) from error
        raise


def steps(plugin: Any, server_id: str, flavor_id: str) -> list[Step]:
    """Begin, confirm, and wait until that is done."""
    since: list[float] = []

    def begin() -> None:
        server = plugin.show_server(server_id)
        if not (_resizing(server) or has_flavor(plugin, server, flavor_id)):
            act(plugin, server_id, "resize", {"flavorRef": flavor_id})
        since.append(clock.monotonic())

    def resized() -> bool:
        server = plugin.await_server(server_id)
        status = plugin.get_status(server)
        if status == "VERIFY_RESIZE":
            act(plugin, server_id, "confirmResize")
            return True
        if _resizing(server):
            return False
        if status in ("ACTIVE", "SHUTOFF"):
            # Some clouds confirm by themselves.
            if has_flavor(plugin, server, flavor_id):
                return True
            if server.get(TASK_STATE) or clock.monotonic() - since[0] < RESIZE_BEGINS_WITHIN:
                return False
        raise exception.Error(
            _("Resizing to '%(flavor)s' failed, status '%(status)s'") % {"flavor": flavor_id, "status": status}
        )

    def confirmed() -> bool:
        server = plugin.await_server(server_id)
        status = plugin.get_status(server)
        if status == "VERIFY_RESIZE" or _resizing(server):
            return False
        if status in ("ACTIVE", "SHUTOFF"):
            return True
        raise exception.ResourceUnknownStatus(
            result=_("Confirm resize for server %s failed") % server_id, resource_status=status
        )

    return [begin, resized, confirmed]


def has_flavor(plugin: Any, server: Mapping[str, Any], flavor_id: str) -> bool:
    present = server.get("flavor") or {}
    if "id" in present:
        return str(present["id"]) == flavor_id
    return bool(present.get("original_name") == plugin.get_flavor(flavor_id)["name"])


def _resizing(server: Mapping[str, Any]) -> bool:
    return server["status"] == "RESIZE" or "resize" in (server.get(TASK_STATE) or "")
