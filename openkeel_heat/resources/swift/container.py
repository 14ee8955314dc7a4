# SPDX-License-Identifier: Apache-2.0
"""OS::Swift::Container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, support
from openkeel_heat.resources.kit.properties import Properties, Schema
from openkeel_heat.resources.kit.resource import Resource
from openkeel_heat.resources.kit.succession import is_anothers, others_that_stay
from openkeel_heat.resources.kit.work import Work


class SwiftContainer(Resource):
    """A container of objects. Objects of the same name in two containers are two objects."""

    PROPERTIES = (NAME, X_CONTAINER_READ, X_CONTAINER_WRITE, X_CONTAINER_META, X_ACCOUNT_META, PURGE_ON_DELETE) = (
        "name",
        "X-Container-Read",
        "X-Container-Write",
        "X-Container-Meta",
        "X-Account-Meta",
        "PurgeOnDelete",
    )

    ATTRIBUTES = (DOMAIN_NAME, WEBSITE_URL, ROOT_URL, OBJECT_COUNT, BYTES_USED, HEAD_CONTAINER) = (
        "DomainName",
        "WebsiteURL",
        "RootURL",
        "ObjectCount",
        "BytesUsed",
        "HeadContainer",
    )

    properties_schema = {
        NAME: Schema(Schema.STRING, _("Name of the container; made up unless given.")),
        X_CONTAINER_READ: Schema(Schema.STRING, _("Who may read the objects, as an access list of Swift.")),
        X_CONTAINER_WRITE: Schema(Schema.STRING, _("Who may write objects, as an access list of Swift.")),
        X_CONTAINER_META: Schema(
            Schema.MAP, _("Metadata of the container: headers after X-Container-Meta-."), default={}
        ),
        X_ACCOUNT_META: Schema(Schema.MAP, _("Metadata of the account: headers after X-Account-Meta-."), default={}),
        PURGE_ON_DELETE: Schema(
            Schema.BOOLEAN,
            _("Whether objects are deleted with the container; otherwise one that has some is not deleted."),
            default=False,
            support_status=support.SupportStatus(version="2015.1"),
        ),
    }

    attributes_schema = {
        DOMAIN_NAME: attributes.Schema(_("Host of the container's URL."), type=attributes.Schema.STRING),
        WEBSITE_URL: attributes.Schema(_("URL of the container."), type=attributes.Schema.STRING),
        ROOT_URL: attributes.Schema(_("URL of the account."), type=attributes.Schema.STRING),
        OBJECT_COUNT: attributes.Schema(_("Number of objects."), type=attributes.Schema.INTEGER),
        BYTES_USED: attributes.Schema(_("Bytes of all objects."), type=attributes.Schema.INTEGER),
        HEAD_CONTAINER: attributes.Schema(_("All headers of the container."), type=attributes.Schema.MAP),
    }

    default_client_name = "swift"

    # A container is put, not made: once more is no harm.
    repeatable_create = True

    def physical_resource_name(self) -> str | None:
        return self.properties[self.NAME] or super().physical_resource_name()

    @staticmethod
    def _build_meta_headers(obj_type: str, meta_props: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"X-%s-Meta-%s" % (obj_type.title(), key): value for key, value in (meta_props or {}).items()}

    # create
    def handle_create(self) -> None:
        container = self.physical_resource_name()
        self._put(container, self.properties)
        account_headers = self._build_meta_headers("account", self.properties[self.X_ACCOUNT_META])
        if account_headers:
            self.client().post_account(account_headers)
        self.resource_id_set(container)

    def _headers(self, props: Mapping[str, Any]) -> dict[str, Any]:
        headers = self._build_meta_headers("container", props[self.X_CONTAINER_META])
        access = {name: props[name] for name in (self.X_CONTAINER_READ, self.X_CONTAINER_WRITE)}
        return {**headers, **{name: value for name, value in access.items() if value is not None}}

    def _put(self, container: str | None, props: Mapping[str, Any]) -> None:
        """Make the container; or, if it is there, give it these headers in place of those of another resource."""
        headers = self._headers(props)
        for other in others_that_stay(self, half_made=True):
            if other._container() == container:
                headers = {**dict.fromkeys(self._headers(other.properties), ""), **headers}
        self.client().put_container(container, headers)

    def _container(self) -> str | None:
        """A container that has a name of its own is the same one to a replacement."""
        return self.resource_id or self.physical_resource_name()

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        """The container was the replacement's: it gets the headers back that it had before."""
        if self.resource_id is not None and is_anothers(self, SwiftContainer._container):
            with self.frozen_properties() as properties:
                self._put(self.resource_id, properties)

    # delete
    def _get_objects(self) -> list[dict[str, Any]] | None:
        """A page of the objects; None: there is no container."""
        with self.client_plugin().ignore_not_found:
            return self.client().get_container(self.resource_id)[1]
        return None

    def handle_delete(self) -> Work:
        if self.resource_id is None or is_anothers(self, SwiftContainer._container):
            return Work()
        objects = self._get_objects()
        if objects and not self.properties[self.PURGE_ON_DELETE]:
            raise exception.ResourceActionNotSupported(
                action=_("Deleting non-empty container (%(id)s) when %(prop)s is False")
                % {"id": self.resource_id, "prop": self.PURGE_ON_DELETE}
            )
        return Work() if objects is None else Work(self._emptied, self._remove)

    def check_delete_complete(self, work: Work) -> bool:
        return work.go_on()

    def _emptied(self) -> bool:
        """Delete a page of objects; whether there are none any more."""
        objects = self._get_objects()
        for one in objects or ():
            with self.client_plugin().ignore_not_found:
                self.client().delete_object(self.resource_id, one["name"])
        return not objects

    def _remove(self) -> None:
        with self.client_plugin().ignore_not_found:
            self.client().delete_container(self.resource_id)

    def handle_check(self) -> None:
        self.client().get_container(self.resource_id)

    # what there is
    def get_reference_id(self) -> Any:
        return str(self.resource_id)

    def _resolve_attribute(self, name: str) -> Any:
        place = urlsplit(self.client().url)
        if name == self.DOMAIN_NAME:
            return place.hostname
        root = "%s://%s%s" % (place.scheme, place.netloc, place.path)
        if name == self.ROOT_URL:
            return root
        if name == self.WEBSITE_URL:
            return "%s/%s" % (root, self.resource_id)
        if not self.resource_id:
            return None
        headers = dict(self._show_resource())
        return headers if name == self.HEAD_CONTAINER else headers[_HEADERS[name]]

    def _show_resource(self) -> Any:
        headers = self.client().head_container(self.resource_id)
        # What the connection is like says nothing about the container.
        return {name.lower(): value for name, value in headers.items() if name.lower() != "connection"}

    def get_live_resource_data(self) -> Any:
        found = super().get_live_resource_data()
        account = {name.lower(): value for name, value in self.client().head_account().items()}
        return {**found, "account_data": account}

    def parse_live_resource_data(self, resource_properties: Properties, resource_data: Any) -> dict[str, Any]:
        """What is as it was asked for is told in the form that it was asked for; rights of others are no drift."""
        live: dict[str, Any] = {}
        for name in (self.X_CONTAINER_READ, self.X_CONTAINER_WRITE):
            if resource_properties.get(name) is not None:
                live[name] = resource_data.get(name.lower())
        for name, headers in (
            (self.X_CONTAINER_META, resource_data),
            (self.X_ACCOUNT_META, resource_data["account_data"]),
        ):
            given = resource_properties.get(name) or {}
            said = {key: headers.get("%s-%s" % (name.lower(), key.lower())) for key in given}
            as_text = {key: None if value is None else str(value) for key, value in given.items()}
            live[name] = {
                key: given[key] if as_text[key] == value else value
                for key, value in said.items()
                if value is not None or as_text[key] is None
            }
        return live


_HEADERS = {
    SwiftContainer.OBJECT_COUNT: "x-container-object-count",
    SwiftContainer.BYTES_USED: "x-container-bytes-used",
}


def resource_mapping() -> dict[str, type[Resource]]:
    return {"OS::Swift::Container": SwiftContainer}
