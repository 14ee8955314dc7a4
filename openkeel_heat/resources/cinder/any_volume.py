# SPDX-License-Identifier: Apache-2.0
"""What the volumes and attachments of OS::Cinder and of AWS::EC2 have in common.

Deleting, attaching and detaching take several requests with waits between them: see :mod:`..kit.work`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.clients.rest import outcome_unknown, perhaps_carried_out
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import UNSURE, ApiObject, RestResource
from openkeel_heat.resources.kit.succession import as_it_was_made, is_anothers, others_that_stay
from openkeel_heat.resources.kit.work import Step, Work

LOG = logging.getLogger(__name__)


class BaseVolume(RestResource):
    """A volume, empty or with the contents of a backup."""

    default_client_name = "cinder"

    api_object = ApiObject(
        "/volumes",
        "volume",
        status="status",
        ready=("available",),
        busy=("creating", "restoring-backup"),
        failed=("error",),
        list_path="/volumes/detail",
    )

    #: The property with the backup to begin with.
    BACKUP_ID: str

    # Resource data: the backup made by a deletion that an engine did not live to end.
    _DELETION_BACKUP = "deletion_backup_id"

    repeatable_create = True

    # create
    def _create_arguments(self) -> dict[str, Any]:
        """The fields of a new volume besides its name and description."""
        return {}

    def _name(self) -> str | None:
        return self.physical_resource_name()

    def _description(self) -> str | None:
        return self.physical_resource_name()

    def _fetch_name_and_description(self, name: str | None = None, description: str | None = None) -> dict[str, Any]:
        return {"name": name or self._name(), "description": description or self._description()}

    def _backup_to_begin_with(self) -> str | None:
        backup_id: str | None = self.properties.get(self.BACKUP_ID)
        return backup_id

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body = {**self._create_arguments(), **self._fetch_name_and_description()}
        return {field: value for field, value in body.items() if value is not None}

    def send_creation(self, body: dict[str, Any]) -> dict[str, Any]:
        backup_id = self._backup_to_begin_with()
        if backup_id is None:
            return super().send_creation(body)
        # A volume without a name could not be found if the answer is lost.
        restore = {"volume_id": None, "name": body.get("name")}
        answer = self.api.post("/backups/%s/restore" % backup_id, json={"restore": restore})
        return {"id": answer["restore"]["volume_id"]}

    def handle_create(self) -> Any:
        return super().handle_create()

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        if self._backup_to_begin_with() is not None:
            # A restored volume has the description of the backup's volume.
            self.change(self._fetch_name_and_description())
        return True

    def is_ready(self, shown: dict[str, Any]) -> bool:
        try:
            return super().is_ready(shown)
        except exception.ResourceUnknownStatus as ex:
            raise exception.ResourceUnknownStatus(
                resource_status=shown["status"], result=_("Volume create failed")
            ) from ex

    def handle_check(self) -> None:
        status = self._volume()["status"]
        self._verify_check_conditions([{"attr": "status", "expected": ["available", "in-use"], "current": status}])

    def _volume(self) -> dict[str, Any]:
        return dict(RestResource._show_resource(self))

    # delete
    @classmethod
    def validate_deletion_policy(cls, policy: str) -> None:
        super().validate_deletion_policy(policy)
        if policy == "Snapshot" and not cfg.CONF.volumes.backups_enabled:
            raise exception.StackValidationFailed(
                message=_('"%s" deletion policy not supported - volume backup service is not enabled.') % policy
            )

    def handle_snapshot_delete(self, state: tuple[str, str]) -> Work:
        worth_it = state not in ((self.CREATE, self.FAILED), (self.UPDATE, self.FAILED))
        if not worth_it or not self.has_object():
            return self.handle_delete()
        return Work(self._start_last_backup, self._is_backed_up, self._start_deletion, self._is_gone)

    def handle_delete(self) -> Work:
        return Work(self._start_deletion, self._is_gone) if self.has_object() else Work()

    def check_delete_complete(self, work: Work) -> bool:
        return work.go_on()

    def _start_deletion(self) -> bool:
        """Ask for it; false while the volume is on its way from a server."""
        plugin = self.client_plugin()
        try:
            self.api.delete(self.object_path())
        except Exception as ex:
            if plugin.is_not_found(ex):
                return True
            if not plugin.is_bad_request(ex):
                raise
            return self._was_refused(ex)
        return True

    def _was_refused(self, error: Exception) -> bool:
        """Cinder refuses in several states with the same answer: true if the volume is being deleted already."""
        try:
            status = self._volume()["status"]
        except Exception as ex:
            self.client_plugin().ignore_not_found(ex)
            return True
        if status == "in-use":
            raise exception.Error(_("Volume in use")) from error
        if status == "available":
            # It was busy a moment ago; if it was not, it is refused for something that will not pass.
            self.api.delete(self.object_path())
        elif status not in ("deleting", "detaching"):
            raise error
        return bool(status != "detaching")

    def _is_gone(self) -> bool:
        try:
            status = self.observe(leaving=True)["status"]
        except Exception as ex:
            self.client_plugin().ignore_not_found(ex)
            return True
        if status == "error_deleting":
            raise exception.ResourceInError(status_reason="delete", resource_status=status)
        return False

    def _start_last_backup(self) -> None:
        if self.data().get(self._DELETION_BACKUP) is not None:
            return
        try:
            self.data_set(self._DELETION_BACKUP, self._create_backup())
        except Exception as ex:
            self.client_plugin().ignore_not_found(ex)
            LOG.debug("There is no volume %s to back up", self.resource_id)

    def _is_backed_up(self) -> bool:
        backup_id = self.data().get(self._DELETION_BACKUP)
        if backup_id is None:
            return True
        status = self.client_plugin().observed_backup(backup_id)["status"]
        if status == "creating":
            return False
        if status != "available":
            self.data_delete(self._DELETION_BACKUP)
            raise exception.ResourceUnknownStatus(resource_status=status, result=_("Volume backup failed"))
        return True

    def _create_backup(self, force: bool = False) -> str:
        body = {"backup": {"volume_id": self.resource_id, "force": force}}
        return str(self.api.post("/backups", json=body)["backup"]["id"])


class BaseVolumeAttachment(Resource):
    """A volume at a server; its id is that of Nova's attachment. Nova attaches, both services have to notice."""

    default_client_name = "cinder"

    INSTANCE_ID: str
    VOLUME_ID: str
    DEVICE: str

    def _place(self) -> tuple[str, str, str | None]:
        """Server, volume and device."""
        props = self.properties
        return props[self.INSTANCE_ID], props[self.VOLUME_ID], props[self.DEVICE] or None

    def handle_create(self) -> Work:
        return Work(*attaching(self, *self._place(), attached=self.resource_id_set))

    def handler_data_on_resume(self, action: str) -> Work:
        return Work(*attaching(self, *self._place())[1:])

    def find_physical(self) -> str | None:
        server_id, volume_id, _device = self._place()
        return attachment_id(self.client_plugin(), server_id, volume_id)

    def check_create_complete(self, work: Work) -> bool:
        return work.go_on()

    def handle_delete(self) -> Work:
        server_id, volume_id, _device = self._place()
        attach_id = self.resource_id or self._id_in_doubt()
        if not attach_id or is_anothers(self, lambda one: one._place()[:2]):
            return Work()
        return Work(*detaching(self, server_id, volume_id, attach_id))

    def _id_in_doubt(self) -> str | None:
        """The id of what a creation that was not answered may have made."""
        if not self.data().get(UNSURE):
            return None
        try:
            return self.find_physical()
        except exception.EntityNotFound:
            return None  # the volume is gone, and with it the attachment

    def check_delete_complete(self, work: Work) -> bool:
        return work.go_on()

    # replacement, after something has failed: a volume is given away before another server, or the same, can have it
    def _taking_away(self) -> list[Step]:
        with as_it_was_made(self):
            server_id, volume_id, _device = self._place()
        return detaching(self, server_id, volume_id, self.resource_id) if self.resource_id else []

    def prepare_for_replace(self) -> Work:
        return Work(*self._taking_away())

    def check_prepare_for_replace_complete(self, work: Work) -> bool:
        return work.go_on()

    def restore_prev_rsrc(self, convergence: bool = False) -> Work:
        """Take the volume from where the replacement has put it, and give it back to where it was."""
        steps = [step for other in others_that_stay(self) for step in other._taking_away()]
        if self.resource_id:
            with as_it_was_made(self):
                steps += attaching(self, *self._place(), again=True)
        return Work(*steps)

    def check_restore_prev_rsrc_complete(self, work: Work) -> bool:
        return work.go_on()


def detaching(resource: Resource, server_id: str, volume_id: str, attach_id: str) -> list[Step]:
    """The steps that take a volume from a server; what is gone already is right."""
    nova = resource.client_plugin("nova")
    cinder = resource.client_plugin("cinder")
    return [
        lambda: nova.detach_volume(server_id, attach_id),
        lambda: cinder.check_detach_volume_complete(volume_id, server_id),
        # Cinder calls the volume available a moment before the server has forgotten it.
        lambda: nova.check_detach_volume_complete(server_id, attach_id),
    ]


def attaching(
    resource: Resource,
    server_id: str,
    volume_id: str,
    device: str | None,
    attached: Callable[[str], None] = lambda attach_id: None,
    again: bool = False,
) -> list[Step]:
    """The two steps that give a volume to a server; *attached* is told the id of the attachment.

    *again*: this may have been done before by an engine that did not live to note it.
    """
    nova = resource.client_plugin("nova")
    cinder = resource.client_plugin("cinder")

    def start() -> bool:
        try:
            # Nova answers with a conflict while the server or the volume is busy.
            attach_id = nova.attach_volume(server_id, volume_id, device)
        except Exception as ex:
            told = ex.__cause__ or ex
            if outcome_unknown(told):
                # Cinder may tell of it later; who deletes this looks again.
                resource.data_set(UNSURE, "1")
            if not (again or perhaps_carried_out(ex) or perhaps_carried_out(told)):
                raise
            attach_id = attachment_id(cinder, server_id, volume_id)
            if attach_id is None:
                raise
        if attach_id:
            attached(attach_id)
        return bool(attach_id)

    return [start, lambda: cinder.check_attach_volume_complete(volume_id)]


def attachment_id(cinder: Any, server_id: str, volume_id: str) -> str | None:
    """The id of the attachment of a volume at a server, if there is one."""
    for attachment in cinder.get_volume(volume_id)["attachments"]:
        if attachment["server_id"] == server_id:
            return str(attachment["id"])
    return None
