# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::KeyPair."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support, translation
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.kit.succession import is_anothers
from openkeel_heat.resources.nova.nova import NovaResource

TYPE_SINCE, USER_SINCE, PUBLIC_KEY_SINCE = "2.2", "2.10", "2.92"

Schema = properties.Schema


class KeyPair(NovaResource):
    """A key with which users sign in to servers.

    The public key is given. Services older than version 2.92 of the API make a pair if it is not; the private key of
    such a pair is told once only, and kept if ``save_private_key`` says so.
    """

    support_status = support.SupportStatus(version="2014.1")
    entity = "keypairs"
    # A key pair goes by its name.
    api_object = ApiObject("/os-keypairs", "keypair", id="name")
    renamed = {"user": "user_id"}
    not_sent = ("save_private_key",)
    repeatable_create = True

    PROPERTIES = (NAME, SAVE_PRIVATE_KEY, PUBLIC_KEY, KEY_TYPE, USER) = (
        "name", "save_private_key", "public_key", "type", "user",
    )  # fmt: skip

    ATTRIBUTES = (PUBLIC_KEY_ATTR, PRIVATE_KEY_ATTR) = ("public_key", "private_key")

    properties_schema = {
        NAME: Schema(
            Schema.STRING,
            _("Name of the key pair."),
            required=True,
            constraints=[constraints.Length(min=1, max=255)],
        ),
        SAVE_PRIVATE_KEY: Schema(
            Schema.BOOLEAN,
            _("Whether a private key that the service makes is kept, to be read as an attribute."),
            default=False,
        ),
        PUBLIC_KEY: Schema(
            Schema.STRING,
            _("The public key. It has to be given since version 2.92 of the compute API."),
        ),
        KEY_TYPE: Schema(
            Schema.STRING,
            _("What the key is for. Needs version 2.2 of the compute API."),
            constraints=[constraints.AllowedValues(["ssh", "x509"])],
            support_status=support.SupportStatus(version="8.0.0"),
        ),
        USER: Schema(
            Schema.STRING,
            _("Name or ID of the user whose key it is. For administrators; needs version 2.10 of the compute API."),
            constraints=[constraints.CustomConstraint("keystone.user")],
            support_status=support.SupportStatus(version="9.0.0"),
        ),
    }

    attributes_schema = {
        PUBLIC_KEY_ATTR: attributes.Schema(_("The public key."), type=attributes.Schema.STRING),
        PRIVATE_KEY_ATTR: attributes.Schema(
            _("The private key, if there is one that was kept."),
            cache_mode=attributes.Schema.CACHE_NONE,
            type=attributes.Schema.STRING,
        ),
    }

    def translation_rules(self, props: properties.Properties) -> list[translation.TranslationRule]:
        return [
            translation.TranslationRule(
                props,
                translation.TranslationRule.RESOLVE,
                [self.USER],
                client_plugin=self.client_plugin("keystone"),
                finder="get_user_id",
            )
        ]

    def validate(self) -> None:
        super().validate()
        supported = self.client_plugin().is_version_supported
        refused = [
            name
            for name, since in ((self.KEY_TYPE, TYPE_SINCE), (self.USER, USER_SINCE))
            if self.properties[name] and not supported(since)
        ]
        if refused:
            raise exception.StackValidationFailed(
                message=_('Cannot use "%s" properties - nova does not support required api microversion.') % refused
            )
        if not self.properties[self.PUBLIC_KEY] and supported(PUBLIC_KEY_SINCE):
            raise exception.StackValidationFailed(
                message=_("The public_key property is required by the nova API version currently used.")
            )

    def object_path(self) -> str:
        """With the user, where the key is not one of the user who is signed in."""
        path = super().object_path()
        user = self.properties[self.USER]
        return f"{path}?user_id={quote(user, safe='')}" if user else path

    def handle_create(self) -> Any:
        made = self.make(self.create_body(self.given_properties()))
        if self.properties[self.SAVE_PRIVATE_KEY] and made.get("private_key"):
            self.data_set("private_key", made["private_key"], True)
        self.resource_id_set(str(made["name"]))
        return made

    def send_creation(self, body: dict[str, Any]) -> dict[str, Any]:
        # The answer has the private key of a pair that the service makes.
        answer = self.api.post(self.collection_path(), json=self._envelope(body), log="public_key" in body)
        return self._unwrap(answer)

    def find_physical(self) -> str | None:
        """A key pair of that name with the very key; a private key that was not told is lost."""
        wanted = self.properties[self.PUBLIC_KEY]
        with self.client_plugin().ignore_not_found:
            known, self.record.nova_instance = self.record.nova_instance, self.properties[self.NAME]
            try:
                found = self._show_resource()
            finally:
                self.record.nova_instance = known
            return str(found["name"]) if wanted and _same_key(found["public_key"], wanted) else None
        return None

    def handle_check(self) -> Any:
        self.check_object()

    # --- what there is

    @property
    def private_key(self) -> str:
        return self.data().get("private_key", "") if self.properties[self.SAVE_PRIVATE_KEY] else ""

    @property
    def public_key(self) -> str | None:
        given = self.properties[self.PUBLIC_KEY]
        if given or not self.resource_id:
            return given
        return str(self.shown_recently()["public_key"])

    def _resolve_attribute(self, name: str) -> Any:
        return str(self.private_key if name == self.PRIVATE_KEY_ATTR else self.public_key)

    def get_reference_id(self) -> Any:
        return self.resource_id

    # --- its replacement has the same name

    def _whose(self) -> tuple[Any, ...]:
        return self.properties[self.NAME], self.properties[self.USER]

    def prepare_for_replace(self) -> None:
        if self.has_object():
            with self.client_plugin().ignore_not_found:
                self.api.delete(self.object_path())

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        """Take the key of the replacement away, and make that of before again, where it was given."""
        if self.resource_id is None or not self.properties[self.PUBLIC_KEY]:
            return
        with self.client_plugin().ignore_not_found:
            self.api.delete(self.object_path())
        self.send_creation(self.create_body(self.given_properties()))

    def handle_delete(self) -> Any:
        return None if is_anothers(self, KeyPair._whose) else super().handle_delete()


def _same_key(one: str, other: str) -> bool:
    """Whether two public keys are equal but for their comments."""
    return one.split()[:2] == other.split()[:2]


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Nova::KeyPair": KeyPair}
