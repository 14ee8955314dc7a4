# SPDX-License-Identifier: Apache-2.0
"""AWS::AutoScaling::LaunchConfiguration: what the instances of a group are like. It makes nothing itself."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.template import nodes

EBS = {
    "DeleteOnTermination": properties.Schema(
        properties.Schema.BOOLEAN, _("Whether the volume goes with the instance."), default=True
    ),
    "Iops": properties.Schema(properties.Schema.NUMBER, _("Has no effect."), implemented=False),
    "SnapshotId": properties.Schema(
        properties.Schema.STRING,
        _("Snapshot that the volume is made from."),
        constraints=[constraints.CustomConstraint("cinder.snapshot")],
    ),
    "VolumeSize": properties.Schema(
        properties.Schema.STRING, _("Size of the volume in GB; that of the snapshot if it is not given.")
    ),
    "VolumeType": properties.Schema(properties.Schema.STRING, _("Has no effect."), implemented=False),
}

BLOCK_DEVICE = {
    "DeviceName": properties.Schema(
        properties.Schema.STRING, _("Name of the device in the instance, such as vdb."), required=True
    ),
    "Ebs": properties.Schema(properties.Schema.MAP, _("The volume."), schema=EBS),
    "NoDevice": properties.Schema(properties.Schema.MAP, _("Has no effect."), implemented=False),
    "VirtualName": properties.Schema(properties.Schema.STRING, _("Has no effect."), implemented=False),
}

SCHEDULER_HINT = {
    "Key": properties.Schema(properties.Schema.STRING, _("Name of the hint."), required=True),
    "Value": properties.Schema(properties.Schema.STRING, _("Value of the hint."), required=True),
}


class LaunchConfiguration(Resource):
    """The properties of instances, for groups to refer to."""

    PROPERTIES = (
        IMAGE_ID,
        INSTANCE_TYPE,
        KEY_NAME,
        USER_DATA,
        SECURITY_GROUPS,
        KERNEL_ID,
        RAM_DISK_ID,
        BLOCK_DEVICE_MAPPINGS,
        NOVA_SCHEDULER_HINTS,
        INSTANCE_ID,
    ) = (
        "ImageId",
        "InstanceType",
        "KeyName",
        "UserData",
        "SecurityGroups",
        "KernelId",
        "RamDiskId",
        "BlockDeviceMappings",
        "NovaSchedulerHints",
        "InstanceId",
    )

    repeatable_create = True

    properties_schema = {
        IMAGE_ID: properties.Schema(
            properties.Schema.STRING,
            _("Image of the instances, by id or name."),
            constraints=[constraints.CustomConstraint("glance.image")],
        ),
        INSTANCE_TYPE: properties.Schema(
            properties.Schema.STRING,
            _("Flavor of the instances."),
            constraints=[constraints.CustomConstraint("nova.flavor")],
        ),
        INSTANCE_ID: properties.Schema(
            properties.Schema.STRING,
            _("A server that exists: what is not given here, but for block devices, is taken from it."),
            constraints=[constraints.CustomConstraint("nova.server")],
        ),
        KEY_NAME: properties.Schema(
            properties.Schema.STRING,
            _("Key pair of the instances."),
            constraints=[constraints.CustomConstraint("nova.keypair")],
        ),
        USER_DATA: properties.Schema(properties.Schema.STRING, _("User data of the instances.")),
        SECURITY_GROUPS: properties.Schema(properties.Schema.LIST, _("Names of the security groups of the instances.")),
        KERNEL_ID: properties.Schema(properties.Schema.STRING, _("Has no effect."), implemented=False),
        RAM_DISK_ID: properties.Schema(properties.Schema.STRING, _("Has no effect."), implemented=False),
        BLOCK_DEVICE_MAPPINGS: properties.Schema(
            properties.Schema.LIST,
            _("Volumes of the instances."),
            schema=properties.Schema(properties.Schema.MAP, schema=BLOCK_DEVICE),
        ),
        NOVA_SCHEDULER_HINTS: properties.Schema(
            properties.Schema.LIST,
            _("Hints to the scheduler of servers."),
            schema=properties.Schema(properties.Schema.MAP, schema=SCHEDULER_HINT),
        ),
    }

    def validate(self) -> Any:
        super().validate()
        for mapping in self.properties.get(self.BLOCK_DEVICE_MAPPINGS) or []:
            volume = mapping.get("Ebs")
            if not volume or not volume.get("SnapshotId"):
                missing = "SnapshotId" if volume else "Ebs"
                raise exception.StackValidationFailed(
                    message=_("%s is missing, this is required when specifying BlockDeviceMappings.") % missing
                )
        needed = (self.IMAGE_ID, self.INSTANCE_TYPE)
        if not self.properties.get(self.INSTANCE_ID) and not all(self.properties.get(key) for key in needed):
            raise exception.StackValidationFailed(
                message=_("If without InstanceId, ImageId and InstanceType are required.")
            )

    def properties_of_instance(self, instance_id: str) -> dict[str, Any]:
        """What an existing server says of these properties."""
        server = self.client_plugin("nova").get_server(instance_id)
        return {
            self.IMAGE_ID: server.image["id"],
            self.INSTANCE_TYPE: server.flavor["id"],
            self.KEY_NAME: server.key_name,
            self.SECURITY_GROUPS: [group["name"] for group in server.security_groups],
        }

    def rebuild_lc_properties(self, instance_id: str) -> dict[str, Any]:
        """The properties given, completed by those of a server."""
        return {**self.properties_of_instance(instance_id), **nodes.resolve(self.properties.data)}

    def handle_create(self) -> Any:
        instance_id = self.properties.get(self.INSTANCE_ID)
        if instance_id:
            whole = self.t.freeze(properties=self.rebuild_lc_properties(instance_id))
            self.properties = whole.properties(self.properties_schema, self.context)
            self._update_stored_properties()

    def needs_replace_with_tmpl_diff(self, tmpl_diff: Any) -> bool:
        return bool(tmpl_diff.metadata_changed())

    def get_reference_id(self) -> Any:
        return self.physical_resource_name_or_FnGetRefId()


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::AutoScaling::LaunchConfiguration": LaunchConfiguration}
