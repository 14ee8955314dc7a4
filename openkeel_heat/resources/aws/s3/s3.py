# SPDX-License-Identifier: Apache-2.0
"""AWS::S3::Bucket, a container of Swift."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from openkeel_heat.common import exceptions as exception
from openkeel_heat.common.i18n import _
from openkeel_heat.resources.kit import attributes, constraints
from openkeel_heat.resources.kit.properties import Schema
from openkeel_heat.resources.kit.resource import Resource

EVERYBODY = ".r:*"


class S3Bucket(Resource):
    """A bucket of objects that can serve as a website."""

    PROPERTIES = (ACCESS_CONTROL, WEBSITE_CONFIGURATION, TAGS) = ("AccessControl", "WebsiteConfiguration", "Tags")

    _WEBSITE_CONFIGURATION_KEYS = (WEBSITE_CONFIGURATION_INDEX_DOCUMENT, WEBSITE_CONFIGURATION_ERROR_DOCUMENT) = (
        "IndexDocument",
        "ErrorDocument",
    )

    _TAG_KEYS = (TAG_KEY, TAG_VALUE) = ("Key", "Value")

    ATTRIBUTES = (DOMAIN_NAME, WEBSITE_URL) = ("DomainName", "WebsiteURL")

    properties_schema = {
        ACCESS_CONTROL: Schema(
            Schema.STRING,
            _("Who may do what with the bucket."),
            constraints=[
                constraints.AllowedValues(
                    [
                        "Private",
                        "PublicRead",
                        "PublicReadWrite",
                        "AuthenticatedRead",
                        "BucketOwnerRead",
                        "BucketOwnerFullControl",
                    ]
                )
            ],
        ),
        WEBSITE_CONFIGURATION: Schema(
            Schema.MAP,
            _("How the bucket serves as a website."),
            schema={
                WEBSITE_CONFIGURATION_INDEX_DOCUMENT: Schema(Schema.STRING, _("Object shown for a directory.")),
                WEBSITE_CONFIGURATION_ERROR_DOCUMENT: Schema(Schema.STRING, _("Object shown for an error.")),
            },
        ),
        TAGS: Schema(
            Schema.LIST,
            _("Tags of the bucket."),
            schema=Schema(
                Schema.MAP,
                _("One tag."),
                schema={
                    TAG_KEY: Schema(Schema.STRING, _("Key of the tag."), required=True),
                    TAG_VALUE: Schema(Schema.STRING, _("Value of the tag."), required=True),
                },
            ),
        ),
    }

    attributes_schema = {
        DOMAIN_NAME: attributes.Schema(_("Host of the bucket's URL."), type=attributes.Schema.STRING),
        WEBSITE_URL: attributes.Schema(_("URL of the bucket."), type=attributes.Schema.STRING),
    }

    default_client_name = "swift"

    repeatable_create = True

    def tags_to_headers(self) -> dict[str, str]:
        return {
            "X-Container-Meta-S3-Tag-" + tag[self.TAG_KEY]: tag[self.TAG_VALUE]
            for tag in self.properties[self.TAGS] or ()
        }

    def _website_headers(self) -> dict[str, str]:
        """For Swift's middleware of static websites."""
        site = self.properties[self.WEBSITE_CONFIGURATION] or {}
        documents = {
            "X-Container-Meta-Web-Index": site.get(self.WEBSITE_CONFIGURATION_INDEX_DOCUMENT),
            "X-Container-Meta-Web-Error": site.get(self.WEBSITE_CONFIGURATION_ERROR_DOCUMENT),
        }
        return {name: document for name, document in documents.items() if document is not None}

    def _access_headers(self) -> dict[str, str]:
        access = self.properties[self.ACCESS_CONTROL]
        owner = "%s:%s" % (self.context.project_name, self.context.username)
        readers = {
            "PublicRead": EVERYBODY,
            "PublicReadWrite": EVERYBODY,
            "AuthenticatedRead": self.context.project_name,
        }
        return {
            "X-Container-Read": readers.get(access, owner),
            "X-Container-Write": EVERYBODY if access == "PublicReadWrite" else owner,
        }

    def handle_create(self) -> None:
        container = self.physical_resource_name()
        headers = {**self.tags_to_headers(), **self._website_headers(), **self._access_headers()}
        self.client().put_container(container, headers)
        self.resource_id_set(container)

    def handle_delete(self) -> None:
        if self.resource_id is None:
            return
        plugin = self.client_plugin()
        try:
            self.client().delete_container(self.resource_id)
        except Exception as ex:
            if plugin.is_conflict(ex) and self._has_objects():
                text = _("The bucket you tried to delete is not empty (%s).") % self.resource_id
                raise exception.ResourceActionNotSupported(action=text) from ex
            plugin.ignore_not_found(ex)

    def _has_objects(self) -> bool:
        _headers, objects = self.client().get_container(self.resource_id)
        return bool(objects)

    def get_reference_id(self) -> Any:
        return str(self.resource_id)

    def _resolve_attribute(self, name: str) -> Any:
        place = urlsplit(self.client().url)
        if name == self.DOMAIN_NAME:
            return place.hostname
        return "%s://%s%s/%s" % (place.scheme, place.netloc, place.path, self.resource_id)


def resource_mapping() -> dict[str, type[Resource]]:
    return {"AWS::S3::Bucket": S3Bucket}
