# SPDX-License-Identifier: Apache-2.0
"""``client_plugin("zaqar")``: queues that carry signals, metadata and events.

The client is a thin one over the messaging API v2. ``client().queue(name)`` asks nothing: Zaqar makes a queue when
it is first written to. Who may use it is told in three ways: the session of the context (``client()``), a token of a
stack's user (``create_for_tenant``), or a signature for one queue (``create_from_signed_url``).
"""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.clients.plugin import ClientPlugin
from openkeel_heat.clients.rest import ALL_PATHS, RestClient, decoded
from openkeel_heat.clients.rest_errors import InvalidResponse
from openkeel_heat.common import clock, config, exceptions
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

CLIENT_NAME = "zaqar"

_QUEUE_NAME = re.compile(r"[a-zA-Z0-9_\-]+")
_MAX_NAME = 64
_VERSION_AT_END = re.compile(r"/v\d+(\.\d+)?/?$")


class Message:
    """A message that was read: ``body``, ``id``, ``ttl``, ``age``, ``href``."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.body = values.get("body")
        self.id = values.get("id")
        self.ttl = values.get("ttl")
        self.age = values.get("age")
        self.href = values.get("href")


class Queue:
    def __init__(self, client: Client, name: str) -> None:
        if not _QUEUE_NAME.fullmatch(name):
            raise ValueError(_("The queue name may only contain ASCII letters, digits, underscores and dashes."))
        self._client = client
        self.name = name

    def _do(self, verb: str, path: str = "", **more: Any) -> Any:
        return self._client.request(verb, f"/queues/{quote(self.name)}{path}", **more)

    def post(self, messages: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
        """Write one message or several: ``{"body": …, "ttl": seconds}``."""
        one = isinstance(messages, Mapping)
        return self._do("POST", "/messages", json={"messages": [messages] if one else list(messages)})

    def pop(self, count: int = 1) -> list[Message]:
        """Take the oldest messages out."""
        return self._messages(self._do("DELETE", "/messages", params={"pop": count}))

    def messages(self, **params: Any) -> list[Message]:
        """Read messages without taking them out."""
        return self._messages(self._do("GET", "/messages", params=params))

    @staticmethod
    def _messages(body: Any) -> list[Message]:
        return [Message(one) for one in (body or {}).get("messages") or []]

    def signed_url(
        self,
        paths: Sequence[str] | None = None,
        ttl_seconds: int | None = None,
        methods: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """What allows anybody to use these paths of the queue: the arguments of ``create_from_signed_url``."""
        body: dict[str, Any] = {}
        if ttl_seconds is not None:
            body["expires"] = (clock.utcnow() + datetime.timedelta(seconds=ttl_seconds)).isoformat()
        if paths is not None:
            body["paths"] = list(paths)
        if methods is not None:
            body["methods"] = list(methods)
        return dict(self._do("POST", "/share", json=body) or {})

    def delete(self) -> None:
        self._do("DELETE")


class Client:
    """Zaqar seen with some credentials; ``headers`` go with every request."""

    def __init__(self, adapter: Any, headers: Mapping[str, str] | None = None, authenticated: bool = True) -> None:
        # Messages have what signals and configurations have in them; signatures let anybody in: nothing is in a log.
        self._api = RestClient(adapter, CLIENT_NAME, retries=cfg.CONF.client_retry_limit, quiet=ALL_PATHS)
        self._authenticated = authenticated
        self._headers = {"Client-ID": str(uuid.uuid4()), "Accept": "application/json", **(headers or {})}

    def queue(self, ref: str, auto_create: bool = True, **_more: Any) -> Queue:
        return Queue(self, ref)

    def request(self, verb: str, path: str, **more: Any) -> Any:
        reply = self._api.send(verb, path, headers=self._headers, authenticated=self._authenticated, **more)
        body = decoded(reply)
        if reply.content and not isinstance(body, Mapping):
            raise InvalidResponse(f"zaqar answered {verb} {path} with something else than JSON")
        return body


class ZaqarClientPlugin(ClientPlugin):
    service_types = [MESSAGING] = ["messaging"]

    #: Seconds that metadata for a server and events are kept.
    DEFAULT_TTL = 3600

    @property
    def exceptions_module(self) -> Any:  # type: ignore[override]
        from keystoneauth1 import exceptions as errors

        return errors

    def _endpoint(self) -> str:
        url = self.url_for(
            service_type=self.MESSAGING, endpoint_type=self._get_client_option(CLIENT_NAME, "endpoint_type")
        )
        return _VERSION_AT_END.sub("", url).rstrip("/") + "/v2"

    def _adapter(self, **more: Any) -> Any:
        if not config.has_keystone():
            raise exceptions.ClientNotAvailable(client_name=CLIENT_NAME)
        from keystoneauth1 import adapter

        return adapter.Adapter(
            self.context.keystone_session,
            endpoint_override=self._endpoint(),
            **more,
        )

    def _create(self, version: str | None = None) -> Client:
        return Client(self._adapter(), {"X-Project-Id": self.context.project_id or ""})

    def create_for_tenant(self, tenant_id: str, token: str | None) -> Client | None:
        """A client with a token of that project; None without a token."""
        if token is None:
            LOG.error("There is no token to sign in to Zaqar with")
            return None
        from keystoneauth1 import token_endpoint

        return Client(self._adapter(auth=token_endpoint.Token(None, token)), {"X-Project-Id": tenant_id})

    def create_from_signed_url(
        self, project_id: str, paths: Iterable[str], expires: str, methods: Iterable[str], signature: str
    ) -> Client:
        """A client that may do what ``Queue.signed_url`` allowed."""
        headers = {
            "X-Project-Id": project_id,
            "URL-Paths": ",".join(paths),
            "URL-Methods": ",".join(methods),
            "URL-Expires": expires,
            "URL-Signature": signature,
        }
        return Client(self._adapter(), headers, authenticated=False)

    def is_not_found(self, ex: BaseException) -> bool:
        return getattr(ex, "http_status", None) == 404

    def is_over_limit(self, ex: BaseException) -> bool:
        return getattr(ex, "http_status", None) == 413

    def get_queue(self, queue_name: Any) -> str:
        """For the constraint of queue names: every name that could be one will do."""
        if not isinstance(queue_name, str):
            raise TypeError(_("Queue name must be a string"))
        if not 0 < len(queue_name) <= _MAX_NAME:
            raise ValueError(_("Queue name length must be 1-64"))
        return queue_name


class ZaqarEventSink:
    """An event sink of environments: ``{type: zaqar-queue, target: QUEUE, ttl: SECONDS}``."""

    def __init__(self, target: str, ttl: int | None = None) -> None:
        self._target = target
        self._ttl = ttl

    def consume(self, context: Any, event: Mapping[str, Any]) -> None:
        plugin = context.clients.client_plugin(CLIENT_NAME)
        ttl = plugin.DEFAULT_TTL if self._ttl is None else self._ttl
        plugin.client().queue(self._target, auto_create=False).post({"body": event, "ttl": ttl})
