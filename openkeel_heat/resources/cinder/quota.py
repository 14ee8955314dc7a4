# SPDX-License-Identifier: Apache-2.0
"""OS::Cinder::Quota."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, support, translation
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.succession import is_anothers
from openkeel_heat.resources.kit.updates import of_what_was_asked_for

_LATER = support.SupportStatus(version="16.0.0")


def _limit(description: str, support_status: support.SupportStatus = support.PLAIN) -> Schema:
    return Schema(
        Schema.INTEGER,
        description,
        constraints=[constraints.Range(min=-1)],
        support_status=support_status,
        update_allowed=True,
    )


class CinderQuota(Resource):
    """What a project may have of block storage; -1 is without limit.

    Only administrators may say so by the default policy of the service. A project has one quota, so there should be
    one such resource for it.
    """

    support_status = support.SupportStatus(version="7.0.0")

    default_client_name = "cinder"
    entity = "quotas"
    required_service_extension = "os-quota-sets"

    PROPERTIES = (PROJECT, GIGABYTES, VOLUMES, BACKUPS, BACKUPS_GIGABYTES, SNAPSHOTS) = (
        "project",
        "gigabytes",
        "volumes",
        "backups",
        "backup_gigabytes",
        "snapshots",
    )

    properties_schema = {
        PROJECT: Schema(
            Schema.STRING,
            _("Name or id of the project."),
            required=True,
            constraints=[constraints.CustomConstraint("keystone.project")],
        ),
        GIGABYTES: _limit(_("Gigabytes of volumes and snapshots.")),
        VOLUMES: _limit(_("Number of volumes.")),
        BACKUPS: _limit(_("Number of backups."), _LATER),
        BACKUPS_GIGABYTES: _limit(_("Gigabytes of backups."), _LATER),
        SNAPSHOTS: _limit(_("Number of snapshots.")),
    }

    # Quota → the collections that use it, and whether it counts them or their sizes.
    _USERS = {
        GIGABYTES: (("volumes", "snapshots"), True),
        VOLUMES: (("volumes",), False),
        BACKUPS: (("backups",), False),
        BACKUPS_GIGABYTES: (("backups",), True),
        SNAPSHOTS: (("snapshots",), False),
    }

    # A quota is set, not made.
    repeatable_create = True
    repeatable_update = True

    def translation_rules(self, props: Properties) -> list[translation.TranslationRule]:
        return [
            translation.TranslationRule(
                props,
                translation.TranslationRule.RESOLVE,
                [self.PROJECT],
                client_plugin=self.client_plugin("keystone"),
                finder="get_project_id",
            )
        ]

    def validate(self) -> Any:
        super().validate()
        if all(self.properties[name] is None for name in self._USERS):
            raise exception.PropertyUnspecifiedError(
                self.GIGABYTES, self.SNAPSHOTS, self.VOLUMES, self.BACKUPS, self.BACKUPS_GIGABYTES
            )

    def handle_create(self) -> None:
        self._set_quota(self.properties)
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> None:
        self._set_quota(json_snippet.properties(self.properties_schema, self.context))

    def _show_resource(self) -> Any:
        return self.client_plugin().api.show(self._path(self.properties[self.PROJECT]), "quota_set")

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        found = super().parse_live_resource_data(resource_properties, resource_data)
        return of_what_was_asked_for(resource_properties, found)

    def _path(self, project: str) -> str:
        return "/os-quota-sets/%s" % project

    def _set_quota(self, props: Mapping[str, Any]) -> None:
        limits = {name: props[name] for name in self._USERS if props[name] is not None}
        project = props[self.PROJECT]
        self.validate_quotas(project, **limits)
        self.client_plugin().api.put(self._path(project), json={"quota_set": {"tenant_id": project, **limits}})

    def validate_quotas(self, project: str, **limits: int) -> None:
        """A limit below what is used already is refused."""
        listed: dict[str, list[dict[str, Any]]] = {}
        for name, limit in limits.items():
            if limit == -1:
                continue
            collections, by_size = self._USERS[name]
            for collection in collections:
                if collection not in listed:
                    listed[collection] = self._objects(collection, project)
            objects = [one for collection in collections for one in listed[collection]]
            self._validate_quota(name, limit, sum(one["size"] for one in objects) if by_size else len(objects))

    def _objects(self, collection: str, project: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client_plugin().api.list(
            "/%s/detail" % collection, collection, {"all_tenants": "True", "project_id": project}
        )
        return found

    @classmethod
    def _validate_quota(cls, quota_property: str, quota_size: int, total_size: int) -> None:
        if quota_size < total_size:
            raise ValueError(
                _(
                    "Invalid quota %(property)s value(s): %(value)s. Can not be less than the current usage "
                    "value(s): %(total)s."
                )
                % {"property": quota_property, "value": quota_size, "total": total_size}
            )

    def handle_delete(self) -> None:
        if is_anothers(self, lambda quota: quota.properties[self.PROJECT]):
            return
        with self.client_plugin().ignore_not_found:
            self.client_plugin().api.delete(self._path(self.properties[self.PROJECT]))


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Cinder::Quota": CinderQuota}
