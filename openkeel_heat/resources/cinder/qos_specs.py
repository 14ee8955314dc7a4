# SPDX-License-Identifier: Apache-2.0
"""OS::Cinder::QoSSpecs and OS::Cinder::QoSAssociation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, support, translation
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject, RestResource
from openkeel_heat.resources.kit.succession import as_it_was_made, others_that_stay
from openkeel_heat.resources.kit.work import Work


class QoSSpecs(RestResource):
    """What a volume gets of the storage: operations per second, bandwidth, ….

    Only administrators may make them by the default policy of the service.
    """

    support_status = support.SupportStatus(version="7.0.0")

    default_client_name = "cinder"
    entity = "qos_specs"
    required_service_extension = "qos-specs"

    PROPERTIES = (NAME, SPECS) = ("name", "specs")

    properties_schema = {
        NAME: Schema(Schema.STRING, _("Name of the specs.")),
        SPECS: Schema(Schema.MAP, _("Keys and values of the specs."), required=True, update_allowed=True),
    }

    api_object = ApiObject("/qos-specs", "qos_specs", keys="qos_specs")

    repeatable_update = True

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        return {"name": props.get(self.NAME) or self.physical_resource_name(), **props[self.SPECS]}

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Work:
        after, before = prop_diff.get(self.SPECS) or {}, self.properties[self.SPECS]
        changed = {key: value for key, value in after.items() if key not in before or before[key] != value}
        dropped = sorted(before.keys() - after.keys())
        steps: list[Any] = []
        if changed:
            steps.append(lambda: self.change(changed))
        if dropped:
            steps.append(lambda: self._drop(dropped))
        return Work(*steps)

    def check_update_complete(self, work: Work) -> bool:
        return work.go_on()

    def _drop(self, keys: list[str]) -> None:
        # What is dropped already, by an engine that died, is not found.
        with self.client_plugin().ignore_not_found:
            self.api.put(self.object_path() + "/delete_keys", json={"keys": keys})

    def handle_delete(self) -> None:
        """Without its volume types: Cinder deletes no specs that have some."""
        if self.has_object():
            with self.client_plugin().ignore_not_found:
                self.api.get(self.object_path() + "/disassociate_all")
                self.api.delete(self.object_path(), params={"force": "False"})


class QoSAssociation(Resource):
    """QoS specs that volume types have.

    Only administrators may give them by the default policy of the service.
    """

    support_status = support.SupportStatus(version="8.0.0")

    default_client_name = "cinder"
    required_service_extension = "qos-specs"

    PROPERTIES = (QOS_SPECS, VOLUME_TYPES) = ("qos_specs", "volume_types")

    properties_schema = {
        QOS_SPECS: Schema(
            Schema.STRING,
            _("Name or id of the QoS specs."),
            required=True,
            constraints=[constraints.CustomConstraint("cinder.qos_specs")],
        ),
        VOLUME_TYPES: Schema(
            Schema.LIST,
            _("Volume types that get them."),
            required=True,
            update_allowed=True,
            schema=Schema(
                Schema.STRING,
                _("Name or id of a volume type."),
                constraints=[constraints.CustomConstraint("cinder.vtype")],
            ),
        ),
    }

    # A type has one set of specs at most, and to be given it twice is no error.
    repeatable_create = True
    repeatable_update = True

    def translation_rules(self, props: Properties) -> list[translation.TranslationRule]:
        resolve, plugin = translation.TranslationRule.RESOLVE, self.client_plugin()
        return [
            translation.TranslationRule(
                props, resolve, [self.VOLUME_TYPES], client_plugin=plugin, finder="get_volume_type"
            ),
            translation.TranslationRule(props, resolve, [self.QOS_SPECS], client_plugin=plugin, finder="get_qos_specs"),
        ]

    def _call(self, action: str, volume_types: Iterable[str]) -> None:
        path = "/qos-specs/%s/%s" % (self.properties[self.QOS_SPECS], action)
        for volume_type in volume_types:
            self.client_plugin().api.get(path, params={"vol_type_id": volume_type})

    def handle_create(self) -> None:
        self._call("associate", self.properties[self.VOLUME_TYPES])
        self.resource_id_set(self.uuid)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        after, before = set(prop_diff.get(self.VOLUME_TYPES) or ()), set(self.properties[self.VOLUME_TYPES])
        self._call("associate", sorted(after - before))
        self._call("disassociate", sorted(before - after))

    def _pairs(self) -> set[tuple[str, str]]:
        return {(self.properties[self.QOS_SPECS], volume_type) for volume_type in self.properties[self.VOLUME_TYPES]}

    def _disassociate(self, volume_types: Iterable[str]) -> None:
        for volume_type in sorted(volume_types):
            with self.client_plugin().ignore_not_found:
                self._call("disassociate", [volume_type])

    def handle_delete(self) -> None:
        others = {pair for other in others_that_stay(self) for pair in other._pairs()}
        self._disassociate(volume_type for _specs, volume_type in self._pairs() - others)

    # Cinder gives no other specs to a volume type that has some.
    def prepare_for_replace(self) -> None:
        if self.resource_id is not None:
            with as_it_was_made(self):
                self._disassociate(self.properties[self.VOLUME_TYPES])

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        for other in others_that_stay(self, half_made=True):
            other._disassociate(other.properties[self.VOLUME_TYPES])
        if self.resource_id is not None:
            with as_it_was_made(self):
                self._call("associate", self.properties[self.VOLUME_TYPES])


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Cinder::QoSSpecs": QoSSpecs, "OS::Cinder::QoSAssociation": QoSAssociation}
