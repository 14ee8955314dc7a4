# SPDX-License-Identifier: Apache-2.0
"""Options of the connections to other services: ``[clients]``, and ``[clients_NAME]`` over it."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

#: The services with a group of their own.
CLIENT_NAMES = (
    "aodh",
    "barbican",
    "cinder",
    "designate",
    "glance",
    "heat",
    "keystone",
    "magnum",
    "manila",
    "mistral",
    "neutron",
    "nova",
    "octavia",
    "swift",
    "trove",
    "zaqar",
)

_ENDPOINT_TYPES = ["publicURL", "internalURL", "adminURL", "public", "internal", "admin"]


def _connection(endpoint_type: str | None, insecure: bool | None) -> list[cfg.Opt]:
    kept: Any = {"choices": _ENDPOINT_TYPES}
    return [
        cfg.StrOpt("endpoint_type", default=endpoint_type, help="Which endpoint of the catalogue is called.", **kept),
        cfg.StrOpt("ca_file", help="File of the authorities that the service's certificate is checked against."),
        cfg.StrOpt("cert_file", help="File of our own certificate, in PEM form."),
        cfg.StrOpt("key_file", help="File of the private key of our own certificate, in PEM form."),
        cfg.BoolOpt("insecure", default=insecure, help="Take any certificate of the service, unchecked."),
    ]


default = _connection("public", False)
specific = _connection(None, None)

http_log: list[cfg.Opt] = [
    cfg.BoolOpt("http_log_debug", default=False, help="Log the HTTP requests and answers of this client."),
]
heat: list[cfg.Opt] = [
    cfg.URIOpt(
        "url",
        schemes=["http", "https"],
        help="URL of the orchestration API for clients that cannot use a catalogue, such as in standalone mode; "
        "%(tenant_id)s in it is replaced by the project.",
    )
]
keystone: list[cfg.Opt] = [
    cfg.URIOpt(
        "auth_uri",
        schemes=["http", "https"],
        help="Unversioned URL of the identity service, when it differs from that of keystone_authtoken.",
    )
]

backend: list[cfg.Opt] = [
    cfg.StrOpt(
        "cloud_backend",
        default="heat.engine.clients.OpenStackClients",
        help="Full name of the class that makes the clients of other services.",
    )
]
keystone_backend: list[cfg.Opt] = [
    cfg.StrOpt(
        "keystone_backend",
        default="heat.engine.clients.os.keystone.heat_keystoneclient.KsClientWrapper",
        help="Full name of the class that makes trusts and stack users.",
    )
]

GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [
    ("clients", default),
    *((f"clients_{name}", specific) for name in CLIENT_NAMES),
    ("clients_heat", heat),
    ("clients_keystone", keystone),
    ("clients_nova", http_log),
    ("clients_cinder", http_log),
]
