# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("cinder")``: volumes, snapshots, backups and types, and how far attaching and detaching have come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from openkeel_heat.clients import polling
from openkeel_heat.clients.answer import Answer
from openkeel_heat.clients.constants import MEMOIZE_EXTENSIONS, ExtensionMixin
from openkeel_heat.clients.rest import below
from openkeel_heat.clients.rest_errors import InvalidResponse, RestError
from openkeel_heat.clients.service import MicroversionedPlugin
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

#: States of a volume that is on its way to a server, and from one.
ATTACHING = ("available", "attaching", "reserved")
DETACHING = ("in-use", "detaching", "reserved")


class NotFound(RestError):
    """Nothing of that name or id, as cinderclient says it."""


class CinderClientPlugin(ExtensionMixin, MicroversionedPlugin):
    NAME = "cinder"
    MAX_MICROVERSION = "3.71"
    MAX_MICROVERSION_OPTION = "max_cinder_api_microversion"

    service_types = [VOLUME_V3] = ["volumev3"]

    CINDER_API_VERSION = "3"

    # --- versions

    def get_volume_api_version(self) -> None:
        """Raises where there is no volume service. That there is only one version, callers know."""
        from keystoneauth1 import exceptions as errors

        try:
            self.endpoint()
        except errors.EndpointNotFound:
            raise exceptions.Error(_("No volume service available.")) from None

    def get_max_microversion(self) -> str:
        self.get_volume_api_version()
        return self.microversion() or self.CINDER_API_VERSION

    def _create(self, version: str | None = None) -> Any:
        from cinderclient import client

        self.get_volume_api_version()
        return client.Client(
            version or self.CINDER_API_VERSION,
            session=self.context.keystone_session,
            extensions=client.discover_extensions(self.CINDER_API_VERSION),
            interface=self._get_client_option(self.NAME, "endpoint_type"),
            service_type=self.VOLUME_V3,
            region_name=self._get_region_name(),
            connect_retries=cfg.CONF.client_retry_limit,
            http_log_debug=self._get_client_option(self.NAME, "http_log_debug"),
        )

    def _list_extensions(self) -> list[str]:
        found: list[str] = MEMOIZE_EXTENSIONS.get_or_create(
            "|".join(["cinder", self.context.auth_url or "", self._get_region_name() or ""]),
            lambda: [one["alias"] for one in self.api.list("/extensions", "extensions")],
        )
        return found

    # --- objects by their ids

    def _get(self, path: str, key: str, entity: str, id_: str) -> Answer:
        try:
            return Answer(self.api.show(below(path, id_), key))
        except Exception as error:
            if self.is_not_found(error):
                raise exceptions.EntityNotFound(entity=entity, name=id_) from error
            raise

    def get_volume(self, volume: str) -> Answer:
        return self._get("/volumes", "volume", "Volume", volume)

    def get_volume_snapshot(self, snapshot: str) -> Answer:
        return self._get("/snapshots", "snapshot", "VolumeSnapshot", snapshot)

    def get_volume_backup(self, backup: str) -> Answer:
        return self._get("/backups", "backup", "Volume backup", backup)

    # --- finders

    def get_volume_type(self, volume_type: str) -> str:
        """The id of a type by its name or id."""
        for one in self.api.list("/types", "volume_types", {"is_public": "None"}):
            if volume_type in (one["name"], one["id"]):
                return str(one["id"])
        raise exceptions.EntityNotFound(entity="VolumeType", name=volume_type)

    def get_qos_specs(self, qos_specs: str) -> str:
        """The id of QoS specs by their name or id."""
        listed = self.api.list("/qos-specs", "qos_specs")
        for field in ("id", "name"):
            for one in listed:
                if one[field] == qos_specs:
                    return str(one["id"])
        raise NotFound("No QoSSpecs matching %s." % {"name": qos_specs}, status=404, service=self.NAME)

    # --- objects in progress

    def observed_volume(self, id_: str) -> dict[str, Any]:
        return self.observe(below("/volumes", id_), "/volumes/detail", "volume", "volumes", id_)

    def observed_backup(self, id_: str, leaving: bool = False) -> dict[str, Any]:
        return self.observe(below("/backups", id_), "/backups/detail", "backup", "backups", id_, leaving=leaving)

    def list_observed(self, list_path: str, keys: str, ids: list[str], microversion: str | None) -> polling.Listed:
        """One page of those that changed last: what is in progress is among them, however many a project has."""
        limit = max(2 * len(ids), 50)
        body = self.api.get(list_path, params={"sort": "updated_at:desc", "limit": limit}, microversion=microversion)
        if not isinstance(body, Mapping) or not isinstance(body.get(keys), list):
            raise InvalidResponse(f"{self.NAME} answered GET {list_path} without {keys}")
        listed = {str(one["id"]): one for one in body[keys]}
        # Cinder may have a smaller limit of its own: then it names the next page.
        return polling.Listed(listed, complete=len(listed) < limit and not body.get(f"{keys}_links"))

    def check_attach_volume_complete(self, vol_id: str) -> bool:
        status = self.observed_volume(vol_id)["status"]
        if status in ATTACHING:
            return False
        if status != "in-use":
            raise exceptions.ResourceUnknownStatus(resource_status=status, result=_("Volume attachment failed"))
        return True

    def check_detach_volume_complete(self, vol_id: str, server_id: str | None = None) -> bool:
        try:
            volume = self.observed_volume(vol_id)
        except Exception as error:
            self.ignore_not_found(error)
            return True
        servers = [one["server_id"] for one in volume["attachments"] if "server_id" in one]
        if server_id and server_id not in servers:
            return True
        status = volume["status"]
        if status in DETACHING:
            return False
        if status not in ("available", "deleting"):
            raise exceptions.ResourceUnknownStatus(resource_status=status, result=_("Volume detachment failed"))
        return True
