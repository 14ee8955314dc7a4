# SPDX-License-Identifier: Apache-2.0
"""What an update does to a server in place.

Metadata, tags and name are changed at once. The rest takes its time and is done one after the other, as steps of a
:class:`~openkeel_heat.resources.kit.work.Work`: interfaces that go, interfaces that come, a resize with its
confirmation, a rebuild. Each step first looks whether it is done, or going on, already; so an update can be begun
again by another engine.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from openkeel_heat.clients.nova import Server as Shown
from openkeel_heat.clients.nova_servers import TASK_STATE, personality
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.work import Step, Work
from openkeel_heat.resources.nova import internal_ports, resizing, server_networks as networks, server_schema as schema
from openkeel_heat.resources.nova.internal_ports import PORTS
from openkeel_heat.resources.nova.server_ports import ServerPorts

#: Versions of the compute API: tags in the request for a server, tags, user data in a rebuild.
TAGS_AT_CREATION_SINCE, TAGS_SINCE, REBUILD_USER_DATA_SINCE = "2.52", "2.26", "2.57"


class ServerUpdates(ServerPorts):
    repeatable_update = True

    def _user_data(self, props: Mapping[str, Any]) -> str | None:
        raise NotImplementedError

    # --- in place or anew

    def needs_replace_with_prop_diff(
        self, changed_properties_set: set[str], after_props: Properties, before_props: Properties
    ) -> bool:
        policies = (
            (schema.FLAVOR, schema.FLAVOR_UPDATE_POLICY),
            (schema.IMAGE, schema.IMAGE_UPDATE_POLICY),
            (schema.USER_DATA, schema.USER_DATA_UPDATE_POLICY),
        )
        return any(
            name in changed_properties_set and (after_props.get(policy) or before_props.get(policy)) == schema.REPLACE
            for name, policy in policies
        )

    def needs_replace_failed(self) -> bool:
        """A server that is not broken can be updated, whatever has failed."""
        if not self.resource_id:
            return True
        with self.client_plugin().ignore_not_found:
            status = self.client_plugin().show_server(self.resource_id).status
            return status in ("ERROR", "DELETED", "SOFT_DELETED")
        return True

    # --- the handlers

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        super().handle_update(json_snippet, tmpl_diff, prop_diff)
        self._made_ports.clear()
        after = json_snippet.properties(self.properties_schema, self.context)
        server_id = str(self.resource_id)
        plugin = self.client_plugin()
        if schema.METADATA in prop_diff:
            with self._gone_is_told():
                plugin.meta_update(Shown(id=server_id), after[schema.METADATA] or {})
        if schema.TAGS in prop_diff:
            self._update_server_tags(after[schema.TAGS] or [])
        if schema.NAME in prop_diff:
            with self._gone_is_told():
                plugin.rename(Shown(id=server_id), after[schema.NAME] or self.physical_resource_name())
        work = Work()
        if schema.NETWORKS in prop_diff:
            work.last(lambda: work.then(*self._update_networks(server_id, after)))
        if schema.FLAVOR in prop_diff:
            work.last(*resizing.steps(plugin, server_id, after[schema.FLAVOR]))
        new_user_data = schema.USER_DATA in prop_diff and after[schema.USER_DATA_UPDATE_POLICY] == schema.REBUILD
        if schema.IMAGE in prop_diff or new_user_data:
            work.last(*self._rebuild(server_id, after, new_user_data))
        elif prop_diff.get(schema.ADMIN_PASS):
            with self._gone_is_told():
                self._act("changePassword", {"adminPass": after[schema.ADMIN_PASS]})
        return work

    @contextlib.contextmanager
    def _gone_is_told(self) -> Iterator[None]:
        """A server that somebody removed is told as one that was looked for."""
        try:
            yield
        except Exception as error:
            if self.client_plugin().is_not_found(error):
                raise exception.EntityNotFound(entity="Server", name=self.resource_id) from error
            raise

    def check_update_complete(self, work: Work) -> bool:
        if not work.go_on():
            return False
        self._seen = None
        return True

    def _update_server_tags(self, tags: list[str]) -> None:
        self.api.put(f"{self.object_path()}/tags", json={"tags": tags})

    # --- networks

    def _update_networks(self, server_id: str, after: Mapping[str, Any]) -> list[Step]:
        plugin = self.client_plugin()
        with self._gone_is_told():
            interfaces = plugin.interfaces(server_id)
        wanted = after[self.NETWORKS] or []
        steps: list[Step] = []
        if networks.allocation(wanted):
            for interface in interfaces:
                steps += self._remove(server_id, {networks.PORT: interface["port_id"]})
            if networks.allocation(wanted) == networks.ALLOCATE_AUTO:
                steps += self._attach(server_id, net_id=self._network_to_allocate(), **self._groups(after))
        else:
            steps += self._exchange(server_id, self.properties[self.NETWORKS] or [], wanted, interfaces, after)
        return [*steps, lambda: self._after_exchange(server_id)]

    def _exchange(
        self,
        server_id: str,
        before: list[Mapping[str, Any]],
        wanted: list[Mapping[str, Any]],
        interfaces: list[dict[str, Any]],
        after: Mapping[str, Any],
    ) -> list[Step]:
        """The steps from the networks of before to those that are wanted."""
        if not before and not wanted:
            return []
        all_go = not before or networks.allocation(before) is not None
        found = networks.compare([] if all_go else before, wanted, interfaces, self._port_ids(), self._network_of)
        if all_go:
            found.removed = [{networks.PORT: interface["port_id"]} for interface in interfaces]
        if self.resumed:
            _recognize(found, interfaces, set(self._port_ids()), self._network_of)
        steps: list[Step] = []
        for net in found.removed:
            if net.get(networks.FLOATING_IP):
                self._free_floating_ip(net[networks.FLOATING_IP])
            if net.get(networks.PORT):
                steps += self._remove(server_id, net)
        for old, new in found.changed:
            self._change_port(old, new)
        if not found.added and not found.kept and not found.changed:
            # As a new server without networks gets one.
            steps += self._attach(server_id, net_id=None, **self._groups(after))
        for number, net in enumerate(found.added):
            steps += self._add(server_id, net, number, after)
        return steps

    def _remove(self, server_id: str, net: Mapping[str, Any]) -> list[Step]:
        """Detach; an internal port is deleted only when the server knows that it is gone, or it may forget others."""
        port = net[networks.PORT]

        def forget() -> None:
            if port in self._port_ids():
                self._delete_internal_port(port)

        return [*self._detach(server_id, port), forget]

    def _change_port(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        port = old[networks.PORT]
        before, after = old[networks.PORT_EXTRA], new[networks.PORT_EXTRA]
        if before != after:
            neutron = self.client_plugin("neutron")
            body = internal_ports.changes(before, after or {}, neutron.get_qos_policy_id)
            if body:
                self.neutron_api.put(f"{PORTS}/{port}", json={"port": body})
        if old[networks.FLOATING_IP] != new[networks.FLOATING_IP]:
            if old[networks.FLOATING_IP]:
                self._free_floating_ip(old[networks.FLOATING_IP])
            if new[networks.FLOATING_IP]:
                self._lead_floating_ip(new, port)

    def _add(self, server_id: str, net: Mapping[str, Any], number: int, after: Mapping[str, Any]) -> list[Step]:
        work = Work()

        def begin() -> None:
            self._validate_subnet(net)
            tag = {"tag": net[networks.TAG]} if net.get(networks.TAG) else {}
            port = self._port_for(net, number)
            if port is None:
                wanted = {"net_id": self._network_of(net), "fip": net.get(networks.FIXED_IP), **self._groups(after)}
                work.then(*self._attach(server_id, **wanted, **tag))
                return
            if net.get(networks.FLOATING_IP):
                self._lead_floating_ip(net, port)
            work.then(*self._attach(server_id, port_id=port, **tag))

        work.last(begin)
        return [work.go_on]

    def _groups(self, after: Mapping[str, Any]) -> dict[str, Any]:
        names = after[self.SECURITY_GROUPS]
        return {"security_groups": self.client_plugin("neutron").get_secgroup_uuids(names)} if names else {}

    def _network_to_allocate(self) -> str:
        """The one network that a server of this project can get without naming it."""
        project = self.context.project_id
        own = {"tenant_id": project, "shared": False, "admin_state_up": True}
        found = self.neutron_api.list("/v2.0/networks", "networks", own)
        found += self.neutron_api.list("/v2.0/networks", "networks", {"shared": True})
        if len(found) > 1:
            raise exception.UnableToAutoAllocateNetwork(message="Multiple possible networks found.")
        if found:
            return str(found[0]["id"])
        path = f"/v2.0/auto-allocated-topology/{project}"
        return str(self.neutron_api.show(path, "auto_allocated_topology")["id"])

    def _after_exchange(self, server_id: str) -> None:
        """Internal ports that the server has not and will not get are deleted; what it has is noted."""
        present = {one["port_id"] for one in self.client_plugin().interfaces(server_id)}
        internal = self._port_ids()
        for port in internal:
            if port not in present:
                self._delete_internal_port(port)
        self._keep_ports(sorted(present - set(internal)), "external_ports")

    # --- rebuild

    def _rebuild(self, server_id: str, after: Mapping[str, Any], new_user_data: bool) -> list[Step]:
        plugin = self.client_plugin()

        def begin() -> None:
            server = plugin.show_server(server_id)
            if server.status == "REBUILD" or "rebuild" in (server.get(TASK_STATE) or ""):
                return
            self._act("rebuild", self._rebuild_body(server, after, new_user_data))

        def rebuilt() -> bool:
            server = plugin.await_server(server_id)
            if server.status == "ERROR":
                raise exception.Error(_("Rebuilding server failed, status '%s'") % server.status)
            return server.status != "REBUILD" and "rebuild" not in (server.get(TASK_STATE) or "")

        return [begin, rebuilt]

    def _rebuild_body(self, server: Mapping[str, Any], after: Mapping[str, Any], new_user_data: bool) -> dict[str, Any]:
        # A server that boots from a volume has no image, nor can it be rebuilt from none.
        present = server.get("image") or {}
        body: dict[str, Any] = {"imageRef": after[schema.IMAGE] or present.get("id") or ""}
        if after[schema.IMAGE_UPDATE_POLICY] == schema.REBUILD_PRESERVE_EPHEMERAL:
            body["preserve_ephemeral"] = True
        if after[schema.ADMIN_PASS]:
            body["adminPass"] = after[schema.ADMIN_PASS]
        if after[schema.METADATA]:
            body["metadata"] = self.client_plugin().meta_serialize(after[schema.METADATA])
        if after[schema.PERSONALITY]:
            body["personality"] = personality(after[schema.PERSONALITY])
        if new_user_data:
            if not self.client_plugin().is_version_supported(REBUILD_USER_DATA_SINCE):
                raise exception.Error(_("The compute service cannot give a server new user data by a rebuild."))
            body["user_data"] = encoded(self._user_data(after))
        return body


def encoded(user_data: str | None) -> str | None:
    return base64.b64encode(user_data.encode("utf-8", "surrogateescape")).decode() if user_data else None


def _recognize(
    found: networks.Comparison, interfaces: list[dict[str, Any]], internal: set[str], network_of: Any
) -> None:
    """Of what is to be added, leave out what an update that was cut short has added already."""
    known = {net[networks.PORT] for net in (*found.kept, *found.removed, *(old for old, _new in found.changed))}
    spare = [interface for interface in interfaces if interface["port_id"] not in known]
    for net in list(found.added):
        for interface in spare:
            port = interface["port_id"]
            if net[networks.PORT]:
                fits = net[networks.PORT] == port
            else:
                addresses = [one.get("ip_address") for one in interface.get("fixed_ips") or ()]
                fits = (
                    interface["net_id"] == network_of(net)
                    and networks.wants_internal_port(net) == (port in internal)
                    and net[networks.FIXED_IP] in (None, *addresses)
                )
            if fits:
                spare.remove(interface)
                found.added.remove(net)
                found.kept.append({**net, networks.PORT: port})
                break
