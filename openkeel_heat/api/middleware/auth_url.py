# SPDX-License-Identifier: Apache-2.0
"""The identity endpoint of a request, in its header ``X-Auth-Url``.

It is the configured one (``auth_uri`` of the section, else that of ``heat.conf``).  With ``[auth_password]
multi_cloud`` the client names it, out of ``allowed_auth_uris``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from oslo_config import cfg
from webob import exc

from openkeel_heat.api.response import StartResponse
from openkeel_heat.common import config
from openkeel_heat.common.i18n import _


class AuthUrl:
    def __init__(self, application: Callable[..., Any], conf: dict[str, str]) -> None:
        self.application = application
        self.conf = conf
        self._configured: str | None = None

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if cfg.CONF.auth_password.multi_cloud:
            url = environ.get("HTTP_X_AUTH_URL")
            refusal = self._refusal(url)
            if refusal is not None:
                return refusal(environ, start_response)
        else:
            url = self.configured()
        if url is None:
            environ.pop("HTTP_X_AUTH_URL", None)
        else:
            environ["HTTP_X_AUTH_URL"] = url
        return self.application(environ, start_response)

    def configured(self) -> str | None:
        """The endpoint from the configuration, found once."""
        if not self._configured:
            self._configured = self.conf.get("auth_uri") or config.get_auth_uri(v3=False)
        return self._configured

    @staticmethod
    def _refusal(url: str | None) -> exc.HTTPError | None:
        if not url:
            return exc.HTTPBadRequest(_("Request missing required header X-Auth-Url"))
        if url not in cfg.CONF.auth_password.allowed_auth_uris:
            return exc.HTTPUnauthorized(_('Header X-Auth-Url "%s" not an allowed endpoint') % url)
        return None


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Callable[..., AuthUrl]:
    """``heat.common.auth_url:filter_factory`` of an api-paste file."""
    conf = {**global_conf, **local_conf}

    def make(app: Callable[..., Any]) -> AuthUrl:
        return AuthUrl(app, conf)

    return make
