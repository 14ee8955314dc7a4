# SPDX-License-Identifier: Apache-2.0
"""One request as the controllers see it: query, body, context, links.

Everything is read when it is first asked for, because most requests need little of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from oslo_config import cfg
from webob import exc

from openkeel_heat.common import exceptions, strict_json
from openkeel_heat.common.i18n import _

#: Where webob keeps attributes set on a request; filters of other projects put and look for the context there.
ADHOC_ATTRS = "webob.adhoc_attrs"
#: A refused body is read away up to this many bytes, so that the client gets the answer rather than a reset.
DRAIN_LIMIT = 64 * 1024 * 1024
_CHUNK = 64 * 1024
#: Maps and lists within each other in a body; far more than a template may have, far less than stops the interpreter.
MAX_NESTING = 250


class Query:
    """The parameters behind the question mark; a name may come several times, the last one counts."""

    __slots__ = ("pairs",)

    def __init__(self, raw: str) -> None:
        self.pairs: list[tuple[str, str]] = []
        if raw:
            self.pairs = parse_qsl(raw, keep_blank_values=True, encoding="utf-8", errors="strict")

    def get(self, name: str, default: str | None = None) -> str | None:
        for key, value in reversed(self.pairs):
            if key == name:
                return value
        return default

    def getall(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def names(self) -> list[str]:
        return list(dict.fromkeys(key for key, _value in self.pairs))

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _value in self.pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def encoded(self) -> str:
        return urlencode(self.pairs)

    def single(self, *names: str) -> dict[str, Any]:
        """Those of `names` that have a value."""
        return {name: value for name in names if (value := self.get(name))}

    def multi(self, *names: str) -> dict[str, Any]:
        """Those of `names` that were given, each a list."""
        return {name: values for name in names if (values := self.getall(name))}

    def mixed(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of `names` that have a value: one as a text, several as a list."""
        found: dict[str, Any] = {}
        for name in names if self.pairs else ():
            values = self.getall(name)
            value = values[0] if len(values) == 1 else values
            if value:
                found[name] = value
        return found


class Request:
    """A request on its way to a controller."""

    __slots__ = ("_base", "_prefixes", "_query", "context", "environ", "rpc")

    def __init__(self, environ: dict[str, Any], rpc: Any) -> None:
        self.environ = environ
        self.rpc = rpc
        self.context: Any = environ.get(ADHOC_ATTRS, {}).get("context")
        self._query: Query | None = None
        self._base: str | None = None
        self._prefixes: dict[tuple[str, str, str], str] = {}

    @property
    def method(self) -> str:
        return self.environ["REQUEST_METHOD"]

    @property
    def query(self) -> Query:
        if self._query is None:
            try:
                self._query = Query(self.environ.get("QUERY_STRING", ""))
            except ValueError as error:
                raise exc.HTTPBadRequest(str(error)) from error
        return self._query

    # --- links

    @property
    def application_url(self) -> str:
        """Where this API begins, as the client wrote it: ``http://host:8004/v1``."""
        if self._base is None:
            self._base = application_url(self.environ)
        return self._base

    @property
    def path_url(self) -> str:
        """The URL without its query."""
        return self.application_url + quote(self.environ.get("PATH_INFO", "").encode("latin-1"), safe=_PATH_SAFE)

    def url(self, identity: Mapping[str, str]) -> str:
        """The URL of a stack, resource or event."""
        key = (identity["tenant"], identity["stack_name"], identity["stack_id"])
        prefix = self._prefixes.get(key)
        if prefix is None:
            tenant, name, stack_id = key
            if "/" in name:
                raise exc.HTTPInternalServerError(_("Invalid Stack address"))
            prefix = f"{self.application_url}/{quote(tenant, '')}/stacks/{quote(name, '')}/{quote(str(stack_id), '')}"
            self._prefixes[key] = prefix
        path = identity.get("path")
        if not path:
            return prefix
        return prefix + quote(path if path.startswith("/") else f"/{path}")

    def link(self, identity: Mapping[str, str], rel: str = "self") -> dict[str, str]:
        return {"href": self.url(identity), "rel": rel}

    # --- body

    def json_body(self) -> dict[str, Any] | None:
        """The JSON object in the body; ``None`` when there is no body, or it is something else.

        :raises webob.exc.HTTPBadRequest: it begins like a JSON object but is none
        :raises RequestLimitExceeded: it is longer than ``max_json_body_size``
        """
        raw = self._raw_json()
        if raw is None:
            return None
        try:
            body: dict[str, Any] = strict_json.loads(raw.decode("utf-8"))
        except ValueError as error:
            raise exc.HTTPBadRequest(str(error)) from error
        except RecursionError as error:
            raise exc.HTTPBadRequest(_("The JSON body is nested too deeply.")) from error
        if raw.count(b"{") + raw.count(b"[") > MAX_NESTING and _deeper(body, MAX_NESTING):
            raise exc.HTTPBadRequest(_("The JSON body is nested too deeply."))
        return body

    def _raw_json(self) -> bytes | None:
        environ = self.environ
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
        except ValueError as error:
            raise exc.HTTPBadRequest(_("Invalid Content-Length")) from error
        stream = environ.get("wsgi.input")
        chunked = not environ.get("CONTENT_LENGTH") and environ.get("wsgi.input_terminated")
        if stream is None or not (length > 0 or chunked) or not self._says_json():
            return None
        limit = cfg.CONF.max_json_body_size
        try:
            raw = stream.read(min(length, limit + 1) if length else limit + 1)
        except TimeoutError as error:
            raise exc.HTTPRequestTimeout(_("The body of the request did not come.")) from error
        if not raw.startswith(b"{"):
            return None
        if len(raw) > limit:
            size = len(raw) + _drain(stream, length - len(raw) if length else DRAIN_LIMIT)
            raise exceptions.RequestLimitExceeded(
                message=_("JSON body size (%(len)s bytes) exceeds maximum allowed size (%(limit)s bytes).")
                % {"len": length or size, "limit": limit}
            )
        return raw

    def _says_json(self) -> bool:
        kind = self.environ.get("CONTENT_TYPE", "").split(";", 1)[0].strip()
        if self.method == "GET":
            # An AWS client names the type of the answer in the query, and that counts for a GET.
            kind = self.query.get("ContentType") or kind
        return not kind or kind.startswith("text/plain") or kind in ("JSON", "application/json")


#: Characters that may stand in a path as they are.
_PATH_SAFE = "/~!$&'()*+,;=:@"


def application_url(environ: Mapping[str, Any]) -> str:
    """Scheme, host and the prefix of the application, without a slash at the end."""
    scheme = environ["wsgi.url_scheme"]
    host = environ.get("HTTP_HOST")
    if not host:
        host = environ["SERVER_NAME"]
        port = environ["SERVER_PORT"]
        if port != {"http": "80", "https": "443"}.get(scheme):
            host = f"{host}:{port}"
    elif host.endswith(":80") and scheme == "http":
        host = host[:-3]
    elif host.endswith(":443") and scheme == "https":
        host = host[:-4]
    return f"{scheme}://{host}{quote(environ.get('SCRIPT_NAME', '').encode('latin-1'), safe=_PATH_SAFE)}".rstrip("/")


def _deeper(value: Any, limit: int) -> bool:
    """Whether maps and lists in `value` are nested deeper than `limit`."""
    level = [value]
    for _depth in range(limit):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _drain(stream: Any, left: int) -> int:
    """Read away up to `left` bytes; returns how many came."""
    count = 0
    left = min(left, DRAIN_LIMIT)
    while left > 0:
        chunk = stream.read(min(_CHUNK, left))
        if not chunk:
            break
        count += len(chunk)
        left -= len(chunk)
    return count
