# SPDX-License-Identifier: Apache-2.0
"""OS::Nova::HostAggregate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import constraints, properties, support
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject
from openkeel_heat.resources.kit.updates import of_what_was_asked_for
from openkeel_heat.resources.nova.nova import NovaResource

Schema = properties.Schema


class HostAggregate(NovaResource):
    """Hosts that have something in common, which the scheduler can go by.

    Metadata say what it is. With an availability zone users can choose the hosts. A host may be in several aggregates.
    Normally only administrators may make one.
    """

    support_status = support.SupportStatus(version="6.0.0")
    entity = "aggregates"
    api_object = ApiObject("/os-aggregates", "aggregate")
    not_sent = ("hosts", "metadata")
    repeatable_update = True
    # There is one aggregate of each name.
    repairable = True

    PROPERTIES = (NAME, AVAILABILITY_ZONE, HOSTS, METADATA) = ("name", "availability_zone", "hosts", "metadata")

    properties_schema = {
        NAME: Schema(Schema.STRING, _("Name of the aggregate."), required=True, update_allowed=True),
        AVAILABILITY_ZONE: Schema(
            Schema.STRING,
            _("Name of the availability zone that the hosts make."),
            update_allowed=True,
        ),
        HOSTS: Schema(
            Schema.LIST,
            _("Names of the hosts."),
            update_allowed=True,
            schema=Schema(Schema.STRING, constraints=[constraints.CustomConstraint("nova.host")]),
        ),
        METADATA: Schema(
            Schema.MAP,
            _("Keys and values for the scheduler."),
            default={},
            update_allowed=True,
        ),
    }

    def check_create_complete(self, made: Any) -> bool:
        if not super().check_create_complete(made):
            return False
        if self.properties[self.METADATA]:
            self._act("set_metadata", metadata=self.properties[self.METADATA])
        self._add(self.properties[self.HOSTS] or ())
        return True

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Any:
        if self.HOSTS in prop_diff:
            present, wanted = set(self._show_resource()["hosts"]), set(prop_diff[self.HOSTS] or ())
            self._add(wanted - present)
            self._remove(present - wanted)
        if self.METADATA in prop_diff:
            metadata = prop_diff[self.METADATA] or {}
            gone = dict.fromkeys((self.properties[self.METADATA] or {}).keys() - metadata.keys())
            if gone or metadata:
                self._act("set_metadata", metadata={**gone, **metadata})
        body = self.update_body(prop_diff)
        return self.change(body) if body else None

    def handle_delete(self) -> Any:
        """Nova deletes only what has no hosts."""
        if not self.has_object():
            return None
        with self.client_plugin().ignore_not_found:
            self._remove(self._show_resource()["hosts"])
        return super().handle_delete()

    def _act(self, action: str, **arguments: Any) -> None:
        self.api.post(f"{self.object_path()}/action", json={action: arguments})

    def _add(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            try:
                self._act("add_host", host=host)
            except Exception as error:
                # There already; or in another availability zone.
                if not self.client_plugin().is_conflict(error) or host not in self._show_resource()["hosts"]:
                    raise

    def _remove(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            with self.client_plugin().ignore_not_found:
                self._act("remove_host", host=host)

    def parse_live_resource_data(self, resource_properties: properties.Properties, resource_data: Any) -> Any:
        found = {key: resource_data.get(key) for key in self.PROPERTIES}
        # Nova keeps the zone among the metadata.
        found[self.METADATA] = {
            key: value for key, value in (found[self.METADATA] or {}).items() if key != self.AVAILABILITY_ZONE
        }
        asked = resource_properties.get(self.HOSTS)
        if sorted(found[self.HOSTS] or ()) == sorted(asked or ()):
            found[self.HOSTS] = asked
        return of_what_was_asked_for(resource_properties, found)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Nova::HostAggregate": HostAggregate}
