# SPDX-License-Identifier: Apache-2.0
"""What a server is asked for: attributes, and its live state before an update.

Addresses are put together of the server's ports and what the network service tells of their networks, subnets and
floating IPs, each kind with one request.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_log import log as logging

from openkeel_heat.clients.nova import Server as Shown, first_address
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.attributes import select_from_attribute
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.nova import resizing, server_networks as networks, server_schema as schema
from openkeel_heat.resources.nova.server_updates import TAGS_SINCE, ServerUpdates

LOG = logging.getLogger(__name__)

_FIELDS = {
    schema.INSTANCE_NAME: "OS-EXT-SRV-ATTR:instance_name",
    schema.ACCESSIPV4: "accessIPv4",
    schema.ACCESSIPV6: "accessIPv6",
}


class ServerAttributes(ServerUpdates):
    attributes_schema = schema.attributes_schema

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        if name in (schema.NAME_ATTR, schema.OS_COLLECT_CONFIG):
            return super()._resolve_attribute(name)
        with self.client_plugin().ignore_not_found:
            return self._resolve_shown(name, Shown(self.shown_recently()))
        return ""

    def _resolve_shown(self, name: str, server: Shown) -> Any:
        if name == schema.FIRST_ADDRESS:
            return first_address(server) or ""
        if name == schema.ADDRESSES:
            return self._addresses()
        if name == schema.NETWORKS_ATTR:
            return self._by_id_too(server.networks)
        if name == schema.CONSOLE_URLS:
            return self.client_plugin().get_console_urls(server)
        if name == schema.TAGS_ATTR:
            return self._tags(server)
        return server.get(_FIELDS[name])

    def FnGetAtt(self, key: str, *path: Any) -> Any:
        """Of consoles only the one is asked for that is meant; what is kept is plain text."""
        if key != schema.CONSOLE_URLS:
            return super().FnGetAtt(key, *path)
        full_key = f"tuple:{(key, *path)}" if path else key
        cached = self.attributes.cached_attrs
        if full_key not in cached:
            urls = self._resolve_any_attribute(key)
            found = dict(urls) if urls and not path else select_from_attribute(urls, path)
            if not found:
                return found
            self.attributes.set_cached_attr(full_key, found)
        return cached[full_key]

    def _attributes_overridden(self) -> bool:
        """Which attributes there are the schema says: only how consoles are asked for is different."""
        return self._has_custom_attributes() or type(self).FnGetAtt is not ServerAttributes.FnGetAtt

    def _tags(self, server: Mapping[str, Any]) -> list[str] | None:
        if "tags" in server:
            return list(server["tags"])
        if not self.client_plugin().is_version_supported(TAGS_SINCE):
            return None
        found: list[str] = self.api.get(f"{self.object_path()}/tags")["tags"]
        return found

    # --- addresses

    def _by_id_too(self, by_name: Mapping[str, Any]) -> dict[str, Any]:
        """Networks by their names, and by their ids where the name means one only."""
        neutron = self.client_plugin("neutron")
        found = dict(by_name)
        for label, value in by_name.items():
            try:
                found[neutron.find_resourceid_by_name_or_id(neutron.RES_TYPE_NETWORK, label)] = value
            except Exception as error:
                if not (neutron.is_not_found(error) or neutron.is_no_unique(error)):
                    raise
        return found

    def _addresses(self) -> dict[str, Any]:
        """Addresses of the ports, with subnets and network; of floating IPs that lead to them."""
        ports = self._ports_of_server()
        nets = self._fetch("networks", (port["network_id"] for port in ports))
        subnets = self._fetch("subnets", (ip["subnet_id"] for port in ports for ip in port["fixed_ips"]))
        floating = self._floating_ips(ports)
        by_name: dict[str, list[dict[str, Any]]] = {}
        for port in ports:
            network = nets.get(port["network_id"])
            found = by_name.setdefault(network["name"] if network else port["network_id"], [])
            told = [subnets[ip["subnet_id"]] for ip in port["fixed_ips"] if ip["subnet_id"] in subnets]
            for ip in port["fixed_ips"]:
                fixed = _entry(port, ip["ip_address"], "fixed")
                for outside in floating.get((port["id"], ip["ip_address"]), ()):
                    # Before the fixed one: who takes the port of the first address goes on having it.
                    found.append({**_entry(port, outside, "floating"), "version": fixed["version"]})
                found.append({**fixed, "subnets": told, "network": network})
        return self._by_id_too(by_name)

    def _ports_of_server(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.neutron_api.list("/v2.0/ports", "ports", {"device_id": self.resource_id})
        return found

    def _fetch(self, kind: str, ids: Iterable[str | None]) -> dict[str, dict[str, Any]]:
        wanted = sorted({id_ for id_ in ids if id_})
        if not wanted:
            return {}
        return {one["id"]: one for one in self.neutron_api.list(f"/v2.0/{kind}", kind, {"id": wanted})}

    def _floating_ips(self, ports: list[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
        """Floating addresses by port and fixed address."""
        found: dict[tuple[str, str], list[str]] = {}
        wanted = [port["id"] for port in ports if port["fixed_ips"]]
        if wanted:
            for ip in self.neutron_api.list("/v2.0/floatingips", "floatingips", {"port_id": wanted}):
                key = (ip["port_id"], ip["fixed_ip_address"])
                found.setdefault(key, []).append(ip["floating_ip_address"])
        return found

    # --- live state

    def get_live_resource_data(self) -> Any:
        """The server with its interfaces; one that is not ACTIVE tells nothing to be relied on."""
        plugin = self.client_plugin()
        try:
            server = plugin.show_server(self.resource_id)
            if not plugin._check_active(server):
                raise exception.Error(_("Server %s is not in ACTIVE state") % self.name)
            return {**server, "interfaces": plugin.interfaces(self.resource_id)}
        except Exception as error:
            if plugin.is_not_found(error):
                raise exception.EntityNotFound(entity="Resource", name=self.name) from error
            raise

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        """Only what differs from the properties: most of them can be said in several ways."""
        found: dict[str, Any] = {}
        flavor = str(resource_properties.get(schema.FLAVOR))
        if not resizing.has_flavor(self.client_plugin(), resource_data, flavor):
            live = resource_data["flavor"]
            found[schema.FLAVOR] = str(live["id"] if "id" in live else live["original_name"])
        image = (resource_data.get("image") or {}).get("id")
        if image and resource_properties.get(schema.IMAGE) != image:
            found[schema.IMAGE] = str(image)
        if resource_properties.get(schema.NAME) not in (None, resource_data["name"]):
            found[schema.NAME] = resource_data["name"]
        metadata = resource_data.get("metadata") or {}
        if self.client_plugin().meta_serialize(resource_properties.get(schema.METADATA) or {}) != metadata:
            found[schema.METADATA] = metadata
        tags = self._tags(resource_data)
        if tags is not None and sorted(tags) != sorted(resource_properties.get(schema.TAGS) or []):
            found[schema.TAGS] = tags
        nets = resource_properties.get(schema.NETWORKS)
        if nets and not networks.allocation(nets):
            live = networks.live(nets, resource_data["interfaces"], self._port_ids(), self._network_of)
            if live != [{key: value for key, value in net.items() if value is not None} for net in nets]:
                found[schema.NETWORKS] = live
        return found


def _entry(port: Mapping[str, Any], address: str, kind: str) -> dict[str, Any]:
    version: Any = None
    try:
        # In a list: so it has been stored with stacks since attributes are kept.
        version = [ipaddress.ip_address(address).version]
    except ValueError:
        LOG.warning("Port %(port)s has no address but %(text)s", {"port": port["id"], "text": address})
    return {
        "addr": address,
        "version": version,
        "OS-EXT-IPS-MAC:mac_addr": port["mac_address"],
        "OS-EXT-IPS:type": kind,
        "port": port["id"],
    }
