# SPDX-License-Identifier: Apache-2.0
"""OS::Glance::WebImage, and OS::Glance::Image of which nothing is left but its name.

An image is made empty; then the service is told from where to fetch its contents, and works on that alone. What it
fails of it keeps with its tasks: the image goes back to being empty, as if it had not been told yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from openkeel_heat.clients import polling
from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.glance import image_schema as schema
from openkeel_heat.resources.heat.none_resource import NoneResource
from openkeel_heat.resources.kit import support
from openkeel_heat.resources.kit.properties import Properties
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.rest import ApiObject, RestResource
from openkeel_heat.resources.kit.work import Step, Work

PATCH = {"Content-Type": "application/openstack-images-v2.1-json-patch"}

#: States in which an image waits for its contents.
EMPTY = ("queued",)
BUSY = ("saving", "importing", "uploading")


class GlanceWebImage(RestResource):
    """An image whose contents the service fetches from the web."""

    support_status = support.SupportStatus(version="12.0.0")

    default_client_name = "glance"
    entity = "images"

    PROPERTIES = schema.PROPERTIES

    NAME = schema.NAME
    IMAGE_ID = schema.IMAGE_ID
    MIN_DISK = schema.MIN_DISK
    MIN_RAM = schema.MIN_RAM
    PROTECTED = schema.PROTECTED
    DISK_FORMAT = schema.DISK_FORMAT
    CONTAINER_FORMAT = schema.CONTAINER_FORMAT
    LOCATION = schema.LOCATION
    TAGS = schema.TAGS
    ARCHITECTURE = schema.ARCHITECTURE
    KERNEL_ID = schema.KERNEL_ID
    OS_DISTRO = schema.OS_DISTRO
    OS_VERSION = schema.OS_VERSION
    OWNER = schema.OWNER
    EXTRA_PROPERTIES = schema.EXTRA_PROPERTIES
    VISIBILITY = schema.VISIBILITY
    RAMDISK_ID = schema.RAMDISK_ID
    ACTIVE = schema.ACTIVE
    MEMBERS = schema.MEMBERS

    properties_schema = schema.PROPERTIES_SCHEMA

    api_object = ApiObject("/v2/images", "", keys="images", status="status", slow_delete=False)
    not_sent = (schema.LOCATION, schema.EXTRA_PROPERTIES, schema.ACTIVE, schema.MEMBERS)

    repeatable_create = True
    repeatable_update = True

    # validation
    def validate(self) -> Any:
        super().validate()
        props = self.properties
        container_format = props[self.CONTAINER_FORMAT]
        if container_format in ("ami", "ari", "aki") and props[self.DISK_FORMAT] != container_format:
            raise exception.StackValidationFailed(
                message=_(
                    "Invalid mix of disk and container formats. When setting a disk or container format to one of "
                    "'aki', 'ari', or 'ami', the container and disk formats must match."
                )
            )
        if props[self.MEMBERS] and props[self.VISIBILITY] != "shared":
            raise exception.ResourcePropertyValueDependency(prop1=self.MEMBERS, prop2=self.VISIBILITY, value="shared")

    # create
    def create_body(self, props: dict[str, Any]) -> dict[str, Any]:
        return {**self.fields(props), **props[self.EXTRA_PROPERTIES]}

    def handle_create(self) -> Work:
        made = self.make(self.create_body(self.given_properties()))
        self.resource_id_set(str(made["id"]))
        return self._filling()

    def _filling(self, again: bool = False) -> Work:
        begin = self._resume_import if again else self._start_import
        return Work(self._add_members, begin, self._is_imported, self._deactivate_if_wanted)

    def handler_data_on_resume(self, action: str) -> Work:
        return self._filling(again=True)

    def check_create_complete(self, work: Work) -> bool:
        return work.go_on()

    def _add_members(self) -> None:
        if self.properties[self.MEMBERS]:
            self._change_members(set(self.properties[self.MEMBERS]) - self._members())

    def _start_import(self) -> None:
        method = {"name": "web-download", "uri": self.properties[self.LOCATION]}
        self.api.post(self.object_path() + "/import", json={"method": method})

    def _resume_import(self) -> None:
        if self._show_resource()["status"] in EMPTY and not self._tasks():
            self._start_import()

    def _is_imported(self) -> bool:
        shown = self.observe()
        status = shown["status"]
        if status in EMPTY:
            self._raise_if_failed(status)
            return False
        if status in BUSY:
            return False
        if status == "killed":
            raise exception.ResourceInError(resource_status=status)
        return status == "active" or (status == "deactivated" and not self.properties[self.ACTIVE])

    def _tasks(self) -> list[dict[str, Any]]:
        with self.client_plugin().ignore_not_found:  # services before 2.17 do not tell
            return self.api.list(self.object_path() + "/tasks", "tasks")
        return []

    def _raise_if_failed(self, status: str) -> None:
        for task in self._tasks():
            if task["status"] == "failure":
                raise exception.ResourceInError(resource_status=status, status_reason=task["message"])

    def _deactivate_if_wanted(self) -> None:
        if not self.properties[self.ACTIVE]:
            self._act("deactivate")

    def _act(self, action: str) -> None:
        self.api.post("%s/actions/%s" % (self.object_path(), action))

    # members
    def _members(self) -> set[str]:
        """Projects that may use it; asked for only where the template has some."""
        if self.properties[self.VISIBILITY] != "shared":
            return set()
        return {one["member_id"] for one in self.api.list(self.object_path() + "/members", "members")}

    def _change_members(self, added: set[str], removed: set[str] | frozenset[str] = frozenset()) -> None:
        for member in sorted(added):
            self.api.post(self.object_path() + "/members", json={"member": member})
        for member in sorted(removed):
            with self.client_plugin().ignore_not_found:
                self.api.delete("%s/members/%s" % (self.object_path(), member))

    # update
    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> Work:
        steps: list[Step] = []
        active = prop_diff.get(self.ACTIVE)
        if active is False:
            steps.append(lambda: self._act("deactivate"))
        if self.TAGS in prop_diff:
            steps.append(lambda: self._change_tags(prop_diff[self.TAGS]))
        # Only a shared image has members: they go before it is shared no more, or come when it is.
        shared = self.properties[self.VISIBILITY] == "shared"
        if self.MEMBERS in prop_diff and shared:
            steps.append(lambda: self._replace_members(prop_diff[self.MEMBERS]))
        if set(prop_diff) - {self.ACTIVE, self.TAGS, self.MEMBERS}:
            steps.append(lambda: self._patch(prop_diff))
        if self.MEMBERS in prop_diff and not shared:
            steps.append(lambda: self._replace_members(prop_diff[self.MEMBERS]))
        if active:
            steps.append(lambda: self._act("reactivate"))
        return Work(*steps)

    def check_update_complete(self, work: Work) -> bool:
        return work.go_on()

    def _change_tags(self, tags: list[str] | None) -> None:
        after, before = set(tags or ()), set(self.properties[self.TAGS] or ())
        for tag in sorted(after - before):
            self.api.put(self._tag_path(tag))
        for tag in sorted(before - after):
            with self.client_plugin().ignore_not_found:
                self.api.delete(self._tag_path(tag))

    def _tag_path(self, tag: str) -> str:
        return "%s/tags/%s" % (self.object_path(), quote(tag, safe=""))

    def _patch(self, prop_diff: Mapping[str, Any]) -> None:
        """Bring the fields to what they should be, from what they are; None: the image goes without."""
        wanted = {
            name: value
            for name, value in prop_diff.items()
            if name not in (self.ACTIVE, self.TAGS, self.MEMBERS, self.EXTRA_PROPERTIES)
        }
        if self.EXTRA_PROPERTIES in prop_diff:
            extra = prop_diff[self.EXTRA_PROPERTIES] or {}
            wanted.update({name: None for name in self.properties[self.EXTRA_PROPERTIES] if name not in extra})
            wanted.update(extra)
        shown = self._show_resource()
        operations = [one for name, value in wanted.items() if (one := _operation(shown, name, value))]
        if operations:
            self.api.patch(self.object_path(), data=_json(operations), headers=PATCH)
            self._seen = None

    def _replace_members(self, members: list[str] | None) -> None:
        wanted = set(members or ())
        if not wanted and self._show_resource()["visibility"] != "shared":
            return
        there = {one["member_id"] for one in self.api.list(self.object_path() + "/members", "members")}
        self._change_members(wanted - there, there - wanted)
        polling.changed(str(self.resource_id))

    # what there is
    def _show_resource(self) -> Any:
        # The path that it has by the API is nothing of the image.
        return {name: value for name, value in super()._show_resource().items() if name != "self"}

    def verify_presence(self) -> None:
        expected = ["active"] if self.properties[self.ACTIVE] else ["deactivated"]
        status = self._show_resource()["status"]
        self._verify_check_conditions([{"attr": "status", "expected": expected, "current": status}])

    def get_live_resource_data(self) -> Any:
        shown = super().get_live_resource_data()
        if shown.get("status") in ("deleted", "killed"):
            raise exception.EntityNotFound(entity="Resource", name=self.name)
        return {**shown, self.MEMBERS: sorted(self._members())}

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        """Only of what was asked for; the order of tags and members is nobody's."""
        asked = {name: value for name in self.PROPERTIES if (value := resource_properties.get(name)) is not None}
        silent = (self.LOCATION, self.EXTRA_PROPERTIES, self.ACTIVE)
        live = {name: resource_data.get(name) for name in asked if name not in silent}
        for name in (self.TAGS, self.MEMBERS):
            if name in asked and sorted(live[name] or ()) == sorted(asked[name]):
                live[name] = asked[name]
        live[self.ACTIVE] = resource_data.get("status") != "deactivated"
        extra = resource_properties.get(self.EXTRA_PROPERTIES) or {}
        live[self.EXTRA_PROPERTIES] = {name: resource_data[name] for name in extra if name in resource_data}
        return live


def _operation(shown: Mapping[str, Any], name: str, value: Any) -> dict[str, Any] | None:
    """The step of a JSON patch that gives a field its value; None if it has it."""
    path = "/" + name.replace("~", "~0").replace("/", "~1")
    if value is None:
        # Fields of every image are always shown and cannot be taken away.
        return {"op": "remove", "path": path} if name in shown and name not in schema.OF_EVERY_IMAGE else None
    if name not in shown:
        return {"op": "add", "path": path, "value": value}
    return {"op": "replace", "path": path, "value": value} if shown[name] != value else None


def _json(document: Any) -> bytes:
    from oslo_serialization import jsonutils

    return jsonutils.dump_as_bytes(document)


class GlanceImage(NoneResource):
    """An image made by the first version of the API, which Glance has no more: nothing is done."""

    support_status = support.SupportStatus(
        status=support.HIDDEN,
        version="22.0.0",
        previous_status=support.SupportStatus(
            status=support.DEPRECATED,
            version="8.0.0",
            message=_("The API that could make an image of a URL is gone. Use OS::Glance::WebImage."),
            previous_status=support.SupportStatus(version="2014.2"),
        ),
    )


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Glance::Image": GlanceImage, "OS::Glance::WebImage": GlanceWebImage}
