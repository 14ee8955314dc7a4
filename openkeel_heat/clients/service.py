# SPDX-License-Identifier: Apache-2.0
"""The base of the plug-ins of OpenStack's services: ``plugin.api`` is what our own types use.

::

    class FooClientPlugin(RestClientPlugin):
        NAME = "foo"                              # [clients_foo], and whose errors they are
        service_types = [FOO] = ["foo"]
        MAX_MICROVERSION = "1.20"                 # the newest that our types know; None: the service has none

    plugin.api.post("/bars", json={"bar": {…}})
    plugin.find("/bars", "bar", "a name or an id")
    plugin.observe(f"/bars/{id}", "/bars/detail", "bar", "bars", id)["status"]

``plugin.client()`` is the service's own Python client, for plugins that were written for it; it has to be installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from oslo_config import cfg
from oslo_utils import uuidutils

from openkeel_heat.clients import polling, rest_errors
from openkeel_heat.clients.cache import MEMOIZE_FINDER
from openkeel_heat.clients.microversions import MicroversionMixin
from openkeel_heat.clients.once import once, shared
from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.clients.rest import RestClient, persistently
from openkeel_heat.clients.rest_errors import status_of
from openkeel_heat.common import config, exceptions

#: Seconds for which the versions of a service are taken to be what they were.
VERSIONS_ARE_GOOD = 300.0

_VERSION_AT_END = re.compile(r"/v\d+(\.\d+)?/?$")


class RestClientPlugin(ClientPlugin):
    #: The short name of the service.
    NAME: ClassVar[str] = ""
    #: The newest microversion whose answers our types understand.
    MAX_MICROVERSION: ClassVar[str | None] = None
    #: The option that may ask for less.
    MAX_MICROVERSION_OPTION: ClassVar[str | None] = None
    #: The paths of the types begin with the version, while catalogues may or may not have it: ``/v2.0/networks``.
    VERSION_IN_PATHS: ClassVar[bool] = False
    #: Lists take ``?id=a&id=b``.
    LISTS_BY_ID: ClassVar[bool] = False
    #: Paths whose bodies have secrets, sent or answered: they are in no log.
    QUIET_PATHS: ClassVar[re.Pattern[str] | None] = None
    #: What a later list does not have any more, is deleted: no list leaves out a part of what there is.
    LISTS_ALL: ClassVar[bool] = False

    _api: RestClient | None = None
    _endpoint: str | None = None
    _negotiated: str | None = None
    _range: tuple[tuple[int, int], tuple[int, int]] | None = None

    # --- the API

    @property
    def api(self) -> RestClient:
        """The service with the credentials of the context."""
        with self._instances_lock:
            if self._api is None:
                self._api = RestClient(
                    self._adapter(),
                    self.NAME,
                    retries=cfg.CONF.client_retry_limit,
                    microversion=self.microversion,
                    changed=self._changed,
                    quiet=self.QUIET_PATHS,
                )
            return self._api

    def _changed(self, path: str) -> None:
        """A request changed something at *path*, or made what has this id."""
        polling.changed(path)
        for part in path.partition("?")[0].split("/"):
            if uuidutils.is_uuid_like(part):
                MEMOIZE_FINDER.forget_id(part)

    def _adapter(self) -> Any:
        if not config.has_keystone():
            raise exceptions.ClientNotAvailable(client_name=self.NAME)
        from keystoneauth1 import adapter

        return adapter.Adapter(
            self.context.keystone_session,
            service_type=self.service_types[0],
            endpoint_override=self.endpoint(),
        )

    def endpoint(self) -> str:
        """Where the service is, by the catalogue, the region and ``endpoint_type``; without a slash at its end."""
        if self._endpoint is None:
            where = {
                "service_type": self.service_types[0],
                "endpoint_type": self._get_client_option(self.NAME, "endpoint_type"),
            }
            url = persistently(lambda: self.url_for(**where), cfg.CONF.client_retry_limit)
            self._endpoint = (_VERSION_AT_END.sub("", url) if self.VERSION_IN_PATHS else url).rstrip("/")
        return self._endpoint

    def microversion(self) -> str | None:
        """The newest version that the service, our types and the configuration agree on."""
        if self.MAX_MICROVERSION is None:
            return None
        if self._negotiated is None:
            wanted = _version(self.MAX_MICROVERSION)
            option = self.MAX_MICROVERSION_OPTION
            if option is not None and cfg.CONF[option]:
                wanted = min(wanted, _version(str(cfg.CONF[option])))
            newest = self.microversion_range()[1]
            # One without versions of this kind does not understand any.
            self._negotiated = "{}.{}".format(*min(wanted, newest)) if newest != _pair(None) else ""
        return self._negotiated or None

    def microversion_range(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The oldest and the newest microversion of the service."""
        if self._range is None:
            # Each resource of a stack has a context of its own, with a session that discovers everything anew.
            found = shared(("versions", self.NAME, self.endpoint()), self._discovered_range, VERSIONS_ARE_GOOD)
            self._range = found or (_pair(None), _pair(None))
        return self._range

    def _discovered_range(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        data = self.api.adapter.get_endpoint_data()
        if not data or not data.max_microversion:
            return None
        return _pair(data.min_microversion), _pair(data.max_microversion)

    def supports(self, microversion: str) -> bool:
        low, high = self.microversion_range()
        return low <= _version(microversion) <= high

    # --- errors

    @property
    def exceptions_module(self) -> Any:  # type: ignore[override]
        from keystoneauth1 import exceptions as errors

        return [rest_errors, errors]

    def is_client_exception(self, ex: BaseException) -> bool:
        return isinstance(ex, rest_errors.RestError) or super().is_client_exception(ex)

    def is_not_found(self, ex: BaseException) -> bool:
        return status_of(ex) == 404

    def is_conflict(self, ex: BaseException) -> bool:
        return status_of(ex) == 409

    def is_over_limit(self, ex: BaseException) -> bool:
        return status_of(ex) in (413, 429)

    def is_bad_request(self, ex: BaseException) -> bool:
        return status_of(ex) == 400

    def is_forbidden(self, ex: BaseException) -> bool:
        return status_of(ex) == 403

    def is_unprocessable_entity(self, ex: BaseException) -> bool:
        return status_of(ex) == 422

    # --- finders

    def _scope(self) -> tuple[str, ...]:
        """What answers to this context are apart by."""
        context = self.context
        parts = (self.NAME, context.auth_url, self._get_region_name(), context.project_id)
        return tuple(str(part or "") for part in parts)

    def find(
        self,
        path: str,
        key: str,
        value: str,
        *,
        keys: str | None = None,
        name_field: str = "name",
        params: Mapping[str, Any] | None = None,
        entity: str | None = None,
        microversion: str | None = None,
    ) -> str:
        """The id of the one object that has *value* for its id or its name."""
        where = "|".join([*self._scope(), path, name_field, repr(sorted((params or {}).items())), str(value)])

        def search() -> str:
            return self._find(path, key, keys or f"{key}s", str(value), name_field, params, entity, microversion)

        return MEMOIZE_FINDER.find(where, search)

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What *make* answers, asked once in an operation of a stack."""
        return once(self.context, (*self._scope(), key), make)

    def _find(
        self,
        path: str,
        key: str,
        keys: str,
        value: str,
        name_field: str,
        params: Mapping[str, Any] | None,
        entity: str | None,
        microversion: str | None,
    ) -> str:
        if not value:
            # Some services leave out a filter without a value, and answer with all.
            raise self._nothing_found(entity or key, value)
        like_id = uuidutils.is_uuid_like(value)
        if like_id and (found := self._id_if_there(path, key, value, microversion)):
            return found
        listed = self.api.list(path, keys, {**(params or {}), name_field: value}, microversion=microversion)
        # Some services do not know the filter and answer with all.
        ids = {str(one["id"]) for one in listed if one.get(name_field) == value}
        if len(ids) == 1:
            return ids.pop()
        if ids:
            raise self._ambiguous(entity or key, value)
        if not like_id and (found := self._id_if_there(path, key, value, microversion)):
            return found
        raise self._nothing_found(entity or key, value)

    def _id_if_there(self, path: str, key: str, value: str, microversion: str | None) -> str | None:
        try:
            found = self.api.show(f"{path}/{quote(value, safe='')}", key, microversion=microversion)
        except Exception as error:
            # Some services call what cannot be an id a bad request.
            if self.is_not_found(error) or self.is_bad_request(error):
                return None
            raise
        return str(found["id"])

    def _nothing_found(self, entity: str, value: str) -> Exception:
        return exceptions.EntityNotFound(entity=entity, name=value)

    def _ambiguous(self, entity: str, value: str) -> Exception:
        return exceptions.PhysicalResourceNameAmbiguity(name=value)

    # --- objects in progress

    def observe(
        self,
        path: str,
        list_path: str,
        key: str,
        keys: str,
        id: str,
        *,
        microversion: str | None = None,
        leaving: bool = False,
    ) -> dict[str, Any]:
        """The present state of an object that changes; not found is an error as it would be of ``show``.

        *leaving*: its deletion was asked for, so that it need not be looked for when it is in no list.

        Who polls inside :func:`.patience.may_pause` may be told to come back by :class:`.patience.ComeBack`.
        """
        if not list_path:
            return self.api.show(path, key, microversion=microversion)
        group = polling.group((*self._scope(), str(self.context.user_id or ""), self.endpoint(), list_path))
        return group.observe(
            id,
            lambda: self.api.show(path, key, microversion=microversion),
            lambda ids: self.list_observed(list_path, keys, ids, microversion),
            lambda: rest_errors.not_found(self.NAME, key, id),
            everything=not self.LISTS_BY_ID,
            leaving=leaving,
        )

    def list_observed(self, list_path: str, keys: str, ids: list[str], microversion: str | None) -> polling.Listed:
        """These objects, or these and others, by their ids."""
        found: dict[str, dict[str, Any]] = {}
        for params in self._list_filters(ids):
            listed = self.api.list(list_path, keys, params, microversion=microversion)
            found.update((str(one["id"]), one) for one in listed)
        return polling.Listed(found, complete=self.LISTS_ALL)

    def _list_filters(self, ids: list[str]) -> list[dict[str, Any]]:
        """The queries of lists that have these objects."""
        if not self.LISTS_BY_ID:
            return [{}]
        # Longer lines are refused by some servers in between.
        return [{"id": ids[start : start + 50]} for start in range(0, len(ids), 50)]


class MicroversionedPlugin(MicroversionMixin, RestClientPlugin):
    """A service whose own client, for plugins of others, is made for a microversion."""

    def is_version_supported(self, version: str) -> bool:
        return _version(version) <= _version(self.get_max_microversion())


def _version(text: str) -> tuple[int, int]:
    major, _dot, minor = text.partition(".")
    return int(major), int(minor or 0)


def _pair(version: Any) -> tuple[int, int]:
    return (int(version[0]), int(version[1])) if version else (0, 0)
