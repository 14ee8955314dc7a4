# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("glance")``: images by name or id."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from oslo_config import cfg
from oslo_utils import uuidutils

from openkeel_heat.clients import errors, rest_errors
from openkeel_heat.clients.answer import Answer
from openkeel_heat.clients.cache import MEMOIZE_FINDER
from openkeel_heat.clients.service import RestClientPlugin

IMAGES = "/v2/images"


class GlanceClientPlugin(RestClientPlugin):
    NAME = "glance"
    VERSION_IN_PATHS = True

    service_types = [IMAGE] = ["image"]

    supported_versions = [V2] = ["2"]

    default_version = V2

    def _create(self, version: str | None = None) -> Any:
        """glanceclient's own client, for plug-ins of others."""
        from glanceclient import client

        return client.Client(
            version,
            session=self.context.keystone_session,
            interface=self._get_client_option(self.NAME, "endpoint_type"),
            service_type=self.IMAGE,
            connect_retries=cfg.CONF.client_retry_limit,
            region_name=self._get_region_name(),
        )

    # --- errors

    @property
    def exceptions_module(self) -> Any:  # type: ignore[override]
        return [errors, *super().exceptions_module]

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, errors.EntityMatchNotFound) or super().is_not_found(ex)

    def is_over_limit(self, ex: BaseException) -> bool:
        return rest_errors.status_of(ex) == 413

    # --- finders

    def find_image_by_name_or_id(self, image_identifier: str) -> str:
        """The id; looked up once an operation, remembered for the project where ``[resource_finder_cache]`` says so."""

        where = "|".join([*self._scope(), IMAGES, str(image_identifier)])
        return MEMOIZE_FINDER.find(where, lambda: str(self.image_of_operation(image_identifier)["id"]))

    def image_of_operation(self, image_identifier: str) -> Answer:
        """The image as it was when the operation first asked for it: what it needs does not change meanwhile."""
        found: Answer = self.once((IMAGES, image_identifier), lambda: self.get_image(image_identifier))
        return found

    def get_image(self, image_identifier: str) -> Answer:
        """The image that has it for its id, else the only one that has it for its name."""
        if uuidutils.is_uuid_like(image_identifier):
            try:
                return Answer(self.api.show(f"{IMAGES}/{quote(image_identifier, safe='')}", ""))
            except Exception as error:
                self.ignore_not_found(error)
        wanted = {"name": image_identifier}
        found = self.api.list(IMAGES, "images", wanted) if image_identifier else []
        if not found:
            raise errors.EntityMatchNotFound(entity="images", args=wanted)
        if len(found) > 1:
            raise errors.EntityUniqueMatchNotFound(entity="images", args=wanted)
        return Answer(found[0])

    # --- images in progress

    def _list_filters(self, ids: list[str]) -> list[dict[str, Any]]:
        """Of all images that a project may see only these."""
        return [{"id": "in:" + ",".join(ids[start : start + 50])} for start in range(0, len(ids), 50)]
