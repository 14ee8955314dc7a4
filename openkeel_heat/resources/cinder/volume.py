# SPDX-License-Identifier: Apache-2.0
"""OS::Cinder::Volume and OS::Cinder::VolumeAttachment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_serialization import jsonutils
from oslo_utils import strutils

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.cinder import any_volume, volume_schema as schema
from openkeel_heat.resources.cinder.volume_update import VolumeUpdate
from openkeel_heat.resources.kit import constraints, snapshots, translation
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.kit.scheduler_hints import SchedulerHintsMixin
from openkeel_heat.resources.kit.work import Work

#: Where the request has the hints: beside the volume.
_HINTS = "OS-SCH-HNT:scheduler_hints"


class CinderVolume(any_volume.BaseVolume, SchedulerHintsMixin):
    """A volume of block storage, empty or with the contents of an image, a snapshot, a backup or another volume."""

    PROPERTIES = schema.PROPERTIES

    AVAILABILITY_ZONE = schema.AVAILABILITY_ZONE
    SIZE = schema.SIZE
    SNAPSHOT_ID = schema.SNAPSHOT_ID
    BACKUP_ID = schema.BACKUP_ID
    NAME = schema.NAME
    DESCRIPTION = schema.DESCRIPTION
    VOLUME_TYPE = schema.VOLUME_TYPE
    METADATA = schema.METADATA
    IMAGE_REF = schema.IMAGE_REF
    IMAGE = schema.IMAGE
    SOURCE_VOLID = schema.SOURCE_VOLID
    CINDER_SCHEDULER_HINTS = schema.SCHEDULER_HINTS
    READ_ONLY = schema.READ_ONLY
    MULTI_ATTACH = schema.MULTI_ATTACH

    properties_schema = schema.PROPERTIES_SCHEMA
    attributes_schema = schema.ATTRIBUTES_SCHEMA

    entity = "volumes"

    api_object = ApiObject(
        "/volumes",
        "volume",
        status="status",
        ready=("available",),
        busy=("creating", "restoring-backup", "downloading"),
        failed=("error",),
        list_path="/volumes/detail",
    )

    repeatable_update = True

    def translation_rules(self, props: Properties) -> list[translation.TranslationRule]:
        return [
            translation.TranslationRule(
                props, translation.TranslationRule.REPLACE, [self.IMAGE], value_path=[self.IMAGE_REF]
            )
        ]

    # validation
    def validate(self) -> Any:
        super().validate()
        props = self.properties
        if props.get(self.IMAGE) and props.get(self.IMAGE_REF):
            raise exception.ResourcePropertyConflict(self.IMAGE, self.IMAGE_REF)
        if not props.get(self.BACKUP_ID):
            self._validate_sources(props.get(self.SIZE))

    def _validate_sources(self, size: int | None) -> None:
        """A volume begins with one thing, and only some of these say how large it has to be."""
        sources = [
            name
            for name in (self.SNAPSHOT_ID, self.SOURCE_VOLID, self.IMAGE, self.IMAGE_REF)
            if self.properties.get(name)
        ]
        words = {
            "backup_id": self.BACKUP_ID,
            "size": self.SIZE,
            "image": self.IMAGE,
            "image_ref": self.IMAGE_REF,
            "source_vol": self.SOURCE_VOLID,
            "snapshot_id": self.SNAPSHOT_ID,
            "exclusive_options": sources,
        }
        if size is None:
            if len(sources) == 1 and sources[0] in (self.SNAPSHOT_ID, self.SOURCE_VOLID):
                return
            text = _(
                'If neither "%(backup_id)s" nor "%(size)s" is provided, one and only one of "%(source_vol)s", '
                '"%(snapshot_id)s" must be specified, but currently specified options: %(exclusive_options)s.'
            )
        elif len(sources) > 1:
            text = _(
                'If "%(size)s" is provided, only one of "%(image)s", "%(image_ref)s", "%(source_vol)s", '
                '"%(snapshot_id)s" can be specified, but currently specified options: %(exclusive_options)s.'
            )
        else:
            return
        raise exception.StackValidationFailed(message=text % words)

    # create
    def _name(self) -> str | None:
        return self.properties[self.NAME] or super()._name()

    def _description(self) -> str | None:
        return self.properties[self.DESCRIPTION]

    def _create_arguments(self) -> dict[str, Any]:
        props = self.properties
        arguments: dict[str, Any] = {
            "size": props[self.SIZE],
            "availability_zone": props[self.AVAILABILITY_ZONE] or None,
            _HINTS: self._scheduler_hints(props[self.CINDER_SCHEDULER_HINTS]) or None,
        }
        for name in (self.SNAPSHOT_ID, self.VOLUME_TYPE, self.SOURCE_VOLID, self.METADATA):
            arguments[name] = props[name]
        if props[self.IMAGE]:
            arguments["imageRef"] = self.client_plugin("glance").find_image_by_name_or_id(props[self.IMAGE])
        elif props[self.IMAGE_REF]:
            arguments["imageRef"] = props[self.IMAGE_REF]
        return arguments

    def _envelope(self, body: Any) -> Any:
        volume = {field: value for field, value in body.items() if field != _HINTS}
        return {"volume": volume, **({_HINTS: body[_HINTS]} if _HINTS in body else {})}

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        # Cinder changes the access mode of available volumes only.
        self._store_config_default_properties(self.shown_recently())
        self._update_read_only(self.properties[self.READ_ONLY])
        return True

    def _store_config_default_properties(self, attributes: Mapping[str, Any] | None = None) -> None:
        """Keep the type that the service chose where the template names none, to see later whether it changed."""
        shown = self._show_resource() if attributes is None else attributes
        volume_type = shown.get("volume_type")
        if volume_type is None:
            self.data_delete(self.VOLUME_TYPE)
        elif self.data().get(self.VOLUME_TYPE) != volume_type:
            self.data_set(self.VOLUME_TYPE, volume_type)

    def _update_read_only(self, read_only_flag: bool | None) -> None:
        if read_only_flag is not None:
            body = {"os-update_readonly_flag": {"readonly": read_only_flag}}
            self.api.post(self.object_path() + "/action", json=body)

    # attributes
    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        volume = self.shown_recently()
        if name == "metadata":
            return jsonutils.dumps(volume["metadata"])
        if name == schema.METADATA_VALUES:
            return volume["metadata"]
        if name == schema.DISPLAY_NAME:
            return volume["name"]
        if name == schema.DISPLAY_DESCRIPTION:
            return volume["description"]
        if name == schema.ATTACHMENTS_LIST:
            return volume["attachments"]
        return str(volume[name])

    # update
    def needs_replace_failed(self) -> bool:
        if not self.resource_id:
            return True
        with self.client_plugin().ignore_not_found:
            return self._show_resource()["status"] in ("error", "deleting")
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Work:
        self._seen = None
        return VolumeUpdate(self, prop_diff).work()

    def check_update_complete(self, work: Work) -> bool:
        return work.go_on()

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        live: dict[str, Any] = {}
        metadata = dict(resource_data.get(self.METADATA) or {})
        # Cinder shows two of its own among those of the user.
        metadata.pop("attached_mode", None)
        read_only = strutils.bool_from_string(metadata.pop("readonly", None))
        if read_only or resource_properties.get(self.READ_ONLY) is not None:
            live[self.READ_ONLY] = read_only
        volume_type = resource_data.get(self.VOLUME_TYPE)
        if self.data().get(self.VOLUME_TYPE) != volume_type:
            live[self.VOLUME_TYPE] = volume_type
            self._store_config_default_properties({"volume_type": volume_type})
        # Nobody can tell which backup was restored last: to take that for a change would restore it each time.
        live[self.DESCRIPTION] = resource_data.get(self.DESCRIPTION)
        live[self.METADATA] = metadata
        for name in (self.NAME, self.SIZE):
            if resource_properties.get(name) is not None:
                live[name] = resource_data.get(name)
        return live

    # snapshot and restore
    def handle_snapshot(self) -> str:
        return snapshots.made_once(self, "backup_id", lambda: self._create_backup(force=True))

    def check_snapshot_complete(self, backup_id: str) -> bool:
        backup = self.client_plugin().observed_backup(backup_id)
        if backup["status"] == "creating":
            return False
        if backup["status"] != "available":
            raise exception.Error(backup["fail_reason"])
        return True

    def handle_delete_snapshot(self, snapshot: Mapping[str, Any]) -> str | None:
        backup_id: str | None = (snapshot["resource_data"] or {}).get("backup_id")
        if backup_id:
            with self.client_plugin().ignore_not_found:
                self.api.delete("/backups/%s" % backup_id)
                return backup_id
        return None

    def check_delete_snapshot_complete(self, backup_id: str | None) -> bool:
        if backup_id:
            with self.client_plugin().ignore_not_found:
                self.client_plugin().observed_backup(backup_id, leaving=True)
                return False
        return True

    def handle_restore(self, defn: Any, restore_data: Mapping[str, Any]) -> Any:
        """The definition that has the backup of the snapshot restored; the size is that of the snapshot."""
        dropped = (self.IMAGE_REF, self.IMAGE, self.SOURCE_VOLID)
        props = {
            name: value for name, value in self.properties.data.items() if name not in dropped and value is not None
        }
        props[self.BACKUP_ID] = restore_data["resource_data"]["backup_id"]
        return defn.freeze(properties=props)


class CinderVolumeAttachment(any_volume.BaseVolumeAttachment):
    """A volume given to a server."""

    PROPERTIES = (INSTANCE_ID, VOLUME_ID, DEVICE) = ("instance_uuid", "volume_id", "mountpoint")

    properties_schema = {
        INSTANCE_ID: Schema(Schema.STRING, _("Id of the server."), required=True, update_allowed=True),
        VOLUME_ID: Schema(
            Schema.STRING,
            _("Id of the volume."),
            required=True,
            update_allowed=True,
            constraints=[constraints.CustomConstraint("cinder.volume")],
        ),
        DEVICE: Schema(
            Schema.STRING,
            _("Device of the server. Not every hypervisor obeys it; /dev/disk/by-id/virtio-<VolumeId> is sure."),
            update_allowed=True,
        ),
    }

    repeatable_update = True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Work:
        if not prop_diff:
            return Work()
        server_id, volume_id, device = self._place()
        steps = any_volume.detaching(self, server_id, volume_id, str(self.resource_id))
        steps += any_volume.attaching(
            self,
            prop_diff.get(self.INSTANCE_ID) or server_id,
            prop_diff.get(self.VOLUME_ID) or volume_id,
            prop_diff.get(self.DEVICE) or None if self.DEVICE in prop_diff else device,
            attached=self.resource_id_set,
            again=True,
        )
        return Work(*steps)

    def check_update_complete(self, work: Work) -> bool:
        return work.go_on()


def resource_mapping() -> dict[str, type[Resource]]:
    return {
        "OS::Cinder::Volume": CinderVolume,
        "OS::Cinder::VolumeAttachment": CinderVolumeAttachment,
    }
