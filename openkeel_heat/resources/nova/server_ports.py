# SPDX-License-Identifier: Apache-2.0
"""The part of a server that is its ports.

Ids of ports are kept in the resource data, as lists of ``{"id": …}``: ``internal_ports`` are those that the resource
has made and will delete, ``external_ports`` all others that the server has. What is attached is detached from a server
before it is replaced, for its replacement may be given the same ports, and given back when a rollback returns to it; so
are addresses that the template names for internal ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
from oslo_serialization import jsonutils

from openkeel_heat.clients.rest import perhaps_carried_out
from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.rest import UNSURE, ApiObject, RestResource
from openkeel_heat.resources.kit.server_base import BaseServer
from openkeel_heat.resources.kit.succession import as_it_was_made
from openkeel_heat.resources.kit.work import Step, Work
from openkeel_heat.resources.nova import internal_ports, resizing, server_networks as networks
from openkeel_heat.resources.nova.internal_ports import PORTS

LOG = logging.getLogger(__name__)

INTERNAL, EXTERNAL = "internal_ports", "external_ports"

#: resource_data: addresses that internal ports had before a replacement was to have them.
FREED = "freed_addresses"


def patience_with_interfaces() -> float:
    """Seconds in which an interface has to come or go: those of that many looks, with pauses that double."""
    return sum(min(0.5 * 2**look, 12.0) for look in range(cfg.CONF.max_interface_check_attempts))


class ServerPorts(BaseServer, RestResource):
    default_client_name = "nova"
    api_object = ApiObject("/servers", "server", status="status", list_path="/servers/detail")

    NETWORKS, SECURITY_GROUPS = networks.NETWORKS, networks.SECURITY_GROUPS

    @property
    def neutron_api(self) -> Any:
        return self.client_plugin("neutron").api

    def _act(self, action: str, arguments: Any = None) -> None:
        resizing.act(self.client_plugin(), str(self.resource_id), action, arguments)

    # --- resource data

    def _data_get_ports(self, port_type: str = INTERNAL) -> list[dict[str, str]]:
        stored = self.data().get(port_type)
        return jsonutils.loads(stored) if stored else []

    def _port_ids(self, port_type: str = INTERNAL) -> list[str]:
        return [port["id"] for port in self._data_get_ports(port_type)]

    def _keep_ports(self, ids: Iterable[str], port_type: str = INTERNAL) -> None:
        wanted = [{"id": id_} for id_ in ids]
        if wanted != self._data_get_ports(port_type):
            self.data_set(port_type, jsonutils.dumps(wanted))

    def _data_update_ports(self, port_id: str, action: str, port_type: str = INTERNAL) -> None:
        """``add`` or ``delete`` one."""
        others = [id_ for id_ in self._port_ids(port_type) if id_ != port_id]
        self._keep_ports([*others, port_id] if action == "add" else others, port_type)

    def store_external_ports(self) -> None:
        """Note which ports the server has that are not its own."""
        internal, known = set(self._port_ids()), self._port_ids(EXTERNAL)
        present = self._given_ports()
        if present is None:
            present = [one["port_id"] for one in self.client_plugin().interfaces(self.resource_id)]
        external = [id_ for id_ in present if id_ not in internal]
        if set(external) != set(known):
            self._keep_ports(external, EXTERNAL)

    def _given_ports(self) -> list[str] | None:
        """The ports that the server has, where the properties tell them all; those that Nova makes they do not."""
        nets = self.properties[self.NETWORKS] or []
        told = bool(nets) and all(net.get(networks.PORT) or networks.wants_internal_port(net) for net in nets)
        return [net[networks.PORT] for net in nets if net.get(networks.PORT)] if told else None

    # --- networks of a new server

    def _network_of(self, net: Mapping[str, Any]) -> str | None:
        """The network id of an entry, by its subnet if need be."""
        network, subnet = net.get(networks.NETWORK), net.get(networks.SUBNET)
        if network or not subnet:
            return network or None
        return str(self.client_plugin("neutron").network_id_from_subnet_id(subnet))

    def _networks_body(self) -> str | list[dict[str, Any]] | None:
        """``networks`` of the request; ports that the server needs are made."""
        nets = self.properties[self.NETWORKS]
        if not nets:
            # What the API did by itself before it could be asked for it.
            return networks.ALLOCATE_AUTO if self.client_plugin().is_version_supported("2.37") else None
        return networks.allocation(nets) or [self._network_body(net, number) for number, net in enumerate(nets)]

    def _network_body(self, net: Mapping[str, Any], number: int) -> dict[str, Any]:
        self._validate_subnet(net)
        made: dict[str, Any] = {}
        network = self._network_of(net)
        if network:
            made["uuid"] = network
        port = self._port_for(net, number)
        if port:
            made["port"] = port
        elif net.get(networks.FIXED_IP):
            made["fixed_ip"] = net[networks.FIXED_IP]
        if port and net.get(networks.FLOATING_IP):
            self._lead_floating_ip(net, port)
        if net.get(networks.TAG):
            made["tag"] = net[networks.TAG]
        return made

    def _validate_subnet(self, net: Mapping[str, Any]) -> None:
        subnet, network = net.get(networks.SUBNET), net.get(networks.NETWORK)
        if net.get(networks.PORT) is not None or not subnet or not network:
            return
        if self.client_plugin("neutron").network_id_from_subnet_id(subnet) != network:
            raise exception.StackValidationFailed(
                message=_("Specified subnet %(subnet)s does not belongs to network %(network)s.")
                % {"subnet": subnet, "network": network}
            )

    def _port_for(self, net: Mapping[str, Any], number: int) -> str | None:
        """The port that an entry names, or one that is made for it; None: Nova makes one."""
        if net.get(networks.PORT):
            return str(net[networks.PORT])
        return self._internal_port(net, number) if networks.wants_internal_port(net) else None

    def _lead_floating_ip(self, net: Mapping[str, Any], port: str) -> None:
        wanted: dict[str, Any] = {"port_id": port}
        if net.get(networks.FIXED_IP):
            wanted["fixed_ip_address"] = net[networks.FIXED_IP]
        self.neutron_api.put(f"/v2.0/floatingips/{net[networks.FLOATING_IP]}", json={"floatingip": wanted})

    def _free_floating_ip(self, floating_ip: str) -> None:
        with self.client_plugin("neutron").ignore_not_found:
            self.neutron_api.put(f"/v2.0/floatingips/{floating_ip}", json={"floatingip": {"port_id": None}})

    def _security_group_ids(self) -> list[str]:
        names = self.properties[self.SECURITY_GROUPS]
        return self.client_plugin("neutron").get_secgroup_uuids(names) if names else []

    # --- internal ports

    def _internal_port(self, net: Mapping[str, Any], number: int) -> str:
        """Make the port of an entry; once, though the handler may come here again."""
        neutron = self.client_plugin("neutron")
        body = {
            "name": _("%(server)s-port-%(number)s") % {"server": self.name, "number": number},
            # It is found by that if nobody could note its id.
            "description": self.physical_resource_name() or "",
            **internal_ports.body(net, self._network_of(net), self._security_group_ids(), neutron.get_qos_policy_id),
        }
        if number not in self._made_ports:
            found = self._lost_port(body) if self.resumed or self.data().get(UNSURE) else None
            self._made_ports[number] = found or self._make_port(body)
        self._data_update_ports(self._made_ports[number], "add")
        return self._made_ports[number]

    @property
    def _made_ports(self) -> dict[int, str]:
        """Ports that this object has made since its action began, by the number of their entry."""
        return self.__dict__.setdefault("_ports_made_here", {})

    def _make_port(self, body: Mapping[str, Any]) -> str:
        try:
            return str(self.neutron_api.post(PORTS, json={"port": body})["port"]["id"])
        except Exception as error:
            self.note_doubt(error)
            if not perhaps_carried_out(error):
                raise
            found = self._lost_port(body)
            if found is None:
                raise
            return found

    def _lost_ports(self, **wanted: Any) -> Iterator[dict[str, Any]]:
        """Ports made for this server that no server has."""
        description = self.physical_resource_name()
        if not description:
            return
        for port in self.neutron_api.list(PORTS, "ports", {"description": description}):
            # The filter may be unknown to an old service.
            if (
                port.get("description") == description
                and not port.get("device_id")
                and all(port.get(name) == value for name, value in wanted.items())
            ):
                yield port

    def _lost_port(self, body: Mapping[str, Any]) -> str | None:
        found = self._lost_ports(name=body["name"], network_id=body["network_id"])
        return next((str(port["id"]) for port in found), None)

    def _delete_internal_port(self, port_id: str) -> None:
        with self.client_plugin("neutron").ignore_not_found:
            self.neutron_api.delete(f"{PORTS}/{port_id}")
        self._data_update_ports(port_id, "delete")
        for number in [number for number, made in self._made_ports.items() if made == port_id]:
            del self._made_ports[number]

    def _delete_internal_ports(self) -> None:
        """Delete all, those too whose id nobody could note."""
        if self.data().get(UNSURE):
            for port in self._lost_ports():
                self._data_update_ports(str(port["id"]), "add")
        for id_ in self._port_ids():
            self._delete_internal_port(id_)
        self.data_delete(INTERNAL)

    # --- coming and going of one interface, as steps of a Work

    def _detach(self, server_id: str, port_id: str) -> list[Step]:
        plugin = self.client_plugin()
        limit = _Limit()

        def gone() -> bool:
            if plugin.is_detached(server_id, port_id):
                LOG.info("Port %(port)s is detached from server %(server)s", {"port": port_id, "server": server_id})
                return True
            limit.check(exception.InterfaceDetachFailed(port=port_id, server=server_id))
            return False

        return [lambda: plugin.interface_detach(server_id, port_id), gone]

    def _attach(self, server_id: str, **interface: Any) -> list[Step]:
        """``port_id``, or ``net_id`` (None: any network) and ``fip`` of a port that Nova makes; ``tag``."""
        plugin = self.client_plugin()
        limit = _Limit()
        attached: list[str | None] = []

        def begin() -> None:
            attached.append(self._begin_attach(server_id, interface))

        def there() -> bool:
            if plugin.is_attached(server_id, attached[0]):
                return True
            limit.check(exception.InterfaceAttachFailed(port=attached[0], server=server_id))
            return False

        return [begin, there]

    def _begin_attach(self, server_id: str, interface: Mapping[str, Any]) -> str | None:
        plugin = self.client_plugin()
        try:
            return str(plugin.attach_interface(server_id, **interface))
        except Exception as error:
            port: str | None = interface.get("port_id")
            # It is there already if an engine has died, or the answer has been lost, after it was attached.
            again = self.resumed or perhaps_carried_out(error)
            if again and port and port in (one["port_id"] for one in plugin.interfaces(server_id)):
                return port
            raise

    # --- replacing the server

    def prepare_for_replace(self) -> Any:
        """Take the ports from the server; of one that is broken Nova takes none, and the internal ones are deleted."""
        if self.resource_id is None:
            # It may have been made all the same; then nobody has used it, and it holds what another is to have.
            return self.handle_delete() if self.has_object() else Work()
        server = None
        with self.client_plugin().ignore_not_found:
            server = self.client_plugin().show_server(self.resource_id)
        if server is None or server.status == "ERROR":
            self._release_given_ports()
            self._delete_internal_ports()
            return Work()
        return Work(*self._detach_all(self, self.resource_id), self._free_addresses)

    def _release_given_ports(self) -> None:
        with as_it_was_made(self):
            given = [net[networks.PORT] for net in self.properties[self.NETWORKS] or () if net.get(networks.PORT)]
        for port in given:
            with self.client_plugin("neutron").ignore_not_found:
                if self.neutron_api.show(f"{PORTS}/{port}", "port").get("device_id") == self.resource_id:
                    self.neutron_api.put(f"{PORTS}/{port}", json={"port": {"device_id": ""}})

    def check_prepare_for_replace_complete(self, work: Work) -> bool:
        return work.go_on()

    def _detach_all(self, owner: ServerPorts, server_id: str) -> list[Step]:
        ports = [*owner._port_ids(), *owner._port_ids(EXTERNAL)]
        return [step for port in ports for step in self._detach(server_id, port)]

    def restore_prev_rsrc(self, convergence: bool = False) -> Any:
        """A rollback returns to this server: take the ports back from the one that was to replace it."""
        work = Work()
        other = self.stack.replacement_of(self)
        if isinstance(other, ServerPorts) and other.resource_id is not None:
            # A server can be made to give a port away only after it is built.
            work = Work(lambda: self._is_built(other), lambda: self._take_ports_of(other, work))
        if isinstance(other, ServerPorts):
            work.last(other._free_addresses)
        work.last(self._take_addresses_back, lambda: self._take_ports_back(work))
        return work

    def check_restore_prev_rsrc_complete(self, work: Work) -> bool:
        return work.go_on()

    def _is_built(self, other: ServerPorts) -> bool:
        try:
            with self.client_plugin().ignore_not_found:
                return bool(self.client_plugin()._check_active(other.resource_id))
        except exception.ResourceInError:
            pass
        return True

    def _take_ports_of(self, other: ServerPorts, work: Work) -> None:
        with self.client_plugin().ignore_not_found:
            other.store_external_ports()
        work.then(*self._detach_all(other, str(other.resource_id)))

    def _take_ports_back(self, work: Work) -> None:
        """Attach what is still there; what Nova had made it has deleted, and makes anew."""
        server_id = str(self.resource_id)
        present = {one["port_id"] for one in self.client_plugin().interfaces(server_id)}
        steps, lost = [], 0
        for port in [*self._port_ids(), *self._port_ids(EXTERNAL)]:
            if port in present:
                continue
            if self._exists(port):
                steps += self._attach(server_id, port_id=port)
            else:
                lost += 1
        nets = self.properties[self.NETWORKS] or [{}]
        made_by_nova = [net for net in nets if not net.get(networks.PORT) and not networks.wants_internal_port(net)]
        for net in made_by_nova[:lost]:
            steps += self._attach(server_id, net_id=self._network_of(net), fip=net.get(networks.FIXED_IP))
        work.then(*steps, self.store_external_ports, self._take_floating_ips_back)

    def _take_floating_ips_back(self) -> None:
        nets = self.properties[self.NETWORKS] or []
        if not any(net.get(networks.FLOATING_IP) for net in nets):
            return
        interfaces = self.client_plugin().interfaces(str(self.resource_id))
        known = networks.with_interfaces(nets, interfaces, set(self._port_ids()), self._network_of)
        for net, told in zip(nets, known, strict=True):
            if net.get(networks.FLOATING_IP) and told[networks.PORT]:
                self._lead_floating_ip(net, told[networks.PORT])

    # --- addresses that entries with an internal port name: a network has each once

    def _with_own_address(self) -> list[Mapping[str, Any]]:
        with self.frozen_properties() as made_with:
            nets = made_with[self.NETWORKS] or ()
        return [net for net in nets if net.get(networks.FIXED_IP) and networks.wants_internal_port(net)]

    def _freed_addresses(self) -> dict[str, list[dict[str, Any]]]:
        freed: dict[str, list[dict[str, Any]]] = jsonutils.loads(self.data().get(FREED) or "{}")
        return freed

    def _free_addresses(self) -> None:
        """Let them go, as somebody else is to have them; what they were is kept for a rollback."""
        for net in self._with_own_address():
            if net.get(networks.FLOATING_IP):
                self._free_floating_ip(net[networks.FLOATING_IP])
        named = {net[networks.FIXED_IP] for net in self._with_own_address()}
        for port in self._port_ids() if named else ():
            with self.client_plugin("neutron").ignore_not_found:
                fixed_ips = self.neutron_api.show(f"{PORTS}/{port}", "port")["fixed_ips"]
                if any(ip["ip_address"] in named for ip in fixed_ips):
                    self.data_set(FREED, jsonutils.dumps({**self._freed_addresses(), port: fixed_ips}))
                    self._set_addresses(port, [])

    def _set_addresses(self, port: str, fixed_ips: list[dict[str, Any]]) -> None:
        self.neutron_api.put(f"{PORTS}/{port}", json={"port": {"fixed_ips": fixed_ips}})

    def _take_addresses_back(self) -> None:
        for port, fixed_ips in self._freed_addresses().items():
            with self.client_plugin("neutron").ignore_not_found:
                self._set_addresses(port, fixed_ips)
        self.data_delete(FREED)

    def _exists(self, port: str) -> bool:
        with self.client_plugin("neutron").ignore_not_found:
            self.neutron_api.get(f"{PORTS}/{port}")
            return True
        return False


class _Limit:
    """How long something is waited for; it begins when it is looked for first."""

    def __init__(self) -> None:
        self._end: float | None = None

    def check(self, error: Exception) -> None:
        if self._end is None:
            self._end = clock.monotonic() + patience_with_interfaces()
        elif clock.monotonic() > self._end:
            raise error
