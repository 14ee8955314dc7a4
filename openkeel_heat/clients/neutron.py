# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("neutron")``: finders, extensions and states of the network service.

Names are turned into ids on behalf of properties and constraints, often the same one many times: a hundred ports of
one network ask a hundred times for it. An id once found in a project is therefore taken for found for a minute, in
all contexts of the process; names are asked for each time unless ``[resource_finder_cache]`` says otherwise, since
what bears a name may be replaced within one operation.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from oslo_config import cfg
from oslo_utils import uuidutils

from openkeel_heat.clients import polling, rest_errors
from openkeel_heat.clients.cache import MEMOIZE_EXTENSIONS, MEMOIZE_FINDER
from openkeel_heat.clients.constants import ExtensionMixin
from openkeel_heat.clients.rest import below
from openkeel_heat.clients.service import RestClientPlugin
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

API = "/v2.0"

#: Path and key of the list of a kind of object, where they are not made of its name by rule.
_COLLECTIONS: dict[str, tuple[str, str]] = {
    "policy": ("/qos/policies", "policies"),
    "qos_policy": ("/qos/policies", "policies"),
    "rbac_policy": ("/rbac-policies", "rbac_policies"),
    "loadbalancer": ("/lbaas/loadbalancers", "loadbalancers"),
    "listener": ("/lbaas/listeners", "listeners"),
    "pool": ("/lbaas/pools", "pools"),
    "l7policy": ("/lbaas/l7policies", "l7policies"),
}

#: What objects without a name are found by in its place.
_NAME_FIELDS = {"floatingip": "floating_ip_address"}

#: Objects of extensions that have finders of their own.
_EXTENSION_PATHS = {
    "port_pair": "/sfc/port_pairs",
    "port_pair_group": "/sfc/port_pair_groups",
    "flow_classifier": "/sfc/flow_classifiers",
    "port_chain": "/sfc/port_chains",
    "tap_service": "/taas/tap_services",
    "tap_flow": "/taas/tap_flows",
}


class NotFound(rest_errors.NeutronClientException):  # type: ignore[valid-type, misc]
    """No object of that name or id."""


class NeutronClientNoUniqueMatch(rest_errors.RestError):
    """Several objects of that name: no answer of the service, so constraints let it through."""


class _Recent:
    """What was asked of the service a moment ago, by keys that name service and project too, and end in an id."""

    SECONDS = 60.0
    LIMIT = 10_000

    def __init__(self) -> None:
        self._known: dict[Any, tuple[float, Any]] = {}

    def get(self, key: Any) -> Any:
        until, value = self._known.get(key, (0.0, None))
        if until - self.SECONDS <= polling.changed_at(str(key[-1])):
            # It was changed since, or deleted.
            return None
        return value if until > time.monotonic() else None

    def put(self, key: Any, value: Any) -> None:
        if len(self._known) >= self.LIMIT:
            self._known.clear()
        self._known[key] = (time.monotonic() + self.SECONDS, value)

    def forget(self) -> None:
        self._known.clear()


_recent = _Recent()

#: For tests, and for whoever knows that the service has changed.
forget_recent: Callable[[], None] = _recent.forget


def collection_of(resource: str) -> tuple[str, str]:
    """Path of the list of a kind of object, and its key in the answer."""
    by_rule = _EXTENSION_PATHS.get(resource) or f"/{resource.replace('_', '-')}s"
    path, keys = _COLLECTIONS.get(resource) or (by_rule, f"{resource}s")
    return API + path, keys


class NeutronClientPlugin(ExtensionMixin, RestClientPlugin):
    NAME = "neutron"
    VERSION_IN_PATHS = True
    LISTS_BY_ID = True
    LISTS_ALL = True
    #: Connections of IPsec show their pre-shared keys.
    QUIET_PATHS = re.compile(r"/v2\.0/vpn/ipsec-site-connections(/.*)?")

    service_types = [NETWORK] = ["network"]

    RES_TYPES = (
        RES_TYPE_NETWORK, RES_TYPE_SUBNET, RES_TYPE_ROUTER, RES_TYPE_PORT, RES_TYPE_SUBNET_POOL,
        RES_TYPE_ADDRESS_SCOPE, RES_TYPE_SECURITY_GROUP, RES_TYPE_QOS_POLICY, RES_TYPE_LOADBALANCER,
        RES_TYPE_LB_LISTENER, RES_TYPE_LB_POOL, RES_TYPE_LB_L7POLICY,
    ) = (
        "network", "subnet", "router", "port", "subnetpool",
        "address_scope", "security_group", "policy", "loadbalancer",
        "listener", "pool", "l7policy",
    )  # fmt: skip

    # errors -----------------------------------------------------------
    def is_conflict(self, ex: BaseException) -> bool:
        """A quota that is used up is a conflict to the service; trying again will not help."""
        return super().is_conflict(ex) and not _is_named(ex, "OverQuotaClient")

    def is_over_limit(self, ex: BaseException) -> bool:
        return rest_errors.status_of(ex) == 413

    def is_no_unique(self, ex: BaseException) -> bool:
        return _is_named(ex, "NeutronClientNoUniqueMatch")

    def is_invalid(self, ex: BaseException) -> bool:
        return _is_named(ex, "StateInvalidClient")

    # finders ----------------------------------------------------------
    def find_resourceid_by_name_or_id(self, resource: str, name_or_id: str, cmd_resource: str | None = None) -> str:
        """The id of one of the RES_TYPES. ``cmd_resource``: another name of the kind, when its path goes by that."""
        key = ("id", *self._scope(), resource, name_or_id)
        if _recent.get(key):
            return name_or_id
        wanted = "|".join((*self._scope(), resource, str(name_or_id), cmd_resource or ""))

        def search() -> str:
            return MEMOIZE_FINDER.find(wanted, lambda: self._search(cmd_resource or resource, resource, name_or_id))

        # An operation may give a name to another object, but not an id.
        by_id = uuidutils.is_uuid_like(name_or_id)
        found = str(self.once((wanted, polling.changed_at(str(name_or_id))), search) if by_id else search())
        if found == name_or_id:
            _recent.put(key, found)
        return found

    def _create(self, version: str | None = None) -> Any:
        """neutronclient's own client, for plugins of others."""
        from neutronclient.v2_0 import client

        return client.Client(
            session=self.context.keystone_session,
            service_type=self.NETWORK,
            region_name=self._get_region_name(),
            interface=self._get_client_option(self.NAME, "endpoint_type"),
            connect_retries=cfg.CONF.client_retry_limit,
        )

    def _search(self, kind: str, resource: str, name_or_id: str) -> str:
        path, keys = collection_of(kind)
        if uuidutils.is_uuid_like(name_or_id):
            found = self.api.list(path, keys, params={"id": name_or_id, "fields": "id"})
            if found:
                return str(found[0]["id"])
        name = _NAME_FIELDS.get(resource, "name")
        return self._only(resource, name_or_id, self.api.list(path, keys, params={name: name_or_id, "fields": "id"}))

    @staticmethod
    def _only(resource: str, name_or_id: str, found: list[dict[str, Any]]) -> str:
        if len(found) > 1:
            raise NeutronClientNoUniqueMatch(
                _("Multiple %(resource)s matches found for name '%(name)s', use an ID to be more specific.")
                % {"resource": resource, "name": name_or_id}
            )
        if not found:
            raise NotFound(
                _("Unable to find %(resource)s with name or id '%(name_or_id)s'")
                % {"resource": resource, "name_or_id": name_or_id},
                status=404,
            )
        return str(found[0]["id"])

    def resolve_pool(self, props: MutableMapping[str, Any], pool_key: str, pool_id_key: str) -> Any:
        return self._resolve(props, pool_key, pool_id_key, self.RES_TYPE_LB_POOL)

    def resolve_router(self, props: MutableMapping[str, Any], router_key: str, router_id_key: str) -> Any:
        return self._resolve(props, router_key, router_id_key, self.RES_TYPE_ROUTER)

    def _resolve(self, props: MutableMapping[str, Any], key: str, id_key: str, resource: str) -> Any:
        """Put the id under ``id_key`` in place of the name or id under ``key``."""
        if props.get(key):
            props[id_key] = self.find_resourceid_by_name_or_id(resource, props.pop(key))
        return props[id_key]

    def get_qos_policy_id(self, policy: str) -> str:
        return self.find_resourceid_by_name_or_id(self.RES_TYPE_QOS_POLICY, policy)

    def get_secgroup_uuids(self, security_groups: Iterable[str]) -> list[str]:
        """Ids of security groups. A name is looked for in the project of the context only."""
        ids: list[str] = []
        by_name: dict[str, list[str]] | None = None
        for group in security_groups:
            if uuidutils.is_uuid_like(group):
                ids.append(group)
                continue
            if by_name is None:
                by_name = self._security_groups_by_name()
            found = by_name.get(group, [])
            if not found:
                raise exceptions.EntityNotFound(entity="Resource", name=group)
            if len(found) > 1:
                raise exceptions.PhysicalResourceNameAmbiguity(name=group)
            ids += found
        return ids

    def _security_groups_by_name(self) -> dict[str, list[str]]:
        path, keys = collection_of(self.RES_TYPE_SECURITY_GROUP)
        by_name: dict[str, list[str]] = {}
        params = {"project_id": self.context.project_id, "fields": ["id", "name"]}
        for group in self.api.list(path, keys, params=params):
            by_name.setdefault(group["name"], []).append(group["id"])
        return by_name

    def network_id_from_subnet_id(self, subnet_id: str) -> str:
        """The network of a subnet; a subnet stays in its network for life."""
        key = ("network of", *self._scope(), subnet_id)
        found = _recent.get(key)
        if found is None:
            found = self.api.show(below(f"{API}/subnets", subnet_id), "subnet", params={"fields": "network_id"})[
                "network_id"
            ]
            _recent.put(key, found)
        return str(found)

    # extensions -------------------------------------------------------
    def _list_extensions(self) -> list[str]:
        """Aliases of the extensions, apart by region: they are the same for all projects."""
        region = str(self._get_region_name())
        key = ("extensions", str(self.context.auth_url), region)
        found = _recent.get(key)
        if found is None:
            found = MEMOIZE_EXTENSIONS.get_or_create(
                f"neutron|{self.context.auth_url or ''}|{region}",
                lambda: [entry["alias"] for entry in self.api.list(f"{API}/extensions", "extensions")],
            )
            _recent.put(key, found)
        return list(found)

    # objects of extensions --------------------------------------------
    @staticmethod
    def _extension_path(resource: str) -> str:
        return API + _EXTENSION_PATHS[resource]

    def create_ext_resource(self, resource: str, props: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = self.api.post(self._extension_path(resource), json={resource: props})[resource]
        return made

    def update_ext_resource(self, resource: str, prop_diff: Mapping[str, Any], resource_id: str) -> Any:
        return self.api.put(below(self._extension_path(resource), resource_id), json={resource: prop_diff})

    def delete_ext_resource(self, resource: str, resource_id: str) -> Any:
        return self.api.delete(below(self._extension_path(resource), resource_id))

    def show_ext_resource(self, resource: str, resource_id: str) -> dict[str, Any]:
        return dict(self.api.show(below(self._extension_path(resource), resource_id), resource))

    def check_ext_resource_status(self, resource: str, resource_id: str) -> bool:
        return _is_active(self.show_ext_resource(resource, resource_id)["status"])

    def resolve_ext_resource(self, resource: str, name_or_id: str) -> str:
        path, keys = self._extension_path(resource), f"{resource}s"
        if uuidutils.is_uuid_like(name_or_id):
            found = self.api.list(path, keys, params={"id": name_or_id, "fields": "id"})
            if found:
                return str(found[0]["id"])
        named = self.api.list(path, keys, params={"name": name_or_id, "fields": ["id", "name"]})
        return self._only(resource, name_or_id, [entry for entry in named if entry.get("name") == name_or_id])

    def check_lb_status(self, lb_id: str) -> bool:
        return _is_active(
            self.api.show(below(f"{API}/lbaas/loadbalancers", lb_id), "loadbalancer")["provisioning_status"]
        )

    def service_providers(self, service_type: str | None = None) -> list[str]:
        """Names of the providers of a service that the network service hosts."""
        params = {"service_type": service_type} if service_type else None
        return [entry["name"] for entry in self.api.list(f"{API}/service-providers", "service_providers", params)]


def _is_active(status: str) -> bool:
    if status == "ERROR":
        raise exceptions.ResourceInError(resource_status=status)
    return status == "ACTIVE"


def _is_named(ex: BaseException, name: str) -> bool:
    """Whether it is an error of that class, ours or that of neutronclient."""
    return any(cls.__name__ == name for cls in type(ex).__mro__)
