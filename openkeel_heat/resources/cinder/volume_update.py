# SPDX-License-Identifier: Apache-2.0
"""Changing a volume in place.

Name, description, metadata and type are changed where the volume is. To restore a backup into it, to change its access
mode, and to extend it where Cinder is too old to do so in use, it is taken from its servers and given back afterwards.
Where to is kept with the resource meanwhile, so that neither a failure nor the death of an engine leaves it unattached:
whatever update comes next gives it back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oslo_serialization import jsonutils

from openkeel_heat.clients import patience, polling
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.cinder import any_volume, volume_schema as schema
from openkeel_heat.resources.kit.work import Step, Work

if TYPE_CHECKING:
    from openkeel_heat.resources.cinder.volume import CinderVolume

# The first version that extends a volume while a server has it.
EXTEND_IN_USE = "3.42"

# Resource data: the servers, with devices, that wait for the volume.
ATTACH_AGAIN = "attach_again"


class VolumeUpdate:
    """One update of one volume."""

    def __init__(self, resource: CinderVolume, prop_diff: dict[str, Any]) -> None:
        self._resource = resource
        self._diff = prop_diff
        self._plugin = resource.client_plugin()
        self._id = str(resource.resource_id)

    def work(self) -> Work:
        self._work = Work(self._plan)
        return self._work

    # requests ---------------------------------------------------------
    def _action(self, name: str, **arguments: Any) -> None:
        self._plugin.api.post("/volumes/%s/action" % self._id, json={name: arguments})

    def _shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = self._plugin.api.show("/volumes/%s" % self._id, "volume")
        return shown

    @contextlib.contextmanager
    def _said(self, text: str, **words: Any) -> Iterator[None]:
        """What the service refuses in here is told with these words."""
        try:
            yield
        except Exception as ex:
            if not self._plugin.is_client_exception(ex) or patience.asked_pause(ex) is not None:
                raise
            raise exception.Error(text % {**words, "vol": self._id, "err": ex}) from ex

    # what is to be done -----------------------------------------------
    def _plan(self) -> None:
        diff = self._diff
        volume = self._shown()
        size = diff.get(schema.SIZE)
        if size is not None and size < volume["size"]:
            raise exception.NotSupported(feature=_("Shrinking volume"))
        grows = size is not None and size > volume["size"]
        restores = diff.get(schema.BACKUP_ID) is not None
        away = schema.READ_ONLY in diff or restores or (grows and not self._extends_in_use())
        steps: list[Step] = []
        if schema.NAME in diff or schema.DESCRIPTION in diff:
            steps.append(self._rename)
        if schema.METADATA in diff:
            steps.append(self._set_metadata)
        if diff.get(schema.VOLUME_TYPE) is not None:
            steps += [self._retype, self._is_retyped]
        if away and volume["attachments"]:
            steps += self._taking_away(volume["attachments"])
        if restores:
            steps += [self._restore, self._is_restored]
        if grows:
            steps += [self._ready_to_extend, self._extend, self._is_extended]
        if schema.READ_ONLY in diff:
            steps.append(lambda: self._resource._update_read_only(bool(diff[schema.READ_ONLY])))
        self._work.then(*steps, self._give_back)

    def _rename(self) -> None:
        after = {**self._resource.properties, **self._diff}
        names = {
            "name": after[schema.NAME] or self._resource.physical_resource_name(),
            "description": after[schema.DESCRIPTION],
        }
        self._plugin.api.put("/volumes/%s" % self._id, json={"volume": names})

    def _set_metadata(self) -> None:
        self._plugin.api.put("/volumes/%s/metadata" % self._id, json={"metadata": self._diff[schema.METADATA]})

    # type -------------------------------------------------------------
    def _retype(self) -> None:
        wanted = self._diff[schema.VOLUME_TYPE]
        # Cinder refuses to make a volume what it is, which happens when an update is repeated.
        if not self._is_of_type(self._shown(), wanted):
            self._action("os-retype", new_type=wanted, migration_policy="never")

    def _is_of_type(self, volume: dict[str, Any], wanted: str) -> bool:
        known = (volume["volume_type"], volume.get("volume_type_id"))
        # Before 3.63 volumes told the name only.
        return wanted in known or (known[1] is None and self._plugin.get_volume_type(wanted) == self._type_id(known[0]))

    def _type_id(self, name: str | None) -> str | None:
        with self._plugin.ignore_not_found:
            return str(self._plugin.get_volume_type(name))
        return None

    def _is_retyped(self) -> bool:
        volume = self._plugin.observed_volume(self._id)
        if volume["status"] == "retyping":
            return False
        if not self._is_of_type(volume, self._diff[schema.VOLUME_TYPE]):
            # Cinder gives up silently: the volume is as it was before.
            raise exception.ResourceUnknownStatus(resource_status=volume["status"], result=_("Volume retype failed"))
        self._resource._store_config_default_properties(volume)
        return True

    # away from servers and back ---------------------------------------
    def _taking_away(self, attachments: list[dict[str, Any]]) -> list[Step]:
        steps: list[Step] = [lambda: self._remember(attachments)]
        for one in attachments:
            steps += any_volume.detaching(self._resource, one["server_id"], self._id, one["id"])
        return steps

    def _remember(self, attachments: list[dict[str, Any]]) -> None:
        places = [(one["server_id"], one["device"]) for one in attachments]
        waiting = [place for place in self._waiting() if place not in places]
        self._resource.data_set(ATTACH_AGAIN, jsonutils.dumps(waiting + places))

    def _waiting(self) -> list[tuple[str, str]]:
        return [tuple(place) for place in jsonutils.loads(self._resource.data().get(ATTACH_AGAIN) or "[]")]

    def _give_back(self) -> None:
        steps: list[Step] = []
        for server_id, device in self._waiting():
            steps += any_volume.attaching(self._resource, server_id, self._id, device, again=True)
        if steps:
            self._work.then(*steps, lambda: self._resource.data_delete(ATTACH_AGAIN))

    # backup -----------------------------------------------------------
    def _restore(self) -> None:
        backup_id = self._diff[schema.BACKUP_ID]
        with self._said(_("Failed to restore volume %(vol)s from backup %(backup)s - %(err)s"), backup=backup_id):
            body = {"restore": {"volume_id": self._id, "name": None}}
            self._plugin.api.post("/backups/%s/restore" % backup_id, json=body)
        polling.changed(self._id)

    def _is_restored(self) -> bool:
        status = self._plugin.observed_volume(self._id)["status"]
        if status == "restoring-backup":
            return False
        if status != "available":
            raise exception.ResourceUnknownStatus(resource_status=status, result=_("Volume backup restore failed"))
        return True

    # size -------------------------------------------------------------
    def _extends_in_use(self) -> bool:
        return bool(self._plugin.is_version_supported(EXTEND_IN_USE))

    def _still(self) -> tuple[str, ...]:
        """States of a volume that can be extended."""
        return ("available", "in-use") if self._extends_in_use() else ("available",)

    def _ready_to_extend(self) -> bool:
        return self._plugin.observed_volume(self._id)["status"] in self._still()

    def _extend(self) -> None:
        with self._said(_("Failed to extend volume %(vol)s - %(err)s")):
            self._action("os-extend", new_size=self._diff[schema.SIZE])

    def _is_extended(self) -> bool:
        volume = self._plugin.observed_volume(self._id)
        status = volume["status"]
        if status == "extending":
            return False
        # When no back end has room for it, the volume is as it was before.
        if status not in self._still() or volume["size"] < self._diff[schema.SIZE]:
            raise exception.ResourceUnknownStatus(resource_status=status, result=_("Volume resize failed"))
        return True
