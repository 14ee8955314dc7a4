# SPDX-License-Identifier: Apache-2.0
"""AWS::EC2::Instance: a server."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.common import config, exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.aws.ec2 import instance_schema as schema, tags
from openkeel_heat.resources.aws.ec2.instance_replacement import InstanceReplacement, Nics
from openkeel_heat.resources.cinder import any_volume
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.kit.scheduler_hints import SchedulerHintsMixin
from openkeel_heat.resources.kit.work import Step, Work
from openkeel_heat.resources.nova import resizing

LOG = logging.getLogger(__name__)

#: Where the request has the hints: beside the server.
_HINTS = "os:scheduler_hints"

# Resource data: the port that was made in SubnetId and goes with the instance.
PORT_ID = "port_id"

PORTS = "/v2.0/ports"

ZONE = "OS-EXT-AZ:availability_zone"


class Instance(InstanceReplacement, SchedulerHintsMixin):
    """A server, its interfaces and volumes."""

    PROPERTIES = schema.PROPERTIES

    IMAGE_ID = schema.IMAGE_ID
    INSTANCE_TYPE = schema.INSTANCE_TYPE
    KEY_NAME = schema.KEY_NAME
    AVAILABILITY_ZONE = schema.AVAILABILITY_ZONE
    SECURITY_GROUPS = schema.SECURITY_GROUPS
    SECURITY_GROUP_IDS = schema.SECURITY_GROUP_IDS
    NETWORK_INTERFACES = schema.NETWORK_INTERFACES
    SUBNET_ID = schema.SUBNET_ID
    TAGS = schema.TAGS
    NOVA_SCHEDULER_HINTS = schema.NOVA_SCHEDULER_HINTS
    USER_DATA = schema.USER_DATA
    VOLUMES = schema.VOLUMES
    BLOCK_DEVICE_MAPPINGS = schema.BLOCK_DEVICE_MAPPINGS

    properties_schema = schema.PROPERTIES_SCHEMA
    attributes_schema = schema.ATTRIBUTES_SCHEMA

    physical_resource_name_limit = config.register_all(cfg.CONF).max_server_name_length

    default_client_name = "nova"

    api_object = ApiObject("/servers", "server", status="status", list_path="/servers/detail")
    not_sent = PROPERTIES

    repeatable_create = True

    def __init__(self, name: str, definition: Any, stack: Any) -> None:
        super().__init__(name, definition, stack)
        self.ipaddress: str | None = None

    # validation
    def validate(self) -> Any:
        super().validate()
        props = self.properties
        if self._get_security_groups() and props.get(self.NETWORK_INTERFACES):
            raise exception.ResourcePropertyConflict(
                "/".join([self.SECURITY_GROUPS, self.SECURITY_GROUP_IDS]), self.NETWORK_INTERFACES
            )
        for mapping in props.get(self.BLOCK_DEVICE_MAPPINGS) or ():
            missing = None if mapping.get(schema.EBS) else schema.EBS
            if not missing and not mapping[schema.EBS].get(schema.SNAPSHOT_ID):
                missing = schema.SNAPSHOT_ID
            if missing:
                raise exception.StackValidationFailed(
                    message=_("%s is missing, this is required when specifying BlockDeviceMappings.") % missing
                )
        if props.get(self.NETWORK_INTERFACES) and props.get(self.SUBNET_ID):
            LOG.warning("%s has interfaces of its own: its SubnetId is of no effect", self.name)

    # create
    def _get_security_groups(self) -> list[str] | None:
        props = self.properties
        groups = [*(props.get(self.SECURITY_GROUPS) or ()), *(props.get(self.SECURITY_GROUP_IDS) or ())]
        return groups or None

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        plugin = self.client_plugin()
        groups = self._get_security_groups() or []
        user_data = plugin.build_userdata(self.metadata_get(), props.get(self.USER_DATA) or "", "ec2-user")
        nics = self._build_nics(props.get(self.NETWORK_INTERFACES), groups, props.get(self.SUBNET_ID))
        body = {
            **super().create_body(props),
            "imageRef": self.client_plugin("glance").find_image_by_name_or_id(props[self.IMAGE_ID]),
            "flavorRef": plugin.find_flavor_by_name_or_id(props[self.INSTANCE_TYPE]),
            "key_name": props.get(self.KEY_NAME),
            "security_groups": [{"name": group} for group in groups],
            "user_data": user_data and base64.b64encode(user_data.encode()).decode(),
            "metadata": tags.as_map(props.get(self.TAGS)),
            "availability_zone": props.get(self.AVAILABILITY_ZONE),
            # The service wants to be told even that it may choose.
            "networks": "auto" if nics is None else [{"port": nic["port-id"]} for nic in nics],
            "block_device_mapping": self._disks(props.get(self.BLOCK_DEVICE_MAPPINGS) or ()),
            _HINTS: self._scheduler_hints(_hints(props.get(self.NOVA_SCHEDULER_HINTS) or ())),
        }
        return {field: value for field, value in body.items() if value}

    def _envelope(self, body: Any) -> Any:
        server = {field: value for field, value in body.items() if field != _HINTS}
        return {"server": server, **({_HINTS: body[_HINTS]} if _HINTS in body else {})}

    @staticmethod
    def _disks(mappings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        disks = []
        for mapping in mappings:
            ebs = mapping[schema.EBS]
            disk = {
                "device_name": mapping[schema.DEVICE_NAME],
                "snapshot_id": ebs[schema.SNAPSHOT_ID],
                "volume_size": ebs[schema.VOLUME_SIZE],
                "delete_on_termination": ebs[schema.DELETE_ON_TERMINATION],
            }
            disks.append({field: value for field, value in disk.items() if value is not None})
        return disks

    def _build_nics(
        self, network_interfaces: Any, security_groups: list[str] | None = None, subnet_id: str | None = None
    ) -> Nics | None:
        """The ports of the instance; None: the compute service chooses."""
        if network_interfaces:
            entries: list[dict[str, Any]] = [
                {"NetworkInterfaceId": entry, "DeviceIndex": index} if isinstance(entry, str) else entry
                for index, entry in enumerate(network_interfaces)
            ]
            entries.sort(key=lambda entry: int(entry["DeviceIndex"]))
            return [{"port-id": entry["NetworkInterfaceId"]} for entry in entries]
        if subnet_id:
            return [{"port-id": self._port_in(subnet_id, security_groups)}]
        return None

    def _port_in(self, subnet_id: str, security_groups: list[str] | None) -> str:
        """A port of the instance's own in a subnet, made once."""
        known = self.data().get(PORT_ID)
        if known:
            return str(known)
        plugin = self.client_plugin("neutron")
        port: dict[str, Any] = {
            "admin_state_up": True,
            "network_id": plugin.network_id_from_subnet_id(subnet_id),
            "fixed_ips": [{"subnet_id": subnet_id}],
        }
        if security_groups:
            port["security_groups"] = plugin.get_secgroup_uuids(security_groups)
        made = str(plugin.api.post(PORTS, json={"port": port})["port"]["id"])
        self.data_set(PORT_ID, made)
        return made

    def _port_data_delete(self) -> None:
        port_id = self.data().get(PORT_ID)
        if port_id:
            plugin = self.client_plugin("neutron")
            with plugin.ignore_not_found:
                plugin.api.delete("%s/%s" % (PORTS, port_id))
            self.data_delete(PORT_ID)

    def handle_create(self) -> Work:
        made = self.make(self.create_body(self.given_properties()))
        self.resource_id_set(str(made["id"]))
        return self._starting()

    def _starting(self) -> Work:
        steps: list[Step] = [self._is_active]
        for volume_id, device in self.volumes():
            steps += any_volume.attaching(self, str(self.resource_id), volume_id, device, again=True)
        return Work(*steps)

    def handler_data_on_resume(self, action: str) -> Work:
        return self._starting()

    def check_create_complete(self, work: Work) -> bool:
        return work.go_on()

    def _is_active(self) -> bool:
        return bool(self.client_plugin()._check_active(self.resource_id, "Instance"))

    def volumes(self) -> list[tuple[str, str]]:
        """The volumes that it gets, and as which devices."""
        return [(volume[schema.VOLUME_ID], volume[schema.VOLUME_DEVICE]) for volume in self.properties[self.VOLUMES]]

    def handle_check(self) -> None:
        server = self.client_plugin().show_server(self.resource_id)
        if not self.client_plugin()._check_active(server, "Instance"):
            raise exception.Error(_("Instance is not ACTIVE (was: %s)") % server["status"].strip())

    # attributes
    def _ipaddress(self) -> str:
        if self.ipaddress is None:
            self.ipaddress = self.client_plugin().server_to_ipaddress(self.resource_id)
        return self.ipaddress or "0.0.0.0"

    def _availability_zone(self) -> str | None:
        zone = self.properties[self.AVAILABILITY_ZONE]
        return zone if zone is not None else self.shown_recently().get(ZONE)

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is None:
            return None
        found = self._availability_zone() if name == self.AVAILABILITY_ZONE else self._ipaddress()
        return str(found) if found else None

    # update
    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Work:
        if tmpl_diff.metadata_changed():
            self.metadata_set(json_snippet.metadata())
        self._seen = None
        plugin, server_id = self.client_plugin(), str(self.resource_id)
        self._work = Work()
        steps: list[Step] = []
        if self.TAGS in prop_diff:
            metadata = tags.as_map(prop_diff[self.TAGS]) or {}
            steps.append(lambda: plugin.meta_update(plugin.get_server(server_id), metadata))
        if self.INSTANCE_TYPE in prop_diff:
            flavor_id = plugin.find_flavor_by_name_or_id(prop_diff[self.INSTANCE_TYPE])
            steps += resizing.steps(plugin, server_id, flavor_id)
        if self.NETWORK_INTERFACES in prop_diff or self.SUBNET_ID in prop_diff:
            steps += self._changing_interfaces(prop_diff)
        self._work.last(*steps)
        return self._work

    def check_update_complete(self, work: Work) -> bool:
        return work.go_on()

    def _changing_interfaces(self, prop_diff: Mapping[str, Any]) -> list[Step]:
        before, after = self.properties[self.NETWORK_INTERFACES], prop_diff.get(self.NETWORK_INTERFACES)
        if before and after:
            dropped = [entry for entry in before if entry not in after]
            added = [entry for entry in after if entry not in before]
            return [
                *self._detaching(nic["port-id"] for nic in self._build_nics(dropped) or ()),
                *self._attaching(self._build_nics(added) or []),
            ]
        if before and self.NETWORK_INTERFACES not in prop_diff:
            LOG.warning("%s has interfaces of its own: its SubnetId is of no effect", self.name)
            return []
        # What was chosen for the instance is replaced altogether.
        plugin, work = self.client_plugin(), self._work
        there = plugin.interfaces(str(self.resource_id))
        subnet_id = prop_diff.get(self.SUBNET_ID) or self.properties[self.SUBNET_ID]

        def attach() -> None:
            nics = self._build_nics(after, self._get_security_groups(), subnet_id)
            if nics is None:
                work.then(lambda: plugin.interface_attach(str(self.resource_id)))
            else:
                work.then(*self._attaching(nics))

        return [
            *self._detaching(interface["port_id"] for interface in there),
            # The network service deletes no port that an instance has.
            self._port_data_delete,
            attach,
        ]

    def _detaching(self, port_ids: Iterable[str]) -> list[Step]:
        plugin, server_id = self.client_plugin(), str(self.resource_id)

        def steps(port_id: str) -> list[Step]:
            return [
                lambda: plugin.interface_detach(server_id, port_id),
                lambda: plugin.is_detached(server_id, port_id),
            ]

        return [step for port_id in port_ids for step in steps(port_id)]

    def _attaching(self, nics: Nics) -> list[Step]:
        plugin, server_id = self.client_plugin(), str(self.resource_id)

        def steps(port_id: str) -> list[Step]:
            return [
                lambda: plugin.interface_attach(server_id, port_id=port_id),
                lambda: plugin.is_attached(server_id, port_id),
            ]

        return [step for nic in nics for step in steps(nic["port-id"])]

    def metadata_update(self, new_metadata: dict[str, Any] | None = None) -> None:
        if new_metadata is None:
            self.metadata_set(self.t.metadata())

    # delete
    def check_delete_complete(self, deleted: Any) -> bool:
        if deleted and not self.client_plugin().check_delete_server_complete(deleted):
            return False
        # The network service deletes no port that an instance has.
        self._port_data_delete()
        return True

    # suspend and resume
    def _server_to(self, action: str) -> Any:
        if self.resource_id is None:
            raise exception.Error(
                _("Cannot %(action)s %(name)s, resource_id not set") % {"action": action, "name": self.name}
            )
        try:
            return self.client_plugin().show_server(self.resource_id)
        except Exception as ex:
            if not self.client_plugin().is_not_found(ex):
                raise
            raise exception.NotFound(_("Failed to find instance %s") % self.resource_id) from ex

    def _act_unless(self, status: str, action: str) -> str:
        server = self._server_to(action)
        if self.client_plugin().get_status(server) != status:
            self.client_plugin().act(server["id"], action)
        return str(server["id"])

    def handle_suspend(self) -> str:
        return self._act_unless("SUSPENDED", "suspend")

    def check_suspend_complete(self, server_id: str) -> bool:
        plugin = self.client_plugin()
        server = plugin.fetch_server(server_id)
        if not server:
            return False
        status = plugin.get_status(server)
        if status not in plugin.deferred_server_statuses | {"ACTIVE"}:
            raise exception.ResourceUnknownStatus(
                result=_("Suspend of instance %s failed") % server["name"], resource_status=status
            )
        return bool(status == "SUSPENDED")

    def handle_resume(self) -> str:
        return self._act_unless("ACTIVE", "resume")

    def check_resume_complete(self, server_id: str) -> bool:
        return bool(self.client_plugin()._check_active(server_id, "Instance"))


def _hints(given: Iterable[Mapping[str, str]]) -> dict[str, Any] | None:
    """Hints by their keys; a key that is given several times has a list."""
    hints: dict[str, Any] = {}
    for one in given:
        hints.setdefault(one[tags.TAG_KEY], []).append(one[tags.TAG_VALUE])
    return {key: values[0] if len(values) == 1 else values for key, values in hints.items()} or None


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::EC2::Instance": Instance}
