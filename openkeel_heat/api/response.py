# SPDX-License-Identifier: Apache-2.0
"""Answers: JSON bodies, errors that travel to the fault filter, and responses that are not errors."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable
from typing import Any

from oslo_log import log as logging
from webob import exc

from openkeel_heat.common import exceptions, i18n
from openkeel_heat.common.i18n import _

LOG = logging.getLogger(__name__)

StartResponse = Callable[..., Any]

STATUS_OK = "200 OK"
STATUS_CREATED = "201 Created"


class Created(Exception):
    """The answer 201: what was made, and where it is."""

    def __init__(self, location: str, body: Any) -> None:
        super().__init__(location)
        self.location = location
        self.body = body


def malformed() -> exc.HTTPBadRequest:
    """The error for a request whose parts do not fit together."""
    return exc.HTTPBadRequest(
        _("The server could not comply with the request since it is either malformed or otherwise incorrect.")
    )


def to_json(data: Any) -> bytes:
    return json.dumps(data, default=_plain).encode("ascii")


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime.datetime) else str(value)


def send(
    start_response: StartResponse,
    status: str,
    body: bytes,
    content_type: str = "application/json",
    headers: Iterable[tuple[str, str]] = (),
    method: str = "GET",
) -> list[bytes]:
    """Start the response and return its body (none for HEAD)."""
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(body))), *headers])
    return [] if method == "HEAD" else [body]


def to_raise(error: Exception, environ: dict[str, Any]) -> Exception:
    """What to raise through the pipeline for `error`, so that the fault filter answers with it.

    An HTTP error is disguised: filters built on webob would take it for a response otherwise.
    """
    locale = _locale(environ)
    if isinstance(error, exceptions.HTTPExceptionDisguise):
        return error
    if isinstance(error, exc.HTTPError):
        if isinstance(error, exc.HTTPServerError):
            LOG.error("Returning %(code)s to user: %(text)s", {"code": error.code, "text": error.explanation})
        if locale:
            error.explanation = i18n.translate(error.explanation, locale)
            error.detail = i18n.translate(error.detail, locale)
        return exceptions.HTTPExceptionDisguise(error)
    if isinstance(error, exceptions.HeatException):
        if locale:
            error.message = i18n.translate(error.message, locale)
        return error
    return error


def _locale(environ: dict[str, Any]) -> str | None:
    wanted = environ.get("HTTP_ACCEPT_LANGUAGE")
    if not wanted:
        return None
    from webob.acceptparse import create_accept_language_header

    available = i18n.available_languages()
    if len(available) <= 1:
        return None
    return create_accept_language_header(wanted).lookup(available, default="en_US")
