# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::Flavor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oslo_log import log as logging

from openkeel_heat.clients import nova as nova_client
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints, properties, support, translation
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.kit.updates import of_what_was_asked_for
from openkeel_heat.resources.nova.nova import NovaResource

LOG = logging.getLogger(__name__)

Schema = properties.Schema


class NovaFlavor(NovaResource):
    """A size of servers. Normally only administrators may make one."""

    support_status = support.SupportStatus(version="2014.2")
    entity = "flavors"
    api_object = ApiObject("/flavors", "flavor", list_path="/flavors/detail")
    list_params = {"is_public": "None"}
    renamed = {
        "flavorid": "id",
        "ephemeral": "OS-FLV-EXT-DATA:ephemeral",
        "is_public": "os-flavor-access:is_public",
    }
    not_sent = ("tenants", "extra_specs")
    repeatable_update = True
    # Its name and id are there once.
    repairable = True

    PROPERTIES = (
        TENANTS, ID, NAME, RAM, VCPUS, DISK, SWAP, EPHEMERAL, RXTX_FACTOR, EXTRA_SPECS, IS_PUBLIC,
    ) = (
        "tenants", "flavorid", "name", "ram", "vcpus", "disk", "swap", "ephemeral", "rxtx_factor", "extra_specs",
        "is_public",
    )  # fmt: skip

    ATTRIBUTES = (IS_PUBLIC_ATTR, EXTRA_SPECS_ATTR) = ("is_public", "extra_specs")

    properties_schema = {
        TENANTS: Schema(
            Schema.LIST,
            _("Projects that may use a flavor which is not public; if none is given, that of the stack."),
            default=[],
            schema=Schema(Schema.STRING, constraints=[constraints.CustomConstraint("keystone.project")]),
            support_status=support.SupportStatus(version="8.0.0"),
            update_allowed=True,
        ),
        ID: Schema(
            Schema.STRING,
            _("ID of the flavor; if not given, a UUID."),
            support_status=support.SupportStatus(version="7.0.0"),
        ),
        NAME: Schema(
            Schema.STRING,
            _("Name of the flavor."),
            support_status=support.SupportStatus(version="7.0.0"),
        ),
        RAM: Schema(Schema.INTEGER, _("Memory in MB."), required=True),
        VCPUS: Schema(Schema.INTEGER, _("Number of processors."), required=True),
        DISK: Schema(
            Schema.INTEGER,
            _("Size of the root disk in GB. 0 stands for the size of the image."),
            default=0,
        ),
        SWAP: Schema(Schema.INTEGER, _("Swap space in MB."), default=0),
        EPHEMERAL: Schema(Schema.INTEGER, _("Size of an additional disk in GB."), default=0),
        RXTX_FACTOR: Schema(Schema.NUMBER, _("Factor of the network bandwidth."), default=1.0),
        EXTRA_SPECS: Schema(
            Schema.MAP,
            _("What else servers of the flavor have or need, as keys and values."),
            update_allowed=True,
        ),
        IS_PUBLIC: Schema(
            Schema.BOOLEAN,
            _("Whether all projects may use the flavor."),
            default=True,
            support_status=support.SupportStatus(version="6.0.0"),
        ),
    }

    attributes_schema = {
        IS_PUBLIC_ATTR: attributes.Schema(
            _("Whether all projects may use the flavor."),
            type=attributes.Schema.BOOLEAN,
            support_status=support.SupportStatus(version="6.0.0"),
        ),
        EXTRA_SPECS_ATTR: attributes.Schema(
            _("The extra specs."),
            type=attributes.Schema.MAP,
            support_status=support.SupportStatus(version="7.0.0"),
        ),
    }

    attribute_fields = {IS_PUBLIC_ATTR: "os-flavor-access:is_public"}

    def translation_rules(self, props: properties.Properties) -> list[translation.TranslationRule]:
        return [
            translation.TranslationRule(
                props,
                translation.TranslationRule.RESOLVE,
                [self.TENANTS],
                client_plugin=self.client_plugin("keystone"),
                finder="get_project_id",
            )
        ]

    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        body = super().create_body(props)
        # The name of old for an id that Nova chooses.
        if body.get("id") in ("", "auto"):
            del body["id"]
        nova_client.forget_flavors()
        return body

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        if self.properties[self.EXTRA_SPECS]:
            self._set_extra_specs(self.properties[self.EXTRA_SPECS])
        if not self.properties[self.IS_PUBLIC]:
            projects = self.properties[self.TENANTS]
            if not projects:
                LOG.info("Private flavor %s is for the project of its stack", self.resource_id)
            for project in projects or [self.stack.context.project_id]:
                self._allow(project)
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if self.EXTRA_SPECS in prop_diff:
            wanted = prop_diff[self.EXTRA_SPECS] or {}
            for key in self._extra_specs().keys() - wanted.keys():
                with self.client_plugin().ignore_not_found:
                    self.api.delete(f"{self.object_path()}/os-extra_specs/{key}")
            if wanted:
                self._set_extra_specs(wanted)
        if self.TENANTS in prop_diff and not self.properties[self.IS_PUBLIC]:
            self._allow_only(prop_diff[self.TENANTS] or [])

    def handle_delete(self) -> Any:
        nova_client.forget_flavors()
        return super().handle_delete()

    # --- extra specs and who may use it

    def _extra_specs(self) -> dict[str, Any]:
        return self.api.show(f"{self.object_path()}/os-extra_specs", "extra_specs")

    def _set_extra_specs(self, wanted: dict[str, Any]) -> None:
        self.api.post(f"{self.object_path()}/os-extra_specs", json={"extra_specs": wanted})

    def _allow(self, project: str) -> None:
        with self.client_plugin().ignore_conflict_and_not_found:
            self.api.post(f"{self.object_path()}/action", json={"addTenantAccess": {"tenant": project}})

    def _allowed(self) -> list[str]:
        listed = self.api.list(f"{self.object_path()}/os-flavor-access", "flavor_access")
        return [one["tenant_id"] for one in listed]

    def _allow_only(self, projects: Iterable[str]) -> None:
        present = set(self._allowed())
        wanted = set(projects)
        for project in present - wanted:
            with self.client_plugin().ignore_conflict_and_not_found:
                self.api.post(f"{self.object_path()}/action", json={"removeTenantAccess": {"tenant": project}})
        for project in wanted - present:
            self._allow(project)

    # --- what there is

    def _resolve_attribute(self, name: str) -> Any:
        if self.resource_id is not None and name == self.EXTRA_SPECS_ATTR:
            return self._extra_specs()
        return super()._resolve_attribute(name)

    def get_live_resource_data(self) -> Any:
        found = super().get_live_resource_data()
        if found is None:
            return None
        live: dict[str, Any] = {self.EXTRA_SPECS: self._extra_specs()}
        if self.properties[self.TENANTS] and not self.properties[self.IS_PUBLIC]:
            live[self.TENANTS] = self._allowed()
        return live

    def parse_live_resource_data(self, resource_properties: properties.Properties, resource_data: Any) -> Any:
        asked = resource_properties.get(self.TENANTS) or []
        if set(resource_data.get(self.TENANTS, ())) == set(asked):
            resource_data = {**resource_data, self.TENANTS: asked}  # they have no order
        return of_what_was_asked_for(resource_properties, resource_data)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Nova::Flavor": NovaFlavor}
