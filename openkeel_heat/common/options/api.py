# SPDX-License-Identifier: Apache-2.0
"""Options of the HTTP side: paste, bodies, the listening sockets, and standalone authentication."""

from __future__ import annotations

from oslo_config import cfg, types

paste_deploy: list[cfg.Opt] = [
    cfg.StrOpt("flavor", help="Name of the pipeline variant in the paste file; none means the plain one."),
    cfg.StrOpt("api_paste_config", default="api-paste.ini", help="The file with the pipelines of the API services."),
]

body_size: list[cfg.Opt] = [
    cfg.IntOpt(
        "max_json_body_size",
        default=1048576,
        help="Largest size in bytes of a request's JSON body. "
        "It has to be larger than max_template_size, as templates travel inside such bodies.",
    ),
]

revision: list[cfg.Opt] = [
    cfg.StrOpt(
        "heat_revision",
        default="unknown",
        help="What build_info answers as the revision of the installation. "
        "It can live in a configuration file of its own that the packaging writes.",
    ),
]

auth_password: list[cfg.Opt] = [
    cfg.BoolOpt(
        "multi_cloud",
        default=False,
        help="Let a request name the cloud that it is for; standalone mode only.",
    ),
    cfg.ListOpt(
        "allowed_auth_uris",
        default=[],
        item_type=types.URI(),
        help="The identity endpoints that a request may name when multi_cloud is on. At least one is needed then.",
    ),
]

noauth: list[cfg.Opt] = [
    cfg.StrOpt(
        "token_response",
        default="",
        help="A JSON file with the token data that the noauth filter puts into requests.",
    ),
]


def _listener(port: int) -> list[cfg.Opt]:
    return [
        cfg.HostAddressOpt("bind_host", default="0.0.0.0", help="Address on which the service listens."),
        cfg.PortOpt("bind_port", default=port, help="Port on which the service listens."),
        cfg.IntOpt("workers", default=1, min=0, help="Number of processes that answer requests."),
        cfg.IntOpt("backlog", default=4096, help="Connections that may wait to be accepted."),
        cfg.StrOpt("cert_file", help="Certificate file; the service speaks TLS when it is set."),
        cfg.StrOpt("key_file", help="Private key file of the certificate."),
        cfg.IntOpt("max_header_line", default=16384, help="Longest header line; large tokens may need more."),
        cfg.IntOpt("tcp_keepidle", default=600, help="Seconds of silence before keep-alive probes are sent."),
    ]


heat_api = _listener(8004)
heat_api_cfn = _listener(8000)

GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [
    ("paste_deploy", paste_deploy),
    ("auth_password", auth_password),
    ("revision", revision),
    ("noauth", noauth),
]
#: Of the daemons, which Heat of this generation leaves to an external WSGI server.
DAEMON_GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [("heat_api", heat_api), ("heat_api_cfn", heat_api_cfn)]
