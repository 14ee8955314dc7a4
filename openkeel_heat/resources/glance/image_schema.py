# SPDX-License-Identifier: Apache-2.0
"""What an OS::Glance::WebImage takes."""

from __future__ import annotations

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, support
from openkeel_heat.resources.kit.properties import Schema

PROPERTIES = (
    NAME,
    IMAGE_ID,
    MIN_DISK,
    MIN_RAM,
    PROTECTED,
    DISK_FORMAT,
    CONTAINER_FORMAT,
    LOCATION,
    TAGS,
    ARCHITECTURE,
    KERNEL_ID,
    OS_DISTRO,
    OS_VERSION,
    OWNER,
    EXTRA_PROPERTIES,
    VISIBILITY,
    RAMDISK_ID,
    ACTIVE,
    MEMBERS,
) = (
    "name",
    "id",
    "min_disk",
    "min_ram",
    "protected",
    "disk_format",
    "container_format",
    "location",
    "tags",
    "architecture",
    "kernel_id",
    "os_distro",
    "os_version",
    "owner",
    "extra_properties",
    "visibility",
    "ramdisk_id",
    "active",
    "members",
)

#: Fields that each image has; all others are its own and can be taken away.
OF_EVERY_IMAGE = frozenset(
    {
        NAME, IMAGE_ID, MIN_DISK, MIN_RAM, PROTECTED, DISK_FORMAT, CONTAINER_FORMAT, TAGS, OWNER, VISIBILITY,
        "status", "checksum", "size", "virtual_size", "created_at", "updated_at", "direct_url", "self", "file",
        "stores", "schema", "locations", "os_hidden", "os_hash_algo", "os_hash_value",
    }
)  # fmt: skip

_UUID = "^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$"


def _since(version: str) -> support.SupportStatus:
    return support.SupportStatus(version=version)


def _changeable(description: str) -> Schema:
    return Schema(Schema.STRING, description, update_allowed=True)


def _image(description: str) -> Schema:
    """The id of another image."""
    return Schema(Schema.STRING, description, update_allowed=True, constraints=[constraints.AllowedPattern(_UUID)])


PROPERTIES_SCHEMA = {
    NAME: Schema(Schema.STRING, _("Name of the image; several may have the same.")),
    IMAGE_ID: Schema(Schema.STRING, _("Id of the image; made up by the service unless given.")),
    MIN_DISK: Schema(
        Schema.INTEGER,
        _("Gigabytes of disk that a server needs to boot it; 0 is any."),
        constraints=[constraints.Range(min=0)],
        default=0,
    ),
    MIN_RAM: Schema(
        Schema.INTEGER,
        _("Megabytes of memory that a server needs to boot it; 0 is any."),
        constraints=[constraints.Range(min=0)],
        default=0,
    ),
    PROTECTED: Schema(
        Schema.BOOLEAN, _("Whether the service refuses to delete the image."), update_allowed=True, default=False
    ),
    DISK_FORMAT: Schema(
        Schema.STRING,
        _("Format of the disk in the image."),
        required=True,
        constraints=[
            constraints.AllowedValues(
                ["ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"]
            )
        ],
    ),
    CONTAINER_FORMAT: Schema(
        Schema.STRING,
        _("Format of what is around the disk."),
        required=True,
        constraints=[constraints.AllowedValues(["ami", "ari", "aki", "bare", "ovf", "ova", "docker"])],
    ),
    LOCATION: Schema(Schema.STRING, _("URL from which the service fetches the contents."), required=True),
    TAGS: Schema(Schema.LIST, _("Tags of the image."), update_allowed=True),
    ARCHITECTURE: _changeable(_("Processor architecture of the system in the image.")),
    KERNEL_ID: _image(_("Image of the kernel that boots an image of Amazon's kind.")),
    OS_DISTRO: _changeable(_("Short name of the distribution, in lower case.")),
    OS_VERSION: _changeable(_("Version of the system, as its distributor writes it.")),
    OWNER: _changeable(_("Project that owns the image.")),
    EXTRA_PROPERTIES: Schema(
        Schema.MAP,
        _("More keys and values of the image."),
        update_allowed=True,
        default={},
        support_status=_since("17.0.0"),
    ),
    VISIBILITY: Schema(
        Schema.STRING,
        _("Who sees the image."),
        update_allowed=True,
        default="private",
        constraints=[constraints.AllowedValues(["public", "private", "community", "shared"])],
    ),
    RAMDISK_ID: _image(_("Image of the ramdisk that boots an image of Amazon's kind.")),
    ACTIVE: Schema(
        Schema.BOOLEAN,
        _("Whether the image can be used; only administrators may change it by the default policy."),
        default=True,
        update_allowed=True,
        support_status=_since("16.0.0"),
    ),
    MEMBERS: Schema(
        Schema.LIST,
        _("Projects, besides the owner, that may use a shared image."),
        schema=Schema(Schema.STRING, _("Id of a project.")),
        update_allowed=True,
        support_status=_since("16.0.0"),
    ),
}
