# SPDX-License-Identifier: Apache-2.0
"""Errors of services, named and told as their own Python clients do.

Users read them in status reasons: ``Forbidden: resources.server: Quota exceeded … (HTTP 403) (Request-ID: req-…)``, so
the classes bear the names that the clients of Nova, Cinder, Neutron, Glance, Barbican and Heat have, and their text is
built alike.
:func:`from_response` makes the error of an answer; :func:`status_of` tells the HTTP status of any error, be it one of
these, of a client library or of keystoneauth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oslo_serialization import jsonutils

from openkeel_heat.common import exceptions

_TAG = re.compile(r"<.+?>")

#: Services whose errors are those of keystoneauth.
PLAIN_HTTP = frozenset({"keystone", "swift", "zaqar"})
#: Of what a service says, characters that are kept; seconds for which it is left alone because it says so.
LONGEST_TEXT, LONGEST_WAIT = 10_000, 3600.0


class RestError(Exception):
    """A service refused or failed; ``status`` says how, ``retry_after`` when to come again (None: it did not say)."""

    default_message = "Unknown Error"

    def __init__(
        self,
        message: str | None = None,
        *,
        status: int = 0,
        request_id: str | None = None,
        service: str = "",
        details: Any = None,
        retry_after: float | None = None,
    ) -> None:
        self.message = _text(message) or self.default_message
        self.status = self.code = self.http_status = self.status_code = status
        self.request_id = request_id
        self.service = service
        self.details = details
        self.retry_after = retry_after
        super().__init__(self.message)

    def __str__(self) -> str:
        text = self.message
        if self.status:
            text += f" (HTTP {self.status})"
        if self.request_id:
            text += f" (Request-ID: {self.request_id})"
        return text


class InvalidResponse(RestError):
    """The service answered, but not what it was asked for: a page of something in between, or nothing."""


# --- Nova and Cinder (and who has no forms of its own); where the service says nothing, the class has words


class ClientException(RestError):
    """An answer that has no class of its own."""


class BadRequest(ClientException):
    default_message = "Bad request"


class Unauthorized(ClientException):
    default_message = "Unauthorized"


class Forbidden(ClientException):
    default_message = "Forbidden"


class NotFound(ClientException):
    default_message = "Not found"


class MethodNotAllowed(ClientException):
    default_message = "Method Not Allowed"


class NotAcceptable(ClientException):
    default_message = "Not Acceptable"


class Conflict(ClientException):
    default_message = "Conflict"


class OverLimit(ClientException):
    default_message = "Over limit"


class RateLimit(ClientException):
    default_message = "Rate limit"


class HTTPNotImplemented(ClientException):
    default_message = "Not Implemented"


_PLAIN: dict[int, type[RestError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    413: OverLimit,
    429: RateLimit,
    501: HTTPNotImplemented,
}
_CINDER = {status: cls for status, cls in _PLAIN.items() if status not in (405, 409, 429)}


def _classes(base: type[RestError], **names: int) -> dict[int, type[RestError]]:
    return {status: type(name, (base,), {"__module__": __name__, "__doc__": None}) for name, status in names.items()}


# --- Neutron: classes by status, and by what it calls the error where its client has a class for that


class NeutronClientException(RestError):
    default_message = "An unknown exception occurred."

    def __str__(self) -> str:
        if self.request_id:
            return f"{self.message}\nNeutron server returns request_ids: {[self.request_id]}"
        return self.message


_NEUTRON = _classes(
    NeutronClientException,
    BadRequest=400,
    Unauthorized=401,
    Forbidden=403,
    NotFound=404,
    Conflict=409,
    InternalServerError=500,
    ServiceUnavailable=503,
)
_NEUTRON_TYPES: dict[str, type[RestError]] = {
    name: type(f"{name}Client", (_NEUTRON[status],), {"__module__": __name__})
    for status, names in {
        400: ("StateInvalid", "InvalidIpForNetwork", "InvalidIpForSubnet", "ExternalIpAddressExhausted"),
        404: ("NetworkNotFound", "PortNotFound"),
        409: (
            "NetworkInUse",
            "PortInUse",
            "IpAddressInUse",
            "IpAddressAlreadyAllocated",
            "OverQuota",
            "IpAddressGenerationFailure",
            "MacAddressInUse",
            "HostNotCompatibleWithFixedIps",
        ),
    }.items()
    for name in names
}
#: A conflict that trying again does not mend.
OverQuotaClient = _NEUTRON_TYPES["OverQuota"]


# --- Glance


class HTTPException(RestError):
    def __str__(self) -> str:
        return f"HTTP {self.details or type(self).__name__}"


_GLANCE = _classes(
    HTTPException,
    HTTPMultipleChoices=300,
    HTTPBadRequest=400,
    HTTPUnauthorized=401,
    HTTPForbidden=403,
    HTTPNotFound=404,
    HTTPMethodNotAllowed=405,
    HTTPConflict=409,
    HTTPOverLimit=413,
    HTTPInternalServerError=500,
    HTTPNotImplemented=501,
    HTTPBadGateway=502,
    HTTPServiceUnavailable=503,
)


# --- Heat


class HeatError(RestError):
    default_message = "Internal Error"

    def __str__(self) -> str:
        return f"ERROR: {self.message}"


_HEAT = _classes(HeatError, **{cls.__name__: status for status, cls in _GLANCE.items()})


# --- Barbican


class HTTPError(RestError):
    """Only the words of the service."""

    def __str__(self) -> str:
        return self.message


class HTTPAuthError(HTTPError):
    """Who asks, it does not know."""


class HTTPClientError(HTTPError):
    """Any other refusal."""


class HTTPServerError(HTTPError):
    """It failed."""


def class_for(service: str, status: int, kind: str = "") -> type[RestError]:
    """The class of a service's errors with that status (*kind*: what Neutron calls it)."""
    if service == "neutron":
        return _NEUTRON_TYPES.get(kind) or _NEUTRON.get(status, NeutronClientException)
    if service == "glance":
        return _GLANCE.get(status, HTTPException)
    if service == "heat":
        return _HEAT.get(status, HeatError)
    if service == "barbican":
        return HTTPAuthError if status == 401 else HTTPServerError if status >= 500 else HTTPClientError
    return (_CINDER if service == "cinder" else _PLAIN).get(status, ClientException)


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error of a client stands for; errors of this service itself stand for none."""
    if isinstance(error, exceptions.HeatException):
        return None
    for attribute in ("status_code", "http_status", "code"):
        value = getattr(error, attribute, None)
        if isinstance(value, int) and value:
            return value
    return None


def from_response(service: str, response: Any) -> Exception:
    """The error that an answer with a status of 400 or more is."""
    status = int(response.status_code)
    headers: Mapping[str, str] = response.headers
    more: dict[str, Any] = {"status": status, "service": service, "retry_after": retry_after(headers)}
    if service == "neutron":
        return _neutron(response, status, headers, more)
    if service == "glance":
        more["request_id"] = headers.get("x-openstack-request-id")
        return class_for(service, status)(details=_glance_details(response), **more)
    if service == "heat":
        more["request_id"] = headers.get("x-openstack-request-id")
        return class_for(service, status)(_heat_message(response), **more)
    if service == "barbican":
        more["request_id"] = headers.get("x-openstack-request-id")
        return class_for(service, status)(_barbican_message(response), **more)
    if service in PLAIN_HTTP:
        from keystoneauth1 import exceptions as errors

        error = errors.from_response(response, response.request.method, response.url)
        # The library takes it in and then forgets it.
        error.retry_after = more["retry_after"]  # type: ignore[union-attr]
        return error
    request_id = headers.get("x-compute-request-id")
    if service not in ("nova", "cinder"):
        request_id = headers.get("x-openstack-request-id", request_id)
    message, details = _words_of(response, str(getattr(response, "reason", "") or "") if service == "cinder" else "")
    return class_for(service, status)(message, details=details, request_id=request_id, **more)


def not_found(service: str, key: str, id_: str) -> Exception:
    """The error for an object that is known to be gone, without asking for it."""
    words = f"{key} {id_} could not be found."
    if service in PLAIN_HTTP:
        from keystoneauth1 import exceptions as errors

        return errors.NotFound(message=words, http_status=404)
    return class_for(service, 404)(words, status=404, service=service, details=words)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until the service wants to be asked again; it is asked after an hour in any case."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _until(value)
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None


def _until(date: str) -> float | None:
    """Seconds until a date of HTTP."""
    import datetime
    import email.utils

    try:
        moment = email.utils.parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        # "-0000": the time of no place.
        moment = moment.replace(tzinfo=datetime.UTC)
    return min(max((moment - datetime.datetime.now(datetime.UTC)).total_seconds(), 0.0), LONGEST_WAIT)


def _text(words: Any) -> str:
    """What a service says, as a text that can be stored and shown: not each says it in one, or shortly."""
    if words is None:
        return ""
    text = words if isinstance(words, str) else jsonutils.dumps(words)
    if len(text) > LONGEST_TEXT:
        text = text[:LONGEST_TEXT] + "…"
    return text.encode("utf-8", "replace").decode()


def _body_text(response: Any) -> str:
    """A body that is no JSON. To guess the encoding of a long one takes minutes."""
    content: bytes = (response.content or b"")[: 4 * LONGEST_TEXT]
    try:
        return content.decode(response.encoding or "utf-8", "replace")
    except LookupError:  # an encoding that there is none of
        return content.decode("utf-8", "replace")


def _json(response: Any) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _words_of(response: Any, default: str) -> tuple[str | None, Any]:
    """Message and details, alone in the body or in an object that names the error."""
    body = _json(response)
    if not isinstance(body, Mapping) or not body:
        return default or None, None
    if "message" in body:
        return body["message"], body.get("details")
    inner = next(iter(body.values()))
    if isinstance(inner, Mapping):
        return inner.get("message"), inner.get("details")
    return (str(inner) if inner else default or None), None


def _neutron(response: Any, status: int, headers: Mapping[str, str], more: dict[str, Any]) -> Exception:
    body = _json(response)
    kind = ""
    error = body.get("NeutronError") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping) and {"type", "message", "detail"} <= error.keys():
        kind = _text(error["type"])
        message = _text(error["message"]) + (f"\n{_text(error['detail'])}" if error["detail"] else "")
        more["details"] = kind
    elif error:
        message = str(error)
    elif isinstance(body, Mapping):
        message = body.get("message") or f"{status}-{body}"
    else:
        message = _body_text(response) or str(getattr(response, "reason", ""))
    return class_for("neutron", status, kind)(message, request_id=headers.get("x-openstack-request-id"), **more)


def _heat_message(response: Any) -> str | None:
    body = _json(response)
    if body is None:
        return _body_text(response)
    error = body.get("error") if isinstance(body, Mapping) else None
    return str(error["message"]) if isinstance(error, Mapping) and error.get("message") else None


def _barbican_message(response: Any) -> str | None:
    """The title and what describes it; who stands before the service and checks tokens has a form of its own."""
    body = _json(response)
    if not isinstance(body, Mapping):
        return _body_text(response)
    if body.get("title"):
        return ": ".join(str(body[name]) for name in ("title", "description") if body.get(name))
    return _words_of(response, "")[0]


def _glance_details(response: Any) -> str:
    kind = response.headers.get("content-type", "")
    if not response.content:
        return ""
    if "json" in kind:
        body = _json(response)
        if isinstance(body, Mapping) and isinstance(body.get("message"), str):
            # The same that stands in the page which the service's own client gets.
            told = [str(body.get("code") or ""), *body["message"].splitlines()]
            lines = [_TAG.sub("", line.strip()) for line in told]
            return ": ".join(dict.fromkeys(line for line in lines if line))
        ones = body.values() if isinstance(body, Mapping) else ()
        parts = [one.get("message") for one in ones if isinstance(one, Mapping)]
        return "\n".join(_text(part) for part in parts if part is not None)
    if "html" in kind:
        lines = [_TAG.sub("", line.strip()) for line in _body_text(response).splitlines()]
        return ": ".join(dict.fromkeys(line for line in lines if line))
    return _body_text(response).replace("\n\n", "\n")
