# SPDX-License-Identifier: Apache-2.0
"""What an OS::Cinder::Volume takes and tells."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, support
from openkeel_heat.resources.kit.properties import Schema

PROPERTIES = (
    AVAILABILITY_ZONE,
    SIZE,
    SNAPSHOT_ID,
    BACKUP_ID,
    NAME,
    DESCRIPTION,
    VOLUME_TYPE,
    METADATA,
    IMAGE_REF,
    IMAGE,
    SOURCE_VOLID,
    SCHEDULER_HINTS,
    READ_ONLY,
    MULTI_ATTACH,
) = (
    "availability_zone",
    "size",
    "snapshot_id",
    "backup_id",
    "name",
    "description",
    "volume_type",
    "metadata",
    "imageRef",
    "image",
    "source_volid",
    "scheduler_hints",
    "read_only",
    "multiattach",
)

DISPLAY_NAME = "display_name"
DISPLAY_DESCRIPTION = "display_description"
METADATA_VALUES = "metadata_values"
ATTACHMENTS = "attachments"
ATTACHMENTS_LIST = "attachments_list"

_since = support.SupportStatus

PROPERTIES_SCHEMA = {
    AVAILABILITY_ZONE: Schema(Schema.STRING, _("Availability zone in which the volume is made.")),
    SIZE: Schema(
        Schema.INTEGER,
        _("Gigabytes; it can grow, not shrink. Needed unless backup_id, source_volid or snapshot_id is given."),
        update_allowed=True,
        constraints=[constraints.Range(min=1)],
    ),
    SNAPSHOT_ID: Schema(
        Schema.STRING,
        _("Snapshot whose contents the volume begins with."),
        constraints=[constraints.CustomConstraint("cinder.snapshot")],
    ),
    BACKUP_ID: Schema(
        Schema.STRING,
        _("Backup that is restored into the volume."),
        update_allowed=True,
        constraints=[constraints.CustomConstraint("cinder.backup")],
    ),
    NAME: Schema(Schema.STRING, _("Name of the volume."), update_allowed=True),
    DESCRIPTION: Schema(Schema.STRING, _("Description of the volume."), update_allowed=True),
    VOLUME_TYPE: Schema(
        Schema.STRING,
        _("Name or id of the volume type, which leads to the back end."),
        update_allowed=True,
        constraints=[constraints.CustomConstraint("cinder.vtype")],
    ),
    METADATA: Schema(Schema.MAP, _("Keys and values kept with the volume."), default={}, update_allowed=True),
    IMAGE_REF: Schema(
        Schema.STRING,
        _("Id of the image whose contents the volume begins with."),
        support_status=_since(
            status=support.HIDDEN,
            message=_("Use property %s.") % IMAGE,
            version="5.0.0",
            previous_status=_since(status=support.DEPRECATED, version="2014.1"),
        ),
    ),
    IMAGE: Schema(
        Schema.STRING,
        _("Name or id of the image whose contents the volume begins with."),
        constraints=[constraints.CustomConstraint("glance.image")],
    ),
    SOURCE_VOLID: Schema(
        Schema.STRING,
        _("Volume whose contents the volume begins with."),
        constraints=[constraints.CustomConstraint("cinder.volume")],
    ),
    SCHEDULER_HINTS: Schema(
        Schema.MAP, _("Hints to the scheduler that chooses the back end."), support_status=_since(version="2015.1")
    ),
    READ_ONLY: Schema(
        Schema.BOOLEAN,
        _("Whether the volume can only be read from."),
        update_allowed=True,
        support_status=_since(version="5.0.0"),
    ),
    MULTI_ATTACH: Schema(
        Schema.BOOLEAN,
        _("Whether several servers may have the volume; the volume type says so nowadays."),
        default=False,
        support_status=_since(status=support.HIDDEN, version="13.0.0", previous_status=_since(version="6.0.0")),
    ),
}


def _text(description: str) -> attributes.Schema:
    return attributes.Schema(description, type=attributes.Schema.STRING)


ATTRIBUTES_SCHEMA = {
    "availability_zone": _text(_("Availability zone that the volume is in.")),
    "size": _text(_("Gigabytes.")),
    "snapshot_id": _text(_("Snapshot that the volume was made of.")),
    DISPLAY_NAME: _text(_("Name of the volume.")),
    DISPLAY_DESCRIPTION: _text(_("Description of the volume.")),
    "volume_type": _text(_("Name of the volume type.")),
    "metadata": _text(_("Keys and values kept with the volume, as JSON.")),
    "source_volid": _text(_("Volume that the volume was made of.")),
    "status": attributes.Schema(
        _("State of the volume."), type=attributes.Schema.STRING, cache_mode=attributes.Schema.CACHE_NONE
    ),
    "created_at": _text(_("When the volume was made.")),
    "bootable": _text(_("Whether a server can boot from it.")),
    METADATA_VALUES: attributes.Schema(_("Keys and values kept with the volume."), type=attributes.Schema.MAP),
    "encrypted": _text(_("Whether the volume is encrypted.")),
    ATTACHMENTS: attributes.Schema(
        _("The attachments of the volume as a text."),
        type=attributes.Schema.STRING,
        cache_mode=attributes.Schema.CACHE_NONE,
        support_status=_since(
            status=support.DEPRECATED,
            message=_("Use attribute %s.") % ATTACHMENTS_LIST,
            version="9.0.0",
            previous_status=_since(version="2015.1"),
        ),
    ),
    ATTACHMENTS_LIST: attributes.Schema(
        _("The attachments of the volume."),
        type=attributes.Schema.LIST,
        cache_mode=attributes.Schema.CACHE_NONE,
        support_status=_since(version="9.0.0"),
    ),
    "multiattach": attributes.Schema(
        _("Whether several servers may have the volume."),
        type=attributes.Schema.BOOLEAN,
        support_status=_since(version="6.0.0"),
    ),
}
