# SPDX-License-Identifier: Apache-2.0
"""The version of the API: from the first part of the path, or from the Accept header.

``/v1`` and ``/v1.0`` are taken off the path.  ``/``, ``/versions`` and versions that do not exist get the list of
versions (300); anything else needs ``Accept: application/vnd.openstack.orchestration-v1``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from webob import exc

from openkeel_heat.api import response
from openkeel_heat.api.request import application_url

_VERSION = re.compile(r"^v(\d+)\.?(\d+)?")
ACCEPT_PREFIX = "application/vnd.openstack.orchestration-"


def versions(environ: dict[str, Any], start_response: response.StartResponse) -> Iterable[bytes]:
    """The list of versions."""
    href = f"{application_url(environ)}/v1/"
    body = {"versions": [{"id": "v1.0", "status": "CURRENT", "links": [{"rel": "self", "href": href}]}]}
    return response.send(
        start_response,
        "300 Multiple Choices",
        json.dumps(body).encode("ascii"),
        method=environ["REQUEST_METHOD"],
    )


class VersionNegotiation:
    def __init__(self, application: Callable[..., Any]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: response.StartResponse) -> Iterable[bytes]:
        return self._choose(environ)(environ, start_response)

    def _choose(self, environ: dict[str, Any]) -> Callable[..., Any]:
        path = environ.get("PATH_INFO", "")
        try:
            path.encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            return exc.HTTPBadRequest()
        first = path.lstrip("/").partition("/")[0]
        if first in ("versions", ""):
            return versions
        if self._matches(first, environ):
            if not self._supported(environ):
                return versions
            _pop(environ)
            return self.application
        accept = environ.get("HTTP_ACCEPT", "")
        if not accept.startswith(ACCEPT_PREFIX):
            return exc.HTTPNotFound()
        if self._matches(accept[len(ACCEPT_PREFIX) :], environ) and not self._supported(environ):
            return versions
        return self.application

    @staticmethod
    def _matches(text: str, environ: dict[str, Any]) -> bool:
        match = _VERSION.match(text)
        if match is None:
            return False
        environ["api.major_version"], environ["api.minor_version"] = (int(part or 0) for part in match.groups())
        return True

    @staticmethod
    def _supported(environ: dict[str, Any]) -> bool:
        return environ["api.major_version"] == 1 and environ["api.minor_version"] == 0


def _pop(environ: dict[str, Any]) -> None:
    """Move the first part of the path to the prefix of the application."""
    path = environ["PATH_INFO"]
    stripped = path.lstrip("/")
    slashes = path[: len(path) - len(stripped)]
    first, slash, rest = stripped.partition("/")
    environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + slashes + first
    environ["PATH_INFO"] = slash + rest


def native_filter(app: Callable[..., Any], conf: Any = None, **local_conf: str) -> VersionNegotiation:
    """The filter of the native API that ``heat.filter_factory`` gives."""
    return VersionNegotiation(app)


def cfn_filter(app: Callable[..., Any], conf: Any = None, **local_conf: str) -> VersionNegotiation:
    """The filter of the CloudFormation API."""
    return VersionNegotiation(app)
