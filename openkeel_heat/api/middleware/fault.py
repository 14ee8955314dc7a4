# SPDX-License-Identifier: Apache-2.0
"""Errors to answers: ``{"code", "title", "explanation", "error": {"message", "traceback", "type"}}``.

An error's class, or the nearest of its bases that `ERROR_STATUS` knows, gives the status.  Its text is shown when its
class says that it is safe; the traceback only where the service runs in debug mode.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
from webob import exc

from openkeel_heat.api import response
from openkeel_heat.common import exceptions

LOG = logging.getLogger(__name__)

_BY_STATUS: dict[type[exc.HTTPException], tuple[str, ...]] = {
    exc.HTTPBadRequest: (
        "AttributeError",
        "CircularDependencyException",
        "DownloadLimitExceeded",
        "ImmutableParameterModified",
        "IncompatibleObjectVersion",
        "Invalid",
        "InvalidBreakPointHook",
        "InvalidExternalResourceDependency",
        "InvalidRestrictedAction",
        "InvalidSchemaError",
        "InvalidTemplateReference",
        "InvalidTemplateSection",
        "InvalidTemplateVersion",
        "MissingCredentialError",
        "NotSupported",
        "ObjectActionError",
        "ObjectFieldInvalid",
        "OrphanedObjectError",
        "PhysicalResourceIDAmbiguity",
        "PhysicalResourceNameAmbiguity",
        "PropertyUnspecifiedError",
        "ReadOnlyFieldError",
        "RequestLimitExceeded",
        "ResourceActionNotSupported",
        "ResourcePropertyConflict",
        "ResourceTypeUnavailable",
        "StackValidationFailed",
        "UnknownUserParameter",
        "UnsupportedObjectError",
        "UserParameterMissing",
        "ValueError",
    ),
    exc.HTTPForbidden: ("Forbidden", "InvalidTenant"),
    exc.HTTPNotFound: ("EntityNotFound", "NotFound", "ResourceNotAvailable"),
    exc.HTTPConflict: ("ActionInProgress", "StackExists"),
    exc.HTTPInternalServerError: (
        "EventSendFailed",
        "InvalidEncryptionKey",
        "InvalidGlobalResource",
        "RevertFailed",
        "ServerBuildFailed",
        "StopActionFailed",
    ),
}
#: Name of a class -> the HTTP error whose status, title and explanation are answered.
ERROR_STATUS: dict[str, type[exc.HTTPException]] = {
    name: status for status, names in _BY_STATUS.items() for name in names
}

HTTP_INTERNAL = exc.HTTPInternalServerError.code

_REMOTE = "_Remote"
_TRACEBACK = "Traceback (most recent call last)"


def http_error(error_class: type[BaseException]) -> type[exc.HTTPException]:
    """The HTTP error for a class, found by its name or that of the nearest base."""
    current: type[BaseException] | None = error_class
    while current is not None and current is not Exception:
        found = ERROR_STATUS.get(current.__name__)
        if found is not None:
            return found
        current = current.__base__
    return exc.HTTPInternalServerError


def describe(error: Exception) -> dict[str, Any]:
    """The body of the answer to `error`."""
    trace = None
    answer: Any = None
    safe = getattr(error, "safe", False)
    if isinstance(error, exceptions.HTTPExceptionDisguise):
        if cfg.CONF.debug:
            trace = "".join(traceback.format_tb(error.tb))
        error = answer = error.exc
    kind = type(error).__name__
    remote = kind.endswith(_REMOTE)
    if remote:
        kind = kind[: -len(_REMOTE)]
    message, remote_trace = _split(str(error), remote)
    if isinstance(error, exceptions.HeatException):
        message = error.message
    if cfg.CONF.debug and not trace:
        trace = remote_trace or "".join(traceback.format_exception(error))
    if answer is None:
        # A controller that knows better what its errors mean says so on the error.
        answer = getattr(error, "http_error", None) or http_error(type(error))
    body: dict[str, Any] = {"type": kind, "traceback": trace}
    if safe:
        body["message"] = message
    return {"code": answer.code, "title": answer.title, "explanation": answer.explanation, "error": body}


def _split(text: str, remote: bool) -> tuple[str, str | None]:
    """Message and traceback of an error's text: what came over the bus has both in one."""
    if remote and "\n" in text:
        message, _, trace = text.partition("\n")
        return message, trace
    if _TRACEBACK in text:
        message, _, trace = text.partition(_TRACEBACK)
        return message.rstrip("\n"), _TRACEBACK + trace
    return text, None


class FaultWrapper:
    """Answers with what the application behind it raises."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: response.StartResponse) -> Iterable[bytes]:
        try:
            return self.application(environ, start_response)
        except Exception as error:
            body = describe(error)
            if body["code"] == HTTP_INTERNAL and not getattr(error, "safe", False):
                LOG.error("A request failed with %s", body["error"]["type"], exc_info=error)
        status = f"{body['code']} {body['title']}"
        if environ.get("CONTENT_TYPE", "").split(";", 1)[0] == "application/xml":
            from openkeel_heat.api.cfn import serializer

            payload, content_type = serializer.to_xml(body), "application/xml"
        else:
            payload, content_type = response.to_json(body), "application/json"
        return response.send(start_response, status, payload, content_type, method=environ["REQUEST_METHOD"])


def faultwrap_filter(app: Callable[..., Any], conf: Any = None, **local_conf: str) -> FaultWrapper:
    """The filter that ``heat.filter_factory`` gives."""
    return FaultWrapper(app)
