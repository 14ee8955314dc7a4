# SPDX-License-Identifier: Apache-2.0
"""OS::Cinder::VolumeType."""

from __future__ import annotations

from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, support
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject, RestResource
from openkeel_heat.resources.kit.updates import of_what_was_asked_for
from openkeel_heat.resources.kit.work import Work


class CinderVolumeType(RestResource):
    """A type of volumes: what back ends have to offer for it, and who may use it.

    Only administrators may make one by the default policy of the service.
    """

    support_status = support.SupportStatus(version="2015.1")

    default_client_name = "cinder"
    entity = "volume_types"
    required_service_extension = "os-types-manage"

    PROPERTIES = (NAME, METADATA, IS_PUBLIC, DESCRIPTION, PROJECTS) = (
        "name",
        "metadata",
        "is_public",
        "description",
        "projects",
    )

    properties_schema = {
        NAME: Schema(Schema.STRING, _("Name of the type."), required=True, update_allowed=True),
        METADATA: Schema(Schema.MAP, _("Extra specs of the type."), update_allowed=True),
        IS_PUBLIC: Schema(
            Schema.BOOLEAN,
            _("Whether every project may use the type."),
            default=True,
            support_status=support.SupportStatus(version="5.0.0"),
            update_allowed=True,
        ),
        DESCRIPTION: Schema(
            Schema.STRING,
            _("Description of the type."),
            support_status=support.SupportStatus(version="5.0.0"),
            update_allowed=True,
        ),
        PROJECTS: Schema(
            Schema.LIST,
            _("Projects that may use a type which is not public."),
            support_status=support.SupportStatus(version="5.0.0"),
            update_allowed=True,
            default=[],
            schema=Schema(
                Schema.STRING,
                _("Name or id of a project."),
                constraints=[constraints.CustomConstraint("keystone.project")],
            ),
        ),
    }

    api_object = ApiObject("/types", "volume_type")
    renamed = {IS_PUBLIC: "os-volume-type-access:is_public"}
    not_sent = (METADATA, PROJECTS)

    repeatable_update = True

    # There is one type of each name.
    repairable = True

    def validate(self) -> Any:
        super().validate()
        if self.properties[self.PROJECTS] and self.properties[self.IS_PUBLIC]:
            raise exception.StackValidationFailed(
                message=_('Can not specify property "%s" if the volume type is public.') % self.PROJECTS
            )

    def find_physical(self) -> str | None:
        """The type of that name: there is one at most. Not asked of Cinder with a filter, which it would ignore."""
        name = self.properties[self.NAME]
        for one in self.api.list("/types", "volume_types", {"is_public": "None"}):
            if one["name"] == name and self.data().get("perhaps_created"):
                return str(one["id"])
        return None

    # create
    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        if self.properties[self.METADATA]:
            self._set_specs(self.properties[self.METADATA])
        if self.properties[self.PROJECTS]:
            self._grant(self._project_ids(self.properties[self.PROJECTS]) - self._granted())
        return True

    def _set_specs(self, specs: dict[str, Any]) -> None:
        self.api.post(self.object_path() + "/extra_specs", json={"extra_specs": specs})

    def _specs(self) -> dict[str, Any]:
        return self.api.show(self.object_path() + "/extra_specs", "extra_specs")

    # projects
    def _project_ids(self, projects: list[str] | None) -> set[str]:
        find = self.client_plugin("keystone").get_project_id
        return {find(project) for project in projects or ()}

    def _granted(self) -> set[str]:
        """Projects that may use a type which is not public."""
        listed = self.api.list(self.object_path() + "/os-volume-type-access", "volume_type_access")
        return {one["project_id"] for one in listed}

    def _grant(self, project_ids: set[str], action: str = "addProjectAccess") -> None:
        for project_id in sorted(project_ids):
            self.api.post(self.object_path() + "/action", json={action: {"project": project_id}})

    # update
    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Work:
        fields = {name: prop_diff[name] for name in (self.NAME, self.DESCRIPTION, self.IS_PUBLIC) if name in prop_diff}
        if self.DESCRIPTION in fields and fields[self.DESCRIPTION] is None:
            # Cinder takes null for a field that is not to be changed.
            fields[self.DESCRIPTION] = ""
        steps: list[Any] = []
        if fields:
            steps.append(lambda: self.change(fields))
        if self.METADATA in prop_diff:
            steps.append(lambda: self._replace_specs(prop_diff[self.METADATA] or {}))
        public = prop_diff.get(self.IS_PUBLIC, self.properties[self.IS_PUBLIC])
        if self.PROJECTS in prop_diff and not public:
            steps.append(lambda: self._replace_projects(prop_diff[self.PROJECTS]))
        return Work(*steps)

    def check_update_complete(self, work: Work) -> bool:
        return work.go_on()

    def _replace_specs(self, specs: dict[str, Any]) -> None:
        for key in sorted(self._specs().keys() - specs.keys()):
            with self.client_plugin().ignore_not_found:
                self.api.delete("%s/extra_specs/%s" % (self.object_path(), key))
        if specs:
            self._set_specs(specs)

    def _replace_projects(self, projects: list[str] | None) -> None:
        granted, wanted = self._granted(), self._project_ids(projects)
        self._grant(granted - wanted, "removeProjectAccess")
        self._grant(wanted - granted)

    # live state
    def get_live_resource_data(self) -> Any:
        """The type with its specs and projects, which are objects of their own."""
        shown = super().get_live_resource_data()
        projects = [] if shown["is_public"] else sorted(self._granted())
        return {**shown, self.METADATA: self._specs(), self.PROJECTS: projects}

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        live = {name: resource_data.get(name) for name in self.PROPERTIES}
        asked = resource_properties.get(self.PROJECTS)
        if set(live[self.PROJECTS]) == self._project_ids(asked):
            live[self.PROJECTS] = asked
        return of_what_was_asked_for(resource_properties, live)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Cinder::VolumeType": CinderVolumeType}
