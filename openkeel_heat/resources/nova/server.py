# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::Server, from its creation to its deletion.

The class is put together of parts by what they are about: :mod:`.server_ports`, :mod:`.server_updates`,
:mod:`.server_attributes`. Pure code is apart: :mod:`.server_networks`, :mod:`.internal_ports`, :mod:`.block_devices`,
:mod:`.server_schema`, :mod:`.server_validation`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging
from oslo_utils import uuidutils

from openkeel_heat.clients import polling
from openkeel_heat.clients.nova_servers import PASSWORD, TASK_STATE, personality
from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import snapshots, translation
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import UNSURE
from openkeel_heat.resources.kit.scheduler_hints import SchedulerHintsMixin
from openkeel_heat.resources.kit.work import Step, Work
from openkeel_heat.resources.neutron import implicit
from openkeel_heat.resources.nova import block_devices, server_networks as networks, server_schema, server_validation
from openkeel_heat.resources.nova.server_attributes import ServerAttributes
from openkeel_heat.resources.nova.server_ports import EXTERNAL
from openkeel_heat.resources.nova.server_updates import TAGS_AT_CREATION_SINCE, encoded

LOG = logging.getLogger(__name__)

#: Versions of the compute API: what an image is made with says the id of the image.
IMAGE_ID_TOLD_SINCE = "2.45"

#: What a server does while an image is made of it.
_TAKING_IMAGE = {"image_uploading", "image_snapshot_pending", "image_snapshot", "image_pending_upload"}

#: resource_data: the image of a server that is being deleted.
LAST_IMAGE = "deletion_image_id"

#: Characters with a meaning in the patterns by which servers are listed.
_SPECIAL = re.compile(r"([.^$*+?{}\[\]\\|()])")


class Server(ServerAttributes, SchedulerHintsMixin):
    """A virtual machine, with its disks, network interfaces and what it does at its first boot."""

    repeatable_create = True

    PROPERTIES = server_schema.PROPERTIES
    (
        NAME, IMAGE, BLOCK_DEVICE_MAPPING, BLOCK_DEVICE_MAPPING_V2, FLAVOR, FLAVOR_UPDATE_POLICY, IMAGE_UPDATE_POLICY,
        KEY_NAME, ADMIN_USER, AVAILABILITY_ZONE, SECURITY_GROUPS, NETWORKS, SCHEDULER_HINTS, METADATA,
        USER_DATA_FORMAT, USER_DATA, RESERVATION_ID, CONFIG_DRIVE, DISK_CONFIG, PERSONALITY, ADMIN_PASS,
        SOFTWARE_CONFIG_TRANSPORT, USER_DATA_UPDATE_POLICY, TAGS, DEPLOYMENT_SWIFT_DATA,
    ) = server_schema.PROPERTIES  # fmt: skip

    properties_schema = server_schema.schema

    ATTRIBUTES = server_schema.ATTRIBUTES

    IMAGE_STATUSES = (IMAGE_ACTIVE, IMAGE_ERROR, IMAGE_DELETED) = ("active", "error", "deleted")

    def __init__(self, name: str, json_snippet: Any, stack: Any) -> None:
        super().__init__(name, json_snippet, stack)
        self._register_access_key()
        self.default_collectors = ["ec2"]

    def translation_rules(self, props: Properties) -> list[translation.TranslationRule]:
        nova, neutron, glance = (self.client_plugin(name) for name in ("nova", "neutron", "glance"))

        def replaced(path: list[str], by: str) -> translation.TranslationRule:
            return translation.TranslationRule(props, translation.TranslationRule.REPLACE, path, value_name=by)

        def found(path: list[str], plugin: Any, finder: str, entity: str | None = None) -> translation.TranslationRule:
            return translation.TranslationRule(
                props, translation.TranslationRule.RESOLVE, path, client_plugin=plugin, finder=finder, entity=entity
            )

        network = [self.NETWORKS, networks.NETWORK]
        image = [self.BLOCK_DEVICE_MAPPING_V2, block_devices.IMAGE]
        find_image, find_neutron = "find_image_by_name_or_id", "find_resourceid_by_name_or_id"
        return [
            replaced(network, networks.UUID),
            found([self.FLAVOR], nova, "find_flavor_by_name_or_id"),
            found([self.IMAGE], glance, find_image),
            replaced(image, block_devices.IMAGE_ID),
            found(image, glance, find_image),
            found(network, neutron, find_neutron, neutron.RES_TYPE_NETWORK),
            found([self.NETWORKS, networks.SUBNET], neutron, find_neutron, neutron.RES_TYPE_SUBNET),
            found([self.NETWORKS, networks.PORT], neutron, find_neutron, neutron.RES_TYPE_PORT),
        ]

    def add_dependencies(self, deps: Any) -> None:
        """All subnets of a network come first: nobody knows from which of them a port gets its address."""
        super().add_dependencies(deps)
        nets = implicit.read(self, self.NETWORKS)
        if not nets or nets is implicit.UNREADABLE:
            return
        if all(net.get(networks.NETWORK) for net in nets):
            # Of a subnet whose network cannot be told yet it may be the network.
            for network in {None, *(net[networks.NETWORK] for net in nets)}:
                implicit.need_subnets(deps, self, network)
        else:
            implicit.need_all(deps, self, implicit.SUBNET)

    def validate(self) -> Any:
        super().validate()
        server_validation.validate(self)

    # --- user data

    def user_data_raw(self) -> bool:
        return bool(self.properties[self.USER_DATA_FORMAT] == server_schema.RAW)

    def user_data_software_config(self) -> bool:
        return bool(self.properties[self.USER_DATA_FORMAT] == server_schema.SOFTWARE_CONFIG)

    def get_software_config(self, ud_content: str) -> str:
        """The text of the software config that has this id; the very text where there is none."""
        try:
            return str(self.stack.software.show_config(self, ud_content)["config"])
        except exception.NotFound:
            return ud_content

    def _user_data(self, props: Mapping[str, Any]) -> str | None:
        given = props[self.USER_DATA]
        if props[self.USER_DATA_FORMAT] != server_schema.HEAT_CFNTOOLS and uuidutils.is_uuid_like(given):
            given = self.get_software_config(given)
        made: str | None = self.client_plugin().build_userdata(
            self.metadata_get(True) or {}, given, instance_user=None, user_data_format=props[self.USER_DATA_FORMAT]
        )
        return made

    def _config_drive(self) -> bool | None:
        found: bool | None = self.properties[self.CONFIG_DRIVE]
        return found

    # --- creation

    def handle_create(self) -> Any:
        if self.user_data_software_config():
            self._create_transport_credentials(self.properties)
            self._populate_deployments_metadata(self.metadata_get(True) or {}, self.properties)
        made = self.make(self._creation_body())
        self.resource_id_set(str(made["id"]))
        return self.resource_id

    def _creation_body(self) -> dict[str, Any]:
        props = self.properties
        given = {
            "user_data": encoded(self._user_data(props)),
            "metadata": self.client_plugin().meta_serialize(props[self.METADATA] or {}),
            "return_reservation_id": props[self.RESERVATION_ID],
            "key_name": props[self.KEY_NAME],
            "config_drive": self._config_drive(),
            PASSWORD: props[self.ADMIN_PASS],
            "security_groups": [{"name": name} for name in props[self.SECURITY_GROUPS] or ()],
            "personality": personality(props[self.PERSONALITY] or {}),
            "availability_zone": props[self.AVAILABILITY_ZONE],
            "OS-DCF:diskConfig": props[self.DISK_CONFIG],
            "networks": self._networks_body(),
            "tags": props[self.TAGS] if self._tags_at_creation() else None,
        }
        return {
            "name": self._server_name(),
            "flavorRef": str(props[self.FLAVOR]),
            "imageRef": str(props[self.IMAGE] or ""),
            **{name: value for name, value in given.items() if value},
            **block_devices.body(
                props[self.BLOCK_DEVICE_MAPPING], props[self.BLOCK_DEVICE_MAPPING_V2], props[self.IMAGE]
            ),
        }

    def _tags_at_creation(self) -> bool:
        return bool(self.client_plugin().is_version_supported(TAGS_AT_CREATION_SINCE))

    def send_creation(self, body: dict[str, Any]) -> dict[str, Any]:
        request: dict[str, Any] = {"server": body}
        hints = self._scheduler_hints(self.properties[self.SCHEDULER_HINTS])
        if hints:
            request["os:scheduler_hints"] = hints
        answer = self.api.post("/servers", json=request, log=PASSWORD not in body)
        if not isinstance(answer, Mapping):
            return {}
        if "server" in answer:
            return dict(answer["server"])
        # With a reservation only its id is told.
        reserved = self.api.list("/servers", "servers", {"reservation_id": answer["reservation_id"]})
        return dict(reserved[0])

    def find_physical(self) -> str | None:
        """The server that was made for this resource, by its name; one that is younger if it is a given name."""
        name = self._server_name()
        if not name:
            return None
        pattern = "^%s$" % _SPECIAL.sub(r"\\\1", name)
        listed = self.api.list("/servers/detail", "servers", {"name": pattern})
        given = self.properties[self.NAME]
        found = [one["id"] for one in listed if one["name"] == name and (not given or self._is_free(one))]
        return str(found[0]) if len(found) == 1 else None

    def _is_free(self, shown: Mapping[str, Any]) -> bool:
        """Whether a server can be this resource's: made since, and no other resource's."""
        return self._is_younger(shown) and not self.stack.software.knows_server(self, shown["id"])

    def check_create_complete(self, server_id: Any) -> bool:
        if not self._is_active():
            return False
        if self.properties[self.TAGS] and not self._tags_at_creation():
            self._update_server_tags(self.properties[self.TAGS])
        self.store_external_ports()
        if self.data().get(UNSURE):
            self.data_delete(UNSURE)
        return True

    def _is_active(self) -> bool:
        shown = self.client_plugin().await_server(self.resource_id)
        self._seen = (clock.monotonic(), shown)
        return bool(self.client_plugin().is_active(shown))

    # --- check, suspend, resume

    def handle_check(self) -> Any:
        status = self.client_plugin().get_status(self.client_plugin().show_server(self.resource_id))
        self._verify_check_conditions([{"attr": "status", "expected": "ACTIVE", "current": status}])

    def _act_unless(self, status: str, action: str) -> str:
        """Begin an action, unless the server is where it leads to."""
        server_id = str(self.resource_id)
        try:
            server = self.client_plugin().show_server(server_id)
        except Exception as error:
            if self.client_plugin().is_not_found(error):
                raise exception.NotFound(_("Failed to find server %s") % server_id) from error
            raise
        if self.client_plugin().get_status(server) != status:
            self._act(action)
        return server_id

    def handle_suspend(self) -> Any:
        if self.resource_id is None:
            raise exception.Error(_("Cannot suspend %s, resource_id not set") % self.name)
        return self._act_unless("SUSPENDED", "suspend")

    def check_suspend_complete(self, server_id: Any) -> bool:
        plugin = self.client_plugin()
        server = plugin.await_server(server_id)
        status = plugin.get_status(server)
        if status not in plugin.deferred_server_statuses | {"ACTIVE"}:
            raise exception.ResourceUnknownStatus(
                result=_("Suspend of server %s failed") % server.name, resource_status=status
            )
        return bool(status == "SUSPENDED")

    def handle_resume(self) -> Any:
        if self.resource_id is None:
            raise exception.Error(_("Cannot resume %s, resource_id not set") % self.name)
        return self._act_unless("ACTIVE", "resume")

    def check_resume_complete(self, server_id: Any) -> bool:
        return self._is_active()

    # --- images of the server

    def _create_image(self) -> str:
        """Begin to make an image; its id."""
        name = self.physical_resource_name()
        answer = self.client_plugin().act(self.resource_id, "createImage", {"name": name})
        if self.client_plugin().is_version_supported(IMAGE_ID_TOLD_SINCE):
            return str(answer["image_id"])
        found = self.client_plugin("glance").api.list("/v2/images", "images", {"name": name, "sort": "created_at:desc"})
        return str(found[0]["id"])

    def _image_is_made(self, image_id: str) -> bool:
        status = self.client_plugin("glance").get_image(image_id).status.lower()
        if status in (self.IMAGE_ERROR, self.IMAGE_DELETED):
            raise exception.Error(status)
        return bool(status == self.IMAGE_ACTIVE)

    def handle_snapshot(self) -> str:
        return snapshots.made_once(self, "snapshot_image_id", self._create_image)

    def check_snapshot_complete(self, image_id: Any) -> bool:
        if not self._image_is_made(image_id):
            return False
        return self.client_plugin().await_server(self.resource_id).get(TASK_STATE) not in _TAKING_IMAGE

    def handle_delete_snapshot(self, snapshot: Mapping[str, Any]) -> None:
        image_id = snapshot["resource_data"].get("snapshot_image_id")
        if image_id:
            with self.client_plugin("glance").ignore_not_found:
                self.client_plugin("glance").api.delete(f"/v2/images/{image_id}")

    def handle_restore(self, defn: Any, restore_data: Mapping[str, Any]) -> Any:
        """The definition with the image of the snapshot."""
        props = {name: value for name, value in self.properties.data.items() if value is not None}
        for name in (self.BLOCK_DEVICE_MAPPING, self.BLOCK_DEVICE_MAPPING_V2, self.NETWORKS):
            if name in props:
                props[name] = [
                    {key: value for key, value in entry.items() if value is not None} for entry in props[name]
                ]
        props[self.IMAGE] = restore_data["resource_data"]["snapshot_image_id"]
        return defn.freeze(properties=props)

    # --- deletion

    def handle_delete(self) -> Any:
        return Work(*self._deletion())

    def handle_snapshot_delete(self, state: tuple[str, str]) -> Any:
        """Make an image first, of a server that is in order."""
        if state[1] == self.FAILED or not self.resource_id:
            return self.handle_delete()
        image_id = self.data().get(LAST_IMAGE)
        if image_id is None:
            image_id = self._create_image()
            self.data_set(LAST_IMAGE, image_id)
        return Work(lambda: self._image_is_made(str(image_id)), *self._deletion())

    def check_delete_complete(self, work: Any) -> bool:
        return bool(work.go_on())

    def _deletion(self) -> list[Step]:
        return [self._delete, self._is_gone, self._delete_internal_ports]

    def _delete(self) -> Any:
        if self.user_data_software_config():
            self._delete_queue()
            self._delete_user()
            self._delete_temp_url()
        self.data_delete(EXTERNAL)
        if self.has_object():
            with self.client_plugin().ignore_not_found:
                self.api.delete(self.object_path())

    def _is_gone(self) -> bool:
        """Ports can be deleted by everybody only after that."""
        if self.resource_id is None:
            return True
        gone = bool(self.client_plugin().check_delete_server_complete(self.resource_id))
        if gone:
            polling.changed(self.resource_id)
        return gone


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Nova::Server": Server}
