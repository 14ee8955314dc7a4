# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("barbican")``: secrets and containers of the key manager, by their references.

A reference is the URL that Barbican gave, or the UUID at its end: what is asked is the Barbican of the catalogue,
whatever host stands in the URL. What comes back reads like the objects of python-barbicanclient::

    plugin.get_secret_by_ref(ref).status
    plugin.get_secret_payload_by_ref(ref)
    plugin.get_container_by_ref(ref).secrets["private_key"].payload

``client()`` and the ``create_…`` methods, for plug-ins that make secrets and containers, need python-barbicanclient.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
from oslo_utils import timeutils

from openkeel_heat.clients.answer import Answer
from openkeel_heat.clients.service import RestClientPlugin
from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

CLIENT_NAME = "barbican"

#: The first version that tells the consumers of a secret; a Barbican without microversions takes no notice of it.
MICROVERSION = "1.1"

_TIMES = ("created", "updated", "expiration")

_SECRET = (
    "name",
    "algorithm",
    "bit_length",
    "mode",
    "status",
    "content_types",
    "payload_content_type",
    "payload_content_encoding",
    *_TIMES,
)
_CONTAINER = ("name", "status", *_TIMES[:2])

#: The secrets that a container of that type has for attributes.
SECRETS_OF_TYPES = {
    "rsa": ("public_key", "private_key", "private_key_passphrase"),
    "certificate": ("certificate", "intermediates", "private_key", "private_key_passphrase"),
}


class Secret(Answer):
    """A secret; its payload is fetched when somebody reads it, and is not among the keys."""

    def __init__(self, told: dict[str, Any], ref: str, plugin: BarbicanClientPlugin) -> None:
        types = told.get("content_types") or {}
        super().__init__(
            {
                **dict.fromkeys(_SECRET),
                "secret_type": "opaque",
                "consumers": [],
                **_with_times(told),
                "payload_content_type": types.get("default") or told.get("payload_content_type"),
                "secret_ref": ref,
            }
        )
        self._plugin = plugin
        self._payload: str | bytes | None = None

    @property
    def payload(self) -> str | bytes | None:
        """A text if that is what was stored, else bytes; None where nothing was."""
        if self._payload is None and self["payload_content_type"]:
            self._payload = self._plugin.fetch_payload(self["secret_ref"], self["payload_content_type"])
        return self._payload

    def __repr__(self) -> str:
        return f'Secret(secret_ref="{self["secret_ref"]}")'


class Container(Answer):
    """A container; ``secret_refs`` are references by names, ``secrets`` what they lead to."""

    def __init__(self, told: dict[str, Any], ref: str, plugin: BarbicanClientPlugin) -> None:
        super().__init__(
            {
                **dict.fromkeys(_CONTAINER),
                "consumers": [],
                **_with_times(told),
                "container_ref": told.get("container_ref") or ref,
                "secret_refs": {one["name"]: one["secret_ref"] for one in told.get("secret_refs") or []},
            }
        )
        self._plugin = plugin
        self._secrets: dict[str, Secret] = {}

    @property
    def secrets(self) -> dict[str, Secret]:
        return {name: self._secret(name) for name in self["secret_refs"]}

    def _secret(self, name: str) -> Secret:
        if name not in self._secrets:
            self._secrets[name] = self._plugin.get_secret_by_ref(self["secret_refs"][name])
        return self._secrets[name]

    def __getattr__(self, name: str) -> Any:
        if name in SECRETS_OF_TYPES.get(self.get("type", ""), ()):
            return self._secret(name) if name in self["secret_refs"] else None
        return super().__getattr__(name)

    def __repr__(self) -> str:
        return f'Container(container_ref="{self["container_ref"]}")'


def _with_times(told: dict[str, Any]) -> dict[str, Any]:
    """What there is of it, with the times as such."""
    given = {name: value for name, value in told.items() if value is not None}
    return {**given, **{name: timeutils.parse_isotime(given[name]) for name in _TIMES if name in given}}


def _path(kind: str, ref: Any) -> str:
    try:
        return f"/v1/{kind}/{uuid.UUID(str(ref).rstrip('/').rpartition('/')[2])}"
    except ValueError:
        raise ValueError(_("%s incorrectly specified.") % kind.capitalize().removesuffix("s")) from None


class BarbicanClientPlugin(RestClientPlugin):
    NAME = CLIENT_NAME
    VERSION_IN_PATHS = True

    service_types = [KEY_MANAGER] = ["key-manager"]

    def _create(self, version: str | None = None) -> Any:
        """barbicanclient's own client, for plug-ins of others."""
        from barbicanclient import client

        return client.Client(
            session=self.context.keystone_session,
            service_type=self.KEY_MANAGER,
            interface=self._get_client_option(CLIENT_NAME, "endpoint_type"),
            connect_retries=cfg.CONF.client_retry_limit,
            region_name=self._get_region_name(),
        )

    # --- what there is

    def get_secret_by_ref(self, secret_ref: str) -> Secret:
        path = _path("secrets", secret_ref)
        with self._reading("Secret", secret_ref):
            return Secret(self.api.show(path, "", microversion=MICROVERSION), secret_ref, self)

    def get_secret_payload_by_ref(self, secret_ref: str) -> str | bytes | None:
        return self.get_secret_by_ref(secret_ref).payload

    def get_container_by_ref(self, container_ref: str) -> Container:
        path = _path("containers", container_ref)
        with self._reading("Container", container_ref):
            return Container(self.api.show(path, ""), container_ref, self)

    def fetch_payload(self, secret_ref: str, content_type: str) -> str | bytes:
        path = _path("secrets", secret_ref) + "/payload"
        with self._reading("Secret", secret_ref):
            # A log would keep what is in it.
            content: bytes = self.api.send("GET", path, headers={"Accept": content_type}, log=False).content
        return content.decode() if content_type == "text/plain" else content

    @contextlib.contextmanager
    def _reading(self, entity: str, ref: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self.is_not_found(error):
                raise exceptions.EntityNotFound(entity=entity, name=ref) from error
            LOG.info("%(entity)s %(ref)s cannot be read from Barbican", {"entity": entity, "ref": ref})
            raise

    # --- what python-barbicanclient can store

    def create_generic_container(self, **props: Any) -> Any:
        return self._new_container("Container", props)

    def create_certificate(self, **props: Any) -> Any:
        return self._new_container("CertificateContainer", props)

    def create_rsa(self, **props: Any) -> Any:
        return self._new_container("RSAContainer", props)

    def _new_container(self, kind: str, props: dict[str, Any]) -> Any:
        from barbicanclient.v1 import containers

        return getattr(containers, kind)(self.client().client, **props)
