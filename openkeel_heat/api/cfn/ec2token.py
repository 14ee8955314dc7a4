# SPDX-License-Identifier: Apache-2.0
"""Signed requests: Keystone checks the signature and gives a token for it.

The secret stays in Keystone; it gets all that was signed.  What it answers replaces every identity header that the
client may have sent.  A request without a signature goes on only if it names a user for the filters behind this one,
and then without identity headers.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from oslo_config import cfg
from oslo_log import log as logging

from openkeel_heat.api.cfn import app as cfn_app, errors, params
from openkeel_heat.api.middleware.context import SIGNED
from openkeel_heat.api.response import StartResponse
from openkeel_heat.common.options import keystone as options

LOG = logging.getLogger(__name__)

#: Headers that say who the caller is; only this filter or those behind it may set them.
IDENTITY = (
    "HTTP_X_PROJECT_ID",
    "HTTP_X_PROJECT_NAME",
    "HTTP_X_PROJECT_DOMAIN_ID",
    "HTTP_X_PROJECT_DOMAIN_NAME",
    "HTTP_X_TENANT",
    "HTTP_X_TENANT_ID",
    "HTTP_X_TENANT_NAME",
    "HTTP_X_DOMAIN_ID",
    "HTTP_X_DOMAIN_NAME",
    "HTTP_X_USER",
    "HTTP_X_USER_ID",
    "HTTP_X_USER_NAME",
    "HTTP_X_USER_DOMAIN_ID",
    "HTTP_X_USER_DOMAIN_NAME",
    "HTTP_X_ROLE",
    "HTTP_X_ROLES",
    "HTTP_X_IS_ADMIN_PROJECT",
    "HTTP_X_IDENTITY_STATUS",
    "HTTP_X_SERVICE_CATALOG",
    "HTTP_X_AUTH_EC2_CREDS",
    "HTTP_OPENSTACK_SYSTEM_SCOPE",
)


#: Access key, date, region, service, ``aws4_request``.
_PARTS_OF_A_CREDENTIAL = 5


class EC2Token:
    """The filter.  `conf` is that of the section; it goes before ``[ec2authtoken]``."""

    def __init__(self, application: Callable[..., Any], conf: dict[str, str]) -> None:
        self.application = application
        self.conf = conf
        self._adapters: dict[str | None, Any] = {}
        self._lock = threading.Lock()
        options.register_ec2(cfg.CONF)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        try:
            self._authenticate(environ)
        except errors.CfnError as error:
            return cfn_app.answer(error, environ, start_response)
        return self.application(environ, start_response)

    def _option(self, name: str) -> Any:
        value = self.conf.get(name, cfg.CONF.ec2authtoken[name])
        if name == "multi_cloud":
            return str(value).lower() in ("true", "1", "yes", "on")
        return value.replace(",", " ").split() if isinstance(value, str) else value

    def _authenticate(self, environ: dict[str, Any]) -> None:
        signature, access = credentials(environ)
        if not signature or not access:
            if "HTTP_X_AUTH_USER" not in environ:
                raise errors.MissingAuthenticationToken() if signature else errors.IncompleteSignature()
            _forget_identity(environ)
            return
        signed = signed_request(environ, access, signature)
        clouds: Iterable[str | None] = self._option("clouds") if self._option("multi_cloud") else (None,)
        refusal: errors.CfnError = errors.AccessDenied()
        for cloud in clouds:
            try:
                url, token_id, token = self._ask(cloud, signed)
            except errors.CfnError as error:
                LOG.debug("Cloud %s refuses the signature: %s", cloud, error.code)
                refusal = error
                continue
            _set_identity(environ, url, token_id, token)
            creds = {"ec2Credentials": {"access": access, "signature": signature}}
            environ["HTTP_X_AUTH_EC2_CREDS"] = json.dumps(creds)
            environ[SIGNED] = True
            return
        raise refusal

    # --- Keystone

    def _adapter(self, cloud: str | None) -> Any:
        """The adapter of a cloud's identity service, made at the first request."""
        with self._lock:
            if cloud not in self._adapters:
                from keystoneauth1 import loading

                group = options.EC2 if cloud is None else f"{options.EC2}.{cloud}"
                if cloud is not None:
                    options.register_ec2(cfg.CONF, group)
                auth = loading.load_auth_from_conf_options(cfg.CONF, group)
                session = loading.load_session_from_conf_options(cfg.CONF, group, auth=auth)
                self._adapters[cloud] = loading.load_adapter_from_conf_options(cfg.CONF, group, session=session)
            return self._adapters[cloud]

    def _ask(self, cloud: str | None, signed: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        """Address of the identity service, token id and token for a signed request."""
        from keystoneauth1 import exceptions as keystone

        try:
            adapter = self._adapter(cloud)
            url = adapter.get_endpoint()
            # What was signed has all that the user sent in it, and the answer is a token: not for the log.
            answer = adapter.post(
                f"{unversioned(url)}/v3/ec2tokens",
                json=signed,
                headers={"Content-Type": "application/json"},
                log=False,
            )
            return url, answer.headers["X-Subject-Token"], answer.json()["token"]
        except (keystone.Unauthorized, keystone.Forbidden, keystone.NotFound) as error:
            raise _refused(str(error)) from error
        except keystone.InternalServerError as error:
            # Keystone breaks over a signature that has not the form of any version.
            if not conforms(signed["ec2Credentials"]):
                raise errors.IncompleteSignature() from error
            LOG.error("Cloud %s fails to check a signature", cloud)
            raise errors.InternalFailure("Service misconfigured") from error
        except (keystone.ClientException, AttributeError, KeyError, ValueError) as error:
            LOG.error("Cloud %s could not be asked for a token: %s", cloud, type(error).__name__)
            raise errors.InternalFailure("Service misconfigured") from error


def conforms(signed: dict[str, Any]) -> bool:
    """Whether what was signed has all that a signature of some version needs."""
    given, headers = signed["params"], signed["headers"]
    version = given.get("SignatureVersion")
    if version == "0":
        return "Action" in given and "Timestamp" in given
    if version in ("1", "2"):
        return True
    authorization = headers.get("Authorization")
    if authorization is None:
        algorithm, scope = given.get("X-Amz-Algorithm", ""), given.get("X-Amz-Credential", "")
        names = given.get("X-Amz-SignedHeaders", "")
    else:
        algorithm, scope = authorization, _part(authorization, "Credential=")
        names = _part(authorization, "SignedHeaders=")
    parts = scope.split("/")
    date = headers.get("X-Amz-Date") or given.get("X-Amz-Date", "")
    whole = len(parts) == _PARTS_OF_A_CREDENTIAL and all(parts)
    return whole and algorithm.startswith("AWS4-HMAC-SHA256") and bool(names) and date.startswith(parts[1])


def _refused(reason: str) -> errors.CfnError:
    if "access key not found" in reason:
        return errors.InvalidClientTokenId()
    if "signature not supplied" in reason:
        return errors.SignatureDoesNotMatch()
    return errors.AccessDenied()


def unversioned(url: str) -> str:
    """An identity address without the version at its end."""
    url = url.rstrip("/")
    for version in ("/v3", "/v2.0"):
        url = url.removesuffix(version)
    return url.rstrip("/")


def credentials(environ: dict[str, Any]) -> tuple[str | None, str | None]:
    """Signature and access key: parameters in version 2, parameters or the Authorization header in version 4."""
    given = params.read(environ)
    header = environ.get("HTTP_AUTHORIZATION")
    signature = given.get("Signature") or given.get("X-Amz-Signature")
    access = given.get("AWSAccessKeyId")
    if access is None and given.get("X-Amz-Credential"):
        access = given["X-Amz-Credential"].split("/")[0]
    if header:
        if signature is None:
            signature = _part(header, "Signature=")
        if access is None:
            access = _part(header, "Credential=").split("/")[0]
    return signature or None, access or None


def _part(header: str, name: str) -> str:
    return header.partition(name)[2].split(",")[0].strip()


def signed_request(environ: dict[str, Any], access: str, signature: str) -> dict[str, Any]:
    """All that the signature covers, in the form in which Keystone takes it."""
    given = {name: value for name, value in params.read(environ).items() if name != "Signature"}
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return {
        "ec2Credentials": {
            "access": access,
            "signature": signature,
            "host": environ.get("HTTP_HOST", ""),
            "verb": environ["REQUEST_METHOD"],
            "path": quote(path.encode("latin-1"), safe="/~!$&'()*+,;=:@"),
            "params": given,
            "headers": _headers(environ),
            "body_hash": hashlib.sha256(params.read_body(environ)).hexdigest(),
        }
    }


def _headers(environ: dict[str, Any]) -> dict[str, str]:
    headers = {
        name[5:].replace("_", "-").title(): value
        for name, value in environ.items()
        if name.startswith("HTTP_") and isinstance(value, str)
    }
    for name, header in (("CONTENT_TYPE", "Content-Type"), ("CONTENT_LENGTH", "Content-Length")):
        if environ.get(name):
            headers[header] = environ[name]
    return headers


def _forget_identity(environ: dict[str, Any]) -> None:
    for name in IDENTITY:
        environ.pop(name, None)


def _set_identity(environ: dict[str, Any], url: str, token_id: str, token: dict[str, Any]) -> None:
    _forget_identity(environ)
    project, user = token["project"], token.get("user", {})
    environ.update(
        {
            "HTTP_X_AUTH_TOKEN": token_id,
            "HTTP_X_AUTH_URL": url,
            "HTTP_X_PROJECT_ID": project["id"],
            "HTTP_X_PROJECT_NAME": project["name"],
            "HTTP_X_TENANT_ID": project["id"],
            "HTTP_X_TENANT_NAME": project["name"],
            "HTTP_X_ROLES": ",".join(role["name"] for role in token.get("roles", [])),
        }
    )
    if user:
        environ["HTTP_X_USER_ID"] = user["id"]
        environ["HTTP_X_USER_NAME"] = user["name"]
        if user.get("domain"):
            environ["HTTP_X_USER_DOMAIN_ID"] = user["domain"]["id"]


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Callable[..., EC2Token]:
    """``heat.api.aws.ec2token:EC2Token_filter_factory`` of an api-paste file."""
    conf = {**global_conf, **local_conf}

    def make(application: Callable[..., Any]) -> EC2Token:
        return EC2Token(application, conf)

    return make
