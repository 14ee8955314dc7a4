# SPDX-License-Identifier: Apache-2.0
"""No authentication: everybody is the administrator of the project that they name.

It is named in ``X-Auth-Project``, else by the path (the project of the URL, or of the ARN in a signal's), else it is
``admin``.  An administrator has the roles that Keystone would imply; a request may ask for fewer in ``X-Roles``.

``[noauth] token_response`` may name a JSON file with the token data that a Keystone would have given.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from oslo_config import cfg

from openkeel_heat.api.response import StartResponse

ROLES = "admin,member,reader"

_PROJECT = re.compile(r"/*v1(?:\.0)?/(?:(?:signal|waitcondition)/arn:openstack:heat::([^:/]+):|([^/:]+)/)")


def project_of(path: str) -> str | None:
    """The project that a path of either API names."""
    match = _PROJECT.match(path)
    if match is None:
        return None
    return unquote(match.group(1)) if match.group(1) else match.group(2)


class NoAuth:
    def __init__(self, application: Callable[..., Any]) -> None:
        self.application = application
        self.token_info: Any = None
        path = cfg.CONF.noauth.token_response
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                self.token_info = json.load(source)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        user = environ.get("HTTP_X_AUTH_USER", "admin")
        project = environ.get("HTTP_X_AUTH_PROJECT") or project_of(environ.get("PATH_INFO", "")) or "admin"
        environ.update(
            {
                "HTTP_X_IDENTITY_STATUS": "Confirmed",
                "HTTP_X_PROJECT_ID": project,
                "HTTP_X_PROJECT_NAME": project,
                "HTTP_X_USER_ID": user,
                "HTTP_X_USER_NAME": user,
                "HTTP_X_ROLES": environ.get("HTTP_X_ROLES") or ROLES,
                "HTTP_X_SERVICE_CATALOG": {},
                "HTTP_X_AUTH_USER": user,
                "HTTP_X_AUTH_KEY": "unset",
                "HTTP_X_AUTH_URL": "url",
            }
        )
        if self.token_info:
            environ["keystone.token_info"] = self.token_info
        return self.application(environ, start_response)


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Callable[..., NoAuth]:
    """``heat.common.noauth:filter_factory`` of an api-paste file."""
    return NoAuth
