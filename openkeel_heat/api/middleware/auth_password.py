# SPDX-License-Identifier: Apache-2.0
"""Standalone authentication: the request carries user name and password, and Keystone is asked for a token with them.

The project is the first part of the path (behind the version).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from webob import exc

from openkeel_heat.api.response import StartResponse
from openkeel_heat.common import config
from openkeel_heat.common.context import RequestContext


class PasswordAuth:
    def __init__(self, application: Callable[..., Any], conf: dict[str, str]) -> None:
        self.application = application
        self.conf = conf
        self._session: Any = None

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        from keystoneauth1 import exceptions as keystone

        url = environ.get("HTTP_X_AUTH_URL")
        parts = environ.get("PATH_INFO", "").split("/")
        project = parts[1] if len(parts) > 1 else ""
        if not project:
            return self._reject(environ, start_response, url)
        try:
            access = self._access(environ, project, url)
        except (keystone.Unauthorized, keystone.Forbidden, keystone.NotFound, keystone.AuthorizationFailure):
            return self._reject(environ, start_response, url)
        environ.update(headers_of(access))
        return self.application(environ, start_response)

    def _access(self, environ: dict[str, Any], project: str, url: str | None) -> Any:
        from keystoneauth1 import session
        from keystoneauth1.exceptions import AuthorizationFailure

        if not environ.get("HTTP_X_AUTH_USER") or not environ.get("HTTP_X_AUTH_KEY"):
            raise AuthorizationFailure()
        if self._session is None:
            self._session = session.Session(**config.get_ssl_options("keystone"))
        context = RequestContext(
            username=environ["HTTP_X_AUTH_USER"],
            password=environ["HTTP_X_AUTH_KEY"],
            project_id=project,
            auth_url=url,
            user_domain_id=environ.get("HTTP_X_USER_DOMAIN_ID"),
            is_admin=False,
        )
        plugin: Any = context.auth_plugin
        return plugin.get_access(self._session)

    @staticmethod
    def _reject(environ: dict[str, Any], start_response: StartResponse, url: str | None) -> Iterable[bytes]:
        refusal = exc.HTTPUnauthorized("Authentication required", [("WWW-Authenticate", f"Keystone uri='{url}'")])
        return refusal(environ, start_response)


def headers_of(access: Any) -> dict[str, Any]:
    """What a validated token says of its user, in the form in which keystonemiddleware hands it on."""
    return {
        "HTTP_X_IDENTITY_STATUS": "Confirmed",
        "HTTP_X_PROJECT_ID": access.project_id,
        "HTTP_X_PROJECT_NAME": access.project_name,
        "HTTP_X_USER_ID": access.user_id,
        "HTTP_X_USER_NAME": access.username,
        "HTTP_X_ROLES": ",".join(access.role_names),
        "HTTP_X_SERVICE_CATALOG": access.service_catalog,
        "HTTP_X_AUTH_TOKEN": access.auth_token,
        "HTTP_X_USER_DOMAIN_ID": access.user_domain_id,
    }


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Callable[..., PasswordAuth]:
    """``heat.common.auth_password:filter_factory`` of an api-paste file."""
    conf = {**global_conf, **local_conf}

    def make(app: Callable[..., Any]) -> PasswordAuth:
        return PasswordAuth(app, conf)

    return make
