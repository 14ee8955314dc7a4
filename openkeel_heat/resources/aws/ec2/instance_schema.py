# SPDX-License-Identifier: Apache-2.0
"""What an AWS::EC2::Instance takes and tells."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import tags
from openkeel_heat.resources.kit import attributes, constraints
from openkeel_heat.resources.kit.properties import Schema

PROPERTIES = (
    IMAGE_ID,
    INSTANCE_TYPE,
    KEY_NAME,
    AVAILABILITY_ZONE,
    DISABLE_API_TERMINATION,
    KERNEL_ID,
    MONITORING,
    PLACEMENT_GROUP_NAME,
    PRIVATE_IP_ADDRESS,
    RAM_DISK_ID,
    SECURITY_GROUPS,
    SECURITY_GROUP_IDS,
    NETWORK_INTERFACES,
    SOURCE_DEST_CHECK,
    SUBNET_ID,
    TAGS,
    NOVA_SCHEDULER_HINTS,
    TENANCY,
    USER_DATA,
    VOLUMES,
    BLOCK_DEVICE_MAPPINGS,
) = (
    "ImageId",
    "InstanceType",
    "KeyName",
    "AvailabilityZone",
    "DisableApiTermination",
    "KernelId",
    "Monitoring",
    "PlacementGroupName",
    "PrivateIpAddress",
    "RamDiskId",
    "SecurityGroups",
    "SecurityGroupIds",
    "NetworkInterfaces",
    "SourceDestCheck",
    "SubnetId",
    "Tags",
    "NovaSchedulerHints",
    "Tenancy",
    "UserData",
    "Volumes",
    "BlockDeviceMappings",
)

VOLUME_DEVICE, VOLUME_ID = "Device", "VolumeId"
DEVICE_NAME, EBS, NO_DEVICE, VIRTUAL_NAME = "DeviceName", "Ebs", "NoDevice", "VirtualName"
DELETE_ON_TERMINATION, IOPS, SNAPSHOT_ID, VOLUME_SIZE, VOLUME_TYPE = (
    "DeleteOnTermination",
    "Iops",
    "SnapshotId",
    "VolumeSize",
    "VolumeType",
)

PRIVATE_DNS_NAME, PUBLIC_DNS_NAME, PRIVATE_IP, PUBLIC_IP = "PrivateDnsName", "PublicDnsName", "PrivateIp", "PublicIp"


def _text(description: str, constraint: str | None = None, **more: Any) -> Schema:
    found = [constraints.CustomConstraint(constraint)] if constraint else None
    return Schema(Schema.STRING, description, constraints=found, **more)


def _ignored(data_type: str = Schema.STRING, **more: Any) -> Schema:
    """A property of EC2 that OpenStack has nothing for."""
    return Schema(data_type, _("Not implemented."), implemented=False, **more)


_EBS = {
    DELETE_ON_TERMINATION: Schema(Schema.BOOLEAN, _("Whether the volume is deleted with the instance."), default=True),
    IOPS: _ignored(Schema.NUMBER),
    SNAPSHOT_ID: _text(_("Snapshot that the volume is made of."), "cinder.snapshot"),
    VOLUME_SIZE: _text(_("Gigabytes; not less than the snapshot has.")),
    VOLUME_TYPE: _ignored(),
}

PROPERTIES_SCHEMA = {
    IMAGE_ID: _text(_("Name or id of the image."), "glance.image", required=True),
    INSTANCE_TYPE: _text(_("Name or id of the flavor."), "nova.flavor", required=True, update_allowed=True),
    KEY_NAME: _text(_("Name of the key pair."), "nova.keypair"),
    AVAILABILITY_ZONE: _text(_("Availability zone in which the instance is made.")),
    DISABLE_API_TERMINATION: _ignored(),
    KERNEL_ID: _ignored(),
    MONITORING: _ignored(Schema.BOOLEAN),
    PLACEMENT_GROUP_NAME: _ignored(),
    PRIVATE_IP_ADDRESS: _ignored(),
    RAM_DISK_ID: _ignored(),
    SECURITY_GROUPS: Schema(Schema.LIST, _("Names of security groups.")),
    SECURITY_GROUP_IDS: Schema(Schema.LIST, _("Ids of security groups.")),
    NETWORK_INTERFACES: Schema(
        Schema.LIST, _("Its interfaces: ids, or maps of NetworkInterfaceId and DeviceIndex."), update_allowed=True
    ),
    SOURCE_DEST_CHECK: _ignored(Schema.BOOLEAN),
    SUBNET_ID: _text(_("Subnet in which it gets an interface if none are given."), update_allowed=True),
    TAGS: tags.schema(_("Metadata of the instance."), update_allowed=True),
    NOVA_SCHEDULER_HINTS: tags.schema(_("Hints to the scheduler that chooses its host.")),
    TENANCY: _ignored(constraints=[constraints.AllowedValues(["dedicated", "default"])]),
    USER_DATA: _text(_("What the instance runs at its first boot.")),
    VOLUMES: Schema(
        Schema.LIST,
        _("Volumes that it gets once it runs."),
        default=[],
        schema=Schema(
            Schema.MAP,
            _("One volume."),
            schema={
                VOLUME_DEVICE: _text(_("Device of the instance; not every hypervisor obeys it."), required=True),
                VOLUME_ID: _text(_("Reference to the volume."), "cinder.volume", required=True),
            },
        ),
    ),
    BLOCK_DEVICE_MAPPINGS: Schema(
        Schema.LIST,
        _("Volumes that it boots with."),
        schema=Schema(
            Schema.MAP,
            _("One volume."),
            schema={
                DEVICE_NAME: _text(_("Device of the instance: vda, vdb, …"), required=True),
                EBS: Schema(Schema.MAP, _("What the volume is made of."), schema=_EBS),
                NO_DEVICE: _ignored(Schema.MAP),
                VIRTUAL_NAME: _ignored(),
            },
        ),
    ),
}

ATTRIBUTES_SCHEMA = {
    name: attributes.Schema(description, type=attributes.Schema.STRING)
    for name, description in {
        AVAILABILITY_ZONE: _("Availability zone that the instance is in."),
        PRIVATE_DNS_NAME: _("Its address."),
        PUBLIC_DNS_NAME: _("Its address."),
        PRIVATE_IP: _("Its address."),
        PUBLIC_IP: _("Its address."),
    }.items()
}
