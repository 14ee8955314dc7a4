# SPDX-License-Identifier: Apache-2.0
"""OS::Cinder::EncryptedVolumeType."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, support
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject, RestResource
from openkeel_heat.resources.kit.updates import of_what_was_asked_for


class CinderEncryptedVolumeType(RestResource):
    """How the volumes of a type are encrypted.

    Only administrators may say so by the default policy of the service.
    """

    support_status = support.SupportStatus(version="5.0.0")

    default_client_name = "cinder"
    entity = "volume_encryption_types"
    required_service_extension = "encryption"

    PROPERTIES = (PROVIDER, CONTROL_LOCATION, CIPHER, KEY_SIZE, VOLUME_TYPE) = (
        "provider",
        "control_location",
        "cipher",
        "key_size",
        "volume_type",
    )

    properties_schema = {
        PROVIDER: Schema(
            Schema.STRING, _("Format, or class, that encrypts: luks, plain, …"), required=True, update_allowed=True
        ),
        CONTROL_LOCATION: Schema(
            Schema.STRING,
            _("Which side encrypts: that of the server or that of the storage."),
            constraints=[constraints.AllowedValues(["front-end", "back-end"])],
            default="front-end",
            update_allowed=True,
        ),
        CIPHER: Schema(
            Schema.STRING,
            _("Cipher and mode."),
            constraints=[constraints.AllowedValues(["aes-xts-plain64", "aes-cbc-essiv"])],
            update_allowed=True,
        ),
        KEY_SIZE: Schema(Schema.INTEGER, _("Bits of the key."), update_allowed=True),
        VOLUME_TYPE: Schema(
            Schema.STRING,
            _("Name or id of the volume type."),
            required=True,
            constraints=[constraints.CustomConstraint("cinder.vtype")],
        ),
    }

    # The object has no id of its own: it is the one encryption of its type.
    api_object = ApiObject("/types", "encryption", id="volume_type_id", name="")
    not_sent = (VOLUME_TYPE,)

    repeatable_create = True

    def handle_create(self) -> Any:
        self._type_id: str = self.client_plugin().get_volume_type(self.properties[self.VOLUME_TYPE])
        made = self.make({field: self.properties[field] for field in self.PROPERTIES if field != self.VOLUME_TYPE})
        self.resource_id_set(made[self.api_object.id])
        return made

    def send_creation(self, body: dict[str, Any]) -> dict[str, Any]:
        self.api.post("/types/%s/encryption" % self._type_id, json={"encryption": body})
        return {self.api_object.id: self._type_id}

    def find_physical(self) -> str | None:
        """The type, if it has an encryption: this one, since who had found another would have failed."""
        type_id = self.client_plugin().get_volume_type(self.properties[self.VOLUME_TYPE])
        made = self.data().get("perhaps_created") and self.api.get("/types/%s/encryption" % type_id)
        return type_id if made else None

    def object_path(self) -> str:
        return "/types/%s/encryption/provider" % self.resource_id

    def _show_resource(self) -> Any:
        return self.api.show("/types/%s/encryption" % self.resource_id, "")

    def get_live_resource_data(self) -> Any:
        found = super().get_live_resource_data()
        if not found:
            # Cinder answers with an empty object for a type without encryption.
            raise exception.EntityNotFound(entity="Resource", name=self.name)
        return found

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        live = {name: resource_data.get(name) for name in self.PROPERTIES if name != self.VOLUME_TYPE}
        return of_what_was_asked_for(resource_properties, live)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Cinder::EncryptedVolumeType": CinderEncryptedVolumeType}
