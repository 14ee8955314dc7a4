# SPDX-License-Identifier: Apache-2.0
"""Disks of a server: ``block_device_mapping`` and ``block_device_mapping_v2``, checked and as the API takes them.

The first form names volumes and snapshots only. In the second an entry has one source (a volume, a snapshot, an image,
swap space or an ephemeral disk) and may say where in the server the disk appears.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support

BLOCK_DEVICE_MAPPING, BLOCK_DEVICE_MAPPING_V2 = "block_device_mapping", "block_device_mapping_v2"

DEVICE_NAME, VOLUME_ID, SNAPSHOT_ID = "device_name", "volume_id", "snapshot_id"
VOLUME_SIZE, DELETE_ON_TERM = "volume_size", "delete_on_termination"
IMAGE_ID, IMAGE, SWAP_SIZE = "image_id", "image", "swap_size"
DEVICE_TYPE, DISK_BUS, BOOT_INDEX = "device_type", "disk_bus", "boot_index"
EPHEMERAL_SIZE, EPHEMERAL_FORMAT, VOLUME_TYPE = "ephemeral_size", "ephemeral_format", "volume_type"

Schema = properties.Schema

_volume_id = Schema(
    Schema.STRING, _("The volume that is the disk."), constraints=[constraints.CustomConstraint("cinder.volume")]
)
_snapshot_id = Schema(
    Schema.STRING,
    _("The snapshot that a volume is made of."),
    constraints=[constraints.CustomConstraint("cinder.snapshot")],
)

mapping_schema = Schema(
    Schema.LIST,
    _("Volumes of the server. block_device_mapping_v2 can say more."),
    schema=Schema(
        Schema.MAP,
        schema={
            DEVICE_NAME: Schema(
                Schema.STRING,
                _("Name of the device in the server, without /dev/; that of the first disk is normally vda."),
                required=True,
            ),
            VOLUME_ID: _volume_id,
            SNAPSHOT_ID: _snapshot_id,
            VOLUME_SIZE: Schema(
                Schema.INTEGER,
                _("Size of the volume in GB; if not given, that of what it is made of."),
            ),
            DELETE_ON_TERM: Schema(
                Schema.BOOLEAN,
                _("Whether the volume is deleted with the server."),
            ),
        },
    ),
)

mapping_v2_schema = Schema(
    Schema.LIST,
    _("Disks of the server, each from one source."),
    support_status=support.SupportStatus(version="2015.1"),
    schema=Schema(
        Schema.MAP,
        schema={
            DEVICE_NAME: Schema(
                Schema.STRING,
                _("Name of the device in the server, without /dev/."),
            ),
            VOLUME_ID: _volume_id,
            IMAGE_ID: Schema(
                Schema.STRING,
                _("The image that a volume is made of."),
                support_status=support.SupportStatus(
                    status=support.HIDDEN,
                    version="9.0.0",
                    message=_("Use property image."),
                    previous_status=support.SupportStatus(
                        status=support.DEPRECATED,
                        version="7.0.0",
                        previous_status=support.SupportStatus(version="5.0.0"),
                    ),
                ),
                constraints=[constraints.CustomConstraint("glance.image")],
            ),
            IMAGE: Schema(
                Schema.STRING,
                _("Name or ID of the image that a volume is made of."),
                support_status=support.SupportStatus(version="7.0.0"),
                constraints=[constraints.CustomConstraint("glance.image")],
            ),
            SNAPSHOT_ID: _snapshot_id,
            SWAP_SIZE: Schema(
                Schema.INTEGER,
                _("Size of the swap space in MB."),
            ),
            EPHEMERAL_SIZE: Schema(
                Schema.INTEGER,
                _("Size of the ephemeral disk in GB."),
                support_status=support.SupportStatus(version="8.0.0"),
                constraints=[constraints.Range(min=1)],
            ),
            EPHEMERAL_FORMAT: Schema(
                Schema.STRING,
                _("File system of the ephemeral disk; if not given, the one that Nova is configured with."),
                support_status=support.SupportStatus(version="8.0.0"),
                constraints=[constraints.AllowedValues(["ext2", "ext3", "ext4", "xfs", "ntfs"])],
            ),
            DEVICE_TYPE: Schema(
                Schema.STRING,
                _("What the server sees the device as."),
                constraints=[constraints.AllowedValues(["cdrom", "disk"])],
            ),
            DISK_BUS: Schema(
                Schema.STRING,
                _("Bus that the device is on; if not given, the hypervisor's choice."),
                constraints=[constraints.AllowedValues(["ide", "lame_bus", "sata", "scsi", "usb", "virtio"])],
            ),
            BOOT_INDEX: Schema(
                Schema.INTEGER,
                _(
                    "Place in the order in which disks are tried for booting. If not given, it is 0 for a volume, a "
                    "snapshot or an image, and -1 (never) for others."
                ),
            ),
            VOLUME_SIZE: Schema(
                Schema.INTEGER,
                _("Size of the disk in GB; if not given, that of what it is made of."),
            ),
            DELETE_ON_TERM: Schema(
                Schema.BOOLEAN,
                _(
                    "Whether the disk is deleted with the server; if not given, swap space and ephemeral disks are, "
                    "others are not."
                ),
            ),
            VOLUME_TYPE: Schema(
                Schema.STRING,
                _("Type of the volume that is made. Needs version 2.67 of the compute API."),
                support_status=support.SupportStatus(version="26.0.0"),
                constraints=[constraints.CustomConstraint("cinder.vtype")],
            ),
        },
    ),
)

Mappings = Iterable[Mapping[str, Any]]

#: Property with the source -> ``source_type`` of the API.
_VOLUME_SOURCES = {VOLUME_ID: "volume", SNAPSHOT_ID: "snapshot", IMAGE: "image"}

#: Fields that have the names of the properties.
_SAME = (DEVICE_TYPE, DISK_BUS, BOOT_INDEX, VOLUME_SIZE, DELETE_ON_TERM, VOLUME_TYPE)


# --- as the API takes them


def body(mappings: Mappings | None, mappings_v2: Mappings | None, image: str | None) -> dict[str, Any]:
    """The fields of a new server for its disks."""
    if mappings:
        return {BLOCK_DEVICE_MAPPING: [_device(mapping) for mapping in mappings]}
    if not mappings_v2:
        return {}
    devices = [_device_v2(mapping) for mapping in mappings_v2]
    if image:
        # An image and disks beside it: the API wants the first disk in the list, too.
        devices.insert(
            0,
            {
                "uuid": image,
                "source_type": "image",
                "destination_type": "local",
                BOOT_INDEX: 0,
                DELETE_ON_TERM: True,
            },
        )
    return {BLOCK_DEVICE_MAPPING_V2: devices}


def _device(mapping: Mapping[str, Any]) -> dict[str, Any]:
    source = SNAPSHOT_ID if mapping.get(SNAPSHOT_ID) else VOLUME_ID
    found = {DEVICE_NAME: mapping[DEVICE_NAME], source: mapping.get(source)}
    if mapping.get(VOLUME_SIZE):
        found[VOLUME_SIZE] = str(mapping[VOLUME_SIZE])
    if mapping.get(DELETE_ON_TERM):
        found[DELETE_ON_TERM] = True
    return found


def _device_v2(mapping: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any]
    source = next((name for name in _VOLUME_SOURCES if mapping.get(name)), None)
    if source is not None:
        found = {
            "uuid": mapping[source],
            "source_type": _VOLUME_SOURCES[source],
            "destination_type": "volume",
            BOOT_INDEX: 0,
            DELETE_ON_TERM: False,
        }
    else:
        found = {"source_type": "blank", "destination_type": "local", BOOT_INDEX: -1, DELETE_ON_TERM: True}
        size, kind = mapping.get(EPHEMERAL_SIZE), mapping.get(EPHEMERAL_FORMAT)
        if mapping.get(SWAP_SIZE):
            size, kind = mapping[SWAP_SIZE], "swap"
        if size:
            found[VOLUME_SIZE] = size
        if kind:
            found["guest_format"] = kind
    if mapping.get(DEVICE_NAME):
        found[DEVICE_NAME] = mapping[DEVICE_NAME]
    found.update({name: mapping[name] for name in _SAME if mapping.get(name) is not None})
    return found


# --- checks


def validate(server: str, mappings: Mappings | None, mappings_v2: Mappings | None, image: str | None) -> None:
    """Raise for entries that contradict each other, and where there is not exactly one thing to boot from."""
    mappings, mappings_v2 = list(mappings or ()), list(mappings_v2 or ())
    if mappings and mappings_v2:
        raise exception.ResourcePropertyConflict(BLOCK_DEVICE_MAPPING, BLOCK_DEVICE_MAPPING_V2)
    bootable = image is not None
    for mapping in mappings:
        bootable |= mapping[DEVICE_NAME] == "vda"
        _validate_source(mapping)
    bootable_sources = [image]
    for mapping in mappings_v2:
        sources = _validate_source_v2(mapping)
        if sources and mapping.get(BOOT_INDEX) in (None, 0):
            bootable = True
            bootable_sources += sources
    if not bootable:
        raise exception.StackValidationFailed(
            message=_("Neither image nor bootable volume is specified for instance %s") % server
        )
    if mappings_v2 and sum(source is not None for source in bootable_sources) != 1:
        raise exception.StackValidationFailed(message=_("Multiple bootable sources for instance %s.") % server)


def _validate_source(mapping: Mapping[str, Any]) -> None:
    given = [name for name in (VOLUME_ID, SNAPSHOT_ID) if mapping.get(name) is not None]
    if len(given) > 1:
        raise exception.ResourcePropertyConflict(VOLUME_ID, SNAPSHOT_ID)
    if not given:
        raise exception.StackValidationFailed(
            message=_("Either volume_id or snapshot_id must be specified for device mapping %s") % mapping[DEVICE_NAME]
        )


def _validate_source_v2(mapping: Mapping[str, Any]) -> list[Any]:
    """The volume, snapshot or image of an entry; none for other disks."""
    volumes = [mapping[name] for name in (VOLUME_ID, SNAPSHOT_ID, IMAGE) if mapping.get(name) is not None]
    ephemeral = mapping.get(EPHEMERAL_SIZE) or mapping.get(EPHEMERAL_FORMAT)
    count = len(volumes) + (mapping.get(SWAP_SIZE) is not None) + (ephemeral is not None)
    if count > 1:
        raise exception.ResourcePropertyConflict(
            VOLUME_ID, SNAPSHOT_ID, IMAGE, SWAP_SIZE, EPHEMERAL_SIZE, EPHEMERAL_FORMAT
        )
    if count == 0:
        raise exception.StackValidationFailed(
            message=_(
                "Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must be "
                "specified."
            )
        )
    return volumes
