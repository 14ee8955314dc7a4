# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("swift")``: objects that carry signals and metadata, and the URLs that give them away.

The client is a thin one over HTTP with the methods of python-swiftclient's ``Connection`` that plug-ins use: those
that read answer ``(headers, content)``, names of headers are of any case. What objects hold, and the keys of accounts,
are in no log.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlparse

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.clients.rest import ALL_PATHS, RestClient, asking_keystone, persistently
from openkeel_heat.common import config, exceptions
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

CLIENT_NAME = "swift"

#: What is in an object until the first signal comes.
IN_PROGRESS = "in progress"

#: The last second that every Swift can count to.
MAX_EPOCH = 2147483647

#: Bytes that are read at a time.
_PIECE = 65536

_KEY_HEADER = "x-account-meta-temp-url-key"

Headers = Mapping[str, Any]


def _check_place(container: str | None = None, obj: str | None = None) -> None:
    """NotFound for names with which a path would lead out of the container, or out of the account."""
    container_is_none = container is not None and ("/" in container or container in ("", ".", ".."))
    obj_is_none = obj is not None and (not obj or any(part in (".", "..") for part in obj.split("/")))
    if container_is_none or obj_is_none:
        from keystoneauth1 import exceptions as errors

        raise errors.NotFound()


def _to_send(headers: Mapping[str, Any] | None) -> dict[str, Any]:
    """Numbers and truth are texts, and texts are UTF-8, which has to look like Latin-1 on its way."""

    def text(value: Any) -> Any:
        value = str(value) if isinstance(value, (int, float)) else value
        return value.encode().decode("latin-1") if isinstance(value, str) else value

    return {name: text(value) for name, value in (headers or {}).items()}


def _received(headers: Headers) -> Headers:
    """Headers of any case, whose values are UTF-8; HTTP takes them for Latin-1."""
    from requests.structures import CaseInsensitiveDict

    def text(value: str) -> str:
        try:
            return value.encode("latin-1").decode()
        except UnicodeError:
            return value

    return CaseInsensitiveDict({name: text(value) for name, value in headers.items()})


class Connection:
    """Containers and objects of one account."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter
        self._api = RestClient(adapter, CLIENT_NAME, retries=cfg.CONF.client_retry_limit, quiet=ALL_PATHS)

    @property
    def url(self) -> str:
        """The URL of the account."""
        with asking_keystone():
            return str(self._adapter.get_endpoint())

    def _do(
        self,
        verb: str,
        *names: str,
        headers: Headers | None = None,
        data: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        stream: bool | None = None,
    ) -> Any:
        _check_place(*names)
        account = persistently(lambda: self.url, cfg.CONF.client_retry_limit)
        url = "/".join([account.rstrip("/"), *(quote(name) for name in names)])
        # What is accepted is what a container says its type is.
        sent = {"Accept": "*/*", **_to_send(headers)}
        return self._api.send(verb, url, headers=sent, data=data, params=params, stream=stream, free_path=True)

    # the account
    def head_account(self) -> Headers:
        return _received(self._do("HEAD").headers)

    def post_account(self, headers: Headers) -> None:
        self._do("POST", headers=headers)

    # containers
    def head_container(self, container: str) -> Headers:
        return _received(self._do("HEAD", container).headers)

    def get_container(self, container: str, **params: Any) -> tuple[Headers, list[dict[str, Any]]]:
        """The objects in it: a page of up to 10,000."""
        reply = self._do("GET", container, params={"format": "json", **params})
        return _received(reply.headers), reply.json() if reply.content else []

    def put_container(self, container: str, headers: Headers | None = None) -> None:
        self._do("PUT", container, headers=headers)

    def post_container(self, container: str, headers: Headers) -> None:
        self._do("POST", container, headers=headers)

    def delete_container(self, container: str) -> None:
        self._do("DELETE", container)

    # objects
    def head_object(self, container: str, obj: str) -> Headers:
        return _received(self._do("HEAD", container, obj).headers)

    def get_object(self, container: str, obj: str, limit: int | None = None) -> tuple[Headers, bytes]:
        """All of it; DownloadLimitExceeded where that is more than *limit* bytes, whatever a list has said.

        Some objects are made of others, up to any size, when they are read.
        """
        if limit is None:
            reply = self._do("GET", container, obj)
            return _received(reply.headers), reply.content
        reply = self._do("GET", container, obj, stream=True)
        content = bytearray()
        with contextlib.closing(reply):
            for piece in _pieces(reply):
                content += piece
                if len(content) > limit:
                    raise exceptions.DownloadLimitExceeded(
                        message=_("Object %(name)s of container %(container)s is larger than %(limit)s bytes.")
                        % {"name": obj, "container": container, "limit": limit}
                    )
        return _received(reply.headers), bytes(content)

    def put_object(self, container: str, obj: str, contents: str | bytes = b"", headers: Headers | None = None) -> str:
        """Write it; its ETag."""
        data = contents.encode() if isinstance(contents, str) else contents
        kind = {"Content-Type": "application/octet-stream", "Content-Length": str(len(data))}
        return self._do("PUT", container, obj, headers={**kind, **(headers or {})}, data=data).headers.get("etag", "")

    def delete_object(self, container: str, obj: str) -> None:
        self._do("DELETE", container, obj)


def _pieces(reply: Any) -> Iterator[bytes]:
    import requests
    from keystoneauth1 import exceptions as errors

    try:
        yield from reply.iter_content(_PIECE)
    except requests.RequestException as error:
        raise errors.ConnectFailure(f"The connection ended before the object did: {error}") from error


class SwiftClientPlugin(ClientPlugin):
    service_types = [OBJECT_STORE] = ["object-store"]

    @property
    def exceptions_module(self) -> Any:  # type: ignore[override]
        from keystoneauth1 import exceptions as errors

        return errors

    def _create(self, version: str | None = None) -> Connection:
        if not config.has_keystone():
            raise exceptions.ClientNotAvailable(client_name=CLIENT_NAME)
        from keystoneauth1 import adapter

        return Connection(
            adapter.Adapter(
                self.context.keystone_session,
                service_type=self.OBJECT_STORE,
                interface=self._get_client_option(CLIENT_NAME, "endpoint_type"),
                region_name=self._get_region_name(),
            )
        )

    # errors

    def is_not_found(self, ex: BaseException) -> bool:
        return getattr(ex, "http_status", None) == 404

    def is_over_limit(self, ex: BaseException) -> bool:
        return getattr(ex, "http_status", None) == 413

    def is_conflict(self, ex: BaseException) -> bool:
        return getattr(ex, "http_status", None) == 409

    # temporary URLs

    def is_valid_temp_url_path(self, path: str) -> bool:
        """Whether it is ``/v1/ACCOUNT/CONTAINER/OBJECT`` in the account of the project."""
        parts = path.split("/", 4)
        return (
            len(parts) == 5
            and parts[:2] == ["", "v1"]
            and parts[2].endswith(self.context.project_id or "")
            and bool(parts[3])
            and bool(parts[4].strip("/"))
        )

    def get_temp_url(
        self, container_name: str, obj_name: str, timeout: float | None = None, method: str = "PUT"
    ) -> str:
        """An URL with which anybody may do this to the object, for ``timeout`` seconds or as long as there is Swift."""
        path = f"/v1/AUTH_{self.context.project_id}/{container_name}/{obj_name}"
        expires = int(MAX_EPOCH - 60 if timeout is None else time.time() + timeout)
        text = f"{method}\n{expires}\n{path}"
        signature = hmac.new(self._account_key().encode(), text.encode(), hashlib.sha256).hexdigest()
        place = urlparse(self.client().url)
        return f"{place.scheme}://{place.netloc}{quote(path)}?temp_url_sig={signature}&temp_url_expires={expires}"

    def _account_key(self) -> str:
        """The key of the account; one is made if it has none. Of two made at the same time both see the later."""
        swift = self.client()
        found = swift.head_account().get(_KEY_HEADER)
        if not found:
            swift.post_account({_KEY_HEADER: secrets.token_hex(16)})
            found = swift.head_account()[_KEY_HEADER]
        return str(found)

    def get_signal_url(self, container_name: str, obj_name: str, timeout: float | None = None) -> str:
        """A temporary URL to which one can put several times: each time makes another version of the object."""
        swift = self.client()
        swift.put_container(container_name, headers={"x-versions-location": container_name})
        if "x-versions-location" not in swift.head_container(container_name):
            LOG.warning("This Swift keeps no versions of objects: of several signals only the last will be seen")
        swift.put_object(container_name, obj_name, IN_PROGRESS)
        return self.get_temp_url(container_name, obj_name, timeout)

    def parse_last_modified(self, lm: str | None) -> datetime.datetime | None:
        """The moment of such a header; naive, UTC."""
        parsed = email.utils.parsedate(lm) if lm else None
        return None if parsed is None else datetime.datetime(*parsed[:6])

    # files of stacks

    def get_files_from_container(
        self, files_container: str, files_to_skip: Iterable[str] | None = None
    ) -> dict[str, str]:
        """The objects of a container, by their names; but those that there is no need to fetch."""
        skipped = set(files_to_skip or ())
        try:
            headers, objects = self.client().get_container(files_container)
            self._check_size(int(headers.get("x-container-bytes-used", 0)))
            bodies: dict[str, bytes] = {}
            left = cfg.CONF.max_json_body_size
            for one in objects:
                if one["name"] not in skipped:
                    bodies[one["name"]] = self.client().get_object(files_container, one["name"], left)[1]
                    left -= len(bodies[one["name"]])
        except self.exceptions_module.ClientException as error:
            raise exceptions.NotFound(
                _("Could not fetch files from container %(container)s, reason: %(reason)s.")
                % {"container": files_container, "reason": error}
            ) from error
        return {name: _text(name, body) for name, body in bodies.items()}

    @staticmethod
    def _check_size(size: int) -> None:
        if size > (limit := cfg.CONF.max_json_body_size):
            raise exceptions.DownloadLimitExceeded(
                message=_("Total size of files to download (%(size)s bytes) exceeds maximum allowed (%(limit)s bytes).")
                % {"size": size, "limit": limit}
            )


def _text(name: str, body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise exceptions.Invalid(reason=_("The file %s is no UTF-8 text") % name) from None
