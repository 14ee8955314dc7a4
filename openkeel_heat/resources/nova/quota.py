# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::Quota."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support, translation
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.succession import is_anothers
from openkeel_heat.resources.kit.updates import of_what_was_asked_for

#: Quotas that newer versions of the API do not know, and the last version that does.
_NETWORK_UNTIL, _FILES_UNTIL = "2.35", "2.56"
_KNOWN_UNTIL = {
    "fixed_ips": _NETWORK_UNTIL,
    "floating_ips": _NETWORK_UNTIL,
    "security_groups": _NETWORK_UNTIL,
    "security_group_rules": _NETWORK_UNTIL,
    "injected_files": _FILES_UNTIL,
    "injected_file_content_bytes": _FILES_UNTIL,
    "injected_file_path_bytes": _FILES_UNTIL,
}

_of_files = support.SupportStatus(
    status=support.DEPRECATED,
    version="14.0.0",
    message=_("Nova does not write files into servers any more, and will not have this quota in the future."),
)


def _limit(what: str, support_status: support.SupportStatus = support.PLAIN) -> properties.Schema:
    return properties.Schema(
        properties.Schema.INTEGER,
        what,
        constraints=[constraints.Range(min=-1)],
        update_allowed=True,
        support_status=support_status,
    )


class NovaQuota(Resource):
    """The limits of a project in the compute service, -1 for none.

    Normally only administrators may set them. There should be one such resource for a project: the last one that is
    changed wins, and each that is deleted gives the project the limits back that all have.
    """

    support_status = support.SupportStatus(version="8.0.0")
    default_client_name = "nova"
    entity = "quotas"
    repeatable_create = True
    repeatable_update = True

    PROPERTIES = (
        PROJECT, CORES, FIXED_IPS, FLOATING_IPS, INSTANCES, INJECTED_FILES, INJECTED_FILE_CONTENT_BYTES,
        INJECTED_FILE_PATH_BYTES, KEYPAIRS, METADATA_ITEMS, RAM, SECURITY_GROUPS, SECURITY_GROUP_RULES,
        SERVER_GROUPS, SERVER_GROUP_MEMBERS,
    ) = (
        "project", "cores", "fixed_ips", "floating_ips", "instances", "injected_files", "injected_file_content_bytes",
        "injected_file_path_bytes", "key_pairs", "metadata_items", "ram", "security_groups", "security_group_rules",
        "server_groups", "server_group_members",
    )  # fmt: skip

    properties_schema = {
        PROJECT: properties.Schema(
            properties.Schema.STRING,
            _("Name or ID of the project."),
            required=True,
            constraints=[constraints.CustomConstraint("keystone.project")],
        ),
        CORES: _limit(_("Number of processors.")),
        FIXED_IPS: _limit(_("Number of fixed addresses.")),
        FLOATING_IPS: _limit(_("Number of floating IPs.")),
        INSTANCES: _limit(_("Number of servers.")),
        INJECTED_FILES: _limit(_("Number of files that are written into a server."), _of_files),
        INJECTED_FILE_CONTENT_BYTES: _limit(_("Bytes of a file that is written into a server."), _of_files),
        INJECTED_FILE_PATH_BYTES: _limit(_("Bytes of the name of such a file."), _of_files),
        KEYPAIRS: _limit(_("Number of key pairs.")),
        METADATA_ITEMS: _limit(_("Number of metadata of a server.")),
        RAM: _limit(_("Memory in MB.")),
        SECURITY_GROUPS: _limit(_("Number of security groups.")),
        SECURITY_GROUP_RULES: _limit(_("Number of rules of security groups.")),
        SERVER_GROUPS: _limit(_("Number of server groups.")),
        SERVER_GROUP_MEMBERS: _limit(_("Number of servers in a group.")),
    }

    def translation_rules(self, props: properties.Properties) -> list[translation.TranslationRule]:
        return [
            translation.TranslationRule(
                props,
                translation.TranslationRule.RESOLVE,
                [self.PROJECT],
                client_plugin=self.client_plugin("keystone"),
                finder="get_project_id",
            )
        ]

    def validate(self) -> None:
        super().validate()
        if sum(value is not None for value in self.properties.values()) <= 1:
            raise exception.PropertyUnspecifiedError(*sorted(set(self.PROPERTIES) - {self.PROJECT}))

    def _path(self, props: Any) -> str:
        return f"/os-quota-sets/{quote(props[self.PROJECT], safe='')}"

    def _set(self, props: Any) -> None:
        limits = {name: value for name, value in props.items() if name != self.PROJECT and value is not None}
        # The oldest of them is known by the version that knows all.
        microversion = min((_KNOWN_UNTIL[name] for name in limits if name in _KNOWN_UNTIL), default=None)
        self.client_plugin().api.put(self._path(props), json={"quota_set": limits}, microversion=microversion)

    def handle_create(self) -> Any:
        self._set(self.properties)
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        self._set(json_snippet.properties(self.properties_schema, self.context))

    def handle_delete(self) -> Any:
        if is_anothers(self, lambda quota: quota.properties[self.PROJECT]):
            return
        with self.client_plugin().ignore_not_found:
            self.client_plugin().api.delete(self._path(self.properties))

    def _show_resource(self) -> Any:
        return self.client_plugin().api.show(self._path(self.properties), "quota_set")

    def parse_live_resource_data(self, resource_properties: properties.Properties, resource_data: Any) -> Any:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        return of_what_was_asked_for(resource_properties, found)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Nova::Quota": NovaQuota}
