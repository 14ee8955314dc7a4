# SPDX-License-Identifier: Apache-2.0
"""The identity API v3 as plain JSON: ``Identity(adapter).users.create(name=…)``.

Each collection is a :class:`Collection`; what it answers is an :class:`Item`, a dict whose keys are attributes too.
Errors are those of keystoneauth. What is asked a second time, and when, :mod:`.rest` knows: of two trusts that one
request made nobody would delete the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from oslo_config import cfg

from openkeel_heat.clients.rest import RestClient, made_without_id

#: Users have passwords, the credentials of Keystone are the keys of signed requests.
_SECRET = ("credential", "user")


class Item(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self) -> dict[str, Any]:
        return dict(self)


class Collection:
    """One kind of object: its path, and the key of one of them in a body.

    What is sent and comes back is in the debug log, but for the kinds that have secrets in them.
    """

    def __init__(self, api: RestClient, path: str, key: str) -> None:
        self._api = api
        self._path = f"/{path}"
        self._key = key
        self._how: dict[str, Any] = {"log": False} if key in _SECRET else {}

    def _url(self, id_: str | None = None) -> str:
        return self._path if id_ is None else f"{self._path}/{quote(str(id_), safe='')}"

    def get(self, id_: str) -> Item:
        return Item(self._api.show(self._url(id_), self._key, **self._how))

    def list(self, **filters: Any) -> list[Item]:
        params = {name: value for name, value in filters.items() if value is not None}
        keys = self._path.rsplit("/", 1)[-1]
        return [Item(one) for one in self._api.list(self._url(), keys, params, **self._how)]

    def find(self, **filters: Any) -> Item:
        """The one that fits; none is ``NotFound``, several are a ``ClientException``."""
        from keystoneauth1 import exceptions as errors

        found = self.list(**filters)
        if not found:
            raise errors.NotFound(message=f"No {self._key} matching {filters}.", http_status=404)
        if len(found) > 1:
            raise errors.ClientException(f"More than one {self._key} matching {filters}.")
        return found[0]

    def create(self, **values: Any) -> Item:
        body = {name: value for name, value in values.items() if value is not None}
        return self._answered(self._api.post(self._url(), json={self._key: body}, **self._how))

    def update(self, id_: str, **values: Any) -> Item:
        return self._answered(self._api.patch(self._url(id_), json={self._key: values}, **self._how))

    def delete(self, id_: str) -> None:
        self._api.delete(self._url(id_))

    def _answered(self, body: Any) -> Item:
        found = body.get(self._key) if isinstance(body, Mapping) else None
        if not isinstance(found, Mapping):
            raise made_without_id(self._key)
        return Item(found)


class Roles(Collection):
    """Roles can be granted and revoked as well."""

    def grant(self, role: str, **scope: str | None) -> None:
        self._api.put(self._grant_url(role, **scope))

    def revoke(self, role: str, **scope: str | None) -> None:
        self._api.delete(self._grant_url(role, **scope))

    @staticmethod
    def _grant_url(
        role: str,
        user: str | None = None,
        group: str | None = None,
        project: str | None = None,
        domain: str | None = None,
    ) -> str:
        where = ("projects", project) if project else ("domains", domain)
        who = ("users", user) if user else ("groups", group)
        parts = (*where, *who, "roles", role)
        return "".join(f"/{quote(str(part), safe='')}" for part in parts)


_COLLECTIONS = {
    "credentials": ("credentials", "credential"),
    "domains": ("domains", "domain"),
    "endpoints": ("endpoints", "endpoint"),
    "groups": ("groups", "group"),
    "projects": ("projects", "project"),
    "regions": ("regions", "region"),
    "services": ("services", "service"),
    "trusts": ("OS-TRUST/trusts", "trust"),
    "users": ("users", "user"),
}


class Identity:
    """All collections over one adapter (session, credentials, endpoint)."""

    credentials: Collection
    domains: Collection
    endpoints: Collection
    groups: Collection
    projects: Collection
    regions: Collection
    services: Collection
    trusts: Collection
    users: Collection

    def __init__(self, adapter: Any) -> None:
        self.adapter = adapter
        api = RestClient(adapter, "keystone", retries=cfg.CONF.client_retry_limit)
        self.roles = Roles(api, "roles", "role")
        for name, (path, key) in _COLLECTIONS.items():
            setattr(self, name, Collection(api, path, key))
