# SPDX-License-Identifier: Apache-2.0
"""The credentials of another cloud, which a remote stack names by ``credential_secret_id``.

The payload of the secret is JSON for a plug-in of keystoneauth and its options. An application credential is best where
the other service makes no trusts (``deferred_auth_method``): Keystone lets such a one make none::

    {"auth_type": "v3applicationcredential",
     "auth": {"auth_url": "https://other-cloud/v3",
              "application_credential_id": "…", "application_credential_secret": "…"}}

Nothing of it is in an error but names of options and of plug-ins.
"""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _

PROPERTY = "credential_secret_id"

_KEYS = ["auth_type", "auth"]


def of_secret(clients: Any, secret: str) -> Any:
    """The authentication plug-in that a secret is for; whether its credentials are good nobody has asked yet."""
    return _plugin(_credential(_payload(clients, secret)))


def check(plugin: Any, session: Any) -> None:
    """AuthorizationFailure for credentials that the other cloud does not take."""
    try:
        plugin.get_token(session)
    except Exception as error:
        raise exceptions.AuthorizationFailure(
            failure_reason=_(
                "Failed to validate auth_plugin with error %s. Please make sure the credential you provide is correct. "
                "Also make sure the it is a valid Keystone auth plugin type and contain in your environment."
            )
            % error
        ) from error


def file_of(certificate: str | None, user: Any) -> str | None:
    """The certificate of an authority as a file, which is there as long as *user*: connections are made at any time."""
    if not certificate:
        return None
    handle, path = tempfile.mkstemp()
    weakref.finalize(user, os.unlink, path)
    with open(handle, "w", encoding="utf-8") as stream:
        stream.write(certificate)
    return path


def _payload(clients: Any, secret: str) -> Any:
    from keystoneauth1.exceptions import EndpointNotFound

    barbican = clients.client_plugin("barbican")
    try:
        payload = barbican.get_secret_payload_by_ref(secret_ref=secret)
    except EndpointNotFound as error:
        raise exceptions.Error(
            _("%(property)s needs a key manager (service type %(type)s): %(error)s")
            % {"property": PROPERTY, "type": barbican.KEY_MANAGER, "error": error}
        ) from error
    if payload is None:
        raise ValueError(_("The secret of %s has no payload.") % PROPERTY)
    return payload


def _credential(payload: str | bytes) -> Mapping[str, Any]:
    try:
        credential = json.loads(payload)
    except ValueError:
        # The error of the parser has the text that it could not read.
        credential = None
    if not isinstance(credential, Mapping):
        raise ValueError(
            _(
                "Failed to parse credential, please check your Stack Credential format. "
                "The secret of %s has to be an object of JSON."
            )
            % PROPERTY
        )
    if any(key not in credential for key in _KEYS):
        raise ValueError(
            _("Missing key in auth information, the correct format contains %(keys)s. (%(property)s)")
            % {"keys": _KEYS, "property": PROPERTY}
        )
    return credential


def _plugin(credential: Mapping[str, Any]) -> Any:
    from keystoneauth1 import loading

    kind, options = str(credential["auth_type"]), credential["auth"]
    if not isinstance(options, Mapping):
        raise ValueError(_("auth in the secret of %s has to be an object of JSON.") % PROPERTY)
    try:
        return loading.get_plugin_loader(kind).load_from_options(**options)
    except Exception as error:
        raise ValueError(
            _("The secret of %(property)s has no good credential: %(error)s") % {"property": PROPERTY, "error": error}
        ) from error
