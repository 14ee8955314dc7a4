# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::Volume and AWS::EC2::VolumeAttachment. Nothing of them changes: an update with a change is refused."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import tags
from openkeel_heat.resources.cinder import any_volume
from openkeel_heat.resources.kit import constraints
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource


class Volume(any_volume.BaseVolume):
    """A volume, empty or with the contents of a backup."""

    PROPERTIES = (AVAILABILITY_ZONE, SIZE, BACKUP_ID, TAGS) = ("AvailabilityZone", "Size", "SnapshotId", "Tags")

    properties_schema = {
        AVAILABILITY_ZONE: Schema(
            Schema.STRING, _("Availability zone in which the volume is made."), required=True, immutable=True
        ),
        SIZE: Schema(Schema.INTEGER, _("Gigabytes."), immutable=True, constraints=[constraints.Range(min=1)]),
        BACKUP_ID: Schema(
            Schema.STRING,
            _("Backup that is restored into the volume."),
            immutable=True,
            constraints=[constraints.CustomConstraint("cinder.backup")],
        ),
        TAGS: tags.schema(_("Tags of the volume."), immutable=True),
    }

    def _create_arguments(self) -> dict[str, Any]:
        return {
            "size": self.properties[self.SIZE],
            "availability_zone": self.properties[self.AVAILABILITY_ZONE] or None,
            "metadata": tags.as_map(self.properties[self.TAGS] or None),
        }

    def _show_resource(self) -> None:
        """What there is of it is Cinder's, not EC2's."""

    def verify_presence(self) -> None:
        if self.resource_id is not None:
            self._volume()


class VolumeAttachment(any_volume.BaseVolumeAttachment):
    """A volume given to an instance."""

    PROPERTIES = (INSTANCE_ID, VOLUME_ID, DEVICE) = ("InstanceId", "VolumeId", "Device")

    properties_schema = {
        INSTANCE_ID: Schema(
            Schema.STRING,
            _("Reference to the instance."),
            immutable=True,
            required=True,
            constraints=[constraints.CustomConstraint("nova.server")],
        ),
        VOLUME_ID: Schema(
            Schema.STRING,
            _("Reference to the volume."),
            immutable=True,
            required=True,
            constraints=[constraints.CustomConstraint("cinder.volume")],
        ),
        DEVICE: Schema(
            Schema.STRING,
            _("Device of the instance. Not every hypervisor obeys it; /dev/disk/by-id/virtio-<VolumeId> is sure."),
            immutable=True,
            required=True,
            constraints=[constraints.AllowedPattern("/dev/vd[b-z]")],
        ),
    }


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::EC2::Volume": Volume, "AWS::EC2::VolumeAttachment": VolumeAttachment}
